"""Bounds, sums, agents, decisions, explanations: compared with all assignments."""

from __future__ import annotations

import itertools
import math

import fangs
import numpy as np
import pytest
from conftest import ROOT, optimum, random_network


def everything(net):
    return np.array(list(itertools.product(*map(range, net.domains))))


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("method", ["auto", "mbe", "be", "shift", "branch"])
def test_bounds_hold(rng, method, maximize):
    for _ in range(6):
        net, _ = random_network(rng, maximize=maximize)
        best = optimum(net, maximize=maximize)
        found = net.bound(method, z=2 if method == "mbe" else None, time=10)
        if math.isinf(best):
            assert found.cost is None
            continue
        assert found.bound is None or (found.bound >= best if maximize else found.bound <= best)
        if method in ("auto", "be", "branch"):
            assert found.exact and (found.bound, found.cost, found.status) == (best, best, "optimal")
        if found.solution is not None:
            assert net.cost(found.solution) == found.cost
    with pytest.raises(fangs.UsageError, match="expected one of auto"):
        net.bound("magic")


def test_sums_and_posteriors(rng):
    net, _ = random_network(rng)
    rows = everything(net)
    weights = np.exp(-net.cost(rows) / 5)
    found = net.marginals(temperature=5)
    assert found.ln_z == pytest.approx(math.log(weights.sum()), abs=max(1e-9, 2 * found.error_bound))
    for v, name in enumerate(net.names):
        expected = [weights[rows[:, v] == value].sum() / weights.sum() for value in range(net.domains[v])]
        assert found.posteriors[name] == pytest.approx(expected)
        assert found[name] is found.posteriors[name]
    given = rows[:, 2] == 1
    found = net.marginals({2: 1}, variables=[0], temperature=5)
    assert list(found.posteriors) == ["x0"]
    assert found["x0"][0] == pytest.approx(weights[given & (rows[:, 0] == 0)].sum() / weights[given].sum())
    values, logarithm = net.marginal_map([0, 1], temperature=5)
    sums = {
        (a, b): weights[(rows[:, 0] == a) & (rows[:, 1] == b)].sum()
        for a in range(net.domains[0])
        for b in range(net.domains[1])
    }
    best = max(sums, key=sums.get)
    assert {name: int(value) for name, value in values.items()} == {"x0": best[0], "x1": best[1]}
    assert logarithm == pytest.approx(math.log(sums[best]))
    exact = net.marginal_map([0, 1], temperature=5)
    assert exact.exact and exact.checked and exact.bounds[0] <= exact.ln_value <= exact.bounds[1]
    bounded = net.marginal_map([0, 1], temperature=5, memory=16, time=60)
    assert bounded.bounds[0] <= logarithm + 1e-9 and logarithm - 1e-9 <= bounded.bounds[1]
    assert bounded.assignment == values
    with pytest.raises(fangs.OutOfMemory):
        net.marginal_map([0, 1], temperature=5, memory=16)


BIF = """network garden {}
variable rain { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.75, 0.25; }
probability ( wet | rain ) { (no) 0.75, 0.25; (yes) 0.25, 0.75; }
"""


def test_a_bayesian_network_by_name():
    net = fangs.reads(BIF, "bif")
    found = net.marginals({"wet": "yes"})
    assert found.ln_z == pytest.approx(math.log(0.375), abs=1e-14)
    assert found["rain"].tolist() == pytest.approx([0.5, 0.5])
    observed = fangs.reads(BIF, "bif", evidence={"wet": "yes"})
    assert observed.marginals()["rain"].tolist() == pytest.approx([0.5, 0.5])
    assert net.solve(time=5).result().assignment == {"rain": "no", "wet": "no"}


def test_agents(rng):
    for _ in range(5):
        net, _ = random_network(rng)
        best = optimum(net)
        found = net.dcop()
        assert (found.status, found.cost, found.bound) == ("optimal", best, best)
        assert found.messages > 0 and net.cost(found.solution) == best
        part = net.dcop("adpop", z=2)
        assert part.bound <= best and (part.cost is None or part.cost >= best)
        for algorithm in ("dsa", "mgm", "maxsum"):
            local = net.dcop(algorithm, cycles=50)
            assert local.cost is None or local.cost == net.cost(local.solution) >= best
            assert local.bound is None or local.bound <= best


def test_explanations(rng):
    net, tables = random_network(rng)
    result = net.solve(time=10).result()
    priced = net.explain(result.solution)
    assert sum(own.cost for own in priced) == result.cost
    for own in priced:
        scope, table = tables[own.function]
        assert own.scope == [f"x{v}" for v in scope]
        assert own.cost == table[tuple(result.solution[scope])] != 0
    other = result.solution.copy()
    other[0] = (other[0] + 1) % net.domains[0]
    for difference in net.diff(result.solution, other):
        assert "x0" in difference.scope and difference.costs[0] != difference.costs[1]


def test_conflicts():
    net = fangs.Network([2] * 4)
    different = [[math.inf, 0], [0, math.inf]]
    for pair in [(0, 1), (1, 2), (0, 2), (2, 3)]:
        net.add(pair, different)
    assert net.conflict() == [0, 1, 2]
    solvable = fangs.Network([2])
    assert solvable.conflict() is None


def test_decisions(tmp_path):
    (tmp_path / "tiger.POMDP").write_text(TIGER)
    found = fangs.decide(tmp_path / "tiger.POMDP", horizon=2)
    # two steps: listening twice costs 2, and no door is worth opening before two observations
    assert found.kind == "pomdp" and found.exact and found.meu == pytest.approx(-2)
    assert found.first_decision and found.policy
    with pytest.raises(fangs.Error):
        fangs.decide(tmp_path / "tiger.POMDP", horizon=2, method="magic")


TIGER = """discount: 1.0
values: reward
states: left right
actions: listen open-left open-right
observations: hear-left hear-right
start: uniform
T: listen identity
T: open-left uniform
T: open-right uniform
O: listen
0.85 0.15
0.15 0.85
O: open-left uniform
O: open-right uniform
R: listen : * : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
R: open-right : left : * : * 10
R: open-right : right : * : * -100
"""


def test_devices_are_asked_for_by_name(rng, tmp_path):
    (tmp_path / "tiger.POMDP").write_text(TIGER)
    net, _ = random_network(rng)
    ways = [
        net.bound,
        net.dcop,
        net.marginals,
        lambda device: fangs.decide(tmp_path / "tiger.POMDP", horizon=2, device=device),
    ]
    for way in ways:
        assert way(device="cpu").device == "cpu"
        # too little work to be worth the transfer
        assert way(device="auto").device == "cpu"
        with pytest.raises(fangs.UsageError, match="cuda:99"):
            way(device="cuda:99")
        with pytest.raises(fangs.UsageError, match="one device"):
            way(device="cuda:all")


def test_what_does_not_fit_is_an_error(rng):
    # tables too large to count, so that no slices are started
    net = fangs.Network([4] * 32)
    pairs = np.array(list(itertools.combinations(range(32), 2)))
    net.add_many(pairs, rng.integers(0, 9, size=(len(pairs), 4, 4)))
    with pytest.raises(fangs.OutOfMemory, match="memory=… and spill=….*mbe"):
        net.bound("be", memory=1 << 20, spill=0)
    with pytest.raises(fangs.OutOfMemory, match="time="):
        net.marginals(memory=1 << 20)
    found = net.marginals(memory=1 << 20, time=2)
    assert found.ln_z is None and found.bounds[0] < found.bounds[1] and not found.posteriors
    assert net.bound(time=0.2).bound <= net.solve(rounds=1).result().cost


def test_a_time_that_is_over_at_once_leaves_an_interval():
    net = fangs.Network([2, 3])
    costs = np.arange(6.0).reshape(2, 3)
    net.add([0, 1], costs)
    lower, upper = net.marginals(time=1e-6).bounds
    assert lower <= math.log(np.exp(-costs).sum()) <= upper < math.inf
    lower, upper = net.marginal_map([0], time=1e-6).bounds
    assert lower <= math.log(np.exp(-costs).sum(axis=1).max()) <= upper < math.inf


def test_info():
    info = fangs.read(ROOT / "examples" / "potts-20x20.wcsp").info()
    assert info["variables"] == 400 and info["induced_width"] >= 15 and not info["infeasible"]
    assert sum(info["functions_of_arity"]) == info["functions"]


GARDEN = """network garden {}
variable rain { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.75, 0.25; }
probability ( wet | rain ) { (no) 1.0, 0.0; (yes) 0.25, 0.75; }
"""


def test_evidence_has_three_forms_and_one_meaning(tmp_path):
    file = tmp_path / "garden.evid"
    file.write_text("wet=no\n")
    forms = [{"wet": "no"}, {1: 0}, ["wet=no"], ("1=0",), str(file), file]
    net = fangs.reads(GARDEN, "bif")
    for evidence in forms:
        found = net.marginals(evidence)
        assert found.ln_z == pytest.approx(math.log(0.75 + 0.25 * 0.25))
        assert net.marginal_map(["rain"], evidence).ln_value == pytest.approx(math.log(0.75))
        observed = fangs.reads(GARDEN, "bif", evidence=evidence)
        assert observed.solve(rounds=5).result().assignment == {"rain": "no", "wet": "no"}
    for evidence, words in [
        ({"wett": "no"}, "did you mean `wet`"),
        ({"wet": "nno"}, "did you mean `no`"),
        (["wet=maybe"], "its values are no, yes"),
        (["wet=no", "1=yes"], "wet is observed already, wet=no at --observe wet=no"),
        ({"wet": "no", 1: "yes"}, "wet cannot be yes and no"),
        (["wet"], "NAME=VALUE"),
    ]:
        with pytest.raises(fangs.UsageError, match=words):
            net.marginals(evidence)
        with pytest.raises(fangs.UsageError, match=words):
            fangs.reads(GARDEN, "bif", evidence=evidence)
    file.write_text("rain=no\nwet=mist\n")
    with pytest.raises(fangs.ParseError, match="garden.evid:2:1"):
        net.marginals(file)
    with pytest.warns(UserWarning, match="impossible evidence: function 1 excludes rain=no, wet=yes"):
        fangs.reads(GARDEN, "bif", evidence=["rain=no", "wet=yes"])
