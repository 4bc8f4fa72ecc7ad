// The neighbourhood of heuristics/src/list/coloring.rs on a device: Kempe chains.
#include "groups.cuh"

struct Groups {
    static constexpr u32 CANDIDATES = 8, LONGEST = 16;

    template <class View> static __device__ __forceinline__ void propose(View &view, Xoshiro &stream) {
        u32 vertex = NONE;
        for (u32 i = 0; i < CANDIDATES && vertex == NONE; i++) {
            const u32 candidate = stream.index(view.variables());
            if (view.neighbour_with(candidate, view.value(candidate), view.neighbours_begin(candidate)) != NONE)
                vertex = candidate;
        }
        if (vertex == NONE) return;
        const u32 colors = view.domain(vertex), color = view.value(vertex);
        if (colors < 2) return;
        const u32 other = (color + 1 + stream.index(colors - 1)) % colors;
        view.add(vertex, other);
        for (u32 next = 0; next < view.members; next++) {
            const u32 moved = view.member(next)[0], taken = view.member(next)[1];
            u32 at = view.neighbours_begin(moved);
            while ((at = view.neighbour_with(moved, taken, at)) != NONE) {
                const u32 follower = view.neighbour(at++);
                if (view.has(follower)) continue;
                if (view.members == LONGEST) return view.clear();
                view.add(follower, taken == color ? other : color);
            }
        }
    }
};
