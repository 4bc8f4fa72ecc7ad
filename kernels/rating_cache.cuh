// Rating cache: the ratings of a block's states, stored in shared memory. A visit reads one row instead of one for each
// function, and most visits of a cold state change nothing. Moves are recorded; after a class or level, whose variables
// share no function, all threads update the neighbours' rows together, because a single lane group would wait for each
// row separately. Rows use the units of the functions' rows. Sums of two halves may become negative in between; modulo
// 2^32 the final sum is correct.
#pragma once
#include "rating_rows.cuh"

// A variable's row and the rows that its moves change (`Core::row_places`).
struct RowPlace {
    u32 variable, domain, row, units, first, effects;

    __device__ __forceinline__ RowPlace(const uint4 &words)
        : variable(words.x & 0xffff), domain(words.x >> 16), row(words.y & 0xffff), units(words.y >> 16),
          first(words.z), effects(words.w) {}
};

// The variant without a cache, which rates at each visit.
template <class T, int STATES, bool KEEPS_RATINGS> struct RatingCache {
    static constexpr bool KEEPS = false;

    RatingCache() = default;
    __device__ __forceinline__ RatingCache(const Core &, void *, u32 *, u32) {}
    template <class V> __device__ __forceinline__ void make(const Core &, const T &, const Values<V> &, u32) const {}
    template <class V> __device__ __forceinline__ void update(const Core &, const Values<V> &) const {}
    template <class V>
    __device__ __forceinline__ u32 assign(
        const Core &, const T &lanes, const Values<V> &x, u32 variable, int value) const {
        return ::assign(lanes, x, variable, value);
    }

    // The next visit of a lane group in a sweep by classes, or none. Its data is loaded before the current visit.
    struct Visit {
        bool here;
        u32 variable;
        uint4 info;
        Ahead<T> ahead;

        __device__ __forceinline__ Visit(const Core &core, const T &lanes, u32 member, u32 end)
            : here(member < end), variable(__ldg(core.class_members + (here ? member : 0))),
              info(__ldg(core.class_info + (here ? member : 0))), ahead(core, lanes, info) {}
        template <class V>
        __device__ __forceinline__ u32 visit(const Core &core, const T &lanes, const Values<V> &x, const RatingCache &,
                                             const uint2 &boltzmann, u64 draw) const {
            return ::visit(core, lanes, x, variable, info, ahead, boltzmann, mix(draw, variable));
        }
    };
};

template <class T, int STATES> struct RatingCache<T, STATES, true> {
    static constexpr bool KEEPS = true;
    // number of units of a row that are processed at a time
    static constexpr u32 PARTS = T::NV * T::Q < 32 ? T::NV * T::Q : 32;

    uint4 *rows;    // of all states
    uint2 *moved;   // moves of all states, one per variable: effects << 18 | old value << 9 | new value; first effect
    u32 *counts;    // of moves, for each state, of the current and the previous class
    u32 size;       // units of a state
    u32 state;      // of this lane group
    u32 active;       // which of the two counts are current
    u32 group_bits; // 2^group_bits threads process a move, about as many as units change

    // Places the cache in `memory`, behind the values.
    __device__ __forceinline__ RatingCache(const Core &core, void *memory, u32 *counts, u32 state)
        : counts(counts), state(state), active(0) {
        const RowPlace last = __ldg(core.row_places + core.variables - 1);
        size = last.row + last.units;
        rows = (uint4 *)memory;
        moved = (uint2 *)(rows + size * STATES);
        const u32 changing = (last.first + last.effects) / core.variables * PARTS;
        group_bits = __ffs(PARTS) - 1;
        while (1 << group_bits < changing && STATES << (group_bits + 1) <= blockDim.x) group_bits++;
        if (threadIdx.x < STATES) counts[threadIdx.x] = 0;
    }

    // Computes the row of a variable: the sums of its functions' rows and its unary costs.
    template <class V>
    __device__ __forceinline__ void make(const Core &core, const T &lanes, const Values<V> &x, u32 variable) const {
        const uint4 info = __ldg(core.info + variable);
        const Ahead<T> ahead(core, lanes, info);
        const RowPlace row_place = __ldg(core.row_places + variable);
        uint4 sums[T::Q];
        rating_row(core, lanes, x, info, ahead, row_place.domain, sums);
        if (T::NN > 1 && lanes.slot() != 0) return;
#pragma unroll
        for (int j = 0; j < T::Q; j++) {
            const u32 unit = lanes.part() * T::Q + j;
            if (unit < row_place.units) rows[state * size + row_place.row + unit] = sums[j];
        }
    }

    __device__ __forceinline__ void load(const T &lanes, const RowPlace &row_place, uint4 (&sums)[T::Q]) const {
        const uint4 *row = rows + state * size + row_place.row;
#pragma unroll
        for (int j = 0; j < T::Q; j++) sums[j] = row[min((u32)(lanes.part() * T::Q + j), row_place.units - 1)];
    }

    // Sets a variable to the value that one lane selected, and records the move; returns 1 to that lane if it changed.
    template <class V>
    __device__ __forceinline__ u32 assign(const Core &core, const Values<V> &x, const RowPlace &row_place,
                                          int value) const {
        if (value < 0) return 0;
        const u32 before = x[row_place.variable];
        if ((u32)value == before) return 0;
        x.set(row_place.variable, value);
        const u32 place = atomicAdd(counts + active * STATES + state, 1);
        moved[state * core.variables + place] = make_uint2(row_place.effects << 18 | before << 9 | value,
                                                           row_place.first);
        return 1;
    }
    template <class V>
    __device__ __forceinline__ u32 assign(
        const Core &core, const T &, const Values<V> &x, u32 variable, int value) const {
        return assign(core, x, __ldg(core.row_places + variable), value);
    }

    // Processes all recorded moves. All threads call it; `x` are the values of this lane group's state.
    template <class V> __device__ __forceinline__ void update(const Core &core, const Values<V> &x) {
        __syncthreads();
        const u32 number = threadIdx.x >> group_bits, groups = (blockDim.x >> group_bits) / STATES,
                  of = number % STATES;
        const Values<V> there{x.at - state + of, x.stride};
        const u32 count = counts[active * STATES + of];
        for (u32 k = number / STATES; k < count; k += groups)
            follow(core, there, rows + of * size, moved[of * core.variables + k]);
        active ^= 1;
        if (threadIdx.x < STATES) counts[active * STATES + threadIdx.x] = 0;
        __syncthreads();
    }

    struct Visit {
        bool here;
        uint4 words;

        __device__ __forceinline__ Visit(const Core &core, const T &, u32 member, u32 end)
            : here(member < end), words(__ldg(core.class_row_places + (here ? member : 0))) {}
        template <class V>
        __device__ __forceinline__ u32 visit(const Core &core, const T &lanes, const Values<V> &x,
                                             const RatingCache &cache,
                                             const uint2 &boltzmann, u64 draw) const {
            const RowPlace row_place = words;
            uint4 sums[T::Q];
            int ratings[T::N];
            cache.load(lanes, row_place, sums);
            ratings_of(lanes, row_place.domain, sums, ratings);
            return cache.assign(core, x, row_place, pick(lanes, boltzmann, ratings, mix(draw, row_place.variable)));
        }
    };

  private:
    // Adds to the rows that depend on a variable the difference between its new and its old value.
    template <class V>
    __device__ __forceinline__ void follow(const Core &core, const Values<V> &x, uint4 *rows, const uint2 &move) const {
        const u32 lane = threadIdx.x & ((1 << group_bits) - 1), count = move.x >> 18, before = move.x >> 9 & 511,
                  now = move.x & 511;
        for (u32 k = lane / PARTS; k < count; k += (1 << group_bits) / PARTS) {
            const uint4 effect = __ldg(core.effects + move.y + k);
            const auto change = [&](u32 unit, const uint4 &a, const uint4 &b) {
                u32 *words = (u32 *)(rows + unit);
                const u32 changes[4] = {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
#pragma unroll
                for (int word = 0; word < 4; word++)
                    if (changes[word]) atomicAdd(words + word, changes[word]);
            };
            each_change(core, x, effect, before, now, lane % PARTS, PARTS, change);
        }
    }
};
