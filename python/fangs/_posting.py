"""The functions of a network that CPMpy's constraints and objectives become."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from cpmpy.expressions.core import Comparison, Expression, Operator
from cpmpy.expressions.python_builtins import all as cp_all
from cpmpy.expressions.utils import is_int
from cpmpy.expressions.variables import NegBoolView, _BoolVarImpl, _NumVarImpl, boolvar
from cpmpy.transformations.get_variables import get_variables

from ._expressions import (
    as_sum,
    distinct,
    domain_of,
    is_boolean,
    least_of,
    number_of,
    opposite_of,
    size_of,
    terms_of,
    try_all,
    value_of,
)
from ._fangs import Network
from ._globals import Load, automaton, element

#: Largest number of combinations of values for which a constraint is tabulated: tenths of a second.
TRIED = 1 << 12
#: Largest number of combinations for a constraint that cannot be decomposed any further.
TRIED_AT_LAST = 1 << 16

#: An operation that adds a function to a network.
Post = Callable[[Network], None]


class Posting:
    """Posts constraints and an objective as tables, global cost functions and linear functions."""

    _posts: list[Post]
    _objective: list[Post] | None
    _minimize: bool

    if TYPE_CHECKING:

        def solver_var(self, cpm_var: Any) -> Any: ...

    def _forbids(self, value: float = math.inf) -> float:
        """The forbidden value; called when the network is built, because its sign may change until then."""
        return value if self._minimize else -value

    def _post(self, constraint: Any, most: int) -> bool:
        """Posts a constraint, if it can be expressed; returns whether it was."""
        if isinstance(constraint, (bool, np.bool_)):
            if not constraint:
                self._posts.append(lambda network: void(network.add([], self._forbids())))
            return True
        if isinstance(constraint, Expression) and constraint.name == "alldifferent":
            return self._post_different(list(constraint.args))
        if isinstance(constraint, Expression) and constraint.name == "table":
            return self._post_table(constraint)
        if isinstance(constraint, Expression) and constraint.name == "regular":
            return self._post_regular(constraint)
        if isinstance(constraint, Load):
            self._add_linear(constraint.weights, None, constraint.capacity - constraint.shift, None)
            return True
        variables = distinct(get_variables(constraint))
        tried = math.prod(map(size_of, variables))
        if tried <= min(most, TRIED) and self._tabulate(constraint, variables):
            return True
        return (
            self._post_linear(constraint)
            or self._post_element(constraint)
            or (tried <= most and self._tabulate(constraint, variables))
        )

    def _tabulate(self, constraint: Any, variables: Sequence[_NumVarImpl]) -> bool:
        """Posts a table, unless the constraint has no value because it only has a decomposition."""
        places = [self.solver_var(variable) for variable in variables]
        try:
            allowed = try_all(variables, lambda: bool(value_of(constraint)))
        except NotImplementedError:
            return False
        self._posts.append(lambda network: void(network.add(places, np.where(allowed, 0.0, self._forbids()))))
        return True

    def _post_different(self, arguments: list[Any]) -> bool:
        """Posts that all values differ: one function if all domains begin at the same value, else a table per pair."""
        constants = [int(own) for own in arguments if is_int(own)]
        arguments = [own for own in arguments if not is_int(own)]
        if not all(isinstance(own, _NumVarImpl) and not isinstance(own, NegBoolView) for own in arguments):
            return False
        places = [self.solver_var(own) for own in arguments]
        for own in arguments if constants else []:
            self._tabulate(cp_all([own != constant for constant in constants]), [own])
        if len(set(places)) < len(places) or len(set(constants)) < len(constants):
            self._posts.append(lambda network: void(network.add([], self._forbids())))
        elif len({least_of(own) for own in arguments}) == 1:
            self._posts.append(lambda network: void(network.all_different(places)))
        else:
            for one, other in itertools.combinations(arguments, 2):
                self._tabulate(one != other, [one, other])
        return True

    def _post_table(self, constraint: Any) -> bool:
        variables, rows = constraint.args
        if not all(isinstance(own, _NumVarImpl) and not isinstance(own, NegBoolView) for own in variables):
            return False
        places = [self.solver_var(own) for own in variables]
        if len(set(places)) < len(places):
            return False
        low = np.array([least_of(own) for own in variables])
        sizes = np.array([size_of(own) for own in variables])
        tuples = np.asarray(rows, dtype=np.int64).reshape(-1, len(places)) - low
        tuples = tuples[((tuples >= 0) & (tuples < sizes)).all(axis=1)]
        costs = np.zeros(len(tuples))
        self._posts.append(lambda network: void(network.add_sparse(places, tuples, costs, default=self._forbids())))
        return True

    def _post_regular(self, constraint: Any) -> bool:
        found = automaton(constraint)
        if found is None:
            return False
        places = [self.solver_var(own) for own in found[0]]
        self._posts.append(lambda network: void(network.add_global(places, "wregular", found[1])))
        return True

    def _post_element(self, constraint: Any) -> bool:
        """Posts the comparison of an element of an array with a number."""
        tables = element(constraint)
        for variables, forbidden in tables or []:
            if forbidden.any():
                self._post_forbidden(variables, forbidden)
        return tables is not None

    def _post_forbidden(self, variables: list[Any], forbidden: Any) -> None:
        places = [self.solver_var(own) for own in variables]
        self._posts.append(lambda network: void(network.add(places, np.where(forbidden, self._forbids(), 0.0))))

    def _post_linear(self, constraint: Any) -> bool:
        """Posts a comparison of sums, a clause, or the reification of one of these by a bit."""
        if isinstance(constraint, Operator) and constraint.name == "->":
            bit, other = constraint.args
            return self._post_equality(bit, other, bit.implies) or self._post_half(bit, True, other)
        if isinstance(constraint, Comparison) and constraint.name == "==":
            one, other = constraint.args
            if isinstance(one, _BoolVarImpl) and isinstance(other, (Comparison, Operator)) and is_boolean(other):
                opposite = opposite_of(other)
                return self._post_equality(one, other, partial(Comparison, "==", one)) or (
                    opposite is not None
                    and as_sum(other) is not None
                    and as_sum(opposite) is not None
                    and self._post_half(one, True, other)
                    and self._post_half(one, False, opposite)
                )
        found = as_sum(constraint)
        if found is None:
            return False
        weights, low, high, other_than = found
        self._add_linear(weights, low, high, other_than)
        return True

    def _post_equality(self, bit: Any, constraint: Any, reify: Callable[[Any], Any]) -> bool:
        """Posts the reification of an (in)equality of sums, with a bit for each of both inequalities."""
        is_equality = isinstance(constraint, Comparison) and constraint.name in ("==", "!=")
        if not isinstance(bit, _BoolVarImpl) or not is_equality or as_sum(constraint) is None:
            return False
        one, other = constraint.args
        enough, little = boolvar(shape=2)
        equal = enough & little
        for part in (
            enough == Comparison(">=", one, other),
            little == Comparison("<=", one, other),
            reify(equal if constraint.name == "==" else ~equal),
        ):
            if not self._post(part, TRIED_AT_LAST):
                return False
        return True

    def _post_half(self, bit: Any, value: bool, constraint: Any) -> bool:
        """Posts that a linear constraint holds if a bit has a value (big-M); otherwise the sum is within the limits."""
        found = as_sum(constraint)
        if not isinstance(bit, _BoolVarImpl) or found is None or found[3] is not None:
            return False
        weights, low, high, _ = found
        least = sum(min(own.values()) for own in weights.values())
        most = sum(max(own.values()) for own in weights.values())
        bit, value = (bit._bv, not value) if isinstance(bit, NegBoolView) else (bit, value)

        def moved(by: int) -> dict[Any, dict[int, int]]:
            # the sum is within the limit if the bit has the other value
            own = {variable: dict(values) for variable, values in weights.items()}
            own.setdefault(bit, {0: 0, 1: 0})[int(not value)] += by
            return own

        if low is not None:
            self._add_linear(moved(max(0, low - least)), low, None, None)
        if high is not None:
            self._add_linear(moved(min(0, high - most)), None, high, None)
        return True

    def _add_linear(
        self, weights: dict[Any, dict[int, int]], low: int | None, high: int | None, other_than: int | None
    ) -> None:
        places = [self.solver_var(variable) for variable in weights]
        table = [[own[value] for value in domain_of(variable)] for variable, own in weights.items()]
        if not places:
            holds = (low is None or low <= 0) and (high is None or high >= 0) and other_than != 0
            if not holds:
                self._posts.append(lambda network: void(network.add([], self._forbids())))
            return
        self._posts.append(lambda network: void(network.linear(places, table, low, high, other_than=other_than)))

    def _post_cost(self, expr: Any) -> bool:
        """Sets an objective that is a sum of terms with few values each; returns whether it is."""
        posts: list[Post] = []
        for factor, term in terms_of(expr):
            variables = distinct(get_variables(term))
            if math.prod(map(size_of, variables)) > TRIED_AT_LAST:
                return False
            places = [self.solver_var(variable) for variable in variables]
            if variables:
                costs = factor * try_all(variables, partial(number_of, term))
            else:
                costs = np.array(factor * number_of(term))
            if not np.isfinite(costs).all():
                return False
            posts.append(partial(_add, places=places, costs=costs))
        self._objective = posts
        return True


def void(_: Any) -> None:
    """Discards the number of a function."""


def _add(network: Network, places: list[int], costs: Any) -> None:
    network.add(places, costs)
