"""Expressions of CPMpy as tables of their values and as sums of weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import cpmpy as cp
import numpy as np
from cpmpy.exceptions import IncompleteFunctionError
from cpmpy.expressions.core import Comparison, Expression, Operator
from cpmpy.expressions.globalfunctions import Among, Count
from cpmpy.expressions.utils import argval, is_int
from cpmpy.expressions.variables import NegBoolView, _NumVarImpl
from cpmpy.transformations.get_variables import get_variables


def least_of(variable: _NumVarImpl) -> int:
    return 0 if variable.is_bool() else int(variable.lb)


def size_of(variable: _NumVarImpl) -> int:
    return 2 if variable.is_bool() else int(variable.ub) - int(variable.lb) + 1


def domain_of(variable: _NumVarImpl) -> range:
    return range(least_of(variable), least_of(variable) + size_of(variable))


def distinct(variables: Sequence[Any]) -> list[Any]:
    """Returns each variable once, with bits in place of their negations."""
    own = [variable._bv if isinstance(variable, NegBoolView) else variable for variable in variables]
    return list({variable.name: variable for variable in own}.values())


def value_of(expr: Any) -> Any:
    """Returns the value of an expression; None if it is an undefined number. Undefined conditions are false."""
    try:
        return argval(expr)
    except IncompleteFunctionError:
        return None


def number_of(expr: Any) -> float:
    """Returns the value of a numeric expression; NaN if it is undefined."""
    value = value_of(expr)
    return math.nan if value is None else float(value)


def try_all(variables: Sequence[Any], read: Callable[[], Any]) -> Any:
    """Evaluates an expression at all values of its variables, and then restores the variables' own values."""
    kept = [variable._value for variable in variables]
    try:
        found = []
        for values in itertools.product(*map(domain_of, variables)):
            for variable, value in zip(variables, values, strict=True):
                variable._value = bool(value) if variable.is_bool() else value
            found.append(read())
    finally:
        for variable, value in zip(variables, kept, strict=True):
            variable._value = value
    return np.array(found).reshape([size_of(variable) for variable in variables])


def is_boolean(expr: Any) -> bool:
    return isinstance(expr, Expression) and bool(expr.is_bool())


def terms_of(expr: Any) -> list[tuple[int, Any]]:
    """Returns the factors and terms of a sum."""
    if isinstance(expr, Operator) and expr.name == "sum":
        return [term for argument in expr.args for term in terms_of(argument)]
    if isinstance(expr, Operator) and expr.name == "wsum":
        return [
            (int(weight) * factor, term)
            for weight, argument in zip(*expr.args, strict=True)
            for factor, term in terms_of(argument)
        ]
    if isinstance(expr, Operator) and expr.name == "-":
        return [(-factor, term) for factor, term in terms_of(expr.args[0])]
    if isinstance(expr, Operator) and expr.name == "sub":
        return terms_of(expr.args[0]) + [(-factor, term) for factor, term in terms_of(expr.args[1])]
    if isinstance(expr, Expression) and expr.name == "mul" and any(map(is_int, expr.args)):
        one, other = expr.args if is_int(expr.args[0]) else expr.args[::-1]
        return [(int(one) * factor, term) for factor, term in terms_of(other)]
    conditions = counted(expr)
    if conditions is not None:
        return [(1, condition) for condition in conditions]
    return [(1, expr)]


def counted(expr: Any) -> Iterable[Any] | None:
    """The conditions that a count of constant values counts; None for other expressions."""
    if isinstance(expr, Count) and is_int(expr.args[1]):
        return [own == int(expr.args[1]) for own in expr.args[0]]
    if isinstance(expr, Among):
        # a value that is listed twice counts once
        values = list(dict.fromkeys(int(value) for value in expr.args[1]))
        return [
            int(own in values) if is_int(own) else cp.any([own == value for value in values]) for own in expr.args[0]
        ]
    return None


def opposite_of(constraint: Any) -> Any:
    """Returns the negation of a comparison by an inequality; None for other constraints."""
    opposites = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}
    if isinstance(constraint, Comparison) and constraint.name in opposites:
        return Comparison(opposites[constraint.name], *constraint.args)
    return None


#: The weight of each value of each variable, both limits, and a number that the sum must not be.
Sum = tuple[dict[Any, dict[int, int]], int | None, int | None, int | None]


def as_sum(constraint: Any) -> Sum | None:
    """Returns a comparison of sums, or a clause, as limits on one sum; None if a term has several variables."""
    if isinstance(constraint, Operator) and constraint.name == "or":
        terms, operand = [(1, argument) for argument in constraint.args], ">="
        shift = 1
    elif isinstance(constraint, Operator) and constraint.name == "and":
        terms, operand = [(1, argument) for argument in constraint.args], ">="
        shift = len(constraint.args)
    elif isinstance(constraint, Comparison):
        one, other = constraint.args
        terms = terms_of(one) + [(-factor, term) for factor, term in terms_of(other)]
        operand, shift = constraint.name, 0
    else:
        return None
    weights: dict[Any, dict[int, int]] = {}
    for factor, term in terms:
        variables = distinct(get_variables(term))
        if len(variables) > 1:
            return None
        if not variables:
            shift -= factor * int(number_of(term))
            continue
        (variable,) = variables
        own = weights.setdefault(variable, dict.fromkeys(domain_of(variable), 0))
        numbers = try_all([variable], partial(number_of, term))
        if not all(float(number).is_integer() for number in numbers):
            return None
        for value, number in zip(own, numbers, strict=True):
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


