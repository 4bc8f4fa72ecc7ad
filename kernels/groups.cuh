// Groups of variables that are assigned together: a neighbourhood's view of a state, and its proposal. A heuristic's
// text is followed by its neighbourhood's, which includes this file and defines
//
//   struct Groups {
//       template <class View> static __device__ void propose(View &view, Xoshiro &stream);
//   };
//
// equal to `Neighbourhood::propose` in Rust, draw by draw. All threads of a state run it with the same numbers, and all
// must make every call of the view: lanes share the work of each.
#pragma once
#include "network.cuh"

// Most variables of a group; the host's constant is `guided::network::MEMBERS`.
constexpr u32 MEMBERS = 64;

template <u32 THREADS, class USER> struct View {
    static constexpr u32 LANES = Group<THREADS>::LANES;

    const Group<THREADS> &group;
    const NetworkProblem &problem;
    const State state;
    u32 members; // of the group proposed

    __device__ __forceinline__ View(const Group<THREADS> &group, const NetworkProblem &problem, State state)
        : group(group), problem(problem), state(state), members(0) {}

    // The group: a variable, its new value and the one before of each member.
    __device__ __forceinline__ u32 *member(u32 place) const { return state.words + problem.group + 3 * place; }
    // By neighbour, what `rises` has found.
    __device__ __forceinline__ u32 *marks() const { return state.words + problem.marks; }

    __device__ __forceinline__ u32 variables() const { return problem.core.variables; }
    __device__ __forceinline__ u32 domain(u32 variable) const { return domain_of(__ldg(problem.core.info + variable)); }
    __device__ __forceinline__ u32 value(u32 variable) const { return state.words[variable]; }

    // The network's number of a value, and the value that has such a number, NONE where the variable has none.
    __device__ __forceinline__ u32 origin_value(u32 variable, u32 value) const {
        return problem.origins[problem.places[variable] + value];
    }
    __device__ __forceinline__ u32 value_of_origin(u32 variable, u32 origin) const {
        u32 low = 0, high = domain(variable);
        const u32 *const origins = problem.origins + problem.places[variable];
        while (low < high) {
            const u32 middle = (low + high) / 2;
            if (origins[middle] < origin) low = middle + 1;
            else high = middle;
        }
        return low < domain(variable) && origins[low] == origin ? low : NONE;
    }

    // A value's unary cost in the units of the reduced problem.
    __device__ __forceinline__ i64 unary(u32 variable, u32 value) const {
        const i64 cost = __ldg(problem.core.costs + __ldg(problem.core.unary + variable) + value);
        return cost < FORBIDDEN ? cost : FORBIDDEN;
    }

    // The largest of a variable's unary costs.
    __device__ __forceinline__ i64 dearest(u32 variable) const {
        i64 most = 0;
        for (u32 value = 0; value < domain(variable); value++) most = max(most, unary(variable, value));
        return most;
    }

    // The neighbours of a variable are those from one place to another, ascending.
    __device__ __forceinline__ u32 neighbours_begin(u32 variable) const {
        return __ldg(problem.core.neighbour_begin + variable);
    }
    __device__ __forceinline__ u32 neighbour(u32 place) const { return __ldg(problem.core.neighbours + place); }

    // The place of the first neighbour, from a place on, that has a value; NONE where none does.
    __device__ __forceinline__ u32 neighbour_with(u32 variable, u32 wanted, u32 from) const {
        const u32 end = neighbours_begin(variable + 1);
        for (u32 start = from; start < end; start += LANES) {
            const u32 at = start + group.lane;
            const u32 found =
                __ballot_sync(group.mask, at < end && value(neighbour(at < end ? at : start)) == wanted) & group.mask;
            if (found != 0) return start + (__ffs(found) - 1) % LANES;
        }
        return NONE;
    }

    // The first of a variable's cheapest values.
    __device__ __forceinline__ u32 cheapest(u32 variable) const {
        const Network<USER> visit(problem, state, variable, Now{});
        u64 best = ~0ull;
        for (u32 value = group.lane; value < visit.possibilities(); value += LANES)
            best = min(best, (u64)(u32)visit.rate(value).cost << 32 | value);
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2)
            best = min(best, __shfl_xor_sync(group.mask, best, distance));
        return (u32)best;
    }

    // Marks each neighbour with the largest cost increase, with the value, of a function shared with the variable.
    __device__ __noinline__ void mark_rises(u32 variable, u32 value) const {
        const Network<USER> visit(problem, state, variable, Now{});
        const u32 begin = neighbours_begin(variable), end = neighbours_begin(variable + 1);
        group.sync();
        for (u32 at = begin + group.rank; at < end; at += THREADS) marks()[neighbour(at)] = 0;
        group.sync();
        for (u32 k = group.rank; k < incidences_of(visit.info); k += THREADS) {
            const auto entries = visit.row(k);
            const int rise = (int)entries[value] - (int)entries[visit.held];
            if (rise > 0) mark_others(visit.info, k, rise);
        }
        group.sync();
    }

    __device__ __forceinline__ void mark_others(const uint4 &info, u32 k, u32 rise) const {
        const uint4 it = __ldg(problem.core.incidences + info.x + k);
#ifdef WIDE
        const uint2 ends = __ldg(problem.core.wide + info.x + k);
#else
        const uint2 ends = {it.y & 0xffff, it.y >> 16};
#endif
        atomicMax(marks() + ends.x, rise);
        // without a second variable its stride is 0
        if (it.w != 0) atomicMax(marks() + ends.y, rise);
        if (info.w >> 31) {
            const uint2 rest = __ldg(problem.core.more + info.x + k);
            for (u32 i = 0; i < rest.y; i++) atomicMax(marks() + __ldg(problem.core.further + rest.x + i).x, rise);
        }
    }

    // The next marked neighbour, by falling increase, then ascending; NONE after the last. `after` is ~0 at first.
    __device__ __forceinline__ u32 next_clash(u32 variable, u64 &after) const {
        const u32 end = neighbours_begin(variable + 1);
        u64 best = 0;
        for (u32 at = neighbours_begin(variable) + group.lane; at < end; at += LANES) {
            const u32 other = neighbour(at), rise = marks()[other];
            const u64 key = (u64)rise << 32 | (NONE - other);
            if (rise > 0 && key < after) best = max(best, key);
        }
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2)
            best = max(best, __shfl_xor_sync(group.mask, best, distance));
        after = best;
        return best == 0 ? NONE : NONE - (u32)best;
    }

    // The sum of the largest unary costs of all marked neighbours.
    __device__ __forceinline__ i64 marked_weight(u32 variable) const {
        const u32 end = neighbours_begin(variable + 1);
        i64 sum = 0;
        for (u32 at = neighbours_begin(variable) + group.lane; at < end; at += LANES) {
            const u32 other = neighbour(at);
            if (marks()[other] > 0) sum = min(sum + dearest(other), FORBIDDEN);
        }
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2)
            sum = min(sum + __shfl_xor_sync(group.mask, sum, distance), FORBIDDEN);
        return sum;
    }

    // Whether a variable is in the group.
    __device__ __forceinline__ bool has(u32 variable) const {
        for (u32 place = 0; place < members; place++)
            if (member(place)[0] == variable) return true;
        return false;
    }

    // Adds a member, if there is room.
    __device__ __forceinline__ void add(u32 variable, u32 value) {
        if (members == MEMBERS) return;
        group.sync();
        if (group.rank == 0) {
            member(members)[0] = variable;
            member(members)[1] = value;
        }
        members++;
        group.sync();
    }

    // Discards the group.
    __device__ __forceinline__ void clear() { members = 0; }

    // Gives a member its value to see what follows; the proposal must undo this before it ends.
    __device__ __forceinline__ void set(u32 variable, u32 value) const {
        group.sync();
        if (group.rank == 0) state.words[variable] = value;
        group.sync();
    }
};
