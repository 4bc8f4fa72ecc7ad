"""The objects of toulbar2's core that scripts reach: ``CFN.CFN`` and ``CFN.CFN.wcsp``."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from ._errors import Missing

if TYPE_CHECKING:
    from ._cfn import CFN


class Solver:
    """What scripts use of toulbar2's class WeightedCSPSolver."""

    def __init__(self, problem: CFN) -> None:
        self._problem = problem
        self.wcsp = Core(problem)

    def __getattr__(self, name: str) -> Any:
        raise Missing(f"CFN.CFN.{name} is part of toulbar2's core; CFN has {known(self)}")

    def timer(self, seconds: float) -> None:
        """Begins a time limit, in wall-clock seconds from now; it ends once a search has reached it."""
        self._problem._deadline = time.monotonic() + seconds

    def timerStop(self) -> None:
        """Ends the time limit."""
        self._problem._deadline = math.inf

    def read(self, filename: str) -> None:
        """Reads a problem."""
        self._problem.Read(filename)

    def solution(self) -> list[int]:
        """The values of the last solution."""
        return list(self._problem._solutions[-1][1]) if self._problem._solutions else []

    def solutions(self) -> list[tuple[Any, list[int]]]:
        """All solutions found, each with its cost."""
        return self._problem.GetSolutions()

    def getNbNodes(self) -> int:
        """The number of moves of local search so far."""
        return self._problem.GetNbNodes()

    def getNbBacktracks(self) -> int:
        """The number of rounds of search so far."""
        return self._problem.GetNbBacktracks()

    def getDDualBound(self) -> Any:
        """The bound that the last search proved."""
        return self._problem.GetDDualBound()


class Core:
    """What scripts use of toulbar2's class WCSP. Variables are given by their indices."""

    def __init__(self, problem: CFN) -> None:
        self._problem = problem

    def __getattr__(self, name: str) -> Any:
        raise Missing(f"CFN.CFN.wcsp.{name} is part of toulbar2's core; CFN has {known(self)}")

    def getName(self, variable: int | None = None) -> str:
        """The name of the problem, or of a variable."""
        return self._problem.GetName() if variable is None else self._problem.VariableNames[variable]

    def numberOfVariables(self) -> int:
        """The number of variables."""
        return self._problem.GetNbVars()

    def numberOfUnassignedVariables(self) -> int:
        """The number of variables with more than one value left."""
        return sum(len(self.getEnumDomain(v)) > 1 for v in range(self.numberOfVariables()))

    def numberOfConstraints(self) -> int:
        """The number of functions of two or more variables."""
        return self._problem.GetNbConstrs()

    def getEnumDomain(self, variable: int) -> list[int]:
        """The values that a variable has left."""
        return self._problem.Domain(variable)

    def getDomainSize(self, variable: int) -> int:
        """The number of values that a variable has left."""
        return len(self.getEnumDomain(variable))

    def getDomainInitSize(self, variable: int) -> int:
        """The number of values that a variable began with."""
        return self._problem.GetDomainInitSize(variable)

    def getInf(self, variable: int) -> int:
        """The least value that a variable has left."""
        return self.getEnumDomain(variable)[0]

    def getSup(self, variable: int) -> int:
        """The largest value that a variable has left."""
        return self.getEnumDomain(variable)[-1]

    def assigned(self, variable: int) -> bool:
        """Whether a variable has one value left."""
        return self.getDomainSize(variable) == 1

    def unassigned(self, variable: int) -> bool:
        """Whether a variable has several values left."""
        return not self.assigned(variable)

    def getValue(self, variable: int) -> int:
        """The only value that a variable has left."""
        return self.getInf(variable)

    def canbe(self, variable: int, value: int) -> bool:
        """Whether a variable has a value left."""
        return value in self.getEnumDomain(variable)

    def cannotbe(self, variable: int, value: int) -> bool:
        """Whether a variable has a value no more."""
        return not self.canbe(variable, value)

    def toValue(self, variable: int, index: int) -> int:
        """The value at a position of the initial domain."""
        return self._problem.GetValue(variable, index)

    def toIndex(self, variable: int, value: int) -> int:
        """The position of a value in the initial domain."""
        return self._problem.GetValueIndex(variable, value)

    def getValueName(self, variable: int, value: int) -> str:
        """The name of a value."""
        return self._problem.GetValueName(variable, self.toIndex(variable, value))

    def getDPrimalBound(self) -> float:
        """The cost of the best solution of the last search, or the upper bound."""
        return self._problem.GetUB()

    def getDDualBound(self) -> Any:
        """A lower bound by soft arc consistency."""
        return self._problem.GetLB()

    def print(self) -> None:
        """Prints the problem."""
        self._problem.Print()


def known(shim: object) -> str:
    """The methods of a class, in the words of a message."""
    return "the methods of pytoulbar2, and this object " + ", ".join(
        name for name in vars(type(shim)) if not name.startswith("_")
    )
