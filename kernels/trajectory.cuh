// Guided trajectories, equal to the CPU backend move by move. A group of threads has a state. This source follows a
// heuristic's source, which defines `Heuristic`.
#pragma once
#if NEIGHBOURHOOD
#include "groups.cuh"
#else
#include "network.cuh"
#endif

// Progress of a state and of its last trajectory; the host's type is `guided::cuda::TrajectoryProgress`.
struct TrajectoryProgress {
    i64 energy, record;          // of the state; the least of all its trajectories
    i64 kept, recounted;         // if assignments are verified: the first energies that differ,
    u32 fault;                   // and the variable that was assigned before
    u32 proposed, taken;         // groups
    u32 taken_changed;           // values that accepted groups changed,
    u32 taken_improved;          // and how many of these groups led to a record
    u32 senseless, beyond;       // a variable of a group and an invalid value
    u32 pass, improved;          // its passes, and their number at the last record
    u32 moves, ratings, drawn, changed, improvements;
    u32 weightless, held;        // a variable whose values all had weight 0, and the value it kept
    u32 strange;                 // a variable with a value whose weight is NaN
    u32 outcome;                 // STOPPED, WORSE, AS_GOOD or BETTER
};

// Arguments of a generation; the host's type is `guided::cuda::BatchArgument`.
struct Batch {
    u32 *states;                 // `words` of each: values, then memory
    u64 *working;                // of the offspring, `room` 64-bit words of each, if shared memory is too small
    u32 *bests;                  // the best assignment of each trajectory
    TrajectoryProgress *progress;
    const uint2 *trajectories;        // of each state: index of its first temperature, number of passes
    const double *temperatures;  // of all passes
    const u32 *order;            // of the states: long trajectories first
    const u32 *stop;
    u64 draw;
    u32 count, words, room, unused;
};

// An offspring during its trajectory.
template <u32 THREADS, u32 KEEP> struct Trajectory {
    typedef Network<Heuristic> Visit;

    const Group<THREADS> group;
    const NetworkProblem &problem;
    const State state;
    u32 *const best;
    TrajectoryProgress progress;
    i64 best_energy;
    bool moved;

    __device__ __forceinline__ Trajectory(const NetworkProblem &problem, State state, u32 *best,
                                          const TrajectoryProgress &of_parent)
        : problem(problem), state(state), best(best), progress(of_parent), best_energy(0x7fffffffffffffffll),
          moved(false) {
        progress.moves = progress.ratings = progress.drawn = progress.changed = progress.improvements = 0;
        progress.proposed = progress.taken = progress.taken_changed = progress.taken_improved = 0;
        progress.weightless = progress.held = progress.beyond = progress.fault = NONE;
    }

    __device__ __forceinline__ u32 variables() const { return problem.core.variables; }

    __device__ __forceinline__ void keep_best() {
        for (u32 v = group.rank; v < variables(); v += THREADS) best[v] = state.words[v];
        best_energy = progress.energy;
        group.sync();
    }

    // Gives a variable another value.
    __device__ __forceinline__ void take(const Visit &visit, u32 value) {
        const int rise = visit.template rise<Group<THREADS>::LANES>(value, group.lane, group.mask);
        group.sync();
        // a best assignment is stored when it is left
        if (rise > 0 && moved && progress.energy <= best_energy) keep_best();
        moved = true;
        if (group.rank == 0) {
            if (NEEDS_AGE) state.words[problem.left + visit.place + visit.held] = progress.pass;
            state.words[visit.variable] = value;
        }
        group.sync();
        progress.energy += rise;
        if (progress.energy < progress.record) {
            progress.record = progress.energy;
            progress.improved = progress.pass;
            progress.improvements++;
        }
    }

#if ASSERTS
    // Recomputes the energy after an assignment.
    __device__ __noinline__ void verify(u32 variable) {
        i64 sum = 0;
        for (u32 v = group.lane; v < variables(); v += Group<THREADS>::LANES) {
            const Visit visit(problem, state, v, Now{});
            sum += visit.unary(visit.held);
            for (u32 k = 0; k < incidences_of(visit.info); k++)
                if (problem.counted[visit.info.x + k]) sum += visit.row(k)[visit.held];
        }
#pragma unroll
        for (u32 distance = Group<THREADS>::LANES / 2; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(group.mask, sum, distance);
        if (sum == progress.energy || progress.fault != NONE) return;
        progress.fault = variable;
        progress.kept = progress.energy;
        progress.recounted = sum;
    }
#else
    __device__ __forceinline__ void verify(u32) {}
#endif

#if NEIGHBOURHOOD
    // Proposes one group of variables: it is accepted by its cost, or undone as a whole.
    __device__ __noinline__ void propose(Xoshiro &stream, double temperature) {
        View<THREADS, Heuristic> view(group, problem, state);
        Groups::propose(view, stream);
        const u32 members = view.members;
        for (u32 place = 0; place < members; place++) {
            const u32 v = view.member(place)[0], value = view.member(place)[1];
            if (v < variables() && value < view.domain(v)) continue;
            if (progress.beyond == NONE) {
                progress.senseless = v;
                progress.beyond = value;
            }
            return;
        }
        if (members == 0) return;
        progress.proposed++;
        const i64 before = progress.energy, record = progress.record;
        const u32 improvements = progress.improvements;
        u32 changed = 0;
        for (u32 step = 0; step < 2 * members; step++) {
            if (step == members) {
                const i64 rise = min(max(progress.energy - before, 0ll), 0xffffffffll);
                const Weights boltzmann(temperature);
                const u32 drawn = (u32)(stream.draw() >> 32) % boltzmann.weight(0);
                if (drawn < boltzmann.weight((u32)rise)) {
                    progress.taken++;
                    progress.taken_changed += changed;
                    progress.taken_improved += progress.energy < record;
                    progress.moves += changed;
                    break;
                }
            }
            const bool back = step >= members;
            u32 *const member = view.member(back ? 2 * members - 1 - step : step);
            const Visit visit(problem, state, member[0], Now{});
            const u32 value = member[back ? 2 : 1];
            if (!back && group.rank == 0) member[2] = visit.held;
            changed += !back && value != visit.held;
            if (value != visit.held) take(visit, value);
            group.sync();
        }
        // intermediate values of a group do not count as improvements
        progress.improvements = improvements;
        verify(view.member(0)[0]);
    }
#endif

    // Lets FANG select a value; returns the variable's value afterwards.
    __device__ __forceinline__ u32 pick(const Visit &visit, u64 draw) {
        if (visit.template idle<Group<THREADS>::LANES>(group.lane, group.mask)) return visit.held;
        assign<u64, Visit, KEEP>(group, visit, state, visit.variable, mix(draw, visit.variable));
        const u32 picked = state.words[problem.picked];
        // all threads have read it before the next selection writes it
        group.sync();
        if (picked == INACTIVE) return visit.held;
        progress.ratings += visit.possibilities();
        if (picked == WEIGHTLESS) {
            if (progress.weightless == NONE) {
                progress.weightless = visit.variable;
                progress.held = visit.held;
            }
            return visit.held;
        }
        progress.drawn++;
        progress.changed += picked != visit.held;
        progress.moves += picked != visit.held;
        return picked;
    }

    // Visits all variables in random order, by the heuristic or by values of least cost (`settles`), or returns to the
    // best assignment (`home`).
    __device__ __forceinline__ void walk(Xoshiro &stream, double temperature, bool settles, bool home) {
        const u32 n = variables();
        // no thread reads the last visit any more
        group.sync();
        for (u32 set = group.rank; set < (n + 63) / 64; set += THREADS)
            state.active[set] = n - 64 * set < 64 ? (1ull << (n % 64)) - 1 : ~0ull;
        group.sync();
        Pass order = {};
        order.variables = n;
        order.permuted = !home;
#if NEEDS_H
        // mini-bucket guidance depends on the variables later in the elimination order
        if (!home && !settles && problem.guidance.order) {
            order.permuted = 0;
            order.list = problem.guidance.order;
            order.listed = n;
        }
#endif
        Walk walk = Walk::begin(order, stream);
        const u64 draw = home ? 0 : stream.draw();
        u32 variable;
        while (walk.next(order, state, variable)) {
            const Now now = {temperature, progress.pass, progress.improved, settles};
            const Visit visit(problem, state, variable, now);
            const u32 value = home ? best[variable] : pick(visit, draw);
            if (value != visit.held) {
                take(visit, value);
                if (!home) verify(variable);
            }
            if (NEEDS_FREQUENCY && !home && group.rank == 0) {
                state.words[problem.visits + variable]++;
                state.words[problem.taken + visit.place + value]++;
            }
        }
    }

    // Returns whether the host has set the stop flag; all threads get the same answer.
    __device__ __forceinline__ bool stopped(const u32 *stop) const {
        group.sync();
        if (group.rank == 0) state.words[problem.picked] = *(const volatile u32 *)stop;
        group.sync();
        return state.words[problem.picked] != 0;
    }

    // Runs the trajectory with the temperatures of its passes; returns false if the stop flag is set.
    __device__ __forceinline__ bool run(Xoshiro stream, const double *temperatures, u32 passes, const u32 *stop) {
        TrajectoryProgress before = progress;
#pragma unroll 1
        for (u32 pass = 0; pass < passes + 2; pass++) {
            const bool settles = pass == passes, home = pass > passes;
            if (!settles && !home) {
                if (stopped(stop)) return false;
                progress.pass += progress.pass < NEVER;
            }
            if (settles) before = progress;
            if (home && progress.energy <= best_energy) break;
            walk(stream, settles || home ? 0.0 : temperatures[pass], settles, home);
#if NEIGHBOURHOOD
            if (!settles && !home)
                for (u32 i = 0; i < problem.proposals; i++) propose(stream, temperatures[pass]);
#endif
            if (settles) {
                // the last pass ignores the heuristic
                progress.drawn = before.drawn;
                progress.changed = before.changed;
                progress.improvements = before.improvements;
            }
        }
        group.sync();
        return true;
    }
};

// Makes an offspring of each state, which replaces its parent if it is not worse; its memory is kept in any case.
template <u32 THREADS, bool SHARED, u32 KEEP>
__global__ void __launch_bounds__(block_of(THREADS)) run_trajectories(const Batch batch, const NetworkProblem problem) {
    extern __shared__ u64 homes[];
    constexpr u32 GROUPS = block_of(THREADS) / THREADS;
    const u32 place = GROUPS > 1 ? threadIdx.x / THREADS : 0, at = blockIdx.x * GROUPS + place;
    if (at >= batch.count) return;
    const u32 slot = batch.order[at], n = problem.core.variables;
    u64 *const home = SHARED ? homes + place * batch.room : batch.working + (u64)slot * batch.room;
    const State state = {(u32 *)(home + (n + 63) / 64), home};
    u32 *const parent = batch.states + (u64)slot * batch.words;
    Trajectory<THREADS, KEEP> trajectory(problem, state, batch.bests + (u64)slot * n, batch.progress[slot]);
    const auto &group = trajectory.group;
    for (u32 i = group.rank; i < batch.words; i += THREADS) state.words[i] = parent[i];
    if (group.rank == 0) state.words[problem.strange] = NONE;

    const i64 before = trajectory.progress.energy;
    const uint2 plan = batch.trajectories[slot];
    // the stream of `Rng::new`
    const u64 seed = mix(batch.draw, (1ull << 32) + slot);
    Xoshiro stream;
    for (u32 i = 0; i < 4; i++) stream.s[i] = mix(seed, i);
    if (!trajectory.run(stream, batch.temperatures + plan.x, plan.y, batch.stop)) {
        if (group.rank == 0) batch.progress[slot].outcome = STOPPED;
        return;
    }
    TrajectoryProgress progress = trajectory.progress;
    progress.outcome = progress.energy < before ? BETTER : progress.energy == before ? AS_GOOD : WORSE;
    progress.strange = state.words[problem.strange];
    for (u32 i = group.rank; i < batch.words; i += THREADS)
        if (i >= n || progress.outcome != WORSE) parent[i] = state.words[i];
    if (progress.outcome == WORSE) progress.energy = before;
    if (group.rank == 0) batch.progress[slot] = progress;
}
