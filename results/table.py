#!/usr/bin/env python3
"""Solves every instance of a folder with a MANIFEST.tsv that the program can read; writes one CSV row each.

usage: results/table.py INSTANCES SECONDS OUT.csv [SUBSTRING...]

Evidence files that the manifest names are used. .col graphs get the best known number of colors. FANGS names the
program (target/release/fangs), SEEDS the seeds (1), JOBS the runs at a time, each on two processors of its own and with 8 GB for bounds (1).
TARGET=1 stops a run at the best known value.
"""
import csv, json, os, pathlib, queue, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

folder, seconds, out = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
wanted = sys.argv[4:]
program = os.environ.get("FANGS", "target/release/fangs")
seeds = [int(seed) for seed in os.environ.get("SEEDS", "1").split(",")]
jobs = int(os.environ.get("JOBS", "1"))
formats = {"wcsp", "uai", "uai-LG", "col"}
columns = ["instance", "seed", "status", "cost", "bound", "gap", "best_known", "best_kind", "gap_to_best",
           "time_to_best_s", "time_s", "stopped_by", "bound_method", "driver_rounds", "moves"]
processors = queue.Queue()
for job in range(jobs):
    processors.put(f"{2 * job},{2 * job + 1}")


def solve(row, seed):
    pinned = processors.get()
    best = "0" if row["format"] == "col" else row["best_known"]
    command = [program, "solve", str(folder / row["path"]), "-t", seconds, "--threads", "2", "--seed", str(seed), "--json", "-q"]
    if jobs > 1:
        command = ["taskset", "-c", pinned] + command + ["--bound-memory", "8G"]
    evidence = [name for name in row["companions"].split(",") if name.endswith(".evid")]
    if evidence:
        command += ["--evidence", str(folder / evidence[0])]
    if row["format"] == "col":
        command += ["--colors", row["best_known"]]
    if os.environ.get("TARGET") and best:
        command += ["--target", best]
    run = subprocess.run(command, capture_output=True, text=True)
    processors.put(pinned)
    line = {"instance": row["path"], "seed": seed, "best_known": row["best_known"], "best_kind": row["best_kind"]}
    if not run.stdout.strip():
        message = run.stderr.strip().splitlines()
        return line | {"status": f"exit {run.returncode}: {message[-1].split(': ', 1)[-1] if message else ''}"}
    answer = json.loads(run.stdout)
    line |= {key: answer[key] for key in columns if key in answer and key != "instance"}
    line["driver_rounds"] = answer["rounds"]
    try:
        best, cost = float(best), answer["cost"]
        line["gap_to_best"] = f"{abs(cost - best) / max(abs(cost), abs(best), 1e-9):.6f}"
    except (TypeError, ValueError):
        pass
    return line


with open(folder / "MANIFEST.tsv") as manifest:
    rows = [row for row in csv.DictReader(manifest, delimiter="\t") if row["format"] in formats]
rows = [row for row in rows if not wanted or any(part in row["path"] for part in wanted)]
with open(out, "w", newline="") as table, ThreadPoolExecutor(jobs) as pool:
    writer = csv.DictWriter(table, columns, extrasaction="ignore")
    writer.writeheader()
    for line in pool.map(lambda pair: solve(*pair), [(row, seed) for row in rows for seed in seeds]):
        writer.writerow(line)
        table.flush()
        print(*(line.get(key, "") for key in columns[:11]), flush=True)
