"""Families of planning: facility location, one machine, exams, rosters, knapsacks, job shops, tours, plans."""
import itertools, math, random

from networks import BIG, HARD, pairs, write


def warehouses(count, stores, seed):
    rng = random.Random(seed)
    houses = [(rng.random(), rng.random()) for _ in range(count)]
    places = [(rng.random(), rng.random()) for _ in range(stores)]
    functions = [((i,), 0, [((1,), rng.randint(4000, 9000))]) for i in range(count)]
    for k, place in enumerate(places, count):
        demand = rng.randint(5, 40)
        costs = [int(demand * 1000 * math.dist(house, place) / 3) for house in houses]
        functions.append(((k,), 0, [((i,), cost) for i, cost in enumerate(costs)]))
        functions += [((i, k), 0, [((0, i), BIG)]) for i in range(count)]
    write(f"warehouse{count}x{stores}", [2] * count + [count] * stores, functions, BIG)


def one_machine(jobs, horizon, seed):
    """Jobs on one machine with costs of earliness and tardiness; no two at a time."""
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


def roster(nurses, days, seed):
    """Shifts off, early, late, night; at most five days of work in sequence, no morning after a night; wishes, and the
    numbers needed each day, counted along chains of sums."""
    rng, domains, functions = random.Random(seed), [], []
    add = lambda size: domains.append(size) or len(domains) - 1
    shift = [[add(4) for _ in range(days)] for _ in range(nurses)]
    for person in shift:
        run = [add(6) for _ in range(days)]
        for day, at in enumerate(person):
            functions.append(((at,), 0, [((v,), rng.choice((0, 0, 1, 3, 8))) for v in range(4)]))
            if day == 0:
                functions.append(((at, run[0]), HARD, [((v, int(v > 0)), 0) for v in range(4)]))
                continue
            rows = [((r, v, r + 1 if v else 0), 0) for r in range(6) for v in range(4) if not v or r < 5]
            functions.append(((run[day - 1], at, run[day]), HARD, rows))
            functions.append(((person[day - 1], at), 0, [((3, 1), HARD), ((3, 2), 5), ((2, 1), 4)]))
    for day in range(days):
        for kind in 1, 2, 3:
            need, sums = nurses // 5 + rng.randint(-1, 1), None
            for k, person in enumerate(shift):
                total = add(k + 2)
                before = [(sums, s) for s in range(k + 1)] if sums is not None else [(None, 0)]
                rows = [(((s,) if at is not None else ()) + (v, s + int(v == kind)), 0)
                        for at, s in before for v in range(4)]
                functions.append((((sums,) if sums is not None else ()) + (person[day], total), HARD, rows))
                sums = total
            cost = lambda v: 20 * max(0, need - v) + 2 * max(0, v - need)
            functions.append(((sums,), 0, [((v,), cost(v)) for v in range(nurses + 1)]))
    write(f"roster{nurses}x{days}", domains, functions, HARD)


def knapsacks(items, rows, room, seed):
    """Several capacity constraints, each a sum along a chain."""
    rng, domains = random.Random(seed), [2] * items
    functions = [((i,), 0, [((0,), rng.randint(20, 99))]) for i in range(items)]
    for _ in range(rows):
        before = None
        for i in range(items):
            weight = rng.randint(1, room // 5)
            total = len(domains)
            domains.append(room + 1)
            if before is None:
                functions.append(((i, total), HARD, [((0, 0), 0), ((1, weight), 0)]))
            else:
                feasible = [((x, s, s + x * weight), 0)
                            for s in range(room + 1) for x in (0, 1) if s + x * weight <= room]
                functions.append(((i, before, total), HARD, feasible))
            before = total
    write(f"knapsack{items}x{rows}", domains, functions, HARD)


def job_shop(jobs, machines, horizon, seed):
    """Jobs on several machines; the makespan is minimised."""
    rng, functions = random.Random(seed), []
    lengths = {(j, m): rng.randint(1, 6) for j in range(jobs) for m in range(machines)}
    orders = [rng.sample(range(machines), machines) for _ in range(jobs)]
    at = lambda j, m: j * machines + m
    end = jobs * machines
    ordered = lambda feasible: pairs((horizon, horizon), lambda t, u: 0 if feasible(t, u) else HARD)
    for j, order in enumerate(orders):
        for m, following in itertools.pairwise(order):
            functions.append(((at(j, m), at(j, following)), 0, ordered(lambda t, u: t + lengths[j, m] <= u)))
        functions.append(((at(j, order[-1]), end), 0, ordered(lambda t, u: t + lengths[j, order[-1]] <= u)))
    for m in range(machines):
        for i, j in itertools.combinations(range(jobs), 2):
            apart = lambda t, u: t + lengths[i, m] <= u or u + lengths[j, m] <= t
            functions.append(((at(i, m), at(j, m)), 0, ordered(apart)))
    functions.append(((end,), 0, [((t,), t) for t in range(horizon)]))
    write(f"jobshop{jobs}x{machines}", [horizon] * (end + 1), functions, HARD)


def routes(n, seed):
    """A travelling salesman: the place visited at each step."""
    rng = random.Random(seed)
    place = [(rng.random(), rng.random()) for _ in range(n)]
    length = [[int(1000 * math.dist(a, b)) for a in place] for b in place]
    functions = []
    for a, b in itertools.combinations(range(n), 2):
        beside = b - a in (1, n - 1)
        functions.append(((a, b), 0, pairs((n, n), lambda x, y: HARD if x == y else length[x][y] if beside else 0)))
    write(f"routes{n}", [n] * n, functions, HARD)


def plan(steps, places, trucks, parcels, seed):
    """Trucks carry parcels along roads: a place or a truck for each parcel at each step."""
    rng, functions, domains = random.Random(seed), [], []
    roads = {(a, a) for a in range(places)} | {(a, (a + k) % places) for a in range(places) for k in (1, places - 1)}
    roads |= {(a, b) for a in range(places) for b in range(places) if rng.random() < 0.1}
    fuel = {road: 0 if road[0] == road[1] else rng.randint(1, 9) for road in sorted(roads)}
    truck = lambda t, step: step * (trucks + parcels) + t
    parcel = lambda p, step: step * (trucks + parcels) + trucks + p
    for step in range(steps):
        domains += [places] * trucks + [places + trucks] * parcels
    for t in range(trucks):
        functions.append(((truck(t, 0),), HARD, [((rng.randrange(places),), 0)]))
        for step in range(steps - 1):
            functions.append(((truck(t, step), truck(t, step + 1)), HARD, list(fuel.items())))
    for p in range(parcels):
        start, goal = rng.sample(range(places), 2)
        functions += [((parcel(p, 0),), HARD, [((start,), 0)]), ((parcel(p, steps - 1),), HARD, [((goal,), 0)])]
        for step in range(steps - 1):
            moves = [((v, v), 0) for v in range(places + trucks)]
            moves += [(move, 1) for a in range(places) for t in range(trucks)
                      for move in ((a, places + t), (places + t, a))]
            functions.append(((parcel(p, step), parcel(p, step + 1)), HARD, moves))
            for t in range(trucks):
                wrong = [((x, v, w), HARD) for x in range(places) for a in range(places) if a != x
                         for v, w in ((a, places + t), (places + t, a))]
                functions.append(((truck(t, step), parcel(p, step), parcel(p, step + 1)), 0, wrong))
    write(f"plan{steps}x{parcels}", domains, functions, HARD)
