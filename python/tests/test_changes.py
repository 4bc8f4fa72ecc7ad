"""Networks that change: functions replaced and removed, evidence for one call, copies, propagation."""

from __future__ import annotations

import copy
import itertools
import math
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import fangs
import numpy as np
import pytest
from conftest import optimum, random_network


def everything(net):
    return np.array(list(itertools.product(*(range(domain) for domain in net.domains))), dtype=np.int64)


def test_functions_are_replaced_and_removed(rng):
    net, tables = random_network(rng, decimals=2)
    rows = everything(net)
    before = net.cost(rows)
    for number, (scope, table) in enumerate(tables):
        assert net.scope(number).tolist() == list(scope) and (net.table(number) == table).all()
        other = rng.integers(0, 9, size=table.shape) / 4
        at = tuple(rows[:, v] for v in scope)
        net.replace(number, other)
        with np.errstate(invalid="ignore"):
            rest = before - table[at]
        finite = np.isfinite(before)
        assert net.cost(rows)[finite] == pytest.approx((rest + other[at])[finite])
        net.remove(number)
        assert net.cost(rows)[finite] == pytest.approx(rest[finite]) and net.scope(number).tolist() == []
        net.replace(number, 0.0)
        fresh = net.add(scope, table)
        assert net.cost(rows) == pytest.approx(before) and fresh == len(net) - 1
    assert net.solve(rounds=20).result().cost == pytest.approx(before.min())
    with pytest.raises(fangs.UsageError, match="no function 99"):
        net.remove(99)
    with pytest.raises(fangs.UsageError, match="shape"):
        net.replace(len(net) - 1, [1, 2, 3, 4, 5, 6, 7, 8, 9])


def test_tables_of_global_functions_are_their_costs():
    net = fangs.Network([3, 3, 2], decimals=1, maximize=True)
    number = net.linear([0, 2], [[1, 5, 2], [0, 3]], 3, 5, price=1.5, measure="linear")
    net.all_different([0, 1])
    expected = [[-1.5 * max(0, 3 - s, s - 5) for s in (weight, weight + 3)] for weight in (1, 5, 2)]
    assert net.table(number).tolist() == expected
    assert (net.table(number + 1) == np.where(np.eye(3), -math.inf, 0)).all()
    wide = fangs.Network([30] * 6)
    wide.all_different(range(6))
    with pytest.raises(fangs.UsageError, match="729000000 costs"):
        wide.table(0)


def test_global_functions_by_their_text():
    net = fangs.Network([3] * 4, decimals=2)
    number = net.add_global(range(4), "samong", "var 150 3 4 1 2")
    rows = everything(net)
    counts = (rows == 2).sum(axis=1)
    assert (net.cost(rows) == 1.5 * np.maximum(0, 3 - counts)).all()
    assert net.table(number)[2, 2, 2, 0] == 0
    net.add_global([0, 1], "wsum", f"hard {2**60} == 3")
    assert np.isinf(net.cost([0, 0, 2, 2])) and net.cost([1, 2, 2, 2]) == 0
    with pytest.raises(fangs.ParseError, match="samong"):
        net.add_global([0, 1], "among", "1 2")
    with pytest.raises(fangs.ParseError):
        net.add_global([0, 1], "samong", "var 150 3")
    with pytest.raises(fangs.ParseError):
        net.add_global([0, 1], "samong", "var 150 3 4 1 2 7")
    with pytest.raises(fangs.UsageError, match="decimals="):
        fangs.Network([2, 2]).add_global([0, 1], "samong", "var 1 1 1 1 1")


def test_networks_that_were_read_change(tmp_path, rng):
    net, _ = random_network(rng, decimals=2, top=40)
    net.all_different([0, 1])
    net.write(tmp_path / "net.cfn")
    again = fangs.read(tmp_path / "net.cfn")
    rows = everything(net)
    for own in (net, again):
        own.add([2], [0.25 * value for value in range(int(own.domains[2]))])
        own.remove(3)
        own.linear([0, 3], [1, 1], high=2, price=2.5)
    assert (again.cost(rows) == net.cost(rows)).all() and again.info()["top"] == 40
    assert again.names == net.names
    again.lower_top(12.5)
    again.lower_top(30)
    assert again.info()["top"] == 12.5
    assert ((again.cost(rows) < math.inf) == (net.cost(rows) < 12.5)).all()
    with pytest.raises(fangs.UsageError, match="nan"):
        again.lower_top(math.nan)
    garden = fangs.reads("MARKOV 1 2 1 1 0 2 0.25 0.75", "uai")
    with pytest.raises(fangs.UsageError, match="potentials"):
        garden.add([0], [1, 2])
    assert garden.solve(rounds=1).result().solution.tolist() == [1], "the refusal changes nothing"


def test_evidence_holds_for_one_call(rng):
    net, _ = random_network(rng)
    rows = everything(net)
    costs = net.cost(rows)
    for variable, value in ((0, 1), (3, 0)):
        own = costs[(rows[:, variable] == value)]
        result = net.solve(evidence={variable: value}, rounds=20).result()
        assert result.cost == own.min() and result.solution[variable] == value
        assert net.bound(evidence={variable: value}).bound == own.min()
        found = list(net.solutions(evidence={variable: value}))
        assert sorted(cost for _, cost in found) == sorted(own[np.isfinite(own)])
        assert net.observed({variable: value}).solve(rounds=20).result().cost == own.min()
    assert net.solve(rounds=20).result().cost == costs.min() == optimum(net)
    with pytest.raises(fangs.UsageError, match="no value 9"):
        net.solve(evidence={0: 9})


def test_propagation_excludes_no_solution(rng):
    excluded = 0
    for seed in range(30):
        net, _ = random_network(np.random.default_rng(seed), decimals=2, maximize=seed % 3 == 0)
        rows, worst = everything(net), -math.inf if net.maximize else math.inf
        costs = net.cost(rows)
        if not np.isfinite(costs).any():
            continue
        best = costs.max() if net.maximize else costs.min()
        net.lower_top(best + (0.25 if not net.maximize else -0.25))
        bound, allowed = net.propagate()
        assert bound is not None and (bound >= best if net.maximize else bound <= best)
        for row in rows[net.cost(rows) != worst]:
            assert all(own[value] for own, value in zip(allowed, row, strict=True))
        excluded += sum(int((~own).sum()) for own in allowed)
        net.lower_top(best)
        bound = net.propagate()[0]
        assert bound is None or net.maximize or bound < best
    assert excluded > 50
    chain = fangs.Network([3] * 4)
    for v in range(3):
        chain.add([v, v + 1], np.where(np.eye(3, k=1), 0, np.inf))
    assert chain.propagate()[0] is None
    pair = fangs.Network([3] * 3)
    for v in range(2):
        pair.add([v, v + 1], np.where(np.eye(3, k=1), 0, np.inf))
    assert [own.tolist() for own in pair.propagate()[1]] == np.eye(3, dtype=bool).tolist()


def solved(net):
    return net.solve(rounds=5, device="cpu").result().cost


def test_copies_and_other_processes(rng):
    net, _ = random_network(rng, decimals=2, names=[f"v{v}" for v in range(7)], top=60, name="seven")
    net.all_different([0, 1], price=2)
    rows = everything(net)
    for own in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert (own.cost(rows) == net.cost(rows)).all() and (own.names, own.name) == (net.names, "seven")
        own.add([0], [1] * int(own.domains[0]))
        assert len(own) == len(net) + 1
    garden = fangs.reads("MARKOV 2 2 2 1 2 0 1 4 0.25 0.75 0.125 2", "uai")
    again = pickle.loads(pickle.dumps(garden))
    assert again.marginals().ln_z == garden.marginals().ln_z
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(solved, [net, net])) == [solved(net)] * 2
