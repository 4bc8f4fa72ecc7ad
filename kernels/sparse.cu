// Sparse bucket elimination: tables list keys and costs in any order on a device.
//
// A thread takes a row of the driving table and visits the stages depth first. A stage is a hash table from the bound
// positions of the joint key to a chain of rows that extend it. Sums below the limit go into a hash table by the key of
// the message, with an atomic minimum. So there is neither sorting nor a joint table, and the message does not depend
// on the order of threads.
//
// Keys have at most 63 bits, so that a key of all ones marks an empty slot.

#include "rng.cuh"

typedef long long i64;

constexpr u64 NONE = ~0ull;
constexpr u32 END = ~0u;
// Number of slots that are probed for a key before a table counts as full.
constexpr u32 PROBES = 256;
// Largest number of stages that extend keys, because each adds at least one bit.
constexpr u32 LEVELS = 64;

// Fields that are moved by the same distance; a projection is several of them.
struct Move {
    u64 mask;
    u32 up, down;
};

struct Moves {
    const Move *moves;
    u64 count;

    __device__ __forceinline__ u64 of(u64 key) const {
        u64 moved = 0;
        for (u32 k = 0; k < count; k++) moved |= (key & moves[k].mask) << moves[k].up >> moves[k].down;
        return moved;
    }
};

// A table as a stage of the join plan: chains of rows by their common part with the joint key.
struct Stage {
    // The projection from joint keys to those of the slots.
    Moves shared;
    // For each slot, its key and its first row. `mask` is the number of slots, a power of two, minus 1.
    u64 *keys;
    u32 *heads;
    u64 mask;
    // For each row, the next row of its chain, its new fields of the joint key, and its cost.
    u32 *next;
    u64 *fields;
    const i64 *costs;
    // The sum of the least costs of the following stages.
    i64 rest;
    // Whether the stage extends keys; otherwise each chain has one row.
    u64 grows;
};

// A message under construction: the key and cost of each slot.
struct Found {
    u64 *keys;
    i64 *costs;
    u64 mask;
    // Number of keys in the message, and of all rows visited.
    u64 *count;
    u64 *work;
    // Set to 1 if the message is full.
    u32 *full;
};

struct Join {
    const Stage *stages;
    const u64 *keys;
    const i64 *costs;
    u64 rows;
    // The projection from the driving table's keys to joint keys.
    Moves lay;
    // The fields of the message, and the limit that sums must stay below.
    u64 message;
    i64 limit;
    u32 count;
    u32 unused;
};

__device__ __forceinline__ u64 hash(u64 key) { return mix(key, 0); }

// Adds every row to the chain of its slot. Slots are NONE and END before.
__global__ void index_rows(Stage stage, const u64 *rows, u64 count, Moves of_table, Moves added) {
    for (u64 row = blockIdx.x * (u64)blockDim.x + threadIdx.x; row < count; row += gridDim.x * (u64)blockDim.x) {
        const u64 key = of_table.of(rows[row]);
        stage.fields[row] = added.of(rows[row]);
        // there are twice as many slots as rows
        u64 slot = hash(key) & stage.mask;
        for (;; slot = (slot + 1) & stage.mask) {
            const u64 before = atomicCAS(stage.keys + slot, NONE, key);
            if (before == NONE || before == key) break;
        }
        stage.next[row] = atomicExch(stage.heads + slot, (u32)row);
    }
}

__device__ __forceinline__ u32 first_of(const Stage &stage, u64 joint) {
    const u64 key = stage.shared.of(joint);
    for (u64 slot = hash(key) & stage.mask;; slot = (slot + 1) & stage.mask) {
        const u64 there = stage.keys[slot];
        if (there == key) return stage.heads[slot];
        if (there == NONE) return END;
    }
}

// Adds a row to the message, or lowers its cost. Returns whether there was room.
__device__ __forceinline__ bool keep(const Found &found, u64 key, i64 cost, u32 &kept) {
    u64 slot = hash(key) & found.mask;
    for (u32 probe = 0; probe < PROBES; probe++, slot = (slot + 1) & found.mask) {
        u64 there = found.keys[slot];
        if (there == NONE) {
            there = atomicCAS(found.keys + slot, NONE, key);
            kept += there == NONE;
        }
        if (there == NONE || there == key) {
            atomicMin(found.costs + slot, cost);
            return true;
        }
    }
    return false;
}

// Joins rows `first` to `last` of the driving table.
__global__ void join_rows(Join join, Found found, u64 first, u64 last) {
    u64 keys[LEVELS];
    i64 sums[LEVELS];
    u32 rows[LEVELS];
    u32 stages[LEVELS];
    u64 work = 0;
    u32 kept = 0;
    for (u64 row = first + blockIdx.x * (u64)blockDim.x + threadIdx.x; row < last; row += gridDim.x * (u64)blockDim.x) {
        if (*(volatile u32 *)found.full) break;
        u64 key = join.lay.of(join.keys[row]);
        i64 sum = join.costs[row];
        u32 stage = 0, level = 0;
        work++;
        for (;;) {
            bool fits = true;
            while (stage < join.count) {
                const Stage &next = join.stages[stage];
                const u32 at = first_of(next, key);
                if (next.grows) {
                    // continues below with the stage's first row
                    keys[level] = key, sums[level] = sum, rows[level] = at, stages[level] = stage;
                    level++;
                    fits = false;
                    break;
                }
                fits = at != END && next.costs[at] < join.limit - next.rest - sum;
                if (!fits) break;
                work++;
                sum += next.costs[at];
                key |= next.fields[at];
                stage++;
            }
            if (fits && sum < join.limit && !keep(found, key & join.message, sum, kept)) {
                atomicExch(found.full, 1u);
                break;
            }
            // the next row of the last stage that has one
            bool any = false;
            while (level > 0 && !any) {
                const Stage &last = join.stages[stages[level - 1]];
                u32 &at = rows[level - 1];
                const i64 room = join.limit - last.rest - sums[level - 1];
                while (at != END && last.costs[at] >= room) at = last.next[at];
                if (at == END) {
                    level--;
                    continue;
                }
                work++;
                key = keys[level - 1] | last.fields[at];
                sum = sums[level - 1] + last.costs[at];
                stage = stages[level - 1] + 1;
                at = last.next[at];
                any = true;
            }
            if (!any) break;
        }
    }
    for (u32 step = 16; step > 0; step >>= 1) {
        work += __shfl_xor_sync(~0u, work, step);
        kept += __shfl_xor_sync(~0u, kept, step);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(found.work, work);
        atomicAdd(found.count, (u64)kept);
    }
}

// Lists the slots of a message as rows in any order, and computes their least cost. `count` counts up from 0.
__global__ void list_rows(const u64 *keys, const i64 *costs, u64 slots, u64 *to_keys, i64 *to_costs, u64 *count,
                          i64 *least) {
    const u64 threads = gridDim.x * (u64)blockDim.x;
    const u32 lane = threadIdx.x % 32;
    i64 lowest = 0x7fffffffffffffffll;
    // all lanes of a warp continue together
    for (u64 begin = blockIdx.x * (u64)blockDim.x + threadIdx.x - lane; begin < slots; begin += threads) {
        const u64 slot = begin + lane;
        const u64 key = slot < slots ? keys[slot] : NONE;
        const u32 has = __ballot_sync(~0u, key != NONE);
        u64 place = 0;
        if (lane == 0 && has) place = atomicAdd(count, (u64)__popc(has));
        place = __shfl_sync(~0u, place, 0) + __popc(has & ((1u << lane) - 1));
        if (key == NONE) continue;
        to_keys[place] = key;
        to_costs[place] = costs[slot];
        lowest = min(lowest, costs[slot]);
    }
    __syncwarp();
    for (u32 step = 16; step > 0; step >>= 1) lowest = min(lowest, __shfl_xor_sync(~0u, lowest, step));
    if (lane == 0) atomicMin(least, lowest);
}
