// A reduced problem on the device and the assignments that a kernel works on. All pointers are to global, read-only
// memory.
#pragma once
#include "constants.cuh"
#include "rng.cuh"

typedef long long i64;

// Offsets into `rows` are in units of rows, those into `unary_rows` in quads of entries.
struct Core {
    int variables;
    int functions;
    int forests;
    int shapes;
    int strides_count;
    int classes;
    int quads;          // padded length of the longest row, in quads of entries
    int pad;            // values of a state in memory, a multiple of 16
    i64 price;          // energy of a forbidden tuple
    const uint4 *rows;        // units of four entries or, if all fit, of eight halves or bytes; the first row is zeros
    const int4 *unary_rows;
    // per variable: first incidence; incidences | binary ones, which come first, << 16; unary row; domain | quads of a
    // row << 16 | whether incidences have further pairs << 31
    const uint4 *info;
    // per incidence: base row; first | second << 16 (first alone if variables do not fit 16 bits); strides of both
    const uint4 *incidences;
    const uint2 *wide;        // first, second; used if variables do not fit 16 bits
    const uint2 *more;        // further pairs of an incidence: first pair, number of pairs
    const uint2 *further;     // variable, stride
    const uint4 *entries;     // per function: first cost (64 bits), first pair, number of pairs
    const uint2 *pairs;       // variable, stride
    const i64 *costs;         // of the functions, followed by the unary ones
    const u64 *unary;         // start of a variable's unary costs in `costs`
    const u32 *strides;
    const u32 *regions;       // `shapes` orders of all variables
    const u32 *class_begin;   // `classes` + 1
    const u32 *class_members;
    const uint4 *class_info;  // `info` of the members
    const u32 *neighbour_begin;
    const u32 *neighbours;
    const u32 *forest_levels; // first level of each forest, `forests` + 1
    const u32 *levels;        // first node of each level, roots first
    const u32 *nodes;         // see tree_move.cuh
    const u32 *children;      // of nodes
    const u64 *forest_ratings;
    const u8 *members;        // `forests` times `variables`
    // for rating caches (rating_cache.cuh)
    const uint4 *row_places;       // per variable: itself | domain << 16, row | units << 16, first effect, effects
    const uint4 *class_row_places; // `row_places` of the members of classes
    const uint4 *effects;     // the rows that change with a variable
    // used in place of `incidences` and `costs` if all functions are binary and rows are exact: base row, and the other
    // variable, whose values have consecutive rows
    const uint2 *links;
};

// The values of one state. `stride` is 1 if a group of several lanes shares the state, and the number of states if each
// lane has its own.
template <class V> struct Values {
    V *at;
    int stride;

    __device__ __forceinline__ u32 operator[](u32 variable) const { return at[variable * stride]; }
    __device__ __forceinline__ void set(u32 variable, u32 value) const { at[variable * stride] = (V)value; }
};

// The number of a variable's incidences, and of those with a binary function, which come first.
__device__ __forceinline__ u32 incidences_of(const uint4 &info) { return info.y & 0xffff; }
__device__ __forceinline__ u32 binaries_of(const uint4 &info) { return info.y >> 16; }
__device__ __forceinline__ int quads_of(const uint4 &info) { return info.w >> 16 & 0x7fff; }
__device__ __forceinline__ u32 domain_of(const uint4 &info) { return info.w & 0xffff; }

// Returns the row of incidence `it` under `x`, or the row of zeros if the first variable is in `member`.
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
    // two members of a forest share no function but the edge of a tree
    if (member && member[first]) row = 0;
    return row;
}

// Returns the cost of a function; `value` returns the values of its variables.
template <class F> __device__ __forceinline__ i64 cost_of(const Core &core, const uint4 &entry, F value) {
    u64 at = entry.x | (u64)entry.y << 32;
    for (u32 k = 0; k < entry.w; k++) {
        const uint2 pair = __ldg(core.pairs + entry.z + k);
        at += (u64)value(pair.x) * pair.y;
    }
    return __ldg(core.costs + at);
}

#ifdef LINKS
// Returns the unary cost of a value.
__device__ __forceinline__ i64 unary_of(const Core &core, const uint4 &info, u32 value) {
    return __ldg((const int *)(core.unary_rows + info.z) + value);
}

// Returns the cost of a link's function for a value of the other variable and a value of this one.
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

// Returns the contribution of a cost to the energy.
__device__ __forceinline__ i64 priced(const Core &core, i64 cost) { return cost >= FORBIDDEN ? core.price : cost; }
