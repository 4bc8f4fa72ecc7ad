// Assignments out of messages: beams of states walk the reverse elimination order, and each picks a value of every variable
// by what that adds to the cost so far plus the messages' cost to go (src/inference/assign.rs).
//
// A block has a beam, a warp a state. The rises of a variable's values lie in shared memory; its lanes look up 32 tables at a
// time and then add their entries value by value. All sums are integers that saturate alike in any order, so that picks are
// the CPU's bit for bit.

#include "rng.cuh"

typedef long long i64;

// What a forbidden entry is (model, FORBIDDEN), and a rating that cannot be picked (src/search/construct.rs).
constexpr i64 FORBIDDEN = 1ll << 60;
constexpr int PRUNED = 0x7fffffff;
// States of a beam (src/inference/cuda/pilot.rs).
constexpr u32 WIDTH = 16;
constexpr u32 ALL = ~0u;

// A table that is looked up where a position is assigned.
struct Term {
    u64 address;
    // From one value of the position to the next; 0 where it does not read it.
    u64 own;
    // Its other positions: places and strides.
    u32 first, digits;
    // A function with entries of 64 bits, a message that arrived, or one that the position's own bucket sent.
    u32 kind;
    u32 unused;
};
constexpr u32 FUNCTION = 0, MESSAGE = 1, SENT = 2;

struct Digit {
    u64 stride;
    u32 position;
    u32 unused;
};

// A position: its unary costs and its terms.
struct Place {
    u32 domain;
    u32 unary;
    u32 first, terms;
};

struct Guide {
    const Place *places;
    const Term *terms;
    const Digit *digits;
    const i64 *unary;
    u32 positions;
    // Entries of the longest row.
    u32 row;
    // f of the empty assignment; f from `limit` on is of no interest; ratings are shifted right.
    i64 start, limit;
    u32 shift;
    // The first of the cheapest values, whatever f is; nothing is drawn.
    u32 exact;
};

__device__ __forceinline__ i64 add(i64 a, i64 b) { return a >= FORBIDDEN || b >= FORBIDDEN ? FORBIDDEN : min(a + b, FORBIDDEN); }

// `boltzmann.rs`: differences beyond `x` weigh nothing, `y` is halvings a unit.
__device__ __forceinline__ u32 weight(const uint2 &boltzmann, u32 delta) {
    const u32 halvings = min(delta, boltzmann.x) * boltzmann.y >> 11;
    const u32 fraction = halvings & 0xffff;
    const u32 curve = 65536 - (fraction * (44012 - (fraction * 11244 >> 16)) >> 16);
    return delta > boltzmann.x ? 0 : curve << 5 >> (halvings >> 16);
}

// Fills `row` with what each value of a position adds to f.
template <class E>
__device__ __forceinline__ void rises(const Guide &guide, const Place &place, const u32 *values, i64 *row) {
    const u32 lane = threadIdx.x % 32;
    for (u32 a = lane; a < place.domain; a += 32) row[a] = __ldg(guide.unary + place.unary + a);
    i64 sent = 0;
    for (u32 begin = 0; begin < place.terms; begin += 32) {
        Term term = {};
        if (begin + lane < place.terms) {
            term = guide.terms[place.first + begin + lane];
            u64 at = 0;
            for (u32 k = 0; k < term.digits; k++) {
                const Digit digit = guide.digits[term.first + k];
                at += digit.stride * values[digit.position];
            }
            term.address += at * (term.kind == FUNCTION ? sizeof(i64) : sizeof(E));
            if (term.kind == SENT) sent = add(sent, *(const E *)term.address);
        }
        const u32 count = min(32u, place.terms - begin);
        for (u32 k = 0; k < count; k++) {
            const u32 kind = __shfl_sync(ALL, term.kind, k);
            if (kind == SENT) continue;
            const u64 address = __shfl_sync(ALL, term.address, k), own = __shfl_sync(ALL, term.own, k);
            for (u32 a = lane; a < place.domain; a += 32) {
                const i64 entry = kind == FUNCTION ? ((const i64 *)address)[a * own] : (i64)((const E *)address)[a * own];
                row[a] = add(row[a], entry);
            }
        }
    }
    for (u32 step = 1; step < 32; step <<= 1) sent = add(sent, __shfl_xor_sync(ALL, sent, step));
    for (u32 a = lane; a < place.domain; a += 32) row[a] = row[a] >= FORBIDDEN ? FORBIDDEN : row[a] - sent;
    __syncwarp();
}

// The first of the least rises.
__device__ __forceinline__ u32 least_of(const i64 *row, u32 domain) {
    const u32 lane = threadIdx.x % 32;
    i64 least = FORBIDDEN + 1;
    u32 value = domain;
    for (u32 a = lane; a < domain; a += 32)
        if (row[a] < least) least = row[a], value = a;
    for (u32 step = 1; step < 32; step <<= 1) {
        const i64 other = __shfl_xor_sync(ALL, least, step);
        const u32 its = __shfl_xor_sync(ALL, value, step);
        if (other < least || (other == least && its < value)) least = other, value = its;
    }
    return value;
}

// FANG's aggregate, map, prefix sums and select over a row; `domain` where all have weight 0.
__device__ __forceinline__ u32 pick(const Guide &guide, const i64 *row, u32 domain, i64 f, const uint2 &boltzmann, u64 draw) {
    const u32 lane = threadIdx.x % 32;
    const auto rating = [&](u32 a) {
        // f and a rise are at most FORBIDDEN each
        if (a >= domain || f + row[a] >= guide.limit) return PRUNED;
        return (int)min(row[a] >> guide.shift, (i64)(1 << 28));
    };
    int least = PRUNED;
    for (u32 a = lane; a < domain; a += 32) least = min(least, rating(a));
    for (u32 step = 1; step < 32; step <<= 1) least = min(least, __shfl_xor_sync(ALL, least, step));
    const auto weight_of = [&](u32 a) {
        const int own = rating(a);
        return own == PRUNED ? 0 : weight(boltzmann, (u32)(own - least));
    };
    u64 total = 0;
    for (u32 a = lane; a < domain; a += 32) total += weight_of(a);
    for (u32 step = 1; step < 32; step <<= 1) total += __shfl_xor_sync(ALL, total, step);
    if (total == 0) return domain;
    u64 v = below(draw, total);
    for (u32 begin = 0;; begin += 32) {
        u64 right = weight_of(begin + lane);
        for (u32 step = 1; step < 32; step <<= 1) {
            const u64 left = __shfl_up_sync(ALL, right, step);
            if (lane >= step) right += left;
        }
        const u64 sum = __shfl_sync(ALL, right, 31);
        if (v < sum) return begin + __popc(__ballot_sync(ALL, right <= v));
        v -= sum;
    }
}

// Grows a beam a block. `values` has a row of positions for each state; `draws` a number for each beam, `boltzmann` weights
// for each state. `alive` is set for beams that came to their end, and `costs` are their states' f.
template <class E>
__global__ void __launch_bounds__(32 * WIDTH, 1)
    grow(const __grid_constant__ Guide guide, const u64 *draws, const uint2 *boltzmann, u32 *values, i64 *costs, u32 *alive) {
    extern __shared__ i64 rows[];
    __shared__ i64 costs_now[WIDTH];
    __shared__ u32 dead[WIDTH];
    const u32 lane = threadIdx.x % 32, k = threadIdx.x / 32, state = blockIdx.x * WIDTH + k;
    i64 *row = rows + k * guide.row;
    u32 *beam = values + (u64)blockIdx.x * WIDTH * guide.positions, *own = beam + (u64)k * guide.positions;
    const uint2 temperature = boltzmann[state];
    i64 f = guide.start;
    for (u32 position = guide.positions; position-- > 0;) {
        const Place place = guide.places[position];
        const u64 draw = mix(draws[blockIdx.x], position);
        rises<E>(guide, place, own, row);
        u32 value;
        if (guide.exact)
            value = least_of(row, place.domain);
        else
            value = pick(guide, row, place.domain, f, temperature, mix(draw, k));
        if (value < place.domain) f = min(f + row[value], FORBIDDEN * 2);
        if (lane == 0) {
            own[position] = value;
            costs_now[k] = f;
            dead[k] = value == place.domain;
        }
        __syncthreads();
        const u32 lost = __ballot_sync(ALL, lane < WIDTH && dead[lane % WIDTH]);
        const u32 live = ~lost & ((1u << WIDTH) - 1);
        if (live == 0) {
            if (threadIdx.x == 0) alive[blockIdx.x] = 0;
            return;
        }
        if (lost >> k & 1) {
            // a clone of a live one takes its place
            u32 rest = live;
            for (u32 skip = below(mix(draw, WIDTH + k), __popc(live)); skip > 0; skip--) rest &= rest - 1;
            const u32 other = __ffs(rest) - 1;
            const u32 *source = beam + (u64)other * guide.positions;
            for (u32 p = position + lane; p < guide.positions; p += 32) own[p] = source[p];
            f = costs_now[other];
        }
        // what lane 0 wrote and what was copied is read by all lanes, and the others' costs by clones
        __syncthreads();
    }
    if (lane == 0) {
        costs[state] = f;
        if (k == 0) alive[blockIdx.x] = 1;
    }
}
