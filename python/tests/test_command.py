"""The command that the package installs."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import fangs
from conftest import ROOT

POTTS = ROOT / "examples" / "potts-20x20.wcsp"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "fangs", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def test_pip_installs_the_command():
    (script,) = [entry for entry in entry_points(group="console_scripts") if entry.name == "fangs"]
    assert script.value == "fangs.__main__:main"


def test_the_version_is_the_package_s():
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"fangs {fangs.__version__}\n")


def test_it_solves_a_file_like_the_package():
    done = run("solve", POTTS, "--json", "--rounds", "40", "--device", "cpu", "--quiet")
    report = json.loads(done.stdout)
    assert report["cost"] == fangs.read(POTTS).solve(rounds=40, device="cpu").result().cost


def test_mistakes_have_the_command_s_exit_codes():
    unknown, missing = run("solve", POTTS, "--no-such-option"), run("solve", "no-such-file.wcsp")
    assert (unknown.returncode, missing.returncode) == (2, 2)
    assert "--no-such-option" in unknown.stderr and "no-such-file.wcsp" in missing.stderr


def test_agents_in_processes_of_their_own(tmp_path: Path):
    problem = tmp_path / "ring.yaml"
    agents = "agents: [a1, a2, a3]\n"
    values = "domains: {d: {values: [0, 1, 2]}}\n"
    variables = "variables: {x: {domain: d}, y: {domain: d}, z: {domain: d}}\n"
    pairs = [("c1", "x", "y"), ("c2", "y", "z"), ("c3", "x", "z")]
    differ = "".join(f"  {name}: {{type: intention, function: 5 if {u} == {v} else {u}}}\n" for name, u, v in pairs)
    problem.write_text(f"name: ring\nobjective: min\n{values}{variables}constraints:\n{differ}{agents}")
    done = run("dcop", problem, "--agents-over", "tcp", "--processes", "2", "--json")
    assert done.returncode == 0, done.stderr
    best = min(
        sum(5 if at[u] == at[v] else at[u] for _, u, v in pairs)
        for x in range(3)
        for y in range(3)
        for z in range(3)
        for at in [{"x": x, "y": y, "z": z}]
    )
    assert json.loads(done.stdout)["cost"] == best
