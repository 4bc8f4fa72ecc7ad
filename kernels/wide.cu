// One state over the whole device: all blocks visit the variables of a color class together, then wait for each other,
// or end. Values lie in global memory. Only the second-level cache is the same for all blocks: those that wait read and
// write values there (`volatile`). Equal, bit for bit, to a child that all threads of the CPU make (`sweep_together`).
#include "constants.cuh"
#include "crossover.cuh"
#include "state_lanes.cuh"
#include "sweep_path.cuh"

// A sweep; the host's `Step`.
struct Step {
    u64 order, draw;
    uint2 boltzmann;
};

// What the host reads; the sums are those of the launches since they were 0.
struct Outcome {
    u64 moves;
    i64 total;
    u64 hash;
    u32 violations;
    u32 arrived; // at the barriers of a launch
    u64 awaited; // the part that was waited for too long, and one; 0 where none was
};

// What the blocks of a launch wait for. All of them must be on the device at once. The fewer they are the sooner all
// have arrived: blocks of 1024 threads.
struct Device {
    u32 *arrived;
    mutable u32 expected;

    __device__ __forceinline__ void operator()() const {
        __syncthreads();
        if (threadIdx.x == 0) {
            expected += gridDim.x;
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
            u32 seen;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
            while (seen < expected);
        }
        __syncthreads();
    }
};

// Over a warp.
template <class N> __device__ __forceinline__ N warp_sum(N x) {
    for (int s = 16; s > 0; s >>= 1) x += __shfl_xor_sync(~0u, x, s);
    return x;
}

// Random values.
template <class V> __global__ void scatter(Core core, V *values, u64 draw) {
    const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < core.variables) values[v] = below(mix(draw, v), domain_of(__ldg(core.info + v)));
}

// This thread's place in its lane group.
template <class T> __device__ __forceinline__ T lanes_here() {
    const u32 lane = threadIdx.x % 32;
    return T{(int)(lane % T::LANES), (u32)((1ull << T::LANES) - 1) << lane / T::LANES * T::LANES};
}

// A member of a color class, with all of a visit's data that does not depend on the state.
template <class T> struct Member {
    u32 variable;
    uint4 info;
    Ahead<T> ahead;

    __device__ __forceinline__ Member(const Core &core, const T &lanes, u32 place)
        : variable(__ldg(core.class_members + place)), info(__ldg(core.class_info + place)), ahead(core, lanes, info) {}

    // Visits it; returns 1 to the lane that changed it.
    template <class V>
    __device__ __forceinline__ u32 visit(const Core &core, const T &lanes, const Values<V> &x, const Step &step) const {
        return ::visit(core, lanes, x, variable, info, ahead, step.boltzmann, mix(step.draw, variable));
    }
};

// Makes the visits of one color class of a sweep. It is launched once for each class if classes have more variables
// than threads are on the device: blocks that end make room for others, and no thread has two visits.
template <int NV, int NN, int Q, bool HALF, class V>
__global__ void __launch_bounds__(256) visits(Core core, V *values, Step step, u32 begin, u32 end, Outcome *outcome) {
    using T = StateLanes<NV, NN, Q, HALF>;
    const u32 member = begin + (blockIdx.x * blockDim.x + threadIdx.x) / T::LANES;
    u32 moved = 0;
    if (member < end) {
        const T lanes = lanes_here<T>();
        moved = Member<T>(core, lanes, member).visit(core, lanes, Values<V>{values, 1}, step);
    }
    const u32 moves = __syncthreads_count(moved);
    if (threadIdx.x == 0 && moves) atomicAdd(&outcome->moves, (u64)moves);
}

// A part of a state's variables, visited by one of several devices. Each device holds the values of all variables. A
// part sends the changes at its border to the others. The class's members from `begin` to `border_end` have neighbours
// in other parts; those from there to `end` have neighbours in their own part only.
struct PartVisits {
    u64 values[MOST_PARTS];  // where each part has them
    u64 arrived[MOST_PARTS]; // for each part, how many classes each of the others has sent it
    u32 *done;               // blocks of this launch that have visited the border; reset to 0 by the last
    u32 part, parts;
    u32 number;              // of this launch, from 1 on: all parts make as many
    u32 begin, border_end, end;
};

// Waits until all other parts have sent the changes of the class before, WAIT_NANOSECONDS at most.
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

// The last block of the border signals the other parts that this part's class is done.
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
    visits_of_part(Core core, V *values, Step step, PartVisits it, Outcome *outcome) {
    using T = StateLanes<NV, NN, Q, HALF>;
    const u32 each = blockDim.x / T::LANES, blocks = max((it.border_end - it.begin + each - 1) / each, 1u);
    const bool at_border = blockIdx.x < blocks;
    const u32 place = threadIdx.x / T::LANES, end = at_border ? it.border_end : it.end;
    const u32 begin = at_border ? it.begin + blockIdx.x * each : it.border_end + (blockIdx.x - blocks) * each;
    const u32 member = begin + place;
    if (at_border) await_others(it, outcome);
    u32 moved = 0;
    if (member < end) {
        const T lanes = lanes_here<T>();
        const Member<T> here(core, lanes, member);
        moved = here.visit(core, lanes, Values<V>{values, 1}, step);
        if (at_border && moved)
            for (u32 q = 0; q < it.parts; q++)
                if (q != it.part) ((V *)it.values[q])[here.variable] = values[here.variable];
    }
    if (at_border) send(it, blocks);
    const u32 moves = __syncthreads_count(moved);
    if (threadIdx.x == 0 && moves) atomicAdd(&outcome->moves, (u64)moves);
}

// Copies the values of all other parts' variables to this part.
template <class V>
__global__ void __launch_bounds__(256) gather(Core core, V *values, const u8 *owners, PartVisits it) {
    const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= core.variables) return;
    const u32 q = __ldg(owners + v);
    if (q != it.part) values[v] = ((const V *)it.values[q])[v];
}

// Makes sweeps.
template <int NV, int NN, int Q, bool HALF, class V>
__global__ void __launch_bounds__(1024) sweeps(Core core, V *values, const Step *steps, u32 count, Outcome *outcome) {
    using T = StateLanes<NV, NN, Q, HALF>;
    const u32 group = (blockIdx.x * blockDim.x + threadIdx.x) / T::LANES, all = gridDim.x * blockDim.x / T::LANES;
    const T lanes = lanes_here<T>();
    const Values<volatile V> x{values, 1};
    const Device wait{&outcome->arrived, 0};
    u32 moves = 0;
    SweepPath path(core, steps[0].order);
    // a group without a member in a class loads the last one's
    const auto first_of = [&](const SweepPath &path) { return min(path.place + group, path.end - 1); };
    Member<T> next(core, lanes, first_of(path));
    for (u32 k = 0; k < count; k++) {
        const Step step = steps[k];
        for (u32 c = 0; c < core.classes; c++) {
            u32 member = path.place + group;
            if (member < path.end) moves += next.visit(core, lanes, x, step);
            for (member += all; member < path.end; member += all)
                moves += Member<T>(core, lanes, member).visit(core, lanes, x, step);
            // the next class's first members are on their way while all blocks arrive
            if (c + 1 < core.classes) path.next_class(core);
            else if (k + 1 < count) path = SweepPath(core, steps[k + 1].order);
            next = Member<T>(core, lanes, first_of(path));
            wait();
        }
    }
    moves = warp_sum(moves);
    if (threadIdx.x % 32 == 0) atomicAdd(&outcome->moves, (u64)moves);
}

// Makes `values` the best combination of both.
template <class V>
__global__ void __launch_bounds__(1024)
    combine(Core core, V *values, const V *theirs, Crossover crossover, u64 draw, Outcome *outcome) {
    const Device wait{&outcome->arrived, 0};
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    take_better(core, Values<volatile V>{values, 1}, theirs, crossover, draw, thread, gridDim.x * blockDim.x, wait);
}

// The energy and the hash of values.
template <class V> __global__ void __launch_bounds__(256) measure(Core core, const V *values, Outcome *outcome) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    u64 total = 0, hash = 0;
    u32 violations = 0;
#ifdef LINKS
    // nothing is forbidden
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
