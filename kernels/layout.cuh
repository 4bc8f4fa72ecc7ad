// Offsets into the flat tables of moves (`tabu::walk::Layout`), for walks that store the cost of every value.
#pragma once
#include "rng.cuh"

// Tables of a reduced problem. Offsets of moves and entries are in quads, except in `affected` and `incidents`.
struct Layout {
    u32 variables;
    u32 quads;              // of all rows of moves
    u32 incidents_count;
    u32 group;              // lanes that share a row, a power of two
    u32 laps;               // loads of a group along the longest row: more than one only if it is a warp
    u32 unused;
    const int4 *entries;    // the unary rows first, in the layout of the moves
    const u32 *starts;      // the first quad of each variable, and the end
    const u32 *domains;
    const int *floors;
    const u32 *ranges;
    const uint4 *affected;  // base, stride, variable, incident
    const uint4 *incidents; // base, first pair, variable, whether it counts
    const uint2 *pairs;     // variable, stride
};
