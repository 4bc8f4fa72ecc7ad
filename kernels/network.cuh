// Networks as a domain of FANG: the values of a variable, weighted by a heuristic. Selections equal those of the CPU
// backend.
//
// The source of a heuristic includes this file and defines
//
//   struct Heuristic {
//       static __device__ bool active(const Inputs &in);     whether the visited variable may get a new value
//       static __device__ u32 weight(const Inputs &in);      the weight of one value, 0 excludes it
//   };
//
// and, if `active` does not read `least`, `static constexpr bool EARLY = true;`: then values of inactive variables need
// not be rated.
//
// `in` has the inputs of heuristics/src/inputs.rs for one value. The host sets NEEDS_COST and the other constants from
// the inputs that the heuristic needs; other inputs are 0. `active` reads scalars only. groups.cuh has groups of
// variables. Sources are compiled with --fmad=false, so that the device rounds as the CPU does.
// heuristics/src/language/cuda.rs writes heuristics that read all values before they weight one.
#pragma once
#include "core.cuh"
#include "fang.cuh"
#include "inputs.cuh"

// A table that bounds the values of a variable in the mini-buckets: the costs of a function, a message waiting in the
// bucket, or a message sent from it. The host's type is `inference::Term`.
struct Term {
    u64 base;                // index of the entry at which all variables have value 0
    u32 own;                 // stride of the variable's values
    u32 first, pairs, kind;  // the other variables: pairs of variable and stride
};

// Mini-bucket guidance: a lower bound on the cost to go of a value; `order` is null without mini-buckets.
struct Guidance {
    const u32 *order;        // the order in which variables are visited
    const u32 *begin;        // for each variable, its first term
    const Term *terms;
    const uint2 *pairs;
    const i64 *costs;
    const void *messages;    // entries of 32 bits if `narrow`, otherwise of 64
    u32 narrow, shift;       // a unit of the rows is 2^shift of a cost
};

// The problem and the data that trajectories read besides their states; the host's type is
// `guided::cuda::NetworkProblem`.
struct NetworkProblem {
    Core core;
    const int *floors;       // for each variable, the least cost of the functions on it
    const u32 *places;       // for each variable, the index of its first value in per-value arrays
    const u32 *origins;      // the network's number of each value, indexed like `places`
    const u32 *incumbent;    // the incumbent; null if there is none
    const double *reduced;   // reduced costs, indexed like `places`; null if unknown
    const u32 *counted;      // for each incidence, whether its function counts there; only if assignments are verified
    Guidance guidance;
    Tables tables;
    int hard;                // the cost of a forbidden tuple
    u32 left, taken, visits; // indices in a state's words: of its memory (exits, counts, visits);
    u32 picked;              // of the result of the last visit;
    u32 strange;             // of the last variable with a value whose weight is not a number;
    u32 marks, group;        // and of the storage of proposals, for groups.cuh
    u32 proposals;           // the number of proposals after each pass
    u32 unused;
};

constexpr u32 NEVER = ~0u, NONE = ~0u;
// Results of visits without a new value: the variable was inactive; all its values have weight 0.
constexpr u32 INACTIVE = ~0u, WEIGHTLESS = ~1u;

// Returns the cost of a value above the least one, in the form that weights use.
__device__ __forceinline__ u32 above(double cost, double least) {
    return (u32)fmin(fmax(cost - least, 0.0), 4294967295.0);
}

// Boltzmann weights in integers.
struct Weights {
    u32 limit, slope;

    __device__ __forceinline__ explicit Weights(double temperature) {
        const double halving = temperature * 0.693147180559945309417232121458, slope_of = 134217728.0 / halving;
        if (slope_of >= 4294967295.0) {
            limit = slope = 0;
        } else {
            limit = (u32)fmin(21.0 * halving, 268435455.0);
            slope = (u32)fmax(slope_of, 1.0);
        }
    }

    __device__ __forceinline__ u32 weight(u32 delta) const {
        const u32 halvings = min(delta, limit) * slope >> 11, fraction = halvings & 0xffff;
        const u32 curve = 65536 - (fraction * (44012 - (fraction * 11244 >> 16)) >> 16);
        return delta > limit ? 0 : curve << 5 >> (halvings >> 16);
    }
};

// Whether a heuristic declares that its `active` does not read `least`.
template <class...> using Void = void;
template <class USER, class = void> struct Early {
    static constexpr bool VALUE = false;
};
template <class USER> struct Early<USER, Void<decltype(USER::EARLY)>> {
    static constexpr bool VALUE = USER::EARLY;
};

// The interface by which the domain calls a heuristic. A heuristic that weights each value by itself gathers nothing.
template <class USER, class = void> struct Weigher {
    typedef Inputs Known;
    struct Aggregates {};
    static constexpr int PASSES = 0;

    static __device__ __forceinline__ void look(const Tables &, u32, u32, Known &) {}
    static __device__ __forceinline__ Aggregates none() { return {}; }
    static __device__ __forceinline__ void accumulate(int, const Known &, Aggregates &) {}
    static __device__ __forceinline__ void merge(int, Aggregates &, const Aggregates &) {}
    static __device__ __forceinline__ bool active(const Known &in) { return USER::active(in); }
    static __device__ __forceinline__ u32 weight(const Known &in, const Aggregates &) { return USER::weight(in); }
    static __device__ __forceinline__ bool nonsense(const Known &, const Aggregates &) { return false; }
};
template <class USER> struct Weigher<USER, Void<typename USER::Aggregates>> : USER {};

// Data about a state in a pass, besides its words.
struct Now {
    double temperature;
    u32 pass, improved; // the number of the state's passes, and that number at its last improvement
    bool settles;       // whether variables take their cheapest values only, as in the last pass of each trajectory
};

struct Rated {
    int cost;
    u32 value;
    int conflicts;
};

// Aggregates over all values of a variable: costs in the first scan, then the heuristic's own.
template <class W> struct Gathered {
    u32 pass = 0;
    int least = 0x7fffffff, current = -0x7fffffff - 1, current_conflicts = -1;
    typename W::Aggregates own = W::none();
};

// The values of a variable under a user's heuristic. A selection is only recorded; the trajectory applies it.
template <class USER> struct Network : Singles<Network<USER>, Rated, Gathered<Weigher<USER>>> {
    typedef NetworkProblem Problem;
    typedef Weigher<USER> W;
    typedef Gathered<W> Aggregate;
    typedef typename W::Known Known;
    // a rating is a loop itself
    static constexpr u32 PASSES = 1 + W::PASSES, UNROLL = 1;
    static constexpr bool CONFLICTS = NEEDS_CONFLICTS || NEEDS_CURRENT_CONFLICTS;

    const NetworkProblem &problem;
    State state;
    Now now;
    u32 variable, held, place;
    uint4 info;

    __device__ __forceinline__ Network(const NetworkProblem &problem, State state, u32 variable, const Now &now)
        : problem(problem), state(state), now(now), variable(variable), held(state.words[variable]),
          place(problem.places[variable]), info(__ldg(problem.core.info + variable)) {}

    __device__ __forceinline__ u32 possibilities() const { return domain_of(info); }

    __device__ __forceinline__ int unary(u32 value) const {
        return ((const int *)(problem.core.unary_rows + info.z))[value];
    }

    // Returns a function's costs of the variable's values.
#if HALF_ROWS
    typedef const unsigned short *Row;
#else
    typedef const int *Row;
#endif
    __device__ __forceinline__ Row row(u32 k) const {
        const Values<u32> values{state.words, 1};
        const uint4 it = __ldg(problem.core.incidences + info.x + k);
        return (Row)(problem.core.rows + row_of(problem.core, info.x + k, it, info.w >> 31, values, nullptr));
    }

    __device__ __forceinline__ Rated rate(u32 value) const {
        const int own = unary(value);
        Rated rated = {own - problem.floors[variable], value, CONFLICTS && own >= problem.hard};
        for (u32 k = 0; k < incidences_of(info); k++) {
            const int entry = row(k)[value];
            rated.cost += entry;
            if (CONFLICTS) rated.conflicts += entry >= problem.hard;
        }
        return rated;
    }

    // Returns a lower bound on the cost that a value adds in the mini-buckets, given the variables visited before.
    __device__ __noinline__ double ahead(u32 value) const {
        const Guidance &guidance = problem.guidance;
        if (!guidance.order) return 0.0;
        i64 sum = 0, sent = 0;
        for (u32 i = guidance.begin[variable]; i < guidance.begin[variable + 1]; i++) {
            const Term term = guidance.terms[i];
            u64 at = term.base + (u64)term.own * value;
            for (u32 k = 0; k < term.pairs; k++) {
                const uint2 pair = __ldg(guidance.pairs + term.first + k);
                at += (u64)state.words[pair.x] * pair.y;
            }
            i64 cost;
            if (term.kind == COSTS) cost = __ldg(guidance.costs + at);
            else if (guidance.narrow) cost = __ldg((const int *)guidance.messages + at);
            else cost = __ldg((const i64 *)guidance.messages + at);
            i64 &into = term.kind == SENT ? sent : sum;
            into = into >= FORBIDDEN || cost >= FORBIDDEN ? FORBIDDEN : min(into + cost, FORBIDDEN);
        }
        const i64 rise = sum >= FORBIDDEN ? FORBIDDEN : sum - sent;
        return (double)(min(rise, problem.core.price) >> guidance.shift);
    }

    // Returns the cost of a value minus that of the present one; lanes share the functions.
    template <u32 LANES> __device__ __forceinline__ int rise(u32 value, u32 lane, u32 mask) const {
        int sum = lane == 0 ? unary(value) - unary(held) : 0;
        for (u32 k = lane; k < incidences_of(info); k += LANES) {
            const Row entries = row(k);
            sum += entries[value] - entries[held];
        }
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(mask, sum, distance);
        return sum;
    }

    // Returns whether the variable is inactive, if that is known before its values are rated; lanes share the
    // functions.
    template <u32 LANES> __device__ __forceinline__ bool idle(u32 lane, u32 mask) const {
        if (!Early<USER>::VALUE && !now.settles) return false;
        const int own = unary(held);
        Aggregate all;
        all.current = lane == 0 ? own - problem.floors[variable] : 0;
        all.current_conflicts = CONFLICTS && lane == 0 && own >= problem.hard;
        for (u32 k = lane; k < incidences_of(info); k += LANES) {
            const int entry = row(k)[held];
            all.current += entry;
            if (CONFLICTS) all.current_conflicts += entry >= problem.hard;
        }
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2) {
            all.current += __shfl_xor_sync(mask, all.current, distance);
            if (CONFLICTS) all.current_conflicts += __shfl_xor_sync(mask, all.current_conflicts, distance);
        }
        // no value costs less than 0
        return now.settles ? all.current == 0 : !W::active(scalars(all));
    }

    __device__ __forceinline__ void accumulate(Aggregate &all, Rated rated) const {
        if (all.pass > 0) {
            if (!now.settles) W::accumulate(all.pass - 1, known(rated, all), all.own);
            return;
        }
        all.least = min(all.least, rated.cost);
        if (rated.value == held) {
            all.current = rated.cost;
            all.current_conflicts = rated.conflicts;
        }
    }

    __device__ __forceinline__ Aggregate merge(Aggregate a, const Aggregate &b) const {
        if (a.pass > 0) {
            W::merge(a.pass - 1, a.own, b.own);
        } else {
            a.least = min(a.least, b.least);
            a.current = max(a.current, b.current);
            a.current_conflicts = max(a.current_conflicts, b.current_conflicts);
        }
        return a;
    }

    // Merges the aggregates of all lanes; only those that the current scan changes are shuffled.
    template <u32 LANES> __device__ __forceinline__ Aggregate gather(Aggregate all, u32 mask) const {
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2) {
            Aggregate other = all;
            if (all.pass == 0) {
                other.least = __shfl_xor_sync(mask, all.least, distance);
                other.current = __shfl_xor_sync(mask, all.current, distance);
                if (CONFLICTS) other.current_conflicts = __shfl_xor_sync(mask, all.current_conflicts, distance);
            } else if constexpr (W::PASSES > 0) {
                other.own = shuffle_xor(mask, all.own, distance);
            }
            all = merge(all, other);
        }
        return all;
    }

    __device__ __forceinline__ void passed(Aggregate &all) const { all.pass++; }

    // Returns the inputs of the variable.
    __device__ __forceinline__ Known scalars(const Aggregate &all) const {
        Known in = {};
        in.domain = domain_of(info);
        in.degree = incidences_of(info);
        in.temperature = now.temperature;
        in.round = now.pass;
        in.since = now.pass - now.improved;
        in.least = all.least;
        in.current_cost = all.current;
        in.current_conflicts = all.current_conflicts;
        in.group = -1;
        W::look(problem.tables, variable, place + held, in);
        return in;
    }

    // Returns the inputs of a value, including those of the variable.
    __device__ __forceinline__ Known known(Rated rated, const Aggregate &all) const {
        Known in = scalars(all);
        const u32 value = rated.value, at = place + value;
        W::look(problem.tables, variable, at, in);
        in.cost = rated.cost;
        in.delta = rated.cost - all.current;
        in.current = value == held;
        in.conflicts = rated.conflicts;
        if (NEEDS_VALUE) in.value = problem.origins[at];
        if (NEEDS_INCUMBENT) in.incumbent = problem.incumbent && problem.incumbent[variable] == value;
        if (NEEDS_REDUCED) in.reduced = problem.reduced ? problem.reduced[at] : 0.0;
        if (NEEDS_H) in.h = ahead(value);
        if (NEEDS_UNARY) in.unary = unary(value);
        if (NEEDS_AGE) {
            const u32 left = state.words[problem.left + at];
            in.age = left == NEVER ? 1e9 : (double)(now.pass < left ? 0 : now.pass - left);
        }
        if (NEEDS_FREQUENCY) {
            const u32 visits = state.words[problem.visits + variable];
            in.frequency = (double)state.words[problem.taken + at] / (double)(visits > 1 ? visits : 1);
        }
        return in;
    }

    __device__ __forceinline__ bool active(const Aggregate &all) const {
        return now.settles ? all.current > all.least : W::active(scalars(all));
    }

    __device__ __forceinline__ u32 map(Rated rated, const Aggregate &all) const {
        if (!active(all)) return 0;
        if (now.settles) return rated.cost == all.least;
        const Known in = known(rated, all);
        // all lanes that find such a weight write the same variable
        if (W::nonsense(in, all.own)) state.words[problem.strange] = variable;
        return W::weight(in, all.own);
    }

    __device__ __forceinline__ void assign(u32 value) const { state.words[problem.picked] = value; }
    __device__ __forceinline__ void could_not_assign(const Aggregate &all) const {
        assign(active(all) ? WEIGHTLESS : INACTIVE);
    }
};
