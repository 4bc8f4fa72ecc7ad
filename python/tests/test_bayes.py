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


def test_markov_networks_of_pgmpy():
    models = pytest.importorskip("pgmpy.models")
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import VariableElimination

    rng = np.random.default_rng(8)
    states = {"a": ["n", "y"], "b": ["p", "q", "r"], "c": ["0", "1"]}

    def factor(*scope, turned=False):
        names = {own: states[own][::-1] if turned else states[own] for own in scope}
        sizes = [len(states[own]) for own in scope]
        return DiscreteFactor(list(scope), sizes, rng.random(int(np.prod(sizes))) * 3, state_names=names)

    factors = [factor("a", "b"), factor("b", "c"), factor("b")]
    markov = models.DiscreteMarkovNetwork([("a", "b"), ("b", "c")])
    markov.add_factors(*factors)
    graph = models.FactorGraph()
    graph.add_nodes_from(states)
    graph.add_factors(*factors)
    graph.add_edges_from([(own, f) for f in factors for own in f.variables])
    for model in (markov, graph):
        net = fangs.from_pgmpy(model)
        found = net.marginals({"c": "1"})
        own = VariableElimination(markov)
        for name in ("a", "b"):
            expected = own.query([name], {"c": "1"}, show_progress=False).values
            assert found[name] == pytest.approx(expected / expected.sum())
        joint = factors[0] * factors[1] * factors[2]
        assert net.marginals().ln_z == pytest.approx(np.log(joint.values.sum()))
        best = fangs.from_pgmpy(model, {"c": "1"}).solve(time=10).result()
        assert best.assignment == own.map_query(["a", "b"], {"c": "1"}, show_progress=False) | {"c": "1"}
    turned = models.DiscreteMarkovNetwork([("a", "b")])
    turned.add_factors(factor("a", "b"), factor("b", turned=True))
    pair, single = turned.get_factors()
    joint = pair.values * single.values[None, ::-1]
    found = fangs.from_pgmpy(turned).marginals()
    assert found["a"] == pytest.approx(joint.sum(axis=1) / joint.sum())
    assert found["b"] == pytest.approx(joint.sum(axis=0) / joint.sum())
    with pytest.raises(fangs.Unsupported, match="no factors"):
        fangs.from_pgmpy(models.DiscreteMarkovNetwork())


def test_markov_random_fields_of_pyagrum():
    gum = pytest.importorskip("pyagrum")
    gum.initRandom(3)
    model = gum.MarkovRandomField.fastPrototype("a--b[3]--c;c--d{no|yes}")
    net = fangs.from_pyagrum(model)
    engine = gum.ShaferShenoyMRFInference(model)
    engine.setEvidence({"d": "yes"})
    engine.makeInference()
    found = net.marginals({"d": "yes"})
    for name in ("a", "b", "c"):
        assert found[name] == pytest.approx(engine.posterior(name).toarray(), abs=1e-12)
    assert fangs.from_pyagrum(model, {"d": "yes"}).solve(time=10).result().assignment["d"] == "yes"


def test_influence_diagrams_of_pyagrum():
    gum = pytest.importorskip("pyagrum")
    gum.initRandom(5)
    model = gum.fastID("a->b->*d->$u<-a")
    with pytest.raises(fangs.Unsupported, match="decide_pyagrum"):
        fangs.from_pyagrum(model)
    engine = gum.ShaferShenoyLIMIDInference(model)
    engine.makeInference()
    found = fangs.decide_pyagrum(model)
    assert found.exact and found.meu == pytest.approx(engine.MEU()["mean"])
    with pytest.raises(fangs.Unsupported, match="BayesNet"):
        fangs.decide_pyagrum(gum.fastBN("a->b"))


def test_what_is_no_model_is_refused():
    for convert in (fangs.from_pgmpy, fangs.from_pyagrum):
        with pytest.raises(fangs.Unsupported):
            convert(object())
