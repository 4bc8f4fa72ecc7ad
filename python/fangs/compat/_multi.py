"""pytoulbar2's class MultiCFN."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._errors import Unsupported, UsageError
from .._fangs import Network
from ._store import Call, Store, Variable

if TYPE_CHECKING:
    from ._building import Key
    from ._cfn import CFN

_Point = tuple[float, float]
_Named = dict[str, str]


class MultiCFN:
    """Several problems, which are combined by a weighted sum.

    Variables with the same name are one variable. What is forbidden in one of the problems, also by a cost of at least
    its upper bound, is forbidden in the combination; the sums of costs have no upper bound.
    """

    def __init__(self) -> None:
        self._problems: list[CFN] = []
        self._weights: list[float] = []
        self._variables: list[Variable] = []
        #: the problem that was initialised last from this one
        self._last: CFN | None = None

    def PushCFN(self, CFN: CFN, weight: float = 1.0) -> None:
        """Adds a problem with its weight."""
        known = {variable.name: variable for variable in self._variables}
        for variable in CFN._store.variables:
            # values are indices with names in the combination
            own = replace(variable, low=0)
            found = known.get(variable.name)
            if found is None:
                self._variables.append(own)
            elif (found.size, found.names) != (own.size, own.names):
                raise UsageError(f"{variable.name} has other values in an earlier problem: both have to be the same")
        self._problems.append(CFN)
        self._weights.append(float(weight))

    def SetWeight(self, cfn_index: int, weight: float) -> None:
        """Sets the weight of a problem."""
        self._weights[cfn_index] = float(weight)

    def GetVariableIndex(self, name: str) -> int:
        """The index of a variable in the combination; -1 if there is none with this name."""
        return next((place for place, variable in enumerate(self._variables) if variable.name == name), -1)

    def GetNbCFN(self) -> int:
        """The number of problems."""
        return len(self._problems)

    def GetSolution(self) -> _Named:
        """The names of the values of all variables in the solution of the problem initialised last."""
        own = [] if self._last is None else self._last._store.variables
        return self._named(self._places(), own)

    def GetSolutionCosts(self) -> list[float]:
        """The cost of this solution in each problem, without weights."""
        places = self._places()
        if len(places) < len(self._variables):
            raise Unsupported("the problem was initialised from some variables only, so its solutions have no costs")
        return self._costs(places)

    def Print(self) -> None:
        """Prints the problems and their weights."""
        for problem, weight in zip(self._problems, self._weights, strict=True):
            print(f"weight {weight}")
            problem.Print()

    def ApproximateParetoFront(
        self,
        first_criterion: int,
        first_direction: str,
        second_criterion: int,
        second_direction: str,
        showSolutions: int = 0,
        timeLimit: float = 0,
        timeLimit_per_solution: float = 0,
        max_sol_count: int = 0,
    ) -> tuple[list[_Named], list[_Point]]:
        """Computes the supported solutions of two problems: the corners of the convex hull of all pairs of costs that
        no other pair dominates.

        Args:
            first_criterion: the index of the first problem.
            first_direction: ``min`` or ``max``.
            second_criterion: the index of the second problem.
            second_direction: ``min`` or ``max``.
            showSolutions: as for ``Solve``.
            timeLimit: wall-clock seconds for all solutions; 0 for no limit.
            timeLimit_per_solution: wall-clock seconds for each solution; 0 for no limit.
            max_sol_count: the largest number of solutions; 0 for no limit.

        Returns:
            For each solution the names of all values, and for each its pair of costs, in ascending order of the first.
        """
        for direction in (first_direction, second_direction):
            if direction not in ("min", "max"):
                raise UsageError(f"a direction is min or max, not {direction}")
        front = _Front(self, (first_criterion, second_criterion), (first_direction, second_direction))
        front.limits(timeLimit, timeLimit_per_solution, max_sol_count, showSolutions)
        found = sorted(front.corners().items())
        return [self._named(places, self._variables) for _, places in found], [point for point, _ in found]

    def _combined(self, weights: list[float] | None = None) -> Store:
        """The variables and the weighted functions of all problems."""
        store = self._empty(range(len(self._variables)))
        for call in self._weighted(weights or self._weights):
            store.add(call.method, call.scope, *call.arguments, **call.options)
        return store

    def _chosen(self, vars: list[Key], scopes: list[list[Key]], constrs: set[int]) -> Store:
        """Some of the weighted functions and their variables, as chosen by ``CFN.InitFromMultiCFN``.

        Unary functions of a problem are one function for each variable and follow its other functions. Their least
        costs belong to the function without variables, whose scope is the empty set.
        """
        allowed = {self._index(key) for key in vars} or set(range(len(self._variables)))
        sets = {frozenset(self._index(key) for key in scope) for scope in scopes}
        chosen = []
        for number, call in enumerate(self._listed()):
            scope = frozenset(call.scope)
            if scope <= allowed and (not sets or scope in sets) and (not constrs or number in constrs):
                chosen.append(call)
        if frozenset() in sets:
            chosen += self._constants()
        own = sorted({self._index(key) for key in vars} if vars and not sets else {v for c in chosen for v in c.scope})
        store = self._empty(own)
        for call in chosen:
            store.add(call.method, [own.index(v) for v in call.scope], *call.arguments, **call.options)
        return store

    def _empty(self, own: Iterable[int]) -> Store:
        store = Store(None)
        store.name = "combination"
        for v in own:
            store.add_variable(self._variables[v], np.ones(self._variables[v].size, dtype=bool))
        return store

    def _weighted(self, weights: list[float], only: int | None = None) -> Iterable[Call]:
        """The functions with weighted costs and scopes in the combination, of all problems or of one."""
        for place, (problem, weight) in enumerate(zip(self._problems, weights, strict=True)):
            if only not in (None, place):
                continue
            places = np.array([self.GetVariableIndex(own.name) for own in problem._store.variables], dtype=np.int64)
            limit = math.inf if problem.UbInit is None else problem.UbInit
            for call in problem._store.scaled(weight, limit):
                scope = places[np.asarray(call.scope, dtype=np.int64)]
                yield replace(call, scope=scope if call.method == "add_many" else scope.tolist())

    def _unary(self, only: int) -> dict[int, npt.NDArray[np.float64]]:
        """The sums of the unary functions of a problem, by variable."""
        sums: dict[int, npt.NDArray[np.float64]] = {}
        for call in self._functions(only):
            if len(call.scope) == 1:
                v = call.scope[0]
                sums[v] = sums.get(v, np.zeros(self._variables[v].size)) + dense(call, self._variables[v].size)
        return dict(sorted(sums.items()))

    def _functions(self, only: int) -> Iterable[Call]:
        """The functions of a problem, one by one."""
        for call in self._weighted(self._weights, only):
            if call.method != "add_many":
                yield call
                continue
            for scope, table in zip(call.scope, call.arguments[0], strict=True):
                yield Call("add", scope.tolist(), (table,))

    def _listed(self) -> Iterable[Call]:
        for only in range(len(self._problems)):
            yield from (call for call in self._functions(only) if len(call.scope) > 1)
            for v, costs in self._unary(only).items():
                yield Call("add", [v], (costs - costs.min() if math.isfinite(costs.min()) else costs,))

    def _constants(self) -> Iterable[Call]:
        for only in range(len(self._problems)):
            yield from (call for call in self._functions(only) if not call.scope)
            for costs in self._unary(only).values():
                if math.isfinite(costs.min()):
                    yield Call("add", [], (np.asarray(costs.min()),))

    def _index(self, key: Key) -> int:
        index = self.GetVariableIndex(key) if isinstance(key, str) else int(key)
        if not 0 <= index < len(self._variables):
            raise UsageError(f"the combination has no variable {key}")
        return index

    def _places(self) -> list[int]:
        if self._last is None or not self._last._solutions:
            raise UsageError("there is no solution: solve a problem that InitFromMultiCFN initialised")
        return self._last._solutions[-1][1]

    def _named(self, places: list[int], variables: list[Variable]) -> _Named:
        pairs = zip(variables, places, strict=True)
        return {own.name: own.names[place] if own.names else f"v{place}" for own, place in pairs}

    def _costs(self, places: list[int]) -> list[float]:
        value = {variable.name: place for variable, place in zip(self._variables, places, strict=True)}
        stores = [problem._store for problem in self._problems]
        return [store.cost([value[own.name] for own in store.variables]) for store in stores]


def dense(call: Call, size: int) -> npt.NDArray[np.float64]:
    """The costs of a unary function."""
    if call.method == "add":
        return np.asarray(call.arguments[0], dtype=float)
    network = Network([size])
    getattr(network, call.method)([0], *call.arguments, **call.options)
    return network.table(0)


class _Front:
    """The search for supported solutions, by weighted sums (Aneja and Nair, "Bicriteria transportation problem",
    1979)."""

    def __init__(self, multi: MultiCFN, criteria: tuple[int, int], directions: tuple[str, str]) -> None:
        self._multi, self._criteria = multi, criteria
        self._signs = tuple(1 if direction == "min" else -1 for direction in directions)
        self._found: dict[_Point, list[int]] = {}

    def limits(self, whole: float, each: float, most: int, shown: int) -> None:
        """Sets the limits in seconds, the largest number of solutions, and how these are shown."""
        self._deadline = time.monotonic() + whole if whole else math.inf
        self._each, self._most, self._shown = each or math.inf, most or math.inf, shown

    def corners(self) -> dict[_Point, list[int]]:
        """The pairs of costs, with the indices of the values of all variables."""
        ends = [self._best(Fraction(1), Fraction(0)), self._best(Fraction(0), Fraction(1))]
        pending = [(one, other) for one, other in [ends] if one is not None and other is not None and one != other]
        while pending:
            one, other = pending.pop()
            (a, b), (c, d) = self._signed(one), self._signed(other)
            # the weights with which both cost the same
            best = self._best(b - d, c - a) if b > d and c > a else None
            if best is None or best in (one, other):
                continue
            x, y = self._signed(best)
            if (b - d) * x + (c - a) * y < (b - d) * a + (c - a) * b:
                pending += [(one, best), (best, other)]
        return {point: places for point, places in self._found.items() if not self._beaten(point)}

    def _signed(self, point: _Point) -> tuple[Fraction, Fraction]:
        """The exact costs of a point, both to be minimised."""
        first, second = (Fraction(str(cost)) * sign for cost, sign in zip(point, self._signs, strict=True))
        return first, second

    def _beaten(self, point: _Point) -> bool:
        a, b = self._signed(point)
        others = (self._signed(other) for other in self._found if other != point)
        return any(x <= a and y <= b for x, y in others)

    def _best(self, first: Fraction, second: Fraction) -> _Point | None:
        """Minimises a weighted sum; returns the costs of the solution, and None without one or after the limits."""
        from ._cfn import CFN

        if len(self._found) >= self._most or time.monotonic() >= self._deadline:
            return None
        # whole numbers, so that the weighted costs have no more decimals than the costs themselves
        factor = math.lcm(first.denominator, second.denominator)
        whole = [int(first * factor), int(second * factor)]
        divisor = math.gcd(*whole)
        weights = [0.0] * self._multi.GetNbCFN()
        for place, weight, sign in zip(self._criteria, whole, self._signs, strict=True):
            weights[place] = float(weight // divisor * sign)
        problem = CFN()
        problem._store = self._multi._combined(weights)
        problem._name_variables()
        limit = min(self._each, self._deadline - time.monotonic())
        if problem.Solve(self._shown, timeLimit=0 if limit == math.inf else limit) is None:
            return None
        places = problem._solutions[-1][1]
        costs = self._multi._costs(places)
        point = (costs[self._criteria[0]], costs[self._criteria[1]])
        self._found.setdefault(point, places)
        return point
