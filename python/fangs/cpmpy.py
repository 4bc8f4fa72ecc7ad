"""A solver class for CPMpy.

Constraints of few values become tables, whatever they say; ``AllDifferent``, ``Table`` and linear comparisons of many
variables become functions of their own, also where a bit stands for such a comparison. Everything else is decomposed
by CPMpy first. What is left over raises one exception, which says what it was.

>>> solver = fangs.cpmpy.CPM_fangs(model)
>>> solver.solve(time_limit=10)
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from cpmpy.expressions.core import Comparison, Expression, Operator
from cpmpy.expressions.python_builtins import all as cp_all
from cpmpy.expressions.utils import is_int
from cpmpy.expressions.variables import NegBoolView, _BoolVarImpl, _NumVarImpl
from cpmpy.solvers.solver_interface import ExitStatus, SolverInterface, SolverStatus
from cpmpy.transformations.comparison import only_numexpr_equality
from cpmpy.transformations.decompose_global import decompose_in_tree, decompose_objective
from cpmpy.transformations.flatten_model import flatten_constraint, flatten_objective
from cpmpy.transformations.get_variables import get_variables
from cpmpy.transformations.normalize import toplevel_list
from cpmpy.transformations.reification import only_bv_reifies, reify_rewrite
from cpmpy.transformations.safening import no_partial_functions, safen_objective

from ._errors import Error, Unsupported
from ._fangs import Network, __version__

__all__ = ["CPM_fangs"]

#: Combinations of values up to which a constraint becomes a table by trying all of them: tenths of a second.
_TRIED = 1 << 12
#: The same once it cannot be decomposed any further.
_TRIED_AT_LAST = 1 << 16
#: A domain has so many values at most: local search has no room for more.
_LONGEST = 65535

#: What adds a function to a network.
_Post = Callable[[Network], None]


class CPM_fangs(SolverInterface):  # type: ignore[misc]
    """Solves CPMpy's models by Fangs.

    ``objective_bound()`` is the bound that was proved; ``solution_hint`` gives a start, which may leave variables out.
    """

    supported_global_constraints = frozenset({"alldifferent", "table"})
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
        """Whether there is something to minimize or to maximize."""
        return self._objective is not None

    def objective_bound(self) -> float | None:
        """The bound on the objective that the last ``solve`` proved."""
        return self._bound

    def solution_hint(self, cpm_vars: Sequence[Any], vals: Sequence[Any]) -> None:
        """Gives values to start from; variables may be left out."""
        variables, values = np.ravel(np.array(cpm_vars, dtype=object)), np.ravel(np.array(vals, dtype=object))
        if len(variables) != len(values):
            raise ValueError(f"{len(variables)} variables have {len(values)} values")
        self._hint = {}
        for variable, value in zip(variables, values, strict=True):
            if isinstance(variable, NegBoolView):
                variable, value = variable._bv, not value
            self._hint[variable.name] = int(value)

    def solver_var(self, cpm_var: Any) -> Any:
        """The place of a variable in the network; a constant is one itself."""
        if is_int(cpm_var):
            return int(cpm_var)
        if isinstance(cpm_var, NegBoolView):
            return self.solver_var(cpm_var._bv)
        if not isinstance(cpm_var, _NumVarImpl):
            raise Unsupported(f"{cpm_var} is no variable of finite domain")
        place = self._varmap.get(cpm_var.name)
        if place is None:
            if _size(cpm_var) > _LONGEST:
                raise Unsupported(f"{cpm_var.name} has {_size(cpm_var)} values, at most {_LONGEST} have room")
            place = self._varmap[cpm_var.name] = len(self._variables)
            self._variables.append(cpm_var)
        return place

    def add(self, cpm_expr: Any) -> CPM_fangs:
        """Adds constraints.

        Raises:
            Unsupported: a constraint that is left over after all decompositions.
        """
        get_variables(cpm_expr, collect=self.user_vars)
        for constraint in toplevel_list(cpm_expr):
            if not self._post(constraint, _TRIED):
                for part in self.transform(constraint):
                    if not self._post(part, _TRIED_AT_LAST):
                        raise Unsupported(f"no table and no linear function holds the constraint {part}")
        return self

    __add__ = add

    def transform(self, cpm_expr: Any) -> list[Expression]:
        """Constraints in the parts that are posted."""
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
        """Sets what to minimize or maximize; only the last one counts."""
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
            raise Unsupported(f"no sum of tables holds the objective {flat}")

    def solve(self, time_limit: float | None = None, display: Any = None, **options: Any) -> bool:
        """Solves the model.

        Args:
            time_limit: seconds; None until there is a proof.
            display: expressions to print, or a function to call, at each solution of an optimisation.
            options: those of ``Network.solve``.

        Returns:
            Whether a solution was found.
        """
        self.solver_vars(list(self.user_vars))
        if time_limit is not None and time_limit <= 0:
            raise ValueError("Time limit must be positive")
        self.cpm_status = SolverStatus(self.name)
        try:
            network = self._network()
            limit = math.inf if time_limit is None else time_limit
            run = network.solve(time=limit, warm_starts=self._start(), **options)
        except Error as error:
            raise Unsupported(f"the model has no room in tables: {error}") from error
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

    def _network(self) -> Network:
        """The model so far."""
        names = [variable.name for variable in self._variables]
        network = Network(
            [_size(variable) for variable in self._variables],
            names,
            decimals=0,
            maximize=not self._minimize,
            name="model",
        )
        for post in [*self._posts, *(self._objective or [])]:
            post(network)
        return network

    def _start(self) -> dict[int, int] | None:
        """The hint, without what has no place."""
        start = {}
        for name, value in self._hint.items():
            place = self._varmap.get(name)
            if place is None:
                continue
            low, size = _low(self._variables[place]), _size(self._variables[place])
            if low <= value < low + size:
                start[place] = value - low
            else:
                warnings.warn(f"the hint gives {name} the value {value}, which it does not have", stacklevel=3)
        return start or None

    def _assign(self, solution: Sequence[int]) -> None:
        for variable, value in zip(self._variables, solution, strict=False):
            if variable in self.user_vars:
                variable._value = bool(value) if variable.is_bool() else value + _low(variable)

    def _forbids(self, value: float = math.inf) -> float:
        """What forbids: the sense of the objective may change later on, so it is asked when the network is made."""
        return value if self._minimize else -value

    def _post(self, constraint: Any, most: int) -> bool:
        """Posts a constraint, if something holds it."""
        if isinstance(constraint, (bool, np.bool_)):
            if not constraint:
                self._posts.append(lambda network: void(network.add([], self._forbids())))
            return True
        variables = _distinct(get_variables(constraint))
        if isinstance(constraint, Expression) and constraint.name == "alldifferent":
            return self._post_different(list(constraint.args))
        if isinstance(constraint, Expression) and constraint.name == "table":
            return self._post_table(constraint)
        if math.prod(map(_size, variables)) <= min(most, _TRIED):
            self._tabulate(constraint, variables)
            return True
        if self._post_linear(constraint):
            return True
        if math.prod(map(_size, variables)) <= most:
            self._tabulate(constraint, variables)
            return True
        return False

    def _tabulate(self, constraint: Any, variables: Sequence[_NumVarImpl]) -> None:
        places = [self.solver_var(variable) for variable in variables]
        allowed = _try_all(variables, lambda: bool(_value(constraint)))
        self._posts.append(lambda network: void(network.add(places, np.where(allowed, 0.0, self._forbids()))))

    def _post_different(self, arguments: list[Any]) -> bool:
        """All values differ: one function where all domains begin at the same value, else a table a pair."""
        constants = [int(own) for own in arguments if is_int(own)]
        arguments = [own for own in arguments if not is_int(own)]
        if not all(isinstance(own, _NumVarImpl) and not isinstance(own, NegBoolView) for own in arguments):
            return False
        places = [self.solver_var(own) for own in arguments]
        for own in arguments if constants else []:
            self._tabulate(cp_all([own != constant for constant in constants]), [own])
        if len(set(places)) < len(places) or len(set(constants)) < len(constants):
            self._posts.append(lambda network: void(network.add([], self._forbids())))
        elif len({_low(own) for own in arguments}) == 1:
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
        low = np.array([_low(own) for own in variables])
        sizes = np.array([_size(own) for own in variables])
        tuples = np.asarray(rows, dtype=np.int64).reshape(-1, len(places)) - low
        tuples = tuples[((tuples >= 0) & (tuples < sizes)).all(axis=1)]
        costs = np.zeros(len(tuples))
        self._posts.append(lambda network: void(network.add_sparse(places, tuples, costs, default=self._forbids())))
        return True

    def _post_linear(self, constraint: Any) -> bool:
        """A comparison of sums, a clause, or a bit that stands for one of these."""
        if isinstance(constraint, Operator) and constraint.name == "->":
            return self._post_half(constraint.args[0], True, constraint.args[1])
        if isinstance(constraint, Comparison) and constraint.name == "==":
            one, other = constraint.args
            if isinstance(one, _BoolVarImpl) and isinstance(other, (Comparison, Operator)) and _is_bool(other):
                opposite = _opposite(other)
                return (
                    opposite is not None
                    and _range(other) is not None
                    and _range(opposite) is not None
                    and self._post_half(one, True, other)
                    and self._post_half(one, False, opposite)
                )
        found = _range(constraint)
        if found is None:
            return False
        weights, low, high, other_than = found
        self._add_linear(weights, low, high, other_than)
        return True

    def _post_half(self, bit: Any, value: bool, constraint: Any) -> bool:
        """Where a bit has that value, a linear constraint holds: elsewhere the sum has room enough."""
        found = _range(constraint)
        if not isinstance(bit, _BoolVarImpl) or found is None or found[3] is not None:
            return False
        weights, low, high, _ = found
        least = sum(min(own.values()) for own in weights.values())
        most = sum(max(own.values()) for own in weights.values())
        bit, value = (bit._bv, not value) if isinstance(bit, NegBoolView) else (bit, value)

        def moved(by: int) -> dict[Any, dict[int, int]]:
            # the sum is inside of the limit where the bit has the other value
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
        table = [[own[value] for value in _domain(variable)] for variable, own in weights.items()]
        if not places:
            holds = (low is None or low <= 0) and (high is None or high >= 0) and other_than != 0
            if not holds:
                self._posts.append(lambda network: void(network.add([], self._forbids())))
            return
        self._posts.append(lambda network: void(network.linear(places, table, low, high, other_than=other_than)))

    def _post_cost(self, expr: Any) -> bool:
        """Adds an objective that is a sum of terms with few values each."""
        posts: list[_Post] = []
        for factor, term in _terms(expr):
            variables = _distinct(get_variables(term))
            if math.prod(map(_size, variables)) > _TRIED_AT_LAST:
                return False
            places = [self.solver_var(variable) for variable in variables]
            if variables:
                costs = factor * _try_all(variables, lambda: _number(_value(term)))
            else:
                costs = np.array(factor * _number(_value(term)))
            if not np.isfinite(costs).all():
                return False
            posts.append(partial(_add, places=places, costs=costs))
        self._objective = posts
        return True


def void(_: Any) -> None:
    """The number of a function is not needed."""


def _add(network: Network, places: list[int], costs: Any) -> None:
    network.add(places, costs)


def _low(variable: _NumVarImpl) -> int:
    return 0 if variable.is_bool() else int(variable.lb)


def _size(variable: _NumVarImpl) -> int:
    return 2 if variable.is_bool() else int(variable.ub) - int(variable.lb) + 1


def _domain(variable: _NumVarImpl) -> range:
    return range(_low(variable), _low(variable) + _size(variable))


def _distinct(variables: Sequence[Any]) -> list[Any]:
    """Each once; bits in place of their negations."""
    own = [variable._bv if isinstance(variable, NegBoolView) else variable for variable in variables]
    return list({variable.name: variable for variable in own}.values())


def _value(expr: Any) -> Any:
    return expr.value() if isinstance(expr, Expression) else expr


def _number(value: Any) -> float:
    """A partial function without a value has none in the table either."""
    return math.nan if value is None else float(value)


def _try_all(variables: Sequence[Any], read: Callable[[], Any]) -> Any:
    """What an expression comes to at all values of its variables, which keep their own ones."""
    kept = [variable._value for variable in variables]
    try:
        found = []
        for values in itertools.product(*map(_domain, variables)):
            for variable, value in zip(variables, values, strict=True):
                variable._value = bool(value) if variable.is_bool() else value
            found.append(read())
    finally:
        for variable, value in zip(variables, kept, strict=True):
            variable._value = value
    return np.array(found).reshape([_size(variable) for variable in variables])


def _is_bool(expr: Any) -> bool:
    return isinstance(expr, Expression) and bool(expr.is_bool())


def _terms(expr: Any) -> list[tuple[int, Any]]:
    """A sum as factors and terms."""
    if isinstance(expr, Operator) and expr.name == "sum":
        return [term for argument in expr.args for term in _terms(argument)]
    if isinstance(expr, Operator) and expr.name == "wsum":
        return [
            (int(weight) * factor, term)
            for weight, argument in zip(*expr.args, strict=True)
            for factor, term in _terms(argument)
        ]
    if isinstance(expr, Operator) and expr.name == "-":
        return [(-factor, term) for factor, term in _terms(expr.args[0])]
    if isinstance(expr, Operator) and expr.name == "sub":
        return _terms(expr.args[0]) + [(-factor, term) for factor, term in _terms(expr.args[1])]
    if isinstance(expr, Operator) and expr.name == "mul" and is_int(expr.args[0]):
        return [(int(expr.args[0]) * factor, term) for factor, term in _terms(expr.args[1])]
    return [(1, expr)]


def _opposite(constraint: Any) -> Any:
    """What holds where a comparison or a clause does not."""
    opposites = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}
    if isinstance(constraint, Comparison) and constraint.name in opposites:
        return Comparison(opposites[constraint.name], *constraint.args)
    return None


#: The weight of each value of each variable, both limits, and a number that the sum must not be.
_Range = tuple[dict[Any, dict[int, int]], int | None, int | None, int | None]


def _range(constraint: Any) -> _Range | None:
    """A comparison of sums of terms of one variable each, or a clause of such terms, as limits of one sum."""
    if isinstance(constraint, Operator) and constraint.name == "or":
        terms, operand = [(1, argument) for argument in constraint.args], ">="
        shift = 1
    elif isinstance(constraint, Operator) and constraint.name == "and":
        terms, operand = [(1, argument) for argument in constraint.args], ">="
        shift = len(constraint.args)
    elif isinstance(constraint, Comparison):
        one, other = constraint.args
        terms = _terms(one) + [(-factor, term) for factor, term in _terms(other)]
        operand, shift = constraint.name, 0
    else:
        return None
    weights: dict[Any, dict[int, int]] = {}
    for factor, term in terms:
        variables = _distinct(get_variables(term))
        if len(variables) > 1:
            return None
        if not variables:
            shift -= factor * int(_value(term))
            continue
        (variable,) = variables
        own = weights.setdefault(variable, dict.fromkeys(_domain(variable), 0))
        for value, number in zip(own, _try_all([variable], lambda: _number(_value(term))), strict=True):  # noqa: B023
            if not float(number).is_integer():
                return None
            own[value] += factor * int(number)
    limits: dict[str, tuple[int | None, int | None, int | None]] = {
        "==": (shift, shift, None),
        "<=": (None, shift, None),
        "<": (None, shift - 1, None),
        ">=": (shift, None, None),
        ">": (shift + 1, None, None),
        "!=": (None, None, shift),
    }
    return (weights, *limits[operand])


