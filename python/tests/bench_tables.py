"""The time to add 20,000 tables of 8x8, compared with pytoulbar2 if it is installed.

python bench_tables.py
"""

from __future__ import annotations

import time

import fangs
import numpy as np


def best(run, times: int = 5) -> float:
    """Returns the shortest time of some runs, in seconds."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def main() -> None:
    rng = np.random.default_rng(1)
    n, m, d = 5000, 20_000, 8
    scopes = np.array([rng.choice(n, size=2, replace=False) for _ in range(m)])
    tables = rng.random((m, d, d)).round(3)

    def many() -> None:
        fangs.Network(np.full(n, d), decimals=3).add_many(scopes, tables)

    def built() -> None:
        net = fangs.Network(np.full(n, d), decimals=3)
        net.add_many(scopes, tables)
        net.decimals  # noqa: B018

    print(f"fangs add_many           {best(many):.3f} s")
    print(f"fangs add_many and build {best(built):.3f} s")
    try:
        from pytoulbar2 import CFN
    except ImportError:
        return

    def one_by_one() -> None:
        cfn = CFN(resolution=3)
        cfn.AddVariables(n, "x", 0, d - 1)
        for (u, v), table in zip(scopes.tolist(), tables, strict=True):
            cfn.AddFunction([u, v], table.ravel().tolist())

    def buffers() -> None:
        cfn = CFN(resolution=3)
        cfn.AddVariables(n, "x", 0, d - 1)
        cfn.AddFunctions(scopes, tables)

    print(f"pytoulbar2 AddFunction   {best(one_by_one, 1):.3f} s")
    print(f"pytoulbar2 AddFunctions  {best(buffers, 3):.3f} s")


if __name__ == "__main__":
    main()
