#!/usr/bin/env python3
"""Solves every instance of a folder with a MANIFEST.tsv that the program can read; writes one CSV row each.

usage: results/table.py INSTANCES SECONDS OUT.csv [SUBSTRING...]

Evidence files that the manifest names are used. .col graphs get the best known number of colors.
"""
import csv, json, pathlib, subprocess, sys

folder, seconds, out = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
wanted = sys.argv[4:]
formats = {"wcsp", "uai", "uai-LG", "col"}
columns = ["instance", "status", "cost", "bound", "gap", "best_known", "best_kind", "gap_to_best", "time_to_best_s",
           "time_s", "stopped_by", "bound_method", "driver_rounds", "moves"]

with open(folder / "MANIFEST.tsv") as manifest, open(out, "w", newline="") as table:
    writer = csv.DictWriter(table, columns)
    writer.writeheader()
    for row in csv.DictReader(manifest, delimiter="\t"):
        if row["format"] not in formats or (wanted and not any(w in row["path"] for w in wanted)):
            continue
        command = ["target/release/fangs", "solve", str(folder / row["path"]), "-t", seconds, "--threads", "2", "--json", "-q"]
        evidence = [c for c in row["companions"].split(",") if c.endswith(".evid")]
        if evidence:
            command += ["--evidence", str(folder / evidence[0])]
        if row["format"] == "col":
            command += ["--colors", row["best_known"]]
        run = subprocess.run(command, capture_output=True, text=True)
        line = {"instance": row["path"], "best_known": row["best_known"], "best_kind": row["best_kind"]}
        if run.stdout.strip():
            answer = json.loads(run.stdout)
            line |= {key: answer[key] for key in ("status", "cost", "bound", "gap", "time_to_best_s", "time_s", "stopped_by", "bound_method", "moves")}
            line["driver_rounds"] = answer["rounds"]
            best = 0.0 if row["format"] == "col" else row["best_known"]
            try:
                best, cost = float(best), answer["cost"]
                line["gap_to_best"] = abs(cost - best) / max(abs(cost), abs(best), 1e-9)
            except (TypeError, ValueError):
                pass
        else:
            line["status"] = f"exit {run.returncode}: {run.stderr.strip().splitlines()[-1] if run.stderr.strip() else ''}"
        writer.writerow(line)
        table.flush()
        print(*(line.get(key, "") for key in columns[:10]), flush=True)
