"""Scripts for pytoulbar2: results against enumeration, and against pytoulbar2 if it is installed."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import multiprocessing
import warnings

import fangs
import fangs.compat
import numpy as np
import pytest
from fangs.compat import CFN, Contradiction

TIME = 60
#: Scripts are closures, which only a fork has.
FORK = multiprocessing.get_context("fork")


def both(script):
    """Returns what a script returns here and, if it is installed, with pytoulbar2.

    Its options are global and it may crash, so that each script runs in a process of its own there.
    """
    ours = script(fangs.compat)
    if importlib.util.find_spec("pytoulbar2") is None:
        return [ours]
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=send, args=(script, sender))
    process.start()
    sender.close()
    try:
        theirs = receiver.recv() if receiver.poll(120) else None
    except EOFError:
        theirs = None
    process.kill()
    process.join()
    if theirs is None:
        warnings.warn("pytoulbar2 crashed or did not end", stacklevel=2)
        return [ours]
    return [ours, theirs[0]]


def send(script, sender):
    """Runs a script with pytoulbar2 and sends what it returns."""
    sender.send([script(importlib.import_module("pytoulbar2"))])


def agree(build):
    """Solves a problem here and with pytoulbar2; returns our result after the costs were compared."""
    ours, *others = both(lambda module: build(module).Solve(timeLimit=TIME))
    for other in others:
        assert (ours is None) == (other is None)
        assert ours is None or ours[1] == pytest.approx(other[1])
    return ours


def problem(module, ubinit=1000):
    cfn = module.CFN(ubinit=ubinit, resolution=2)
    cfn.AddVariable("x", range(3))
    cfn.AddVariable("y", range(2, 5))
    cfn.AddVariable("z", ["low", "mid", "high"])
    cfn.AddVariable("w", [0, 1, 3])
    cfn.AddFunction(["x"], [0, 1.25, 2])
    cfn.AddFunction(["x", "y"], [5, 1, 2, 0.5, 3, 9, 1, 1, 1])
    cfn.AddFunction([1, 2], [0, 7, 1, 4, 2, 2, 3, 1, 0])
    cfn.AddFunction(["y", "w"], [1, 0, 0, 2, 2, 4, 0, 1, 3, 0, 0, 0])
    cfn.AddCompactFunction(["x", "z"], 0.5, [[0, 0], [2, 2]], [4, 0])
    cfn.AddLinearConstraint([2, 1, -1], ["x", "y", "w"], ">=", 3)
    cfn.AddAllDifferent(["x", "y", "w"], encoding="binary")
    return cfn


def values_of(names=("x", "y", "z", "w")):
    domains = {"x": range(3), "y": range(2, 5), "z": range(3), "w": (0, 1, 3)}
    return itertools.product(*(domains[name] for name in names))


def cost_of(x, y, z, w):
    """The cost of an assignment of ``problem``; None if it is forbidden."""
    if 2 * x + y - w < 3 or len({x, y, w}) < 3:
        return None
    total = [0, 1.25, 2][x] + [[5, 1, 2], [0.5, 3, 9], [1, 1, 1]][x][y - 2]
    total += [[0, 7, 1], [4, 2, 2], [3, 1, 0]][y - 2][z]
    total += [[1, 0, 0, 2], [2, 4, 0, 1], [3, 0, 0, 0]][y - 2][w]
    return total + {(0, 0): 4, (2, 2): 0}.get((x, z), 0.5)


def test_a_script_has_its_optimum():
    cfn = problem(fangs.compat)
    solution, cost, count = cfn.Solve(timeLimit=TIME)
    costs = {values: cost_of(*values) for values in values_of()}
    assert cost == pytest.approx(min(own for own in costs.values() if own is not None))
    assert costs[tuple(solution)] == pytest.approx(cost)
    assert cfn.GetDDualBound() == pytest.approx(cost) and count == len(cfn.GetSolutions())
    assert cfn.GetSolutions()[-1] == (cost, solution) and cfn.Limit is None
    assert cfn.GetUB() == cost and cfn.CFN.wcsp.getDPrimalBound() == cost
    assert agree(problem)[1] == cost


def test_all_solutions_below_the_upper_bound():
    below = {values for values in values_of() if (cost := cost_of(*values)) is not None and cost < 3}

    def script(module):
        cfn = problem(module, ubinit=3)
        return cfn.Solve(allSolutions=1000), cfn.GetSolutions()

    for (values, cost, count), found in both(script):
        assert {tuple(own) for _, own in found} == below and count == len(found) == len(below)
        assert found[-1] == (cost, values)
    assert problem(fangs.compat, ubinit=3).Solve(allSolutions=1)[2] == 1
    assert problem(fangs.compat, ubinit=0.25).Solve(allSolutions=1) is None
    square = CFN()
    square.AddVariables(81, "cell", 1, 9)
    groups = [[9 * row + column for column in range(9)] for row in range(9)]
    groups += [[9 * row + column for row in range(9)] for column in range(9)]
    groups += [[9 * (3 * a + b) + 3 * c + d for b in range(3) for d in range(3)] for a in range(3) for c in range(3)]
    for group in groups:
        square.AddAllDifferent(group)
    square.MultipleAssign(range(9), [5, 3, 4, 6, 7, 8, 9, 1, 2])
    values, _, count = square.Solve(allSolutions=1, timeLimit=TIME)
    assert count == 1 and all({values[cell] for cell in group} == set(range(1, 10)) for group in groups)
    assert values[:9] == [5, 3, 4, 6, 7, 8, 9, 1, 2]


def test_symbolic_values_are_indices(capsys):
    def script(module):
        cfn = module.CFN(100, resolution=1)
        cfn.AddVariable("shirt", ["red", "green", "blue"])
        cfn.AddVariable("size", [5, 7])
        cfn.AddFunction(["shirt", "size"], [3, 9, 9, 2, 9, 9, 9, 1, 1.5])
        names = (cfn.GetValueName("shirt", 1), cfn.GetValueName("size", 1))
        numbers = (cfn.GetValue("size", 2), cfn.GetValueIndex("size", 7), cfn.GetDomainInitSize("size"))
        return names, numbers, cfn.Solve(timeLimit=TIME)[:2]

    for names, numbers, solution in both(script):
        assert (names, numbers, solution) == (("green", "v6"), (7, 2, 3), ([2, 7], 1.5))
    cfn = fangs.compat.CFN(100)
    cfn.AddVariable("shirt", ["red", "green"])
    cfn.AddVariable("size", [5, 6])
    cfn.AddFunction(["shirt", "size"], [3, 2, 1, 4])
    capsys.readouterr()
    assert cfn.Solve(showSolutions=3, timeLimit=TIME) == ([1, 5], 1.0, len(cfn.GetSolutions()))
    assert capsys.readouterr().out.splitlines()[-1] == "shirt=green size=v5"
    assert cfn.GetValueIndex("shirt", "green") == 1
    with pytest.raises(RuntimeError, match="red, green"):
        cfn.GetValueIndex("shirt", "blue")


def test_unlisted_integers_are_no_solutions():
    def build(module):
        cfn = module.CFN(100)
        cfn.AddVariable("v", [1, 4, 6])
        cfn.AddFunction(["v"], [5, 0, 0, 3, 0, 7])
        return cfn

    assert agree(build)[:2] == ([4], 3)
    assert build(fangs.compat).Domain("v") == [1, 4, 6] and build(fangs.compat).GetDomainInitSize("v") == 6


@pytest.mark.parametrize("operand", ["==", "<=", "<", ">=", ">"])
def test_linear_constraints(operand):
    def build(module):
        cfn = module.CFN(1000)
        for v in range(4):
            cfn.AddVariable(f"v{v}", range(-1, 3))
            cfn.AddFunction([v], [3 + v, 2, 6 - v, v])
        cfn.AddLinearConstraint([2, -3, 1, 1], ["v0", 1, "v2", "v0"], operand, 2)
        cfn.AddGeneralizedLinearConstraint([("v2", -1, 3), ("v3", 2, 2), ("v3", 0, 1)], operand, 2)
        cfn.AddSumConstraint(range(4), operand, 3)
        return cfn

    holds = {"==": lambda a, b: a == b, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b}
    holds |= {">=": lambda a, b: a >= b, ">": lambda a, b: a > b}

    def feasible(a, b, c, d):
        weighted = 3 * (c == -1) + 2 * (d == 2) + (d == 0)
        sums = ((3 * a - 3 * b + c, 2), (weighted, 2), (a + b + c + d, 3))
        return all(holds[operand](left, right) for left, right in sums)

    def cost(*values):
        return sum([3 + v, 2, 6 - v, v][value + 1] for v, value in enumerate(values))

    every = itertools.product(range(-1, 3), repeat=4)
    best = min((cost(*values) for values in every if feasible(*values)), default=None)
    ours = agree(build)
    assert (None if ours is None else ours[1]) == best
    assert ours is None or (feasible(*ours[0]) and cost(*ours[0]) == best)
    cfn = CFN()
    cfn.AddVariable("v", [1, 2])
    cfn.AddGeneralizedLinearConstraint([("v", 9, 5), ("v", 2, 1)], ">=", 1)
    assert cfn.Solve()[0] == [2], "values that the variable does not have are ignored"


def test_values_that_differ_and_numbers_of_values():
    def build(module):
        cfn = module.CFN(1000)
        domains = [range(3), range(1, 4), range(4), range(2, 4)]
        for v, domain in enumerate(domains):
            cfn.AddVariable(f"v{v}", domain)
            cfn.AddFunction([v], [(7 * v + 5 * value) % 6 for value in domain])
        cfn.AddAllDifferent(["v0", "v1", "v2"])
        cfn.AddAllDifferent(range(4), excepted=[3], encoding="binary")
        cfn.AddGlobalCardinalityConstraint(range(4), [(3, 1, 2), (1, 1, 1), (2, 0, 1)])
        return cfn

    def feasible(values):
        counts = [values.count(value) for value in range(4)]
        rest = [value for value in values if value != 3]
        bounds = 1 <= counts[3] <= 2 and counts[1] == 1 and counts[2] <= 1
        return len(set(values[:3])) == 3 and len(set(rest)) == len(rest) and bounds

    everything = itertools.product(range(3), range(1, 4), range(4), range(2, 4))
    best = min(sum((7 * v + 5 * value) % 6 for v, value in enumerate(own)) for own in everything if feasible(own))
    ours = agree(build)
    assert ours[1] == best and feasible(ours[0])


def test_an_encoding_in_place_of_excepted_values_is_an_encoding():
    cfn = CFN(100)
    cfn.AddVariables(3, "v", 0, 2)
    for v in range(3):
        cfn.AddFunction([v], [0, 1, 2])
    cfn.AddAllDifferent(range(3), "hungarian")
    assert cfn.Solve()[1] == 3
    with pytest.raises(RuntimeError, match="flow"):
        cfn.AddAllDifferent(range(3), "flow")


def test_many_functions_at_once():
    rng = np.random.default_rng(3)
    pairs = np.array([(0, 1), (1, 2), (2, 3), (0, 3)])
    tables, single = rng.integers(0, 20, size=(4, 3, 3)).astype(float), rng.integers(0, 9, size=(4, 3)).astype(float)
    same, triple = rng.integers(0, 9, size=(3, 3)).astype(float), rng.integers(0, 9, size=(3, 3, 3)).astype(float)

    def build(module):
        cfn = module.CFN(1000)
        cfn.AddVariables(4, "v", 0, 2)
        cfn.AddFunctions(np.arange(4), single)
        cfn.AddFunctions(pairs, tables)
        cfn.AddAkinFunctions(np.array([(0, 2), (3, 1)]), same)
        cfn.AddAkinFunctions(np.array([(0, 1, 2), (3, 2, 1)]), triple)
        return cfn

    def cost(v):
        total = sum(single[i, v[i]] for i in range(4)) + sum(table[v[a], v[b]] for (a, b), table in zip(pairs, tables))
        return total + same[v[0], v[2]] + same[v[3], v[1]] + triple[v[0], v[1], v[2]] + triple[v[3], v[2], v[1]]

    ours = agree(build)
    assert ours[1] == min(map(cost, itertools.product(range(3), repeat=4))) == cost(ours[0])


GLOBALS = {
    "samong": ("var", 70, 1, 2, 2, 1, 2),
    "wamong": ("hard", 250, 1, 2, 1, 1),
    "salldiff": ("dec", 90),
    "salldiffdp": ("var", 90),
    "walldiff": ("lin", 90),
    "sgcc": ("var", 60, 2, 1, 1, 1, 2, 0, 1),
    "wgcc": ("lin", 60, [2, [1, 1, 1], [2, 0, 1]]),
    "wsum": ("lin", 30, "<=", 4),
    "sregular": ("var", 80, 2, 1, 0, 2, 0, 1, 4, 0, 1, 1, 1, 2, 0, 1, 1, 1, 0, 2, 0),
    "ssame": (80, 2, 2, 0, 1, 2, 3),
}


#: The formulas of some of them, of values.
FORMULAS = {
    "samong": lambda x: 0.7 * max(0, 1 - sum(v in (1, 2) for v in x), sum(v in (1, 2) for v in x) - 2),
    "wamong": lambda x: 2.5 * (x.count(2) != 1),
    "salldiff": lambda x: 0.9 * sum(a == b for a, b in itertools.combinations(x, 2)),
    "salldiffdp": lambda x: 0.9 * (len(x) - len(set(x))),
    "sgcc": lambda x: 0.6 * max((x.count(1) == 0), max(x.count(1) - 1, 0) + max(x.count(2) - 1, 0)),
    "wsum": lambda x: 0.3 * max(0, sum(x) - 4),
}


def with_global(name, low):
    def build(module):
        cfn = module.CFN(100, resolution=2)
        for v in range(4):
            cfn.AddVariable(f"v{v}", range(low, low + 3))
            cfn.AddFunction([v], [(v * v + 3 * value) % 7 / 4 for value in range(3)])
        cfn.AddGlobalFunction([f"v{v}" for v in range(4)], name, *GLOBALS[name])
        return cfn

    return build


@pytest.mark.parametrize("name", GLOBALS)
def test_global_functions(name, tmp_path):
    ours = agree(with_global(name, 0))
    assert ours is not None and len(ours[0]) == 4
    with_global(name, 0)(fangs.compat).Dump(str(tmp_path / "p.cfn"))
    again = CFN(resolution=2)
    again.Read(tmp_path / "p.cfn")
    assert again.Solve(timeLimit=TIME)[1] == pytest.approx(ours[1])


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("low", [0, 1, 2])
def test_global_functions_of_values(name, low):
    # pytoulbar2 1.4.0.1 has other costs if domains do not begin at 0
    def cost(values):
        own = sum((v * v + 3 * (value - low)) % 7 / 4 for v, value in enumerate(values))
        return own + FORMULAS[name](values)

    cfn = with_global(name, low)(fangs.compat)
    values, found, _ = cfn.Solve(timeLimit=TIME)
    best = min(map(cost, itertools.product(range(low, low + 3), repeat=4)))
    assert found == pytest.approx(best) == cost(tuple(values)) and len(values) == 4


def test_global_functions_that_refer_to_variables():
    cfn = CFN()
    cfn.AddVariable("a", [1, 2])
    cfn.AddVariable("b", [0, 1])
    with pytest.raises(fangs.Unsupported, match="begin at 0"):
        cfn.AddGlobalFunction(["a", "b"], "max", 0, 1, 0, 1, 5)
    cfn.AddVariable("c", [-1, 0])
    with pytest.raises(fangs.UsageError, match="negative"):
        cfn.AddGlobalFunction(["c"], "wamong", "hard", 1, 1, 0, 0, 1)
    with pytest.raises(fangs.Unsupported, match="AddWeightedCSPConstraint"):
        cfn.AddGlobalFunction(["b"], "wcsp", 0, 1)


def test_the_cost_of_a_problem_in_bounds():
    def build(module):
        inner = module.CFN(resolution=1)
        for name in "abc":
            inner.AddVariable(name, range(2))
        inner.AddFunction(["a", "b"], [0, 1.5, 2, 4])
        inner.AddFunction(["b", "c"], [1, 0.5, 3, 0])
        outer = module.CFN(100, resolution=1, init=False)
        outer.AddVariable("a", range(2))
        outer.AddVariable("b", range(2))
        outer.AddFunction(["a", "b"], [0, 5, 1, 7.5])
        outer.AddWeightedCSPConstraint(inner, 1.5, 3)
        return outer

    def inner(a, b, c):
        return [0, 1.5, 2, 4][2 * a + b] + [1, 0.5, 3, 0][2 * b + c]

    within = [own for own in itertools.product(range(2), repeat=3) if 1.5 <= inner(*own) < 3]
    best = min([0, 5, 1, 7.5][2 * a + b] for a, b, _ in within)
    ours = agree(build)
    assert ours[1] == best and 1.5 <= inner(*ours[0]) < 3
    with pytest.raises(fangs.Unsupported, match="bilevel"):
        build(fangs.compat).AddWeightedCSPConstraint(build(fangs.compat), 0, 1, strongDuality=True)


def test_diverse_solutions():
    def build(module):
        cfn = module.CFN(100)
        cfn.AddVariables(4, "v", 1, 3)
        for v in range(4):
            cfn.AddFunction([v], [v, 2, 4 - v])
        return cfn

    cfn = build(fangs.compat)
    cfn.Solve(allSolutions=4, diversityBound=3)
    found = cfn.GetSolutions()
    assert len(found) >= 3 and found[0][0] == 4
    for place, (cost, values) in enumerate(found):
        far = [
            own
            for own in itertools.product(range(1, 4), repeat=4)
            if all(sum(a != b for a, b in zip(own, other, strict=True)) >= 3 for _, other in found[:place])
        ]
        price = lambda own: sum((v, 2, 4 - v)[x - 1] for v, x in enumerate(own))  # noqa: E731
        assert tuple(values) in far and cost == price(values) == min(map(price, far))
    cfn = build(fangs.compat)
    first = cfn.Solve(allSolutions=3, diversityBound=2)
    assert cfn.Solve()[1] == 4 and first[2] == 3, "the constraints of diversity are gone afterwards"


def test_files(tmp_path):
    problem(fangs.compat).Dump(str(tmp_path / "p.cfn"))
    best = problem(fangs.compat).Solve(timeLimit=TIME)

    def script(module):
        again = module.CFN(resolution=2)
        again.Read(str(tmp_path / "p.cfn"))
        return again.GetNbVars(), again.Solve(timeLimit=TIME)[1]

    for variables, cost in both(script):
        assert variables == 4 and cost == pytest.approx(best[1])
    again = CFN(resolution=2)
    again.Read(tmp_path / "p.cfn")
    assert again.GetValueName("y", 0) == "v2" and again.Domain("y") == [0, 1, 2]
    again.AddFunction(["x"], [again.Top, again.Top, 0])
    again.Remove("z", 0)
    expected = min(
        cost for values in values_of() if values[0] == 2 and values[2] and (cost := cost_of(*values)) is not None
    )
    assert again.Solve(timeLimit=TIME)[1] == pytest.approx(expected)
    with pytest.raises(fangs.UsageError, match="no further variables"):
        again.AddVariable("more", [0, 1])
    with pytest.raises(ValueError, match=r"\.wcsp or \.cfn"):
        again.Dump("p.uai")


def test_solutions_in_files(tmp_path):
    cfn = problem(fangs.compat)
    path = tmp_path / "solution.txt"
    values, cost, _ = cfn.Solve(writeSolution=str(path))
    assert path.read_text().split() == [str(value) for value in values]
    cfn.Solve(allSolutions=5, writeSolution=str(path))
    assert len(path.read_text().splitlines()) == 5
    assert cfn.Solve(bestSol=cost + 5)[1] <= cost + 5


def test_limits_of_time():
    rng = np.random.default_rng(1)
    cfn = CFN()
    cfn.AddVariables(120, "v", 0, 19)
    pairs = np.array(list(itertools.combinations(range(120), 2)))
    cfn.AddFunctions(pairs, rng.integers(0, 1000, size=(len(pairs), 20, 20)))
    cfn.CFN.timer(1.5)
    assert cfn.Solve() is not None and isinstance(cfn.Limit, cfn.SolverOut)
    assert cfn.GetDDualBound() <= cfn.GetUB() and cfn.GetNbNodes() > 0
    assert problem(fangs.compat).Solve(timeLimit=TIME) is not None


def test_no_preprocessing_and_no_solution():
    def build(module):
        cfn = problem(module, ubinit=100)
        cfn.NoPreprocessing()
        return cfn

    agree(build)
    assert agree(lambda module: problem(module, ubinit=0.25)) is None

    def constant(module):
        cfn = module.CFN(2)
        cfn.AddVariable("v", range(2))
        cfn.AddFunction([], 1)
        return cfn

    assert agree(constant)[1] == 1


def search(cfn):
    """Branch and bound by Store, Assign and Restore; returns the best cost, and leaves the problem as it was."""
    best, depth = math.inf, cfn.Depth()

    def visit(v):
        nonlocal best
        if v == cfn.GetNbVars():
            best = min(best, cfn.GetLB())
            cfn.UbInit = best
            return
        for value in cfn.Domain(v):
            own = cfn.Depth()
            cfn.Store()
            try:
                cfn.Assign(v, value)
                visit(v + 1)
            except Contradiction:
                cfn.ClearPropagationQueues()
            cfn.Restore(own)

    visit(0)
    assert cfn.Depth() == depth
    return best


def test_a_search_of_the_user():
    cfn = problem(fangs.compat)
    optimum = cfn.Solve()[1]
    assert cfn.SolveFirst() > optimum
    assert search(cfn) == pytest.approx(optimum)
