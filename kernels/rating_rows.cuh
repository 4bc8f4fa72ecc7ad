// Rows of ratings that are kept between visits, in the units of the functions' rows. A visit reads one row instead of
// one for each function, and a move changes the rows of the neighbours.
#pragma once
#include "state_lanes.cuh"

// Computes the row of a variable: the sums of its functions' rows and its unary costs; zeros beyond the domain.
template <class T, class V>
__device__ __forceinline__ void rating_row(const Core &core, const T &lanes, const Values<V> &x, const uint4 &info,
                                           const Ahead<T> &ahead, u32 domain, uint4 (&sums)[T::Q]) {
    sum_rows(core, lanes, x, info, ahead, nullptr, sums);
#pragma unroll
    for (int j = 0; j < T::Q; j++) {
        const u32 unit = lanes.part() * T::Q + j;
        u32 own[T::UNIT];
#pragma unroll
        for (int q = 0; q < T::UNIT / 4; q++) {
            const int4 four = ahead.unary(core, lanes, info, j * (T::UNIT / 4) + q);
            own[4 * q] = four.x, own[4 * q + 1] = four.y, own[4 * q + 2] = four.z, own[4 * q + 3] = four.w;
        }
#pragma unroll
        for (u32 k = 0; k < T::UNIT; k++)
            if (unit * T::UNIT + k >= domain) own[k] = 0;
        if constexpr (T::HALF)
            add(sums[j],
                make_uint4(own[0] | own[1] << 16, own[2] | own[3] << 16, own[4] | own[5] << 16, own[6] | own[7] << 16));
        else
            add(sums[j], make_uint4(own[0], own[1], own[2], own[3]));
    }
}

// Extracts the ratings of a row; positions beyond the domain get PADDING.
template <class T>
__device__ __forceinline__ void ratings_of(const T &lanes, u32 domain, const uint4 (&sums)[T::Q],
                                           int (&ratings)[T::N]) {
#pragma unroll
    for (int j = 0; j < T::Q; j++) entries_of<T>(sums[j], ratings + T::UNIT * j);
#pragma unroll
    for (u32 k = 0; k < T::N; k++)
        if (lanes.part() * T::N + k >= domain) ratings[k] = PADDING;
}

// A function that two variables share changes the row of one of them, the effect's, if the other one moves. An effect
// has: the first unit of its row; units | part << 16 | more << 30 | not binary << 31; the first row of a binary
// function, or the incidence; the distance between the rows of consecutive values of the moving variable.

// Calls `change` for every `step`th unit of an effect's row, from `first` on, with the unit's number among all rows and
// the units that the function contributes after and before the move.
template <class V, class F>
__device__ __forceinline__ void each_change(const Core &core, const Values<V> &x, const uint4 &effect, u32 before,
                                            u32 now, u32 first, u32 step, F change) {
#ifdef LINKS
    const u32 here = effect.z + now * effect.w;
#else
    const u32 here = effect.y >> 31
        ? row_of(core, effect.z, __ldg(core.incidences + effect.z), effect.y >> 30 & 1, x, nullptr)
        : effect.z + now * effect.w;
#endif
    const u32 there = here + (before - now) * effect.w;
    for (u32 unit = first; unit < (effect.y & 0xffff); unit += step)
        change(effect.x + unit, unit_at(core, here + unit), unit_at(core, there + unit));
}
