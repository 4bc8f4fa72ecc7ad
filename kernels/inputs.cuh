// What is known of a value and its visit: the names of `heuristics::INPUTS`, in its order.
#pragma once

struct Inputs {
    double value, cost, delta, current, incumbent, age, frequency, h, reduced, conflicts, unary;
    double domain, degree, temperature, round, since, current_cost, current_conflicts, least, group;
};
