// Children of one state over the whole device. All blocks of a child visit the variables of a color class together,
// then wait for each other, or end. Values and evaluations are in global memory. Only the second-level cache is shared
// by all blocks, so blocks that wait for each other read and write there (`volatile`, `__ldcg`, atomics). A child
// equals, bit for bit, the one that all threads of the CPU make (`sweep_together`).
#include "constants.cuh"
#include "crossover.cuh"
#include "rating_rows.cuh"
#include "sweep_path.cuh"

// A sweep; the host's `Step`.
struct Step {
    u64 order, draw;
    uint2 boltzmann;
    i64 least; // the least rating of a variable's value at which it moves, or ALL_MOVE
};

// Results that the host reads. Sums are over all launches since the host set them to 0.
struct Outcome {
    u64 moves;
    i64 total;
    u64 hash;
    u32 violations;
    u32 arrived; // at the barriers of a launch
    u64 awaited; // the part that was waited for too long, and one; 0 where none was
};

// A barrier for the blocks of a launch. All of them must be on the device at once. Fewer blocks arrive sooner, so they
// have 1024 threads.
struct Together {
    u32 *arrived;
    u32 blocks;
    mutable u32 expected;

    __device__ __forceinline__ void operator()() const {
        __syncthreads();
        if (threadIdx.x == 0) {
            expected += blocks;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
            u32 seen;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
            while (seen < expected);
        }
        __syncthreads();
    }
};

// Returns the sum over a warp.
template <class N> __device__ __forceinline__ N warp_sum(N x) {
    for (int s = 16; s > 0; s >>= 1) x += __shfl_xor_sync(~0u, x, s);
    return x;
}

// Sets random values.
template <class V> __global__ void scatter(Core core, V *values, u64 draw) {
    const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < core.variables) values[v] = below(mix(draw, v), domain_of(__ldg(core.info + v)));
}

// The evaluations of children, kept from sweep to sweep: most visits of a cool state change nothing, and a visit reads
// one row instead of one for each function. Each part has the rows of its own variables.
struct Kept {
    u64 rows[MOST_PARTS];    // of each part; a variable's begins where its unary costs do
    u64 child_bytes;         // of one child's rows; several children have one part
    const uint2 *effects_of; // a variable: first effect, effects
    uint4 *effects;          // see rating_rows.cuh
    u32 part, parts;
    u32 group_bits;          // 2^this threads follow a move
    u32 children;
};

// The rows of evaluations of one child.
struct Rows {
    const Kept &kept;
    u64 begin;

    __device__ __forceinline__ Rows(const Kept &kept, u32 child) : kept(kept), begin(child * kept.child_bytes) {}
    __device__ __forceinline__ uint4 *of(u32 part) const { return (uint4 *)(kept.rows[part] + begin); }
};

// The child that a block works on. All children of a launch have equal numbers of blocks.
struct Child {
    u32 number, block, blocks;

    __device__ __forceinline__ Child(const Kept &kept)
        : number(blockIdx.x / (gridDim.x / kept.children)), block(blockIdx.x % (gridDim.x / kept.children)),
          blocks(gridDim.x / kept.children) {}
};

// Returns the position of a variable's row, in units.
template <class T> __device__ __forceinline__ u32 row_at(const uint4 &info) { return info.z * 4 / T::UNIT; }
template <class T> __device__ __forceinline__ u32 units_of(const uint4 &info) { return quads_of(info) * 4 / T::UNIT; }

// Returns an entry of a row of evaluations.
template <class T> __device__ __forceinline__ int entry_at(const uint4 *row, u32 value) {
    return T::HALF ? (int)__ldcg((const unsigned short *)row + value) : __ldcg((const int *)row + value);
}

// Calls `f` with all effects on the row of a variable, and with the variable that moves for each.
template <bool HALF, class F> __device__ __forceinline__ void each_effect(const Core &core, u32 v, F f) {
    constexpr u32 QUADS = HALF ? 2 : 1;
    const uint4 info = __ldg(core.info + v);
    const u32 row = info.z / QUADS, units = quads_of(info) / QUADS;
    for (u32 k = info.x; k < info.x + incidences_of(info); k++) {
#ifdef LINKS
        const uint2 it = __ldg(core.links + k);
        f(it.y, make_uint4(row, units, it.x, units));
#else
        const uint4 it = __ldg(core.incidences + k);
#ifdef WIDE
        const uint2 ends = __ldg(core.wide + k);
#else
        const uint2 ends = make_uint2(it.y & 0xffff, it.y >> 16);
#endif
        const uint2 rest = info.w >> 31 ? __ldg(core.more + k) : make_uint2(0, 0);
        const bool binary = !it.w && !rest.y;
        const u32 shape = units | (rest.y ? 1u << 30 : 0) | (binary ? 0 : 1u << 31), from = binary ? it.x : k;
        if (it.z) f(ends.x, make_uint4(row, shape, from, it.z));
        if (it.w) f(ends.y, make_uint4(row, shape, from, it.w));
        for (u32 r = 0; r < rest.y; r++) {
            const uint2 pair = __ldg(core.further + rest.x + r);
            f(pair.x, make_uint4(row, shape, from, pair.y));
        }
#endif
    }
}

// Counts the effects of each variable.
template <bool HALF> __global__ void __launch_bounds__(256) count_effects(Core core, uint2 *effects_of) {
    const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < core.variables)
        each_effect<HALF>(core, v, [&](u32 moving, const uint4 &) { atomicAdd(&effects_of[moving].y, 1); });
}

// Reserves a range for the effects of each variable and resets the counts to 0. `reserved` must be 0 before.
__global__ void __launch_bounds__(256) place_effects(Core core, uint2 *effects_of, u32 *reserved) {
    const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= core.variables) return;
    effects_of[v] = make_uint2(atomicAdd(reserved, effects_of[v].y), 0);
}

// Writes the effects and counts them again. `owners` are the parts of the variables if there are several parts.
template <bool HALF>
__global__ void __launch_bounds__(256) write_effects(Core core, uint2 *effects_of, uint4 *effects, const u8 *owners) {
    const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= core.variables) return;
    const u32 part = owners ? __ldg(owners + v) : 0;
    each_effect<HALF>(core, v, [&](u32 moving, uint4 effect) {
        effect.y |= part << 16;
        uint2 *const of = effects_of + moving;
        effects[of->x + atomicAdd(&of->y, 1)] = effect;
    });
}

// Returns this thread's position in its lane group.
template <class T> __device__ __forceinline__ T lanes_here() {
    const u32 lane = threadIdx.x % 32;
    return T{(int)(lane % T::LANES), (u32)((1ull << T::LANES) - 1) << lane / T::LANES * T::LANES};
}

// Computes the rows of this part's variables.
template <int NV, int NN, int Q, bool HALF, class V>
__global__ void __launch_bounds__(256) keep(Core core, V *values, const __grid_constant__ Kept kept) {
    using T = StateLanes<NV, NN, Q, HALF>;
    const Child child(kept);
    const u32 member = (child.block * blockDim.x + threadIdx.x) / T::LANES;
    if (member >= __ldg(core.class_begin + core.classes)) return;
    const T lanes = lanes_here<T>();
    const uint4 info = __ldg(core.class_info + member);
    uint4 sums[T::Q];
    const Values<V> x{values + (u64)child.number * core.pad, 1};
    rating_row(core, lanes, x, info, Ahead<T>(core, lanes, info), domain_of(info), sums);
    if (T::NN > 1 && lanes.slot() != 0) return;
#pragma unroll
    for (int j = 0; j < T::Q; j++) {
        const u32 unit = lanes.part() * T::Q + j;
        if (unit < units_of<T>(info)) Rows(kept, child.number).of(kept.part)[row_at<T>(info) + unit] = sums[j];
    }
}

// A move: the variable's first effect, effects, value before << 16 | value now.
struct Move {
    u32 effects, count, values;
};

// The moves of a block's visits. All threads of the block call `begin` once, then `follow` after visits; if more visits
// come, `end` in between.
template <int THREADS> struct Moves {
    u32 count, all;
    Move moves[THREADS];

    __device__ __forceinline__ void begin() {
        if (threadIdx.x == 0) count = all = 0;
        __syncthreads();
    }

    __device__ __forceinline__ void note(const Kept &kept, u32 variable, u32 before, u32 now) {
        const uint2 effects = __ldg(kept.effects_of + variable);
        moves[atomicAdd(&count, 1)] = Move{effects.x, effects.y, before << 16 | now};
    }

    // Adds the difference between new and old values to the rows that depend on the moved variables. The sum of a
    // unit's entries may be negative in between; the result is exact modulo 2^64.
    template <class T, class V>
    __device__ __forceinline__ void follow(const Core &core, const Rows &all_rows, const Values<V> &x) {
        // units of a row that are processed at a time
        constexpr u32 PARTS = T::NV * T::Q < 32 ? T::NV * T::Q : 32;
        __syncthreads();
        const Kept &kept = all_rows.kept;
        const u32 bits = kept.group_bits, lane = threadIdx.x & ((1 << bits) - 1);
        for (u32 m = threadIdx.x >> bits; m < count; m += THREADS >> bits) {
            const Move move = moves[m];
            for (u32 k = lane / PARTS; k < move.count; k += (1 << bits) / PARTS) {
                const uint4 effect = __ldg(kept.effects + move.effects + k);
                uint4 *const rows = all_rows.of(effect.y >> 16 & 0xff);
                const auto change = [&](u32 unit, const uint4 &a, const uint4 &b) {
                    u64 *const halves = (u64 *)(rows + unit);
                    add_difference(kept, halves, a.x, a.y, b.x, b.y);
                    add_difference(kept, halves + 1, a.z, a.w, b.z, b.w);
                };
                each_change(core, x, effect, move.values >> 16, move.values & 0xffff, lane % PARTS, PARTS, change);
            }
        }
    }

    __device__ __forceinline__ void end() {
        __syncthreads();
        if (threadIdx.x == 0) {
            all += count;
            count = 0;
        }
    }

  private:
    static __device__ __forceinline__ void add_difference(const Kept &kept, u64 *at, u32 a, u32 b, u32 c, u32 d) {
        const u64 difference = (a | (u64)b << 32) - (c | (u64)d << 32);
        if (!difference) return;
        if (kept.parts > 1) atomicAdd_system(at, difference);
        else atomicAdd(at, difference);
    }
};

// A member of a color class, with all data of a visit that do not depend on the state.
template <class T> struct Member {
    u32 variable;
    uint4 info;

    __device__ __forceinline__ Member(const Core &core, u32 place)
        : variable(__ldg(core.class_members + place)), info(__ldg(core.class_info + place)) {}

    // Visits the member. Returns whether this lane has changed its value.
    template <class V, int THREADS>
    __device__ __forceinline__ bool visit(const T &lanes, const Rows &rows, const Values<V> &x, const Step &step,
                                          Moves<THREADS> &moves) const {
        const Kept &kept = rows.kept;
        const uint4 *const row = rows.of(kept.part) + row_at<T>(info);
        const u32 before = x[variable];
        if (step.least > ALL_MOVE && entry_at<T>(row, before) < step.least) return false;
        uint4 sums[T::Q];
#pragma unroll
        for (int j = 0; j < T::Q; j++)
            sums[j] = __ldcg(row + min((u32)(lanes.part() * T::Q + j), units_of<T>(info) - 1));
        int ratings[T::N];
        ratings_of(lanes, domain_of(info), sums, ratings);
        const int value = pick(lanes, step.boltzmann, ratings, mix(step.draw, variable));
        if (value < 0 || value == before) return false;
        x.set(variable, value);
        moves.note(kept, variable, before, value);
        return true;
    }
};

// Makes the visits of one color class of a sweep. It is launched once for each class if classes have more variables
// than threads are on the device: blocks that end make room for others, and no thread has two visits.
template <int NV, int NN, int Q, bool HALF, class V>
__global__ void __launch_bounds__(256)
    visits(Core core, V *values, const __grid_constant__ Kept kept, Step step, u32 begin, u32 end, Outcome *outcome) {
    using T = StateLanes<NV, NN, Q, HALF>;
    __shared__ Moves<256> moves;
    const u32 member = begin + (blockIdx.x * blockDim.x + threadIdx.x) / T::LANES;
    const Values<V> x{values, 1};
    const Rows rows(kept, 0);
    moves.begin();
    if (member < end) Member<T>(core, member).visit(lanes_here<T>(), rows, x, step, moves);
    moves.follow<T>(core, rows, x);
    if (threadIdx.x == 0 && moves.count) atomicAdd(&outcome->moves, (u64)moves.count);
}

// A part of a state's variables, visited by one of several devices. Each device holds the values of all variables. A
// part sends the changes at its border to the others. The class's members from `begin` to `border_end` have neighbours
// in other parts; those from there to `end` have neighbours in their own part only.
struct PartVisits {
    u64 values[MOST_PARTS];  // where each part has them
    u64 arrived[MOST_PARTS]; // for each part, the number of classes or legs that each of the others has signalled
    u32 *done;               // blocks of this launch that have visited the border; reset to 0 by the last
    u32 part, parts;
    u32 number;              // of this launch, from 1 on: all parts make as many
    u32 begin, border_end, end;
};

// Waits until all other parts have sent the changes of the class before, for at most WAIT_NANOSECONDS.
__device__ __forceinline__ void await_others(const PartVisits &it, Outcome *outcome) {
    const u32 other = threadIdx.x;
    if (other < it.parts && other != it.part) {
        u32 *arrived = (u32 *)it.arrived[it.part] + other, seen;
        u64 begin = 0, now;
        while (true) {
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
            if ((int)(seen - (it.number - 1)) >= 0) break;
            asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
            if (!begin) begin = now;
            if (now - begin > WAIT_NANOSECONDS) {
                atomicMax(&outcome->awaited, other + 1ull);
                // later classes do not wait for it
                *(volatile u32 *)arrived = it.number + (1u << 30);
                break;
            }
        }
    }
    __syncthreads();
}

// Signals the other parts that this one has made `number` legs, and waits until they have made all but one of them.
__global__ void pace(PartVisits it, Outcome *outcome) {
    if (threadIdx.x < it.parts && threadIdx.x != it.part) {
        u32 *arrived = (u32 *)it.arrived[threadIdx.x] + it.part;
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(arrived), "r"(it.number) : "memory");
    }
    await_others(it, outcome);
}

// Signals the other parts that this part's class is done. The last block of the border does it.
__device__ __forceinline__ void send(const PartVisits &it, u32 blocks) {
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x > 0 || atomicInc(it.done, blocks - 1) != blocks - 1) return;
    __threadfence_system();
    for (u32 q = 0; q < it.parts; q++)
        if (q != it.part)
            asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"((u32 *)it.arrived[q] + it.part), "r"(it.number)
                         : "memory");
}

// Makes a part's visits of one color class. The first blocks visit the border, because other parts wait for it.
template <int NV, int NN, int Q, bool HALF, class V>
__global__ void __launch_bounds__(256)
    visits_of_part(Core core, V *values, const __grid_constant__ Kept kept, Step step, PartVisits it,
                   Outcome *outcome) {
    using T = StateLanes<NV, NN, Q, HALF>;
    __shared__ Moves<256> moves;
    const u32 each = blockDim.x / T::LANES, blocks = max((it.border_end - it.begin + each - 1) / each, 1u);
    const bool at_border = blockIdx.x < blocks;
    const u32 place = threadIdx.x / T::LANES, end = at_border ? it.border_end : it.end;
    const u32 begin = at_border ? it.begin + blockIdx.x * each : it.border_end + (blockIdx.x - blocks) * each;
    const u32 member = begin + place;
    const Values<V> x{values, 1};
    const Rows rows(kept, 0);
    moves.begin();
    if (at_border) await_others(it, outcome);
    if (member < end) {
        const Member<T> here(core, member);
        if (here.visit(lanes_here<T>(), rows, x, step, moves) && at_border)
            for (u32 q = 0; q < it.parts; q++)
                if (q != it.part) ((V *)it.values[q])[here.variable] = x[here.variable];
    }
    moves.follow<T>(core, rows, x);
    if (at_border) send(it, blocks);
    if (threadIdx.x == 0 && moves.count) atomicAdd(&outcome->moves, (u64)moves.count);
}

// Copies the values of all other parts' variables to this part.
template <class V>
__global__ void __launch_bounds__(256) gather(Core core, V *values, const u8 *owners, PartVisits it) {
    const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= core.variables) return;
    const u32 q = __ldg(owners + v);
    if (q != it.part) values[v] = ((const V *)it.values[q])[v];
}

// Makes the sweeps of children, each with its own steps. The members of a class are distributed over a child's blocks.
template <int NV, int NN, int Q, bool HALF, class V>
__global__ void __launch_bounds__(1024)
    sweeps(Core core, V *values, const __grid_constant__ Kept kept, const Step *steps, u32 count, Outcome *outcome) {
    using T = StateLanes<NV, NN, Q, HALF>;
    constexpr u32 GROUPS = 1024 / T::LANES;
    __shared__ Moves<1024> moves;
    const u32 group = threadIdx.x / T::LANES;
    const T lanes = lanes_here<T>();
    const Child child(kept);
    const Values<volatile V> x{values + (u64)child.number * core.pad, 1};
    const Rows rows(kept, child.number);
    steps += child.number * count;
    outcome += child.number;
    const Together wait{&outcome->arrived, child.blocks, 0};
    SweepPath path(core, steps[0].order);
    u32 begin, end;
    const auto enter = [&] {
        const u32 each = (path.end - path.place + child.blocks - 1) / child.blocks;
        begin = min(path.place + child.block * each, path.end);
        end = min(begin + each, path.end);
    };
    // a lane group without a member in a class loads another one
    const auto first_member = [&] { return min(begin + group, path.end - 1); };
    moves.begin();
    enter();
    Member<T> next(core, first_member());
    for (u32 k = 0; k < count; k++) {
        const Step step = steps[k];
        for (u32 c = 0; c < core.classes; c++) {
            for (u32 first = begin; first < end; first += GROUPS) {
                const u32 member = first + group;
                if (first > begin && member < end) next = Member<T>(core, member);
                if (member < end) next.visit(lanes, rows, x, step, moves);
                moves.follow<T>(core, rows, x);
                moves.end();
            }
            // the first members of the next class are loaded while the child's blocks arrive
            if (c + 1 < core.classes) path.next_class(core);
            else if (k + 1 < count) path = SweepPath(core, steps[k + 1].order);
            enter();
            next = Member<T>(core, first_member());
            wait();
        }
    }
    if (threadIdx.x == 0 && moves.all) atomicAdd(&outcome->moves, (u64)moves.all);
}

// Replaces `values` by the best combination of both assignments by components.
template <class V>
__global__ void __launch_bounds__(1024)
    combine(Core core, V *values, const V *theirs, Crossover crossover, u64 draw, Outcome *outcome) {
    const Together wait{&outcome->arrived, gridDim.x, 0};
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    take_better(core, Values<volatile V>{values, 1}, theirs, crossover, draw, thread, gridDim.x * blockDim.x, wait);
}

// Computes the energy and the hash of values.
template <class V> __global__ void __launch_bounds__(256) measure(Core core, const V *values, Outcome *outcome) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    u64 total = 0, hash = 0;
    u32 violations = 0;
#ifdef LINKS
    // no tuple is forbidden
    for (u32 v = thread; v < core.variables; v += threads) {
        const uint4 info = __ldg(core.info + v);
        const u32 own = values[v];
        total += unary_of(core, info, own);
        for (u32 k = 0; k < incidences_of(info); k++) {
            const uint2 it = __ldg(core.links + info.x + k);
            if (it.y < v) total += linked(core, info, it, values[it.y], own);
        }
        hash += mix(own, v);
    }
#else
    const auto note = [&](i64 cost) {
        total += priced(core, cost);
        violations += cost >= FORBIDDEN;
    };
    for (u32 f = thread; f < core.functions; f += threads)
        note(cost_of(core, __ldg(core.entries + f), [&](u32 v) { return (u32)values[v]; }));
    for (u32 v = thread; v < core.variables; v += threads) {
        note(__ldg(core.costs + __ldg(core.unary + v) + values[v]));
        hash += mix(values[v], v);
    }
#endif
    total = warp_sum(total);
    hash = warp_sum(hash);
    violations = warp_sum(violations);
    if (threadIdx.x % 32 == 0) {
        atomicAdd((u64 *)&outcome->total, total);
        atomicAdd(&outcome->hash, hash);
        atomicAdd(&outcome->violations, violations);
    }
}
