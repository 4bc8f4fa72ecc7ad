"""Networks: tables, costs, files."""

from __future__ import annotations

import itertools
import math

import fangs
import numpy as np
import pytest
from conftest import ROOT, optimum, random_network


def test_costs_are_the_sums_of_the_tables(rng):
    for maximize in (False, True):
        net, tables = random_network(rng, maximize=maximize)
        rows = np.array(list(itertools.product(*(range(domain) for domain in net.domains))))
        costs = net.cost(rows)
        for row, cost in zip(rows[::17], costs[::17], strict=True):
            expected = sum(table[tuple(row[scope])] for scope, table in tables)
            assert cost == expected == net.cost(row) == net.cost(dict(enumerate(row)))


def test_many_tables_are_as_one_by_one(rng):
    n, m = 30, 200
    scopes = np.array([rng.choice(n, size=2, replace=False) for _ in range(m)])
    tables = rng.integers(0, 100, size=(m, 4, 4))
    one, many = fangs.Network(np.full(n, 4)), fangs.Network(np.full(n, 4))
    for scope, table in zip(scopes, tables, strict=True):
        one.add(scope, table)
    assert many.add_many(scopes, tables) == 0
    assert len(one) == len(many) == m
    rows = rng.integers(0, 4, size=(50, n))
    assert (one.cost(rows) == many.cost(rows)).all()
    # types and memory orders of arrays do not matter
    for other in (tables.astype(np.float32), tables.astype(np.uint8), np.asfortranarray(tables), tables.tolist()):
        third = fangs.Network([4] * n)
        third.add_many(scopes.tolist(), other)
        assert (third.cost(rows) == one.cost(rows)).all()


def test_sparse_tables_and_names():
    net = fangs.Network([3, 3], ["a", "b"], [["x", "y", "z"], None])
    net.add_sparse(["a", "b"], [("x", 0), ("y", 1)], [1.5, np.inf], default=7)
    assert net.cost({"a": "x", "b": 0}) == 1.5
    assert net.cost([2, 2]) == 7
    assert net.cost({"a": "y", "b": 1}) == math.inf
    assert net.assignment([1, 2]) == {"a": "y", "b": 2}
    assert net.indices({"a": "z", "b": 0}).tolist() == [2, 0]
    result = net.solve(time=10).result()
    assert result.cost == 1.5 and result.assignment == {"a": "x", "b": 0}


@pytest.mark.parametrize("maximize", [False, True])
def test_rounded_tables_leave_bounds_valid(rng, maximize):
    for _ in range(20):
        domains = [2, 3, 2, 2]
        scopes = [(0, 1), (1, 2), (2, 3), (0,)]
        tables = [(scope, rng.normal(size=tuple(domains[v] for v in scope))) for scope in scopes]
        net = fangs.Network(domains, decimals=1, maximize=maximize)
        for scope, table in tables:
            net.add(scope, table)
        rows = np.array(list(itertools.product(*map(range, domains))))
        true = [sum(table[tuple(row[list(scope)])] for scope, table in tables) for row in rows]
        best = max(true) if maximize else min(true)
        result = net.solve(time=10, seed=3).result()
        assert result.precision_slack > 0
        assert result.bound >= best if maximize else result.bound <= best
        assert abs(result.cost - best) <= 2 * result.precision_slack


def test_decimals_are_those_of_the_tables():
    net = fangs.Network([2, 2])
    net.add([0], [1, 2])
    assert net.decimals == 0 and net.cost([1, 0]) == 2 and isinstance(net.cost([1, 0]), int)
    net.add([1], [0.25, 1.5])
    assert net.decimals == 2 and net.cost([1, 1]) == 3.5
    net.add([0, 1], np.full((2, 2), 1 / 3))
    assert net.decimals == 6 and net.info()["precision_slack"] == 1e-6
    assert net.cost([0, 0]) == 1.583333


def test_global_functions_are_those_of_the_definition(rng):
    domains = [3] * 4
    rows = np.array(list(itertools.product(*map(range, domains))))
    weights = [2, [0, 5, 1], -1, 3]
    sums = rows[:, 0] * 2 + np.array([0, 5, 1])[rows[:, 1]] - rows[:, 2] + rows[:, 3] * 3
    off = np.maximum(0, np.maximum(4 - sums, sums - 6))
    pairs = sum((rows[:, i] == rows[:, j]).astype(int) for i in range(4) for j in range(i))
    ones = (rows == 1).sum(axis=1)
    for price, measure, expected in [
        (math.inf, "hard", np.where(off > 0, np.inf, 0)),
        (2.5, "linear", 2.5 * off),
        (2, "quadratic", 2 * off**2),
    ]:
        net = fangs.Network(domains)
        net.linear(range(4), weights, 4, 6, price=price, measure=measure)
        assert (net.cost(rows) == expected).all()
        net.add([0], [0.125, 0, 0])
        assert (net.cost(rows) == expected + np.where(rows[:, 0] == 0, 0.125, 0)).all()
    net = fangs.Network(domains)
    net.linear(range(4), weights, other_than=6)
    assert (net.cost(rows) == np.where(sums == 6, np.inf, 0)).all()
    net = fangs.Network(domains)
    net.all_different(range(4), price=3)
    net.counting(range(4), {1: (2, 3)}, price=10, measure="linear")
    assert (net.cost(rows) == 3 * pairs + 10 * np.maximum(0, np.maximum(2 - ones, ones - 3))).all()
    result = net.solve(time=20).result()
    assert result.status == "optimal" and result.cost == optimum(net)


def test_files(tmp_path, rng):
    net, _ = random_network(rng)
    rows = rng.integers(0, 2, size=(20, len(net.domains)))
    net.write(tmp_path / "net.cfn")
    again = fangs.read(tmp_path / "net.cfn")
    assert (again.cost(rows) == net.cost(rows)).all() and len(again) == len(net)
    again.add([0], [3] * int(again.domains[0]))
    assert (again.cost(rows) == net.cost(rows) + 3).all() and len(again) == len(net) + 1
    text = "t 2 2 1 9\n2 2\n2 0 1 4 1\n0 1 3\n"
    assert fangs.reads(text, "wcsp").cost([0, 1]) == 3
    # 9 is the top of the file: assignments that cost at least as much are infeasible
    assert fangs.reads(text.replace("0 1 3", "0 1 9"), "wcsp").cost([0, 1]) == math.inf


def test_evidence_is_by_name(tmp_path):
    path = ROOT / "examples" / "potts-20x20.wcsp"
    net = fangs.read(path, evidence={0: 1, "x3": 0})
    row = np.zeros(400, dtype=int)
    assert net.cost(row) == math.inf
    row[0] = 1
    assert net.cost(row) == fangs.read(path).cost(row) < math.inf
    with pytest.raises(fangs.UsageError, match="no variable `snow`"):
        fangs.read(path, evidence={"snow": 1})


def test_errors_say_where(tmp_path):
    (tmp_path / "bad.wcsp").write_text("t 2 2 1 9\n2 2\n2 0 1 4 1\n0 7 3\n")
    with pytest.raises(fangs.ParseError) as caught:
        fangs.read(tmp_path / "bad.wcsp")
    error = caught.value
    assert (error.line, error.column) == (4, 3) and error.file.endswith("bad.wcsp")
    assert error.expected and "7" in error.found and isinstance(error, fangs.Error) and isinstance(error, ValueError)
    with pytest.raises(fangs.FileError) as missing:
        fangs.read(tmp_path / "none.wcsp")
    assert isinstance(missing.value, OSError)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda net: net.add([0, 1], [[1, 2]]), "shape"),
        (lambda net: net.add([0, 0], np.zeros((2, 2))), "twice"),
        (lambda net: net.add([5], [0, 0]), "no variable 5"),
        (lambda net: net.add([0], [0, math.nan]), "no cost"),
        (lambda net: net.add([0], [0, -math.inf]), "no cost"),
        (lambda net: net.add([0], [0, 1e30]), "decimals"),
        (lambda net: net.add([0], ["a", "b"]), "integers or doubles"),
        (lambda net: net.add([0], [0, 2**62]), "decimals"),
        (lambda net: net.add_sparse([0], [[2]], [1]), "no value 2"),
        (lambda net: net.linear([0, 1], [1, 1]), "limit"),
        (lambda net: net.linear([0, 1], [1, 1], 0, price=-1), "price"),
        (lambda net: net.cost([0]), "shape"),
        (lambda net: net.cost([0, 2, 0]), "no value 2"),
        (lambda net: net.cost([0, 0.5, 0]), "integers"),
        (lambda net: net.cost({"x0": 0}), "no value to x1"),
        (lambda net: net.solve(device="tpu"), "cuda"),
        (lambda net: net.solve(driver="taxi"), "portfolio"),
        (lambda net: net.solve(heuristic="none"), "TOML"),
        (lambda net: net.solve(heuristic="weight = nonsense"), "nonsense"),
        (lambda net: net.solve(time=-1), "seconds"),
        (lambda net: net.solve(gap=math.nan), "gap"),
        (lambda net: net.solve(warm_starts=[[0, 0]]), "shape"),
        (lambda net: fangs.Network([2, 0]), "domain"),
        (lambda net: fangs.Network([2, 2], ["a", "a"]), "name"),
        (lambda net: fangs.Network([2], decimals=16), "15"),
    ],
)
def test_wrong_arguments_are_refused(call, what):
    net = fangs.Network([2, 2, 2])
    with pytest.raises(fangs.Error, match=what):
        call(net)


def test_limits():
    for top, best in [(5, None), (5.5, 5), (6, 5)]:
        net = fangs.Network([2, 2], top=top)
        net.add([0], [5, 9])
        result = net.solve(time=10).result()
        assert result.cost == best
        assert result.status == ("infeasible" if best is None else "optimal")


def test_large_sums_are_refused():
    net = fangs.Network([2] * 8)
    for v in range(8):
        net.add([v], [0, 2**55])
    with pytest.raises(fangs.UsageError, match="64-bit"):
        net.solve()
