// Networks as a domain of FANG: the values of a variable, weighed by a heuristic. The twin of src/search/guided on a device,
// pick by pick.
//
// A heuristic's text includes this file and defines
//
//   struct Heuristic {
//       static __device__ bool active(const Inputs &in);     whether the variable visited may get a new value
//       static __device__ u32 weight(const Inputs &in);      the weight of one value, 0 forbids
//   };
//
// `in` has what src/heuristics/inputs.rs lists, for one value; the host sets NEEDS_COST and so on by what the heuristic says
// that it needs, and what it does not is 0. `active` sees scalars only. Texts are compiled with --fmad=false, so sums and products
// are rounded as the CPU rounds them.
#pragma once
#include "core.cuh"
#include "fang.cuh"

struct Inputs {
    double value, cost, delta, current, incumbent, age, frequency, conflicts, unary;
    double domain, degree, temperature, round, current_cost, current_conflicts, least, group;
};

// The core and what the pass knows; the host's twin is `guided::cuda::NetworkProblem`.
struct NetworkProblem {
    Core core;
    const int *floors;       // the least that the functions on each variable could cost
    const u32 *places;       // where the values of each variable begin in what states remember
    const u32 *origins;      // the network's number of each value, by places
    const u32 *incumbent;    // null without one
    double temperature;
    int hard;                // what a forbidden entry costs
    u32 round;
    u32 left, taken, visits; // where in a state's words its memory begins
    u32 unused;
};

constexpr u32 NEVER = ~0u;

// The cost of a value above the least, as weights take it.
__device__ __forceinline__ u32 above(double cost, double least) {
    return (u32)fmin(fmax(cost - least, 0.0), 4294967295.0);
}

// Boltzmann weights in integers (src/search/boltzmann.rs).
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

struct Rated {
    int cost;
    u32 value;
};

struct Least {
    int cost = 0x7fffffff;
};

template <class USER> struct Network : Singles<Network<USER>, Rated, Least> {
    typedef NetworkProblem Problem;

    const NetworkProblem &problem;
    State state;
    u32 variable, held, place;
    uint4 info;

    __device__ __forceinline__ Network(const NetworkProblem &problem, State state, u32 variable)
        : problem(problem), state(state), variable(variable), held(state.words[variable]),
          place(problem.places[variable]), info(__ldg(problem.core.info + variable)) {}

    __device__ __forceinline__ u32 possibilities() const { return domain_of(info); }

    __device__ __forceinline__ int unary(u32 value) const {
        return ((const int *)(problem.core.unary_rows + info.z))[value];
    }

    // Gives `take` the value's entry of each function.
    template <class F> __device__ __forceinline__ void entries(u32 value, F take) const {
        const Values<u32> values{state.words, 1};
        for (u32 k = 0; k < incidences_of(info); k++) {
            const uint4 it = __ldg(problem.core.incidences + info.x + k);
            const int row = row_of(problem.core, info.x + k, it, info.w >> 31, values, nullptr);
#if HALF_ROWS
            take((int)((const unsigned short *)(problem.core.rows + row))[value]);
#else
            take(((const int *)(problem.core.rows + row))[value]);
#endif
        }
    }

    __device__ __forceinline__ int cost(u32 value) const {
        int sum = unary(value) - problem.floors[variable];
        entries(value, [&](int entry) { sum += entry; });
        return sum;
    }
    __device__ __forceinline__ int conflicts(u32 value) const {
        int count = unary(value) >= problem.hard;
        entries(value, [&](int entry) { count += entry >= problem.hard; });
        return count;
    }

    __device__ __forceinline__ Rated rate(u32 value) const { return {cost(value), value}; }
    __device__ __forceinline__ void accumulate(Least &least, Rated rated) const { least.cost = min(least.cost, rated.cost); }
    __device__ __forceinline__ Least merge(Least a, Least b) const {
        Least least;
        least.cost = min(a.cost, b.cost);
        return least;
    }

    __device__ __forceinline__ u32 map(Rated rated, Least least) const {
        Inputs in = {};
        in.domain = domain_of(info);
        in.degree = incidences_of(info);
        in.temperature = problem.temperature;
        in.round = problem.round;
        in.least = least.cost;
        in.group = -1;
        if (NEEDS_CURRENT_COST || NEEDS_DELTA) in.current_cost = cost(held);
        if (NEEDS_CURRENT_CONFLICTS) in.current_conflicts = conflicts(held);
        if (!USER::active(in)) return 0;
        const u32 value = rated.value;
        in.cost = rated.cost;
        if (NEEDS_VALUE) in.value = problem.origins[place + value];
        if (NEEDS_DELTA) in.delta = in.cost - in.current_cost;
        if (NEEDS_CURRENT) in.current = value == held;
        if (NEEDS_INCUMBENT) in.incumbent = problem.incumbent && problem.incumbent[variable] == value;
        if (NEEDS_CONFLICTS) in.conflicts = conflicts(value);
        if (NEEDS_UNARY) in.unary = unary(value);
        if (NEEDS_AGE) {
            const u32 left = state.words[problem.left + place + value];
            in.age = left == NEVER ? 1e9 : (double)(problem.round < left ? 0 : problem.round - left);
        }
        if (NEEDS_FREQUENCY) {
            const u32 visits = state.words[problem.visits + variable];
            in.frequency = (double)state.words[problem.taken + place + value] / (double)(visits > 1 ? visits : 1);
        }
        return USER::weight(in);
    }

    __device__ __forceinline__ void assign(u32 value) const {
        if (NEEDS_AGE && value != held) state.words[problem.left + place + held] = problem.round;
        state.words[variable] = value;
        visited(value);
    }
    __device__ __forceinline__ void could_not_assign() const { visited(held); }

    __device__ __forceinline__ void visited(u32 value) const {
        if (NEEDS_FREQUENCY) {
            state.words[problem.visits + variable]++;
            state.words[problem.taken + place + value]++;
        }
    }
};
