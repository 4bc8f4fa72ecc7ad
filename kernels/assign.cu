// Decoding: an assignment from messages. A warp follows the reverse elimination order and gives each variable the value
// that least increases the cost so far plus the messages' bounds on the remaining cost.
//
// The cost increases of a variable's values are in shared memory. Lanes look up 32 tables at a time and add their
// entries value by value. Saturated integer sums do not depend on the order, so the values equal the CPU's bit for bit.

#include "constants.cuh"

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 ALL = ~0u;

// A table that is read when a position is assigned.
struct Term {
    u64 address;
    // Distance in entries between values of the position; 0 if the table does not depend on it.
    u64 own;
    // The table's other positions and their strides, in `digits`.
    u32 first, digits;
    // FUNCTION (with entries of 64 bits), a message that arrived, or SENT: the message of the position's own bucket.
    u32 kind;
    u32 unused;
};

struct Digit {
    u64 stride;
    u32 position;
    u32 unused;
};

// A position of the elimination order: its unary costs and its terms.
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
    // Length of the longest row of cost increases, in entries.
    u32 row;
};

__device__ __forceinline__ i64 add(i64 a, i64 b) {
    return a >= FORBIDDEN || b >= FORBIDDEN ? FORBIDDEN : min(a + b, FORBIDDEN);
}

// Fills `row` with the cost increase of each value of a position.
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
                const i64 entry =
                    kind == FUNCTION ? ((const i64 *)address)[a * own] : (i64)((const E *)address)[a * own];
                row[a] = add(row[a], entry);
            }
        }
    }
    for (u32 step = 1; step < 32; step <<= 1) sent = add(sent, __shfl_xor_sync(ALL, sent, step));
    for (u32 a = lane; a < place.domain; a += 32) row[a] = row[a] >= FORBIDDEN ? FORBIDDEN : row[a] - sent;
    __syncwarp();
}

// Returns the first of the values with the least increase.
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

// Assigns `values` by position.
template <class E>
__global__ void __launch_bounds__(32, 1) grow(const __grid_constant__ Guide guide, u32 *values) {
    extern __shared__ i64 row[];
    for (u32 position = guide.positions; position-- > 0;) {
        const Place place = guide.places[position];
        rises<E>(guide, place, values, row);
        const u32 value = least_of(row, place.domain);
        if (threadIdx.x == 0) values[position] = value;
        // all lanes read the value at the next positions
        __syncwarp();
    }
}
