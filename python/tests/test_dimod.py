"""The samplers for dimod, with dimod's checks."""

from __future__ import annotations

import itertools
import unittest
import warnings

import numpy as np
import pytest

dimod = pytest.importorskip("dimod")

import dimod.testing  # noqa: E402
import fangs  # noqa: E402
from fangs.dimod import FangsCQMSampler, FangsDQMSampler, FangsSampler  # noqa: E402


@dimod.testing.load_sampler_bqm_tests(lambda: FangsSampler(time_limit=2))
class TestConformance(unittest.TestCase):
    """Dimod's requirements for every sampler."""

    def test_api(self):
        dimod.testing.assert_sampler_api(FangsSampler())


def test_binary_models_are_solved(rng):
    for vartype in ("SPIN", "BINARY"):
        for seed in range(8):
            bqm = dimod.generators.gnp_random_bqm(9, 0.6, vartype, random_state=seed)
            bqm.relabel_variables({0: "zero", 1: ("one", 1)})
            bqm.offset = 1.25
            found = FangsSampler().sample(bqm, time_limit=5, seed=seed)
            best = dimod.ExactSolver().sample(bqm).first.energy
            assert found.first.energy == pytest.approx(best, abs=1e-9)
            assert found.info["status"] == "optimal" and found.info["bound"] <= best + 1e-9
            dimod.testing.assert_sampleset_energies(found, bqm)


def test_parameters(rng):
    bqm = dimod.generators.gnp_random_bqm(60, 0.5, "SPIN", random_state=1)
    start = {v: 1 for v in list(bqm.variables)[:30]}
    found = FangsSampler().sample(bqm, rounds=0, initial_states=start)
    assert len(found) >= 1 and all(found.first.sample[v] == 1 for v in start)
    again = [FangsSampler().sample(bqm, rounds=5, seed=3, device="cpu").first.energy for _ in range(2)]
    assert again[0] == again[1]
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning):
        FangsSampler().sample(bqm, rounds=1, beta_range=[0, 1])
    with pytest.raises(fangs.Unsupported, match="num_sweeps=7: .*rounds"):
        FangsSampler().sample(bqm, rounds=1, num_sweeps=7)
    with pytest.raises(ValueError, match="lacks"):
        FangsSampler().sample(bqm, initial_states={"nowhere": 1})


def test_several_reads():
    bqm = dimod.generators.gnp_random_bqm(40, 0.5, "SPIN", random_state=2)
    found = FangsSampler().sample(bqm, rounds=2, num_reads=4, device="cpu")
    assert len(found) == 4 and found.info["bound"] <= found.first.energy
    alone = [FangsSampler().sample(bqm, rounds=2, seed=seed, device="cpu").first.energy for seed in (1, 2, 3, 4)]
    assert list(found.record.energy) == sorted(alone)
    dimod.testing.assert_sampleset_energies(found, bqm)
    with pytest.raises(ValueError, match="num_reads=0"):
        FangsSampler().sample(bqm, num_reads=0)


def test_discrete_models_are_solved(rng):
    for _ in range(6):
        dqm = dimod.DQM()
        sizes = [3, 2, 4]
        for place, size in enumerate(sizes):
            dqm.add_variable(size, label=f"v{place}")
            dqm.set_linear(f"v{place}", rng.integers(-9, 9, size=size) / 2)
        for u, v in [(0, 1), (1, 2), (0, 2)]:
            table = rng.integers(-9, 9, size=(sizes[u], sizes[v])) / 4
            biases = {(a, b): table[a, b] for a in range(sizes[u]) for b in range(sizes[v])}
            dqm.set_quadratic(f"v{u}", f"v{v}", biases)
        best = dimod.ExactDQMSolver().sample_dqm(dqm).first.energy
        found = FangsDQMSampler().sample_dqm(dqm, time_limit=5)
        assert found.first.energy == pytest.approx(best) and found.info["gap"] == 0
        dimod.testing.assert_sampleset_energies_dqm(found, dqm)
        started = FangsDQMSampler().sample_dqm(dqm, rounds=0, initial_states=found.first.sample)
        assert started.first.energy == pytest.approx(best)


def test_constrained_models_are_solved():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        cqm = dimod.CQM()
        x = [dimod.Binary(f"x{i}") for i in range(4)]
        s = dimod.Spin("s")
        n = dimod.Integer("n", lower_bound=-2, upper_bound=3)
        weights = rng.integers(-5, 6, size=6)
        cqm.set_objective(
            sum(int(w) * v for w, v in zip(weights, [*x, s, n], strict=True)) + 2 * x[0] * n - n * n + 0.5
        )
        cqm.add_constraint(x[0] + x[1] + x[2] + x[3] == 2, label="two")
        cqm.add_constraint(1.5 * x[0] + 0.5 * n - s <= 1.25, label="halves")
        cqm.add_constraint(x[1] * n >= -1, label="quadratic")
        cqm.add_constraint(x[0] + n <= 1, weight=2.5, label="soft")
        cqm.add_constraint(x[2] + 2 * x[3] <= 1, weight=1.5, penalty="quadratic", label="square")
        found = FangsCQMSampler().sample_cqm(cqm, time_limit=10)
        assert found.first.is_feasible and found.info["status"] == "optimal"
        domains = {f"x{i}": [0, 1] for i in range(4)} | {"s": [-1, 1], "n": list(range(-2, 4))}
        rows = np.array(list(itertools.product(*(domains[v] for v in cqm.variables))))
        everything = dimod.SampleSet.from_samples_cqm((rows, list(cqm.variables)), cqm)

        def total(sample):
            # the run includes soft constraints
            square = max(0, sample["x2"] + 2 * sample["x3"] - 1) ** 2
            over = max(0, sample["x0"] + sample["n"] - 1)
            return float(cqm.objective.energy(sample)) + 2.5 * over + 1.5 * square

        possible = [total(own.sample) for own in everything.data() if own.is_feasible]
        assert min(total(own.sample) for own in found.data()) == pytest.approx(min(possible)) == found.info["bound"]


def test_what_does_not_fit_is_refused():
    cqm = dimod.CQM()
    cqm.set_objective(dimod.Real("r") * 1)
    with pytest.raises(fangs.Unsupported, match="REAL"):
        FangsCQMSampler().sample_cqm(cqm)
    cqm = dimod.CQM()
    bits = [dimod.Binary(i) for i in range(40)]
    cqm.add_constraint(sum(a * b for a, b in zip(bits, bits[1:], strict=False)) <= 3)
    with pytest.raises(fangs.Unsupported, match="table"):
        FangsCQMSampler().sample_cqm(cqm)
    infeasible = dimod.CQM()
    infeasible.add_constraint(dimod.Binary("a") + dimod.Binary("b") == 3)
    found = FangsCQMSampler().sample_cqm(infeasible)
    assert len(found) == 0 and found.info["status"] == "infeasible"


def test_no_warning_is_left(recwarn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FangsSampler().sample_ising({"a": 1.0}, {("a", "b"): -0.5})
        FangsSampler().sample_qubo({("a", "a"): -1, ("a", "b"): 2})
