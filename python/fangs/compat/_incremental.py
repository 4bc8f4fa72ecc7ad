"""The methods of pytoulbar2's class CFN that change a problem between searches."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._errors import Unsupported, UsageError
from ._building import Key
from ._errors import Contradiction
from ._store import TABLES, Store

if TYPE_CHECKING:
    from .._fangs import Network


class Incremental:
    """Changes domains and the upper bound, and returns to earlier states.

    After ``SolveFirst``, each change of a domain establishes soft arc consistency, and raises ``Contradiction`` if that
    proves that no solution is below the upper bound.
    """

    UbInit: float | None
    Incremental: bool
    _store: Store
    _solutions: list[tuple[Any, list[int]]]

    if TYPE_CHECKING:

        def _index(self, key: Key) -> int: ...
        def _network(self) -> Network: ...
        def _limit(self) -> float: ...
        def _begin(self, limit: float) -> None: ...
        def _improve(
            self, network: Network, shown: int, target: float | None = None, start: npt.NDArray[np.int64] | None = None
        ) -> None: ...

    def SolveFirst(self) -> float | None:
        """Begins incremental solving. Returns an upper bound that every solution is below, or None if there is no
        solution."""
        if self.Depth() != 0:
            raise RuntimeError(f"SolveFirst begins at depth 0, the depth is {self.Depth()}")
        self._begin(0)
        self.Incremental = True
        self.UbInit = min(self._limit(), self._worst())
        try:
            self._propagate()
        except Contradiction:
            return None
        return self.UbInit

    def SolveNext(
        self, showSolutions: int = 0, timeLimit: float = 0, initHeuristics: bool = True
    ) -> tuple[list[int], Any, None] | None:
        """Finds the best solution below the upper bound, which is then its cost.

        Args:
            showSolutions: 1 prints values, 2 names and values, 3 names and names of values.
            timeLimit: wall-clock seconds; 0 for no limit.
            initHeuristics: whether to search afresh; if False, the search starts from the last solution.

        Returns:
            The values, the cost and None; None if there is no solution below the upper bound.
        """
        last = self._solutions[-1][1] if self._solutions else None
        self._begin(timeLimit)
        network, start = self._network(), None
        if last is not None and not initHeuristics and len(network.domains) == len(last):
            places = [own.place(value) for own, value in zip(self._store.variables, last, strict=True)]
            start = np.array(places) if math.isfinite(network.cost(places)) else None
        self._improve(network, showSolutions, start=start)
        if not self._solutions:
            return None
        cost, values = self._solutions[-1]
        self.UbInit = cost
        return list(values), cost, None

    def SetUB(self, cost: float) -> None:
        """Sets the upper bound; raises ``Contradiction`` if no solution is below it."""
        self._solutions = []
        self.UbInit = cost
        network = self._network()
        if network.propagate()[0] is None:
            raise Contradiction(f"no solution costs less than {cost}")

    def Depth(self) -> int:
        """The number of stored states."""
        return self._store.depth

    def Store(self) -> None:
        """Stores the functions and the domains."""
        self._store.save()

    def Restore(self, depth: int) -> None:
        """Returns to the functions and the domains that were stored at a depth."""
        self._store.restore(depth)

    def Assign(self, var: Key, value: int) -> None:
        """Assigns a value to a variable."""
        v = self._index(var)
        self._restrict(v, np.arange(self._store.variables[v].size) == self._store.variables[v].place(value))

    def MultipleAssign(self, vars: Sequence[Key], values: Sequence[int]) -> None:
        """Assigns values to several variables."""
        if len(vars) != len(values):
            raise RuntimeError(f"there are {len(vars)} variables, but {len(values)} values")
        for key, value in zip(vars, values, strict=True):
            v = self._index(key)
            variable = self._store.variables[v]
            self._store.restrict(v, np.arange(variable.size) == variable.place(value))
        self._after_change()

    def Remove(self, var: Key, value: int) -> None:
        """Removes a value from a domain."""
        v = self._index(var)
        self._restrict(v, np.arange(self._store.variables[v].size) != self._store.variables[v].place(value))

    def Increase(self, var: Key, value: int) -> None:
        """Removes the values below a value."""
        v = self._index(var)
        self._restrict(v, np.arange(self._store.variables[v].size) >= self._store.variables[v].place(value))

    def Decrease(self, var: Key, value: int) -> None:
        """Removes the values above a value."""
        v = self._index(var)
        self._restrict(v, np.arange(self._store.variables[v].size) <= self._store.variables[v].place(value))

    def Deconnect(self, var: Key) -> None:
        """Removes all functions of several variables that have this one, and assigns its value of least unary cost."""
        self.MultipleDeconnect([var])

    def MultipleDeconnect(self, vars: Iterable[Key]) -> None:
        """Removes all functions of several variables that have one of these, and assigns each its value of least unary
        cost."""
        for key in vars:
            self._store.disconnect(self._index(key))

    def Parse(self, certificate: str) -> None:
        """Changes domains by a list of operations, each a comma, the index of a variable, one of ``=#<>`` and a value:
        ``=`` assigns the value, ``#`` removes it, ``<`` keeps smaller values, ``>`` keeps larger values."""
        pattern = r",(\d+)([=#<>])(-?\d+)"
        if not re.fullmatch(f"(?:{pattern})*", certificate):
            raise UsageError(f"{certificate}: operations are like ,0=1 or ,2#0, and have no spaces")
        change = {"=": self.Assign, "#": self.Remove, "<": self.Decrease, ">": self.Increase}
        step = {"<": -1, ">": 1}
        for variable, operation, value in re.findall(pattern, certificate):
            change[operation](int(variable), int(value) + step.get(operation, 0))

    def Propagate(self, constraintId: int) -> None:
        """Refused: functions are not propagated one by one."""
        what = "functions are propagated together, after each change of a domain"
        raise Unsupported(f"Propagate({constraintId}): {what}")

    def ClearPropagationQueues(self) -> None:
        """Does nothing: no propagation is pending after a ``Contradiction``."""

    def _restrict(self, v: int, allowed: npt.NDArray[np.bool_]) -> None:
        self._store.restrict(v, allowed)
        self._after_change()

    def _after_change(self) -> None:
        if self.Incremental:
            self._propagate()

    def _propagate(self) -> None:
        """Removes the values that no solution below the upper bound has."""
        bound, allowed = self._network().propagate()
        if bound is None:
            raise Contradiction(f"no solution costs less than {self._limit()}")
        for v, own in enumerate(allowed[: len(self._store.variables)]):
            if not own[self._store.masks[v]].all():
                self._store.restrict(v, own)

    def _worst(self) -> float:
        """A number that the cost of every solution is below."""
        store = self._store
        hard = ("linear", "all_different")
        if store.base is not None or any(call.method not in (*TABLES, *hard) for call in store.calls):
            return math.inf
        worst = 0.0
        for call in store.calls:
            if call.method in ("add", "add_many"):
                costs = np.asarray(call.arguments[0], dtype=float)
                rows = costs.reshape(call.count(), -1) if costs.size else costs.reshape(0, 1)
                largest = np.where(np.isfinite(rows), rows, -math.inf).max(axis=1, initial=-math.inf)
                worst += largest[np.isfinite(largest)].sum()
            elif call.method == "add_sparse":
                costs = np.append(call.arguments[1], call.arguments[2])
                worst += max(costs[np.isfinite(costs)], default=0.0)
        return float(worst) + 10.0 ** -(store.resolution or 0)
