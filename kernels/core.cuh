// A reduced problem on the device and the assignments that a kernel works on. All pointers are to global, read-only
// memory.
#pragma once
#include "constants.cuh"
#include "rng.cuh"

typedef long long i64;

// Offsets into `rows` are in its units, those into `unary_rows` in quads.
struct Core {
    int variables;
    int functions;
    int forests;
    int shapes;
    int strides_count;
    int classes;
    int quads;          // of the widest row
    int pad;            // values of a state in memory, a multiple of 16
    i64 price;          // of a forbidden entry
    const uint4 *rows;        // units of four entries or, where all fit, of eight halves or bytes; first one of zeros
    const int4 *unary_rows;
    // a variable: first incidence, incidences (| of two variables << 16, those first), unary row,
    // domain | row's quads << 16 | more << 31
    const uint4 *info;
    // base row, first | second << 16 (where variables do not fit 16 bits: first alone), strides of both
    const uint4 *incidences;
    const uint2 *wide;        // first, second; used where variables do not fit 16 bits
    const uint2 *more;        // an incidence's further pairs: first pair, pairs
    const uint2 *further;     // variable, stride
    const uint4 *entries;     // a function's: first cost (64 bits), first pair, pairs
    const uint2 *pairs;       // variable, stride
    const i64 *costs;         // of the functions, and after them the unary ones
    const u64 *unary;         // where a variable's unary costs begin in `costs`
    const u32 *strides;
    const u32 *regions;       // `shapes` orders of all variables
    const u32 *class_begin;   // `classes` + 1
    const u32 *class_members;
    const uint4 *class_info;  // what `info` says of them
    const u32 *neighbour_begin;
    const u32 *neighbours;
    const u32 *forest_levels; // a forest's first level, `forests` + 1
    const u32 *levels;        // a level's first node, roots first
    const u32 *nodes;         // see tree_move.cuh
    const u32 *children;      // of nodes
    const u64 *forest_ratings;
    const u8 *members;        // `forests` times `variables`
    // for rating caches (rating_cache.cuh)
    const uint4 *row_places;       // a variable: itself | domain << 16, its row | units << 16, first effect, effects
    const uint4 *class_row_places; // those of the members of classes
    const uint4 *effects;     // which rows change with a variable
    // in place of `incidences` and `costs` if all functions have two variables and rows are exact: base row, the other
    // variable, whose values have rows one after the other
    const uint2 *links;
};

// The values of one state: `stride` 1 where a lane group of lanes has it, the number of states where a lane has one
// alone.
template <class V> struct Values {
    V *at;
    int stride;

    __device__ __forceinline__ u32 operator[](u32 variable) const { return at[variable * stride]; }
    __device__ __forceinline__ void set(u32 variable, u32 value) const { at[variable * stride] = (V)value; }
};

// Incidences of a variable, and how many of them, the first ones, have one other variable.
__device__ __forceinline__ u32 incidences_of(const uint4 &info) { return info.y & 0xffff; }
__device__ __forceinline__ u32 binaries_of(const uint4 &info) { return info.y >> 16; }
__device__ __forceinline__ int quads_of(const uint4 &info) { return info.w >> 16 & 0x7fff; }
__device__ __forceinline__ u32 domain_of(const uint4 &info) { return info.w & 0xffff; }

// Where the row of an incidence, `it`, begins under `x`; a row of zeros where `member` names its first variable.
template <class V>
__device__ __forceinline__ int row_of(const Core &core, u32 incidence, const uint4 &it, bool more, const Values<V> &x,
                                      const u8 *member) {
#ifdef WIDE
    const uint2 ends = __ldg(core.wide + incidence);
    const u32 first = ends.x, second = ends.y;
#else
    const u32 first = it.y & 0xffff, second = it.y >> 16;
#endif
    u32 row = it.x + x[first] * it.z + x[second] * it.w;
    if (more) {
        const uint2 rest = __ldg(core.more + incidence);
        for (u32 k = 0; k < rest.y; k++) {
            const uint2 pair = __ldg(core.further + rest.x + k);
            row += x[pair.x] * pair.y;
        }
    }
    // two members of a forest share no function but a tree's edge
    if (member && member[first]) row = 0;
    return row;
}

// A function's cost, `value` giving the values of its variables.
template <class F> __device__ __forceinline__ i64 cost_of(const Core &core, const uint4 &entry, F value) {
    u64 at = entry.x | (u64)entry.y << 32;
    for (u32 k = 0; k < entry.w; k++) {
        const uint2 pair = __ldg(core.pairs + entry.z + k);
        at += (u64)value(pair.x) * pair.y;
    }
    return __ldg(core.costs + at);
}

#ifdef LINKS
// The unary cost of a value.
__device__ __forceinline__ i64 unary_of(const Core &core, const uint4 &info, u32 value) {
    return __ldg((const int *)(core.unary_rows + info.z) + value);
}

// What the function of a link costs under the other variable's value and an own one.
__device__ __forceinline__ i64 linked(const Core &core, const uint4 &info, const uint2 &it, u32 other, u32 own) {
#if defined(BYTE_ROWS)
    return __ldg((const u8 *)core.rows + 8ull * (it.x + other * (quads_of(info) / 2)) + own);
#elif defined(HALF_ROWS)
    return __ldg((const u16 *)core.rows + 8ull * (it.x + other * (quads_of(info) / 2)) + own);
#else
    return __ldg((const int *)core.rows + 4ull * (it.x + other * quads_of(info)) + own);
#endif
}
#endif

// The part of a cost in an energy.
__device__ __forceinline__ i64 priced(const Core &core, i64 cost) { return cost >= FORBIDDEN ? core.price : cost; }
