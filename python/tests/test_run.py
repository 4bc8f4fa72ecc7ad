"""Runs: events, ends, starts, histories."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
import time
import warnings

import fangs
import numpy as np
import pytest
from conftest import ROOT, optimum, random_network


def hard(rng, n=120, d=6, m=700):
    net = fangs.Network(np.full(n, d))
    scopes = np.array([rng.choice(n, size=2, replace=False) for _ in range(m)])
    net.add_many(scopes, rng.integers(0, 1000, size=(m, d, d)))
    return net


@pytest.mark.parametrize("maximize", [False, True])
def test_runs_find_the_optimum(rng, maximize):
    for seed in range(15):
        net, _ = random_network(rng, maximize=maximize)
        result = net.solve(time=20, seed=seed).result()
        best = optimum(net, maximize=maximize)
        if math.isinf(best):
            assert (result.status, result.cost, result.solution) == ("infeasible", None, None)
        else:
            assert (result.status, result.cost, result.bound) == ("optimal", best, best)
            assert net.cost(result.solution) == best


def test_events_come_in_order(rng):
    net = hard(rng)
    run = net.solve(time=2, threads=2)
    events = list(run)
    assert events[0].kind == "start" and events[-1].kind == "end"
    costs = [event.cost for event in events if event.kind == "solution"]
    assert costs and costs == sorted(costs, reverse=True)
    bounds = [event.bound for event in events if event.bound is not None]
    assert bounds and bounds == sorted(bounds)
    times = [event.time for event in events]
    assert times == sorted(times)
    for event in events:
        if event.solution is not None:
            assert net.cost(event.solution) == event.cost
    result = run.result()
    assert (result.cost, result.bound) == (events[-1].cost, events[-1].bound)
    assert run.done and list(run) == []


def test_a_run_stops(rng):
    net = hard(rng)
    with net.solve(time=100) as run:
        for event in run:
            if event.kind == "solution":
                began = time.monotonic()
                run.stop()
        assert time.monotonic() - began < 1.0
    result = run.result()
    assert result.stopped_by == "signal" and net.cost(result.solution) == result.cost
    # a stop by another thread, while this one waits
    run = net.solve(time=100)
    threading.Timer(0.5, run.stop).start()
    assert run.result().cost is not None
    # a stop at the end of a block
    with net.solve(time=100) as run:
        pass
    assert run.done


INTERRUPTED = """
import fangs, numpy as np, time, sys
rng = np.random.default_rng(1)
net = fangs.Network(np.full(120, 6))
net.add_many(np.array([rng.choice(120, size=2, replace=False) for _ in range(700)]), rng.integers(0, 1000, (700, 6, 6)))
run = net.solve(time=100, threads=1)
print("begun", flush=True)
try:
    if sys.argv[1] == "iterate":
        for event in run:
            pass
    else:
        run.result()
except KeyboardInterrupt:
    ended = time.monotonic()
    result = run.result()
    assert net.cost(result.solution) == result.cost and result.stopped_by == "signal"
    print("kept", result.cost, time.monotonic() - ended)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("way", ["iterate", "wait"])
def test_an_interrupt_keeps_the_best(way):
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, way], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(1.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert output.startswith("kept") and process.returncode == 0
    # includes the end of the interpreter
    assert time.monotonic() - sent < 2.0


def test_starts_are_kept_and_parts_completed(rng):
    net = hard(rng)
    first = net.solve(rounds=20, seed=5, device="cpu").result()
    starts = [rng.integers(0, 6, size=120), first.solution, {0: 3, "x5": 2}]
    events = list(net.solve(rounds=0, warm_starts=starts))
    told = [event for event in events if event.kind == "solution"]
    assert {event.source for event in told} == {"warm-start"}
    assert told[0].cost == net.cost(starts[0]) and told[-1].cost == first.cost
    # a run starts with the solution of another one
    resumed = net.solve(rounds=20, seed=6, device="cpu", warm_starts=first.solution).result()
    assert resumed.cost <= first.cost
    part = np.full(120, -1)
    part[:100] = first.solution[:100]
    for start in (part, dict(enumerate(first.solution[:100].tolist()))):
        found = net.solve(rounds=0, warm_starts=[start]).result()
        assert (found.solution[:100] == first.solution[:100]).all()
        filled = part.copy()
        filled[100:] = 0
        assert found.cost <= net.cost(filled)


def test_the_command_has_the_same_result(binary, tmp_path, rng):
    cases = [(ROOT / "examples" / "potts-20x20.wcsp", ["--no-reduce"], {"reduce": False})]
    net = hard(rng)
    net.write(tmp_path / "hard.wcsp")
    cases += [(tmp_path / "hard.wcsp", ["--bound", "none"], {"bound": "none"}), (tmp_path / "hard.wcsp", [], {})]
    for path, flags, options in cases:
        command = [binary, "solve", path, "--rounds", "15", "--seed", "4", "--json", "--device", "cpu", *flags]
        told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        result = fangs.read(path).solve(rounds=15, seed=4, device="cpu", **options).result()
        assert result.solution.tolist() == told["solution"]
        for name in ("cost", "bound", "rounds", "moves", "ratings", "status", "bound_method"):
            assert getattr(result, name) == told[name], name
    # a network from tables gives the same run as its file
    own = net.solve(rounds=15, seed=4, device="cpu").result()
    assert (own.solution == result.solution).all() and own.ratings == result.ratings


def test_history_and_pictures(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    net = hard(rng)
    run = net.solve(time=1.5)
    result = run.result()
    history = run.history
    assert isinstance(history, pandas.DataFrame)
    assert list(history.columns)[:5] == ["time_s", "upper_bound", "lower_bound", "gap", "event"]
    assert history.upper_bound.iloc[-1] == result.cost and history.lower_bound.iloc[-1] == result.bound
    assert (history.event == "tick").sum() >= 1
    picture = run.plot(tmp_path / "run.svg")
    assert picture.svg.startswith("<svg") and (tmp_path / "run.svg").read_text() == picture.svg
    run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes()[1:4] == b"PNG"
    assert "<svg" in run._repr_html_() and str(result.cost) in run._repr_html_()
    with pytest.raises(fangs.Error, match="svg"):
        run.plot(tmp_path / "run.txt")


def test_goals_end_a_run(rng):
    net = hard(rng)
    assert net.solve(time=60, gap=0.99).result().stopped_by == "gap"
    assert net.solve(time=60, target=1e9).result().stopped_by == "target"
    assert net.solve(rounds=3).result().rounds == 3


def test_a_run_ends_by_its_own_record(rng):
    net = hard(rng)
    result = net.solve(time=60, stall=0.3, bound="none").result()
    assert result.stopped_by == "stall" and result.time < 30
    for options in ({"stall": -1.0}, {"stall": math.nan}, {"stall": math.inf}):
        with pytest.raises(fangs.UsageError, match="stall"):
            net.solve(**options)
    # a run with a time limit below twenty seconds ends too early for this rule
    assert net.solve(time=1, diminishing=True).result().stopped_by == "time"


def test_a_run_goes_on_from_a_checkpoint(rng, tmp_path, binary):
    net, path = hard(rng), tmp_path / "run.ckpt"
    with net.solve(time=60, checkpoint=path) as run:
        for event in run:
            if event.kind == "bound" and event.cost is not None:
                run.stop()
    before = run.result()
    # neither the solution nor the bound is lost; the bound exists within a second
    events = list(net.solve(rounds=0, resume=path))
    first, last = events[0], events[-1]
    assert last.cost == before.cost and last.bound >= before.bound and net.cost(last.solution) == before.cost
    assert first.source == "resume" and first.cost == before.cost
    # the command resumes from a checkpoint of the package, and the package from one of the command
    net.write(tmp_path / "net.wcsp")
    command = [binary, "solve", tmp_path / "net.wcsp", "--resume", path, "--checkpoint", path, "--time", "1", "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert told["cost"] <= before.cost and told["bound"] >= before.bound
    again = fangs.read(tmp_path / "net.wcsp").solve(rounds=0, resume=path).result()
    assert (again.cost, again.bound) == (told["cost"], told["bound"])


def test_resumed_runs_of_rounds_have_the_same_bits(rng, tmp_path):
    net, path = hard(rng), tmp_path / "run.ckpt"
    net.solve(rounds=5, device="cpu", checkpoint=path).result()
    one, other = (net.solve(rounds=12, device="cpu", resume=path, threads=threads).result() for threads in (1, 3))
    assert one.rounds == other.rounds == 12 and one.ratings == other.ratings
    assert (one.solution == other.solution).all() and one.bound == other.bound


def test_checkpoints_that_do_not_fit_are_refused(rng, tmp_path):
    net, path = hard(rng), tmp_path / "run.ckpt"
    net.solve(rounds=1, checkpoint=path).result()
    with pytest.raises(fangs.UsageError, match="another network"):
        hard(rng, n=60).solve(resume=path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(fangs.UsageError, match="changed or cut short"):
        net.solve(resume=path)
    for options in ({"resume": tmp_path / "none"}, {"checkpoint": tmp_path / "none" / "x"}):
        with pytest.raises(fangs.FileError, match="none"):
            net.solve(**options)
    with pytest.raises(fangs.UsageError, match="exclude"):
        net.solve(rounds=1, exchange=tmp_path / "shared")


def test_runs_exchange_through_a_folder(rng, tmp_path):
    net, folder = hard(rng), tmp_path / "shared"
    best = net.solve(time=1.5, exchange=folder).result()
    assert len(list(folder.glob("*.fangs"))) == 1
    # a run that computes no bounds receives those of the other
    events = list(net.solve(time=2.5, bound="none", exchange=folder))
    assert events[-1].bound >= best.bound > events[0].bound and events[-1].cost <= best.cost


def test_heuristics_are_names_files_and_texts(rng, tmp_path):
    net = hard(rng)
    text = 'active = "current_cost > 0"\nweight = "if(cost == least, 1 / (1 + frequency), 0.001)"\n'
    (tmp_path / "my.toml").write_text(text)
    for heuristic in ("min-conflicts", tmp_path / "my.toml", text):
        result = net.solve(rounds=5, driver="guided", heuristic=heuristic, device="cpu").result()
        assert net.cost(result.solution) == result.cost
    with pytest.raises(fangs.ParseError) as caught:
        net.solve(heuristic=text.replace("frequency", "frequenzy"))
    assert caught.value.line == 2


def test_errors_of_a_run_are_raised(rng):
    run = hard(rng).solve(threads=100000)
    with pytest.raises(fangs.UsageError, match="threads"):
        run.result()
    with pytest.raises(fangs.UsageError, match="no CUDA|cuda|driver|device"):
        hard(rng).solve(device="cuda:99", time=5).result()


def memory() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory by /proc")
def test_many_runs_at_once_leave_nothing_behind(rng):
    """Set FANGS_RUNS=1000 for the full size."""
    import os

    runs = int(os.environ.get("FANGS_RUNS", "160"))
    nets = [random_network(rng, n=12)[0] for _ in range(8)]
    expected = [net.solve(rounds=3, seed=1, threads=1, device="cpu").result().cost for net in nets]
    failures = []

    def work(net, cost, count):
        for _ in range(count):
            found = net.solve(rounds=3, seed=1, threads=1, device="cpu").result().cost
            if found != cost:
                failures.append((found, cost))

    def all_at_once(count):
        threads = [
            threading.Thread(target=work, args=(net, cost, count)) for net, cost in zip(nets, expected, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    all_at_once(runs // 16)
    before = memory()
    all_at_once(runs // 16)
    middle = memory()
    all_at_once(runs // 16)
    assert not failures
    # the growth in the second half is noise of the allocator
    assert memory() - middle < 8 << 20, (before, middle, memory())


def test_warnings_of_files_are_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fangs.reads("MARKOV\n1\n2\n1\n1 0\n2\n0.5 0.5\nand more\n", "uai")
    assert len(caught) == 1 and ":8:" in str(caught[0].message)
