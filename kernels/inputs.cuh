// The inputs of a value and its visit: the names of `heuristics::INPUTS`, in its order; and the user's tables.
#pragma once

struct Inputs {
    double value, cost, delta, current, incumbent, age, frequency, h, reduced, conflicts, unary;
    double domain, degree, temperature, round, since, current_cost, current_conflicts, least, group;
};

// Tables of a heuristic in a file, contiguous: a number for each variable of the problem or for each value.
struct Tables {
    const double *numbers;
    unsigned int variables, places;

    // Returns the number of a variable, or of a value, in the table that follows the given numbers of tables of both
    // kinds.
    __device__ __forceinline__ double at(unsigned int by_variable, unsigned int by_value, unsigned int place) const {
        return numbers[(unsigned long long)by_variable * variables + (unsigned long long)by_value * places + place];
    }
};
