"""A solver class for CPMpy.

Constraints with few combinations of values become tables. ``AllDifferent``, ``Table``, ``Regular`` and linear
comparisons of many variables become global cost functions, also if a bit reifies such a comparison. Terms of these are
variables, conditions on a single variable, and counts of constants (``Count``, ``Among``, ``GlobalCardinalityCount``):
each is a weight for each value. ``Cumulative`` and ``NoOverlap`` of constant durations become such sums, ``Element``
becomes tables. CPMpy decomposes everything else. A constraint that remains raises ``NotSupported``, which names it.

>>> solver = fangs.cpmpy.CPM_fangs(model)
>>> solver.solve(time_limit=10)

or, after ``fangs.cpmpy.register()``, ``model.solve(solver="fangs", time_limit=10)``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from cpmpy.exceptions import NotSupportedError
from cpmpy.expressions.core import Expression
from cpmpy.expressions.utils import is_int
from cpmpy.expressions.variables import NegBoolView, _BoolVarImpl, _NumVarImpl
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
from ._expressions import least_of, size_of
from ._fangs import Network, __version__
from ._globals import Load, has_other_counts, simpler
from ._posting import TRIED, TRIED_AT_LAST, Post, Posting

__all__ = ["CPM_fangs", "NotSupported", "register"]

#: Largest number of values of a domain: local search stores values in 16 bits.
_LONGEST = 65535


class NotSupported(Unsupported, NotSupportedError):  # type: ignore[misc]
    """A part of a CPMpy model that a network cannot express; also a ``NotSupportedError`` of CPMpy."""


def register() -> None:
    """Lets CPMpy find the solver by its name: ``model.solve(solver="fangs")``."""
    known = SolverLookup.base_solvers()
    if "fangs" not in dict(known):
        SolverLookup.base_solvers = classmethod(lambda cls: [*known, ("fangs", CPM_fangs)])


class CPM_fangs(Posting, SolverInterface):  # type: ignore[misc]
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
        self._posts: list[Post] = []
        self._objective: list[Post] | None = None
        self._minimize = True
        self._hint: dict[str, int] = {}
        self._bound: float | None = None
        #: the assumptions of the last search, each with its bit and the value of this
        self._assumed: list[tuple[Any, int, bool]] = []
        #: the network of the last search, if it has no solution
        self._refuted: Network | None = None
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
            self._add(constraint)
        return self

    def _add(self, constraint: Any) -> None:
        """Posts a constraint, if necessary in simpler parts."""
        if self._post(constraint, TRIED):
            return
        parts = simpler(constraint)
        if parts is not None:
            for part in parts:
                for own in [part] if isinstance(part, (bool, np.bool_, Load)) else toplevel_list(part):
                    self._add(own)
            return
        for part in self.transform(constraint):
            if not self._post(part, TRIED_AT_LAST):
                raise NotSupported(f"no table and no linear function holds the constraint {part}")

    __add__ = add

    def transform(self, cpm_expr: Any) -> list[Expression]:
        """Decomposes constraints into the parts that are posted."""
        # counts of constants are sums of weights of values
        counts = frozenset() if has_other_counts(cpm_expr) else frozenset(["count", "among"])
        parts = no_partial_functions(toplevel_list(cpm_expr))
        parts = decompose_in_tree(
            parts,
            supported=self.supported_global_constraints | counts,
            supported_reified=self.supported_reified_global_constraints,
            csemap=self._csemap,
        )
        parts = flatten_constraint(parts, csemap=self._csemap)
        sums = frozenset(["sum", "wsum"]) | counts
        parts = reify_rewrite(parts, supported=sums, csemap=self._csemap)
        parts = only_bv_reifies(parts, csemap=self._csemap)
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

    def solve(
        self,
        time_limit: float | None = None,
        display: Any = None,
        assumptions: Sequence[Any] | None = None,
        **options: Any,
    ) -> bool:
        """Solves the model.

        Args:
            time_limit: seconds; with None, the search ends with a proof.
            display: expressions to print, or a function to call, at each solution of an optimisation.
            assumptions: bits, or negations of bits, that hold in this call. If there is no solution then, ``get_core``
                returns some that cannot hold together.
            options: options of ``Network.solve``.

        Returns:
            Whether a solution was found.
        """
        limit = self._begin(time_limit)
        self._assumed = [(own, *self._literal(own)) for own in ([] if assumptions is None else assumptions)]
        network = self._network()
        for _, place, value in self._assumed:
            network.add(place, [self._forbids() if value else 0.0, 0.0 if value else self._forbids()])
        self._refuted = None
        run = network.solve(time=limit, warm_starts=self._start(), **options)
        for event in run:
            if display is not None and event.kind == "solution" and event.solution is not None:
                self._assign(event.solution.tolist())
                self.print_display(display)
        result = run.result()
        self.cpm_status.solve_time = result.time
        self._bound = None if result.bound is None else float(result.bound)
        if result.status == "infeasible":
            self._refuted = network
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

    def get_core(self) -> list[Any]:
        """Returns some assumptions of the last ``solve`` that cannot hold together, if it proved that all cannot.

        Raises:
            NotSupported: the last call of ``solve`` had no assumptions, or did not prove that there is no solution.
        """
        if self._refuted is None or not self._assumed:
            raise NotSupported("a core follows a call of solve with assumptions that proved that there is no solution")
        first = len(self._refuted) - len(self._assumed)
        conflict = self._refuted.conflict()
        if conflict is None:
            return [own for own, *_ in self._assumed]
        return [own for number, (own, *_) in enumerate(self._assumed, first) if number in conflict]

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

    def _literal(self, assumption: Any) -> tuple[int, bool]:
        """Returns the index of the bit of an assumption, and the value that the bit has."""
        bit = assumption._bv if isinstance(assumption, NegBoolView) else assumption
        if not isinstance(bit, _BoolVarImpl):
            raise NotSupported(f"assumptions are bits and their negations, not {assumption}")
        return self.solver_var(bit), bit is assumption

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
