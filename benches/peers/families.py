#!/usr/bin/env python3
"""Writes 44 networks of families that most collections lack, with a MANIFEST.tsv that compare.py reads: maximum cuts,
spin glasses, quadratic forms, (partial, weighted) MaxSAT, quadratic assignment, warehouse location, constraint networks
with soft and hard entries, binary sequences of low autocorrelation, stereo matching, independent sets, set covers, one
machine, exams, Bayesian networks, queens, correlation clustering; parity checks, parities, rosters, coupled chains,
knapsacks, job shops, denoising, lattices, crosswords, molecular design, diagnosis, partial trees, functions of four
variables, Boltzmann machines, Latin squares, tours, plans.

usage: families.py FOLDER
The files are equal on every machine: all numbers come from seeded generators, and distances are rounded down.
"""
import itertools, math, pathlib, random, sys
from collections import Counter

import networks
from networks import BIG, HARD, pairs, write, write_uai
from planning import exams, job_shop, knapsacks, one_machine, plan, roster, routes, warehouses

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 and not sys.argv[1].startswith("-") else sys.exit(__doc__))
networks.folder = FOLDER


def cut(name, n, edges):
    """Edges of positive weight should be cut, edges of negative weight not."""
    rows = lambda w: [((0, 0), w), ((1, 1), w)] if w > 0 else [((0, 1), -w), ((1, 0), -w)]
    functions = [((i, j), 0, rows(w)) for i, j, w in edges if w]
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
    rows = lambda flow: [((x, y), HARD if x == y else 2 * flow * distance[x][y])
                         for x in range(n) for y in range(n) if x == y or flow]
    functions = [((j, i), 0, rows(flow[i, j])) for i in range(n) for j in range(i)]
    write(f"qap{n}", [n] * n, functions, HARD)


def constraints(n, d, functions, tightness, seed, weighted=False):
    """Random functions that a hidden assignment satisfies."""
    rng, written = random.Random(seed), []
    hidden = [rng.randrange(d) for _ in range(n)]
    for _ in range(functions):
        a, b = rng.sample(range(n), 2)
        others = [(x, y) for x in range(d) for y in range(d) if (x, y) != (hidden[a], hidden[b])]
        bad = rng.sample(others, int(tightness * d * d))
        written.append(((a, b), 0, [(values, rng.randint(1, 20) if weighted else 1) for values in bad]))
    write(f"maxcsp{n}x{d}{'w' if weighted else ''}", [d] * n, written, HARD)


def low_autocorrelation(n):
    """The sum of squared autocorrelations, expanded."""
    products = Counter()
    for k in range(1, n):
        for i, j in itertools.combinations(range(n - k), 2):
            products[tuple(sorted(v for v, count in Counter([i, i + k, j, j + k]).items() if count % 2))] += 2
    even = lambda size: [values for values in itertools.product((0, 1), repeat=size) if sum(values) % 2 == 0]
    functions = [(scope, 0, [(values, 2 * weight) for values in even(len(scope))])
                 for scope, weight in products.items() if scope]
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
    write_uai(f"bayes{n}x{d}", "BAYES", [d] * n, functions, 6)


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
    """Pairs that should be in the same part, or in different parts."""
    rng, functions = random.Random(seed), []
    for i in range(n):
        for _ in range(degree):
            j = rng.randrange(n)
            if j != i:
                weight = rng.randint(1, 9)
                same, apart = (weight, 0) if rng.random() < 0.5 else (0, weight)
                functions.append(((i, j), apart, [((a, a), same) for a in range(parts)]))
    write(f"correlation{n}x{parts}", [parts] * n, functions, BIG)


def parity_checks(n, checks, size, seed):
    """A word sent over a noisy channel: the likeliest one that passes all checks (low density parity check codes)."""
    rng, ends = random.Random(seed), []
    sockets = [v for v in range(n) for _ in range(checks * size // n)]
    rng.shuffle(sockets)
    functions = [((v,), 0, [((int(rng.gauss(1, 0.75) > 0),), rng.randint(10, 60))]) for v in range(n)]
    for k in range(checks):
        scope = tuple(sorted(set(sockets[k * size:(k + 1) * size])))
        words = itertools.product((0, 1), repeat=len(scope))
        functions.append((scope, 0, [(values, HARD) for values in words if sum(values) % 2]))
    write(f"ldpc{n}", [2] * n, functions, HARD)


def parities(n, functions, seed):
    """Sums of three variables that should be odd or even: single changes give no direction."""
    rng, written = random.Random(seed), []
    for _ in range(functions):
        wanted, weight = rng.randint(0, 1), rng.randint(1, 9)
        rows = [(values, weight) for values in itertools.product((0, 1), repeat=3) if sum(values) % 2 != wanted]
        written.append((tuple(sorted(rng.sample(range(n), 3))), 0, rows))
    write(f"xor{n}", [2] * n, written, BIG)


def coupled_chains(chains, steps, d, seed):
    """Hidden Markov chains with common observations."""
    rng, functions = random.Random(seed), []
    at = lambda chain, step: step * chains + chain
    for chain in range(chains):
        moves = pairs((d, d), lambda a, b: HARD if rng.random() < 0.3 and a != b else rng.randint(0, 30))
        functions += [((at(chain, step), at(chain, step + 1)), 0, moves) for step in range(steps - 1)]
    for step in range(steps):
        seen = [rng.randint(0, 40) for _ in range(chains * (d - 1) + 1)]
        for a, b, c in itertools.combinations(range(chains), 3):
            rows = [(values, abs(seen[sum(values)] - seen[a + b + c]))
                    for values in itertools.product(range(d), repeat=3)]
            functions.append(((at(a, step), at(b, step), at(c, step)), 0, rows))
    write(f"chains{chains}x{steps}", [d] * chains * steps, functions, HARD)


def denoising(height, width, d, seed):
    """An image of blocks, ramps and noise; squared differences up to a limit."""
    rng, functions = random.Random(seed), []
    smooth = pairs((d, d), lambda a, b: min(4 * (a - b) ** 2, 100))
    for y in range(height):
        for x in range(width):
            true = (x * d // width) if y > height // 2 else d // 4 + d // 2 * ((x // 20 + y // 20) % 2)
            seen, at = true + rng.gauss(0, d / 8), y * width + x
            functions.append(((at,), 0, [((v,), int((v - seen) ** 2)) for v in range(d)]))
            functions += [((at, at + 1), 0, smooth)] if x + 1 < width else []
            functions += [((at, at + width), 0, smooth)] if y + 1 < height else []
    write(f"denoise{height}x{width}x{d}", [d] * height * width, functions, BIG)


def lattice(side, q, seed):
    """A Potts glass in three dimensions, with fields."""
    rng, functions = random.Random(seed), []
    at = lambda x, y, z: (x * side + y) * side + z
    for x, y, z in itertools.product(range(side), repeat=3):
        functions.append(((at(x, y, z),), 0, [((v,), rng.randint(0, 30)) for v in range(q)]))
        for a, b, c in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            if max(x + a, y + b, z + c) < side:
                weight = rng.randint(-40, 40)
                same = [((v, v), max(0, weight)) for v in range(q)]
                functions.append(((at(x, y, z), at(x + a, y + b, z + c)), max(0, -weight), same))
    write(f"lattice{side}x{q}", [q] * side**3, functions, BIG)


def crossword(size, words, letters, seed):
    """Words of a made-up dictionary across and down, each with a cost."""
    rng = random.Random(seed)
    lexicon = [tuple(min(rng.randrange(letters), rng.randrange(letters)) for _ in range(size)) for _ in range(words)]
    functions = [((i,), 0, [((w,), rng.randint(0, 99)) for w in range(words)]) for i in range(2 * size)]
    for row in range(size):
        for column in range(size):
            clash = pairs((words, words), lambda a, b: 0 if lexicon[a][column] == lexicon[b][row] else 50)
            functions.append(((row, size + column), 0, clash))
    write(f"crossword{size}x{words}", [words] * 2 * size, functions, HARD)


def design(n, d, seed):
    """Places in space, each with rotamers: close ones attract or repel each other, a few pairs are forbidden."""
    rng, functions = random.Random(seed), []
    place = [[rng.uniform(0, 4) for _ in range(3)] for _ in range(n)]
    for i in range(n):
        functions.append(((i,), 0, [((v,), rng.randint(0, 3000)) for v in range(d)]))
        for j in range(i):
            near = 1 / (0.3 + math.dist(place[i], place[j]) ** 2)
            if near > 0.15:
                soft = lambda: max(0, int(1000 + 900 * near * rng.gauss(0, 1)))
                cost = lambda a, b: HARD * 10 if rng.random() < 0.02 * near else soft()
                functions.append(((j, i), 0, pairs((d, d), cost)))
    write(f"design{n}x{d}", [d] * n, functions, HARD * 10)


def diagnosis(causes, findings, seed):
    """Rare causes and findings, each caused by a few (noisy or), as a Bayesian network with the findings observed."""
    rng, functions = random.Random(seed), []
    for v in range(causes):
        p = rng.uniform(0.01, 0.2)
        functions.append(([v], [1 - p, p]))
    for _ in range(findings):
        parents = sorted(rng.sample(range(causes), rng.randint(2, 9)))
        miss = [rng.uniform(0.05, 0.9) for _ in parents]
        absent = [0.97 * math.prod(m for m, x in zip(miss, values) if x)
                  for values in itertools.product((0, 1), repeat=len(parents))]
        functions.append((parents, [1 - p for p in absent] if rng.random() < 0.4 else absent))
    write_uai(f"diagnosis{causes}x{findings}", "MARKOV", [2] * causes, functions, 8)


def partial_tree(n, width, d, kept, seed):
    """A part of the edges of a graph of bounded width, which exact inference can solve."""
    rng = random.Random(seed)
    cliques, edges = [tuple(range(width))], set(itertools.combinations(range(width), 2))
    for v in range(width, n):
        base = rng.sample(cliques[rng.randrange(max(0, len(cliques) - 50), len(cliques))], width - 1)
        cliques.append(tuple(base) + (v,))
        edges |= {(u, v) for u in base}
    functions = [(edge, 0, pairs((d, d), lambda a, b: rng.randint(0, 99)))
                 for edge in sorted(edges) if rng.random() < kept]
    write(f"tree{n}x{width}", [d] * n, functions, BIG)


def hypergraph(n, d, functions, arity, seed):
    rng, written = random.Random(seed), []
    for _ in range(functions):
        rows = [(values, rng.randint(0, 99))
                for values in itertools.product(range(d), repeat=arity) if rng.random() < 0.7]
        written.append((tuple(sorted(rng.sample(range(n), arity))), 0, rows))
    write(f"hyper{n}x{d}x{arity}", [d] * n, written, BIG)


def machine(visible, hidden, seed):
    """A Boltzmann machine of two layers."""
    rng, n = random.Random(seed), visible + hidden
    functions = [([v], [1, math.exp(rng.gauss(0, 1))]) for v in range(n)]
    functions += [([a, b], [1, 1, 1, math.exp(rng.gauss(0, 1))]) for a in range(visible) for b in range(visible, n)]
    write_uai(f"boltzmann{visible}x{hidden}", "MARKOV", [2] * n, functions, 8)


def latin_square(order, given, seed):
    """A partial Latin square, completed at the least cost."""
    rng = random.Random(seed)
    symbols, rows, columns = (rng.sample(range(order), order) for _ in range(3))
    square = [[symbols[(a + b) % order] for b in columns] for a in rows]
    functions = []
    for i, j in itertools.product(range(order), repeat=2):
        fixed = rng.random() < given
        costs = [((v,), HARD if fixed and v != square[i][j] else rng.randint(0, 50)) for v in range(order)]
        functions.append(((i * order + j,), 0, costs))
    same = [((v, v), HARD) for v in range(order)]
    for i in range(order):
        for a, b in itertools.combinations(range(order), 2):
            functions += [((i * order + a, i * order + b), 0, same), ((a * order + i, b * order + i), 0, same)]
    write(f"latin{order}", [order] * order**2, functions, HARD)


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
parity_checks(400, 200, 6, 23)
parities(150, 300, 24)
roster(12, 14, 25)
coupled_chains(6, 60, 4, 26)
knapsacks(30, 5, 60, 27)
job_shop(6, 6, 50, 28)
denoising(100, 120, 24, 29)
lattice(16, 4, 30)
crossword(6, 250, 12, 31)
design(40, 40, 32)
diagnosis(250, 500, 33)
partial_tree(2000, 8, 4, 0.7, 34)
hypergraph(120, 3, 350, 4, 35)
machine(60, 90, 36)
latin_square(14, 0.3, 37)
routes(22, 38)
plan(14, 9, 2, 8, 39)
satisfiability("max3sat20000w", 40, 20000, 80000, 3, True)
with open(FOLDER / "MANIFEST.tsv", "w") as manifest:
    manifest.write("path\tformat\tbest_known\tcompanions\n")
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in (".wcsp", ".uai"))
    manifest.writelines(f"{path.name}\t{path.suffix[1:]}\t\t\n" for path in files)
