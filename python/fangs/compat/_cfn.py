"""pytoulbar2's class CFN."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._errors import UsageError
from .._fangs import Network, Result, read
from ._building import Building, Key
from ._errors import Contradiction, SolverOut
from ._incremental import Incremental
from ._option import Option
from ._solver import Solver
from ._store import Store, Variable

if TYPE_CHECKING:
    from ._multi import MultiCFN

_Solution = tuple[Any, list[int]]


class CFN(Building, Incremental):
    """A cost function network with the interface of pytoulbar2.

    Args:
        ubinit: solutions cost less than this.
        resolution: decimal digits of costs.
        vac: asks for cost shifting, which every run does.
        configuration: has no effect: it controls how toulbar2 reuses work.
        vns: asks for local search, which every run does.
        seed: the seed; -1 for one from the clock.
        verbose: 0 or more prints a line for each better solution.
        init: has no effect: problems have no common state.
    """

    Contradiction = Contradiction
    SolverOut = SolverOut

    def __init__(
        self,
        ubinit: float | None = None,
        resolution: int = 0,
        vac: int = 0,
        configuration: bool = False,
        vns: int | None = None,
        seed: int = 1,
        verbose: int = -1,
        init: bool = True,
    ) -> None:
        self.configuration, self.Incremental = configuration, False
        del init
        self.Variables: dict[str, Iterable[Any]] = {}
        self.VariableIndices: dict[str, int] = {}
        self.VariableNames: dict[int, str] = {}
        self.Top = math.inf
        self.UbInit = ubinit
        self.Limit: SolverOut | None = None
        self.Option = Option(decimalPoint=resolution, vac=vac, vnsInitSol=vns, seed=seed, verbose=verbose)
        self.CFN = Solver(self)
        self._store = Store(resolution)
        self._reduce = True
        #: the problem that this one was initialised from
        self._multi: MultiCFN | None = None
        self._deadline = math.inf
        self._result: Result | None = None
        self._solutions: list[_Solution] = []
        self._moves = self._rounds = 0

    def Read(self, filename: str | PathLike[str]) -> None:
        """Reads a problem from a file, in place of what was added."""
        self._store = Store(self._store.resolution)
        network = read(filename, precision=self.Option.decimalPoint or None)
        if network.maximize:
            raise UsageError(f"{fspath(filename)}: the problem is maximised; fangs.read and Network.solve solve it")
        self._store.base, self._store.name = network, network.name
        self.Option.decimalPoint = network.decimals
        for name, size, names in zip(network.names, network.domains.tolist(), network.values, strict=True):
            self._store.variables.append(Variable(name, 0, size, names))
            self._store.masks.append(np.ones(size, dtype=bool))
        self._name_variables()

    def Dump(self, filename: str | PathLike[str]) -> None:
        """Writes the problem, as .wcsp or .cfn."""
        if not fspath(filename).endswith((".wcsp", ".cfn")):
            raise ValueError(f"{fspath(filename)}: a problem is written as .wcsp or .cfn")
        self._network().write(filename)

    def Print(self) -> None:
        """Prints the variables with their domains, and the functions that are not 0 at some tuple."""
        print(f"{self.GetName()}: {self.GetNbVars()} variables, {len(self._network())} functions, top {self._limit()}")
        for v in range(self.GetNbVars()):
            print(f"{self.VariableNames[v]} {{ {' '.join(str(value) for value in self.Domain(v))} }}")
        for call in self._store.calls:
            names = [self.VariableNames[v] for v in call.scope if v >= 0] if call.method != "add_many" else call.scope
            print(f"{call.method}({', '.join(map(str, names))})")

    def NoPreprocessing(self) -> None:
        """Disables the exact reductions before the search."""
        self._reduce = False

    def Solve(
        self,
        showSolutions: int = 0,
        allSolutions: int = 0,
        diversityBound: int = 0,
        timeLimit: float = 0,
        bestSol: float | None = None,
        writeSolution: str = "",
    ) -> tuple[list[int], Any, int] | None:
        """Solves the problem.

        Args:
            showSolutions: 1 prints values, 2 names and values, 3 names and names of values, of each solution.
            allSolutions: the largest number of solutions below the upper bound to find; 0 for the best solution.
            diversityBound: with ``allSolutions``: a sequence of solutions, each the best one whose values differ from
                those of each solution before it for at least this number of variables.
            timeLimit: wall-clock seconds; 0 for no limit.
            bestSol: the search ends at a cost at least as good as this.
            writeSolution: a file for the best solution; with ``allSolutions``, for all of them.

        Returns:
            The values of the best solution, or of the last one if several were requested, its cost and the number of
            solutions found; None if none was found.
        """
        shown, most = showSolutions or self.Option.showSolutions, allSolutions or self.Option.allSolutions
        self._begin(timeLimit)
        if most and diversityBound:
            self._diverse(most, diversityBound, shown)
        elif most == 1:
            # local search finds one solution faster than the enumeration of all
            self._improve(self._network(), shown, first=True)
        elif most:
            self._enumerate(most, shown)
        else:
            target = bestSol if bestSol is not None else self.Option.vnsOptimumS
            self._improve(self._network(), shown, None if target == "" else float(target))
        if not self._solutions:
            return None
        cost, values = self._solutions[-1]
        if writeSolution:
            chosen = self._solutions if most else self._solutions[-1:]
            with open(writeSolution, "w", encoding="utf-8") as file:
                file.writelines(self._shown(own, shown or 1) + "\n" for _, own in chosen)
        return list(values), cost, len(self._solutions)

    def GetSolutions(self) -> list[_Solution]:
        """The costs and values of the solutions found; each is better than the previous, unless all were requested."""
        return [(cost, list(values)) for cost, values in self._solutions]

    def GetDDualBound(self) -> Any:
        """The bound that the last search proved: no solution costs less."""
        if self._result is None:
            return self.GetLB()
        return self._limit() if self._result.bound is None else self._result.bound

    def GetLB(self) -> Any:
        """A lower bound by soft arc consistency; the upper bound if there is no solution below it."""
        bound = self._network().propagate()[0]
        return self._limit() if bound is None else bound

    def GetUB(self) -> float:
        """The cost of the best solution of the last search, or the upper bound."""
        return min([self._limit(), *(float(cost) for cost, _ in self._solutions)])

    def UpdateUB(self, cost: float) -> None:
        """Lowers the upper bound; raises ``Contradiction`` if no solution is below it."""
        if cost < self._limit():
            self.SetUB(cost)

    def GetNbNodes(self) -> int:
        """The number of moves of local search so far: Fangs does not count nodes of a search tree."""
        return self._moves

    def GetNbBacktracks(self) -> int:
        """The number of rounds of search so far: Fangs does not count backtracks."""
        return self._rounds

    def GetName(self) -> str:
        """The name of the problem."""
        return self._store.name

    def SetName(self, name: str) -> None:
        """Renames the problem."""
        self._store.name = name
        self._store.changed()

    def GetNbVars(self) -> int:
        """The number of variables."""
        return len(self._store.variables)

    def GetNbConstrs(self) -> int:
        """The number of functions of two or more variables."""
        base = self._store.base
        read_ones = sum(len(base.scope(number)) > 1 for number in range(len(base))) if base is not None else 0
        return read_ones + sum(call.count() for call in self._store.calls if call.arity() > 1)

    def Domain(self, var: Key) -> list[int]:
        """The values that a variable has left."""
        v = self._index(var)
        return (self._store.variables[v].low + np.flatnonzero(self._store.masks[v])).tolist()

    def GetDomainInitSize(self, var: Key) -> int:
        """The number of values that a variable began with."""
        return self._store.variables[self._index(var)].size

    def GetValue(self, var: Key, index: int) -> int:
        """The value at a position of the initial domain."""
        return self._store.variables[self._index(var)].low + index

    def GetValueName(self, var: Key, index: int) -> str:
        """The name of the value at a position of the initial domain."""
        names = self._store.variables[self._index(var)].names
        return f"v{index}" if names is None else names[index]

    def GetValueIndex(self, var: Key, value: int | str) -> int:
        """The position of a value, or of its name, in the initial domain."""
        variable = self._store.variables[self._index(var)]
        if not isinstance(value, str):
            return variable.place(value)
        names = variable.names or [f"v{place}" for place in range(variable.size)]
        if value not in names:
            raise RuntimeError(f"{variable.name} has no value {value}: its values are {', '.join(names)}")
        return names.index(value)

    def InitFromMultiCFN(
        self,
        multicfn: MultiCFN,
        vars: Iterable[Key] = (),
        scopes: Iterable[Iterable[Key]] = (),
        constrs: Iterable[int] = (),
    ) -> None:
        """Takes the weighted sum of several problems, in place of what was added.

        Args:
            multicfn: the problems.
            vars: only functions of these variables; all if empty.
            scopes: only functions with these sets of variables; all if empty.
            constrs: only functions with these numbers; all if empty.
        """
        chosen = (list(vars), [list(scope) for scope in scopes], set(constrs))
        self._store = multicfn._chosen(*chosen) if any(chosen) else multicfn._combined()
        self._multi = multicfn
        multicfn._last = self
        self._name_variables()

    def _name_variables(self) -> None:
        names = [variable.name for variable in self._store.variables]
        self.VariableIndices = {name: place for place, name in enumerate(names)}
        self.VariableNames = dict(enumerate(names))
        self.Variables = {name: self.Domain(place) for place, name in enumerate(names)}

    def _limit(self) -> float:
        return self.Top if self.UbInit is None else self.UbInit

    def _network(self) -> Network:
        """The network of all functions, below the upper bound."""
        if self._store.resolution is not None:
            self._store.resolution = self.Option.decimalPoint
        return self._store.network(self._limit())

    def _begin(self, limit: float) -> None:
        """Forgets the last search, and begins a time limit."""
        self.Limit, self._solutions, self._result = None, [], None
        if limit:
            self._deadline = time.monotonic() + limit

    def _left(self) -> float:
        """The seconds that are left."""
        return max(self._deadline - time.monotonic(), 0.0)

    def _stopped(self, late: bool) -> None:
        """Ends the time limit of a search."""
        self.Limit = SolverOut("Time limit reached") if late else None
        self._deadline = math.inf if self._left() == 0 else self._deadline

    def _improve(
        self,
        network: Network,
        shown: int,
        target: float | None = None,
        start: npt.NDArray[np.int64] | None = None,
        first: bool = False,
    ) -> None:
        """Searches for the best solution, or for any; collects each improvement."""
        seed = self.Option.seed if self.Option.seed >= 0 else time.time_ns() % 2**32
        run = network.solve(
            time=self._left(), seed=seed, target=target, reduce=self._reduce, warm_starts=start, device="cpu"
        )
        for event in run:
            if event.kind == "solution" and event.solution is not None:
                self._found(event.cost, event.solution, shown)
                if first:
                    run.stop()
                    break
                if self.Option.verbose >= 0:
                    print(f"New solution: {event.cost} ({event.source}, {event.time:.3f} seconds)")
        result = run.result()
        self._result = result
        self._moves += result.moves
        self._rounds += result.rounds
        self._stopped(result.stopped_by == "time")

    def _found(self, cost: Any, places: npt.NDArray[np.int64], shown: int) -> None:
        variables = self._store.variables
        values = [variable.low + place for variable, place in zip(variables, places.tolist(), strict=False)]
        self._solutions.append((float(cost), values))
        if shown:
            print(self._shown(values, shown))

    def _enumerate(self, most: int, shown: int) -> None:
        network, n = self._network(), len(self._store.variables)
        # copies of variables follow the problem's own, whose values decide theirs
        found = network.solutions(range(n) if len(network.domains) > n else None, most=most, time=self._left())
        for places, cost in found:
            self._found(cost, places, shown)
        self._stopped(not found.complete and len(self._solutions) < most)

    def _diverse(self, most: int, distance: int, shown: int) -> None:
        store, best = self._store, []
        store.save()
        depth = store.depth - 1
        try:
            for _ in range(most):
                self._improve(self._network(), 0)
                if not self._solutions or self.Limit:
                    break
                cost, values = self._solutions[-1]
                best.append((cost, values))
                if shown:
                    print(self._shown(values, shown))
                self._solutions = []
                weights = [
                    [int(variable.low + place != value) for place in range(variable.size)]
                    for variable, value in zip(store.variables, values, strict=True)
                ]
                store.add("linear", list(range(len(values))), weights, int(distance), None)
        finally:
            store.restore(depth)
        self._solutions = best

    def _shown(self, values: list[int], how: int) -> str:
        names = self.VariableNames
        if how == 1:
            return " ".join(map(str, values))
        if how == 2:
            return " ".join(f"{names[v]}={value}" for v, value in enumerate(values))
        places = (variable.place(value) for variable, value in zip(self._store.variables, values, strict=True))
        return " ".join(f"{names[v]}={self.GetValueName(v, place)}" for v, place in enumerate(places))
