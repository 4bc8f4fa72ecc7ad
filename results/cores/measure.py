#!/usr/bin/env python3
"""Bounds of networks, one thread and one run after the other: `auto` of a program without `cores` (BEFORE), `auto` and
`cores` of one that has it (NOW).

usage: measure.py BEFORE NOW SECONDS OUT.csv FILE...
"""
import csv
import json
import pathlib
import subprocess
import sys

FIELDS = ("bound", "cost", "exact", "time_s", "method")


def bound(fangs, file, seconds, method):
    command = [fangs, "bound", file, "-t", seconds, "--threads", "1", "--device", "cpu", "--json", "--quiet"]
    run = subprocess.run([*command, "--method", method], capture_output=True, text=True)
    if run.stdout:
        found = json.loads(run.stdout)
        return [found[field] for field in FIELDS]
    return [None, None, None, None, run.stderr.strip()]


def main():
    before, now, seconds, out, *files = sys.argv[1:]
    with open(out, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["network", "run", *FIELDS])
        for path in files:
            name = "/".join(pathlib.Path(path).parts[-2:])
            for run, fangs, method in (("before", before, "auto"), ("auto", now, "auto"), ("cores", now, "cores")):
                table.writerow([name, run, *bound(fangs, path, seconds, method)])
                file.flush()


main()
