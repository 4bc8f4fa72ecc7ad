"""Quick operations of every object: its text, its length, equality, copies; no lock blocks."""

from __future__ import annotations

import copy
import faulthandler
import pickle
import threading
from pathlib import Path

import fangs
import numpy as np
import pytest

SECONDS = 60
"""Until a test that hangs ends the process: a thread that waits for a lock cannot be interrupted by Python."""


@pytest.fixture(autouse=True)
def nothing_hangs():
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def made() -> fangs.Network:
    net = fangs.Network([2, 2, 3], ["a", "b", "c"])
    net.add(["a", "b"], [[0, 2], [3, 1]])
    net.add(["b", "c"], [[1, 0, 2], [0, 4, 1]])
    net.all_different(["a", "b"], price=2)
    return net


PROCESS = """discount: 1
values: reward
states: 2
actions: 2
observations: 1
T: * uniform
O: * uniform
R: 0 : * : * : * 1
"""


def objects(folder: Path) -> list[object]:
    net = made()
    run = net.solve(rounds=2, threads=1)
    events = list(run)
    result = run.result()
    markov = fangs.reads("MARKOV 2 2 2 2 1 0 2 0 1 2 0.3 0.7 4 0.1 0.9 0.4 0.6", "uai")
    solutions = net.solutions()
    (folder / "process.POMDP").write_text(PROCESS)
    return [
        net,
        markov,
        run,
        events[-1],
        result,
        run.plot(),
        net.bound(),
        net.dcop(),
        solutions,
        markov.marginals(),
        markov.marginal_map([0]),
        net.explain(result.solution)[0],
        net.diff([0, 0, 0], [1, 1, 1])[0],
        fangs.decide(folder / "process.POMDP", horizon=2),
    ]


def test_texts_lengths_equality_and_copies(tmp_path: Path):
    for thing in objects(tmp_path):
        kind = type(thing).__name__
        assert repr(thing) and str(thing) and f"{thing}", kind
        for show in ("_repr_html_", "_repr_svg_"):
            if hasattr(thing, show):
                assert getattr(thing, show)(), kind
        if hasattr(type(thing), "__len__"):
            assert len(thing) >= 0, kind
        same = thing
        assert thing == same and thing != made(), kind
        assert hash(thing) == hash(thing), kind
        for copied in (copy.copy, copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own))):
            try:
                again = copied(thing)
            except TypeError as error:
                assert kind in str(error), kind
            else:
                assert repr(again) == repr(thing), kind


class Meddling:
    """Yields items, and between them uses the network on this thread and on another one."""

    def __init__(self, net: fangs.Network, items: list[object]):
        self.net, self.items = net, items

    def __iter__(self):
        for item in self.items:
            other = threading.Thread(target=lambda: (len(self.net), repr(self.net), self.net.cost([0, 0, 0])))
            other.start()
            other.join()
            assert len(self.net) >= 0 and repr(self.net) and self.net.names
            self.net.add([0], [0, 0])
            yield item


def test_arguments_may_use_the_network_themselves():
    net = made()

    def many(*items: object) -> Meddling:
        return Meddling(net, list(items))

    before = len(net)
    net.add(many("a", "b"), [[0, 0], [0, 1]])
    net.add_many(many(["a", "b"], many("b", "a")), np.zeros((2, 2, 2), dtype=int))
    net.add_sparse(many("a", "b"), many((0, 1), many(1, 1)), [1, 2])
    net.linear(many("a", "b"), many(1, 2), 0, 3)
    net.counting(many("a", "b"), {1: (0, 2)})
    net.all_different(many("a", "c"))
    assert len(net) > before + 7 + 12
    solution = net.solve(rounds=2, threads=1).result().solution
    assert net.cost(solution) < np.inf


def test_errors_of_arguments_leave_the_network_as_it_was():
    net = made()
    before = len(net)

    def failing():
        yield "a"
        raise KeyError("no more")

    for call in (
        lambda: net.add(failing(), [0, 0]),
        lambda: net.add_sparse(["a"], failing(), [1]),
        lambda: net.linear(["a", "b"], failing(), 0, 1),
        lambda: net.add_many(failing(), [[0, 0]]),
    ):
        with pytest.raises((KeyError, TypeError, fangs.Error)):
            call()
    assert len(net) == before and repr(net) == f"Network(3 variables, {before} functions)"


def test_threads_that_add_build_and_fail_at_once():
    net = made()
    errors: list[BaseException] = []

    def use(number: int) -> None:
        try:
            for step in range(150):
                net.add([number % 3], [0] * [2, 2, 3][number % 3])
                net.cost([0, 1, step % 3])
                with pytest.raises(fangs.Error):
                    net.add([0], [1, 2, 3])
                assert repr(net)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    assert len(net) == 3 + 6 * 150


def test_threads_that_share_a_run_and_solutions():
    net = made()
    run, solutions = net.solve(rounds=3, threads=1), net.solutions()
    found: list[object] = []

    def use() -> None:
        found.extend(repr(solution) for solution in solutions)
        found.append(repr(run) and run.result().cost)
        assert repr(solutions) and solutions.complete

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 + 12
