// Thermal cycling of binary variables in pairs, equal to crates/drivers/src/spins/walk.rs flip by flip. A block of
// threads has an assignment: it takes the better components of a guide, anneals from its best assignment, and keeps the
// better components of both. With color classes, all threads go through a class. Without, a warp examines 32 variables
// and flips the first one that may flip, then examines the later ones again, as a single thread would.
#include "walks.cuh"
#include "weight.cuh"

// The variables of a quadratic form in the order of sweeps.
struct Form {
    u32 variables;
    u32 classes;
    const u32 *ends;     // start of each class, and the end
    const u32 *starts;   // the first link of each variable, and the end
    const void *links;   // of Link: other variable, twice the weight
    u32 shift;           // temperatures are in units of 2^shift
    u32 unused;
};

// Links and assignments by the type of weights, 32 or 64 bits.
template <class W> struct Pair;
template <> struct Pair<int> { typedef int2 Link; };
template <> struct Pair<i64> { typedef longlong2 Link; };

template <class W> __device__ __forceinline__ typename Pair<W>::Link link_at(const Form &l, u32 k) {
    return __ldg((const typename Pair<W>::Link *)l.links + k);
}

__device__ __forceinline__ void add_to(int *word, int x) { atomicAdd(word, x); }
__device__ __forceinline__ void add_to(i64 *word, i64 x) { atomicAdd((u64 *)word, (u64)x); }
// Flips the lowest bit, and returns the previous word.
__device__ __forceinline__ int flip(int *word) { return atomicXor(word, 1); }
__device__ __forceinline__ i64 flip(i64 *word) { return (i64)atomicXor((u64 *)word, 1ull); }

struct Anneal {
    u64 key;
    u64 top;             // row of `rules`
};

struct Cycled {
    i64 value;           // of the best assignment
    u64 flips;
    u64 sweeps;          // 0 if the anneal was interrupted
};

// A word has the value of its variable in the lowest bit, and above it the form's gain if the value is 1 instead of 0.
struct States {
    void *words;         // current assignment of each block, if shared memory has no room
    void *known;         // the best of each
    u32 *parts;          // for merges: the component of each variable
    i64 *gains;          // twice the gain of a component, at its first variable
    Cycled *cycled;
    const Anneal *anneals;
    const uint2 *rules;  // for each row and sweep: limit of a flip's change, and halvings of its weight
    const void *guide;
    const u32 *stop;
    u32 sweeps;
    u32 guided;
};

template <class W> __device__ __forceinline__ W change_of(W word) { return word & 1 ? -(word >> 1) : word >> 1; }

// The acceptance rule of a sweep.
template <class W> struct Rule {
    uint2 boltzmann;
    W limit;             // larger changes are rejected
    u32 shift;

    __device__ __forceinline__ bool allows(W change, u64 draw, u32 v) const {
        if (change > limit) return false;
        return change <= 0 || weight(boltzmann, (int)(change >> shift)) > (u32)(mix(draw, v) >> 43);
    }
};

// Updates the links of a variable that had this word: links `from`, `from + by`, ...
template <class W> __device__ __forceinline__ void tell(const Form &l, W *words, u32 v, W had, u32 from, u32 by) {
    const u32 end = __ldg(l.starts + v + 1);
    for (u32 k = __ldg(l.starts + v) + from; k < end; k += by) {
        const typename Pair<W>::Link link = link_at<W>(l, k);
        add_to(words + link.x, (W)(had & 1 ? -link.y : link.y));
    }
}

// Visits every variable, class by class. Returns this thread's flips; adds their change to `value`.
template <bool TOGETHER, class W>
__device__ u32 sweep_classes(const Form &l, W *words, const Rule<W> &rule, u64 draw, i64 &value) {
    const u32 lane = threadIdx.x % 32;
    u32 flips = 0;
    for (u32 c = 0; c < l.classes; c++) {
        const u32 end = __ldg(l.ends + c + 1);
        for (u32 base = __ldg(l.ends + c) + threadIdx.x - lane; base < end; base += blockDim.x) {
            const u32 v = base + lane;
            const W word = v < end ? words[v] : 0;
            const bool may = v < end && rule.allows(change_of(word), draw, v);
            if (may) {
                words[v] = word ^ 1;
                value += change_of(word);
                flips++;
            }
            if (TOGETHER) {
                for (u32 mask = __ballot_sync(ALL, may); mask; mask &= mask - 1) {
                    const u32 of = __ffs(mask) - 1;
                    tell(l, words, base + of, __shfl_sync(ALL, word, of), lane, 32);
                }
            } else if (may) {
                tell(l, words, v, word, 0, 1);
            }
        }
        __syncthreads();
    }
    return flips;
}

// Visits every variable in order by one warp, although linked variables may be examined together. Returns this thread's
// flips; adds their change to `value`.
template <class W>
__device__ u32 sweep_windows(const Form &l, W *words, const Rule<W> &rule, u64 draw, i64 &value) {
    const u32 lane = threadIdx.x;
    u32 flips = 0;
    for (u32 base = 0; base < l.variables; base += 32) {
        const u32 v = base + lane;
        bool pending = v < l.variables;
        for (;;) {
            const W word = pending ? ((volatile W *)words)[v] : 0;
            const bool may = pending && rule.allows(change_of(word), draw, v);
            const u32 mask = __ballot_sync(ALL, may);
            if (!mask) break;
            const u32 first = __ffs(mask) - 1;
            if (lane == first) {
                words[v] = word ^ 1;
                value += change_of(word);
                flips++;
            }
            __syncwarp();
            tell(l, words, base + first, __shfl_sync(ALL, word, first), lane, 32);
            __syncwarp();
            pending = pending && lane > first;
        }
    }
    return flips;
}

// Takes the better components of another assignment: the connected components of the variables with different values.
template <class W>
__device__ void take_better(const Form &l, W *words, const W *other, u32 *parts, i64 *gains, i64 &value) {
    const u32 n = l.variables, thread = threadIdx.x, threads = blockDim.x;
    volatile u32 *part = parts;
    bool differ = false;
    for (u32 v = thread; v < n; v += threads) {
        const bool differs = (words[v] ^ other[v]) & 1;
        part[v] = differs ? v : NONE;
        if (differs) gains[v] = 0;
        differ |= differs;
    }
    if (!__syncthreads_or(differ)) return;
    // each component gets the index of its first variable
    for (bool changed = true; changed;) {
        changed = false;
        for (u32 v = thread; v < n; v += threads) {
            const u32 own = part[v];
            if (own == NONE) continue;
            u32 least = own;
            const u32 end = __ldg(l.starts + v + 1);
            for (u32 k = __ldg(l.starts + v); k < end; k++) least = min(least, part[link_at<W>(l, k).x]);
            least = min(least, part[least]);
            if (least < own) {
                atomicMin(parts + own, least);
                atomicMin(parts + v, least);
                changed = true;
            }
        }
        changed = __syncthreads_or(changed);
    }
    // the mean of both slopes counts the links within a component once
    for (u32 v = thread; v < n; v += threads) {
        if (part[v] == NONE) continue;
        const i64 slopes = (i64)(words[v] >> 1) + (other[v] >> 1);
        atomicAdd((u64 *)(gains + part[v]), (u64)(words[v] & 1 ? -slopes : slopes));
    }
    __syncthreads();
    for (u32 v = thread; v < n; v += threads) {
        const u32 own = part[v];
        if (own == NONE) continue;
        const i64 twice = ((volatile i64 *)gains)[own];
        if (twice >= 0) continue;
        if (own == v) value += twice / 2;
        tell(l, words, v, flip(words + v), 0, 1);
    }
    __syncthreads();
}

__device__ i64 sum_of_block(i64 own) {
    __shared__ i64 sum;
    __syncthreads();
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    own = sum_of(own);
    if (threadIdx.x % 32 == 0) atomicAdd((u64 *)&sum, (u64)own);
    __syncthreads();
    return sum;
}

template <class W, bool SHARED, bool CLASSES, bool TOGETHER>
__global__ void cycle(const Form l, const States s) {
    extern __shared__ i64 shared[];
    const u32 n = l.variables, thread = threadIdx.x, threads = blockDim.x, slot = blockIdx.x;
    const u64 first = (u64)slot * n;
    W *const known = (W *)s.known + first, *const words = SHARED ? (W *)shared : (W *)s.words + first;
    u32 *const parts = s.parts + first;
    i64 *const gains = s.gains + first;
    const Anneal anneal = s.anneals[slot];
    i64 value = 0, flips = 0; // this thread's part of the change, and of the flips
    for (u32 v = thread; v < n; v += threads) words[v] = known[v];
    __syncthreads();
    if (s.guided) {
        take_better(l, words, (const W *)s.guide, parts, gains, value);
        for (u32 v = thread; v < n; v += threads) known[v] = words[v];
        __syncthreads();
    }
    const i64 begun = sum_of_block(value) + s.cycled[slot].value;
    value = 0;
    u32 sweeps = 0;
    bool stopped = false;
    for (bool over = false; !over && !stopped;) {
        const bool anneals = sweeps < s.sweeps;
        const uint2 boltzmann = anneals ? __ldg(s.rules + anneal.top * s.sweeps + sweeps) : make_uint2(0, 0);
        const Rule<W> rule{boltzmann, anneals ? (W)boltzmann.x << l.shift : -1, l.shift};
        const u64 draw = mix(anneal.key, sweeps);
        const u32 flipped = CLASSES ? sweep_classes<TOGETHER>(l, words, rule, draw, value)
                                    : sweep_windows(l, words, rule, draw, value);
        flips += flipped;
        sweeps++;
        over = !__syncthreads_or(flipped) && !anneals;
        stopped = __syncthreads_or(thread == 0 && *(volatile const u32 *)s.stop);
    }
    i64 result = begun;
    if (!stopped) {
        take_better(l, words, (const W *)known, parts, gains, value);
        for (u32 v = thread; v < n; v += threads) known[v] = words[v];
        result += sum_of_block(value);
    }
    flips = sum_of_block(flips);
    if (thread == 0) s.cycled[slot] = Cycled{result, (u64)flips, stopped ? 0 : sweeps};
}
