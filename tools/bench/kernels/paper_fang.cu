// The paper's own algorithm exactly as published (algorithms 1 to 4 of sections 3.2 and 3.4): ratings and 64-bit prefix
// sums of every possibility in global memory, the warps' segments in shared memory, a block for each state. It selects
// the possibilities that `pass` selects.
#include "manhattan.cuh"

template <u32 THREADS, class H>
__global__ void __launch_bounds__(THREADS)
    paper(Pass pass, typename H::Problem problem, typename H::Rating *rating_storage, u64 *prefix_storage, u32 most) {
    extern __shared__ u64 segments[];
    __shared__ u32 target;
    const Group<THREADS> group;
    const u64 clone = blockIdx.x;
    typename H::Rating *const ratings = rating_storage + clone * most;
    u64 *const prefixes = prefix_storage + clone * most;

    const u32 sets = (pass.variables + 63) / 64;
    const State state = {pass.target + clone * pass.words, pass.target_active + clone * sets};
    const u64 parent = clone / pass.successors;
    for (u32 i = group.rank; i < sets; i += THREADS) state.active[i] = pass.source_active[parent * sets + i];
    for (u32 i = group.rank; i < pass.words; i += THREADS) state.words[i] = pass.source[parent * pass.words + i];
    Xoshiro stream;
    for (u32 i = 0; i < 4; i++) stream.s[i] = pass.streams[clone * 4 + i];
    __syncthreads();

    Walk walk = Walk::begin(pass, stream);
    const u64 draw = stream.draw();
    u32 variable;
    while (walk.next(pass, state, variable)) {
        const H heuristic(problem, state, variable);
        const u32 possibilities = heuristic.possibilities(), last = (possibilities + 31) / 32;

        // algorithm 2
        typename H::Aggregate aggregate{};
        for (u32 i = group.rank; i < possibilities; i += THREADS) {
            const typename H::Rating rating = heuristic.rate(i);
            ratings[i] = rating;
            heuristic.accumulate(aggregate, rating);
        }
        aggregate = group.gather(heuristic, aggregate);

        // algorithm 3, its loop padded to whole groups (section 3.8)
        u64 lower = 0;
        for (u32 start = 0; start < possibilities; start += THREADS) {
            const u32 i = start + group.rank;
            const u64 weight = i < possibilities ? heuristic.map(ratings[i], aggregate) : 0;
            const u64 through = group.scan(weight);
            u64 before, total;
            group.across(group.from(through, 31), before, total);
            const u64 prefix = lower + before + through;
            if (i < possibilities) prefixes[i] = prefix;
            if (group.lane == 31 && i / 32 < last) segments[i / 32] = prefix;
            lower += total;
            __syncthreads();
        }
        const u64 total = last > 0 ? segments[last - 1] : 0;
        if (total == 0) {
            if (group.rank == 0) {
                heuristic.could_not_assign(aggregate);
                state.deactivate(variable);
            }
            __syncthreads();
            continue;
        }

        // algorithm 4
        const u64 value = below(mix(draw, variable), total);
        for (u32 i = group.rank; i < last; i += THREADS)
            if ((i > 0 ? segments[i - 1] : 0) <= value && value < segments[i]) target = i;
        __syncthreads();
        if (group.rank < 32) {
            const u32 i = target * 32 + group.rank;
            if (i < possibilities && (i > 0 ? prefixes[i - 1] : 0) <= value && value < prefixes[i]) {
                heuristic.assign(i);
                state.deactivate(variable);
            }
        }
        __syncthreads();
    }
    if (group.rank == 0)
        for (u32 i = 0; i < 4; i++) pass.streams_after[clone * 4 + i] = stream.s[i];
}
