// Rating cache: the ratings of a block's states, kept in shared memory. A visit reads one row instead of one for each
// function, and most visits of a cold state change nothing. Moves are recorded; after a class or level, whose variables
// share no function, all threads update the neighbours' rows together, because a single team would wait for each row in
// turn. Rows use the units of the functions' rows. Sums of two halves may go below zero on the way; modulo 2^32 the end
// is right.
#pragma once
#include "team.cuh"

// A variable's row and the rows that its moves change (`Core::seats`).
struct Seat {
    u32 variable, domain, row, units, first, effects;

    __device__ __forceinline__ Seat(const uint4 &words)
        : variable(words.x & 0xffff), domain(words.x >> 16), row(words.y & 0xffff), units(words.y >> 16),
          first(words.z), effects(words.w) {}
};

// Without a cache.
template <class T, int STATES, bool KEPT> struct Kept {
    static constexpr bool KEEPS = false;

    Kept() = default;
    __device__ __forceinline__ Kept(const Core &, void *, u32 *, u32) {}
    template <class V> __device__ __forceinline__ void make(const Core &, const T &, const Values<V> &, u32) const {}
    template <class V> __device__ __forceinline__ void settle(const Core &, const Values<V> &) const {}
    template <class V>
    __device__ __forceinline__ u32 assign(
        const Core &, const T &team, const Values<V> &x, u32 variable, int value) const {
        return ::assign(team, x, variable, value);
    }

    // A team's next visit in a sweep by classes, or none: its data is loaded before the visit before it.
    struct Turn {
        bool here;
        u32 variable;
        uint4 info;
        Ahead<T> ahead;

        __device__ __forceinline__ Turn(const Core &core, const T &team, u32 member, u32 end)
            : here(member < end), variable(__ldg(core.class_members + (here ? member : 0))),
              info(__ldg(core.class_info + (here ? member : 0))), ahead(core, team, info) {}
        template <class V>
        __device__ __forceinline__ u32 visit(const Core &core, const T &team, const Values<V> &x, const Kept &,
                                             const uint2 &boltzmann, u64 draw) const {
            return ::visit(core, team, x, variable, info, ahead, boltzmann, mix(draw, variable));
        }
    };
};

template <class T, int STATES> struct Kept<T, STATES, true> {
    static constexpr bool KEEPS = true;
    // units of a row at a time
    static constexpr u32 PARTS = T::NV * T::Q < 32 ? T::NV * T::Q : 32;

    uint4 *rows;    // of all states
    uint2 *moved;   // moves of all states, one a variable: effects << 18 | value before << 9 | value now; first effect
    u32 *counts;    // of moves, for each state, and of the last ones
    u32 size;       // units of a state
    u32 state;      // of this team
    u32 turn;       // which of the counts are in use
    u32 group_bits; // 2^this threads follow a move, about as many as units change

    // In `memory`, behind the values.
    __device__ __forceinline__ Kept(const Core &core, void *memory, u32 *counts, u32 state)
        : counts(counts), state(state), turn(0) {
        const Seat last = __ldg(core.seats + core.variables - 1);
        size = last.row + last.units;
        rows = (uint4 *)memory;
        moved = (uint2 *)(rows + size * STATES);
        const u32 changing = (last.first + last.effects) / core.variables * PARTS;
        group_bits = __ffs(PARTS) - 1;
        while (1 << group_bits < changing && STATES << (group_bits + 1) <= blockDim.x) group_bits++;
        if (threadIdx.x < STATES) counts[threadIdx.x] = 0;
    }

    // Makes the row of a variable: the sums of its functions' rows and its unary costs.
    template <class V>
    __device__ __forceinline__ void make(const Core &core, const T &team, const Values<V> &x, u32 variable) const {
        const uint4 info = __ldg(core.info + variable);
        const Ahead<T> ahead(core, team, info);
        const Seat seat = __ldg(core.seats + variable);
        uint4 sums[T::Q];
        sum_rows(core, team, x, info, ahead, nullptr, sums);
        if (T::NN > 1 && team.slot() != 0) return;
#pragma unroll
        for (int j = 0; j < T::Q; j++) {
            const u32 unit = team.part() * T::Q + j;
            u32 own[T::UNIT];
#pragma unroll
            for (int q = 0; q < T::UNIT / 4; q++) {
                const int4 four = ahead.unary(core, team, info, j * (T::UNIT / 4) + q);
                own[4 * q] = four.x, own[4 * q + 1] = four.y, own[4 * q + 2] = four.z, own[4 * q + 3] = four.w;
            }
#pragma unroll
            for (u32 k = 0; k < T::UNIT; k++)
                if (unit * T::UNIT + k >= seat.domain) own[k] = 0;
            if constexpr (T::HALF)
                add(sums[j], make_uint4(own[0] | own[1] << 16, own[2] | own[3] << 16, own[4] | own[5] << 16,
                                        own[6] | own[7] << 16));
            else
                add(sums[j], make_uint4(own[0], own[1], own[2], own[3]));
            if (unit < seat.units) rows[state * size + seat.row + unit] = sums[j];
        }
    }

    __device__ __forceinline__ void load(const T &team, const Seat &seat, uint4 (&sums)[T::Q]) const {
        const uint4 *row = rows + state * size + seat.row;
#pragma unroll
        for (int j = 0; j < T::Q; j++) sums[j] = row[min((u32)(team.part() * T::Q + j), seat.units - 1)];
    }

    // Ratings of such sums: places beyond the domain get PADDING.
    static __device__ __forceinline__ void rate(
        const T &team, const Seat &seat, const uint4 (&sums)[T::Q], int (&ratings)[T::N]) {
#pragma unroll
        for (int j = 0; j < T::Q; j++) entries_of<T>(sums[j], ratings + T::UNIT * j);
#pragma unroll
        for (u32 k = 0; k < T::N; k++)
            if (team.part() * T::N + k >= seat.domain) ratings[k] = PADDING;
    }

    // Sets a variable to the value picked by one lane; returns 1 to that lane if it has changed. Records the move.
    template <class V>
    __device__ __forceinline__ u32 assign(const Core &core, const Values<V> &x, const Seat &seat, int value) const {
        if (value < 0) return 0;
        const u32 before = x[seat.variable];
        if ((u32)value == before) return 0;
        x.set(seat.variable, value);
        const u32 place = atomicAdd(counts + turn * STATES + state, 1);
        moved[state * core.variables + place] = make_uint2(seat.effects << 18 | before << 9 | value, seat.first);
        return 1;
    }
    template <class V>
    __device__ __forceinline__ u32 assign(
        const Core &core, const T &, const Values<V> &x, u32 variable, int value) const {
        return assign(core, x, __ldg(core.seats + variable), value);
    }

    // Follows all recorded moves. Called by all threads; `x` are the values of this team's state.
    template <class V> __device__ __forceinline__ void settle(const Core &core, const Values<V> &x) {
        __syncthreads();
        const u32 number = threadIdx.x >> group_bits, groups = (blockDim.x >> group_bits) / STATES,
                  of = number % STATES;
        const Values<V> there{x.at - state + of, x.stride};
        const u32 count = counts[turn * STATES + of];
        for (u32 k = number / STATES; k < count; k += groups)
            follow(core, there, rows + of * size, moved[of * core.variables + k]);
        turn ^= 1;
        if (threadIdx.x < STATES) counts[turn * STATES + threadIdx.x] = 0;
        __syncthreads();
    }

    struct Turn {
        bool here;
        uint4 words;

        __device__ __forceinline__ Turn(const Core &core, const T &, u32 member, u32 end)
            : here(member < end), words(__ldg(core.class_seats + (here ? member : 0))) {}
        template <class V>
        __device__ __forceinline__ u32 visit(const Core &core, const T &team, const Values<V> &x, const Kept &kept,
                                             const uint2 &boltzmann, u64 draw) const {
            const Seat seat = words;
            uint4 sums[T::Q];
            int ratings[T::N];
            kept.load(team, seat, sums);
            rate(team, seat, sums, ratings);
            return kept.assign(core, x, seat, pick(team, boltzmann, ratings, mix(draw, seat.variable)));
        }
    };

  private:
    // Adds to the rows that depend on a variable the difference between its new and its old value.
    template <class V>
    __device__ __forceinline__ void follow(const Core &core, const Values<V> &x, uint4 *rows, const uint2 &move) const {
        const u32 lane = threadIdx.x & ((1 << group_bits) - 1), count = move.x >> 18, before = move.x >> 9 & 511,
                  now = move.x & 511;
        for (u32 k = lane / PARTS; k < count; k += (1 << group_bits) / PARTS) {
            // the row's first unit, its units | more << 30 | not binary << 31, first row or incidence, units a value
            const uint4 effect = __ldg(core.effects + move.y + k);
            const u32 row = effect.y >> 31
                ? row_of(core, effect.z, __ldg(core.incidences + effect.z), effect.y >> 30 & 1, x, nullptr)
                : effect.z + now * effect.w;
            const uint4 *here = core.rows + row, *there = core.rows + (row + (before - now) * effect.w);
            for (u32 unit = lane % PARTS; unit < (effect.y & 0xffff); unit += PARTS) {
                const uint4 a = __ldg(here + unit), b = __ldg(there + unit);
                u32 *words = (u32 *)(rows + effect.x + unit);
                const u32 changes[4] = {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
#pragma unroll
                for (int word = 0; word < 4; word++)
                    if (changes[word]) atomicAdd(words + word, changes[word]);
            }
        }
    }
};
