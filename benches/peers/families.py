#!/usr/bin/env python3
"""Writes 26 networks of families that most collections lack, with a MANIFEST.tsv that compare.py reads: maximum cuts, spin glasses,
quadratic forms, (partial, weighted) MaxSAT, quadratic assignment, warehouse location, constraint networks with soft and hard entries, binary
sequences of low autocorrelation, stereo matching, independent sets, set covers, one machine, exams, Bayesian networks, queens, correlation clustering.

usage: families.py FOLDER
The same on every machine: all numbers come from seeded generators, and distances are rounded down.
"""
import itertools, math, pathlib, random, sys
from collections import Counter

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 and not sys.argv[1].startswith("-") else sys.exit(__doc__))
BIG, HARD = 10**8, 10**6  # tops: above any sum, and what is forbidden


def write(name, domains, functions, top):
    """Functions are (scope, default cost, [(values, cost), ...])."""
    with open(FOLDER / f"{name}.wcsp", "w") as file:
        sizes = " ".join(map(str, domains))
        file.write(f"{name} {len(domains)} {max(domains)} {len(functions)} {top}\n{sizes}\n")
        for scope, default, rows in functions:
            file.write(f"{len(scope)} {' '.join(map(str, scope))} {default} {len(rows)}\n")
            file.writelines(f"{' '.join(map(str, values))} {cost}\n" for values, cost in rows)


def pairs(domains, cost):
    """All rows of two variables that cost something."""
    rows = ((values, cost(*values)) for values in itertools.product(*map(range, domains)))
    return [row for row in rows if row[1]]


def cut(name, n, edges):
    """An edge of positive weight wants its ends apart, one of negative weight together."""
    functions = [((i, j), 0, [((0, 0), w), ((1, 1), w)] if w > 0 else [((0, 1), -w), ((1, 0), -w)]) for i, j, w in edges if w]
    write(name, [2] * n, functions, sum(abs(w) for *_, w in edges) + 1)


def cuts():
    rng = random.Random(1)
    cut("maxcut_dense800", 800, [(i, j, 1) for i in range(800) for j in range(i) if rng.random() < 0.06])
    for name, rows, columns in ("maxcut_torus800", 20, 40), ("maxcut_torus3000", 50, 60):
        at = lambda a, b: a % rows * columns + b % columns
        steps = (0, 1), (1, 0)
        cut(name, rows * columns, [(at(a, b), at(a + down, b + right), rng.choice((1, -1)))
                                   for a in range(rows) for b in range(columns) for down, right in steps])
    at = lambda x, y, z: x % 10 * 100 + y % 10 * 10 + z % 10
    axes = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    cut("glass3d1000", 1000, [(at(x, y, z), at(x + a, y + b, z + c), rng.choice((1, -1)))
                              for x in range(10) for y in range(10) for z in range(10) for a, b, c in axes])


def quadratic_form(n=500, density=0.1):
    rng, functions = random.Random(2), []
    for i in range(n):
        for j in range(i + 1):
            if rng.random() < density:
                q = rng.randint(-100, 100)
                if i == j:
                    functions.append(((i,), 0, [((int(q > 0),), abs(q))]))
                elif q:
                    functions.append(((i, j), max(0, -q), [((1, 1), max(0, q))]))
    write(f"bqp{n}", [2] * n, functions, BIG)


def satisfiability(name, seed, n, clauses, literals, weighted, hard=0):
    rng, functions, top = random.Random(seed), [], 10**7
    for clause in range(clauses):
        scope = sorted(rng.sample(range(n), literals))
        violated = tuple(rng.randint(0, 1) for _ in scope)
        weight = rng.randint(1, 10) if weighted else 1
        functions.append((tuple(scope), 0, [(violated, top if clause < hard else weight)]))
    write(name, [2] * n, functions, top)


def assignment(n, seed):
    rng, side = random.Random(seed), math.ceil(math.sqrt(n))
    place = [divmod(k, side) for k in range(n)]
    distance = [[abs(a - c) + abs(b - d) for c, d in place] for a, b in place]
    flow = {(i, j): max(0, rng.randint(-5, 9)) for i in range(n) for j in range(i)}
    functions = [((j, i), 0, [((x, y), HARD if x == y else 2 * flow[i, j] * distance[x][y])
                              for x in range(n) for y in range(n) if x == y or flow[i, j]]) for i in range(n) for j in range(i)]
    write(f"qap{n}", [n] * n, functions, HARD)


def warehouses(count, stores, seed):
    rng = random.Random(seed)
    houses = [(rng.random(), rng.random()) for _ in range(count)]
    places = [(rng.random(), rng.random()) for _ in range(stores)]
    functions = [((i,), 0, [((1,), rng.randint(4000, 9000))]) for i in range(count)]
    for k, place in enumerate(places, count):
        demand = rng.randint(5, 40)
        functions.append(((k,), 0, [((i,), int(demand * 1000 * math.dist(house, place) / 3)) for i, house in enumerate(houses)]))
        functions += [((i, k), 0, [((0, i), BIG)]) for i in range(count)]
    write(f"warehouse{count}x{stores}", [2] * count + [count] * stores, functions, BIG)


def constraints(n, d, functions, tightness, seed, weighted=False):
    """Random functions that one hidden assignment does not pay for."""
    rng, written = random.Random(seed), []
    hidden = [rng.randrange(d) for _ in range(n)]
    for _ in range(functions):
        a, b = rng.sample(range(n), 2)
        others = [(x, y) for x in range(d) for y in range(d) if (x, y) != (hidden[a], hidden[b])]
        bad = rng.sample(others, int(tightness * d * d))
        written.append(((a, b), 0, [(values, rng.randint(1, 20) if weighted else 1) for values in bad]))
    write(f"maxcsp{n}x{d}{'w' if weighted else ''}", [d] * n, written, HARD)


def low_autocorrelation(n):
    """The sum of squared autocorrelations, multiplied out."""
    products = Counter()
    for k in range(1, n):
        for i, j in itertools.combinations(range(n - k), 2):
            products[tuple(sorted(v for v, count in Counter([i, i + k, j, j + k]).items() if count % 2))] += 2
    even = lambda size: [values for values in itertools.product((0, 1), repeat=size) if sum(values) % 2 == 0]
    functions = [(scope, 0, [(values, 2 * weight) for values in even(len(scope))]) for scope, weight in products.items() if scope]
    write(f"labs{n}", [2] * n, functions, BIG)


def stereo(height, width, d, seed):
    rng, functions = random.Random(seed), []
    smooth = pairs((d, d), lambda a, b: 10 * min(2, abs(a - b)))
    for y in range(height):
        for x in range(width):
            depth = int(d * (0.2 + 0.3 * (x > width // 3) + 0.3 * (y > height // 2 and x < width // 2)))
            at = y * width + x
            functions.append(((at,), 0, [((v,), min(40, abs(v - depth) * 8 + rng.randint(0, 35))) for v in range(d)]))
            functions += [((at, at + 1), 0, smooth)] if x + 1 < width else []
            functions += [((at, at + width), 0, smooth)] if y + 1 < height else []
    write(f"stereo{height}x{width}x{d}", [d] * height * width, functions, BIG)


def independent_set(n, density, seed):
    rng, top = random.Random(seed), 10**5
    functions = [((i,), 0, [((0,), rng.randint(1, 100))]) for i in range(n)]
    functions += [((j, i), 0, [((1, 1), top)]) for i in range(n) for j in range(i) if rng.random() < density]
    write(f"mwis{n}", [2] * n, functions, top)


def set_cover(sets, elements, seed):
    rng = random.Random(seed)
    functions = [((i,), 0, [((1,), rng.randint(1, 100))]) for i in range(sets)]
    for _ in range(elements):
        size = rng.randint(3, 9)
        functions.append((tuple(sorted(rng.sample(range(sets), size))), 0, [((0,) * size, HARD)]))
    write(f"setcover{sets}x{elements}", [2] * sets, functions, HARD)


def one_machine(jobs, horizon, seed):
    """Earliness and tardiness; no two jobs at a time."""
    rng, functions, times = random.Random(seed), [], range(horizon)
    lengths = [rng.randint(2, 8) for _ in range(jobs)]
    for i in range(jobs):
        due, early, late = rng.randint(0, horizon - 1), rng.randint(1, 9), rng.randint(1, 9)
        functions.append(((i,), 0, [((t,), early * max(0, due - t) + late * max(0, t - due)) for t in times]))
        for j in range(i):
            apart = lambda t, u: t + lengths[j] <= u or u + lengths[i] <= t
            functions.append(((j, i), 0, pairs((horizon, horizon), lambda t, u: 0 if apart(t, u) else HARD)))
    write(f"onemachine{jobs}x{horizon}", [horizon] * jobs, functions, HARD)


def exams(n, slots, seed):
    rng = random.Random(seed)
    groups = [rng.sample(range(n), rng.randint(4, 9)) for _ in range(60)]
    conflicts = sorted({tuple(sorted(pair)) for group in groups for pair in itertools.combinations(group, 2)})
    functions = [((i,), 0, [((t,), rng.randint(0, 12)) for t in range(slots)]) for i in range(n)]
    near = pairs((slots, slots), lambda t, u: (HARD, 3, 1, 0)[min(3, abs(t - u))])
    write(f"exams{n}x{slots}", [slots] * n, functions + [(pair, 0, near) for pair in conflicts], HARD)


def bayesian(n, d, parents, seed):
    rng, functions = random.Random(seed), []
    for v in range(n):
        most = min(parents, v, rng.randint(1, parents)) if v else 0
        scope = sorted(rng.sample(range(max(0, v - 60), v), most)) if v else []
        table = []
        for _ in range(d ** len(scope)):
            row = [rng.random() ** 4 if rng.random() > 0.3 else 0 for _ in range(d)]
            if sum(row) == 0:
                row[rng.randrange(d)] = 1
            table += [x / sum(row) for x in row]
        functions.append((scope + [v], table))
    with open(FOLDER / f"bayes{n}x{d}.uai", "w") as file:
        file.write(f"BAYES\n{n}\n{' '.join([str(d)] * n)}\n{n}\n")
        file.writelines(f"{len(scope)} {' '.join(map(str, scope))}\n" for scope, _ in functions)
        file.writelines(f"{len(table)}\n{' '.join(f'{x:.6g}' for x in table)}\n" for _, table in functions)


def ternary(n, d, functions, seed):
    rng, written = random.Random(seed), []
    for _ in range(functions):
        scope = tuple(sorted(rng.sample(range(n), 3)))
        written.append((scope, 0, [(values, rng.randint(0, 99)) for values in itertools.product(range(d), repeat=3)]))
    write(f"ternary{n}x{d}", [d] * n, written, BIG)


def queens(n, seed):
    rng = random.Random(seed)
    functions = [((i,), 0, [((v,), rng.randint(0, n)) for v in range(n)]) for i in range(n)]
    for i in range(n):
        for j in range(i):
            functions.append(((j, i), 0, pairs((n, n), lambda a, b: HARD if a == b or abs(a - b) == i - j else 0)))
    write(f"queens{n}", [n] * n, functions, HARD)


def correlation(n, degree, parts, seed):
    """Pairs that want to be in one part, or apart."""
    rng, functions = random.Random(seed), []
    for i in range(n):
        for _ in range(degree):
            j = rng.randrange(n)
            if j != i:
                weight = rng.randint(1, 9)
                same, apart = (weight, 0) if rng.random() < 0.5 else (0, weight)
                functions.append(((i, j), apart, [((a, a), same) for a in range(parts)]))
    write(f"correlation{n}x{parts}", [parts] * n, functions, BIG)


FOLDER.mkdir(parents=True, exist_ok=True)
cuts()
quadratic_form()
satisfiability("max2sat200", 3, 200, 1200, 2, True)
satisfiability("max3sat300", 4, 300, 2000, 3, False)
satisfiability("max3sat1000w", 5, 1000, 6000, 3, True)
satisfiability("pmax3sat300", 6, 300, 3000, 3, True, hard=900)
assignment(15, 7)
assignment(25, 8)
warehouses(30, 100, 9)
warehouses(60, 300, 10)
constraints(60, 15, 900, 0.3, 11)
constraints(100, 8, 900, 0.4, 12, weighted=True)
low_autocorrelation(45)
stereo(40, 60, 16, 13)
independent_set(250, 0.2, 14)
independent_set(1000, 0.02, 15)
set_cover(300, 800, 16)
one_machine(15, 80, 17)
exams(120, 20, 18)
bayesian(300, 4, 3, 19)
ternary(80, 5, 400, 20)
queens(40, 21)
correlation(400, 6, 6, 22)
with open(FOLDER / "MANIFEST.tsv", "w") as manifest:
    manifest.write("path\tformat\tbest_known\tcompanions\n")
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in (".wcsp", ".uai"))
    manifest.writelines(f"{path.name}\t{path.suffix[1:]}\t\t\n" for path in files)
