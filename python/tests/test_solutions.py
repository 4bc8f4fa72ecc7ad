"""All solutions of a network, one by one."""

from __future__ import annotations

import itertools
import math
import signal
import subprocess
import sys
import time

import fangs
import numpy as np
import pytest
from conftest import random_network


def enumerated(net, worst, maximize):
    """Returns the solutions by enumeration of all assignments."""
    everything = np.array(list(itertools.product(*(range(domain) for domain in net.domains))))
    costs = net.cost(everything)
    taken = costs >= worst if maximize else costs <= worst
    return {tuple(row) for row in everything[taken & np.isfinite(costs)].tolist()}


@pytest.mark.parametrize("maximize", [False, True])
def test_they_are_those_of_enumeration(rng, maximize):
    for _ in range(10):
        net, _ = random_network(rng, maximize=maximize)
        costs = net.cost(np.array(list(itertools.product(*(range(domain) for domain in net.domains)))))
        anything = -math.inf if maximize else math.inf
        for worst in [None, float(np.quantile(costs[np.isfinite(costs)], 0.3))]:
            found = net.solutions(worst=worst)
            solutions = list(found)
            assert found.complete and repr(found) == "Solutions(all given)"
            wanted = enumerated(net, anything if worst is None else worst, maximize)
            assert sorted(tuple(values.tolist()) for values, _ in solutions) == sorted(wanted)
            assert all(net.cost(values) == cost for values, cost in solutions)
            assert list(found) == []
            parts = [tuple(values[[0, 2]].tolist()) for values, _ in net.solutions([0, 2], worst=worst)]
            assert sorted(parts) == sorted({(row[0], row[2]) for row in wanted})


def test_as_many_as_are_asked_for():
    net = fangs.Network([2] * 40, [f"v{v}" for v in range(40)])
    net.all_different(["v0", "v1"])
    found = net.solutions(most=10)
    assert len({tuple(values.tolist()) for values, _ in found}) == 10
    assert not found.complete and repr(found) == "Solutions(stopped)"
    few = net.solutions(["v0", "v1"])
    assert len(list(few)) == 2 and few.complete
    # an abandoned iterator ends with its object
    for values, cost in net.solutions():
        assert cost == 0 and values[0] != values[1]
        break
    found = net.solutions(time=0.3)
    began, count = time.monotonic(), sum(1 for _ in found)
    assert count > 1000 and not found.complete and time.monotonic() - began < 20


def test_what_is_asked_wrongly_is_told():
    net = fangs.Network([2, 2], ["a", "b"])
    with pytest.raises(fangs.UsageError, match="no variable `c`"):
        net.solutions(["c"])
    with pytest.raises(fangs.UsageError, match="a number is expected"):
        net.solutions(worst=math.inf)
    with pytest.raises(fangs.UsageError, match="seconds"):
        net.solutions(time=-1)


@pytest.mark.parametrize("edges", ["itertools.combinations(range(15), 2)", "[]"])
def test_ctrl_c_ends_the_search(edges):
    # no solution is found soon, because a clique has one value too few, or there are too many to finish; the third
    # variable hides that the others differ
    script = f"""
import collections, fangs, itertools
net = fangs.Network([14] * 15 + [2])
for a, b in {edges}:
    net.add([a, b, 15], [[[float("inf") if x == y else (x * y + z) % 3 for z in range(2)] for x in range(14)]
                         for y in range(14)])
print("ready", flush=True)
try:
    collections.deque(net.solutions(), maxlen=0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.communicate(timeout=30)[0] == "interrupted\n" and time.monotonic() - began < 10
