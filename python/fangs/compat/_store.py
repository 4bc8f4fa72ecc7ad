"""The variables and functions of a problem, on a stack of depths, and the network that they make."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .._errors import UsageError
from .._fangs import Network
from ._errors import Contradiction

#: Methods of Network whose functions cost something other than 0 and infinity.
TABLES = ("add", "add_many", "add_sparse")


@dataclass
class Variable:
    """A variable: its values are the integers from ``low``."""

    name: str
    low: int
    size: int
    #: a name for each value; None for 0, 1 and so on
    names: list[str] | None

    def place(self, value: int) -> int:
        """The index of a value, which need not exist."""
        return operator.index(value) - self.low


@dataclass
class Call:
    """A function: a method of Network, the function's variables and the other arguments."""

    method: str
    #: indices of variables; for ``add_many`` an array of shape (m, k)
    scope: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    depth: int = 0

    def arity(self) -> int:
        """The number of variables of the function, or of each of the functions."""
        return self.scope.shape[1] if self.method == "add_many" else len(self.scope)

    def count(self) -> int:
        """The number of functions."""
        return len(self.scope) if self.method == "add_many" else 1

    def without(self, variable: int) -> Call | None:
        """The functions that do not have the variable; None if there are none. Unary functions stay."""
        if self.arity() < 2:
            return self
        if self.method != "add_many":
            return None if variable in self.scope else self
        keep = ~(self.scope == variable).any(axis=1)
        if keep.all():
            return self
        rest = Call(self.method, self.scope[keep], (self.arguments[0][keep],), self.options, self.depth)
        return rest if keep.any() else None


@dataclass
class _Saved:
    """The state that ``Store`` keeps."""

    calls: list[Call]
    masks: list[npt.NDArray[np.bool_]]


class Store:
    """A problem: variables, functions, current domains and a stack of earlier states."""

    def __init__(self, resolution: int | None) -> None:
        self.resolution = resolution
        self.name = "problem"
        self.variables: list[Variable] = []
        self.calls: list[Call] = []
        #: the current domains
        self.masks: list[npt.NDArray[np.bool_]] = []
        #: the network that the functions are added to, if it was read
        self.base: Network | None = None
        self._saved: list[_Saved] = []
        self._twins: dict[int, int] = {}
        self._built: tuple[float, Network] | None = None

    @property
    def depth(self) -> int:
        """The number of states on the stack."""
        return len(self._saved)

    def changed(self) -> None:
        """Forgets the network; it is built again when it is needed."""
        self._built = None

    def add_variable(self, variable: Variable, allowed: npt.NDArray[np.bool_]) -> int:
        """Adds a variable with a current domain; returns its index."""
        if self.base is not None:
            raise UsageError("a problem that was read takes further functions, but no further variables")
        self.variables.append(variable)
        self.masks.append(allowed)
        self.changed()
        return len(self.variables) - 1

    def add(self, method: str, scope: Any, *arguments: Any, **options: Any) -> None:
        """Adds a function at the current depth."""
        self.calls.append(Call(method, scope, arguments, options, self.depth))
        self.changed()

    def restrict(self, variable: int, allowed: npt.NDArray[np.bool_]) -> None:
        """Removes values; raises ``Contradiction`` if none is left."""
        mask = self.masks[variable] & allowed
        # saved states share the arrays
        self.masks[variable] = mask
        self.changed()
        if not mask.any():
            raise Contradiction(f"{self.variables[variable].name} has no value left")

    def save(self) -> None:
        """Puts the current state on the stack."""
        self._saved.append(_Saved(list(self.calls), list(self.masks)))

    def restore(self, depth: int) -> None:
        """Returns to the state that was saved at a depth."""
        if not 0 <= depth <= self.depth:
            raise UsageError(f"depth {depth}: the current depth is {self.depth}")
        if depth < self.depth:
            saved = self._saved[depth]
            del self._saved[depth:]
            self.calls, self.masks = saved.calls, saved.masks
            self.changed()

    def disconnect(self, variable: int) -> None:
        """Removes all functions of several variables that have this one, and fixes it to its value of least cost."""
        costs = np.where(self.masks[variable], 0.0, math.inf)
        if self.base is not None:
            raise UsageError("variables are not disconnected in a problem that was read")
        for call in self.calls:
            if call.method == "add" and list(call.scope) == [variable]:
                costs = costs + np.asarray(call.arguments[0], dtype=float)
            elif call.method == "add_many" and call.arity() == 1:
                costs = costs + np.asarray(call.arguments[0], dtype=float)[call.scope[:, 0] == variable].sum(axis=0)
        self.calls = [rest for call in self.calls if (rest := call.without(variable)) is not None]
        best = int(np.argmin(costs))
        self.restrict(variable, np.arange(len(costs)) == best)

    def twin(self, variable: int) -> int:
        """An index for a copy of the variable whose value indices are the values themselves; the variable's own index
        if they are already. Copies follow the problem's variables."""
        if self.variables[variable].low == 0:
            return variable
        if self.variables[variable].low < 0:
            what = f"{self.variables[variable].name} has negative values, which global functions cannot refer to"
            raise UsageError(what)
        if self.base is not None:
            raise UsageError("a problem that was read takes no further variables")
        # variables may be added later, so copies are numbered from -1 downwards until the network is built
        return self._twins.setdefault(variable, -1 - len(self._twins))

    def network(self, top: float) -> Network:
        """The network of all functions, with solutions below ``top``. The caller must not add to it."""
        if self._built is None or self._built[0] != top:
            self._built = (top, self._build(top))
        return self._built[1]

    def _build(self, top: float) -> Network:
        n = len(self.variables)
        if self.base is not None:
            network = copy.copy(self.base)
            if top < math.inf:
                network.lower_top(top)
        else:
            twins = [self.variables[v] for v in self._twins]
            network = Network(
                [own.size for own in self.variables] + [own.low + own.size for own in twins],
                [own.name for own in self.variables] + [own.name + " as a number" for own in twins],
                [own.names for own in self.variables] + [None] * len(twins),
                decimals=self.resolution,
                top=None if top == math.inf else top,
                name=self.name,
            )
        for v, mask in enumerate(self.masks):
            if not mask.all():
                network.add([v], np.where(mask, 0.0, math.inf))
        for place, v in enumerate(self._twins):
            low, size = self.variables[v].low, self.variables[v].size
            network.add([v, n + place], np.where(np.eye(size, low + size, low), 0.0, math.inf))
        for call in self.calls:
            scope = call.scope
            if call.method == "add_global":
                scope = [n - 1 - v if v < 0 else v for v in scope]
            getattr(network, call.method)(scope, *call.arguments, **call.options)
        return network

    def cost(self, places: Sequence[int]) -> float:
        """The cost of value indices, whatever the upper bound."""
        copies = [self.variables[v].low + places[v] for v in self._twins]
        return float(self.network(math.inf).cost([*places, *copies]))

    def scaled(self, weight: float, limit: float) -> Iterable[Call]:
        """The functions with costs times ``weight``. What is forbidden, also by a cost of at least ``limit``, stays
        forbidden."""
        if self.base is not None or any(call.method == "add_global" for call in self.calls):
            yield from self._tables(weight, limit)
            return
        for v, mask in enumerate(self.masks):
            if not mask.all():
                yield Call("add", [v], (np.where(mask, 0.0, math.inf),))
        for call in self.calls:
            if call.method not in TABLES:
                yield call
                continue
            rest = list(call.arguments)
            places = {"add": [0], "add_many": [0], "add_sparse": [1, 2]}[call.method]
            for place in places:
                own = times(rest[place], weight, limit)
                rest[place] = float(own) if own.ndim == 0 and call.method == "add_sparse" else own
            yield Call(call.method, call.scope, tuple(rest), call.options)

    def _tables(self, weight: float, limit: float) -> Iterable[Call]:
        network = self.network(math.inf)
        n = len(self.variables)
        if len(network.domains) > n:
            raise UsageError("global functions of variables that do not begin at 0 cannot be weighted")
        for number in range(len(network)):
            yield Call("add", network.scope(number).tolist(), (times(network.table(number), weight, limit),))


def times(costs: Any, weight: float, limit: float) -> npt.NDArray[np.float64]:
    """Costs times a weight; infinite ones, and those of at least ``limit``, are infinite."""
    costs = np.asarray(costs, dtype=float)
    forbidden = np.isposinf(costs) | (costs >= limit)
    return np.where(forbidden, math.inf, np.where(forbidden, 0.0, costs) * weight)


def integers(values: Sequence[Any], what: str) -> list[int]:
    """Integers, or an error that names what they are."""
    try:
        return [operator.index(value) for value in values]
    except TypeError:
        raise UsageError(f"{what} are integers, not {list(values)}") from None
