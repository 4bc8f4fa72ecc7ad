"""The part of pytoulbar2's class CFN that scripts use to build a problem, to solve it, and to ask for its bound.

Step-by-step propagation (Store, Restore, Assign, Deconnect and the like) is not supported.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from ._errors import Unsupported
from ._fangs import Network, Result, read

__all__ = ["CFN"]

_Variable = str | int
#: The range of a sum for each comparison, relative to the number compared with.
_OPERANDS = {"==": (0, 0), "<=": (None, 0), "<": (None, -1), ">=": (0, None), ">": (1, None)}


class CFN:
    """A cost function network with the interface of pytoulbar2.

    Args:
        ubinit: solutions cost less than this.
        resolution: decimal digits of costs.
        seed: the seed.
        vac, configuration, vns, verbose, init: accepted so that scripts run, but ignored; they control toulbar2's
            search.
    """

    def __init__(
        self,
        ubinit: float | None = None,
        resolution: int = 0,
        vac: int = 0,
        configuration: bool = False,
        vns: int | None = None,
        seed: int = 1,
        verbose: int = -1,
        init: bool = True,
    ) -> None:
        del vac, configuration, vns, verbose, init
        self.Variables: dict[str, Sequence[Any]] = {}
        self.VariableIndices: dict[str, int] = {}
        self.VariableNames: dict[int, str] = {}
        self.Top = math.inf
        self.UbInit = ubinit
        self.Limit: str | None = None
        self._resolution = resolution
        self._seed = seed
        self._name = "CFN"
        #: what has been added: the name of a method of Network and its arguments
        self._calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._read: Network | None = None
        self._result: Result | None = None
        self._solutions: list[tuple[Any, list[Any]]] = []

    def AddVariable(self, name: str, values: Iterable[Any]) -> int:
        """Adds a variable with integers or names as values; returns its index. Integers between the least and the
        largest that are not listed are forbidden."""
        self._may_be_added_to()
        if name in self.Variables:
            raise RuntimeError(name + " already defined")
        values = list(values)
        index = len(self.Variables)
        if values and all(isinstance(value, (int, np.integer)) for value in values):
            listed = {int(value) for value in values}
            values = list(range(min(listed), max(listed) + 1))
            if len(listed) < len(values):
                self._call("add", index, [0.0 if value in listed else math.inf for value in values])
        elif not values or not all(isinstance(value, str) for value in values):
            raise RuntimeError("Incorrect domain:" + str(values))
        self.Variables[name] = values
        self.VariableIndices[name] = index
        self.VariableNames[index] = name
        return index

    def AddVariables(self, n_var: int, base_name: str, min_dom: int, max_dom: int) -> int:
        """Adds variables with the same domain; returns the index of the first."""
        first = len(self.Variables)
        for place in range(n_var):
            self.AddVariable(base_name + str(place), range(min_dom, max_dom + 1))
        return first

    def AddFunction(self, scope: Sequence[_Variable], costs: Any, incremental: bool = False) -> None:
        """Adds a function with a list of costs, the last variable running fastest; ``inf`` forbids a tuple."""
        self._not_incremental(incremental)
        own = self._scope(scope)
        table = np.asarray(costs, dtype=float).reshape(tuple(len(self._domain(v)) for v in own))
        self._call("add", own, table)

    def AddFunctions(self, scopes: Any, costs: Any, incremental: bool = False) -> None:
        """Adds many functions: scopes of shape (m,) or (m, k), tables of shape (m, d, …)."""
        self._not_incremental(incremental)
        scopes = np.asarray(scopes)
        self._may_be_added_to()
        self._call("add_many", scopes.reshape(len(scopes), -1), np.asarray(costs))

    def AddCompactFunction(
        self,
        scope: Sequence[_Variable],
        defcost: float,
        tuples: Sequence[Sequence[Any]],
        tcosts: Sequence[float],
        incremental: bool = False,
    ) -> None:
        """Adds a function with a cost for some tuples of values and a default cost for all others. Tuples with values
        that a variable does not have are ignored."""
        self._not_incremental(incremental)
        own = self._scope(scope)
        rows: list[list[int]] = []
        costs: list[float] = []
        for values, cost in zip(tuples, tcosts, strict=True):
            places = [self._place(v, value) for v, value in zip(own, values, strict=True)]
            if None not in places:
                rows.append([place for place in places if place is not None])
                costs.append(float(cost))
        self._call("add_sparse", own, rows, np.array(costs, dtype=float), float(defcost))

    def AddLinearConstraint(
        self, coefs: int | Sequence[int], scope: Sequence[_Variable], operand: str = "==", rightcoef: int = 0
    ) -> None:
        """Adds a linear constraint on the values with integer coefficients."""
        factors = [coefs] * len(scope) if isinstance(coefs, (int, np.integer)) else [int(factor) for factor in coefs]
        sums: dict[int, int] = {}
        for v, factor in zip([self._index(key) for key in scope], factors, strict=True):
            sums[v] = sums.get(v, 0) + int(factor)
        weights = [[factor * self._number(v, value) for value in self._domain(v)] for v, factor in sums.items()]
        self._linear(list(sums), weights, operand, rightcoef)

    def AddSumConstraint(self, scope: Sequence[_Variable], operand: str = "==", rightcoef: int = 0) -> None:
        """Adds a constraint on the sum of the values."""
        self.AddLinearConstraint(1, scope, operand, rightcoef)

    def AddGeneralizedLinearConstraint(
        self, tuples: Sequence[tuple[_Variable, Any, int]], operand: str = "==", rightcoef: int = 0
    ) -> None:
        """Adds a constraint on a sum of integers, one for each value of each variable; missing ones are 0."""
        weights: dict[int, list[int]] = {}
        for key, value, factor in tuples:
            v = self._index(key)
            own = weights.setdefault(v, [0] * len(self._domain(v)))
            place = self._place(v, value)
            if place is not None:
                own[place] += int(factor)
        self._linear(list(weights), list(weights.values()), operand, rightcoef)

    def AddAllDifferent(
        self,
        scope: Sequence[_Variable],
        excepted: Sequence[int] | None = None,
        encoding: str = "hungarian",
        incremental: bool = False,
    ) -> None:
        """Adds the constraint that all values differ, except those of ``excepted``; the encoding is ignored."""
        del encoding
        self._not_incremental(incremental)
        own = self._scope(scope)
        if not excepted and all(list(self._domain(v)) == list(self._domain(own[0])) for v in own):
            self._call("all_different", own)
            return
        allowed = set(excepted or ())
        for u, v in itertools.combinations(own, 2):
            same = [[a == b and a not in allowed for b in self._domain(v)] for a in self._domain(u)]
            self._call("add", [u, v], np.where(same, math.inf, 0.0))

    def AddGlobalCardinalityConstraint(
        self,
        scope: Sequence[_Variable],
        bounds: Sequence[tuple[int, int, int]],
        encoding: str = "hungarian",
        incremental: bool = False,
    ) -> None:
        """Adds bounds on how many variables have certain values: triplets of value, least and largest number."""
        del encoding
        self._not_incremental(incremental)
        own = self._scope(scope)
        for value, low, high in bounds:
            weights = [[int(other == value) for other in self._domain(v)] for v in own]
            self._call("linear", own, weights, low, high)

    def Read(self, filename: str | PathLike[str]) -> None:
        """Reads a problem from a file, in place of what was added."""
        self._read = read(filename, precision=self._resolution or None)
        self._calls.clear()
        names, values = self._read.names, self._read.values
        sizes = self._read.domains.tolist()
        self.Variables = {name: own or list(range(n)) for name, own, n in zip(names, values, sizes, strict=True)}
        self.VariableIndices = {name: place for place, name in enumerate(names)}
        self.VariableNames = dict(enumerate(names))

    def Dump(self, filename: str | PathLike[str]) -> None:
        """Writes the problem, as .wcsp or .cfn."""
        if not fspath(filename).endswith((".wcsp", ".cfn")):
            raise ValueError(f"{fspath(filename)}: a problem is written as .wcsp or .cfn")
        self._network().write(filename)

    def Solve(
        self,
        showSolutions: int = 0,
        allSolutions: int = 0,
        diversityBound: int = 0,
        timeLimit: float = 0,
        bestSol: float | None = None,
        writeSolution: str = "",
    ) -> tuple[list[Any], Any, int] | None:
        """Solves the problem.

        Args:
            showSolutions: 1 prints values, 2 and 3 names and values, of each solution.
            allSolutions: the largest number of solutions below the upper bound to find; 0 for the best solution.
            diversityBound: refused, because diverse solutions are not supported.
            timeLimit: wall-clock seconds; 0 for no limit.
            bestSol: the search ends at a cost at least as good as this.
            writeSolution: a file for the best solution.

        Returns:
            The values of the best solution, its cost and the number of solutions found; None if none was found.
        """
        if diversityBound:
            raise Unsupported("solutions are not kept apart: diversityBound has to be 0")
        network, time = self._network(), timeLimit or math.inf
        run = found = None
        met: Iterable[tuple[Any, Any]]
        if allSolutions:
            found = network.solutions(most=allSolutions, time=time)
            met = ((cost, places) for places, cost in found)
        else:
            run = network.solve(time=time, seed=max(self._seed, 0), target=bestSol)
            met = ((event.cost, event.solution) for event in run if event.kind == "solution")
        self._solutions = []
        for cost, places in met:
            values = [self._domain(v)[place] for v, place in enumerate(places.tolist())]
            self._solutions.append((cost, values))
            if showSolutions:
                print(" ".join(self._shown(values, showSolutions)))
        self._result = None if run is None else run.result()
        if self._result is not None:
            late = self._result.stopped_by == "time"
        else:
            late = found is not None and not found.complete and len(self._solutions) < allSolutions
        self.Limit = "Time limit reached" if late else None
        if not self._solutions:
            return None
        cost, values = min(self._solutions, key=lambda solution: solution[0])
        if writeSolution:
            with open(writeSolution, "w", encoding="utf-8") as file:
                file.write(" ".join(self._shown(values, showSolutions or 1)) + "\n")
        return values, cost, len(self._solutions)

    def GetSolutions(self) -> list[tuple[Any, list[Any]]]:
        """The costs and values of the solutions found; each is better than the previous, unless all were requested."""
        return list(self._solutions)

    def GetDDualBound(self) -> Any:
        """The bound that the last Solve proved: no solution costs less."""
        if self._result is None:
            return self.GetLB()
        return self._result.bound if self._result.bound is not None else self.Top

    def GetLB(self) -> Any:
        """The sum of the least costs of all functions."""
        return self._network().info()["bound"]

    def GetUB(self) -> float:
        """The upper bound: solutions must cost less."""
        return self.Top if self.UbInit is None else self.UbInit

    def UpdateUB(self, cost: float) -> None:
        """Lowers the upper bound."""
        self.UbInit = cost if self.UbInit is None else min(self.UbInit, cost)

    def GetName(self) -> str:
        """The name of the problem."""
        return self._name

    def SetName(self, name: str) -> None:
        """Renames the problem."""
        self._name = name

    def GetNbVars(self) -> int:
        """The number of variables."""
        return len(self.Variables)

    def GetNbConstrs(self) -> int:
        """The number of functions."""
        return len(self._network())

    def Domain(self, var: _Variable) -> list[Any]:
        """The values of a variable."""
        return list(self._domain(self._index(var)))

    def GetDomainInitSize(self, var: _Variable) -> int:
        """The number of values of a variable."""
        return len(self._domain(self._index(var)))

    def _network(self) -> Network:
        """Builds the network of all additions."""
        if self._read is not None:
            if self.UbInit is not None:
                raise Unsupported("a problem from a file has the upper bound of the file: ubinit goes with AddFunction")
            return self._read
        values = [None if isinstance(own[0], int) else [str(value) for value in own] for own in self.Variables.values()]
        network = Network(
            [len(own) for own in self.Variables.values()],
            list(self.Variables),
            values,
            decimals=self._resolution,
            top=self.UbInit,
            name=self._name,
        )
        for method, arguments, options in self._calls:
            getattr(network, method)(*arguments, **options)
        return network

    def _call(self, method: str, *arguments: Any, **options: Any) -> None:
        self._may_be_added_to()
        self._calls.append((method, arguments, options))

    def _linear(self, scope: list[int], weights: list[list[int]], operand: str, right: int) -> None:
        if operand not in _OPERANDS:
            raise RuntimeError("Unknown operand: " + str(operand))
        low, high = (None if off is None else int(right) + off for off in _OPERANDS[operand])
        self._call("linear", scope, weights, low, high)

    def _may_be_added_to(self) -> None:
        if self._read is not None:
            raise Unsupported("a problem that was read takes no further variables and functions")

    @staticmethod
    def _not_incremental(incremental: bool) -> None:
        if incremental:
            raise Unsupported("functions are not taken back: incremental has to be False")

    def _index(self, key: _Variable) -> int:
        index = self.VariableIndices.get(key, -1) if isinstance(key, str) else int(key)
        if not 0 <= index < len(self.Variables):
            raise RuntimeError("Out of range variable index:" + str(key))
        return index

    def _scope(self, scope: Sequence[_Variable]) -> list[int]:
        own = [self._index(key) for key in scope]
        if len(set(own)) < len(own):
            raise RuntimeError("Duplicate variable in scope:" + str(scope))
        return own

    def _domain(self, v: int) -> Sequence[Any]:
        return self.Variables[self.VariableNames[v]]

    def _place(self, v: int, value: Any) -> int | None:
        """Returns the index of a value in the domain; symbolic values may also be given by index."""
        domain = self._domain(v)
        if isinstance(value, (int, np.integer)) and domain and isinstance(domain[0], str):
            return int(value) if 0 <= value < len(domain) else None
        return list(domain).index(value) if value in domain else None

    def _number(self, v: int, value: Any) -> int:
        return value if isinstance(value, int) else list(self._domain(v)).index(value)

    def _shown(self, values: Sequence[Any], how: int) -> list[str]:
        names: Mapping[int, str] = self.VariableNames
        return [f"{names[v]}={value}" if how > 1 else str(value) for v, value in enumerate(values)]
