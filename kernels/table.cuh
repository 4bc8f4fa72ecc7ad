// Ratings read from a table: the simplest heuristic, for tests and as an example. Three types of variables share a
// state, whose words are the possibilities that the variables took.
#pragma once
#include "fang.cuh"

struct Rows {
    // The ratings of all variables, and the index of each variable's first rating, followed by the end of the last.
    const u32 *ratings, *starts;
    u32 variables;
};

// The types: a plain row; a row rotated by the last variable's possibility, in which lower ratings have more weight;
// and a row whose odd possibilities activate a variable.
enum Kind : u32 { STRAIGHT, TURNED, WAKING };

template <Kind KIND> struct Table : Singles<Table<KIND>, u32, u32> {
    typedef Rows Problem;
    // one sector of memory at a time
    static constexpr u32 SPREAD = 8;

    State state;
    const u32 *row;
    u32 variable, variables, count, turn;

    __device__ __forceinline__ Table(const Rows &rows, State state, u32 variable)
        : state(state), row(rows.ratings + rows.starts[variable]), variable(variable), variables(rows.variables),
          count(rows.starts[variable + 1] - rows.starts[variable]), turn(0) {
        if (KIND == TURNED && count > 0) turn = state.words[(variable + variables - 1) % variables] % count;
    }

    __device__ __forceinline__ u32 possibilities() const { return count; }
    __device__ __forceinline__ u32 rate(u32 possibility) const {
        const u32 at = possibility + turn;
        return row[at < count ? at : at - count];
    }
    __device__ __forceinline__ void accumulate(u32 &largest, u32 rating) const { largest = max(largest, rating); }
    __device__ __forceinline__ u32 merge(u32 a, u32 b) const { return max(a, b); }
    __device__ __forceinline__ u32 map(u32 rating, u32 largest) const {
        return KIND == TURNED ? largest - rating : rating;
    }
    __device__ __forceinline__ void assign(u32 possibility) const {
        state.words[variable] = possibility;
        if (KIND == WAKING && possibility % 2 == 1) state.activate((variable * 7 + 3) % variables);
    }
    __device__ __forceinline__ void could_not_assign(u32) const { state.words[variable] = ~0u; }
};
