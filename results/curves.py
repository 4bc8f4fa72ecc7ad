#!/usr/bin/env python3
"""Bounds over time: `fangs bound` on every instance of a folder with a MANIFEST.tsv that the program can read.

usage: results/curves.py INSTANCES SECONDS OUT.csv PLACE... [--only SUBSTRING...]

A PLACE is DEVICE:PROCESSORS, as `cpu:0,1` or `cuda:0:2-7`: it has one run at a time, on those processors. Writes a row for each time
that the bound rose, no more than ten for each factor of ten in time, and one at the end. FANGS names the program
(target/release/fangs), MEMORY what bounds may take (8G).
"""
import argparse, csv, json, math, os, pathlib, queue, subprocess, tempfile
from concurrent.futures import ThreadPoolExecutor

FANGS = os.environ.get("FANGS", "target/release/fangs")
COLUMNS = ["instance", "device", "threads", "time_s", "bound", "source", "event", "exact", "best_known", "best_kind"]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("instances", type=pathlib.Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("out")
    parser.add_argument("places", nargs="+")
    parser.add_argument("--only", nargs="*", default=[])
    return parser.parse_args()


def processors(text):
    """How many `0,1` or `2-7` are."""
    ends = [part.split("-") for part in text.split(",")]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def bound(folder, row, seconds, place):
    """The rows of one run."""
    device, pinned = place.rsplit(":", 1)
    known = {"instance": row["path"], "device": device, "threads": processors(pinned), "best_known": row["best_known"],
             "best_kind": row["best_kind"]}
    with tempfile.TemporaryDirectory() as temporary:
        curve = pathlib.Path(temporary) / "curve.csv"
        command = ["taskset", "-c", pinned, FANGS, "bound", str(folder / row["path"]), "-t", str(seconds), "--device", device,
                   "--threads", str(known["threads"]), "--bound-memory", os.environ.get("MEMORY", "8G"), "--csv", str(curve), "--json"]
        evidence = [name for name in row["companions"].split(",") if name.endswith(".evid")]
        command += ["--evidence", str(folder / evidence[0])] if evidence else []
        command += ["--colors", row["best_known"]] if row["format"] == "col" else []
        run = subprocess.run(command, capture_output=True, text=True)
        if not run.stdout.strip():
            message = run.stderr.strip().splitlines()
            return [known | {"event": f"exit {run.returncode}: {message[-1].split(': ', 1)[-1] if message else ''}"}]
        side = "upper_bound" if row["format"].startswith("uai") else "lower_bound"
        with open(curve) as lines:
            events = [line for line in csv.DictReader(lines) if line["event"] in ("start", "bound", "end") and line[side]]
    kept = {}
    for line in events:
        # the last of each tenth of a power of ten
        kept[math.floor(10 * math.log10(max(float(line["time_s"]), 1e-3)))] = line
    exact = json.loads(run.stdout)["exact"]
    rows = [known | {"time_s": line["time_s"], "bound": line[side], "source": line["source"], "event": line["event"]}
            for line in kept.values()]
    rows[-1]["exact"] = exact
    return rows


def main():
    options = arguments()
    with open(options.instances / "MANIFEST.tsv") as manifest:
        rows = [row for row in csv.DictReader(manifest, delimiter="\t") if row["format"] in ("wcsp", "uai", "uai-LG", "col")]
    rows = [row for row in rows if not options.only or any(part in row["path"] for part in options.only)]
    places = queue.Queue()
    for place in options.places:
        places.put(place)

    def measure(row):
        place = places.get()
        try:
            return bound(options.instances, row, options.seconds, place)
        finally:
            places.put(place)

    with open(options.out, "w", newline="") as out, ThreadPoolExecutor(len(options.places)) as pool:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        for lines in pool.map(measure, rows):
            writer.writerows(lines)
            out.flush()


main()
