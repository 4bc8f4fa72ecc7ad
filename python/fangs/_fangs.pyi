"""The part of the package that is written in Rust."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NoReturn, TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Bound",
    "Dcop",
    "Decision",
    "Difference",
    "Event",
    "LargestSum",
    "Marginals",
    "Network",
    "Picture",
    "Priced",
    "Result",
    "Run",
    "Solutions",
    "__version__",
    "_potentials",
    "_restore",
    "command",
    "decide",
    "read",
    "reads",
]

__version__: str

_Path: TypeAlias = str | PathLike[str]
#: A variable: its name or its index.
_Key: TypeAlias = str | int
# a mapping, a list of "NAME=VALUE", or the path of a file
_Evidence: TypeAlias = Mapping[Any, Any] | Sequence[str] | _Path
#: A value: its name or its index.
_Value: TypeAlias = str | int
_Scope: TypeAlias = Iterable[_Key] | npt.NDArray[np.integer[Any]]
#: Value indices, shape (n,), or a dict from variables to values.
_Assignment: TypeAlias = npt.ArrayLike | Mapping[Any, Any]
_Number: TypeAlias = int | float
_Measure: TypeAlias = Literal["hard", "linear", "quadratic"]

@final
class Network:
    """A network of cost functions over variables with finite domains.

    The objective is the sum of all functions, which is minimised, or maximised with ``maximize``.

    Args:
        domains: the number of values of each variable, shape (n,).
        names: a name for each variable; variables without names go by their index, or ``x`` and their index.
        values: for each variable the names of its values, or None.
        decimals: digits after the decimal point that costs keep, 0 to 15. None keeps those of the tables, at most 6.
            Tables are rounded once; the largest possible error of a sum is subtracted from bounds and reported as
            ``precision_slack``.
        maximize: whether larger is better.
        top: assignments with this cost or a worse one are infeasible.
        name: the name of the network in messages.

    Internally, costs are integers of 64 bits, in units of 10^-decimals.
    """

    def __new__(
        cls,
        domains: Iterable[int] | npt.NDArray[np.integer[Any]],
        names: Sequence[str] | None = None,
        values: Sequence[Sequence[str] | None] | None = None,
        *,
        decimals: int | None = None,
        maximize: bool = False,
        top: float | None = None,
        name: str = "network",
    ) -> Network: ...
    @property
    def domains(self) -> npt.NDArray[np.int64]:
        """Domain sizes, shape (n,)."""
    @property
    def names(self) -> list[str]:
        """Names of the variables: ``x`` and the index of those that have none."""
    @property
    def values(self) -> list[list[str] | None]:
        """Names of the values of each variable, None if they have none."""
    @property
    def name(self) -> str:
        """The file or the name of the network."""
    @property
    def maximize(self) -> bool:
        """Whether larger is better."""
    @property
    def decimals(self) -> int:
        """Decimal digits of costs."""
    def __len__(self) -> int:
        """The number of functions."""
    def add(self, scope: _Scope | _Key, table: npt.ArrayLike) -> int:
        """Adds a function by the table of its costs.

        Args:
            scope: the variables of the function, by name or index; a single one may stand alone.
            table: a cost for each combination of values, of the shape of the domains. ``inf`` forbids a combination
                (``-inf`` with ``maximize``).

        Returns:
            The number of the function.
        """
    def add_many(
        self, scopes: npt.NDArray[np.integer[Any]] | Sequence[Sequence[_Key]], tables: npt.ArrayLike
    ) -> int:
        """Adds many functions with the same number of variables.

        Args:
            scopes: the variables of each function, shape (m, k).
            tables: their tables, shape (m, d1, …, dk).

        Returns:
            The number of the first function; the numbers are consecutive.
        """
    def add_sparse(
        self, scope: _Scope | _Key, tuples: Any, costs: npt.ArrayLike, default: float = 0.0
    ) -> int:
        """Adds a function by the costs of some combinations of values.

        Args:
            scope: the k variables of the function.
            tuples: combinations of values, shape (m, k).
            costs: their costs, shape (m,); if a combination has several costs, the last one counts.
            default: the cost of all other combinations.

        Returns:
            The number of the function.
        """
    def linear(
        self,
        scope: _Scope,
        weights: Sequence[int | Sequence[int]] | npt.NDArray[np.integer[Any]],
        low: int | None = None,
        high: int | None = None,
        *,
        other_than: int | None = None,
        price: float = ...,
        measure: _Measure = "hard",
    ) -> int:
        """Adds a price for the distance of a weighted sum from a range.

        Args:
            scope: the k variables.
            weights: for each variable a weight of each value, or an integer that multiplies the value's index.
            low: the sum should be at least this.
            high: the sum should be at most this.
            other_than: in place of both: the sum should differ from this number.
            price: the cost of a violation; ``inf`` forbids it.
            measure: ``hard`` costs the price once, ``linear`` the price times the distance, ``quadratic`` the price
                times the squared distance.

        Returns:
            The number of the function.
        """
    def counting(
        self,
        scope: _Scope,
        bounds: Mapping[Any, tuple[int, int]],
        *,
        price: float = ...,
        measure: _Measure = "hard",
    ) -> int:
        """Adds bounds on how many of some variables have certain values.

        Args:
            scope: the variables.
            bounds: for each value, the least and the largest number of variables that may have it.
            price: the cost of a number out of its bounds; ``inf`` forbids it.
            measure: as for ``linear``.

        Returns:
            The number of the function.
        """
    def all_different(self, scope: _Scope, *, price: float = ...) -> int:
        """Adds a price for each pair of equal values; ``inf`` forbids them.

        Returns:
            The number of the function.
        """
    def add_global(self, scope: _Scope | _Key, keyword: str, parameters: str) -> int:
        """Adds a global cost function by its text.

        Args:
            scope: the variables of the function.
            keyword: a keyword of docs/formats.md, such as ``samong``.
            parameters: the parameters in the syntax of ``.wcsp``, with a count before each list. Variables and values
                are indices, costs are integers in units of ``10**-decimals``, so the network must have ``decimals``.

        Returns:
            The number of the function.
        """
    def replace(self, function: int, table: npt.ArrayLike) -> None:
        """Replaces the table of a function; its scope and its number stay.

        Args:
            function: the number of the function.
            table: as for ``add``.
        """
    def remove(self, function: int) -> None:
        """Replaces a function by the constant 0, so that the numbers of all other functions stay."""
    def scope(self, function: int) -> npt.NDArray[np.int64]:
        """The indices of the variables of a function."""
    def table(self, function: int) -> npt.NDArray[np.float64]:
        """The costs of a function, in the shape of the domains of its scope; global functions are evaluated. Tables
        have at most 2**24 entries."""
    def observed(self, evidence: Mapping[Any, Any] | _Path) -> Network:
        """Returns a network in which some variables are fixed to values; this one stays as it is."""
    def lower_top(self, top: float) -> None:
        """Lowers ``top``: assignments with this cost or a worse one are infeasible. A worse limit than the present one
        changes nothing."""
    def propagate(self) -> tuple[_Number | None, list[npt.NDArray[np.bool_]]]:
        """Establishes soft arc consistency by cost shifting.

        Returns:
            A bound that no solution is better than, None if there is no solution; and for each variable whether each
            value may be in a solution, shape (domain,). Values that are excluded are in no solution that is better
            than ``top``.
        """
    def cost(self, assignment: _Assignment) -> Any:
        """The cost of an assignment, computed from the tables (of a file of potentials, from its own numbers).

        Args:
            assignment: value indices, shape (n,), or a dict; or several as rows, shape (m, n).

        Returns:
            A number, or an array of shape (m,); ``inf`` for infeasible assignments (``-inf`` with ``maximize``).
        """
    def assignment(self, assignment: _Assignment) -> dict[Any, Any]:
        """An assignment by names; variables and values without names keep their indices."""
    def indices(self, assignment: _Assignment) -> npt.NDArray[np.int64]:
        """An assignment by value indices, shape (n,)."""
    def write(self, path: _Path, format: str | None = None) -> None:
        """Writes the network, in the format of the file's name or another one. The text is read again and compared with
        the network before the file is replaced."""
    def info(self) -> dict[str, Any]:
        """A description of the network before and after the exact reductions."""
    def solve(
        self,
        *,
        evidence: Mapping[Any, Any] | _Path | None = None,
        time: float | None = None,
        rounds: int | None = None,
        seed: int = 1,
        gap: float | None = None,
        target: float | None = None,
        stall: float | None = None,
        diminishing: bool = False,
        device: str = "auto",
        threads: int | None = None,
        population: int | None = None,
        warm_starts: _Assignment | Sequence[Any] | None = None,
        heuristic: _Path | None = None,
        driver: str = "portfolio",
        bound: str = "auto",
        z: int | None = None,
        bound_memory: int | None = None,
        spill: int | None = None,
        reduce: bool = True,
        checkpoint: _Path | None = None,
        checkpoint_every: float = 60.0,
        resume: _Path | None = None,
        exchange: _Path | None = None,
    ) -> Run:
        """Starts a run in the background.

        Args:
            evidence: values of some variables, or a file of them; the network keeps all values.
            time: seconds until it ends, ``math.inf`` for no limit; 60 if neither time nor rounds are given.
            rounds: rounds of drivers until it ends. The result then does not depend on the clock: the same seed gives
                the same result on any number of threads, here and with the command.
            seed: the seed of every random choice.
            gap: the run ends at this relative gap between cost and bound.
            target: the run ends at a cost at least as good as this.
            stall: the run ends once no better solution has been found for this number of seconds.
            diminishing: the run ends once the second half of its time brought at most a thousandth of all improvement;
                not before 20 seconds.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:I``; several as ``cuda:0,1`` or ``cuda:all``.
            threads: CPU threads; all if None.
            population: size of the population in states; by memory and problem if None.
            warm_starts: an assignment to start from, or a list of them. A dict may leave variables out, and an array
                may have negative values in their place: greedy choices complete such a partial assignment. The first
                solution that the run reports is the best start, and its result is never worse.
            heuristic: a heuristic that joins the portfolio: its name, a file, or the text of such a file.
            driver: the search method, ``portfolio`` for all of them.
            bound: the bound method.
            z: the largest number z of variables of a mini-bucket, the i-bound plus 1.
            bound_memory: bytes for tables of bounds; half of free memory if None.
            spill: bytes of files for tables that exceed ``bound_memory``.
            reduce: whether exact reductions come first.
            checkpoint: a file for the incumbent, the bound and the elite pool, written regularly and at every end.
            checkpoint_every: seconds between two checkpoints.
            resume: a checkpoint to resume from, of this package or of the command, on any device and any number of
                threads. Times continue, and ``rounds`` includes earlier rounds; ``time`` counts from now.
            exchange: a folder through which runs of several processes share solutions and bounds.
        """
    def marginals(
        self,
        evidence: _Evidence | None = None,
        *,
        variables: Sequence[_Key] | None = None,
        temperature: float = 1.0,
        memory: int | None = None,
        time: float | None = None,
        device: str = "auto",
    ) -> Marginals:
        """The sum over all assignments of the product of all potentials, and the posterior of each variable.

        For a network read from potentials (.uai, .bif and the like), the file's own numbers are used. Otherwise a cost
        c has the potential exp(-c / temperature), or, if the network is maximised, a value v has exp(v / temperature).

        Args:
            evidence: values of some variables, in any form that ``read`` takes.
            variables: the variables whose posteriors are wanted; all if None.
            temperature: the divisor of costs.
            memory: bytes that tables may take; half of free memory if None.
            time: seconds after which bounds are returned if tables do not fit; without a limit that is an error.
            device: ``auto`` (a CUDA device if one works and it pays), ``cpu``, ``cuda`` or ``cuda:I``.
        """
    def marginal_map(
        self,
        variables: Sequence[_Key],
        evidence: _Evidence | None = None,
        *,
        temperature: float = 1.0,
        memory: int | None = None,
        time: float | None = None,
    ) -> LargestSum:
        """Marginal MAP: the values of some variables for which the sum over all others is largest, and its natural
        logarithm.

        Args:
            variables: the variables that are maximised.
            evidence: values of some other variables, in any form that ``read`` takes.
            temperature: the divisor of costs.
            memory: bytes that tables may take; half of free memory if None.
            time: seconds after which the best values found and bounds are returned if tables do not fit; without a
                limit that is an error.
        """
    def bound(
        self,
        method: str = "auto",
        z: int | None = None,
        *,
        evidence: Mapping[Any, Any] | _Path | None = None,
        time: float = 60.0,
        memory: int | None = None,
        spill: int | None = None,
        device: str = "auto",
    ) -> Bound:
        """Proves a bound by inference alone, without local search.

        Args:
            method: ``auto``, ``shift``, ``join-graph``, ``mbe``, ``mbe-mm``, ``be``, ``sparse-be``, ``branch``,
                ``cores`` or ``linear``.
            z: the largest number z of variables of a mini-bucket, the i-bound plus 1; it grows if None.
            evidence: values of some variables, or a file of them.
            time: seconds until the best bound so far is returned.
            memory: bytes that tables may take; half of free memory if None.
            spill: bytes of files for tables of exact elimination that exceed ``memory``; half of what is free if None.
            device: ``auto`` (a CUDA device if one works and it pays), ``cpu``, ``cuda`` or ``cuda:I``.
        """
    def solutions(
        self,
        of: Sequence[_Key] | None = None,
        *,
        evidence: Mapping[Any, Any] | _Path | None = None,
        worst: float | None = None,
        most: int | None = None,
        time: float = ...,
        memory: int | None = None,
    ) -> Solutions:
        """Returns an iterator over all solutions, in a deterministic order that is not that of costs.

        Args:
            of: variables whose values must differ between any two solutions; each solution has some values of the
                other variables. All variables if None.
            evidence: values of some variables, or a file of them.
            worst: the worst cost of a solution: the largest one, or the smallest one if larger is better.
            most: the largest number of solutions.
            time: seconds until the search ends.
            memory: bytes that tables may take; half of free memory if None.
        """
    def dcop(
        self,
        algorithm: str = "dpop",
        *,
        z: int | None = None,
        cycles: int = 1000,
        seed: int = 1,
        time: float = 60.0,
        memory: int | None = None,
        device: str = "auto",
    ) -> Dcop:
        """Solves the network by messages between agents, each of which owns a variable.

        Args:
            algorithm: ``dpop`` is exact, ``adpop`` bounds with messages of limited size; ``dsa``, ``mgm`` and
                ``maxsum`` are local search.
            z: the largest number z of variables of a mini-bucket of ADPOP; by memory if None.
            cycles: the largest number of cycles of local search.
            seed: the seed of local search.
            time: the time limit in seconds.
            memory: bytes that tables may take; half of free memory if None.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:I``, for the tables of DPOP and ADPOP.
        """
    def explain(self, assignment: _Assignment) -> list[Priced]:
        """The functions that are not 0 under an assignment: violated ones first, then by decreasing cost."""
    def diff(self, one: _Assignment, other: _Assignment) -> list[Difference]:
        """The functions whose costs differ between two assignments, the largest difference first."""
    def conflict(self, *, rounds: int = 100) -> list[int] | None:
        """The numbers of a small set of functions that have no common solution.

        Args:
            rounds: a limit on the rounds of each search.

        Returns:
            None if the network has a solution, or if neither was proved.
        """

def _potentials(text: str, variables: Sequence[tuple[str, Sequence[str]]], name: str) -> Network:
    """Builds a network of potentials from a text of .uai, with the names of its variables and of their values."""

def _restore(bytes: bytes, name: str) -> Network:
    """Returns the network of a pickle."""

@final
class Run:
    """A run in the background.

    Iterating over it returns its events as they come, and ends with the run. Ctrl-C ends the run within a second and is
    then raised; ``result()`` returns the best solution. As a context manager it stops the run at the end.
    """

    def __iter__(self) -> Run: ...
    def __next__(self) -> Event: ...
    def __enter__(self) -> Run: ...
    def __exit__(self, *exception: object) -> None: ...
    def stop(self) -> None:
        """Stops the run, from any thread; its best solution remains available."""
    @property
    def done(self) -> bool:
        """Whether the run has ended."""
    def result(self) -> Result:
        """Waits for the end of the run and returns its result."""
    @property
    def history(self) -> Any:
        """The events so far with the columns of the command's CSV: a DataFrame if pandas is installed, otherwise a dict
        of lists. It has the events that were iterated over; after ``result()``, all of them."""
    def plot(self, path: _Path | None = None) -> Picture:
        """The chart of cost and bound so far; with a path it is also written there, as .svg, .png or .pdf."""
    def _repr_html_(self) -> str: ...

@final
class Event:
    """An event of a run."""

    @property
    def time(self) -> float:
        """Seconds since the start of the run."""
    @property
    def kind(self) -> str:
        """``start``, ``solution``, ``bound``, ``tick`` (each second), ``note``, ``warning`` or ``end``."""
    @property
    def cost(self) -> _Number | None:
        """The incumbent's cost."""
    @property
    def bound(self) -> _Number | None:
        """The best bound proved so far: no assignment is better."""
    @property
    def gap(self) -> float | None:
        """|cost - bound| / max(|cost|, |bound|)."""
    @property
    def source(self) -> str:
        """The driver or the bound method that caused the event."""
    @property
    def round(self) -> int:
        """Number of rounds of drivers."""
    @property
    def solution(self) -> npt.NDArray[np.int64] | None:
        """The incumbent: value indices, shape (n,), with ``solution`` and ``end``."""
    @property
    def assignment(self) -> dict[Any, Any] | None:
        """The incumbent by names, with ``solution`` and ``end``."""
    @property
    def message(self) -> str | None:
        """The text of a ``note`` or a ``warning``."""

@final
class Result:
    """The result of a run."""

    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible`` or ``unknown``."""
    @property
    def stopped_by(self) -> str:
        """``optimal``, ``infeasible``, ``time``, ``rounds``, ``target``, ``gap``, ``stall``, ``diminishing``,
        ``signal`` or ``memory``."""
    @property
    def cost(self) -> _Number | None:
        """The best cost found, recomputed from the tables."""
    @property
    def bound(self) -> _Number | None:
        """The best bound proved: no assignment is better."""
    @property
    def gap(self) -> float | None:
        """|cost - bound| / max(|cost|, |bound|)."""
    @property
    def solution(self) -> npt.NDArray[np.int64] | None:
        """The best solution: value indices, shape (n,)."""
    @property
    def assignment(self) -> dict[Any, Any] | None:
        """The best solution by names; variables and values without names keep their indices."""
    @property
    def precision_slack(self) -> float:
        """Largest error of costs by rounding of tables, in the unit of costs; subtracted from the bound."""
    @property
    def time(self) -> float:
        """Duration of the run in seconds."""
    @property
    def time_to_best(self) -> float | None:
        """Seconds until the best solution was found."""
    @property
    def seed(self) -> int:
        """The seed."""
    @property
    def device(self) -> str:
        """The device: ``cpu`` or ``cuda:0``."""
    @property
    def threads(self) -> int:
        """Number of CPU threads."""
    @property
    def rounds(self) -> int:
        """Number of rounds of drivers."""
    @property
    def moves(self) -> int:
        """Number of assignments that changed a value."""
    @property
    def ratings(self) -> int:
        """Number of evaluations of candidate values."""
    @property
    def bound_method(self) -> str:
        """The method that proved the bound."""
    @property
    def z(self) -> int | None:
        """The largest number z of variables of a mini-bucket; None if the method has none."""
    @property
    def induced_width(self) -> int | None:
        """The induced width of the best elimination order found."""

@final
class Picture:
    """A picture, which notebooks display."""

    @property
    def svg(self) -> str:
        """The picture as SVG."""
    def save(self, path: _Path) -> None:
        """Writes the picture, as .svg, .png or .pdf."""
    def _repr_svg_(self) -> str: ...

@final
class Priced:
    """A function and its cost."""

    @property
    def function(self) -> int:
        """The number of the function."""
    @property
    def name(self) -> str | None:
        """The name of the function in the file, if it has one."""
    @property
    def scope(self) -> list[str]:
        """The names of the variables in the scope."""
    @property
    def values(self) -> list[str]:
        """The names of the variables' values."""
    @property
    def cost(self) -> _Number:
        """The cost of the function; infinite if it is violated."""

@final
class Difference:
    """A function whose costs differ between two assignments."""

    @property
    def function(self) -> int:
        """The number of the function."""
    @property
    def name(self) -> str | None:
        """The name of the function in the file, if it has one."""
    @property
    def scope(self) -> list[str]:
        """The names of the variables in the scope."""
    @property
    def costs(self) -> tuple[_Number, _Number]:
        """The costs under both assignments; infinite if the function is violated."""

@final
class Bound:
    """A bound on the optimum, and the best solution that was found with it."""

    @property
    def bound(self) -> _Number | None:
        """The bound: no assignment is better."""
    @property
    def cost(self) -> _Number | None:
        """The cost of the solution, computed from the tables."""
    @property
    def solution(self) -> npt.NDArray[np.int64] | None:
        """The best solution found: value indices, shape (n,)."""
    @property
    def assignment(self) -> dict[Any, Any] | None:
        """The best solution by names; variables and values without names keep their indices."""
    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible`` or ``unknown``."""
    @property
    def exact(self) -> bool:
        """Whether the bound is the optimum."""
    @property
    def method(self) -> str:
        """The step that proved the bound."""
    @property
    def z(self) -> int | None:
        """The largest number z of variables of a mini-bucket; None if the method has none."""
    @property
    def induced_width(self) -> int | None:
        """The induced width of the elimination order."""
    @property
    def device(self) -> str:
        """The device: ``cpu`` or ``cuda:0``."""

@final
class Solutions:
    """An iterator over solutions: value indices, shape (n,), and the cost of each."""

    def __iter__(self) -> Solutions: ...
    def __next__(self) -> tuple[npt.NDArray[np.int64], _Number]: ...
    @property
    def complete(self) -> bool:
        """Whether all solutions were returned; known once the iterator has ended."""
    def stop(self) -> None:
        """Stops the search."""

@final
class Dcop:
    """The result of agents, and their messages."""

    @property
    def bound(self) -> _Number | None:
        """The bound: no assignment is better."""
    @property
    def cost(self) -> _Number | None:
        """The cost of the solution, computed from the tables."""
    @property
    def solution(self) -> npt.NDArray[np.int64] | None:
        """The best solution found: value indices, shape (n,)."""
    @property
    def assignment(self) -> dict[Any, Any] | None:
        """The best solution by names; variables and values without names keep their indices."""
    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible`` or ``unknown``."""
    @property
    def messages(self) -> int:
        """Number of messages of all agents."""
    @property
    def entries(self) -> int:
        """Number of entries of all messages."""
    @property
    def largest_message(self) -> int:
        """Number of entries of the largest message."""
    @property
    def cycles(self) -> int | None:
        """Number of cycles of a local search."""
    @property
    def device(self) -> str:
        """The device that computed the tables: ``cpu`` or ``cuda:0``."""

@final
class LargestSum:
    """The result of marginal MAP: values of some variables for which the sum over all others is largest.

    Iterates over the assignment and its logarithm: ``values, logarithm = network.marginal_map([0])``.
    """

    @property
    def assignment(self) -> dict[str, str]:
        """A dict from the variables, by name, to values; empty if no sum above 0 is known."""
    @property
    def ln_value(self) -> float:
        """The natural logarithm of the sum for these values; a lower bound on it unless ``exact``."""
    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound on the logarithm of the largest sum."""
    @property
    def exact(self) -> bool:
        """Whether no other values have a larger sum."""
    @property
    def checked(self) -> bool:
        """Whether the checker recomputed the sum."""
    def __iter__(self) -> Iterator[Any]: ...

@final
class Marginals:
    """The sum over all assignments and the posteriors."""

    @property
    def ln_z(self) -> float | None:
        """The natural logarithm of the sum of all products; None if only bounds are known."""
    @property
    def error_bound(self) -> float | None:
        """Largest absolute error of the logarithm."""
    @property
    def posterior_error(self) -> float | None:
        """Largest relative error of a posterior."""
    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound on the logarithm of the sum."""
    @property
    def posteriors(self) -> dict[str, npt.NDArray[np.float64]]:
        """A dict from variables to arrays of shape (domain,), which sum to 1; empty if only bounds are known."""
    @property
    def device(self) -> str:
        """The device that computed the sum: ``cpu`` or ``cuda:0``."""
    def __getitem__(self, key: str, /) -> npt.NDArray[np.float64]:
        """The posterior of a variable by its name, shape (domain,)."""

@final
class Decision:
    """A policy and its expected utility."""

    @property
    def kind(self) -> str:
        """``id``, ``limid``, ``pomdp`` or ``idid``."""
    @property
    def method(self) -> str:
        """The method that found the value."""
    @property
    def meu(self) -> float | None:
        """The expected utility of the policy."""
    @property
    def bound(self) -> float | None:
        """Upper bound on the expected utility of every policy, up to ``error_bound``."""
    @property
    def exact(self) -> bool:
        """Whether no policy is better."""
    @property
    def error_bound(self) -> float:
        """Largest difference of the value from that of exact arithmetic."""
    @property
    def first_decision(self) -> dict[str, str]:
        """The first decisions and their values, if they depend on no observation."""
    @property
    def policy(self) -> Any:
        """The policy as plain data, in the form of the command's JSON file."""
    @property
    def device(self) -> str:
        """The device that computed some of it: ``cpu`` or ``cuda:0``."""

def read(
    path: _Path,
    *,
    evidence: _Evidence | None = None,
    format: str | None = None,
    colors: int | None = None,
    precision: int | None = None,
) -> Network:
    """Reads a network from a file, compressed or not.

    Args:
        path: the file.
        evidence: values of some variables, by name or index: a mapping, a list of ``"NAME=VALUE"``, or the path of an
            evidence file. Two values of a variable are an error.
        format: the format; by the file's name if None.
        colors: the number of colors of a graph.
        precision: decimal digits that real numbers keep.

    Raises:
        ParseError: the file departs from its format, with line and column.
        FileError: the file cannot be read.
    """

def reads(
    text: str | bytes,
    format: str,
    *,
    name: str = "text",
    evidence: _Evidence | None = None,
    colors: int | None = None,
    precision: int | None = None,
) -> Network:
    """Reads a network from a text; ``name`` is its name in messages. The other arguments are those of ``read``."""

def command(arguments: Sequence[str], program: Sequence[str]) -> NoReturn:
    """Runs the command ``fangs`` and ends the process. ``program`` are the words that run it in another process."""

def decide(
    path: _Path,
    *,
    format: str | None = None,
    method: str = "auto",
    horizon: int | None = None,
    discount: float | None = None,
    time: float = 60.0,
    memory: int | None = None,
    device: str = "auto",
) -> Decision:
    """Finds the policy of the largest expected utility.

    Args:
        path: an influence diagram (.uai with .id and .pvo, .bifxml, .xdsl), a process (.POMDP, .dpomdp) or two agents
            (.idid).
        format: the format; by the file's name if None.
        method: ``auto``, ``eliminate``, ``belief-tree``, ``alpha`` or ``spu``.
        horizon: the number of steps of a process.
        discount: the discount factor of a process; the file's if None.
        time: seconds until the best policy so far is returned.
        memory: bytes of tables and trees; half of free memory if None.
        device: ``auto`` (a CUDA device if one works and it pays), ``cpu``, ``cuda`` or ``cuda:I``.
    """
