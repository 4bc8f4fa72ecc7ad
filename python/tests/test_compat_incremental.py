"""Problems that change between searches, and weighted sums of problems, with pytoulbar2's interface."""

from __future__ import annotations

import itertools
import random

import fangs
import fangs.compat
import numpy as np
import pytest
from fangs.compat import CFN, MultiCFN
from test_compat import agree, both

DOMAIN = range(1, 4)


def chain(module, ubinit=1000):
    cfn = module.CFN(ubinit)
    for v in range(4):
        cfn.AddVariable(f"x{v}", DOMAIN)
        cfn.AddFunction([v], [v, (2 * v) % 3, (v * v) % 4])
    for v in range(3):
        cfn.AddFunction([v, v + 1], [3, 1, 4, 1, 5, 9, 2, 6, 5])
    return cfn


def cost(values):
    total = sum([v, (2 * v) % 3, (v * v) % 4][value - 1] for v, value in enumerate(values))
    return total + sum([3, 1, 4, 1, 5, 9, 2, 6, 5][3 * a + b - 4] for a, b in itertools.pairwise(values))


def best(feasible, extra=lambda values: 0):
    found = [cost(own) + extra(own) for own in itertools.product(DOMAIN, repeat=4) if feasible(own)]
    return min(found, default=None)


CHANGES = [
    (lambda cfn: None, lambda v: True),
    (lambda cfn: cfn.Assign("x1", 3), lambda v: v[1] == 3),
    (lambda cfn: cfn.Remove("x1", 2), lambda v: v[1] != 2),
    (lambda cfn: cfn.Increase(2, 2), lambda v: v[2] >= 2),
    (lambda cfn: cfn.Decrease("x3", 2), lambda v: v[3] <= 2),
    (lambda cfn: cfn.MultipleAssign([0, "x3"], [2, 3]), lambda v: (v[0], v[3]) == (2, 3)),
    (lambda cfn: cfn.Parse(",0=2,1#1,2<3,3>1"), lambda v: v[0] == 2 and v[1] != 1 and v[2] < 3 and v[3] > 1),
    (lambda cfn: (cfn.Assign(0, 1), cfn.Assign(0, 2)), lambda v: False),
    (lambda cfn: cfn.SetUB(3), lambda v: cost(v) < 3),
]


@pytest.mark.parametrize("change, feasible", CHANGES)
def test_changes_before_a_search(change, feasible):
    def script(module):
        cfn = chain(module)
        try:
            change(cfn)
            return cfn.Solve(timeLimit=60)
        except cfn.Contradiction:
            return None

    for result in both(script):
        assert (None if result is None else result[1]) == best(feasible)


@pytest.mark.parametrize("change, feasible", CHANGES)
def test_changes_between_searches(change, feasible):
    def script(module):
        cfn = chain(module)
        limit, results = cfn.SolveFirst(), []
        for _ in range(2):
            cfn.Store()
            try:
                cfn.SetUB(limit)
                change(cfn)
                results.append(cfn.SolveNext())
            except cfn.Contradiction:
                cfn.ClearPropagationQueues()
                results.append(None)
            cfn.Restore(0)
        return limit, results, [cfn.Domain(v) for v in range(4)]

    (limit, results, domains), *others = both(script)
    assert domains == script(fangs.compat)[2] and limit > best(lambda v: True)
    for result in results:
        assert (None if result is None else result[1]) == best(feasible)
        assert result is None or (feasible(result[0]) and cost(result[0]) == result[1] and result[2] is None)
    for low, theirs, _ in others:
        # their bound is close to the optimum, and excludes worse solutions
        expected = [None if own is None or own[1] >= low else own[1] for own in results]
        assert [None if own is None else own[1] for own in theirs] == expected


def test_the_upper_bound_falls_to_the_solution():
    def script(module):
        cfn = chain(module)
        first = cfn.SolveFirst()
        return first, cfn.SolveNext()[1], cfn.GetUB(), cfn.SolveNext()

    for first, found, bound, then in both(script):
        assert first > found == bound == best(lambda v: True) and then is None
    assert chain(fangs.compat, ubinit=3).SolveFirst() is None


def test_functions_that_are_taken_back():
    extra = [7, 0, 2, 5, 9, 1, 0, 3, 8]
    expected = best(lambda v: True, lambda v: extra[3 * v[0] + v[3] - 4])
    cfn = chain(fangs.compat)
    cfn.SolveFirst()
    for _ in range(3):
        cfn.Store()
        cfn.SetUB(1000)
        cfn.AddFunction(["x0", "x3"], extra, incremental=True)
        assert cfn.SolveNext(initHeuristics=False)[1] == expected
        cfn.Restore(0)
        cfn.SetUB(1000)
        assert cfn.SolveNext()[1] == best(lambda v: True)


def test_disconnected_variables():
    cfn = chain(fangs.compat)
    cfn.SolveFirst()
    cfn.Store()
    cfn.Deconnect("x3")
    values, found, _ = cfn.SolveNext()
    last = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    rest = min(cost((*own, 1)) - last[3 * own[2] - 3] for own in itertools.product(DOMAIN, repeat=3))
    # x3 keeps its least unary cost, 0 for the value 2
    assert values[3] == 2 and found == rest - 3
    cfn.Restore(0)
    cfn.SetUB(1000)
    assert cfn.SolveNext()[1] == best(lambda v: True)


def grids(module, weights=((1, 4.125), (5, 0), (3, 2)), others=((0, 2), (1, 3.5), (4, 0.25)), names=False):
    for own in (weights, others):
        cfn = module.CFN(90, resolution=3)
        for v in range(3):
            cfn.AddVariable(f"v{v}", ["a", "b"] if names else range(1, 3))
            cfn.AddFunction([v], list(own[v]))
        cfn.AddFunction([0, 1], [0, 1, 1, 90])
        yield cfn


def multi(module, second=0.5, **options):
    one, other = grids(module, **options)
    combined = module.MultiCFN()
    combined.PushCFN(one)
    combined.PushCFN(other, second)
    return combined, (one, other)


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("weights", [(1, 0.5), (-1, 1), (0.25, 3)])
def test_weighted_sums(weights, names):
    def script(module):
        combined, keep = multi(module, names=names)
        for place, weight in enumerate(weights):
            combined.SetWeight(place, weight)
        indices = combined.GetNbCFN(), combined.GetVariableIndex("v1"), combined.GetVariableIndex("none")
        cfn = module.CFN()
        cfn.InitFromMultiCFN(combined)
        return indices, cfn.Solve(timeLimit=60), combined.GetSolution(), combined.GetSolutionCosts(), len(keep)

    results = both(script)
    for indices, (values, found, _), solution, costs, _ in results:
        assert indices == (2, 1, -1)
        assert found == pytest.approx(sum(weight * own for weight, own in zip(weights, costs, strict=True)))
        assert solution == {f"v{v}": ("ab"[x] if names else f"v{x + 1}") for v, x in enumerate(values)}
        assert found == pytest.approx(results[0][1][1])


@pytest.mark.parametrize(
    "chosen",
    [
        {"vars": [0, 1]},
        {"vars": ["v0"]},
        {"scopes": [{0}, {"v0", "v1"}]},
        {"constrs": [0, 1, 2]},
        {"scopes": [set(), {0}]},
    ],
)
def test_parts_of_weighted_sums(chosen):
    def script(module):
        combined, keep = multi(module)
        cfn = module.CFN()
        cfn.InitFromMultiCFN(combined, **chosen)
        return sorted(cfn.Variables), cfn.Solve(timeLimit=60)[1], len(keep)

    results = both(script)
    assert all(names == results[0][0] and found == pytest.approx(results[0][1]) for names, found, _ in results)


def supported(points):
    """The corners of the convex hull of the pairs that no other pair dominates, both minimised, by comparing all."""
    front = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    weights = [(b - d, c - a) for (a, b), (c, d) in itertools.permutations(front, 2) if b > d and c > a]
    weights += [(1.0, 1e-6), (1e-6, 1.0)]
    corners = set()
    for u, v in weights:
        # corners are the only best pairs of some weights, so the weights are moved a little to both sides
        for moved in ((u * 1.000001, v), (u, v * 1.000001)):
            corners.add(min(front, key=lambda p: moved[0] * p[0] + moved[1] * p[1]))
    return corners


@pytest.mark.parametrize("directions", [("min", "min"), ("min", "max"), ("max", "min"), ("max", "max")])
def test_pareto_fronts(directions):
    rng = random.Random(4)
    tables = [[[rng.randrange(20) / 4 for _ in range(2)] for _ in range(3)] for _ in range(2)]

    def points(values):
        return tuple(sum(table[v][x] for v, x in enumerate(values)) + values.count(1) % 2 * 0.5 for table in tables)

    signs = [1 if direction == "min" else -1 for direction in directions]
    every = {points(values) for values in itertools.product(range(2), repeat=3)}
    signed = {(a * signs[0], b * signs[1]) for a, b in every}
    expected = sorted((a * signs[0], b * signs[1]) for a, b in supported(signed))

    def script(module):
        keep, combined = [], module.MultiCFN()
        for table in tables:
            cfn = module.CFN(100, resolution=2)
            for v in range(3):
                cfn.AddVariable(f"v{v}", range(2))
                cfn.AddFunction([v], table[v])
            parity = [sum(own) % 2 * 0.5 for own in itertools.product(range(2), repeat=3)]
            cfn.AddFunction([0, 1, 2], parity)
            combined.PushCFN(cfn)
            keep.append(cfn)
        return combined.ApproximateParetoFront(0, directions[0], 1, directions[1])

    fronts = []
    for solutions, front in both(script):
        for own, point in zip(solutions, front, strict=True):
            assert points([int(own[f"v{v}"][1:]) for v in range(3)]) == pytest.approx(point)
        fronts.append([tuple(map(float, point)) for point in front])
    assert np.array(fronts[0]) == pytest.approx(np.array(expected))
    # pytoulbar2 may add pairs on the edges of the hull
    assert all(set(map(tuple, np.round(fronts[0], 6))) <= set(map(tuple, np.round(own, 6))) for own in fronts)


def test_what_weighted_sums_refuse():
    combined, _ = multi(fangs.compat)
    with pytest.raises(fangs.UsageError, match="no solution"):
        combined.GetSolution()
    with pytest.raises(fangs.UsageError, match="min or max"):
        combined.ApproximateParetoFront(0, "least", 1, "min")
    other = CFN()
    other.AddVariable("v0", range(5))
    with pytest.raises(fangs.UsageError, match="v0 has other values"):
        combined.PushCFN(other)
    cfn = CFN()
    with pytest.raises(fangs.UsageError, match="no variable"):
        cfn.InitFromMultiCFN(combined, vars=["none"])
    cfn.InitFromMultiCFN(combined, vars=["v0"])
    assert cfn.Solve() is not None and set(combined.GetSolution()) == {"v0"}
    with pytest.raises(fangs.Unsupported, match="no costs"):
        combined.GetSolutionCosts()


def test_weighted_sums_of_files_and_global_functions(tmp_path):
    one, other = grids(fangs.compat)
    one.Dump(tmp_path / "one.cfn")
    again = CFN(resolution=3)
    again.Read(tmp_path / "one.cfn")
    other.AddLinearConstraint([1, 1, 1], range(3), ">=", 5)
    combined = MultiCFN()
    combined.PushCFN(again, 2)
    combined.PushCFN(other)
    cfn = CFN()
    cfn.InitFromMultiCFN(combined)
    values, found, _ = cfn.Solve()
    assert sum(values) >= 2, "values are indices in the combination"
    assert found == pytest.approx(2 * combined.GetSolutionCosts()[0] + combined.GetSolutionCosts()[1])


def test_changes_agree_with_pytoulbar2():
    def build(module):
        cfn = chain(module)
        cfn.Remove("x1", 2)
        cfn.Increase("x2", 2)
        return cfn

    assert agree(build)[1] == best(lambda v: v[1] != 2 and v[2] >= 2)
