#!/usr/bin/env python3
"""Prints what each driver and bound strategy of runs.csv changes where it is left out, as tables in Markdown.

usage: results/ablation/summary.py [families]

The first tables have a line for each setting, those of `families` a line for each family and a column for each setting.
A change is the logarithm of the integral plus 0.001 minus its median over all settings of the same network, so positive
numbers mean that the part helps. The error of a mean over networks is its standard error; that of a family follows from
the median deviation between the settings of a network, which is the spread of single runs.
"""
import csv, math, pathlib, re, statistics, sys
from collections import defaultdict

runs = [row for row in csv.DictReader(open(pathlib.Path(__file__).with_name("runs.csv"))) if row["primal_integral"]]


def family(network):
    return "frequency" if re.match(r"f\d+-", network) else re.sub(r"[-_.]?\d.*$", "", network)


def changes(rows, column):
    """For each network its change by setting and the spread of its runs."""
    networks = defaultdict(dict)
    for row in rows:
        networks[row["network"]][row["without"]] = math.log(float(row[column]) + 1e-3)
    result = {}
    for network, values in networks.items():
        middle = statistics.median(values.values())
        spread = 1.4826 * statistics.median(abs(value - middle) for value in values.values())
        result[network] = {setting: value - middle for setting, value in values.items()}, max(spread, 0.01)
    return result


def by_family(found, setting):
    groups = defaultdict(list)
    for network, (change, spread) in found.items():
        if setting in change:
            groups[family(network)].append((change[setting], spread))
    return {name: (statistics.mean(c for c, _ in pairs), math.sqrt(sum(s * s for _, s in pairs)) / len(pairs))
            for name, pairs in groups.items()}


def named(groups, sign):
    """The families whose change has the sign and is beyond three errors and 0.05."""
    clear = [(sign * change, name, error) for name, (change, error) in groups.items()
             if sign * change > max(3 * error, 0.05)]
    return ", ".join(f"{name} {sign * change:+.2f} ± {error:.2f}" for change, name, error in sorted(clear, reverse=True))


for title, sets in (("families, held-out, made: 10 s", {"families", "held-out", "made"}),
                    ("collection: 10 s", {"collection"}), ("large: 20 s", {"large"}), ("long: 50 s", {"long"})):
    rows = [row for row in runs if row["set"] in sets]
    settings = sorted({row["without"] for row in rows} - {""})
    for column in "primal_integral", "bound_integral":
        found = changes(rows, column)
        print(f"\n**{title}, {len(found)} networks, {column.replace('_', ' ')}**\n")
        if sys.argv[1:] == ["families"]:
            table = {setting: by_family(found, setting) for setting in settings}
            print("| family |", " | ".join(settings), "|\n|" + "---|" * (len(settings) + 1))
            for name in sorted(table[settings[0]]):
                cells = (table[setting].get(name) for setting in settings)
                print(f"| {name} |", " | ".join(f"{c[0]:+.2f} ± {c[1]:.2f}" if c else "" for c in cells), "|")
            continue
        print("| without | mean change | it helps | it harms |\n|---|---|---|---|")
        for setting in settings:
            values = [change[setting] for change, _ in found.values() if setting in change]
            error = statistics.stdev(values) / math.sqrt(len(values))
            groups = by_family(found, setting)
            print(f"| `{setting}` | {statistics.mean(values):+.3f} ± {error:.3f} | {named(groups, 1)} | {named(groups, -1)} |")
