"""Options and methods of pytoulbar2: each is offered or refused by name."""

from __future__ import annotations

import importlib.util
import math

import fangs
import fangs.compat
import pytest
from fangs.compat import CFN
from test_compat import both, problem


def test_options():
    cfn = problem(fangs.compat)
    cfn.Option.seed, cfn.Option.verbose = 5, -1
    assert cfn.Option.decimalPoint == 2 and cfn.Option.seed == 5
    for name, what in [("hbfs", "leave it out"), ("bilevel", "bilevel"), ("isZ", "marginals"), ("sede", "seed")]:
        with pytest.raises(fangs.Unsupported, match=f"Option.{name}: .*{what}"):
            setattr(cfn.Option, name, 0)
    with pytest.raises(fangs.Unsupported, match="setVarOrder"):
        cfn.Option.setVarOrder("0")
    cfn.Option.tolerant = True
    with pytest.warns(fangs.compat.SearchOption, match="hbfs"):
        cfn.Option.hbfs = 0
    with pytest.warns(fangs.compat.SearchOption, match="setVarOrder"):
        cfn.Option.setVarOrder("0")
    with pytest.raises(fangs.Unsupported, match="bilevel"):
        cfn.Option.bilevel = 1
    assert cfn.Solve()[1] == problem(fangs.compat).Solve()[1]


def test_every_option_of_pytoulbar2_is_known_or_refused_by_name():
    if importlib.util.find_spec("pytoulbar2") is None:
        pytest.skip("pytoulbar2 is not installed")
    option = CFN().Option
    for name in both(lambda module: dir(module.tb2.option) if hasattr(module, "tb2") else [])[1]:
        if name.startswith("_") or name in fangs.compat._option.KNOWN:
            continue
        try:
            setattr(option, name, 1)
        except fangs.Unsupported as error:
            assert f"Option.{name}" in str(error)
        else:
            pytest.fail(name)


def test_the_whole_surface_of_pytoulbar2():
    for name in ("CFN", "MultiCFN"):
        ours, *others = both(lambda module, name=name: dir(getattr(module, name)))
        for theirs in others:
            assert set(theirs) <= set(ours)


def test_what_is_not_offered_is_refused():
    cfn = problem(fangs.compat)
    with pytest.raises(fangs.Unsupported, match="propagateConstraint"):
        cfn.CFN.wcsp.propagateConstraint(0)
    with pytest.raises(fangs.Unsupported, match=r"CFN\.CFN\.recursiveSolve"):
        cfn.CFN.recursiveSolve()
    with pytest.raises(fangs.Unsupported, match="Propagate"):
        cfn.Propagate(0)
    with pytest.raises(RuntimeError, match="already"):
        cfn.AddVariable("x", [1])
    with pytest.raises(RuntimeError, match="Incorrect domain"):
        cfn.AddVariable("mixed", [1, "b"])
    with pytest.raises(RuntimeError, match="9 tuples"):
        cfn.AddFunction(["x", "y"], [0, 1])
    with pytest.raises(RuntimeError, match="Duplicate"):
        cfn.AddFunction(["x", "x"], [0] * 9)
    with pytest.raises(RuntimeError, match="Out of range"):
        cfn.AddFunction([17], [0])
    with pytest.raises(RuntimeError, match="operand"):
        cfn.AddSumConstraint(["x"], "!=", 1)
    with pytest.raises(fangs.UsageError, match="integers"):
        cfn.AddLinearConstraint([0.5], ["x"], "<=", 1)
    with pytest.raises(fangs.ParseError, match="nothing"):
        cfn.AddGlobalFunction(["x"], "nothing", 1)
        cfn.Solve()
    assert not hasattr(cfn.CFN, "hybridSolve") and math.isinf(cfn.Top)
