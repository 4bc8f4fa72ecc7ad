#!/usr/bin/env python3
"""Bounds of networks, one thread each: `auto` of a program without `cores` (BEFORE), `auto` and `cores` of one that has
it (NOW).

usage: measure.py BEFORE NOW SECONDS OUT.csv FILE...

JOBS is the number of runs side by side (1).
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FIELDS = ("bound", "cost", "exact", "time_s", "method")


def bound(task):
    name, run, fangs, file, seconds, method = task
    command = [fangs, "bound", file, "-t", seconds, "--threads", "1", "--device", "cpu", "--json", "--quiet"]
    ended = subprocess.run([*command, "--method", method], capture_output=True, text=True)
    if ended.stdout:
        found = json.loads(ended.stdout)
        return [name, run, *(found[field] for field in FIELDS)]
    return [name, run, None, None, None, None, ended.stderr.strip()]


def main():
    before, now, seconds, out, *files = sys.argv[1:]
    runs = ("before", before, "auto"), ("auto", now, "auto"), ("cores", now, "cores")
    name = lambda path: "/".join(pathlib.Path(path).parts[-2:])
    tasks = [(name(path), run, fangs, path, seconds, method) for path in files for run, fangs, method in runs]
    with open(out, "w", newline="") as file, ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        table = csv.writer(file)
        table.writerow(["network", "run", *FIELDS])
        for row in pool.map(bound, tasks):
            table.writerow(row)
            file.flush()


main()
