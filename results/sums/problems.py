#!/usr/bin/env python3
"""Writes pseudo-Boolean problems whose constraints are sums: knapsacks, assignments, covers, subset sums, warehouses.

usage: problems.py FOLDER SEED        (two of each, of SEED and the number after it)
"""
import pathlib
import random
import sys


def row(terms):
    return " ".join(f"{weight:+} x{place + 1}" for weight, place in terms)


def knapsack(items, rows, largest, seed):
    draw = random.Random(seed)
    weights = [[draw.randint(1, largest) for _ in range(items)] for _ in range(rows)]
    worth = [sum(w[j] for w in weights) // rows + draw.randint(0, largest // 2) for j in range(items)]
    limits = [f"{row(zip(w, range(items)))} <= {sum(w) // 2} ;" for w in weights]
    return [f"max: {row(zip(worth, range(items)))} ;", *limits]


def assignment(jobs, agents, seed):
    draw = random.Random(seed)
    takes = [[draw.randint(5, 25) for _ in range(jobs)] for _ in range(agents)]
    costs = [[111 - takes[i][j] + draw.randint(-10, 10) for j in range(jobs)] for i in range(agents)]
    pairs = [(i, j) for i in range(agents) for j in range(jobs)]
    each = [f"{row((1, i * jobs + j) for i in range(agents))} = 1 ;" for j in range(jobs)]
    rooms = [int(0.8 * sum(own) / agents) for own in takes]
    fits = [f"{row((takes[i][j], i * jobs + j) for j in range(jobs))} <= {rooms[i]} ;" for i in range(agents)]
    return [f"min: {row((costs[i][j], i * jobs + j) for i, j in pairs)} ;", *each, *fits]


def cover(rows, columns, seed):
    draw = random.Random(seed)
    lines = [f"min: {row((draw.randint(1, 100), j) for j in range(columns))} ;"]
    for _ in range(rows):
        chosen = draw.sample(range(columns), draw.randint(8, 30))
        lines.append(f"{row((1, j) for j in chosen)} >= {draw.randint(1, 4)} ;")
    return lines


def subset_sum(items, largest, seed):
    draw = random.Random(seed)
    weights = [draw.randint(1, largest) for _ in range(items)]
    total = sum(draw.sample(weights, items // 2))
    costs = row((draw.randint(1, 50), j) for j in range(items))
    return [f"min: {costs} ;", f"{row(zip(weights, range(items)))} = {total} ;"]


def warehouses(places, customers, seed):
    draw = random.Random(seed)
    needs = [draw.randint(5, 35) for _ in range(customers)]
    rooms = [int(sum(needs) * draw.uniform(2.5, 4) / places) for _ in range(places)]
    opening = [draw.randint(200, 600) for _ in range(places)]
    costs = [[draw.randint(1, 60) for _ in range(customers)] for _ in range(places)]

    def served(i, j):
        return places + i * customers + j

    pairs = [(i, j) for i in range(places) for j in range(customers)]
    all_costs = [*zip(opening, range(places)), *((costs[i][j], served(i, j)) for i, j in pairs)]
    each = [f"{row((1, served(i, j)) for i in range(places))} = 1 ;" for j in range(customers)]
    fits = [
        f"{row([*((needs[j], served(i, j)) for j in range(customers)), (-rooms[i], i)])} <= 0 ;"
        for i in range(places)
    ]
    return [f"min: {row(all_costs)} ;", *each, *fits]


def main():
    folder, first = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    for seed in (first, first + 1):
        for name, lines in {
            "knap60x5": knapsack(60, 5, 300, seed),
            "knap250x10": knapsack(250, 10, 1000, seed),
            "gap60x10": assignment(60, 10, seed),
            "gap200x20": assignment(200, 20, seed),
            "cover200x1000": cover(200, 1000, seed),
            "subset40": subset_sum(40, 1000, seed),
            "fac20x60": warehouses(20, 60, seed),
        }.items():
            (folder / f"{name}-{seed}.opb").write_text("\n".join(lines) + "\n")


main()
