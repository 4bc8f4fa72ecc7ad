// Groups of variables that are assigned together: a neighbourhood's view of a state, and its proposal. A heuristic's
// source is followed by its neighbourhood's, which includes this file and defines
//
//   struct Groups {
//       template <class View> static __device__ void propose(View &view, Xoshiro &stream);
//   };
//
// equal to `Neighbourhood::propose` in Rust, draw by draw. All threads of a state run it with the same numbers, and all
// must make every call of the view, because lanes share the work of each call.
#pragma once
#include "network.cuh"

template <u32 THREADS, class USER> struct View {
    static constexpr u32 LANES = Group<THREADS>::LANES;

    const Group<THREADS> &group;
    const NetworkProblem &problem;
    const State state;
    u32 members; // of the proposed group

    __device__ __forceinline__ View(const Group<THREADS> &group, const NetworkProblem &problem, State state)
        : group(group), problem(problem), state(state), members(0) {}

    // Returns the address of a member of the group: its variable, its new value and its previous one.
    __device__ __forceinline__ u32 *member(u32 place) const { return state.words + problem.group + 3 * place; }
    // Returns the marks of `mark_rises`, one for each variable.
    __device__ __forceinline__ u32 *marks() const { return state.words + problem.marks; }

    __device__ __forceinline__ u32 variables() const { return problem.core.variables; }
    __device__ __forceinline__ u32 domain(u32 variable) const { return domain_of(__ldg(problem.core.info + variable)); }
    __device__ __forceinline__ u32 value(u32 variable) const { return state.words[variable]; }

    // Returns the network's number of a value; or the value with such a number, NONE if the variable has none.
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

    // Returns the unary cost of a value in the units of the reduced problem.
    __device__ __forceinline__ i64 unary(u32 variable, u32 value) const {
        const i64 cost = __ldg(problem.core.costs + __ldg(problem.core.unary + variable) + value);
        return cost < FORBIDDEN ? cost : FORBIDDEN;
    }

    // Returns the largest unary cost of a variable.
    __device__ __forceinline__ i64 dearest(u32 variable) const {
        i64 most = 0;
        for (u32 value = 0; value < domain(variable); value++) most = max(most, unary(variable, value));
        return most;
    }

    // The neighbours of a variable are at ascending indices from its begin to the next variable's begin.
    __device__ __forceinline__ u32 neighbours_begin(u32 variable) const {
        return __ldg(problem.core.neighbour_begin + variable);
    }
    __device__ __forceinline__ u32 neighbour(u32 place) const { return __ldg(problem.core.neighbours + place); }

    // Returns the first index, from `from` on, of a neighbour that has a value; NONE if there is none.
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

    // Returns the first of a variable's values with least cost.
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

    // Marks each neighbour with the largest cost increase of a function shared with the variable, if the variable took
    // a value.
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
        // a function without a second variable has stride 0
        if (it.w != 0) atomicMax(marks() + ends.y, rise);
        if (info.w >> 31) {
            const uint2 rest = __ldg(problem.core.more + info.x + k);
            for (u32 i = 0; i < rest.y; i++) atomicMax(marks() + __ldg(problem.core.further + rest.x + i).x, rise);
        }
    }

    // Returns the next marked neighbour, by decreasing increase, then ascending; NONE after the last. `after` is ~0 at
    // first.
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

    // Returns the sum of the largest unary costs of all marked neighbours.
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

    // Returns whether a variable is in the group.
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

    // Assigns a value to see what follows; the proposal must undo this before it ends.
    __device__ __forceinline__ void set(u32 variable, u32 value) const {
        group.sync();
        if (group.rank == 0) state.words[variable] = value;
        group.sync();
    }
};
