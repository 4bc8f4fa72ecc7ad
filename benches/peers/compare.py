#!/usr/bin/env python3
"""Compares the program with several modes of toulbar2 and with a plain annealing, one thread each, and writes one CSV.

usage: benches/peers/compare.py INSTANCES OUT.csv [--seconds 60] [--seeds 1,2,3]
                                [--modes fangs,annealing,hbfs,vns,vac,incop]
                                [--only SUBSTRING...] [--device cpu] [--jobs N]

INSTANCES is a folder with a MANIFEST.tsv (path, format, best_known, companions). Costs are in the file's units,
logarithms for networks of probabilities. Columns: the cost after 1, 5, 20 and 60 s, the last cost and its time, the
time at which the best known cost was reached, the bound, whether it proves the cost, and the primal integral: the mean
over time of |cost - best| / max(|cost|, |best|), 1 before the first solution. toulbar2's times are the processor
times that it prints; versions that print none are timed from outside. FANGS, ANNEALING and TOULBAR2 name the programs;
build the first two with `cargo build --release` and `cargo build --release --package fangs-bench`.
"""
import argparse, bz2, csv, json, lzma, os, pathlib, queue, re, subprocess, tempfile, time
from concurrent.futures import ThreadPoolExecutor

FANGS = os.path.abspath(os.environ.get("FANGS", "target/release/fangs"))
ANNEALING = os.path.abspath(os.environ.get("ANNEALING", "target/release/annealing"))
TOULBAR2 = os.environ.get("TOULBAR2", "toulbar2")
# from its user guide: hybrid best-first search, decomposition-guided neighbourhoods, virtual arc consistency with
# relaxation-aware probing, long INCOP
TOULBAR2_MODES = {
    "hbfs": [],
    "vns": ["-vns", "-O=-1", "-E"],
    "vac": ["-A", "-V", "-vacint", "-vacthr", "-rasps"],
    "incop": ["-i=0 1 3 idwa 4000000 cv v 0 200 1 0 0"],
}
POINTS = (1, 5, 20, 60)
COLUMNS = ["instance", "mode", "seed", "best_known", *(f"cost_{point}" for point in POINTS), "cost", "cost_s", "best_s",
           "bound", "proved", "primal_integral", "note"]


class Instance:
    """A row of the manifest, with its file unpacked for toulbar2."""

    def __init__(self, folder, row, unpacked):
        self.file, self.row = folder / row["path"], row
        self.name = pathlib.Path(row["path"]).name.removesuffix(".xz").removesuffix(".bz2")
        self.colors = row["best_known"] if row["format"] == "col" else None
        self.best = 0.0 if self.colors else float(row["best_known"]) if row["best_known"] else None
        evidence = [name for name in row["companions"].split(",") if name.endswith(".evid")]
        self.evidence = folder / evidence[0] if evidence else None
        self.logarithm = row["format"] in ("uai", "uai-LG")
        text = self.file.read_bytes()
        text = {".xz": lzma.decompress, ".bz2": bz2.decompress}.get(self.file.suffix, lambda bytes: bytes)(text)
        self.plain = unpacked / self.name
        if self.colors:
            self.plain = self.plain.with_suffix(".wcsp")
            text = coloring(text.decode(), int(self.colors)).encode()
        self.plain.write_bytes(text)


def coloring(text, colors):
    """Returns a network of a DIMACS graph whose costs count conflicts."""
    lines = [line.split() for line in text.splitlines()]
    vertices = next(int(line[2]) for line in lines if line[:1] == ["p"])
    edges = sorted({tuple(sorted((int(line[1]) - 1, int(line[2]) - 1))) for line in lines if line[:1] == ["e"]})
    head = f"coloring {vertices} {colors} {len(edges)} {len(edges) + 1}\n{' '.join([str(colors)] * vertices)}\n"
    same = "".join(f"{c} {c} 1\n" for c in range(colors))
    return head + "".join(f"2 {a} {b} 0 {colors}\n{same}" for a, b in edges)


def run_toulbar2(instance, mode, seed, seconds, folder):
    command = [TOULBAR2, str(instance.plain)] + ([str(instance.evidence)] if instance.evidence else [])
    command += TOULBAR2_MODES[mode] + [f"-timer={seconds}", f"-seed={seed}"]
    # INCOP does not interrupt its moves; for older versions that print no time, the time at which a line is read counts
    command = ["timeout", "-s", "KILL", str(seconds * 3 + 10), "stdbuf", "-oL", *command]
    began = time.monotonic()
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
                           errors="replace")
    points, bound, proved, line = [], None, False, ""
    number, energy = r"(-?[\d.]+(?:e[+-]?\d+)?)", r"(?: energy: (\S+) prob: \S+)?"
    cost = lambda found: -float(found[2]) if instance.logarithm and found[2] else float(found[1])
    for line in run.stdout:
        if found := re.match(rf"New solution: {number}{energy}", line):
            stamp = re.search(rf" {number} seconds", line)
            points.append((float(stamp[1]) if stamp else time.monotonic() - began, cost(found)))
        elif found := re.match(rf"Dual bound: {number}", line):
            bound = None if instance.logarithm else float(found[1])
        elif found := re.match(rf"Optimum: {number}{energy}", line):
            proved, bound = True, cost(found)
    run.wait()
    note = "" if points or run.returncode == 0 else line.strip()
    return points, bound, proved, note


def run_annealing(instance, mode, seed, seconds, folder):
    command = [ANNEALING, str(instance.file), str(seconds), str(seed)] + ([instance.colors] if instance.colors else [])
    if instance.evidence:
        return [], None, False, "evidence is not read"
    run = subprocess.run(command, capture_output=True, text=True)
    return [tuple(map(float, line.split())) for line in run.stdout.splitlines()], None, False, run.stderr.strip()


def run_fangs(instance, mode, seed, seconds, folder, device):
    table = folder / f"{instance.name}-{seed}.csv"
    command = [FANGS, "solve", str(instance.file), "-t", str(seconds), "--seed", str(seed), "--json", "-q",
               "--csv", str(table)]
    command += ["--device", device] + (["--threads", "1"] if device == "cpu" else [])
    command += (["--evidence", str(instance.evidence)] if instance.evidence else [])
    command += (["--colors", instance.colors] if instance.colors else [])
    run = subprocess.run(command, capture_output=True, text=True)
    if not run.stdout.strip():
        return [], None, False, run.stderr.strip()
    answer = json.loads(run.stdout)
    side = "lower_bound" if instance.logarithm else "upper_bound"
    with open(table) as rows:
        points = [(float(row["time_s"]), float(row[side]))
                  for row in csv.DictReader(rows) if row["event"] == "solution"]
    return points, answer["bound"], answer["status"] == "optimal", ""


def summary(points, best, seconds, maximise):
    """Returns the columns that are computed from the solutions of a run."""
    better = (lambda a, b: a > b) if maximise else (lambda a, b: a < b)
    kept = []
    for stamp, cost in sorted(points):
        if stamp <= seconds and (not kept or better(cost, kept[-1][1])):
            kept.append((stamp, cost))
    at = lambda point: next((cost for stamp, cost in reversed(kept) if stamp <= point), "")
    line = {f"cost_{point}": at(point) for point in POINTS if point <= seconds}
    if kept:
        line |= {"cost": kept[-1][1], "cost_s": kept[-1][0]}
    if best is None:
        return line
    near = lambda cost: abs(cost - best) <= 1e-5 * abs(best) or better(cost, best)
    line["best_s"] = next((stamp for stamp, cost in kept if near(cost)), "")
    gap = lambda cost: 0.0 if near(cost) else min(1.0, abs(cost - best) / max(abs(cost), abs(best), 1e-9))
    edges = [(0.0, 1.0)] + [(stamp, gap(cost)) for stamp, cost in kept] + [(seconds, 0.0)]
    area = sum((after - before) * value for (before, value), (after, _) in zip(edges, edges[1:]))
    return line | {"primal_integral": f"{area / seconds:.6f}"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("instances", type=pathlib.Path)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--modes", default=",".join(["fangs", "annealing", *TOULBAR2_MODES]))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    # programs run in other folders
    options.instances = options.instances.resolve()
    runners = {mode: run_toulbar2 for mode in TOULBAR2_MODES} | {"annealing": run_annealing}
    runners["fangs"] = lambda *arguments: run_fangs(*arguments, options.device)
    processors = queue.Queue()
    for processor in sorted(os.sched_getaffinity(0))[:options.jobs]:
        processors.put(processor)
    with open(options.instances / "MANIFEST.tsv") as manifest:
        formats = "wcsp", "uai", "uai-LG", "col"
        rows = [row for row in csv.DictReader(manifest, delimiter="\t") if row["format"] in formats]
    rows = [row for row in rows if not options.only or any(part in row["path"] for part in options.only)]
    with (tempfile.TemporaryDirectory() as unpacked, open(options.out, "w", newline="") as out,
          ThreadPoolExecutor(options.jobs) as pool):

        def measure(task):
            instance, mode, seed = task
            processor = processors.get()
            os.sched_setaffinity(0, {processor} if options.device == "cpu" else os.sched_getaffinity(0))
            with tempfile.TemporaryDirectory() as folder:
                points, bound, proved, note = runners[mode](instance, mode, seed, options.seconds, pathlib.Path(folder))
            processors.put(processor)
            row = instance.row
            known = {"instance": row["path"], "mode": mode, "seed": seed, "best_known": row["best_known"]}
            found = summary(points, instance.best, options.seconds, instance.logarithm)
            return known | found | {"bound": bound, "proved": proved, "note": str(note)[-200:]}

        instances = [Instance(options.instances, row, pathlib.Path(unpacked)) for row in rows]
        tasks = [(instance, mode, int(seed)) for instance in instances for mode in options.modes.split(",")
                 for seed in options.seeds.split(",")]
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        for line in pool.map(measure, tasks):
            writer.writerow(line)
            out.flush()


main()
