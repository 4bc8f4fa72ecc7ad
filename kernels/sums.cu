// Local search on sums, equal to the CPU backend (drivers/sums/walk.rs). Each walk has a warp, and its tables are in
// global memory: lanes rate values side by side and update the sums that a move changes. Doubles are added and
// multiplied in the CPU's order, either by one lane each or by all lanes alike.
#include "layout.cuh"
#include "sum.cuh"
#include "walks.cuh"

// Number of lanes that rate one of the variables that may follow in a chain.
constexpr u32 SHARE = 32 / TRIED;
static_assert(SHARE * TRIED == 32 && SHARE > 1, "a warp looks at all of them, its last lane not alone");

// A network without the functions that are sums, and the sums.
struct SumInput {
    Layout layout;
    u32 sums;
    u32 frees;
    int hard;                   // cost of a forbidden entry
    u32 shift;                  // right shift from costs to entries, in bits
    double unit;                // cost of one unit of an entry
    double rise, fall;          // factors of prices after a sweep
    double least, largest;      // price
    double halving;             // logarithm of 2
    const u32 *free;            // the variables with several choices
    const u8 *is_free;          // for each variable
    const u32 *choices_of;      // the first remaining value of each variable, and the end
    const u16 *choices;
    const u32 *values_of;       // the first of each variable's values
    const u32 *terms_of;        // the first term of each value, and the end
    const longlong2 *terms;     // sum, weight; of a value by sums
    const u32 *readers_of;      // the first variable of each sum, and the end
    const u32 *readers;
    const Sum *rules;
    const double *logarithms;   // negated logarithms of fractions from 1/2 to 1
};

struct WalkProgress {
    u64 key;
    i64 energy, charged, best, begun;
    double temperature, cooling, climb, climbs;
    u64 climbed, step, length, moves, ratings;
    u32 left, broken, kept;
};

// The tables of a walk.
struct Tables {
    i64 *totals;            // of each sum
    double *paid, *prices;  // of each sum
    int *costs;             // of each value
    u32 *values;            // of each variable
    u32 *broken, *places;   // the violated sums, and the index of each sum among them
    u16 *best;

    __device__ Tables(const SumInput &l, const Walks &w, u32 walk) {
        totals = (i64 *)(w.tables + walk * w.words);
        paid = (double *)(totals + l.sums);
        prices = paid + l.sums;
        costs = (int *)(prices + l.sums);
        values = (u32 *)(costs + 4 * l.layout.quads);
        broken = values + l.layout.variables;
        places = broken + l.sums;
        best = w.best + (u64)walk * l.layout.variables;
    }
};

// The sums that a move changes, ascending, and their changes.
struct Changes {
    const longlong2 *old, *old_end, *next, *next_end;
    u32 sum;
    i64 change;

    __device__ __forceinline__ Changes(const SumInput &l, u32 v, u32 from, u32 to) {
        const u32 first = __ldg(l.values_of + v);
        old = l.terms + __ldg(l.terms_of + first + from);
        old_end = l.terms + __ldg(l.terms_of + first + from + 1);
        next = l.terms + __ldg(l.terms_of + first + to);
        next_end = l.terms + __ldg(l.terms_of + first + to + 1);
    }

    // Advances to the next changed sum; returns whether there is one.
    __device__ __forceinline__ bool advance() {
        for (;;) {
            const longlong2 none = make_longlong2(LARGEST, 0);
            const longlong2 gone = old < old_end ? __ldg(old) : none, come = next < next_end ? __ldg(next) : none;
            const i64 least = min(gone.x, come.x);
            if (least == LARGEST) return false;
            change = 0;
            if (gone.x == least) {
                change -= gone.y;
                old++;
            }
            if (come.x == least) {
                change += come.y;
                next++;
            }
            sum = (u32)least;
            if (change) return true;
        }
    }
};

// A rated move: its cost increase, its rank among the moves, the variable and the value.
struct Rated {
    double rise;
    u32 place, v, value;

    __device__ __forceinline__ bool operator<(const Rated &o) const {
        return rise < o.rise || (rise == o.rise && place < o.place);
    }
};

__device__ __forceinline__ Rated least_of(Rated x) {
    for (int s = 16; s; s >>= 1) {
        const Rated o{__shfl_xor_sync(ALL, x.rise, s), __shfl_xor_sync(ALL, x.place, s), __shfl_xor_sync(ALL, x.v, s),
                      __shfl_xor_sync(ALL, x.value, s)};
        if (o < x) x = o;
    }
    return x;
}

// Returns a move that is worse than any other.
__device__ __forceinline__ Rated no_change() {
    return Rated{__longlong_as_double(0x7ff0000000000000ll), NONE, NONE, 0};
}

// A warp with its walk. `s` is equal in all lanes, except `ratings`.
struct Walk {
    const SumInput &l;
    const Tables t;
    WalkProgress s;
    const u32 lane;

    __device__ Walk(const SumInput &l, const Walks &w, u32 walk)
        : l(l), t(l, w, walk), s(w.progress[walk]), lane(threadIdx.x % 32) {}

    __device__ __forceinline__ u32 costs_of(u32 v) const { return 4 * __ldg(l.layout.starts + v); }

    // Returns how far the values of an incident's variables, except `except`, shift its row.
    __device__ u32 shift_of(u32 incident, u32 except) const {
        const u32 end = __ldg(&l.layout.incidents[incident + 1].y);
        u32 shift = 0;
        #pragma unroll 1
        for (u32 k = __ldg(&l.layout.incidents[incident].y); k < end; k++) {
            const uint2 pair = __ldg(l.layout.pairs + k);
            if (pair.x != except) shift += t.values[pair.x] * pair.y;
        }
        return shift;
    }

    // Adds to the costs of a quad's values. Lanes may have quads of the same variable.
    __device__ __forceinline__ void add(u32 quad, const int4 &x) const {
        if (x.x) atomicAdd(t.costs + 4 * quad, x.x);
        if (x.y) atomicAdd(t.costs + 4 * quad + 1, x.y);
        if (x.z) atomicAdd(t.costs + 4 * quad + 2, x.z);
        if (x.w) atomicAdd(t.costs + 4 * quad + 3, x.w);
    }

    // Returns the cost of a sum's total; the priced distance if the total is infeasible.
    __device__ __forceinline__ double price(u32 sum, i64 total) const {
        const Sum &rule = l.rules[sum];
        const i64 cost = rule.cost(total);
        return cost < FORBIDDEN ? (double)cost : t.prices[sum] * (double)rule.distance(total);
    }

    // Returns the cost increase of a move.
    __device__ double rise(u32 v, u32 own, u32 value) {
        const u32 first = costs_of(v);
        double rise = (double)(t.costs[first + value] - t.costs[first + own]) * l.unit;
        Changes changes(l, v, own, value);
        #pragma unroll 1
        while (changes.advance())
            rise += price(changes.sum, t.totals[changes.sum] + changes.change) - t.paid[changes.sum];
        s.ratings++;
        return rise;
    }

    // Rates values `from`, `from + by`, ... of those of a variable that are tried; `number` is the variable's rank
    // among the variables rated.
    __device__ void cheapest(u32 v, u64 who, u32 from, u32 by, u32 number, Rated &best) {
        const u32 begin = __ldg(l.choices_of + v), count = __ldg(l.choices_of + v + 1) - begin, own = t.values[v];
        u32 first = 0, tried = 2;
        if (count != 2) {
            const u32 doublings = (u32)below(mix(who, 0), 32 - __clz(count - 1));
            first = (u32)below(who, count);
            tried = min((1u << doublings) + 1, count);
        }
        #pragma unroll 1
        for (u32 k = from; k < tried; k += by) {
            const u32 at = first + k, value = __ldg(l.choices + begin + (at < count ? at : at - count));
            if (value == own) continue;
            const Rated rated{rise(v, own, value), number << 16 | k, v, value};
            if (rated < best) best = rated;
        }
    }

    // Updates sums. Each lane may have a sum whose total changes, lower lanes lower sums. `first` says that sums are
    // evaluated for the first time.
    __device__ void settle(bool active, u32 sum, i64 change, bool first) {
        i64 charged = 0;
        bool breaks = false, turns = false;
        if (active) {
            const Sum &rule = l.rules[sum];
            const i64 before = t.totals[sum], total = before + change;
            const i64 was = first ? FORBIDDEN : rule.cost(before), cost = rule.cost(total);
            breaks = cost == FORBIDDEN;
            charged = (breaks ? 0 : cost) - (was == FORBIDDEN ? 0 : was);
            t.totals[sum] = total;
            t.paid[sum] = breaks ? t.prices[sum] * (double)rule.distance(total) : (double)cost;
            turns = breaks != (t.places[sum] != NOWHERE);
        }
        s.charged += sum_of(charged);
        // in the order of the sums
        for (u32 bits = __ballot_sync(ALL, turns); bits; bits &= bits - 1) {
            const u32 turned = __shfl_sync(ALL, sum, __ffs(bits) - 1);
            const bool comes = __shfl_sync(ALL, (int)breaks, __ffs(bits) - 1);
            if (!comes) s.broken--;
            if (lane == 0) {
                if (comes) {
                    t.places[turned] = s.broken;
                    t.broken[s.broken] = turned;
                } else {
                    const u32 place = t.places[turned], other = t.broken[s.broken];
                    if (place != s.broken) {
                        t.broken[place] = other;
                        t.places[other] = place;
                    }
                    t.places[turned] = NOWHERE;
                }
            }
            if (comes) s.broken++;
        }
        __syncwarp();
    }

    // Gives a variable another value, and updates all tables.
    __device__ void set(u32 v, u32 value) {
        const u32 own = t.values[v], first = costs_of(v);
        s.energy += (i64)t.costs[first + value] - t.costs[first + own];
        __syncwarp();
        const u32 end = __ldg(l.layout.ranges + v + 1), group = l.layout.group;
        #pragma unroll 1
        for (u32 at = __ldg(l.layout.ranges + v) + lane / group; at < end; at += 32 / group) {
            const uint4 row = __ldg(l.layout.affected + at);
            const u32 shift = row.x + (row.w == NONE ? 0 : shift_of(row.w, v));
            const int4 *gone = l.layout.entries + (shift + own * row.y) / 4;
            const int4 *come = l.layout.entries + (shift + value * row.y) / 4;
            const u32 begin = __ldg(l.layout.starts + row.z), quads = __ldg(l.layout.starts + row.z + 1) - begin;
            for (u32 q = lane % group; q < quads; q += group) {
                const int4 a = __ldg(gone + q), b = __ldg(come + q);
                add(begin + q, make_int4(b.x - a.x, b.y - a.y, b.z - a.z, b.w - a.w));
            }
        }
        __syncwarp();
        if (lane == 0) t.values[v] = value;
        Changes changes(l, v, own, value);
        for (bool more = true; more;) {
            u32 count = 0, sum = 0;
            i64 change = 0;
            #pragma unroll 1
            while (count < 32 && (more = changes.advance())) {
                if (lane == count) {
                    sum = changes.sum;
                    change = changes.change;
                }
                count++;
            }
            settle(lane < count, sum, change, false);
        }
        __syncwarp();
    }

    // Draws a variable, often one of a violated function if there are any.
    __device__ u32 drawn(u64 draw) const {
        const u32 any = __ldg(l.free + below(mix(draw, ANY), l.frees));
        if (s.broken && mix(draw, OF_BROKEN) >> 63) {
            const u32 sum = t.broken[below(mix(draw, BROKEN), s.broken)];
            const u32 first = __ldg(l.readers_of + sum), count = __ldg(l.readers_of + sum + 1) - first;
            if (count == 0) return any;
            const u32 reader = __ldg(l.readers + first + below(mix(draw, READER), count));
            return __ldg(l.is_free + reader) ? reader : any;
        }
        if (s.energy < l.hard) return any;
        u32 v = any;
        bool violates = false;
        if (lane < TRIED) {
            v = __ldg(l.free + below(mix(draw, OTHERS + lane), l.frees));
            violates = t.costs[costs_of(v) + t.values[v]] >= l.hard;
        }
        const u32 bits = __ballot_sync(ALL, violates);
        // the last lane has the random variable
        return __shfl_sync(ALL, v, bits ? __ffs(bits) - 1 : 31);
    }

    // Returns the violated sum with the highest cost of those that a move has changed; NONE if none is violated.
    __device__ u32 dearest(u32 v, u32 before) const {
        const u32 first = __ldg(l.values_of + v), own = t.values[v];
        const u32 here = __ldg(l.terms_of + first + own), there = __ldg(l.terms_of + first + before);
        const u32 own_count = __ldg(l.terms_of + first + own + 1) - here;
        const u32 count = own_count + __ldg(l.terms_of + first + before + 1) - there;
        Rated best = no_change();
        #pragma unroll 1
        for (u32 k = lane; k < count; k += 32) {
            const u32 sum = (u32)__ldg(&l.terms[k < own_count ? here + k : there + k - own_count].x);
            if (t.places[sum] == NOWHERE) continue;
            const Rated rated{-t.paid[sum], k, sum, 0};
            if (rated < best) best = rated;
        }
        return least_of(best).v;
    }

    // Returns minus the logarithm of a number drawn uniformly from 0 to 1.
    __device__ double threshold(u64 bits) const {
        bits |= 1;
        const int halvings = __clzll(bits);
        return (double)halvings * l.halving + __ldg(l.logarithms + (bits << halvings >> 53) % FRACTIONS);
    }

    // Makes one chain of moves, which is accepted or undone.
    __device__ void step() {
        s.temperature *= s.cooling;
        const u64 draw = mix(s.key, s.step);
        // variables that were changed, and their previous values
        u32 changed[CHAIN + 1], before[CHAIN + 1], count = 0;
        const u32 first = drawn(draw);
        Rated best = no_change();
        cheapest(first, mix(draw, CHOICES), lane, 32, 0, best);
        best = least_of(best);
        double climb = best.rise;
        for (;;) {
            changed[count] = best.v;
            before[count] = t.values[best.v];
            set(best.v, best.value);
            count++;
            if (count > CHAIN) break;
            const u32 sum = dearest(changed[count - 1], before[count - 1]);
            if (sum == NONE) break;
            const u32 begin = __ldg(l.readers_of + sum), readers = __ldg(l.readers_of + sum + 1) - begin;
            const u32 number = lane / SHARE;
            best = no_change();
            if (number < readers) {
                const u32 place = (u32)below(mix(draw, ANSWERS + count - 1), readers) + number;
                const u32 u = __ldg(l.readers + begin + (place < readers ? place : place - readers));
                bool may = __ldg(l.is_free + u);
                for (u32 k = 0; k < count; k++) may = may && changed[k] != u;
                if (may) cheapest(u, mix(draw, CHOICES + count * TRIED + number), lane % SHARE, SHARE, number, best);
            }
            __syncwarp();
            best = least_of(best);
            if (!(best.rise < 0)) break;
            climb += best.rise;
        }
        if (climb > 0 && climb < (double)l.hard * l.unit) {
            s.climbs += climb;
            s.climbed++;
        }
        if (climb <= 0 || climb < s.temperature * threshold(mix(draw, ACCEPT))) return keep_best();
        while (count--) set(changed[count], before[count]);
    }

    // Raises the prices of violated sums; if there are none, lowers all prices.
    __device__ void reprice() {
        for (u32 k = lane; k < s.broken; k += 32) {
            const u32 sum = t.broken[k];
            t.prices[sum] = min(t.prices[sum] * l.rise, l.largest);
            t.paid[sum] = price(sum, t.totals[sum]);
        }
        if (s.broken == 0)
            for (u32 sum = lane; sum < l.sums; sum += 32) t.prices[sum] = max(t.prices[sum] * l.fall, l.least);
        __syncwarp();
    }

    __device__ void keep_best() {
        if (s.broken) return;
        const i64 energy = (i64)((u64)s.energy << l.shift);
        const i64 cost = energy > LARGEST - s.charged ? LARGEST : energy + s.charged;
        if (cost >= s.best) return;
        s.best = cost;
        for (u32 v = lane; v < l.layout.variables; v += 32) t.best[v] = t.values[v];
    }

    // Returns the mean absolute cost change in tables when one variable changes.
    __device__ double stake() const {
        i64 total = 0;
        u64 count = 0;
        for (u32 k = lane; k < l.frees; k += 32) {
            const u32 v = __ldg(l.free + k), first = costs_of(v), domain = __ldg(l.layout.domains + v);
            const int own = t.costs[first + t.values[v]];
            #pragma unroll 1
            for (u32 value = 0; value < domain; value++) {
                const int change = abs(t.costs[first + value] - own);
                if (change == 0 || change >= l.hard) continue;
                total += change;
                count++;
            }
        }
        total = sum_of(total);
        count = sum_of(count);
        return count ? (double)total * l.unit / (double)count : 0;
    }

    // Computes all tables for the initial values.
    __device__ void begin(const u16 *values) {
        const u32 n = l.layout.variables, group = l.layout.group;
        if (!(s.kept & VALUES))
            for (u32 v = lane; v < n; v += 32) t.values[v] = values[v];
        for (u32 k = lane; k < 4 * l.layout.quads; k += 32) t.costs[k] = __ldg((const int *)l.layout.entries + k);
        for (u32 sum = lane; sum < l.sums; sum += 32) {
            t.totals[sum] = 0;
            t.places[sum] = NOWHERE;
        }
        __syncwarp();
        i64 energy = 0;
        for (u32 v = lane; v < n; v += 32) {
            const u32 value = t.values[v], at = __ldg(l.values_of + v) + value, end = __ldg(l.terms_of + at + 1);
            t.best[v] = value;
            energy += __ldg((const int *)l.layout.entries + costs_of(v) + value);
            #pragma unroll 1
            for (u32 k = __ldg(l.terms_of + at); k < end; k++) {
                const longlong2 term = __ldg(l.terms + k);
                atomicAdd((u64 *)t.totals + term.x, (u64)term.y);
            }
        }
        #pragma unroll 1
        for (u32 k = lane / group; k < l.layout.incidents_count; k += 32 / group) {
            const uint4 incident = __ldg(l.layout.incidents + k);
            const u32 row = incident.x + shift_of(k, NONE), first = __ldg(l.layout.starts + incident.z);
            const u32 quads = __ldg(l.layout.starts + incident.z + 1) - first;
            for (u32 q = lane % group; q < quads; q += group) add(first + q, __ldg(l.layout.entries + row / 4 + q));
            if (lane % group == 0 && incident.w)
                energy += __ldg((const int *)l.layout.entries + row + t.values[incident.z]);
        }
        s.energy = sum_of(energy);
        __syncwarp();
        if (!(s.kept & PRICES)) {
            const double price = max(stake(), 1.0);
            for (u32 sum = lane; sum < l.sums; sum += 32) t.prices[sum] = price / l.rules[sum].step;
            __syncwarp();
        }
        s.charged = 0;
        s.broken = 0;
        s.left = l.frees;
        for (u32 base = 0; base < l.sums; base += 32) settle(base + lane < l.sums, base + lane, 0, true);
        keep_best();
        s.begun = s.best;
    }
};

// Continues or begins all walks, for some steps.
extern "C" __global__ void __launch_bounds__(128) walk(SumInput l, Walks w, u32 steps) {
    const u32 walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (walk >= w.count) return;
    Walk own(l, w, walk);
    WalkProgress &s = own.s;
    // the walk has not been used
    if (s.key == 0) return;
    if (s.step == 0) own.begin(w.starts + (u64)walk * l.layout.variables);
    const u64 ratings = s.ratings;
    s.ratings = 0;
    for (u32 k = 0; k < steps && s.step < s.length; k++) {
        if (k % LOOK_EVERY == 0 && __any_sync(ALL, *(volatile const u32 *)w.stop)) break;
        s.step++;
        s.moves++;
        own.step();
        if (--s.left == 0) {
            s.left = l.frees;
            own.reprice();
        }
    }
    s.ratings = ratings + sum_of(s.ratings);
    if (own.lane == 0) w.progress[walk] = s;
}
