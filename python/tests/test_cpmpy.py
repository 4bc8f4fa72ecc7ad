"""CPMpy's models, compared with another of its solvers and with all assignments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

cp = pytest.importorskip("cpmpy")

import fangs.cpmpy  # noqa: E402
from cpmpy.exceptions import NotSupportedError  # noqa: E402
from cpmpy.solvers.solver_interface import ExitStatus  # noqa: E402
from fangs.cpmpy import CPM_fangs  # noqa: E402


def test_a_puzzle_of_letters():
    s, e, n, d, m, o, r, y = cp.intvar(0, 9, shape=8)
    model = cp.Model(
        cp.AllDifferent([s, e, n, d, m, o, r, y]),
        s * 2 + e + n - d == 12,
        m > 0,
        o + r <= 4,
        y == s - 1,
    )
    solver = CPM_fangs(model)
    assert solver.solve(time_limit=30)
    assert all(constraint.value() for constraint in model.constraints)


def test_queens():
    queens = cp.intvar(1, 8, shape=8)
    model = cp.Model(
        cp.AllDifferent(queens),
        cp.AllDifferent(queens + np.arange(8)),
        cp.AllDifferent(queens - np.arange(8)),
    )
    assert CPM_fangs(model).solve(time_limit=30)
    assert all(constraint.value() for constraint in model.constraints)


def test_a_knapsack_and_its_bound():
    rng = np.random.default_rng(3)
    weights, values = rng.integers(3, 20, size=18), rng.integers(1, 40, size=18)
    taken = cp.boolvar(shape=18)
    model = cp.Model(cp.sum(taken * weights) <= 60, maximize=cp.sum(taken * values))
    solver = CPM_fangs(model)
    assert solver.solve(time_limit=30)
    assert solver.status().exitstatus.name == "OPTIMAL"
    # the optimum by dynamic programming
    best = np.zeros(61, dtype=int)
    for weight, value in zip(weights, values, strict=True):
        best[weight:] = np.maximum(best[weight:], best[: 61 - weight] + value)
    assert solver.objective_value() == best[60] == solver.objective_bound()
    assert sum(int(v) for v, t in zip(values, taken, strict=True) if t.value()) == best[60]


def test_constraints_that_hold_under_conditions():
    x = cp.intvar(0, 5, shape=4)
    b = cp.boolvar(shape=3)
    model = cp.Model(
        b[0] == (cp.sum(x) >= 12),
        b[1].implies(x[0] > x[1]),
        (x[2] == 3) | b[2],
        ~b[2] & b[0],
        cp.max(x) <= 4,
        cp.Count(x, 3) >= 2,
        cp.any([x[3] != 3, b[1]]),
        minimize=cp.sum(x) + 3 * b[1] - abs(x[0] - x[1]),
    )
    solver = CPM_fangs(model)
    assert solver.solve(time_limit=30) and solver.status().exitstatus.name == "OPTIMAL"
    assert all(constraint.value() for constraint in model.constraints)
    found = solver.objective_value()
    assert cp.Model(model.constraints, minimize=model.objective_).solve(solver="ortools", time_limit=30)
    assert found == model.objective_.value()


def test_many_variables_under_one_bit():
    x = cp.intvar(0, 3, shape=12)
    b, c = cp.boolvar(shape=2)
    for value in (0, 1):
        model = cp.Model(b == (cp.sum(x) >= 20), c == ~(cp.sum(x) <= 5), b == value, minimize=cp.sum(x) - 2 * c)
        solver = CPM_fangs(model)
        assert solver.solve(time_limit=60)
        assert solver.objective_value() == (18 if value else 0)
        assert all(constraint.value() for constraint in model.constraints)


def test_conditions_on_what_is_undefined():
    x = cp.intvar(-3, 3, shape=3)
    for term in (x[0] // x[1], x[0] % x[1]):
        # no comparison with a division by zero is true
        model = cp.Model(term != x[2], minimize=cp.sum(x) + 5 * abs(x[1]))
        solver = CPM_fangs(model)
        assert solver.solve(time_limit=10) and solver.status().exitstatus.name == "OPTIMAL"
        assert x[1].value() != 0 and model.constraints[0].value()
    # too many values for a single table
    y = cp.intvar(-10, 10, shape=3)
    for values in ((-10, 3, -3), (10, -3, -3)):
        assert CPM_fangs(cp.Model(y[0] // y[1] == y[2], [a == b for a, b in zip(y, values, strict=True)])).solve()


def test_bits_of_equalities_of_many_variables():
    x = cp.intvar(0, 3, shape=9)
    b, c, d = cp.boolvar(shape=3)
    for bits in ([0, 1, 0], [1, 0, 1], [0, 1, 1]):
        model = cp.Model(
            b == (cp.sum(x) == 15),
            c == (cp.sum(x) != 15),
            d.implies(cp.sum(x) != 14),
            *[bit == value for bit, value in zip((b, c, d), bits, strict=True)],
            cp.sum(x) >= 14,
            minimize=cp.sum(x),
        )
        solver = CPM_fangs(model)
        assert solver.solve(time_limit=5)
        assert solver.objective_value() == {(0, 0): 14, (1, 1): 15, (0, 1): 16}[bits[0], bits[2]]
        assert all(constraint.value() for constraint in model.constraints)


def test_constraints_that_have_a_decomposition_alone():
    class Odd(cp.expressions.globalconstraints.GlobalConstraint):
        def __init__(self, x):
            super().__init__("odd", (x,))

        def decompose(self):
            return [self.args[0] % 2 == 1], []

    x = cp.intvar(0, 7)
    assert CPM_fangs(cp.Model(Odd(x), maximize=x)).solve(time_limit=10) and x.value() == 7


def test_tables_and_hints():
    x = cp.intvar(2, 9, shape=3)
    rows = [[2, 3, 4], [5, 5, 5], [9, 9, 9], [1, 1, 1]]
    model = cp.Model(cp.Table(x, rows), maximize=x[0] - 2 * x[1])
    solver = CPM_fangs(model)
    solver.solution_hint(x, [9, 9, 9])
    seen = []
    assert solver.solve(time_limit=10, display=lambda: seen.append(x[0].value()))
    assert solver.objective_value() == -4 and seen[0] == 9 and seen[-1] == 2


def test_all_solutions():
    x = cp.intvar(0, 3, shape=3)
    solver = CPM_fangs(cp.Model(cp.AllDifferent(x), x[0] < x[1]))
    # solving does not change the solver
    for limit, count in [(None, 12), (5, 5), (None, 12)]:
        shown = set()
        assert solver.solveAll(lambda: shown.add(tuple(x.value())), time_limit=60, solution_limit=limit) == count
        assert len(shown) == count and all(len(set(row)) == 3 and row[0] < row[1] for row in shown)
        wanted = ExitStatus.OPTIMAL if limit is None else ExitStatus.FEASIBLE
        assert solver.status().exitstatus == wanted
    assert CPM_fangs(cp.Model(x[0] < 0)).solveAll() == 0
    with pytest.raises(fangs.Unsupported):
        CPM_fangs(cp.Model(x[0] < x[1], minimize=x[0])).solveAll()


def test_bits_of_decompositions_are_not_counted():
    x = cp.intvar(0, 9, shape=5)
    model = cp.Model((cp.sum(x) >= 40) | (cp.sum(x) <= 3))
    count = sum(1 for row in itertools.product(range(10), repeat=5) if sum(row) >= 40 or sum(row) <= 3)
    assert CPM_fangs(model).solveAll() == count


def test_models_without_solution():
    x = cp.intvar(0, 1, shape=3)
    solver = CPM_fangs(cp.Model(cp.AllDifferent(x)))
    assert not solver.solve(time_limit=10) and solver.status().exitstatus.name == "UNSATISFIABLE"
    assert all(own.value() is None for own in x)
    assert not CPM_fangs(cp.Model(cp.BoolVal(False))).solve(time_limit=10)


def test_the_last_objective_counts():
    x = cp.intvar(0, 7)
    solver = CPM_fangs(cp.Model(x != 7))
    solver.maximize(x)
    assert solver.solve(time_limit=10) and x.value() == 6
    solver.minimize(x)
    assert solver.solve(time_limit=10) and x.value() == 0


def test_what_does_not_fit_is_refused():
    x = cp.intvar(0, 10**6, shape=3)
    with pytest.raises(fangs.Unsupported, match="values"):
        CPM_fangs(cp.Model(x[0] * x[1] == x[2])).solve(time_limit=5)
    y = cp.intvar(0, 3000, shape=2)
    # the exception is one of Python's, of CPMpy's and of ours
    for known in (NotImplementedError, NotSupportedError, fangs.Unsupported):
        with pytest.raises(known, match="no table and no linear function"):
            CPM_fangs(cp.Model(y[0] * y[1] == 77)).solve(time_limit=5)


def test_models_find_the_solver_by_its_name():
    fangs.cpmpy.register()
    fangs.cpmpy.register()
    assert [name for name, _ in cp.SolverLookup.base_solvers()].count("fangs") == 1
    x = cp.intvar(0, 5, shape=2)
    model = cp.Model(x[0] + x[1] == 7, minimize=x[0])
    assert model.solve(solver="fangs", time_limit=10) and model.objective_value() == 2
    assert "fangs" in cp.SolverLookup.supported()


def agree(model, *variables):
    """Checks the number of solutions and the optimum against another solver, and each solution by its constraints."""
    other = cp.Model(model.constraints)
    expected = other.solveAll(solver="ortools")
    seen = set()

    def show():
        assert all(np.all(cp.expressions.utils.argvals(constraint)) for constraint in model.constraints)
        seen.add(tuple(value for own in variables for value in np.ravel(cp.expressions.utils.argvals(own)).tolist()))

    solver = CPM_fangs(other)
    assert solver.solveAll(display=show, time_limit=60) == expected == len(seen)
    return solver


def test_counts_are_sums_without_bits():
    x = cp.intvar(1, 4, shape=6)
    y = cp.intvar(0, 6)
    model = cp.Model(cp.Count(x, 2) == y, cp.Among(x, [1, 4]) <= 3, cp.sum(x == 3) >= 2, cp.Count(x, 9) == 0, y > 0)
    assert len(agree(model, x, [y])._variables) == 7
    model = cp.Model(cp.GlobalCardinalityCount(x, [1, 2], [y, 2], closed=True), 2 * cp.Count(x[:3], 1) - y >= 0)
    assert len(agree(model, x, [y])._variables) == 7
    b = cp.boolvar(shape=2)
    model = cp.Model(b[0] == (cp.Count(x, 1) >= 3), (cp.Count(x, 2) == 2) | b[1], ~b[1] | b[0], x[0] != x[1])
    agree(model, x, b)
    # a value that is listed twice counts once, as in the value of the expression
    twice = CPM_fangs(cp.Model(cp.Among(x, [1, 4, 4]) == 3)).solveAll()
    assert twice == sum(1 for row in itertools.product((1, 2, 3, 4), repeat=6) if sum(v in (1, 4) for v in row) == 3)
    # what is counted is a variable
    agree(cp.Model(cp.Count(x[:4], x[5]) == 2, cp.NValue(x) == 3), x)
    model = cp.Model(cp.Count(x, 1) <= 2, minimize=cp.sum(x) + 3 * cp.Count(x, 2))
    solver = CPM_fangs(model)
    assert solver.solve(time_limit=30) and solver.objective_value() == 14 and len(solver._variables) == 6


def test_a_roster_has_no_variables_of_its_own():
    nurses, days = 6, 7
    shift = cp.intvar(0, 2, shape=(nurses, days))
    model = cp.Model()
    for day in range(days):
        model += [cp.Count(shift[:, day], 1) >= 2, cp.Count(shift[:, day], 2) >= 1]
    for nurse in range(nurses):
        model += cp.Count(shift[nurse], 0) >= 2
        for day in range(days - 1):
            model += ~((shift[nurse, day] == 2) & (shift[nurse, day + 1] == 1))
    wishes = np.random.default_rng(2).integers(0, nurses * days, size=20)
    model.minimize(cp.sum([shift.flat[wish] != 0 for wish in wishes]))
    solver = CPM_fangs(model)
    assert len(solver._variables) == nurses * days
    assert solver.solve(time_limit=60)
    assert all(np.all(cp.expressions.utils.argvals(constraint)) for constraint in model.constraints)
    found = solver.objective_value()
    assert model.solve(solver="ortools", time_limit=60) and found == model.objective_value()


def test_tasks_that_share_a_resource():
    s = cp.intvar(0, 6, shape=4)
    e = cp.intvar(0, 9, shape=4)
    agree(cp.Model(cp.Cumulative(s, [2, 3, 1, 0], demand=[2, 1, 3, 9], capacity=3)), s)
    agree(cp.Model(cp.Cumulative(s[:3], [2, 3, 1], e[:3], [2, 1, 3], 3), s[0] < s[1]), s[:3], e[:3])
    agree(cp.Model(cp.NoOverlap(s, [2, 1, 0, 3])), s)
    assert len(CPM_fangs(cp.Model(cp.NoOverlap(s, [2, 1, 1, 3])))._variables) == 4
    assert not CPM_fangs(cp.Model(cp.Cumulative(s, [2, -1, 1, 0], demand=1, capacity=3))).solve()
    length = cp.intvar(0, 2)
    agree(cp.Model(cp.Cumulative(s[:2], [length, 2], demand=[1, 2], capacity=2), s[:2] <= 4), s[:2], [length])


def test_elements_of_arrays():
    x, i, y = cp.intvar(0, 3, shape=3), cp.intvar(-1, 3), cp.intvar(1, 5)
    for compare in ("==", "!=", "<=", "<", ">=", ">"):
        element = cp.expressions.globalfunctions.Element
        agree(cp.Model(cp.expressions.core.Comparison(compare, element(list(x), i), y)), x, [i], [y])
        agree(cp.Model(cp.expressions.core.Comparison(compare, element([4, 1, 7], i), y)), [i], [y])
    wide = cp.intvar(0, 200, shape=3)
    model = cp.Model(cp.expressions.globalfunctions.Element(list(wide[:2]), i) == wide[2], wide[2] == 150, i == 1)
    solver = CPM_fangs(model)
    assert solver.solve(time_limit=30) and len(solver._variables) == 4 and wide[1].value() == 150
    agree(cp.Model(cp.expressions.globalfunctions.Element(list(x), x[0]) == x[1]), x)


def test_regular_languages():
    x = cp.intvar(0, 2, shape=6)
    steps = [("a", 0, "a"), ("a", 1, "b"), ("b", 1, "b"), ("b", 0, "c"), ("c", 0, "c"), ("c", 2, "a")]
    solver = agree(cp.Model(cp.Regular(x, steps, "a", ["b", "c"]), x[5] != 0), x)
    assert len(solver._variables) == 6
    y = [cp.intvar(1, 2), cp.intvar(0, 2), cp.intvar(0, 1)]
    agree(cp.Model(cp.Regular(y, steps, "a", ["c"])), y)
    agree(cp.Model(cp.Regular(x[:3], steps, "a", ["b"]) | (x[3] == 1), x[4] == 0, x[5] == 0), x)


def test_other_global_constraints():
    x = cp.intvar(0, 3, shape=4)
    y = cp.intvar(0, 3, shape=4)
    for constraint in (
        cp.Circuit(x),
        cp.Inverse(x, y),
        cp.AllEqual(x),
        cp.AllDifferentExcept0(x),
        cp.Increasing(x),
        cp.LexLess(x, y),
        cp.Xor([x[0] == 1, x[1] == 2, x[2] > 1]),
        cp.InDomain(x[0], [0, 3]),
        cp.Precedence(x, [2, 1]),
        cp.ShortTable(x, [[0, "*", 1, "*"], [2, 2, "*", 3]]),
        cp.NegativeTable(x[:2], [[0, 1], [2, 2]]),
    ):
        agree(cp.Model(constraint, y <= 3 if constraint.name in ("inverse", "lex_less") else y == 0), x, y)


def test_assumptions_and_cores():
    x = cp.intvar(0, 9, shape=3)
    b = cp.boolvar(shape=4)
    bits = [b[0].implies(x[0] > x[1]), b[1].implies(x[1] > x[0]), b[2].implies(x[2] == 4), (~b[3]).implies(x[2] < 3)]
    solver = CPM_fangs(cp.Model(bits))
    assert solver.solve(assumptions=[b[0], b[2], b[3]]) and x[0].value() > x[1].value() and x[2].value() == 4
    assert not solver.solve(assumptions=[b[2], b[0], b[1], b[3]])
    assert {str(own) for own in solver.get_core()} == {str(b[0]), str(b[1])}
    assert not solver.solve(assumptions=[b[2], ~b[3]])
    assert {str(own) for own in solver.get_core()} == {str(b[2]), str(~b[3])}
    assert solver.solve(), "assumptions hold for one call"
    with pytest.raises(fangs.Unsupported, match="follows"):
        solver.get_core()
    with pytest.raises(fangs.Unsupported, match="bits"):
        solver.solve(assumptions=[x[0]])


def test_smallest_sets_of_constraints_without_solution():
    from cpmpy.tools.explain import mus, quickxplain

    fangs.cpmpy.register()
    x = cp.intvar(0, 5, shape=3)
    soft = [x[0] > x[1], x[2] == 3, x[1] > x[2], x[0] < 5, cp.AllDifferent(x), x[2] >= x[0]]
    for find in (mus, quickxplain):
        core = find(soft, solver="fangs")
        assert not cp.Model(core).solve(solver="ortools")
        assert all(cp.Model([own for own in core if own is not left]).solve(solver="ortools") for left in core)
