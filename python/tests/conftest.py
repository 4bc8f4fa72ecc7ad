"""Fixtures of the tests."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def optimum(net, *, maximize: bool = False) -> float:
    """Returns the best cost of all assignments by enumeration."""
    everything = np.array(list(itertools.product(*(range(domain) for domain in net.domains))), dtype=np.int64)
    costs = net.cost(everything.reshape(len(everything), len(net.domains)))
    return costs.max() if maximize else costs.min()


@pytest.fixture
def binary() -> Path:
    """Returns the path of the command, if it was built."""
    own = os.environ.get("FANGS_BIN")
    found = [Path(own)] if own else [ROOT / "target" / profile / "fangs" for profile in ("release", "debug")]
    for path in found:
        if path.exists():
            return path
    pytest.skip("the command was not built (FANGS_BIN names it)")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def random_network(rng: np.random.Generator, n: int = 7, **options):
    """Returns a network of a few variables with random tables, and its tables."""
    import fangs

    domains = rng.integers(2, 4, size=n)
    net = fangs.Network(domains, **options)
    tables = []
    for _ in range(2 * n):
        scope = rng.choice(n, size=int(rng.integers(1, 4)), replace=False)
        table = rng.integers(-20, 50, size=tuple(domains[scope])) / 4
        table[rng.random(table.shape) < 0.05] = -np.inf if options.get("maximize") else np.inf
        net.add(scope, table)
        tables.append((scope, table))
    return net, tables
