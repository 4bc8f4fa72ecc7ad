// Constraint-weighting local search on hard functions, equal to the CPU backend. A warp has a search, its tables in
// global memory: a step rates a violated function in each lane, and `group` lanes update the sums of a row.
#include "walks.cuh"

constexpr i64 LARGEST = 0x7fffffffffffffffll;

// Tables of a reduced problem.
struct WalkInput {
    u32 variables;
    u32 functions;
    u32 group;           // lanes that share a row, a power of two
    int hard;            // cost of a forbidden entry
    const int *entries;  // the unary rows first, in the layout of the sums
    const u32 *first;    // the first sum of each variable, and the end
    const u32 *domains;
    const u32 *starts;   // the first incidence of each function, and the end
    const uint4 *incidences;  // two each: base, variable, first, stride; second, stride, first of further pairs, pairs
    const u32 *ranges;   // the first of each variable's functions, and the end
    const uint2 *on;     // function, incidence
    const uint2 *further; // variable, stride
};

struct WalkProgress {
    u64 key;
    i64 cost, cheapest, unit, pressure;
    u64 moves, looked_at;
    u32 step, stuck, phase_end, phases, remembers, violated, heavy, fewest;
};

// The tables of a walk.
struct Tables {
    u32 *values, *moved, *rests;
    int *hard, *soft, *weights;
    u32 *heavy, *violated, *places;
    u16 *best;

    __device__ Tables(const WalkInput &l, const Walks &w, u32 walk) {
        const u32 n = l.variables, sums = __ldg(l.first + n);
        values = w.tables + walk * w.words;
        moved = values + n;
        rests = moved + n;
        hard = (int *)(rests + n);
        soft = hard + sums;
        weights = soft + sums;
        heavy = (u32 *)(weights + l.functions);
        violated = heavy + l.functions;
        places = violated + l.functions;
        best = w.best + (u64)walk * n;
    }
};

// A move: its change of the weighted sum, the variable (lower half) and the step of its last change, and the value.
struct Rated {
    i64 change;
    u64 who;
    u32 value;

    __device__ __forceinline__ bool operator<(const Rated &o) const {
        return change != o.change ? change < o.change : who != o.who ? who < o.who : value < o.value;
    }
};

__device__ __forceinline__ Rated least_of(Rated x) {
    for (int s = 16; s; s >>= 1) {
        const Rated o{
            __shfl_xor_sync(ALL, x.change, s), __shfl_xor_sync(ALL, x.who, s), __shfl_xor_sync(ALL, x.value, s)};
        if (o < x) x = o;
    }
    return x;
}

// Returns the variable of an incidence, and the start of its row if `except` has the value `instead`.
__device__ __forceinline__ u32 variable_of(const WalkInput &l, u32 incidence) {
    return __ldg(&l.incidences[2 * incidence].y);
}
__device__ __forceinline__ u32 row_of(const WalkInput &l, const Tables &t, u32 incidence, u32 except, u32 instead) {
    const uint4 a = __ldg(l.incidences + 2 * incidence), b = __ldg(l.incidences + 2 * incidence + 1);
    auto value = [&](u32 v) { return v == except ? instead : t.values[v]; };
    u32 row = a.x + value(a.z) * a.w;
    if (b.y) row += value(b.x) * b.y;
    #pragma unroll 1
    for (u32 k = 0; k < b.w; k++) {
        const uint2 pair = __ldg(l.further + b.z + k);
        row += value(pair.x) * pair.y;
    }
    return row;
}

// A warp with its search. `s` is equal in all lanes, except `looked_at`.
struct Walk {
    const WalkInput &l;
    const Tables t;
    WalkProgress s;
    const u32 lane, lower, side; // lane mask of previous lanes; rows processed at a time

    __device__ Walk(const WalkInput &l, const Walks &w, u32 walk)
        : l(l), t(l, w, walk), s(w.progress[walk]), lane(threadIdx.x % 32), lower((1u << threadIdx.x % 32) - 1),
          side(32 / l.group) {}

    // Calls `with` for the entries in the row of each incidence of a function, with incidence, entry and sum; the lanes
    // of a group share a row.
    template <class F> __device__ __forceinline__ void rows(u32 function, F with) const {
        const u32 end = __ldg(l.starts + function + 1);
        #pragma unroll 1
        for (u32 incidence = __ldg(l.starts + function); incidence < end; incidence++) {
            const u32 v = variable_of(l, incidence), first = __ldg(l.first + v), width = __ldg(l.first + v + 1) - first;
            const u32 row = row_of(l, t, incidence, NONE, 0);
            for (u32 j = lane % l.group; j < width; j += l.group)
                with(incidence, __ldg(l.entries + row + j), first + j);
        }
    }

    __device__ void change_weight(u32 function, int change) const {
        rows(function, [&](u32, int cost, u32 sum) {
            if (cost >= l.hard) atomicAdd(t.hard + sum, change);
        });
    }

    // Visits a list of functions in order, several at a time: `with` gets the function, or NONE, and returns whether it
    // is added to the list `to`, which may be the same list. Returns the length of `to`.
    template <class F> __device__ u32 each(const u32 *from, u32 count, u32 *to, u32 kept, F with) const {
        for (u32 k = lane / l.group; k - lane / l.group < count; k += side) {
            const u32 function = k < count ? from[k] : NONE;
            __syncwarp();
            const bool goes = with(function) && function != NONE && lane % l.group == 0;
            const u32 bits = __ballot_sync(ALL, goes);
            if (goes) to[kept + __popc(bits & lower)] = function;
            kept += __popc(bits);
            __syncwarp();
        }
        return kept;
    }

    // Gives a function a new weight, computed from its own by `next`; returns the new weight.
    template <class F> __device__ __forceinline__ int reweigh(u32 function, F next) const {
        const int before = function == NONE ? 1 : t.weights[function], after = next(before);
        __syncwarp();
        if (function == NONE) return before;
        if (lane % l.group == 0) t.weights[function] = after;
        change_weight(function, after - before);
        return after;
    }

    __device__ void keep() const {
        for (u32 v = lane; v < l.variables; v += 32) t.best[v] = t.values[v];
    }

    // Returns the mean, over variables, of the difference between their highest and lowest costs.
    __device__ i64 spread() const {
        i64 sum = 0;
        u32 count = 0;
        for (u32 v = lane; v < l.variables; v += 32) {
            const u32 first = __ldg(l.first + v), end = first + __ldg(l.domains + v);
            int least = l.hard, most = -l.hard;
            #pragma unroll 1
            for (u32 k = first; k < end; k++) {
                const int cost = t.soft[k];
                if (cost >= l.hard) continue;
                least = min(least, cost);
                most = max(most, cost);
            }
            if (most > least) {
                sum += most - least;
                count++;
            }
        }
        return max(sum_of(sum) / max(sum_of(count), 1u), 1ll);
    }

    __device__ void note() {
        if (s.violated >= s.fewest) return;
        s.fewest = s.violated;
        keep();
        if (s.fewest == 0) {
            s.unit = PRESSURES * spread();
            s.pressure = 1;
        }
    }

    // Rates values `from`, `from + by`, ... of a variable.
    __device__ __forceinline__ void rate(u32 v, u32 from, u32 by, Rated &best) {
        const u32 first = __ldg(l.first + v), domain = __ldg(l.domains + v), held = t.values[v];
        const int hard = t.hard[first + held], soft = t.soft[first + held];
        const u64 who = (u64)t.moved[v] << 32 | v;
        for (u32 value = from; value < domain; value += by) {
            if (value == held) continue;
            i64 change = s.unit * (t.hard[first + value] - hard);
            if (s.pressure) change += s.pressure * (t.soft[first + value] - soft);
            const Rated rated{change, who, value};
            if (rated < best && __ldg(l.entries + first + value) < l.hard) best = rated;
        }
        if (from == 0) s.looked_at += domain;
    }

    __device__ __forceinline__ Rated none() const { return Rated{LARGEST, ~0ull, ~0u}; }

    __device__ void raise_weights() {
        note();
        s.heavy = each(t.violated, s.violated, t.heavy, s.heavy, [&](u32 function) {
            return reweigh(function, [](int weight) { return weight + 1; }) == 2;
        });
        if (++s.stuck >= s.phase_end) {
            if (s.remembers) s.heavy = each(t.heavy, s.heavy, t.heavy, 0, [&](u32 function) {
                return reweigh(function, [](int) { return 1; }) > 1;
            });
            s.remembers ^= 1;
            s.pressure = min(s.pressure, 1ll);
            s.phases++;
            s.stuck = 0;
            s.phase_end = PHASE << min(s.phases / 2, LONGEST);
        } else if (!s.remembers && s.stuck % SMOOTHING == 0) {
            s.heavy = each(t.heavy, s.heavy, t.heavy, 0, [&](u32 function) {
                return reweigh(function, [](int weight) { return weight - 1; }) > 1;
            });
        }
    }

    // Gives a variable another value and updates all sums.
    __device__ void assign(u64 draw, u32 v, u32 value) {
        const u32 old = t.values[v], first = __ldg(l.first + v);
        s.cost += t.soft[first + value] - t.soft[first + old];
        s.moves++;
        __syncwarp();
        if (lane == 0) {
            t.values[v] = value;
            t.moved[v] = s.step;
            t.rests[v] = s.step + REST + (u32)below(mix(draw, RESTING), REST + 1);
        }
        __syncwarp();
        const u32 end = __ldg(l.ranges + v + 1);
        for (u32 base = __ldg(l.ranges + v); base < end; base += side) {
            const u32 k = base + lane / l.group;
            u32 function = NONE;
            bool was = false, is = false;
            if (k < end) {
                const uint2 on = __ldg(l.on + k);
                function = on.x;
                const u32 row = row_of(l, t, on.y, NONE, 0);
                was = __ldg(l.entries + row + old) >= l.hard;
                is = __ldg(l.entries + row + value) >= l.hard;
                const int weight = t.weights[function];
                const u32 last = __ldg(l.starts + function + 1);
                #pragma unroll 1
                for (u32 incidence = __ldg(l.starts + function); incidence < last; incidence++) {
                    if (incidence == on.y) continue;
                    const u32 u = variable_of(l, incidence), sum = __ldg(l.first + u),
                        width = __ldg(l.first + u + 1) - sum;
                    const u32 before = row_of(l, t, incidence, v, old), after = row_of(l, t, incidence, NONE, 0);
                    for (u32 j = lane % l.group; j < width; j += l.group) {
                        const int gone = __ldg(l.entries + before + j), come = __ldg(l.entries + after + j);
                        if (gone == come) continue;
                        const bool left = gone >= l.hard, arrived = come >= l.hard;
                        if (left != arrived) atomicAdd(t.hard + sum + j, arrived ? weight : -weight);
                        const int soft = (arrived ? 0 : come) - (left ? 0 : gone);
                        if (soft) atomicAdd(t.soft + sum + j, soft);
                    }
                }
            }
            // in the order of the functions on the variable
            for (u32 bits = __ballot_sync(ALL, was != is && lane % l.group == 0); bits; bits &= bits - 1) {
                const u32 changed = __shfl_sync(ALL, function, __ffs(bits) - 1);
                const bool comes = __shfl_sync(ALL, (int)is, __ffs(bits) - 1);
                if (!comes) s.violated--;
                if (lane == 0) {
                    if (comes) {
                        t.places[changed] = s.violated;
                        t.violated[s.violated] = changed;
                    } else {
                        const u32 place = t.places[changed], other = t.violated[s.violated];
                        if (place != s.violated) {
                            t.violated[place] = other;
                            t.places[other] = place;
                        }
                        t.places[changed] = NOWHERE;
                    }
                }
                if (comes) s.violated++;
            }
        }
        __syncwarp();
    }

    // Makes one step towards fewer violated functions.
    __device__ void repair(u64 draw) {
        Rated best = none();
        if (lane < min(s.violated, LOOKED_AT)) {
            const u32 at = s.violated <= LOOKED_AT ? lane : (u32)below(mix(draw, lane), s.violated);
            const u32 function = t.violated[at], end = __ldg(l.starts + function + 1);
            #pragma unroll 1
            for (u32 incidence = __ldg(l.starts + function); incidence < end; incidence++) {
                const u32 v = variable_of(l, incidence);
                if (t.rests[v] <= s.step) rate(v, 0, 1, best);
            }
        }
        best = least_of(best);
        if (best.change >= 0) {
            raise_weights();
            best = none();
            const u32 function = t.violated[below(mix(draw, AT_RANDOM), s.violated)],
                      end = __ldg(l.starts + function + 1);
            #pragma unroll 1
            for (u32 incidence = __ldg(l.starts + function); incidence < end; incidence++)
                rate(variable_of(l, incidence), lane, 32, best);
            best = least_of(best);
        }
        if (best.change != LARGEST) assign(draw, (u32)best.who, best.value);
    }

    // Makes one step towards lower cost, if nothing is violated.
    __device__ void improve(u64 draw) {
        note();
        Rated best = none();
        for (u32 k = lane; k < IMPROVED; k += 32) rate((u32)below(mix(draw, k), l.variables), 0, 1, best);
        best = least_of(best);
        if (best.change < 0) return assign(draw, (u32)best.who, best.value);
        if (s.cost < s.cheapest) {
            s.cheapest = s.cost;
            keep();
        }
        s.pressure++;
    }

    // Computes sums, violated functions and cost of the initial values.
    __device__ void begin(const u16 *values) {
        const u32 n = l.variables, sums = __ldg(l.first + n);
        i64 cost = 0;
        for (u32 v = lane; v < n; v += 32) {
            t.values[v] = values[v];
            t.best[v] = values[v];
            t.moved[v] = t.rests[v] = 0;
            cost += __ldg(l.entries + __ldg(l.first + v) + values[v]);
        }
        for (u32 k = lane; k < sums; k += 32) {
            t.hard[k] = 0;
            t.soft[k] = __ldg(l.entries + k);
        }
        for (u32 f = lane; f < l.functions; f += 32) {
            t.weights[f] = 1;
            t.heavy[f] = f;
            t.places[f] = NOWHERE;
        }
        __syncwarp();
        s.violated = each(t.heavy, l.functions, t.violated, 0, [&](u32 function) {
            if (function == NONE) return false;
            rows(function, [&](u32, int entry, u32 sum) {
                if (entry >= l.hard) atomicAdd(t.hard + sum, 1);
                else if (entry) atomicAdd(t.soft + sum, entry);
            });
            const u32 incidence = __ldg(l.starts + function), v = variable_of(l, incidence);
            const int entry = __ldg(l.entries + row_of(l, t, incidence, NONE, 0) + t.values[v]);
            if (entry < l.hard && lane % l.group == 0) cost += entry;
            return entry >= l.hard;
        });
        for (u32 k = lane; k < s.violated; k += 32) t.places[t.violated[k]] = k;
        s.cost = sum_of(cost);
        __syncwarp();
    }
};

// Continues or begins all searches, for some steps.
extern "C" __global__ void __launch_bounds__(128) walk(WalkInput l, Walks w, u32 steps) {
    const u32 walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (walk >= w.count) return;
    Walk own(l, w, walk);
    WalkProgress &s = own.s;
    if (s.step == 0) own.begin(w.starts + (u64)walk * l.variables);
    const u64 looked_at = s.looked_at;
    s.looked_at = 0;
    for (u32 k = 0; k < steps; k++) {
        s.step++;
        if (s.step % LOOK_EVERY == 0 && __any_sync(ALL, *(volatile const u32 *)w.stop)) break;
        const u64 draw = mix(s.key, s.step);
        if (s.violated) own.repair(draw);
        else own.improve(draw);
    }
    own.note();
    s.looked_at = looked_at + sum_of(s.looked_at);
    if (own.lane == 0) w.progress[walk] = s;
}
