"""Samplers of dimod: binary, discrete and constrained quadratic models.

Each returns all solutions that improved on the incumbent of a run, the best first, so that all can be examined or used
as starts; with ``num_reads``, it returns the best one of each run. ``info`` of the sample set has ``bound`` (no sample
has a lower energy), ``gap``, ``status`` and ``time`` in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import dimod
import numpy as np
import numpy.typing as npt

from ._errors import Unsupported
from ._fangs import Network

__all__ = ["FangsCQMSampler", "FangsDQMSampler", "FangsSampler"]

#: Sums of costs must stay below 2^57 units; a factor of two is reserved for later additions.
_MOST = 2.0**56
#: Largest number of combinations of values for which a quadratic constraint becomes a table.
_TABLE = 1 << 16
#: Largest number of decimals of a constraint's coefficients.
_DECIMALS = 9

_PARAMETERS = (
    "time_limit",
    "rounds",
    "seed",
    "initial_states",
    "target",
    "gap",
    "device",
    "threads",
    "heuristic",
    "num_reads",
)
#: Parameters of other samplers that limit their work, and what limits it here.
_ELSEWHERE = {
    "num_sweeps": "a run ends after time_limit (seconds) or rounds",
    "num_sweeps_per_beta": "a run ends after time_limit (seconds) or rounds",
    "timeout": "time_limit has the time in seconds",
}


def _decimals(values: npt.NDArray[np.float64]) -> int:
    """Returns the least number of decimals that represents all biases exactly, or as many as fit 64-bit costs."""
    total = float(np.abs(values).sum())
    for decimals in range(16):
        scale = 10.0**decimals
        if total * scale >= _MOST:
            return max(0, decimals - 1)
        scaled = np.round(values * scale)
        if bool(np.all(scaled / scale == values)):
            return decimals
    return 15


class _Base:
    """The common base of the samplers."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    @property
    def parameters(self) -> dict[str, list[str]]:
        """Keyword arguments of the sample methods: those of ``Network.solve``, ``time_limit`` in seconds."""
        return {name: [] for name in _PARAMETERS}

    def _known(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a call, with those of the sampler's creation; unknown ones are warnings, as in dimod."""
        for name, advice in _ELSEWHERE.items():
            if parameters.get(name) is not None:
                raise Unsupported(f"{name}={parameters[name]!r}: {advice}")
        return {**self._options, **dimod.Sampler.remove_unknown_kwargs(self, **parameters)}

    @property
    def properties(self) -> dict[str, Any]:
        """The options with which the sampler was created."""
        return dict(self._options)


def _run(
    net: Network, starts: Sequence[Mapping[int, int]], options: Mapping[str, Any]
) -> tuple[npt.NDArray[np.int64], dict[str, Any]]:
    """Returns solutions as rows, the best first, and the ``info`` of the sample set: all of a single run, or the best
    one of each of several runs."""
    known = {name: value for name, value in options.items() if value is not None and name != "initial_states"}
    limit, reads = known.pop("time_limit", None), int(known.pop("num_reads", 1))
    if reads < 1:
        raise ValueError(f"num_reads={reads}: there is at least one")
    if limit is None and "rounds" not in known:
        limit = 5.0
    share = None if limit is None else limit / reads
    seed, ended = int(known.pop("seed", 1)), []
    for read in range(reads):
        run = net.solve(time=share, warm_starts=list(starts) or None, seed=seed + read, **known)
        rows = [event.solution for event in run if event.kind == "solution" and event.solution is not None]
        result = run.result()
        ended.append((result, rows if reads == 1 else rows[-1:]))
    ended.sort(key=lambda own: -math.inf if own[0].cost is None else -own[0].cost)
    found = np.array([row for _, rows in ended for row in rows][::-1], dtype=np.int64)
    result = ended[-1][0]
    bounds = [own.bound for own, _ in ended if own.bound is not None]
    bound = max(bounds, default=None)
    gap = None if bound is None or result.cost is None else _gap(float(result.cost), float(bound))
    proved = gap is not None and gap <= 0
    info = {
        "status": "optimal" if proved else result.status,
        "bound": bound,
        "gap": gap,
        "time": sum(own.time for own, _ in ended),
    }
    return found.reshape(len(found), len(net.domains)), info


def _gap(cost: float, bound: float) -> float:
    """Returns |cost - bound| / max(|cost|, |bound|)."""
    largest = max(abs(cost), abs(bound))
    return abs(cost - bound) / largest if largest and cost > bound else 0.0


def _starts(states: Any, labels: Sequence[Hashable], indices: Any) -> list[dict[int, int]]:
    """Returns initial states, each a dict from indices of variables to indices of values."""
    if states is None:
        return []
    samples, names = dimod.as_samples(states)
    places = {label: place for place, label in enumerate(labels)}
    unknown = [name for name in names if name not in places]
    if unknown:
        raise ValueError(f"initial_states has the variable {unknown[0]!r}, which the model lacks")
    return [
        {places[name]: indices(name, value) for name, value in zip(names, sample.tolist(), strict=True)}
        for sample in samples
    ]


class FangsSampler(_Base, dimod.Sampler):  # type: ignore[misc]
    """A sampler of binary quadratic models.

    >>> FangsSampler().sample(bqm, time_limit=5, seed=1).first
    """

    def sample(self, bqm: Any, **parameters: Any) -> Any:
        """Samples a model; at least one sample is returned.

        Args:
            bqm: the model, of spins or bits.
            time_limit: seconds; 5 if neither this nor ``rounds`` is given.
            rounds: number of rounds after which the run ends, whatever time it took.
            seed: the seed.
            initial_states: samples to start from, which may leave variables out.
            target: an energy at which the run ends.
            gap: a relative gap at which the run ends.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:I``.
            threads: number of CPU threads.
            heuristic: a heuristic that joins the portfolio.
            num_reads: number of runs, with the seeds from ``seed`` on, which share ``time_limit``; ``rounds`` limits
                each. The samples are then the best one of each run.

        Raises:
            Unsupported: ``num_sweeps`` and the like, which have no counterpart.
        """
        parameters = self._known(parameters)
        labels = list(bqm.variables)
        if not labels:
            return dimod.SampleSet.from_samples_bqm(([[]], []), bqm, info={"bound": float(bqm.offset), "gap": 0.0})
        values = np.array(sorted(bqm.vartype.value), dtype=np.float64)
        vectors = bqm.to_numpy_vectors(variable_order=labels)
        linear = np.asarray(vectors.linear_biases, dtype=np.float64)
        biases = np.asarray(vectors.quadratic.biases, dtype=np.float64)
        offset = float(vectors.offset)
        decimals = _decimals(np.concatenate([linear, biases, [offset]]))
        net = Network(np.full(len(labels), 2), decimals=decimals, name="bqm")
        net.add([], offset)
        net.add_many(np.arange(len(labels)).reshape(-1, 1), linear[:, None] * values)
        if len(biases):
            scopes = np.column_stack([vectors.quadratic.row_indices, vectors.quadratic.col_indices])
            net.add_many(scopes, biases[:, None, None] * np.outer(values, values))

        def index(_: Hashable, value: float) -> int:
            # states may be bits although the model has spins, and vice versa
            return int(value > 0)

        starts = _starts(parameters.get("initial_states"), labels, index)
        rows, info = _run(net, starts, parameters)
        samples = values.astype(np.int8)[rows]
        return dimod.SampleSet.from_samples_bqm((samples, labels), bqm, info=info)


class FangsDQMSampler(_Base):
    """A sampler of discrete quadratic models, which are networks of binary functions."""

    def sample_dqm(self, dqm: Any, **parameters: Any) -> Any:
        """Samples a model. The parameters are those of ``FangsSampler.sample``."""
        parameters = self._known(parameters)
        vectors = dqm.to_numpy_vectors(return_offset=True)
        labels = list(vectors.labels)
        if not labels:
            return dimod.SampleSet.from_samples(([[]], []), energy=[float(dqm.offset)], vartype="DISCRETE")
        starts = np.asarray(vectors.case_starts, dtype=np.int64)
        linear = np.asarray(vectors.linear_biases, dtype=np.float64)
        sizes = np.diff(np.append(starts, len(linear)))
        biases = np.asarray(vectors.quadratic.biases, dtype=np.float64)
        offset = float(vectors.offset)
        net = Network(sizes, decimals=_decimals(np.concatenate([linear, biases, [offset]])), name="dqm")
        net.add([], offset)
        for place, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            net.add(place, linear[start : start + size])
        rows, columns = (np.asarray(side, dtype=np.int64) for side in vectors.quadratic[:2])
        owners = np.repeat(np.arange(len(labels)), sizes)
        tables: dict[tuple[int, int], npt.NDArray[np.float64]] = {}
        for case, other, bias in zip(rows.tolist(), columns.tolist(), biases.tolist(), strict=True):
            u, v = int(owners[case]), int(owners[other])
            if u > v:
                (u, v), (case, other) = (v, u), (other, case)
            table = tables.setdefault((u, v), np.zeros((sizes[u], sizes[v])))
            table[case - starts[u], other - starts[v]] += bias
        for scope, table in tables.items():
            net.add(scope, table)
        begun = _starts(parameters.get("initial_states"), labels, lambda _, value: int(value))
        found, info = _run(net, begun, parameters)
        energies = dqm.energies((found, labels))
        return dimod.SampleSet.from_samples((found, labels), energy=energies, vartype="DISCRETE", info=info)


class FangsCQMSampler(_Base):
    """A sampler of constrained quadratic models over bits, spins and integers. Linear constraints become linear
    functions, quadratic constraints with few variables become tables."""

    def sample_cqm(self, cqm: Any, **parameters: Any) -> Any:
        """Samples a model: returns feasible samples only, none if none was found.

        The parameters are those of ``FangsSampler.sample``.

        Raises:
            Unsupported: real variables, quadratic constraints of many variables, coefficients without a common unit.
        """
        parameters = self._known(parameters)
        labels = list(cqm.variables)
        values = [_values(cqm, label) for label in labels]
        places = {label: place for place, label in enumerate(labels)}
        objective = cqm.objective
        linear = {places[v]: float(bias) for v, bias in objective.linear.items()}
        quadratic = {(places[u], places[v]): float(bias) for (u, v), bias in objective.quadratic.items()}
        largest = np.array([float(np.abs(own).max()) for own in values] or [0.0])
        biases = [bias for bias in linear.values()] + [bias for bias in quadratic.values()]
        soft = [comparison.lhs.weight() for comparison in cqm.constraints.values() if comparison.lhs.is_soft()]
        decimals = _decimals(np.array([*biases, float(objective.offset), *soft], dtype=np.float64))
        reach = sum(abs(bias) * largest[v] for v, bias in linear.items())
        reach += sum(abs(bias) * largest[u] * largest[v] for (u, v), bias in quadratic.items())
        while decimals > 0 and reach * 10.0**decimals >= _MOST:
            decimals -= 1
        net = Network([len(own) for own in values], decimals=decimals, name="cqm")
        net.add([], float(objective.offset))
        for v, bias in linear.items():
            net.add(v, bias * values[v])
        for (u, v), bias in quadratic.items():
            if u == v:
                net.add(u, bias * values[u] ** 2)
            else:
                net.add([u, v], bias * np.outer(values[u], values[v]))
        for label, comparison in cqm.constraints.items():
            _constrain(net, label, comparison, places, values)

        def index(name: Hashable, value: float) -> int:
            own = values[places[name]]
            found = np.flatnonzero(own == value)
            if not len(found):
                raise ValueError(f"initial_states gives {name!r} the value {value}, which it does not have")
            return int(found[0])

        begun = _starts(parameters.get("initial_states"), labels, index)
        rows, info = _run(net, begun, parameters)
        samples = np.array([[values[v][value] for v, value in enumerate(row)] for row in rows], dtype=np.int64)
        return dimod.SampleSet.from_samples_cqm((samples.reshape(len(rows), len(labels)), labels), cqm, info=info)


def _values(cqm: Any, label: Hashable) -> npt.NDArray[np.float64]:
    """Returns the values of a variable, ascending."""
    vartype = cqm.vartype(label)
    if vartype is dimod.BINARY or vartype is dimod.SPIN:
        return np.array(sorted(vartype.value), dtype=np.float64)
    if vartype is not dimod.INTEGER:
        raise Unsupported(f"variable {label!r} is {vartype.name}: domains are finite")
    low, high = math.ceil(cqm.lower_bound(label)), math.floor(cqm.upper_bound(label))
    if high - low >= 65535:
        raise Unsupported(f"variable {label!r} has {high - low + 1} values: 65535 at most; give it closer bounds")
    return np.arange(low, high + 1, dtype=np.float64)


def _constrain(
    net: Network,
    label: Hashable,
    comparison: Any,
    places: Mapping[Hashable, int],
    values: Sequence[npt.NDArray[np.float64]],
) -> None:
    """Adds a constraint."""
    lhs, sense = comparison.lhs, comparison.sense.value
    rhs = float(comparison.rhs) - float(lhs.offset)
    scope = [places[v] for v in lhs.variables]
    soft = lhs.is_soft()
    price = float(lhs.weight()) if soft else math.inf
    measure: Any = lhs.penalty() if soft else "hard"
    if len(lhs.quadratic) or (soft and measure not in ("linear", "quadratic")):
        _tabulate(net, label, comparison, scope, values, price, measure)
        return
    own = {places[v]: float(bias) for v, bias in lhs.linear.items()}
    weights = [bias * values[v] for v, bias in own.items()]
    everything = np.concatenate([*weights, [0.0]])
    units = (10.0**decimals for decimals in range(_DECIMALS + 1))
    unit = next((own for own in units if bool(np.all(np.round(everything * own) / own == everything))), None)
    if unit is None:
        raise Unsupported(f"constraint {label!r}: its coefficients have more than {_DECIMALS} decimals")
    whole = [np.round(weight * unit).astype(np.int64) for weight in weights]
    step = math.gcd(*(int(number) for weight in whole for number in weight)) or 1
    low = None if sense == "<=" else math.ceil(round(rhs * unit, 6) / step)
    high = None if sense == ">=" else math.floor(round(rhs * unit, 6) / step)
    if low is not None and high is not None and low > high and not soft:
        net.add([], math.inf)
        return
    if not scope or (soft and (abs(rhs * unit / step - round(rhs * unit / step)) > 1e-9 or step != unit)):
        # the distance is in the units of the constraint, not of its step
        _tabulate(net, label, comparison, scope, values, price, measure)
        return
    net.linear(scope, [(weight // step).tolist() for weight in whole], low, high, price=price, measure=measure)


def _tabulate(
    net: Network,
    label: Hashable,
    comparison: Any,
    scope: Sequence[int],
    values: Sequence[npt.NDArray[np.float64]],
    price: float,
    measure: str,
) -> None:
    """Adds a constraint as a table."""
    shape = tuple(len(values[v]) for v in scope)
    if math.prod(shape) > _TABLE:
        entries = math.prod(shape)
        raise Unsupported(f"constraint {label!r} would take a table of {entries} entries, at most {_TABLE} are made")
    lhs, sense = comparison.lhs, comparison.sense.value
    grids = np.meshgrid(*(values[v] for v in scope), indexing="ij") if scope else []
    axes = dict(zip(lhs.variables, grids, strict=True))
    total = np.full(shape, float(lhs.offset) - float(comparison.rhs))
    for v, bias in lhs.linear.items():
        if bias:
            total = total + bias * axes[v]
    for (u, v), bias in lhs.quadratic.items():
        total = total + bias * axes[u] * axes[v]
    off = {"<=": np.maximum(total, 0), ">=": np.maximum(-total, 0), "==": np.abs(total)}[sense]
    off = np.where(off < 1e-9, 0.0, off)
    if math.isinf(price):
        net.add(list(scope), np.where(off > 0, np.inf, 0.0))
    else:
        net.add(list(scope), price * (off if measure == "linear" else off**2))
