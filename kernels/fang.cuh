// FANG on a device: one pass over the active variables of many states, generic over heuristics (Koester, Gross,
// Krueger, sections 3.1 to 3.8). The selected values equal those of crates/fang/src/engine.rs bit for bit.
//
// A group of threads (a tile of a warp, a warp or a block) holds a state. Global memory holds nothing per possibility:
// a thread rates a contiguous stretch of possibilities, keeps the ratings in registers or computes them twice, and sums
// their weights. The threads' sums are scanned once. The warp of the thread whose interval contains the drawn value
// rates that thread's stretch again, a pack for each lane. Stretches ascend with the threads, so intervals are in the
// order of the possibilities, as on the CPU.
//
// A heuristic is a struct of the device functions below for one variable of one state. The first group is the trait
// `LocalHeuristic`; `Singles` provides the second for heuristics that rate one possibility at a time.
//
//   typedef Problem                            what it reads beside the state
//   H(const Problem &, State, u32 variable)    what it keeps in registers: one object for each variable
//   u32 possibilities()
//   Rating rate(u32 possibility)
//   void accumulate(Aggregate &, Pack)         an `Aggregate{}` must be neutral
//   Aggregate merge(Aggregate, Aggregate)
//   u32 map(Rating, Aggregate)                 0 forbids
//   void assign(u32 possibility)               by one thread, as is
//   void could_not_assign(Aggregate)           by one thread, where all weights are 0
//
//   UNROLL                                     unrolling of loops over packs that are not kept
//   PASSES                                     passes over the ratings before they are mapped
//   void passed(Aggregate &)                   after each of several passes; the next begins with a copy
//   WIDTH                                      possibilities that are rated together, a pack
//   PARTS                                      equal parts of the possibilities that no cursor crosses
//   SPREAD                                     adjacent threads that share a stretch, so that they read adjacent packs
//   Cursor cursor(u32 possibility, u32 step)   rates packs `step` possibilities apart: `Pack next()`
//   Sum weigh(Pack, Aggregate, Sum)            adds a pack's weights to a sum
//   u32 weight(Pack, u32 place, Aggregate)     the weight of one possibility of a pack
//   Aggregate gather<LANES>(Aggregate, mask)   merges those of all lanes
//
// The number of possibilities must be a multiple of PARTS * WIDTH.
#pragma once
#include "rng.cuh"

// A state whose variables are being assigned.
struct State {
    // The domain's data of the state.
    u32 *words;
    // The set of active variables, one bit for each.
    u64 *active;

    __device__ __forceinline__ void activate(u32 variable) const { active[variable / 64] |= 1ull << (variable % 64); }
    __device__ __forceinline__ void deactivate(u32 variable) const {
        active[variable / 64] &= ~(1ull << (variable % 64));
    }
    __device__ __forceinline__ bool is_active(u32 variable) const {
        return active[variable / 64] >> (variable % 64) & 1;
    }
};

// Arguments of a pass; the host's type is `fang::cuda::launch::Pass`.
struct Pass {
    // Parents and their clones: `words` words and the active set of each, contiguously.
    const u32 *source;
    u32 *target;
    const u64 *source_active;
    u64 *target_active;
    // Random streams of the clones before the pass, after it, and those of the next generation's clones.
    const u64 *streams;
    u64 *streams_after, *streams_next;
    // The image of each bit of a stream from one generation to the next, four words per bit (`fang::cuda::jumps`).
    const u64 *jumps;
    // The type of each variable, null if there is only one.
    const u8 *types;
    // The variables to assign, null for all.
    const u32 *list;
    u32 listed, permuted;
    u32 clones, successors, words, variables;
};

// A heuristic of a pass, and the number of packs that a thread keeps in registers; 0 rates twice.
template <class Heuristic, u32 PACKS> struct Slot {
    typedef Heuristic H;
    static constexpr u32 KEEP = PACKS;
};

template <class T> __device__ __forceinline__ T shuffle_xor(u32 mask, T value, u32 distance) {
    static_assert(sizeof(T) % 4 == 0, "aggregates are made of words");
    u32 words[sizeof(T) / 4];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (u32 i = 0; i < sizeof(T) / 4; i++) words[i] = __shfl_xor_sync(mask, words[i], distance);
    memcpy(&value, words, sizeof(T));
    return value;
}

// Completes a heuristic that rates one possibility at a time.
template <class H, class R, class A> struct Singles {
    typedef R Rating;
    typedef R Pack;
    typedef A Aggregate;
    static constexpr u32 WIDTH = 1, PARTS = 1, SPREAD = 1, PASSES = 1, UNROLL = 4;

    struct Cursor {
        const H &h;
        u32 at, step;

        __device__ __forceinline__ R next() {
            const R rating = h.rate(at);
            at += step;
            return rating;
        }
    };

    __device__ __forceinline__ const H &self() const { return static_cast<const H &>(*this); }
    __device__ __forceinline__ Cursor cursor(u32 possibility, u32 step) const { return {self(), possibility, step}; }
    template <class Sum> __device__ __forceinline__ Sum weigh(R rating, const A &aggregate, Sum sum) const {
        return sum + self().map(rating, aggregate);
    }
    __device__ __forceinline__ u32 weight(R rating, u32, const A &aggregate) const {
        return self().map(rating, aggregate);
    }
    template <u32 LANES> __device__ __forceinline__ A gather(A aggregate, u32 mask) const {
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2)
            aggregate = self().merge(aggregate, shuffle_xor(mask, aggregate, distance));
        return aggregate;
    }
};

// Scales 64 random bits to a sum of 32 bits; equals `below` for a sum of 64 bits.
__device__ __forceinline__ u32 scale(u64 bits, u32 n) {
    return (u32)(((bits >> 32) * n + __umulhi((u32)bits, n)) >> 32);
}
__device__ __forceinline__ u64 scale(u64 bits, u64 n) { return below(bits, n); }

// The threads of a state.
template <u32 THREADS> struct Group {
    static constexpr u32 LANES = THREADS < 32 ? THREADS : 32, WARPS = THREADS / LANES;
    static_assert(THREADS <= 32 ? (THREADS & (THREADS - 1)) == 0 : THREADS % 32 == 0 && THREADS <= 1024, "group size");
    // A thread's index in its group; its lane in its warp's share of the group; the mask of that share.
    u32 rank, lane, mask;

    __device__ __forceinline__ Group() {
        rank = threadIdx.x % THREADS;
        lane = rank % LANES;
        mask = LANES == 32 ? ~0u : ((1u << (LANES % 32)) - 1) << (threadIdx.x % 32 - lane);
    }

    __device__ __forceinline__ void sync() const {
        if (WARPS > 1)
            __syncthreads();
        else
            __syncwarp(mask);
    }

    template <class T> __device__ __forceinline__ T from(T value, u32 other) const {
        return __shfl_sync(mask, value, other, LANES);
    }

    // Returns the prefix sum of each lane, its own value included.
    template <class Sum> __device__ __forceinline__ Sum scan(Sum sum) const {
#pragma unroll
        for (u32 distance = 1; distance < LANES; distance *= 2) {
            const Sum before = __shfl_up_sync(mask, sum, distance, LANES);
            if (lane >= distance) sum += before;
        }
        return sum;
    }

    // Returns the aggregate of all threads.
    template <class H> __device__ __forceinline__ typename H::Aggregate
    gather(const H &h, typename H::Aggregate aggregate) const {
        typedef typename H::Aggregate Aggregate;
        aggregate = h.template gather<LANES>(aggregate, mask);
        if constexpr (WARPS > 1) {
            __shared__ u32 warps[WARPS][sizeof(Aggregate) / 4];
            if (lane == 0) memcpy(warps[rank / 32], &aggregate, sizeof(Aggregate));
            __syncthreads();
            memcpy(&aggregate, warps[0], sizeof(Aggregate));
#pragma unroll
            for (u32 i = 1; i < WARPS; i++) {
                Aggregate other;
                memcpy(&other, warps[i], sizeof(Aggregate));
                aggregate = h.merge(aggregate, other);
            }
        }
        return aggregate;
    }

    // Returns the sum of the previous warps, and of all. Few warps are read one by one, which is faster than a scan.
    template <class Sum> __device__ __forceinline__ void across(Sum warp, Sum &before, Sum &total) const {
        before = 0;
        total = warp;
        if constexpr (WARPS > 1) {
            __shared__ Sum warps[WARPS];
            if (lane == 0) warps[rank / 32] = warp;
            __syncthreads();
            total = 0;
#pragma unroll
            for (u32 i = 0; i < WARPS; i++) {
                if (i == rank / 32) before = total;
                total += warps[i];
            }
        }
    }
};

// The distribution of packs: `SPREAD` threads share a stretch and take its packs alternately. The lengths of stretches,
// and the numbers of packs of threads, differ by at most one.
template <u32 THREADS, u32 PARTS, u32 SPREAD> struct Deal {
    static constexpr u32 IN_PART = THREADS / PARTS, SHARERS = SPREAD < IN_PART ? SPREAD : IN_PART;
    static constexpr u32 STRETCHES = IN_PART / SHARERS;
    static_assert(THREADS % PARTS == 0 && IN_PART % SHARERS == 0 && SHARERS <= 32, "the threads do not divide");
    u32 packs;

    __device__ __forceinline__ explicit Deal(u32 all) : packs(all / PARTS) {}
    // Returns the largest number of packs of a thread; no thread has two fewer.
    __device__ __forceinline__ u32 most() const { return (packs + IN_PART - 1) / IN_PART; }
    __device__ __forceinline__ u32 place(u32 rank, u32 stretch) const {
        const u32 longer = packs % STRETCHES;
        return rank / IN_PART * packs + stretch * (packs / STRETCHES) + (stretch < longer ? stretch : longer);
    }
    // The bounds of a thread's stretch.
    __device__ __forceinline__ u32 begin(u32 rank) const { return place(rank, rank % IN_PART / SHARERS); }
    __device__ __forceinline__ u32 end(u32 rank) const { return place(rank, rank % IN_PART / SHARERS + 1); }
};

// Assigns the possibility of a pack whose interval contains `rest`, counted from the pack's start. Called by one
// thread.
template <class Sum, class H>
__device__ __forceinline__ void take(const H &heuristic, State state, u32 variable, u32 pack, typename H::Pack ratings,
                                     typename H::Aggregate aggregate, Sum rest) {
    u32 place = 0;
#pragma unroll
    for (u32 i = 0; i + 1 < H::WIDTH; i++) {
        const u32 own = heuristic.weight(ratings, i, aggregate);
        if (place == i && rest >= own) {
            rest -= own;
            place++;
        }
    }
    heuristic.assign(pack * H::WIDTH + place);
    state.deactivate(variable);
}

// Largest number of packs of a thread that the owner of the drawn value searches by itself. If there are more, it is
// faster to let all lanes rate them again.
constexpr u32 WALKED = 12;

// Performs FANG's steps 2 to 10 for one variable with 64 random bits.
template <class Sum, class H, u32 KEEP, u32 THREADS>
__device__ __forceinline__ void assign(
    const Group<THREADS> &group, const H &heuristic, State state, u32 variable, u64 bits) {
    typedef Deal<THREADS, H::PARTS, H::SPREAD> Packs;
    constexpr u32 SHARERS = Packs::SHARERS, WIDTH = H::WIDTH, LANES = Group<THREADS>::LANES;
    constexpr u32 LAST = KEEP > 0 ? KEEP - 1 : 0;
    const Packs deal(heuristic.possibilities() / WIDTH);
    const u32 first = deal.begin(group.rank) + group.rank % SHARERS, end = deal.end(group.rank);
    const u32 count = first < end ? (end - first + SHARERS - 1) / SHARERS : 0;

    // rate and aggregate: packs are kept if their number is the expected one
    typename H::Pack kept[KEEP > 0 ? KEEP : 1];
    typename H::Aggregate aggregate{};
    const bool keep = KEEP > 0 && deal.most() == KEEP;
#pragma unroll 1
    for (u32 pass = 0; pass < H::PASSES; pass++) {
        auto cursor = heuristic.cursor(first * WIDTH, SHARERS * WIDTH);
        if (keep) {
#pragma unroll
            for (u32 k = 0; k != LAST; k++) {
                if (pass == 0) kept[k] = cursor.next();
                heuristic.accumulate(aggregate, kept[k]);
            }
            if (count == KEEP) {
                if (pass == 0) kept[LAST] = cursor.next();
                heuristic.accumulate(aggregate, kept[LAST]);
            }
        } else {
#pragma unroll(H::UNROLL)
            for (u32 k = 0; k < count; k++) heuristic.accumulate(aggregate, cursor.next());
        }
        aggregate = group.gather(heuristic, aggregate);
        if constexpr (H::PASSES > 1) {
            heuristic.passed(aggregate);
            // before the next aggregate is gathered in the same shared memory
            group.sync();
        }
    }

    // map and prefix sum
    Sum sum = 0;
    if (keep) {
#pragma unroll
        for (u32 k = 0; k != LAST; k++) sum = heuristic.weigh(kept[k], aggregate, sum);
        if (count == KEEP) sum = heuristic.weigh(kept[LAST], aggregate, sum);
    } else {
        auto cursor = heuristic.cursor(first * WIDTH, SHARERS * WIDTH);
#pragma unroll(H::UNROLL)
        for (u32 k = 0; k < count; k++) sum = heuristic.weigh(cursor.next(), aggregate, sum);
    }
    const Sum through = group.scan(sum), warp = group.from(through, LANES - 1);
    Sum before, total;
    group.across(warp, before, total);

    // select: below a warp's start the difference wraps around and lies beyond the warp's end
    Sum value = scale(bits, total) - before;
    if (total == 0) {
        if (group.rank == 0) {
            heuristic.could_not_assign(aggregate);
            state.deactivate(variable);
        }
    } else if (value < warp) {
        Sum left = through - sum, right = through;
        if (SHARERS > 1) {
            left = group.from(left, group.lane / SHARERS * SHARERS);
            right = group.from(right, group.lane / SHARERS * SHARERS + SHARERS - 1);
        }
        const bool holds = left <= value && value < right;
        if (keep && KEEP <= WALKED && SHARERS == 1) {
            if (holds) {
                const Sum rest = value - left;
                Sum passed = 0, through = 0;
                typename H::Pack ratings = kept[0];
                u32 pack = first;
#pragma unroll
                for (u32 k = 0; k != LAST; k++) {
                    through = heuristic.weigh(kept[k], aggregate, through);
                    if (through <= rest) {
                        passed = through;
                        ratings = kept[k + 1];
                        pack = first + k + 1;
                    }
                }
                take(heuristic, state, variable, pack, ratings, aggregate, rest - passed);
            }
        } else {
            const u32 holder = (__ffs(__ballot_sync(group.mask, holds)) - 1) % LANES;
            const u32 owner = group.rank - group.lane + holder, last = deal.end(owner);
            value -= group.from(left, holder);
            for (u32 start = deal.begin(owner); start < last; start += LANES) {
                const u32 pack = start + group.lane;
                typename H::Pack ratings{};
                Sum weight = 0;
                if (pack < last) {
                    ratings = heuristic.cursor(pack * WIDTH, WIDTH).next();
                    weight = heuristic.weigh(ratings, aggregate, Sum(0));
                }
                const Sum right = group.scan(weight), round = group.from(right, LANES - 1);
                if (value < round) {
                    const Sum rest = value - (right - weight);
                    if (rest < weight) take(heuristic, state, variable, pack, ratings, aggregate, rest);
                    break;
                }
                value -= round;
            }
        }
    }
    group.sync();
}

// Computes the stream of the same clone in the next generation: a jump of xoshiro is a linear map of its 256 bits.
// Lanes take bits alternately; every state reads the columns, which stay in the L1 cache.
template <u32 THREADS>
__device__ __forceinline__ void advance(
    const Group<THREADS> &group, const Pass &pass, u64 clone, const Xoshiro &stream) {
    constexpr u32 LANES = Group<THREADS>::LANES;
    if (group.rank >= LANES) return;
    u64 sums[4] = {};
#pragma unroll
    for (u32 word = 0; word < 4; word++)
#pragma unroll 2
        for (u32 bit = group.lane; bit < 64; bit += LANES) {
            const u64 mask = 0 - (stream.s[word] >> bit & 1);
            const u64 *const column = pass.jumps + (word * 64 + bit) * 4;
#pragma unroll
            for (u32 i = 0; i < 4; i++) sums[i] ^= __ldg(column + i) & mask;
        }
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
#pragma unroll
        for (u32 distance = LANES / 2; distance > 0; distance /= 2)
            sums[i] ^= __shfl_xor_sync(group.mask, sums[i], distance);
        if (group.lane == 0) pass.streams_next[clone * 4 + i] = sums[i];
    }
}

// An order of assignment in progress (crates/fang/src/order.rs).
struct Walk {
    u32 at, left, stride;

    __device__ __forceinline__ static u32 common(u32 a, u32 b) {
        while (b != 0) {
            const u32 rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }

    // Begins a pass; draws once if permuted.
    __device__ __forceinline__ static Walk begin(const Pass &pass, Xoshiro &stream) {
        if (!pass.permuted) return {0, pass.list ? pass.listed : pass.variables, 1};
        const u64 draw = stream.draw();
        const u32 n = pass.variables;
        u32 stride = 1;
        if (n >= 3) {
            u64 index = 0;
            do stride = 1 + (u32)below(mix(draw, index++), n - 1);
            while (common(stride, n) != 1);
        }
        return {(u32)below(draw, n), n, stride};
    }

    // Finds the next variable that is active now.
    __device__ __forceinline__ bool next(const Pass &pass, State state, u32 &variable) {
        if (!pass.permuted && !pass.list) {
            for (; at < pass.variables; at = (at / 64 + 1) * 64) {
                const u64 word = state.active[at / 64] >> (at % 64);
                if (word != 0) {
                    variable = at + __ffsll((long long)word) - 1;
                    at = variable + 1;
                    return true;
                }
            }
            return false;
        }
        while (left > 0) {
            left--;
            variable = pass.permuted ? at : pass.list[at];
            at += stride;
            if (pass.permuted && at >= pass.variables) at -= pass.variables;
            if (state.is_active(variable)) return true;
        }
        return false;
    }
};

// Assigns the variables of one type after the other, in the order of the types.
template <class Sum, class First, class... Rest, u32 THREADS, class Problem>
__device__ __forceinline__ void assign_types(const Group<THREADS> &group, const Pass &pass, const Problem &problem,
                                             State state, Walk order, u64 draw, u32 type = 0) {
    Walk walk = order;
    u32 variable;
    while (walk.next(pass, state, variable)) {
        if (pass.types && pass.types[variable] != type) continue;
        const typename First::H heuristic(problem, state, variable);
        assign<Sum, typename First::H, First::KEEP>(group, heuristic, state, variable, mix(draw, variable));
    }
    if constexpr (sizeof...(Rest) > 0) assign_types<Sum, Rest...>(group, pass, problem, state, order, draw, type + 1);
}

template <class First, class...> struct ProblemOf {
    typedef typename First::H::Problem Problem;
};

// Number of threads of a block: one group per block, or four warps of smaller groups.
constexpr u32 block_of(u32 threads) { return threads > 32 ? threads : 128; }

// Clones states and assigns their active variables, with one heuristic per type. If `SHARED`, a state is in shared
// memory.
// memory.
template <u32 THREADS, bool SHARED, class Sum, class... Slots>
__global__ void __launch_bounds__(block_of(THREADS)) pass(Pass pass, typename ProblemOf<Slots...>::Problem problem) {
    extern __shared__ u64 homes[];
    constexpr u32 GROUPS = block_of(THREADS) / THREADS;
    const Group<THREADS> group;
    const u32 place = GROUPS > 1 ? threadIdx.x / THREADS : 0;
    const u64 clone = blockIdx.x * GROUPS + place;
    if (clone >= pass.clones) return;

    const u32 sets = (pass.variables + 63) / 64;
    u64 *const home = homes + place * (sets + (pass.words + 1) / 2);
    State state = {pass.target + clone * pass.words, pass.target_active + clone * sets};
    const State target = state;
    if (SHARED) state = {(u32 *)(home + sets), home};
    // read before anything is written, so that latencies overlap
    Xoshiro stream;
    for (u32 i = 0; i < 4; i++) stream.s[i] = __ldg(pass.streams + clone * 4 + i);
    const u64 parent = clone / pass.successors;
#pragma unroll 1
    for (u32 i = group.rank; i < sets; i += THREADS) state.active[i] = __ldg(pass.source_active + parent * sets + i);
#pragma unroll 1
    for (u32 i = group.rank; i < pass.words; i += THREADS)
        state.words[i] = __ldg(pass.source + parent * pass.words + i);
    group.sync();

    advance(group, pass, clone, stream);
    const Walk order = Walk::begin(pass, stream);
    const u64 draw = stream.draw();
    assign_types<Sum, Slots...>(group, pass, problem, state, order, draw);

    if (SHARED) {
#pragma unroll 1
    for (u32 i = group.rank; i < sets; i += THREADS) target.active[i] = state.active[i];
#pragma unroll 1
    for (u32 i = group.rank; i < pass.words; i += THREADS) target.words[i] = state.words[i];
    }
    if (group.rank == 0)
        for (u32 i = 0; i < 4; i++) pass.streams_after[clone * 4 + i] = stream.s[i];
}
