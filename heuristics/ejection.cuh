// The neighbourhood of heuristics/src/ejection.rs on a device: chains of at most LONGEST variables, each of which
// ejects at most BREADTH others.
#pragma once
#include "groups.cuh"

template <u32 BREADTH, u32 LONGEST> struct Ejection {
    static_assert(LONGEST <= MEMBERS, "a group has no more");

    // Adds the chain that begins with a variable taking a value.
    template <class View> static __device__ __forceinline__ void chain(View &view, u32 variable, u32 value) {
        view.add(variable, value);
        u32 next = 0;
        for (; next < view.members; next++) {
            const u32 moved = view.member(next)[0], taken = view.member(next)[1];
            view.mark_rises(moved, taken);
            if (view.group.rank == 0) view.member(next)[2] = view.value(moved);
            view.set(moved, taken);
            u64 after = ~0ull;
            for (u32 i = 0; i < BREADTH; i++) {
                const u32 other = view.next_clash(moved, after);
                if (other == NONE) break;
                if (view.members == LONGEST || view.has(other)) continue;
                const u32 cheapest = view.cheapest(other);
                if (cheapest != view.value(other)) view.add(other, cheapest);
            }
        }
        // only the search applies the group
        while (next-- > 0) view.set(view.member(next)[0], view.member(next)[2]);
    }

    // Proposes a chain from a random variable that takes another value.
    template <class View> static __device__ __forceinline__ void propose(View &view, Xoshiro &stream) {
        const u32 variable = stream.index(view.variables()), domain = view.domain(variable);
        if (domain > 1) chain(view, variable, (view.value(variable) + 1 + stream.index(domain - 1)) % domain);
    }
};
