// Memetic algorithm with simulated annealing: variation of a generation's population, and replacement. The CPU backend
// computes the same states, bit for bit.
#include "constants.cuh"
#include "crossover.cuh"
#include "sweep_path.cuh"
#include "tree_move.cuh"

// The parameters of a generation; the host's type is `Generation`.
struct Generation {
    u64 draw;
    u32 subpopulation, sweeps;       // states per subpopulation; 0 in the first generation
    u32 cold[8], region[4], tree[2], before[2], starts[8];
};

// Energy, hash and number of violations of a state; for an offspring also the plan that made it.
struct Standing {
    i64 total;
    u64 hash;
    u32 violations, plan;
};

// A summary of states, which the host reads.
struct Summary {
    i64 best, allowed;      // least energy of all states, and of the feasible ones
    u32 best_slot, allowed_slot;
    u32 elite_slot;         // slot of the state with least energy, ties broken by hash
    u32 at_best;            // number of states with the least energy
};

// Gains and numbers of trials of each arm of each operator.
struct Tally {
    u64 cold[8][2], region[4][2], tree[2][2], before[2][2];
};

struct Counters {
    u64 moves, ratings;
    Tally tally;
    Summary offspring, elites;
};

// A population and its offspring. Each state has `Core::pad` values.
struct Population {
    u32 states;
    u32 large;              // whether offspring and parents are combined by partition crossover
    u64 domains;            // sum of the domain sizes
    void *elites, *offspring, *others;
    Standing *standings, *next_standings, *child_standings; // of the elites, after replacement, of the offspring
    u64 *known;             // hash table with open addressing of the population's and offspring's hashes; 0 is empty
    u32 *known_by;          // the first owner of each hash: 0 is the population, k + 1 offspring k
    u64 known_mask;
    Counters *counters;
    const uint2 *steps;
    int4 *scratch;          // for tree moves
    u64 scratch_quads;      // per state
    u32 *labels;
    i64 *deltas;
    const u32 *stop;
};

struct Plan {
    u32 cold, region, tree, before;
};

template <int N> __device__ __forceinline__ u32 choose(u64 key, u32 decision, const u32 (&shares)[N]) {
    const u32 bits = mix(key, decision) >> 32;
    u32 arm = 0;
#pragma unroll
    for (int k = 0; k < N - 1; k++) arm += arm == k && bits > shares[k];
    return arm;
}

__device__ __forceinline__ Plan plan_of(const Generation &g, u64 key) {
    if (!g.subpopulation) return Plan{0, 0, 0, 0};
    const u64 shared = mix(g.draw, OF_ALL);
    return Plan{choose(key, COLD, g.cold), choose(key, REGION, g.region), choose(shared, TREE, g.tree),
                choose(key, BEFORE, g.before)};
}

// Sweeps all variables; each lane group has its own state.
template <class T, class V>
__device__ __forceinline__ u32 sweep_alone(const Core &core, const T &lanes, const Values<V> &x, u64 order,
                                           const uint2 &boltzmann, u64 draw) {
    constexpr u32 LANES = T::LANES;
    const u32 n = core.variables;
    SweepPath path(core, order);
    u32 moves = 0;
    if (LANES == 1) {
        u32 variable = path.variable(core);
        uint4 info = path.info(core);
        for (u32 k = 0; k < n; k++) {
            path.step(core, 1);
            const u32 next = path.variable(core);
            const uint4 next_info = path.info(core);
            moves += visit(core, lanes, x, variable, info, Ahead<T>(core, lanes, info), boltzmann, mix(draw, variable));
            // lanes that have diverged would not reconverge by themselves
            __syncwarp();
            variable = next;
            info = next_info;
        }
        return moves;
    }
    // each lane prepares one of the next visits
    path.step(core, lanes.lane);
    u32 mine = path.variable(core);
    uint4 info = path.info(core);
    const auto fetch = [&](u32 t) {
        return make_uint4(lanes.from(info.x, t), lanes.from(info.y, t), lanes.from(info.z, t), lanes.from(info.w, t));
    };
    uint4 now = fetch(0);
    Ahead<T> ahead(core, lanes, now);
    for (u32 k = 0; k < n; k += LANES) {
        const u64 bits = mix(draw, mine);
        const u32 count = min(LANES, n - k), own = mine;
        path.step(core, LANES);
        mine = path.variable(core);
        const uint4 later = path.info(core);
        for (u32 t = 0; t < count; t++) {
            const uint4 here = now;
            const Ahead<T> loaded = ahead;
            if (t + 1 == count) info = later;
            now = fetch(t + 1 == count ? 0 : t + 1);
            ahead = Ahead<T>(core, lanes, now);
            moves += visit(core, lanes, x, lanes.from(own, t), here, loaded, boltzmann, lanes.from(bits, t));
        }
    }
    return moves;
}

// The position of a lane group in a block of STATES states. Neighbouring lane groups visit the same variable of
// different states, so they read the same tables. If STATES is 0, each lane group has its own state.
template <int STATES, class T> struct Place {
    static constexpr u32 SHARED = STATES > 0 ? STATES : 1;
    const u32 number = threadIdx.x / T::LANES, all = blockDim.x / T::LANES;
    const u32 state = STATES > 0 ? number % SHARED : number, states = STATES > 0 ? SHARED : all;
    // position among the lane groups of the same state
    const u32 index = STATES > 0 ? number / SHARED : 0, count = STATES > 0 ? all / SHARED : 1;
};

template <int STATES, class T, class V, class K>
__device__ __forceinline__ u32 sweep_by_classes(const Core &core, const T &lanes, const Values<V> &x, K &cache,
                                                u64 order,
                                                const uint2 &boltzmann, u64 draw) {
    const Place<STATES, T> place;
    const u32 own = place.index, step = place.count;
    SweepPath path(core, order);
    u32 moves = 0;
    using Visit = typename K::Visit;
    Visit next(core, lanes, path.place + own, path.end);
    for (u32 k = 0; k < core.classes;) {
        const Visit now = next;
        path.place += step;
        // uniform for all threads
        const bool last = path.place >= path.end;
        if (last) path.next_class(core);
        next = Visit(core, lanes, path.place + own, path.end);
        if (now.here) moves += now.visit(core, lanes, x, cache, boltzmann, draw);
        if (last) {
            if (K::KEEPS) cache.update(core, x);
            else __syncthreads();
            k++;
        }
    }
    return moves;
}

template <int STATES, class T, class V, class K>
__device__ __forceinline__ u32 tree_move(const Core &core, const T &lanes, const Values<V> &x, K &cache, u32 forest,
                                         const Scratch<T> &scratch, const uint2 &boltzmann, u64 draw) {
    const u8 *member = core.members + (u64)forest * core.variables;
    const u32 first_level = __ldg(core.forest_levels + forest), levels = __ldg(core.forest_levels + forest + 1);
    const u32 first = __ldg(core.levels + first_level);
    const Place<STATES, T> place;
    u32 moves = 0;
    for (u32 level = levels; level-- > first_level;) {
        const u32 end = __ldg(core.levels + level + 1);
        for (u32 node = __ldg(core.levels + level) + place.index; node < end; node += place.count)
            tree_up(core, lanes, x, cache, member, first, node - first, scratch);
        if (STATES > 0) __syncthreads();
    }
    for (u32 level = first_level; level < levels; level++) {
        const u32 end = __ldg(core.levels + level + 1);
        for (u32 node = __ldg(core.levels + level) + place.index; node < end; node += place.count)
            moves += tree_down(core, lanes, x, cache, first, node - first, scratch, boltzmann, draw);
        if (K::KEEPS) cache.update(core, x);
        else if (STATES > 0) __syncthreads();
    }
    return moves;
}

// Returns the sum over a lane group or, if STATES is not 0, over all lane groups of a state. Every lane gets the sum.
template <int STATES, class T>
__device__ __forceinline__ u64 sum(const T &lanes, const Place<STATES, T> &place, u64 x) {
    if (STATES == 0) return lanes.sum(x);
    __shared__ u64 totals[Place<STATES, T>::SHARED];
    __syncthreads();
    if (threadIdx.x < place.states) totals[threadIdx.x] = 0;
    __syncthreads();
    // adds lanes of the same state
    for (int s = 1; s < 32; s <<= 1)
        if (s < T::LANES || s >= T::LANES * STATES) x += __shfl_xor_sync(~0u, x, s);
    if (lanes.lane == 0 && threadIdx.x % 32 < T::LANES * STATES) atomicAdd(totals + place.state, x);
    __syncthreads();
    return totals[place.state];
}

// Makes the offspring of slots first..last: one per lane group or, if STATES is not 0, STATES per block. If KEEPS, the
// rating caches of a block lie behind its values.
template <int NV, int NN, int Q, bool HALF, class V, int STATES, bool KEEPS>
__global__ void __launch_bounds__(STATES > 0 ? 1024 : 256, STATES > 0 ? 1 : 0)
    make_offspring(Core core, const Generation g, Population population, u32 first, u32 last) {
    using T = StateLanes<NV, NN, Q, HALF>;
    constexpr int LANES = T::LANES;
    constexpr bool BLOCK = STATES > 0;
    extern __shared__ __align__(16) u8 shared[];
    const Place<STATES, T> place;
    const u32 resident = blockIdx.x * place.states + place.state;
    const int warp_lane = threadIdx.x % 32;
    const u32 own = LANES == 32 ? ~0u : (u32)((1ull << LANES) - 1) << warp_lane / LANES * LANES;
    // without a block all lane groups of a warp are in step, because they share the order of their sweeps
    const T lanes{warp_lane % LANES, BLOCK ? own : ~0u};
    const Values<V> x = BLOCK        ? Values<V>{(V *)shared + place.state, STATES}
                        : LANES == 1 ? Values<V>{(V *)shared + threadIdx.x, (int)blockDim.x}
                                     : Values<V>{(V *)shared + (u64)place.state * core.pad, 1};
    const u32 lane = place.index * LANES + lanes.lane, threads = place.count * LANES;
    auto sync = [&]() {
        if (BLOCK) __syncthreads();
        else __syncwarp();
    };
    // states that run together belong to one group, even if the slots begin inside a group
    constexpr u32 TOGETHER = BLOCK ? STATES : GROUP;
    const u32 wanted = first / TOGETHER * TOGETHER + resident;
    const bool active = wanted >= first && wanted < last;
    // lane groups of other slots run too, so that warps stay complete
    const u32 slot = min(wanted, last - 1);
    const u32 n = core.variables;
    const u64 key = mix(g.draw, slot), group_key = mix(g.draw, OF_GROUP + slot / GROUP);
    const Plan plan = plan_of(g, key);
    const V *elites = (const V *)population.elites, *parent = elites + (u64)slot * core.pad;
    const Crossover crossover{population.labels + (u64)resident * n, population.deltas + (u64)resident * n};

    const u64 values = mix(key, VALUES);
    if (!g.subpopulation) {
        for (u32 v = lane; v < n; v += threads) x.set(v, below(mix(values, v), domain_of(__ldg(core.info + v))));
    } else {
        for (u32 v = lane; v < n; v += threads) x.set(v, parent[v]);
        sync();
        const u32 begin = slot / g.subpopulation * g.subpopulation;
        const u32 members = min(g.subpopulation, population.states - begin);
        u32 second = slot;
        bool differs = false;
        for (u32 attempt = 0; attempt < 4 && !differs; attempt++) {
            const u32 a = begin + below(mix(key, SECOND_PARENT + 2 * attempt), members);
            const u32 b = begin + below(mix(key, SECOND_PARENT + 2 * attempt + 1), members);
            second = population.standings[b].total < population.standings[a].total ? b : a;
            differs = population.standings[second].hash != population.standings[slot].hash;
        }
        const u64 part = (1 << 16) + (mix(key, SIZE) >> 48);
        const u64 share = REGION_SHARES[plan.region] * part >> 17;
        const u32 size = max((u32)(share * n >> 16), 1u);
        const u32 *region = core.regions + below(mix(key, SHAPE), core.shapes) * n;
        const V *from = elites + (u64)second * core.pad;
        V *other = (V *)population.others + (u64)resident * core.pad;
        const bool crosses = BLOCK && population.large && plan.before && differs;
        for (u32 v = crosses ? lane : n; v < n; v += threads) other[v] = x[v];
        sync();
        for (u32 k = lane; k < size; k += threads) {
            const u32 v = __ldg(region + k);
            const V value = differs ? from[v] : (V)below(mix(values, v), domain_of(__ldg(core.info + v)));
            if (crosses) other[v] = value;
            else x.set(v, value);
        }
        sync();
        if (BLOCK && population.large)
            take_better(core, x, other, crossover, mix(key, TIES_BEFORE), crosses ? lane : ~0u, threads, Block{});
    }
    sync();
    __shared__ u32 counts[2 * Place<STATES, T>::SHARED];
    RatingCache<T, STATES, KEEPS> cache(core, shared + (u64)STATES * core.pad * sizeof(V), counts, place.state);
    if (KEEPS)
        for (u32 v = place.index; v < n; v += place.count) cache.make(core, lanes, x, v);

    const u32 sweeps = g.sweeps, last_sweep = max(sweeps - 1, 1u);
    const u32 from = g.subpopulation ? g.starts[plan.cold] : 0;
    u32 moves = 0, passes = 0;
    u64 tree_ratings = 0;
    const Scratch<T> scratch = LANES == 1 && !BLOCK
        ? Scratch<T>{population.scratch + (u64)blockIdx.x * blockDim.x * population.scratch_quads + threadIdx.x,
                     blockDim.x}
        : Scratch<T>{population.scratch + resident * population.scratch_quads, 1};
    for (u32 pass = 0; pass < sweeps + GREEDY_SWEEPS; pass++) {
        const u64 bits = PASSES + 2 * (u64)pass, draw = mix(mix(key, bits), 0);
        const bool greedy = pass >= sweeps;
        const u32 step = from + (u32)((u64)(STEPS - 1 - from) * min(pass, sweeps - 1) / last_sweep);
        const uint2 boltzmann = greedy ? make_uint2(0, 0) : __ldg(population.steps + step);
        if (BLOCK) {
            if (__syncthreads_or(*(volatile const u32 *)population.stop)) break;
            moves += sweep_by_classes<STATES>(core, lanes, x, cache, mix(group_key, bits), boltzmann, draw);
        } else {
            moves += sweep_alone(core, lanes, x, mix(group_key, bits), boltzmann, draw);
        }
        passes++;
        const bool tree = plan.tree && !greedy && pass % TREE_EVERY == min(sweeps, TREE_EVERY) - 1;
        if (tree) {
            const u32 forest = below(mix(group_key, bits + 1), core.forests);
            moves += tree_move<STATES>(core, lanes, x, cache, forest, scratch, boltzmann, mix(key, bits + 1));
            tree_ratings += __ldg(core.forest_ratings + forest);
        }
        sync();
    }
    sync();
    if (BLOCK && population.large && g.subpopulation)
        take_better(core, x, parent, crossover, mix(key, TIES_AFTER), lane, threads, Block{});

    u64 total = 0, hash = 0;
    u32 violations = 0;
    for (u32 f = lane; f < core.functions; f += threads) {
        const i64 cost = cost_of(core, __ldg(core.entries + f), [&](u32 v) { return x[v]; });
        total += priced(core, cost);
        violations += cost >= FORBIDDEN;
    }
    for (u32 v = lane; v < n; v += threads) {
        const u32 value = x[v];
        const i64 cost = __ldg(core.costs + __ldg(core.unary + v) + value);
        total += priced(core, cost);
        violations += cost >= FORBIDDEN;
        hash += mix(value, v);
        if (active) ((V *)population.offspring)[(u64)slot * core.pad + v] = value;
    }
    total = sum<STATES>(lanes, place, total);
    hash = sum<STATES>(lanes, place, hash);
    violations = sum<STATES>(lanes, place, violations);
    const u64 moved = sum<STATES>(lanes, place, moves);
    if (lane == 0 && active) {
        const u32 arms = plan.cold | plan.region << 4 | plan.tree << 8 | plan.before << 9;
        population.child_standings[slot] = Standing{(i64)total, hash, violations, arms};
        atomicAdd(&population.counters->moves, moved);
        atomicAdd(&population.counters->ratings, passes * population.domains + tree_ratings);
    }
}

// Stores the hashes of the population and its offspring, one for each thread.
__global__ void remember(Population population) {
    const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= 2 * population.states) return;
    const bool child = k >= population.states;
    const u64 hash = child ? population.child_standings[k - population.states].hash : population.standings[k].hash;
    if (hash == 0) return;
    u32 at = hash & population.known_mask;
    while (true) {
        const u64 before = atomicCAS(population.known + at, 0ull, hash);
        if (before == 0 || before == hash) break;
        at = (at + 1) & population.known_mask;
    }
    atomicMin(population.known_by + at, child ? k - population.states + 1 : 0);
}

// Replacement: an offspring replaces its parent if it is not worse and differs from all previous states and from the
// offspring of lower slots. Each slot has a warp; the standings of the next population go to `next_standings`.
template <class V>
__global__ void replace(Core core, const Generation g, Population population) {
    const u32 slot = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (slot >= population.states) return;
    const Standing before = population.standings[slot], after = population.child_standings[slot];
    const u64 hash = after.hash;
    bool accepted = after.total <= before.total;
    if (accepted && g.subpopulation) {
        u32 at = hash & population.known_mask;
        while (population.known[at] != hash) at = (at + 1) & population.known_mask;
        accepted = population.known_by[at] > slot;
    }
    if (accepted) {
        V *to = (V *)population.elites + (u64)slot * core.pad;
        const V *from = (const V *)population.offspring + (u64)slot * core.pad;
        for (u32 v = lane; v < core.variables; v += 32) to[v] = from[v];
    }
    if (lane == 0) population.next_standings[slot] = accepted ? after : before;
    if (!g.subpopulation) return;
    const u32 plan = after.plan;
    const bool better = accepted && after.total < before.total;
    const u64 won = better ? population.large ? (u64)(before.total - after.total) : 1 : 0;
    // indices of arms: cold 0..8, region 8..12, tree 12..14, before 14..16; each has a gain and a number of trials
    const u32 arms[4] = {plan & 15, 8 + (plan >> 4 & 15), 12 + (plan >> 8 & 1), 14 + (plan >> 9 & 1)};
    if (lane < 4) {
        u32 arm = arms[0];
#pragma unroll
        for (u32 k = 1; k < 4; k++) arm = lane == k ? arms[k] : arm;
        u64 *tally = (u64 *)&population.counters->tally + 2 * arm;
        if (won) atomicAdd(tally, won);
        atomicAdd(tally + 1, 1ull);
    }
}

// Summarizes states first..last in one block.
__global__ void summarize(const Standing *standings, u32 first, u32 last, Summary *out) {
    __shared__ i64 best, allowed;
    __shared__ u64 hash;
    __shared__ u32 best_slot, allowed_slot, elite_slot, at_best;
    constexpr i64 NONE = 0x7fffffffffffffffll;
    if (threadIdx.x == 0) {
        best = allowed = NONE;
        hash = ~0ull;
        best_slot = allowed_slot = elite_slot = ~0u;
        at_best = 0;
    }
    __syncthreads();
    i64 low = NONE, low_allowed = NONE;
    for (u32 k = first + threadIdx.x; k < last; k += blockDim.x) {
        const Standing of = standings[k];
        low = min(low, of.total);
        if (of.violations == 0) low_allowed = min(low_allowed, of.total);
    }
    atomicMin(&best, low);
    atomicMin(&allowed, low_allowed);
    __syncthreads();
    for (u32 k = first + threadIdx.x; k < last; k += blockDim.x) {
        const Standing of = standings[k];
        if (of.total == best) {
            atomicMin(&best_slot, k);
            atomicMin(&hash, of.hash);
            atomicAdd(&at_best, 1);
        }
        if (of.violations == 0 && of.total == allowed) atomicMin(&allowed_slot, k);
    }
    __syncthreads();
    for (u32 k = first + threadIdx.x; k < last; k += blockDim.x)
        if (standings[k].total == best && standings[k].hash == hash) atomicMin(&elite_slot, k);
    __syncthreads();
    if (threadIdx.x == 0) *out = Summary{best, allowed, best_slot, allowed_slot, elite_slot, at_best};
}
