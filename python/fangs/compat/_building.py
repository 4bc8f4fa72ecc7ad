"""The methods of pytoulbar2's class CFN that add variables and functions."""

from __future__ import annotations

import itertools
import math
import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._errors import Unsupported
from ._store import Store, Variable, integers

if TYPE_CHECKING:
    from ._cfn import CFN

Key = str | int
#: The range of a sum for each comparison, relative to the number compared with.
OPERANDS: dict[str, tuple[int | None, int | None]] = {
    "==": (0, 0),
    "<=": (None, 0),
    "<": (None, -1),
    ">=": (0, None),
    ">": (1, None),
}
#: How toulbar2 represents these constraints, which has no effect here.
ALL_DIFFERENT = ("binary", "hungarian", "salldiff", "salldiffdp", "salldiffkp", "salldiffeq", "salldiffge", "walldiff")
#: Global functions whose parameters refer to variables.
NAMING = ("knapsackc", "knapsackv", "max", "smaxdp", "ssame")
CARDINALITY = ("hungarian", "sgcc", "sgccdp", "sgcckp", "wgcc")


class Building:
    """Adds variables and functions, which may be taken back by ``Restore`` (the argument ``incremental``)."""

    Variables: dict[str, Iterable[Any]]
    VariableIndices: dict[str, int]
    VariableNames: dict[int, str]
    _store: Store

    @staticmethod
    def flatten(S: Iterable[Any]) -> list[Any]:
        """The elements of nested lists, as one list."""
        res: list[Any] = []
        for own in S:
            res.extend(Building.flatten(own) if hasattr(own, "__iter__") and not isinstance(own, str) else [own])
        return res

    def AddVariable(self, name: str, values: Iterable[Any]) -> int:
        """Adds a variable with integers or names as values; returns its index.

        Names stand for the integers from 0. Integers between the least and the largest value that are not listed are
        removed from the domain, but count for its initial size.
        """
        if name in self.VariableIndices:
            raise RuntimeError(name + " already defined")
        listed = list(values)
        if listed and all(isinstance(value, (int, np.integer)) for value in listed):
            numbers = {int(value) for value in listed}
            low, size = min(numbers), max(numbers) - min(numbers) + 1
            names = None if low == 0 else [f"v{value}" for value in range(low, low + size)]
            allowed = np.isin(np.arange(low, low + size), list(numbers))
        elif listed and all(isinstance(value, str) for value in listed):
            low, size, names, allowed = 0, len(listed), list(listed), np.ones(len(listed), dtype=bool)
        else:
            raise RuntimeError("Incorrect domain:" + str(listed))
        index = self._store.add_variable(Variable(name, low, size, names), allowed)
        self.Variables[name] = values if isinstance(values, (list, range)) else listed
        self.VariableIndices[name] = index
        self.VariableNames[index] = name
        return index

    def AddVariables(self, n_var: int, base_name: str, min_dom: int, max_dom: int) -> int:
        """Adds variables with the same domain; returns the index of the first."""
        if min_dom > max_dom:
            raise RuntimeError("Error, the domain min value must be smaller than the domain max value")
        first = len(self._store.variables)
        for place in range(n_var):
            self.AddVariable(base_name + str(place), list(range(min_dom, max_dom + 1)))
        return first

    def AddFunction(self, scope: Sequence[Key], costs: Any, incremental: bool = False) -> None:
        """Adds a function with a list of costs, the last variable running fastest; ``Top`` forbids a tuple."""
        del incremental
        own = self._scope(scope)
        table = np.asarray(costs, dtype=float)
        shape = tuple(self._store.variables[v].size for v in own)
        if table.size != math.prod(shape):
            raise RuntimeError(f"{list(scope)} has {math.prod(shape)} tuples, but there are {table.size} costs")
        self._store.add("add", own, table.reshape(shape))

    def AddFunctions(self, scopes: Any, costs: Any, incremental: bool = False) -> None:
        """Adds many functions: scopes of shape (m,) or (m, k), tables of shape (m, d, …)."""
        del incremental
        scopes, costs = np.asarray(scopes), np.asarray(costs)
        if len(scopes) != len(costs):
            raise RuntimeError("Error, must provide same number of scopes and costs tables")
        self._store.add("add_many", self._matrix(scopes), costs)

    def AddAkinFunctions(self, scopes: Any, costs: Any, incremental: bool = False) -> None:
        """Adds many functions with the same table: scopes of shape (m, k), a table of shape (d, …)."""
        del incremental
        scopes, costs = np.asarray(scopes), np.asarray(costs)
        self._store.add("add_many", self._matrix(scopes), np.broadcast_to(costs, (len(scopes), *costs.shape)))

    def AddCompactFunction(
        self,
        scope: Sequence[Key],
        defcost: float,
        tuples: Sequence[Sequence[int]],
        tcosts: Sequence[float],
        incremental: bool = False,
    ) -> None:
        """Adds a function with a cost for some tuples of values and a default cost for all others. Tuples with values
        that a variable does not have are ignored."""
        del incremental
        own = self._scope(scope)
        if len(tuples) != len(tcosts):
            raise RuntimeError(f"there are {len(tuples)} tuples, but {len(tcosts)} costs")
        if not own:
            self._store.add("add", own, np.asarray(float(defcost)))
            return
        rows: list[list[int]] = []
        costs: list[float] = []
        variables = [self._store.variables[v] for v in own]
        for values, cost in zip(tuples, tcosts, strict=True):
            row = [variable.place(value) for variable, value in zip(variables, values, strict=True)]
            if all(0 <= place < variable.size for variable, place in zip(variables, row, strict=True)):
                rows.append(row)
                costs.append(float(cost))
        table = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(own))
        self._store.add("add_sparse", own, table, np.array(costs, dtype=float), float(defcost))

    def AddLinearConstraint(
        self, coefs: int | Sequence[int], scope: Sequence[Key], operand: str = "==", rightcoef: int = 0
    ) -> None:
        """Adds a linear constraint on the values with integer coefficients."""
        alone = isinstance(coefs, (int, np.integer))
        factors = integers([coefs] * len(scope) if alone else coefs, "coefficients")  # type: ignore[arg-type]
        sums: dict[int, int] = {}
        for v, factor in zip([self._index(key) for key in scope], factors, strict=True):
            sums[v] = sums.get(v, 0) + factor
        weights = []
        for v, factor in sums.items():
            variable = self._store.variables[v]
            weights.append([factor * value for value in range(variable.low, variable.low + variable.size)])
        self._linear(list(sums), weights, operand, rightcoef)

    def AddSumConstraint(self, scope: Sequence[Key], operand: str = "==", rightcoef: int = 0) -> None:
        """Adds a constraint on the sum of the values."""
        self.AddLinearConstraint(1, scope, operand, rightcoef)

    def AddGeneralizedLinearConstraint(
        self, tuples: Sequence[tuple[Key, int, int]], operand: str = "==", rightcoef: int = 0
    ) -> None:
        """Adds a linear constraint on a sum of integers, one for each value of each variable; missing ones are 0."""
        weights: dict[int, list[int]] = {}
        for key, value, factor in tuples:
            v = self._index(key)
            variable = self._store.variables[v]
            own = weights.setdefault(v, [0] * variable.size)
            place = variable.place(value)
            if 0 <= place < variable.size:
                own[place] += integers([factor], "coefficients")[0]
        self._linear(list(weights), list(weights.values()), operand, rightcoef)

    def AddAllDifferent(
        self,
        scope: Sequence[Key],
        excepted: Sequence[int] | str | None = None,
        encoding: str = "hungarian",
        incremental: bool = False,
    ) -> None:
        """Adds the constraint that all values differ, except those of ``excepted``. The encoding has no effect. A
        string in place of ``excepted`` is an encoding."""
        del incremental
        if isinstance(excepted, str):
            encoding, excepted = excepted, None
        if encoding not in ALL_DIFFERENT:
            raise RuntimeError("Unknown encoding for AllDifferent: " + encoding)
        own = self._scope(scope)
        variables = [self._store.variables[v] for v in own]
        if not excepted and all((one.low, one.size) == (variables[0].low, variables[0].size) for one in variables):
            if len(own) > 1:
                self._store.add("all_different", own)
            return
        free = integers(excepted or (), "excepted values")
        for (u, one), (v, other) in itertools.combinations(zip(own, variables, strict=True), 2):
            left, right = np.arange(one.low, one.low + one.size), np.arange(other.low, other.low + other.size)
            same = (left[:, None] == right[None, :]) & ~np.isin(left, free)[:, None]
            self._store.add("add", [u, v], np.where(same, math.inf, 0.0))

    def AddGlobalCardinalityConstraint(
        self,
        scope: Sequence[Key],
        bounds: Sequence[tuple[int, int, int]],
        encoding: str = "hungarian",
        incremental: bool = False,
    ) -> None:
        """Adds bounds on how many variables have certain values: triplets of value, least and largest number. The
        encoding has no effect."""
        del incremental
        if encoding not in CARDINALITY:
            raise RuntimeError("Unknown encoding for Global Cardinality Constraint: " + encoding)
        own = self._scope(scope)
        for value, low, high in bounds:
            weights = []
            for v in own:
                place, size = self._store.variables[v].place(value), self._store.variables[v].size
                weights.append([int(other == place) for other in range(size)])
            self._store.add("linear", own, weights, int(low), int(high))

    def AddGlobalFunction(self, scope: Sequence[Key], gcname: str, *parameters: Any) -> None:
        """Adds a global cost function by its keyword and parameters, as in .wcsp files (docs/formats.md). Costs are
        integers in units of ``10**-resolution``, and values are those of the variables."""
        if gcname in ("wcsp", "cfnconstraint"):
            raise Unsupported(f"{gcname}: AddWeightedCSPConstraint adds a constraint on the cost of a problem")
        own = self._scope(scope)
        words = " ".join(str(word) for word in self.flatten(parameters))
        lows = {self._store.variables[v].low for v in own}
        if gcname in NAMING and (len(lows) > 1 or (lows != {0} and gcname != "ssame")):
            what = "refers to variables by their indices, so its variables need domains that begin at 0"
            raise Unsupported(f"{gcname} {what}")
        if gcname not in NAMING:
            own = [self._store.twin(v) for v in own]
        self._store.add("add_global", own, gcname, words)

    def AddWeightedCSPConstraint(
        self, problem: CFN, lb: float, ub: float, duplicateHard: bool = False, strongDuality: bool = False
    ) -> None:
        """Adds the constraint that the cost of another problem is at least ``lb`` and below ``ub``. Variables of the
        other problem that this one lacks are added.

        Args:
            problem: the other problem, with the same resolution or a smaller one.
            lb: the least cost.
            ub: the strict upper limit.
            duplicateHard: has no effect: forbidden tuples of the other problem are forbidden here, too.
            strongDuality: refused, because it states a bilevel problem.
        """
        del duplicateHard
        if strongDuality:
            raise Unsupported("strongDuality: bilevel problems are not supported")
        own, inner = [], problem._store
        for variable in inner.variables:
            index = self.VariableIndices.get(variable.name)
            if index is None:
                names = variable.names if variable.low == 0 else None
                index = self.AddVariable(variable.name, names or range(variable.low, variable.low + variable.size))
            mine = self._store.variables[index]
            if (mine.low, mine.size) != (variable.low, variable.size):
                what = "has other values here, and in a constraint on the cost of a problem both are the same"
                raise Unsupported(f"{variable.name} {what}")
            own.append(index)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "problem.wcsp")
            network = inner.network(problem._limit())
            if len(network.domains) > len(own):
                raise Unsupported("the other problem has global functions of variables that do not begin at 0")
            network.write(path)
            with open(path, encoding="utf-8") as file:
                text = " ".join(file.read().split())
        units = 10 ** network.decimals
        low, high = (round(bound * units) if abs(bound) < math.inf else bound for bound in (lb, ub))
        limits = f"{max(low, -(2**57))} {min(high, 2**57)} 0 0"
        self._store.add("add_global", own, "wcsp", f"{limits} {text}")

    def _linear(self, scope: list[int], weights: list[list[int]], operand: str, right: int) -> None:
        if operand not in OPERANDS:
            raise RuntimeError("Unknown operand: " + str(operand))
        number = integers([right], "right-hand sides")[0]
        low, high = (None if off is None else number + off for off in OPERANDS[operand])
        if not scope:
            holds = (low is None or low <= 0) and (high is None or high >= 0)
            self._store.add("add", [], np.asarray(0.0 if holds else math.inf))
            return
        self._store.add("linear", scope, weights, low, high)

    def _index(self, key: Key) -> int:
        index = self.VariableIndices.get(key, -1) if isinstance(key, str) else int(key)
        if not 0 <= index < len(self._store.variables):
            raise RuntimeError("Out of range variable index:" + str(key))
        return index

    def _scope(self, scope: Sequence[Key]) -> list[int]:
        own = [self._index(key) for key in scope]
        if len(set(own)) < len(own):
            raise RuntimeError("Duplicate variable in scope:" + str(list(scope)))
        return own

    def _matrix(self, scopes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        if scopes.size and not np.issubdtype(scopes.dtype, np.integer):
            raise RuntimeError(f"scopes are arrays of variable indices, not of {scopes.dtype}")
        own = scopes.reshape(len(scopes), -1).astype(np.int64)
        if own.size and not (0 <= own.min() and own.max() < len(self._store.variables)):
            raise RuntimeError(f"Out of range variable index:{own.min()} to {own.max()}")
        return own
