"""Global constraints of CPMpy as tables, weighted sums and automata."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import cpmpy as cp
import numpy as np
from cpmpy.expressions.core import Comparison, Expression
from cpmpy.expressions.globalconstraints import GlobalConstraint
from cpmpy.expressions.globalfunctions import Count, Element
from cpmpy.expressions.utils import is_int
from cpmpy.expressions.variables import NegBoolView, _NumVarImpl

from ._expressions import domain_of, least_of, size_of

#: Largest number of entries of a table of an element constraint.
_ENTRIES = 1 << 20
#: Largest number of points in time of a cumulative constraint.
_POINTS = 1 << 14
#: Global constraints that have functions of their own once CPMpy has replaced their arguments by variables.
KEPT = frozenset({"alldifferent", "table"})
#: Comparisons, which apply to numbers and to arrays.
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}


def is_plain(expr: Any) -> bool:
    """Whether an expression is a variable, and no negation of one."""
    return isinstance(expr, _NumVarImpl) and not isinstance(expr, NegBoolView)


def simpler(constraint: Any) -> list[Any] | None:
    """Constraints that together mean a global constraint, and that are more often tables and sums than it is; None for
    what is no such constraint."""
    if not isinstance(constraint, GlobalConstraint) or constraint.name in KEPT:
        return None
    if constraint.name == "gcc":
        return cardinalities(constraint)
    if constraint.name in ("cumulative", "no_overlap"):
        found = tasks(constraint)
        if found is not None:
            return found
    try:
        parts, defining = constraint.decompose()
    except (NotImplementedError, ValueError):
        return None
    return [*parts, *defining]


def cardinalities(constraint: Any) -> list[Any]:
    """A count for each value, and the values that variables may have if there are no others."""
    variables, values, counts = constraint.args
    parts = [Count(variables, int(value)) == count for value, count in zip(values, counts, strict=True)]
    if constraint.closed:
        parts += [cp.any([own == int(value) for value in values]) for own in variables]
    return parts


class Load:
    """The sum of the demands of the tasks that are active at a point in time is within a capacity."""

    def __init__(self, weights: dict[Any, dict[int, int]], shift: int, capacity: int) -> None:
        self.weights, self.shift, self.capacity = weights, shift, capacity


def tasks(constraint: Any) -> list[Any] | None:
    """A load for each point in time at which a task may begin; None if durations, demands or the capacity vary."""
    arguments = list(constraint.args)
    demands, capacity = (arguments.pop(-2), arguments.pop(-1)) if constraint.name == "cumulative" else (None, 1)
    starts, durations = arguments[0], arguments[1]
    ends = arguments[2] if len(arguments) > 2 else None
    demands = [1] * len(starts) if demands is None else demands
    if not (all(map(is_int, [*durations, *demands, capacity])) and all(is_int(s) or is_plain(s) for s in starts)):
        return None
    if any(int(own) < 0 for own in (*durations, *demands)):
        return [False]
    ranges = [range(int(own), int(own) + 1) if is_int(own) else domain_of(own) for own in starts]
    points = sorted(set().union(*ranges))
    if len(points) > _POINTS:
        return None
    parts: list[Any] = []
    if ends is not None:
        parts += [s + int(d) == e for s, d, e in zip(starts, durations, ends, strict=True)]
    for point in points:
        weights: dict[Any, dict[int, int]] = {}
        shift = most = 0
        for start, own, duration, demand in zip(starts, ranges, durations, demands, strict=True):
            active = {begin: int(demand) * (begin <= point < begin + int(duration)) for begin in own}
            most += max(active.values())
            if is_int(start):
                shift += active[int(start)]
            elif any(active.values()):
                known = weights.setdefault(start, dict.fromkeys(own, 0))
                for begin, value in active.items():
                    known[begin] += value
        if most > int(capacity):
            parts.append(Load(weights, shift, int(capacity)))
    return parts


def has_other_counts(expr: Any) -> bool:
    """Whether an expression counts something other than a constant."""
    if isinstance(expr, Count) and not is_int(expr.args[1]):
        return True
    if isinstance(expr, (list, tuple, np.ndarray)):
        return any(map(has_other_counts, expr))
    return isinstance(expr, Expression) and not isinstance(expr, _NumVarImpl) and any(map(has_other_counts, expr.args))


#: Variables and the table of their forbidden combinations.
Tables = list[tuple[list[Any], Any]]


def element(constraint: Any) -> Tables | None:
    """Tables of the comparison of an element of an array with a number; None for others, and for large tables."""
    if not isinstance(constraint, Comparison) or not isinstance(constraint.args[0], Element):
        return None
    (array, index), other = constraint.args[0].args, constraint.args[1]
    compare = COMPARISONS[constraint.name]
    if not (is_plain(index) and not index.is_bool() and all(is_int(own) or is_plain(own) for own in (*array, other))):
        return None
    at, right = np.array(domain_of(index)), values_of(other)
    tables: Tables = [([index], (at < 0) | (at >= len(array)))]
    for place in range(max(0, int(at[0])), min(len(array), int(at[-1]) + 1)):
        variables, left = [index], values_of(array[place])
        table = (at == place)[:, None, None] & ~compare(left[:, None], right[None, :])[None]
        if table.size > _ENTRIES:
            return None
        for axis, own in ((1, array[place]), (2, other)):
            if is_plain(own):
                variables.append(own)
            else:
                table = table.squeeze(axis) if axis == 1 else table[..., 0]
        if len({own.name for own in variables}) < len(variables):
            return None
        tables.append((variables, table))
    return tables


def values_of(expr: Any) -> Any:
    """The values of a variable, or the only value of a constant."""
    return np.array([int(expr)]) if is_int(expr) else np.array(domain_of(expr))


def automaton(constraint: Any) -> tuple[list[Any], str] | None:
    """The variables of a regular constraint and its automaton as the parameters of ``wregular``; None if the variables
    do not begin at the same value."""
    array, transitions, start, accepting = constraint.args
    if not all(map(is_plain, array)) or len({own.name for own in array}) < len(array):
        return None
    lows = {least_of(own) for own in array}
    if len(lows) > 1:
        return None
    low, size = lows.pop(), max(map(size_of, array))
    places = {node: place for place, node in enumerate(dict.fromkeys([start, *accepting]))}
    for source, _, target in transitions:
        for node in (source, target):
            places.setdefault(node, len(places))
    # of two transitions with the same source and value the later one counts, as in CPMpy
    steps = {(source, value): target for source, value, target in transitions if 0 <= value - low < size}
    ends = [f"{places[node]} 0" for node in dict.fromkeys(accepting)]
    moves = [f"{places[source]} {value - low} {places[target]} 0" for (source, value), target in steps.items()]
    words = [len(places), 1, places[start], 0, len(ends), *ends, len(moves), *moves]
    return list(array), " ".join(map(str, words))
