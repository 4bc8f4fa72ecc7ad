// Memetic algorithm with simulated annealing: variation of a generation's population, and replacement. The CPU backend
// does the same, bit for bit.
#include "constants.cuh"
#include "merge.cuh"
#include "tree.cuh"

// The host's `Generation`.
struct Generation {
    u64 draw;
    u32 deme, sweeps;       // subpopulation; in 0 the offspring begin at random values
    u32 cold[8], region[4], tree[2], before[2], starts[8];
};

// A population and its offspring. Values are stored by slots of `Core::pad`.
struct Herd {
    u32 states;
    u32 large;              // partition crossover of offspring and parents
    u64 domains;            // sum of the domain sizes
    void *elites, *children, *others;
    i64 *totals, *next_totals, *child_totals;
    u32 *violations, *child_violations, *plans;
    u64 *hashes, *next_hashes, *child_hashes;
    u64 *known;             // hashes of the population and its offspring, by open addressing; 0 is none
    u32 *known_by;          // the first to have each: 0 the population, then the offspring
    u64 known_mask;
    u64 *counters;          // moves, ratings; then gains and works of the operators
    const uint2 *steps;
    int4 *scratch;          // of tree moves
    u64 scratch_quads;      // of a state
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
    if (!g.deme) return Plan{0, 0, 0, 0};
    const u64 shared = mix(g.draw, OF_ALL);
    return Plan{choose(key, COLD, g.cold), choose(key, REGION, g.region), choose(shared, TREE, g.tree),
                choose(key, BEFORE, g.before)};
}

// A sequence of the variables, color class by color class; `order` decides the first class and the stride to the next.
struct Way {
    u32 at, stride, place, end;

    __device__ __forceinline__ Way(const Core &core, u64 order)
        : at(below(order, core.classes)), stride(__ldg(core.strides + below(mix(order, 0), core.strides_count))) {
        enter(core);
    }
    __device__ __forceinline__ void enter(const Core &core) {
        place = __ldg(core.class_begin + at);
        end = __ldg(core.class_begin + at + 1);
    }
    __device__ __forceinline__ void next_class(const Core &core) {
        at += stride;
        if (at >= core.classes) at -= core.classes;
        enter(core);
    }
    // Skips some variables.
    __device__ __forceinline__ void step(const Core &core, u32 steps) {
        place += steps;
        while (place >= end) {
            const u32 over = place - end;
            next_class(core);
            place += over;
        }
    }
    __device__ __forceinline__ u32 variable(const Core &core) const { return __ldg(core.class_members + place); }
    __device__ __forceinline__ uint4 info(const Core &core) const { return __ldg(core.class_info + place); }
};

// A state to each team.
template <class T, class V>
__device__ __forceinline__ u32 sweep_alone(const Core &core, const T &team, const Values<V> &x, u64 order,
                                           const uint2 &boltzmann, u64 draw) {
    constexpr u32 LANES = T::LANES;
    const u32 n = core.variables;
    Way way(core, order);
    u32 moves = 0;
    if (LANES == 1) {
        u32 variable = way.variable(core);
        uint4 info = way.info(core);
        for (u32 k = 0; k < n; k++) {
            way.step(core, 1);
            const u32 next = way.variable(core);
            const uint4 next_info = way.info(core);
            moves += visit(core, team, x, variable, info, Ahead<T>(core, team, info), boltzmann, mix(draw, variable));
            // lanes that have diverged would stay so
            __syncwarp();
            variable = next;
            info = next_info;
        }
        return moves;
    }
    // each lane prepares one of the next visits
    way.step(core, team.lane);
    u32 mine = way.variable(core);
    uint4 info = way.info(core);
    const auto turn = [&](u32 t) {
        return make_uint4(team.from(info.x, t), team.from(info.y, t), team.from(info.z, t), team.from(info.w, t));
    };
    uint4 now = turn(0);
    Ahead<T> ahead(core, team, now);
    for (u32 k = 0; k < n; k += LANES) {
        const u64 bits = mix(draw, mine);
        const u32 count = min(LANES, n - k), own = mine;
        way.step(core, LANES);
        mine = way.variable(core);
        const uint4 later = way.info(core);
        for (u32 t = 0; t < count; t++) {
            const uint4 here = now;
            const Ahead<T> loaded = ahead;
            if (t + 1 == count) info = later;
            now = turn(t + 1 == count ? 0 : t + 1);
            ahead = Ahead<T>(core, team, now);
            moves += visit(core, team, x, team.from(own, t), here, loaded, boltzmann, team.from(bits, t));
        }
    }
    return moves;
}

// A team's place in a block of STATES states: neighbouring teams visit the same variable of different states, so they
// read the same tables. Where STATES is 0 each team has its own state.
template <int STATES, class T> struct Place {
    static constexpr u32 SHARED = STATES > 0 ? STATES : 1;
    const u32 number = threadIdx.x / T::LANES, all = blockDim.x / T::LANES;
    const u32 state = STATES > 0 ? number % SHARED : number, states = STATES > 0 ? SHARED : all;
    // among the teams of its state
    const u32 team = STATES > 0 ? number / SHARED : 0, teams = STATES > 0 ? all / SHARED : 1;
};

template <int STATES, class T, class V, class K>
__device__ __forceinline__ u32 sweep_by_classes(const Core &core, const T &team, const Values<V> &x, K &kept, u64 order,
                                                const uint2 &boltzmann, u64 draw) {
    const Place<STATES, T> place;
    const u32 own = place.team, step = place.teams;
    Way way(core, order);
    u32 moves = 0;
    using Turn = typename K::Turn;
    Turn turn(core, team, way.place + own, way.end);
    for (u32 k = 0; k < core.classes;) {
        const Turn now = turn;
        way.place += step;
        // the same for all threads
        const bool last = way.place >= way.end;
        if (last) way.next_class(core);
        turn = Turn(core, team, way.place + own, way.end);
        if (now.here) moves += now.visit(core, team, x, kept, boltzmann, draw);
        if (last) {
            if (K::KEEPS) kept.settle(core, x);
            else __syncthreads();
            k++;
        }
    }
    return moves;
}

template <int STATES, class T, class V, class K>
__device__ __forceinline__ u32 tree_move(const Core &core, const T &team, const Values<V> &x, K &kept, u32 forest,
                                         const Scratch<T> &scratch, const uint2 &boltzmann, u64 draw) {
    const u8 *member = core.members + (u64)forest * core.variables;
    const u32 first_level = __ldg(core.forest_levels + forest), levels = __ldg(core.forest_levels + forest + 1);
    const u32 first = __ldg(core.levels + first_level);
    const Place<STATES, T> place;
    u32 moves = 0;
    for (u32 level = levels; level-- > first_level;) {
        const u32 end = __ldg(core.levels + level + 1);
        for (u32 node = __ldg(core.levels + level) + place.team; node < end; node += place.teams)
            tree_up(core, team, x, kept, member, first, node - first, scratch);
        if (STATES > 0) __syncthreads();
    }
    for (u32 level = first_level; level < levels; level++) {
        const u32 end = __ldg(core.levels + level + 1);
        for (u32 node = __ldg(core.levels + level) + place.team; node < end; node += place.teams)
            moves += tree_down(core, team, x, kept, first, node - first, scratch, boltzmann, draw);
        if (K::KEEPS) kept.settle(core, x);
        else if (STATES > 0) __syncthreads();
    }
    return moves;
}

// Sums over a team, or over the teams of a state where a block's share states. Every lane gets the sum.
template <int STATES, class T> __device__ __forceinline__ u64 sum(const T &team, const Place<STATES, T> &place, u64 x) {
    if (STATES == 0) return team.sum(x);
    __shared__ u64 totals[Place<STATES, T>::SHARED];
    __syncthreads();
    if (threadIdx.x < place.states) totals[threadIdx.x] = 0;
    __syncthreads();
    // lanes of one state
    for (int s = 1; s < 32; s <<= 1)
        if (s < T::LANES || s >= T::LANES * STATES) x += __shfl_xor_sync(~0u, x, s);
    if (team.lane == 0 && threadIdx.x % 32 < T::LANES * STATES) atomicAdd(totals + place.state, x);
    __syncthreads();
    return totals[place.state];
}

// Makes the offspring of slots first..last: one for each team or, where STATES is not 0, that many for a block, whose
// rating caches lie behind their values where KEEPS.
template <int NV, int NN, int Q, bool HALF, class V, int STATES, bool KEEPS>
__global__ void __launch_bounds__(STATES > 0 ? 1024 : 256, STATES > 0 ? 1 : 0)
    breed(Core core, const Generation *__restrict__ generation, Herd herd, u32 first, u32 last) {
    const Generation &g = *generation;
    using T = Team<NV, NN, Q, HALF>;
    constexpr int LANES = T::LANES;
    constexpr bool BLOCK = STATES > 0;
    extern __shared__ __align__(16) u8 shared[];
    const Place<STATES, T> place;
    const u32 resident = blockIdx.x * place.states + place.state;
    const int warp_lane = threadIdx.x % 32;
    const u32 own = LANES == 32 ? ~0u : (u32)((1ull << LANES) - 1) << warp_lane / LANES * LANES;
    // without a block all teams of a warp do the same: they share the order of their sweeps
    const T team{warp_lane % LANES, BLOCK ? own : ~0u};
    const Values<V> x = BLOCK        ? Values<V>{(V *)shared + place.state, STATES}
                        : LANES == 1 ? Values<V>{(V *)shared + threadIdx.x, (int)blockDim.x}
                                     : Values<V>{(V *)shared + (u64)place.state * core.pad, 1};
    const u32 lane = place.team * LANES + team.lane, lanes = place.teams * LANES;
    auto sync = [&]() {
        if (BLOCK) __syncthreads();
        else __syncwarp();
    };
    // states that run together are of one group, also where the slots begin inside one
    constexpr u32 TOGETHER = BLOCK ? STATES : GROUP;
    const u32 wanted = first / TOGETHER * TOGETHER + resident;
    const bool active = wanted >= first && wanted < last;
    // teams of other slots run too, so that warps stay whole
    const u32 slot = min(wanted, last - 1);
    const u32 n = core.variables;
    const u64 key = mix(g.draw, slot), group = mix(g.draw, OF_GROUP + slot / GROUP);
    const Plan plan = plan_of(g, key);
    const V *elites = (const V *)herd.elites, *parent = elites + (u64)slot * core.pad;
    const Merging merging{herd.labels + (u64)resident * n, herd.deltas + (u64)resident * n};

    const u64 values = mix(key, VALUES);
    if (!g.deme) {
        for (u32 v = lane; v < n; v += lanes) x.set(v, below(mix(values, v), domain_of(__ldg(core.info + v))));
    } else {
        for (u32 v = lane; v < n; v += lanes) x.set(v, parent[v]);
        sync();
        const u32 begin = slot / g.deme * g.deme, members = min(g.deme, herd.states - begin);
        u32 mate = slot;
        bool differs = false;
        for (u32 attempt = 0; attempt < 4 && !differs; attempt++) {
            const u32 a = begin + below(mix(key, MATES + 2 * attempt), members);
            const u32 b = begin + below(mix(key, MATES + 2 * attempt + 1), members);
            mate = herd.totals[b] < herd.totals[a] ? b : a;
            differs = herd.hashes[mate] != herd.hashes[slot];
        }
        const u64 part = (1 << 16) + (mix(key, SIZE) >> 48);
        const u64 share = REGION_SHARES[plan.region] * part >> 17;
        const u32 size = max((u32)(share * n >> 16), 1u);
        const u32 *region = core.regions + below(mix(key, SHAPE), core.shapes) * n;
        const V *from = elites + (u64)mate * core.pad;
        V *other = (V *)herd.others + (u64)resident * core.pad;
        const bool merge = BLOCK && herd.large && plan.before && differs;
        for (u32 v = merge ? lane : n; v < n; v += lanes) other[v] = x[v];
        sync();
        for (u32 k = lane; k < size; k += lanes) {
            const u32 v = __ldg(region + k);
            const V value = differs ? from[v] : (V)below(mix(values, v), domain_of(__ldg(core.info + v)));
            if (merge) other[v] = value;
            else x.set(v, value);
        }
        sync();
        if (BLOCK && herd.large) take_better(core, x, other, merging, mix(key, TIES_BEFORE), merge ? lane : ~0u, lanes);
    }
    sync();
    __shared__ u32 counts[2 * Place<STATES, T>::SHARED];
    Kept<T, STATES, KEEPS> kept(core, shared + (u64)STATES * core.pad * sizeof(V), counts, place.state);
    if (KEEPS)
        for (u32 v = place.team; v < n; v += place.teams) kept.make(core, team, x, v);

    const u32 sweeps = g.sweeps, last_sweep = max(sweeps - 1, 1u);
    const u32 from = g.deme ? g.starts[plan.cold] : 0;
    u32 moves = 0, passes = 0;
    u64 tree_ratings = 0;
    const Scratch<T> scratch = LANES == 1 && !BLOCK
        ? Scratch<T>{herd.scratch + (u64)blockIdx.x * blockDim.x * herd.scratch_quads + threadIdx.x, blockDim.x}
        : Scratch<T>{herd.scratch + resident * herd.scratch_quads, 1};
    for (u32 pass = 0; pass < sweeps + GREEDY_SWEEPS; pass++) {
        const u64 bits = PASSES + 2 * (u64)pass, draw = mix(mix(key, bits), 0);
        const bool greedy = pass >= sweeps;
        const u32 step = from + (u32)((u64)(STEPS - 1 - from) * min(pass, sweeps - 1) / last_sweep);
        const uint2 boltzmann = greedy ? make_uint2(0, 0) : __ldg(herd.steps + step);
        if (BLOCK) {
            if (__syncthreads_or(*(volatile const u32 *)herd.stop)) break;
            moves += sweep_by_classes<STATES>(core, team, x, kept, mix(group, bits), boltzmann, draw);
        } else {
            moves += sweep_alone(core, team, x, mix(group, bits), boltzmann, draw);
        }
        passes++;
        const bool tree = plan.tree && !greedy && pass % TREE_EVERY == min(sweeps, TREE_EVERY) - 1;
        if (tree) {
            const u32 forest = below(mix(group, bits + 1), core.forests);
            moves += tree_move<STATES>(core, team, x, kept, forest, scratch, boltzmann, mix(key, bits + 1));
            tree_ratings += __ldg(core.forest_ratings + forest);
        }
        sync();
    }
    sync();
    if (BLOCK && herd.large && g.deme) take_better(core, x, parent, merging, mix(key, TIES_AFTER), lane, lanes);

    u64 total = 0, hash = 0;
    u32 violations = 0;
    for (u32 f = lane; f < core.functions; f += lanes) {
        const i64 cost = cost_of(core, __ldg(core.entries + f), [&](u32 v) { return x[v]; });
        total += priced(core, cost);
        violations += cost >= FORBIDDEN;
    }
    for (u32 v = lane; v < n; v += lanes) {
        const u32 value = x[v];
        const i64 cost = __ldg(core.costs + __ldg(core.unary + v) + value);
        total += priced(core, cost);
        violations += cost >= FORBIDDEN;
        hash += mix(value, v);
        if (active) ((V *)herd.children)[(u64)slot * core.pad + v] = value;
    }
    total = sum<STATES>(team, place, total);
    hash = sum<STATES>(team, place, hash);
    violations = sum<STATES>(team, place, violations);
    const u64 moved = sum<STATES>(team, place, moves);
    if (lane == 0 && active) {
        herd.child_totals[slot] = total;
        herd.child_violations[slot] = violations;
        herd.child_hashes[slot] = hash;
        herd.plans[slot] = plan.cold | plan.region << 4 | plan.tree << 8 | plan.before << 9;
        atomicAdd(herd.counters, moved);
        atomicAdd(herd.counters + 1, passes * herd.domains + tree_ratings);
    }
}

// Stores the hashes of the population and its offspring, one for each thread.
__global__ void remember(Herd herd) {
    const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= 2 * herd.states) return;
    const bool child = k >= herd.states;
    const u64 hash = child ? herd.child_hashes[k - herd.states] : herd.hashes[k];
    if (hash == 0) return;
    u32 at = hash & herd.known_mask;
    while (true) {
        const u64 before = atomicCAS(herd.known + at, 0ull, hash);
        if (before == 0 || before == hash) break;
        at = (at + 1) & herd.known_mask;
    }
    atomicMin(herd.known_by + at, child ? k - herd.states + 1 : 0);
}

// Replacement: an offspring replaces its parent where it is not worse and unlike all states before and the offspring of
// lower slots. A warp for each slot; energies and hashes of the next population go to the `next` arrays.
template <class V> __global__ void settle(Core core, const Generation *__restrict__ generation, Herd herd) {
    const Generation &g = *generation;
    const u32 slot = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (slot >= herd.states) return;
    const i64 before = herd.totals[slot], after = herd.child_totals[slot];
    const u64 hash = herd.child_hashes[slot];
    bool accepted = after <= before;
    if (accepted && g.deme) {
        u32 at = hash & herd.known_mask;
        while (herd.known[at] != hash) at = (at + 1) & herd.known_mask;
        accepted = herd.known_by[at] > slot;
    }
    if (accepted) {
        V *to = (V *)herd.elites + (u64)slot * core.pad;
        const V *from = (const V *)herd.children + (u64)slot * core.pad;
        for (u32 v = lane; v < core.variables; v += 32) to[v] = from[v];
    }
    if (lane == 0) {
        herd.next_totals[slot] = accepted ? after : before;
        herd.next_hashes[slot] = accepted ? hash : herd.hashes[slot];
        if (accepted) herd.violations[slot] = herd.child_violations[slot];
    }
    if (!g.deme) return;
    const u32 plan = herd.plans[slot];
    const u64 won = accepted && after < before ? herd.large ? (u64)(before - after) : 1 : 0;
    // cold 0..8, region 8..12, tree 12..14, before 14..16: gains, then works
    const u32 arms[4] = {plan & 15, 8 + (plan >> 4 & 15), 12 + (plan >> 8 & 1), 14 + (plan >> 9 & 1)};
    if (lane < 4) {
        u32 arm = arms[0];
#pragma unroll
        for (u32 k = 1; k < 4; k++) arm = lane == k ? arms[k] : arm;
        atomicAdd(herd.counters + 2 + 2 * arm + 1, 1ull);
        if (won) atomicAdd(herd.counters + 2 + 2 * arm, won);
    }
}

// Copies of the elites of the first `count` slots for all others. A warp a slot.
template <class V> __global__ void spread(Core core, Herd herd, u32 count) {
    const u32 slot = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (slot < count || slot >= herd.states) return;
    V *elites = (V *)herd.elites;
    for (u32 v = lane; v < core.variables; v += 32)
        elites[(u64)slot * core.pad + v] = elites[(u64)(slot % count) * core.pad + v];
    if (lane == 0) {
        herd.totals[slot] = herd.totals[slot % count];
        herd.hashes[slot] = herd.hashes[slot % count];
        herd.violations[slot] = herd.violations[slot % count];
    }
}

// Summary of states first..last, for the host.
struct Survey {
    i64 best, allowed;      // least energy, and least of a feasible state
    u32 best_slot, allowed_slot;
    u32 elite_slot;         // of the least energy, ties by hash
    u32 at_best;            // how many have the least energy
};

// One block.
__global__ void survey(const i64 *totals, const u32 *violations, const u64 *hashes, u32 first, u32 last, Survey *out) {
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
        low = min(low, totals[k]);
        if (violations[k] == 0) low_allowed = min(low_allowed, totals[k]);
    }
    atomicMin(&best, low);
    atomicMin(&allowed, low_allowed);
    __syncthreads();
    for (u32 k = first + threadIdx.x; k < last; k += blockDim.x) {
        if (totals[k] == best) {
            atomicMin(&best_slot, k);
            atomicMin(&hash, hashes[k]);
            atomicAdd(&at_best, 1);
        }
        if (violations[k] == 0 && totals[k] == allowed) atomicMin(&allowed_slot, k);
    }
    __syncthreads();
    for (u32 k = first + threadIdx.x; k < last; k += blockDim.x)
        if (totals[k] == best && hashes[k] == hash) atomicMin(&elite_slot, k);
    __syncthreads();
    if (threadIdx.x == 0) *out = Survey{best, allowed, best_slot, allowed_slot, elite_slot, at_best};
}
