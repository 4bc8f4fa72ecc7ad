"""Networks of pgmpy and pyAgrum: their posteriors compared with ours."""

from __future__ import annotations

import fangs
import numpy as np
import pytest


def test_pyagrum():
    gum = pytest.importorskip("pyagrum")
    for seed in range(4):
        gum.initRandom(seed + 1)
        model = gum.fastBN("a{x|y}->b[3]<-c[4]->d{no|yes}; b->d; e->a")
        evidence = {"d": "yes"}
        net = fangs.from_pyagrum(model)
        engine = gum.LazyPropagation(model)
        engine.setEvidence(evidence)
        engine.makeInference()
        found = net.marginals(evidence)
        for name in ("a", "b", "c", "e"):
            assert found[name] == pytest.approx(engine.posterior(name).toarray(), abs=1e-12)
        assert found.ln_z == pytest.approx(np.log(engine.evidenceProbability()), abs=1e-10)
        best = fangs.from_pyagrum(model, evidence).solve(time=10).result()
        assert best.status == "optimal" and best.assignment["d"] == "yes"
        everything = model.completeInstantiation()
        everything.fromdict(best.assignment)
        assert best.cost == pytest.approx(np.log(model.jointProbability(everything)), abs=1e-6)


def test_pgmpy():
    models = pytest.importorskip("pgmpy.models")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination

    model = models.DiscreteBayesianNetwork([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slip")])
    states = {"rain": ["no", "yes"], "sprinkler": ["off", "on", "broken"], "wet": ["dry", "wet"], "slip": ["0", "1"]}
    rng = np.random.default_rng(5)

    def cpd(name, parents=()):
        sizes = [len(states[parent]) for parent in parents]
        table = rng.random((len(states[name]), int(np.prod(sizes, dtype=int))))
        own = {key: states[key] for key in (name, *parents)}
        values = table / table.sum(axis=0)
        return TabularCPD(name, len(states[name]), values, list(parents) or None, sizes or None, state_names=own)

    model.add_cpds(cpd("rain"), cpd("sprinkler"), cpd("wet", ["rain", "sprinkler"]), cpd("slip", ["wet"]))
    assert model.check_model()
    net = fangs.from_pgmpy(model)
    found = net.marginals({"slip": "1"})
    own = VariableElimination(model)
    for name in ("rain", "sprinkler", "wet"):
        assert found[name] == pytest.approx(own.query([name], {"slip": "1"}, show_progress=False).values)
    best = fangs.from_pgmpy(model, {"slip": "1"}).solve(time=10).result()
    theirs = own.map_query(["rain", "sprinkler", "wet"], {"slip": "1"}, show_progress=False)
    assert {name: best.assignment[name] for name in theirs} == theirs


def test_what_is_no_model_is_refused():
    for convert in (fangs.from_pgmpy, fangs.from_pyagrum):
        with pytest.raises(fangs.Unsupported):
            convert(object())
