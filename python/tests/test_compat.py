"""Scripts for pytoulbar2, compared with it if it is installed."""

from __future__ import annotations

import importlib
import itertools
import math

import fangs
import pytest
from fangs.compat import CFN


def problem(module, ubinit=1000):
    cfn = module(ubinit=ubinit, resolution=2)
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


def test_a_script_has_its_optimum():
    cfn = problem(CFN)
    solution, cost, count = cfn.Solve(timeLimit=20)
    costs = {}
    for x, y, z, w in itertools.product(range(3), range(2, 5), range(3), [0, 1, 3]):
        if 2 * x + y - w < 3 or len({x, y, w}) < 3:
            continue
        total = [0, 1.25, 2][x] + [5, 1, 2, 0.5, 3, 9, 1, 1, 1][3 * x + y - 2]
        total += [0, 7, 1, 4, 2, 2, 3, 1, 0][3 * (y - 2) + z] + [1, 0, 0, 2, 2, 4, 0, 1, 3, 0, 0, 0][4 * (y - 2) + w]
        total += {(0, 0): 4, (2, 2): 0}.get((x, z), 0.5)
        costs[x, y, ["low", "mid", "high"][z], w] = total
    assert cost == pytest.approx(min(costs.values())) and costs[tuple(solution)] == pytest.approx(cost)
    assert cfn.GetDDualBound() == pytest.approx(cost) and count == len(cfn.GetSolutions())
    assert cfn.GetSolutions()[-1] == (cost, solution)


def test_pytoulbar2_agrees():
    theirs = pytest.importorskip("pytoulbar2")
    ours, other = problem(CFN).Solve(timeLimit=20), problem(theirs.CFN).Solve(timeLimit=20)
    assert other is not None and ours[1] == pytest.approx(other[1])
    counts = [problem(module, ubinit=6).Solve(allSolutions=1000)[2] for module in (CFN, theirs.CFN)]
    assert counts == [8, 8]


def test_files(tmp_path):
    problem(CFN).Dump(tmp_path / "p.cfn")
    again = CFN(resolution=2)
    again.Read(tmp_path / "p.cfn")
    assert again.GetNbVars() == 4
    assert again.Solve(timeLimit=20)[1] == pytest.approx(problem(CFN).Solve(timeLimit=20)[1])


def test_bounds_and_globals():
    cfn = CFN(ubinit=3)
    cfn.AddVariables(4, "v", 0, 2)
    cfn.AddSumConstraint(range(4), "<=", 4)
    cfn.AddGlobalCardinalityConstraint(range(4), [(1, 2, 4)])
    cfn.AddGeneralizedLinearConstraint([("v0", 2, 1), ("v1", 2, 1)], "==", 1)
    for v in range(4):
        cfn.AddFunction([v], [1, 0, 2])
    # two are 1, one of the first two is 2, and the last one may be 0: with it, 2 + 0 + 0 is not below 3
    assert cfn.Solve(timeLimit=10) is None or cfn.Solve(timeLimit=10)[1] < 3
    relaxed = CFN()
    relaxed.AddVariables(2, "v", 0, 1)
    relaxed.AddFunction([0, 1], [math.inf, 3, 4, math.inf])
    assert relaxed.Solve()[:2] == ([0, 1], 3)


def test_all_solutions_below_the_upper_bound():
    cfn = problem(CFN, ubinit=3)
    values, cost, count = cfn.Solve(allSolutions=100)
    found = cfn.GetSolutions()
    assert count == len(found) == len({tuple(values) for _, values in found}) and cfn.Limit is None
    assert (cost, values) in found and cost == min(cost for cost, _ in found) == cfn.Solve()[1]
    assert all(own < 3 for own, _ in found)
    assert problem(CFN, ubinit=3).Solve(allSolutions=1)[2] == 1


def test_what_is_not_offered_is_refused():
    cfn = problem(CFN)
    with pytest.raises(fangs.Unsupported):
        cfn.Solve(diversityBound=10)
    with pytest.raises(fangs.Unsupported):
        cfn.AddFunction(["x"], [0, 0, 0], incremental=True)
    with pytest.raises(RuntimeError, match="already"):
        cfn.AddVariable("x", [1])
    assert not hasattr(importlib.import_module("fangs.compat").CFN, "Deconnect")
