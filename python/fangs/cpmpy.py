"""A solver class for CPMpy.

Constraints with few combinations of values become tables. ``AllDifferent``, ``Table`` and linear comparisons of many
variables become global cost functions, also if a bit reifies such a comparison. CPMpy first decomposes everything else.
A constraint that remains raises ``NotSupported``, which names it.

>>> solver = fangs.cpmpy.CPM_fangs(model)
>>> solver.solve(time_limit=10)

or, after ``fangs.cpmpy.register()``, ``model.solve(solver="fangs", time_limit=10)``.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from cpmpy.exceptions import NotSupportedError
from cpmpy.expressions.core import Comparison, Expression, Operator
from cpmpy.expressions.python_builtins import all as cp_all
from cpmpy.expressions.utils import is_int
from cpmpy.expressions.variables import NegBoolView, _BoolVarImpl, _NumVarImpl, boolvar
from cpmpy.solvers.solver_interface import ExitStatus, SolverInterface, SolverStatus
from cpmpy.solvers.utils import SolverLookup
from cpmpy.transformations.comparison import only_numexpr_equality
from cpmpy.transformations.decompose_global import decompose_in_tree, decompose_objective
from cpmpy.transformations.flatten_model import flatten_constraint, flatten_objective
from cpmpy.transformations.get_variables import get_variables
from cpmpy.transformations.normalize import toplevel_list
from cpmpy.transformations.reification import only_bv_reifies, reify_rewrite
from cpmpy.transformations.safening import no_partial_functions, safen_objective

from ._errors import Error, Unsupported
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
from ._fangs import Network, __version__

__all__ = ["CPM_fangs", "NotSupported", "register"]

#: Largest number of combinations of values for which a constraint is tabulated: tenths of a second.
_TRIED = 1 << 12
#: Largest number of combinations for a constraint that cannot be decomposed any further.
_TRIED_AT_LAST = 1 << 16
#: Largest number of values of a domain: local search stores values in 16 bits.
_LONGEST = 65535

#: An operation that adds a function to a network.
_Post = Callable[[Network], None]


class NotSupported(Unsupported, NotSupportedError):  # type: ignore[misc]
    """A part of a CPMpy model that a network cannot express; also a ``NotSupportedError`` of CPMpy."""


def register() -> None:
    """Lets CPMpy find the solver by its name: ``model.solve(solver="fangs")``."""
    known = SolverLookup.base_solvers()
    if "fangs" not in dict(known):
        SolverLookup.base_solvers = classmethod(lambda cls: [*known, ("fangs", CPM_fangs)])


class CPM_fangs(SolverInterface):  # type: ignore[misc]
    """Solves CPMpy's models with Fangs.

    ``objective_bound()`` returns the proved bound; ``solution_hint`` sets a start, which may leave variables out.
    """

    # products and quotients become tables, because their decomposition would need one bit for each value
    supported_global_constraints = frozenset({"alldifferent", "div", "mod", "mul", "pow", "table"})
    supported_reified_global_constraints: frozenset[str] = frozenset()

    @staticmethod
    def supported() -> bool:
        """Whether the solver is installed."""
        return True

    @classmethod
    def version(cls) -> str | None:
        """The version of this package."""
        return __version__

    def __init__(self, cpm_model: Any = None, subsolver: str | None = None) -> None:
        self._variables: list[_NumVarImpl] = []
        self._posts: list[_Post] = []
        self._objective: list[_Post] | None = None
        self._minimize = True
        self._hint: dict[str, int] = {}
        self._bound: float | None = None
        super().__init__(name="fangs", cpm_model=cpm_model, subsolver=subsolver)

    @property
    def native_model(self) -> Network:
        """The network."""
        return self._network()

    def has_objective(self) -> bool:
        """Whether there is an objective."""
        return self._objective is not None

    def objective_bound(self) -> float | None:
        """The bound on the objective that the last ``solve`` proved."""
        return self._bound

    def solution_hint(self, cpm_vars: Sequence[Any], vals: Sequence[Any]) -> None:
        """Sets values to start from; variables may be left out."""
        variables, values = np.ravel(np.array(cpm_vars, dtype=object)), np.ravel(np.array(vals, dtype=object))
        if len(variables) != len(values):
            raise ValueError(f"{len(variables)} variables have {len(values)} values")
        self._hint = {}
        for variable, value in zip(variables, values, strict=True):
            if isinstance(variable, NegBoolView):
                variable, value = variable._bv, not value
            self._hint[variable.name] = int(value)

    def solver_var(self, cpm_var: Any) -> Any:
        """Returns the index of a variable in the network; a constant is returned itself."""
        if is_int(cpm_var):
            return int(cpm_var)
        if isinstance(cpm_var, NegBoolView):
            return self.solver_var(cpm_var._bv)
        if not isinstance(cpm_var, _NumVarImpl):
            raise NotSupported(f"{cpm_var} is no variable of finite domain")
        place = self._varmap.get(cpm_var.name)
        if place is None:
            if size_of(cpm_var) > _LONGEST:
                raise NotSupported(f"{cpm_var.name} has {size_of(cpm_var)} values, at most {_LONGEST} have room")
            place = self._varmap[cpm_var.name] = len(self._variables)
            self._variables.append(cpm_var)
        return place

    def add(self, cpm_expr: Any) -> CPM_fangs:
        """Adds constraints.

        Raises:
            NotSupported: a constraint remains after all decompositions that a network cannot express.
        """
        get_variables(cpm_expr, collect=self.user_vars)
        # refuses too large domains before they are decomposed, which would take forever
        self.solver_vars(get_variables(cpm_expr))
        for constraint in toplevel_list(cpm_expr):
            if not self._post(constraint, _TRIED):
                for part in self.transform(constraint):
                    if not self._post(part, _TRIED_AT_LAST):
                        raise NotSupported(f"no table and no linear function holds the constraint {part}")
        return self

    __add__ = add

    def transform(self, cpm_expr: Any) -> list[Expression]:
        """Decomposes constraints into the parts that are posted."""
        parts = no_partial_functions(toplevel_list(cpm_expr))
        parts = decompose_in_tree(
            parts,
            supported=self.supported_global_constraints,
            supported_reified=self.supported_reified_global_constraints,
            csemap=self._csemap,
        )
        parts = flatten_constraint(parts, csemap=self._csemap)
        parts = reify_rewrite(parts, supported=frozenset(["sum", "wsum"]), csemap=self._csemap)
        parts = only_bv_reifies(parts, csemap=self._csemap)
        sums = frozenset(["sum", "wsum"])
        found: list[Expression] = only_numexpr_equality(parts, supported=sums, csemap=self._csemap)
        return found

    def objective(self, expr: Any, minimize: bool = True) -> None:
        """Sets the objective, in place of an earlier one."""
        get_variables(expr, collect=self.user_vars)
        self._minimize = minimize
        self._objective = []
        if self._post_cost(expr):
            return
        safe, safety = safen_objective(expr)
        whole, decomposed = decompose_objective(
            safe,
            supported=self.supported_global_constraints,
            supported_reified=self.supported_reified_global_constraints,
            csemap=self._csemap,
        )
        flat, flattened = flatten_objective(whole, csemap=self._csemap)
        self.add([*safety, *decomposed, *flattened])
        if not self._post_cost(flat):
            raise NotSupported(f"no sum of tables holds the objective {flat}")

    def solve(self, time_limit: float | None = None, display: Any = None, **options: Any) -> bool:
        """Solves the model.

        Args:
            time_limit: seconds; with None, the search ends with a proof.
            display: expressions to print, or a function to call, at each solution of an optimisation.
            options: options of ``Network.solve``.

        Returns:
            Whether a solution was found.
        """
        limit = self._begin(time_limit)
        run = self._network().solve(time=limit, warm_starts=self._start(), **options)
        for event in run:
            if display is not None and event.kind == "solution" and event.solution is not None:
                self._assign(event.solution.tolist())
                self.print_display(display)
        result = run.result()
        self.cpm_status.solve_time = result.time
        self._bound = None if result.bound is None else float(result.bound)
        if result.status == "infeasible":
            self.cpm_status.exitstatus = ExitStatus.UNSATISFIABLE
        elif result.status == "unknown":
            self.cpm_status.exitstatus = ExitStatus.UNKNOWN
        elif result.status == "optimal" and self.has_objective():
            self.cpm_status.exitstatus = ExitStatus.OPTIMAL
        else:
            self.cpm_status.exitstatus = ExitStatus.FEASIBLE
        self.objective_value_ = None
        if result.solution is None:
            for variable in self.user_vars:
                variable.clear()
            return False
        self._assign(result.solution.tolist())
        if self.has_objective():
            self.objective_value_ = int(result.cost) if result.cost is not None else None
        return True

    def solveAll(
        self,
        display: Any = None,
        time_limit: float | None = None,
        solution_limit: int | None = None,
        call_from_model: bool = False,
        **options: Any,
    ) -> int:
        """Finds all solutions of a model without objective.

        Args:
            display: expressions to print, or a function to call, at each solution.
            time_limit: seconds; None for no limit.
            solution_limit: the largest number of solutions.
            call_from_model: ignored, because the solver is unchanged afterwards.
            options: options of ``Network.solutions``.

        Returns:
            The number of solutions found.
        """
        if self.has_objective():
            raise NotSupported("solutions are enumerated for models without objective")
        limit, began, count = self._begin(time_limit), perf_counter(), 0
        found = self._network().solutions(
            [place for place, variable in enumerate(self._variables) if variable in self.user_vars],
            most=solution_limit,
            time=limit,
            **options,
        )
        last = None
        for last, _ in found:
            count += 1
            if display is not None:
                self._assign(last.tolist())
                self.print_display(display)
        self.cpm_status.solve_time = perf_counter() - began
        if last is not None:
            self._assign(last.tolist())
            self.cpm_status.exitstatus = ExitStatus.OPTIMAL if found.complete else ExitStatus.FEASIBLE
        else:
            self.cpm_status.exitstatus = ExitStatus.UNSATISFIABLE if found.complete else ExitStatus.UNKNOWN
            for variable in self.user_vars:
                variable.clear()
        return count

    def _begin(self, time_limit: float | None) -> float:
        """Begins a search; returns its time limit in seconds."""
        if time_limit is not None and time_limit <= 0:
            raise ValueError("Time limit must be positive")
        self.solver_vars(list(self.user_vars))
        self.cpm_status = SolverStatus(self.name)
        return math.inf if time_limit is None else time_limit

    def _network(self) -> Network:
        """Builds the network of the model."""
        names = [variable.name for variable in self._variables]
        network = Network(
            [size_of(variable) for variable in self._variables],
            names,
            decimals=0,
            maximize=not self._minimize,
            name="model",
        )
        try:
            for post in [*self._posts, *(self._objective or [])]:
                post(network)
            # reading a property builds the network
            _ = network.decimals
        except Error as error:
            raise NotSupported(f"the model has no room in tables: {error}") from error
        return network

    def _start(self) -> dict[int, int] | None:
        """Returns the hint, without variables and values that the network lacks."""
        start = {}
        for name, value in self._hint.items():
            place = self._varmap.get(name)
            if place is None:
                continue
            low, size = least_of(self._variables[place]), size_of(self._variables[place])
            if low <= value < low + size:
                start[place] = value - low
            else:
                warnings.warn(f"the hint gives {name} the value {value}, which it does not have", stacklevel=3)
        return start or None

    def _assign(self, solution: Sequence[int]) -> None:
        for variable, value in zip(self._variables, solution, strict=False):
            if variable in self.user_vars:
                variable._value = bool(value) if variable.is_bool() else value + least_of(variable)

    def _forbids(self, value: float = math.inf) -> float:
        """The forbidden value; called when the network is built, because its sign may change until then."""
        return value if self._minimize else -value

    def _post(self, constraint: Any, most: int) -> bool:
        """Posts a constraint, if it can be expressed; returns whether it was."""
        if isinstance(constraint, (bool, np.bool_)):
            if not constraint:
                self._posts.append(lambda network: void(network.add([], self._forbids())))
            return True
        variables = distinct(get_variables(constraint))
        if isinstance(constraint, Expression) and constraint.name == "alldifferent":
            return self._post_different(list(constraint.args))
        if isinstance(constraint, Expression) and constraint.name == "table":
            return self._post_table(constraint)
        tried = math.prod(map(size_of, variables))
        if tried <= min(most, _TRIED) and self._tabulate(constraint, variables):
            return True
        return self._post_linear(constraint) or (tried <= most and self._tabulate(constraint, variables))

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
            if not self._post(part, _TRIED_AT_LAST):
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
        posts: list[_Post] = []
        for factor, term in terms_of(expr):
            variables = distinct(get_variables(term))
            if math.prod(map(size_of, variables)) > _TRIED_AT_LAST:
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
