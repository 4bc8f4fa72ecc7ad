// Tabu search on gamma tables, equal to the CPU backend. A block has a search: the cost of every value of every
// variable under the other variables' values, in shared memory if it fits, and the step until which each value is tabu.
// A step is a FANG pass over all moves of variables in conflict: the aggregate is the least cost change that is not
// tabu, and moves with that change have weight 1.
#include "layout.cuh"
#include "walks.cuh"

// Larger than any move's change: no move is available.
constexpr int NOTHING = 0x7fffffff;

struct WalkProgress {
    u64 key;
    i64 energy, best;
    u64 hash, best_hash, moves;
    u32 step, best_step, changed, tenure, conflicts;
};

// Tables of a search: costs of moves above the variable's least cost, and until when they are tabu; each variable's
// cost and the index of its value; variables in conflict, as bits and as a list. U is u32, or u16 if no variable's
// costs sum to 2^16: steps are then counted from the start of the round.
template <class U> struct Tables {
    U *gamma;
    U *until;
    int *now;
    u32 *held;
    u32 *hot;
    U *listed;
    const u32 *starts, *ranges; // as in the layout; each step waits for them

    __device__ __forceinline__ static uint4 quad(const u32 *from, u32 at) { return ((const uint4 *)from)[at]; }
    __device__ __forceinline__ static uint4 quad(const u16 *from, u32 at) {
        const uint2 x = ((const uint2 *)from)[at];
        return make_uint4(x.x & 0xffff, x.x >> 16, x.y & 0xffff, x.y >> 16);
    }

    // Adds to the costs of a quad's moves. Two costs of 16 bits are added as one number: later additions return a
    // borrow.
    __device__ __forceinline__ void add(u32 *, u32 at, const int4 &x) const {
        if (x.x) atomicAdd(gamma + 4 * at, (U)x.x);
        if (x.y) atomicAdd(gamma + 4 * at + 1, (U)x.y);
        if (x.z) atomicAdd(gamma + 4 * at + 2, (U)x.z);
        if (x.w) atomicAdd(gamma + 4 * at + 3, (U)x.w);
    }
    __device__ __forceinline__ void add(u16 *, u32 at, const int4 &x) const {
        const u32 low = (u32)x.x + ((u32)x.y << 16), high = (u32)x.z + ((u32)x.w << 16);
        if (low) atomicAdd((u32 *)gamma + 2 * at, low);
        if (high) atomicAdd((u32 *)gamma + 2 * at + 1, high);
    }
    __device__ __forceinline__ void add(u32 at, const int4 &x) const { add(gamma, at, x); }
};

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ int least_of(int x) { return __reduce_min_sync(ALL, x); }
__device__ __forceinline__ u32 sum_of(u32 x) { return __reduce_add_sync(ALL, x); }
__device__ __forceinline__ u32 any_of(u32 x) { return __reduce_or_sync(ALL, x); }
#else
__device__ __forceinline__ int least_of(int x) {
    for (int s = 16; s; s >>= 1) x = min(x, __shfl_xor_sync(ALL, x, s));
    return x;
}
__device__ __forceinline__ u32 any_of(u32 x) {
    for (int s = 16; s; s >>= 1) x |= __shfl_xor_sync(ALL, x, s);
    return x;
}
#endif

__device__ __forceinline__ int of(const int4 &x, u32 place) {
    return place == 0 ? x.x : place == 1 ? x.y : place == 2 ? x.z : x.w;
}

// Returns how far the values of an incident's variables, except `except`, shift its row.
template <class U>
__device__ __forceinline__ u32 shift_of(const Layout &l, const Tables<U> &t, u32 incident, u32 except) {
    const u32 end = __ldg(&l.incidents[incident + 1].y);
    u32 shift = 0;
    for (u32 k = __ldg(&l.incidents[incident].y); k < end; k++) {
        const uint2 pair = __ldg(l.pairs + k);
        if (pair.x != except) shift += (t.held[pair.x] - 4 * t.starts[pair.x]) * pair.y;
    }
    return shift;
}

// Records that a variable came into conflict or left it, if its cost has changed so.
template <class U>
__device__ __forceinline__ void note(const Tables<U> &t, u32 *conflicts, u32 v, int before, int after) {
    if ((before > 0) == (after > 0)) return;
    atomicAdd(conflicts, after > 0 ? 1 : ~0u);
    atomicXor(t.hot + v / 32, 1u << v % 32);
}

// Begins a search.
template <class U>
__device__ void begin(const Layout &l, const Tables<U> &t, const Walks &w, u32 *seen, u32 slot, WalkProgress &s) {
    __shared__ u64 energy, hash;
    __shared__ u32 conflicts;
    const u32 thread = threadIdx.x, threads = blockDim.x, n = l.variables;
    if (thread == 0) energy = hash = conflicts = 0;
    for (u32 move = thread; move < 4 * l.quads; move += threads) t.gamma[move] = 0;
    __syncthreads();
    for (u32 k = thread; k < REMEMBERED; k += threads) seen[k] = 0;
    u64 hashed = 0;
    i64 sum = 0;
    for (u32 v = thread; v < n; v += threads) {
        const u32 domain = __ldg(l.domains + v), value = w.starts[(u64)slot * n + v];
        const u32 first = 4 * t.starts[v], end = 4 * t.starts[v + 1];
        t.held[v] = first + value;
        w.best[(u64)slot * n + v] = value;
        const int floor = __ldg(l.floors + v);
        for (u32 move = first; move < end; move++)
            t.until[move] = move == first + value || move >= first + domain ? (U)HELD : 0;
        for (u32 q = first / 4; q < end / 4; q++) {
            const int4 x = __ldg(l.entries + q);
            auto above = [&](u32 j) { return 4 * q + j < first + domain ? of(x, j) - floor : 0; };
            t.add(q, make_int4(above(0), above(1), above(2), above(3)));
        }
        hashed += mix(value, v);
        sum += __ldg((const int *)l.entries + first + value);
    }
    __syncthreads();
    const u32 lane = thread % l.group;
    for (u32 k = thread / l.group; k < l.incidents_count; k += threads / l.group) {
        const uint4 incident = __ldg(l.incidents + k);
        const u32 row = incident.x + shift_of(l, t, k, NONE), first = t.starts[incident.z];
        const u32 quads = t.starts[incident.z + 1] - first;
        for (u32 q = lane; q < quads; q += l.group) t.add(first + q, __ldg(l.entries + row / 4 + q));
        if (lane == 0 && incident.w) sum += __ldg((const int *)l.entries + row + t.held[incident.z] - 4 * first);
    }
    atomicAdd(&hash, hashed);
    atomicAdd(&energy, (u64)sum);
    __syncthreads();
    for (u32 v = thread; v < n; v += threads) {
        const int now = t.gamma[t.held[v]];
        t.now[v] = now;
        if (now > 0) atomicAdd(&conflicts, 1);
        // padding
        for (u32 move = 4 * t.starts[v] + __ldg(l.domains + v); move < 4 * t.starts[v + 1]; move++)
            t.gamma[move] = sizeof(U) == 2 ? (U)HELD : PADDING;
    }
    __syncthreads();
    s = WalkProgress{s.key, (i64)energy, (i64)energy, hash, hash, s.moves, 0, 0, 0, FIRST_TENURE, conflicts};
    __syncthreads();
}

__device__ __forceinline__ u32 count_of(const int4 &x, int wanted) {
    return (x.x == wanted) + (x.y == wanted) + (x.z == wanted) + (x.w == wanted);
}

// Returns the changes of a quad's moves if the variable's cost is `now`; NOTHING for tabu moves without a new best.
template <class U>
__device__ __forceinline__ int4 rate(const Tables<U> &t, u32 quad, int now, u32 step, int aspired) {
    const uint4 cost = t.quad(t.gamma, quad), until = t.quad(t.until, quad);
    auto rating = [&](u32 cost, u32 until) {
        const int change = (int)cost - now;
        return until > step && change >= aspired ? NOTHING : change;
    };
    return make_int4(rating(cost.x, until.x), rating(cost.y, until.y), rating(cost.z, until.z),
                     rating(cost.w, until.w));
}

// Continues or begins all searches. If SHARED, the tables are in shared memory.
template <class U, bool SHARED> __global__ void __launch_bounds__(512) walk(Layout l, Walks w, u32 steps) {
    extern __shared__ int4 shared[];
    // for each warp the least change and the number of moves that have it, for this step and the next
    __shared__ int2 found[2][16];
    // the move taken, the previous move of its variable, and the variable
    __shared__ uint3 picked;
    __shared__ u32 conflicts;
    const u32 slot = blockIdx.x, n = l.variables, thread = threadIdx.x, threads = blockDim.x;
    const u32 warp = thread / 32, warps = threads / 32, lane = thread % 32, moves = 4 * l.quads;
    const u32 lower = (1u << lane) - 1;
    // the tables are followed by the remembered hashes
    u32 *own = w.tables + slot * w.words, *seen = own + w.words - REMEMBERED;
    const u32 size = w.words - REMEMBERED;
    U *at = SHARED ? (U *)shared : (U *)own;
    u32 *behind = (u32 *)(at + 2 * moves);
    const u32 words = (n + 31) / 32;
    u32 *starts = (u32 *)shared + size, *ranges = starts + n + 1;
    const Tables<U> t{at, at + moves, (int *)behind, behind + n, behind + 2 * n, (U *)(behind + 2 * n + words),
                      SHARED ? starts : l.starts, SHARED ? ranges : l.ranges};
    if (SHARED) {
        for (u32 v = thread; v <= n; v += threads) {
            starts[v] = __ldg(l.starts + v);
            ranges[v] = __ldg(l.ranges + v);
        }
        __syncthreads();
    }
    WalkProgress s = w.progress[slot];
    if (s.step == 0) {
        begin(l, t, w, seen, slot, s);
    } else if (SHARED) {
        for (u32 k = thread; k < size / 4; k += threads) shared[k] = ((const int4 *)own)[k];
        __syncthreads();
    }
    if (thread == 0) conflicts = s.conflicts;
    for (u32 v = thread; v < 32 * words; v += threads) {
        const u32 bits = __ballot_sync(~0u, v < n && t.now[v] > 0);
        if (lane == 0) t.hot[v / 32] = bits;
    }
    // the step from which tabu steps are counted
    const u32 base = sizeof(U) == 2 ? s.step : 0;
    // each warp lists those of its variables that are in conflict, in order, a word of 32 variables at a time
    const u32 part = (words + warps - 1) / warps;
    const u32 first = min(warp * part, words), end = min(first + part, words);
    U *listed = t.listed + 32 * first;
    u32 hot = 0;
    const u32 side = 32 / l.group;
    // the moves that a lane rates in a round: adjacent rows, or successive parts of one row
    auto rated = [&](u32 round, u32 step, int aspired, u32 &own, u32 &quad) {
        const u32 lap = l.laps == 1 ? 0 : round % l.laps,
                  row = (l.laps == 1 ? round : round / l.laps) * side + lane / l.group;
        const int4 nothing = make_int4(NOTHING, NOTHING, NOTHING, NOTHING);
        if (row >= hot) return nothing;
        own = listed[row];
        quad = t.starts[own] + lap * l.group + lane % l.group;
        return quad < t.starts[own + 1] ? rate(t, quad, t.now[own], step, aspired) : nothing;
    };
    const u32 longest = max(n * (TENURE_ONE / 2), LEAST_TENURE);
    // the first warp adapts the tenure; it learns one step later whether an assignment is repeated
    u32 known = 0, tag = 1;
    auto react = [&]() {
        if (known == tag) s.tenure = min(s.tenure + s.tenure / 10 + TENURE_ONE, longest);
        else if (s.step - s.changed > CALM) s.tenure = max(s.tenure - s.tenure / 20, LEAST_TENURE);
        else return;
        s.changed = s.step;
    };
    bool pending = false, improved = false;
    for (u32 k = 0; k < steps; k++) {
        if (k % LOOK_EVERY == 0 && __syncthreads_or(*(volatile const u32 *)w.stop)) break;
        if (improved) {
            for (u32 v = thread; v < n; v += threads) w.best[(u64)slot * n + v] = t.held[v] - 4 * t.starts[v];
            improved = false;
        }
        const int aspired = (int)max(min(s.best - s.energy, 0ll), (i64)(-0x7fffffff - 1) / 2);
        // the least change of a lane, how many moves have it, and in which rounds (the last bit: any later round)
        int least = NOTHING;
        u32 count = 0, rounds = 0, bit = 1;
        hot = 0;
        for (u32 word = first; word < end; word++) {
            const u32 bits = t.hot[word];
            if (bits >> lane & 1) listed[hot + __popc(bits & lower)] = 32 * word + lane;
            hot += __popc(bits);
        }
        __syncwarp();
        u32 owner = 0, quad = 0;
        for (u32 round = 0; round < (hot + side - 1) / side * l.laps; round++) {
            const int4 x = rated(round, s.step - base, aspired, owner, quad);
            const int here = min(min(x.x, x.y), min(x.z, x.w));
            if (here < least) {
                least = here;
                count = rounds = 0;
            }
            if (here == least && here != NOTHING) {
                count += count_of(x, least);
                rounds |= bit;
            }
            if (bit != 1u << 31) bit <<= 1;
        }
        const int of_warp = least_of(least);
        const u32 ties = sum_of(least == of_warp ? count : 0);
        if (lane == 0) found[k % 2][warp] = make_int2(of_warp, ties);
        __syncthreads();
        const int2 of_lane = lane < warps ? found[k % 2][lane] : make_int2(NOTHING, 0);
        const int best = least_of(of_lane.x);
        if (best == NOTHING) {
            if (pending) react();
            pending = false;
            s.step++;
            continue;
        }
        const u32 in_conflict = min(conflicts, n / CONFLICTS);
        u32 up_to = of_lane.x == best ? of_lane.y : 0;
        for (int d = 1; d < 16; d <<= 1) {
            const u32 before = __shfl_up_sync(~0u, up_to, d);
            if (lane >= d) up_to += before;
        }
        const u64 draw = mix(s.key, s.step);
        u32 rank = below(draw, __shfl_sync(~0u, up_to, 15));
        const u32 winner = __ffs(__ballot_sync(~0u, up_to > rank)) - 1;
        if (warp == winner) {
            if (winner) rank -= __shfl_sync(~0u, up_to, winner - 1);
            u32 left = any_of(least == best ? rounds : 0);
            for (u32 round = __ffs(left) - 1;;) {
                const int4 x = rated(round, s.step - base, aspired, owner, quad);
                u32 before = 0, all = 0;
                for (int j = 0; j < 4; j++) {
                    const u32 have = __ballot_sync(~0u, of(x, j) == best);
                    before += __popc(have & lower);
                    all += __popc(have);
                }
                if (rank < all) {
                    u32 nth = rank - before;
                    // exactly one lane, because the difference wraps around in later lanes
                    if (nth < count_of(x, best)) {
                        u32 j = 0;
                        while (of(x, j) != best || nth-- != 0) j++;
                        picked = make_uint3(4 * quad + j, t.held[owner], owner);
                    }
                    break;
                }
                rank -= all;
                if (round < 31) left &= ~(1u << round);
                round = round < 31 && left ? __ffs(left) - 1 : round + 1;
            }
        }
        __syncthreads();
        const u32 to = picked.x, from = picked.y, v = picked.z, start = 4 * t.starts[v];
        const u32 value = to - start, old = from - start;
        s.energy += best;
        improved = s.energy < s.best;
        if (improved) s.best = s.energy;
        if (warp == 0) {
            if (pending) react();
            pending = true;
            s.hash += mix(value, v) - mix(old, v);
            const u32 tenure = s.tenure / TENURE_ONE;
            const u32 until = s.step + 2 + (u32)below(mix(draw, 0), (u64)tenure + 1) + tenure / 2 + in_conflict * 3 / 5;
            tag = s.hash >> 32;
            known = seen[s.hash % REMEMBERED];
            __syncwarp();
            if (lane == 0) {
                seen[s.hash % REMEMBERED] = tag;
                t.until[from] = until - base;
                t.until[to] = (U)HELD;
                t.held[v] = to;
                note(t, &conflicts, v, t.now[v], t.gamma[to]);
                t.now[v] = t.gamma[to];
            }
            s.moves++;
            if (improved) {
                s.best_hash = s.hash;
                s.best_step = s.step + 1;
            }
        }
        s.step++;
        // the first warp, which has more to do, takes the last rows
        const u32 rows = t.ranges[v + 1];
        u32 at_row = t.ranges[v] + (thread + threads - 32) % threads / l.group;
        uint4 next;
        if (at_row < rows) next = __ldg(l.affected + at_row);
        for (; at_row < rows; at_row += threads / l.group) {
            const uint4 row = next;
            if (at_row + threads / l.group < rows) next = __ldg(l.affected + at_row + threads / l.group);
            const u32 shift = row.w == NONE ? 0 : shift_of(l, t, row.w, v);
            const int4 *before = l.entries + (row.x + shift + old * row.y) / 4;
            const int4 *after = l.entries + (row.x + shift + value * row.y) / 4;
            const u32 begin = t.starts[row.z], quads = t.starts[row.z + 1] - begin, held = t.held[row.z];
            for (u32 q = thread % l.group; q < quads; q += l.group) {
                const int4 gone = __ldg(before + q), come = __ldg(after + q);
                const int4 change = make_int4(come.x - gone.x, come.y - gone.y, come.z - gone.z, come.w - gone.w);
                t.add(begin + q, change);
                const int of_held = held / 4 == begin + q ? of(change, held % 4) : 0;
                if (of_held) {
                    const int now = atomicAdd(t.now + row.z, of_held);
                    note(t, &conflicts, row.z, now, now + of_held);
                }
            }
        }
        __syncthreads();
    }
    __syncthreads();
    if (improved)
        for (u32 v = thread; v < n; v += threads) w.best[(u64)slot * n + v] = t.held[v] - 4 * t.starts[v];
    if (thread == 0) {
        if (pending) react();
        s.conflicts = conflicts;
        w.progress[slot] = s;
    }
    if (sizeof(U) == 2) {
        // the next round counts steps from its own start
        const u32 gone = s.step - base;
        for (u32 move = thread; move < moves; move += threads) {
            const u32 until = t.until[move];
            if (until != (U)HELD) t.until[move] = max(until, gone) - gone;
        }
        __syncthreads();
    }
    if (SHARED)
        for (u32 k = thread; k < size / 4; k += threads) ((int4 *)own)[k] = shared[k];
}
