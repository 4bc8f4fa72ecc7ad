#!/usr/bin/env python3
"""Measures runs that are killed, that exchange, that leave checkpoints and that are ranks of mpirun.

    measure.py exchange NETWORK [--kills 200] [--every 5]     four processes share a folder, one is killed each time
    measure.py resume NETWORK [--kills 100]                   a run killed at random moments goes on each time
    measure.py overhead NETWORK... [--time 12]                how long the last checkpoint takes, of runs that leave one
                                                              every 60 s: how much later their end comes
    measure.py ranks NETWORK... [--time 15]                   mpirun -n 2 against one process of two threads

Costs are to be minimised. FANGS is the program (default: fangs), FANGS_FLAGS more of its options, such as "--device cuda". A line a result is
printed; what must hold and does not ends the script with an error.
"""
import argparse
import csv
import hashlib
import json
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import tempfile
import time

PROGRAM = os.environ.get("FANGS", "fangs")
FLAGS = shlex.split(os.environ.get("FANGS_FLAGS", "--device cpu"))


def solve(network, *more):
    return [PROGRAM, "solve", str(network), "--json", "--quiet", *FLAGS, *map(str, more)]


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    out, told = process.communicate()
    assert process.returncode in (0, 3), (process.returncode, told)
    return json.loads(out), told


def known(path):
    """What a sealed file says: cost, None without a solution, and bound."""
    body, seal, end = path.read_text().split("\n")
    assert end == "" and seal == "sha256 " + hashlib.sha256(body.encode()).hexdigest(), f"{path} is torn"
    value = json.loads(body)
    found = value["solution"]
    return found["value"] if found else None, value["bound"]["cost"]


def check_rows(path):
    """Whole rows that never get worse."""
    with open(path, newline="") as file:
        text = file.read()
    assert text.endswith("\n"), f"{path} ends within a row"
    rows = list(csv.DictReader(text.splitlines()))
    upper, lower, at = float("inf"), float("-inf"), 0.0
    for row in rows:
        assert None not in row.values() and float(row["time_s"]) >= at, row
        at = float(row["time_s"])
        if row["upper_bound"]:
            assert float(row["upper_bound"]) <= upper, row
            upper = float(row["upper_bound"])
        if row["lower_bound"]:
            assert float(row["lower_bound"]) >= lower, row
            lower = float(row["lower_bound"])
    return len(rows)


def exchange(network, kills, every):
    folder = pathlib.Path(tempfile.mkdtemp())
    shared, begun = folder / "shared", [0] * 4

    def begin(place):
        begun[place] += 1
        seed = place + 4 * begun[place]
        more = ["--csv", folder / f"{place}-{begun[place]}.csv"]
        return start(solve(network, "--threads", 1, "--seed", seed, "--time", "10h", "--exchange", shared, *more))

    def best():
        all_of = [known(path) for path in shared.glob("[0-9]*.fangs")]
        costs = [cost for cost, _ in all_of if cost is not None]
        return min(costs, default=None), max((bound for _, bound in all_of), default=None)

    running, record, told = [begin(place) for place in range(4)], (None, None), []
    for kill in range(kills):
        time.sleep(every)
        now = best()
        if record[0] is not None:
            assert now[0] <= record[0] and now[1] >= record[1], f"lost: {record} {now}"
        record, place = now, kill % 4
        running[place].kill()
        told.append(running[place].communicate()[1])
        running[place] = begin(place)
    last = best()
    # as long as the slowest needs to begin and to read
    time.sleep(4 * every)
    for process in running:
        process.terminate()
    results = [ended(process) for process in running]
    told += [told for _, told in results]
    costs, bounds = [[result[key] for result, _ in results] for key in ("cost", "bound")]
    assert all(cost <= last[0] for cost in costs), (costs, last)
    rows = sum(check_rows(path) for path in folder.glob("*.csv") if path.stat().st_size)
    files = len(list(shared.glob("[0-9]*.fangs")))
    left = len(list(shared.glob(".fangs-*")))
    lines = [line for text in told for line in text.splitlines() if "warning" in line]
    print(f"{network}: {kills} kills, {files} whole files, {left} left on their way, {rows} rows; best at the last kill "
          f"{last}, at the end costs {costs}, bounds {bounds}; {len(lines)} warnings {lines[:3]}")


def resume(network, kills, every):
    folder = pathlib.Path(tempfile.mkdtemp())
    checkpoint, rows, solution = (folder / name for name in ("run.ckpt", "run.csv", "run.sol"))
    draws, before, writes = random.Random(1), None, 0
    files = ["--checkpoint", checkpoint, "--checkpoint-every", "200ms", "--csv", rows, "--solution", solution]
    for kill in range(kills):
        more = ["--resume", checkpoint] if checkpoint.exists() else []
        process = start(solve(network, "--time", "10h", "--threads", 1 + kill % 2, *files, *more))
        time.sleep(draws.uniform(0.05, every))
        assert process.poll() is None, process.communicate()
        process.kill()
        told = process.communicate()[1]
        if not checkpoint.exists():
            continue
        now = known(checkpoint)
        writes += now != before
        if before is not None:
            assert before[0] is None or now[0] <= before[0], (before, now)
            assert now[1] >= before[1], (before, now)
        before = now
    last = ended(start(solve(network, "--time", 3, "--resume", checkpoint, *files)))[0]
    assert last["cost"] <= before[0] and last["bound"] >= before[1], (last, before)
    subprocess.run([PROGRAM, "check", str(network), str(solution)], check=True, stdout=subprocess.DEVNULL)
    print(f"{network}: {kills} kills, {writes} times more was known, {check_rows(rows)} rows, cost and bound of the "
          f"last checkpoint {before}, of the last run {last['cost']} {last['bound']} after {last['time_s']:.1f} s; {told}")


def overhead(networks, seconds, repeats):
    for network in networks:
        late, sizes = {"without": [], "with": []}, []
        for turn in range(repeats):
            for name in sorted(late, reverse=turn % 2 == 1):
                with tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder) / "run.ckpt"
                    more = ["--checkpoint", path, "--checkpoint-every", "60s"] if name == "with" else []
                    result, _ = ended(start(solve(network, "--time", seconds, "--seed", turn + 1, *more)))
                    late[name].append(round(result["time_s"] - seconds, 3))
                    sizes += [path.stat().st_size] if more else []
        middle = {name: statistics.median(times) for name, times in late.items()}
        part = 100 * (middle["with"] - middle["without"]) / 60
        print(f"{network}: the end comes {middle['with']} s after the limit with the last checkpoint, of {max(sizes)} "
              f"bytes, {middle['without']} s without: {part:.2f} % of 60 s; all {late}", flush=True)


def ranks(networks, seconds):
    better = worse = 0
    mpirun = ["mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root"]
    for seed, network in enumerate(networks, 1):
        more = ["--time", seconds, "--seed", seed]
        alone, _ = ended(start(solve(network, "--threads", 2, *more)))
        both, _ = ended(start(mpirun + solve(network, *more)))
        assert both["ranks"] == 2 and both["threads"] == 1, both
        sides = [(result["cost"], result["bound"], result["status"], result["time_s"]) for result in (alone, both)]
        better += both["cost"] < alone["cost"]
        worse += both["cost"] > alone["cost"]
        print(f"{network}: one process {sides[0]}, two ranks {sides[1]}", flush=True)
    print(f"two ranks found a better solution {better} times, a worse one {worse} times, of {len(networks)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["exchange", "resume", "overhead", "ranks"])
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--every", type=float)
    parser.add_argument("--time", type=float)
    parser.add_argument("--repeats", type=int, default=3)
    flags = parser.parse_args()
    if flags.what == "exchange":
        exchange(flags.networks[0], flags.kills or 200, flags.every or 5)
    elif flags.what == "resume":
        resume(flags.networks[0], flags.kills or 100, flags.every or 2)
    elif flags.what == "overhead":
        overhead(flags.networks, flags.time or 12, flags.repeats)
    else:
        ranks(flags.networks, flags.time or 15)


main()
