// Points on a plane that move toward goals: the heuristic of crates/fang/src/manhattan.rs on a device.
#pragma once
#include "fang.cuh"
#include "halves.cuh"

// The problem that the heuristics read; the host's type is `fang::cuda::manhattan::Plane`.
struct Plane {
    // `load` goals of each variable, one variable after the other.
    const int2 *goals;
    u32 load, side;
    // 2^32 / side, rounded up: indices are below 2^20, so that multiplication by it divides them exactly.
    u32 reciprocal;
};

// The heuristic for any side and load, one cell at a time.
struct Manhattan : Singles<Manhattan, u32, u32> {
    typedef Plane Problem;
    const Plane &plane;
    int2 *cell;
    const int2 *goals;
    int2 point;

    __device__ __forceinline__ Manhattan(const Plane &plane, State state, u32 variable)
        : plane(plane), cell((int2 *)state.words + variable), goals(plane.goals + (u64)variable * plane.load),
          point(*cell) {}

    __device__ __forceinline__ u32 possibilities() const { return plane.side * plane.side - 1; }

    // Returns the position of a possibility in the square; possibilities are numbered row by row, without the center.
    __device__ __forceinline__ uint2 place(u32 possibility) const {
        const u32 index = possibility + (possibility >= possibilities() / 2);
        const u32 y = __umulhi(index, plane.reciprocal);
        return {index - y * plane.side, y};
    }

    __device__ __forceinline__ int2 target(u32 possibility) const {
        const uint2 at = place(possibility);
        const int radius = plane.side / 2;
        return {point.x + (int)at.x - radius, point.y + (int)at.y - radius};
    }

    __device__ __forceinline__ u32 rate(u32 possibility) const {
        const int2 at = target(possibility);
        u32 distance = 0;
        for (u32 i = 0; i < plane.load; i++) {
            const int2 goal = goals[i];
            distance += abs(at.x - goal.x) + abs(at.y - goal.y);
        }
        return distance;
    }

    __device__ __forceinline__ void accumulate(u32 &longest, u32 rating) const { longest = max(longest, rating); }
    __device__ __forceinline__ u32 merge(u32 a, u32 b) const { return max(a, b); }
    __device__ __forceinline__ u32 map(u32 rating, u32 longest) const { return longest - rating; }
    __device__ __forceinline__ void assign(u32 possibility) const { *cell = target(possibility); }
    __device__ __forceinline__ void could_not_assign(u32) const {}
};

// The heuristic for four cells at a time, for sides from 5 to 1023 and ratings that differ by at most 31743. Only
// differences of ratings matter, and within the square |x - goal| differs as for a goal on its edge if the goal is
// beyond it. Goals are therefore moved to the edge, distances are at most 2 * (side - 1), and ratings, less a constant,
// fit 16 bits.
template <u32 LOAD> struct ManhattanPacked : Manhattan {
    static constexpr u32 WIDTH = 4, PARTS = 2; // the center is between the two parts
    struct Pack {
        u32 low, high;
    };
    // The largest of the ratings at even and of those at odd positions; after `gather`, the largest of all in both
    // halves.
    typedef u32 Aggregate;

    // The position of the first goal in the square, and the positions of the others relative to it.
    int2 origin;
    u32 across[LOAD], down[LOAD];

    __device__ __forceinline__ ManhattanPacked(const Plane &plane, State state, u32 variable)
        : Manhattan(plane, state, variable) {
        const int radius = plane.side / 2;
#pragma unroll
        for (u32 i = 0; i < LOAD; i++) {
            const int2 goal = goals[i];
            const int x = radius + min(max(goal.x - point.x, -radius), radius);
            const int y = radius + min(max(goal.y - point.y, -radius), radius);
            if (i == 0) origin = {x, y};
            across[i] = both(x - origin.x);
            down[i] = both(y - origin.y);
        }
    }

    // Moves over the square row by row; positions are relative to the first goal.
    struct Cursor {
        const ManhattanPacked &h;
        u32 x[2], y[2];
        u32 edge, back;

        __device__ __forceinline__ void wrap() {
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u32 beyond = where_at_least(x[i], edge);
                x[i] = add_where(beyond, x[i], back);
                y[i] = add_where(beyond, y[i], 0x00010001u);
            }
        }

        __device__ __forceinline__ Pack next() {
            u32 sums[2];
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                sums[i] = add(absolute(x[i]), absolute(y[i]));
#pragma unroll
                for (u32 goal = 1; goal < LOAD; goal++)
                    sums[i] += add(absolute(subtract(x[i], h.across[goal])), absolute(subtract(y[i], h.down[goal])));
                x[i] = add(x[i], 0x00040004u);
            }
            wrap();
            return {sums[0], sums[1]};
        }
    };

    // Returns a cursor that moves from a pack to the next one.
    __device__ __forceinline__ Cursor cursor(u32 possibility, u32) const {
        const uint2 at = place(possibility);
        const u32 x = both((int)at.x - origin.x), y = both((int)at.y - origin.y);
        const int side = plane.side;
        Cursor cursor = {*this, {add(x, 0x00010000u), add(x, 0x00030002u)}, {y, y}, both(side - origin.x), both(-side)};
        cursor.wrap();
        return cursor;
    }

    __device__ __forceinline__ void accumulate(u32 &longest, Pack ratings) const {
        longest = larger(longest, larger(ratings.low, ratings.high));
    }

    template <u32 LANES> __device__ __forceinline__ u32 gather(u32 longest, u32 mask) const {
        u32 most = max(longest & 0xFFFF, longest >> 16);
#if __CUDA_ARCH__ >= 800
        most = __reduce_max_sync(mask, most);
#else
        for (u32 distance = LANES / 2; distance > 0; distance /= 2)
            most = max(most, __shfl_xor_sync(mask, most, distance));
#endif
        return most * 0x10001;
    }

    // Weights are added in pairs before they are widened: 2 * 31743 fits.
    template <class Sum> __device__ __forceinline__ Sum weigh(Pack ratings, u32 longest, Sum sum) const {
        const u32 weights = 2 * longest - ratings.low - ratings.high;
        if constexpr (sizeof(Sum) == 4)
            return __dp2a_lo(weights, 0x0101u, sum);
        else
            return sum + __dp2a_lo(weights, 0x0101u, 0u);
    }

    __device__ __forceinline__ u32 weight(Pack ratings, u32 place, u32 longest) const {
        return (longest - (place < 2 ? ratings.low : ratings.high)) >> (16 * (place % 2)) & 0xFFFF;
    }
};
