// Sums of weights and their costs, in integers with the CPU's limits.
#pragma once
#include "constants.cuh"
#include "rng.cuh"

typedef long long i64;

constexpr i64 LARGEST = 0x7fffffffffffffffll;

// The cost of a sum's total, as in `globals::sums::Sum`.
struct Sum {
    i64 low, high, short_, excess, limit;
    double step; // mean of its weights
    u32 rule, measure;

    // Returns `count` times a nonnegative cost, saturated at FORBIDDEN.
    __device__ static i64 times(i64 cost, u64 count) {
        if (cost == 0 || count == 0) return 0;
        const u64 product = (u64)cost * count;
        return __umul64hi(cost, count) || product >= (u64)FORBIDDEN ? FORBIDDEN : (i64)product;
    }
    __device__ i64 charge(u64 gap) const {
        if (gap == 0) return 0;
        if (measure == HARD) return times(short_, 1);
        if (measure == LINEAR) return times(short_, gap);
        // the square may have more than 64 bits
        return __umul64hi(gap, gap) ? short_ ? FORBIDDEN : 0 : times(short_, gap * gap);
    }
    // Returns how far one number is above another, 0 if it is not, saturated at 63 bits.
    __device__ static u64 above(i64 number, i64 other) {
        return number > other ? min((u64)number - (u64)other, (u64)LARGEST) : 0;
    }
    // Returns the cost of a total, FORBIDDEN if it is infeasible.
    __device__ i64 cost(i64 total) const {
        const u64 below = above(low, total), beyond = above(total, high);
        i64 cost;
        if (rule == OFF) cost = charge(max(below, beyond));
        else if (rule == NOT) cost = charge(total == low);
        else if (rule == WITHIN) cost = charge(below + beyond);
        else if (rule == OUTSIDE) cost = times(short_, below) + times(excess, beyond);
        else cost = times(short_, (u64)total * (u64)(total - 1) / 2);
        return cost < limit ? cost : FORBIDDEN;
    }
    // Returns the distance of a total from the nearest one of cost 0.
    __device__ i64 distance(i64 total) const {
        const u64 below = above(low, total), beyond = above(total, high);
        if (rule == NOT) return total == low;
        if (rule == PAIRS) return max(total - 1, 0ll);
        return max(below, beyond);
    }
};
