"""Bayesian networks, Markov networks and factor graphs of pgmpy and pyAgrum."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ._errors import Unsupported
from ._fangs import Decision, Network, _potentials, decide, reads

#: A variable: its name and the names of its values.
Variable = tuple[str, Sequence[str]]


def _network(
    name: str,
    variables: Sequence[Variable],
    tables: Sequence[tuple[str, Sequence[str], Any]],
    evidence: Mapping[str, Any] | None,
) -> Network:
    """Builds a network through XMLBIF text, which keeps names and the digits of all numbers.

    Args:
        name: a name for messages.
        variables: names of variables, each with the names of its values.
        tables: for each variable, its parents and the probabilities, shape (domains of the parents…, own domain).
        evidence: values of some variables.
    """
    root = ElementTree.Element("BIF", VERSION="0.3")
    network = ElementTree.SubElement(root, "NETWORK")
    ElementTree.SubElement(network, "NAME").text = name
    for variable, values in variables:
        element = ElementTree.SubElement(network, "VARIABLE", TYPE="nature")
        ElementTree.SubElement(element, "NAME").text = variable
        for value in values:
            ElementTree.SubElement(element, "OUTCOME").text = value
    for own, parents, table in tables:
        element = ElementTree.SubElement(network, "DEFINITION")
        ElementTree.SubElement(element, "FOR").text = own
        for parent in parents:
            ElementTree.SubElement(element, "GIVEN").text = parent
        numbers = np.asarray(table, dtype=float).ravel().tolist()
        ElementTree.SubElement(element, "TABLE").text = " ".join(map(repr, numbers))
    text = ElementTree.tostring(root, encoding="unicode")
    return reads(text, "xmlbif", name=name, evidence=dict(evidence) if evidence else None)


def _factors(name: str, variables: Sequence[Variable], tables: Sequence[tuple[Sequence[str], Any]]) -> Network:
    """Builds a network of potentials; each table has the shape of the domains of its variables."""
    places = {variable: place for place, (variable, _) in enumerate(variables)}
    lines = ["MARKOV", str(len(variables)), " ".join(str(len(values)) for _, values in variables), str(len(tables))]
    lines += [" ".join(map(str, [len(scope), *(places[own] for own in scope)])) for scope, _ in tables]
    for scope, table in tables:
        numbers = np.asarray(table, dtype=float)
        if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            raise Unsupported(f"the factor of {', '.join(scope)} has values that are no potentials: 0 or more, finite")
        lines += [str(numbers.size), " ".join(map(repr, numbers.ravel().tolist()))]
    return _potentials("\n".join(lines) + "\n", [(own, list(values)) for own, values in variables], name)


def _of_factors(model: Any) -> Network:
    """Converts a Markov network or a factor graph of pgmpy."""
    states: dict[str, list[Any]] = {}
    tables: list[tuple[list[str], Any]] = []
    for factor in model.get_factors():
        table = np.asarray(factor.values, dtype=float)
        for axis, variable in enumerate(factor.variables):
            own = list(factor.state_names[variable])
            known = states.setdefault(str(variable), own)
            if sorted(map(str, own)) != sorted(map(str, known)):
                raise Unsupported(f"two factors have other values of {variable}: {known} and {own}")
            table = np.take(table, [own.index(value) for value in known], axis=axis)
        tables.append(([str(variable) for variable in factor.variables], table))
    if not tables:
        raise Unsupported("the model has no factors")
    variables = [(name, [str(value) for value in values]) for name, values in states.items()]
    return _factors(str(getattr(model, "name", None) or "pgmpy"), variables, tables)


def _with(network: Network, evidence: Mapping[str, Any] | None) -> Network:
    """Fixes variables by functions of their own."""
    return network if not evidence else network.observed(dict(evidence))


def from_pgmpy(model: Any, evidence: Mapping[str, Any] | None = None) -> Network:
    """Converts a ``DiscreteBayesianNetwork``, a ``DiscreteMarkovNetwork`` or a ``FactorGraph`` of pgmpy; the best
    assignment is the most probable one.

    Args:
        model: the model; each variable of a Bayesian network has its CPD.
        evidence: values of some variables, by name.

    Returns:
        A network that maximises the logarithm of the probability. ``marginals`` computes posteriors from the
        model's own numbers.

    Raises:
        Unsupported: the model does not consist of tables.
    """
    if not hasattr(model, "get_cpds") and hasattr(model, "get_factors"):
        return _with(_of_factors(model), evidence)
    if not hasattr(model, "get_cpds"):
        raise Unsupported(f"a model with tables (get_cpds, get_factors) is expected, not {type(model).__name__}")
    variables: list[Variable] = []
    tables: list[tuple[str, Sequence[str], Any]] = []
    for node in model.nodes():
        cpd = model.get_cpds(node)
        if cpd is None or not hasattr(cpd, "variables"):
            raise Unsupported(f"{node}: there is no table of its probabilities")
        variables.append((str(node), [str(value) for value in cpd.state_names[node]]))
        # the variable comes first, then its parents
        own, *parents = cpd.variables
        for parent in parents:
            if list(cpd.state_names[parent]) != list(model.get_cpds(parent).state_names[parent]):
                raise Unsupported(f"{node}: its table has the values of {parent} in another order")
        tables.append((str(own), [str(parent) for parent in parents], np.moveaxis(cpd.values, 0, -1)))
    return _network(str(getattr(model, "name", None) or "pgmpy"), variables, tables, evidence)


def from_pyagrum(model: Any, evidence: Mapping[str, Any] | None = None) -> Network:
    """Converts a ``BayesNet`` or a ``MarkovRandomField`` of pyAgrum; the best assignment is the most probable one.

    Args:
        model: the model.
        evidence: values of some variables, by name.

    Returns:
        A network that maximises the logarithm of the probability. ``marginals`` computes posteriors from the
        model's own numbers.

    Raises:
        Unsupported: the model is neither of them.
    """
    if hasattr(model, "factors") and hasattr(model, "factor"):
        return _with(_of_field(model), evidence)
    if not hasattr(model, "cpt") or hasattr(model, "utility"):
        what = f"a Bayesian network (cpt) or a Markov random field (factors) is expected, not {type(model).__name__}"
        raise Unsupported(what + ("; decide_pyagrum solves it" if hasattr(model, "utility") else ""))
    variables: list[Variable] = []
    tables: list[tuple[str, Sequence[str], Any]] = []
    name: Callable[[int], str] = lambda node: str(model.variable(node).name())
    for node in model.nodes():
        variables.append((name(node), [str(label) for label in model.variable(node).labels()]))
        cpt = model.cpt(node)
        # an array has the variable last, and its parents before it, in the order of its names reversed
        names = [str(own) for own in cpt.names]
        array = cpt.toarray()
        if array.ndim != len(names):
            raise Unsupported(f"{name(node)}: a table of {len(names)} variables has the shape {array.shape}")
        order = _axes(cpt, names)
        own = order.index(name(node))
        parents = [other for other in order if other != name(node)]
        tables.append((name(node), parents, np.moveaxis(array, own, -1)))
    title = model.propertyWithDefault("name", "pyagrum")
    return _network(str(title) or "pyagrum", variables, tables, evidence)


def decide_pyagrum(model: Any, **options: Any) -> Decision:
    """Finds the policy of the largest expected utility of an ``InfluenceDiagram`` of pyAgrum.

    Args:
        model: the influence diagram.
        options: options of ``decide``.

    Raises:
        Unsupported: the model is no influence diagram.
    """
    if not hasattr(model, "saveBIFXML") or not hasattr(model, "utility"):
        raise Unsupported(f"an influence diagram (utility, saveBIFXML) is expected, not {type(model).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "diagram.bifxml")
        model.saveBIFXML(path)
        _exact(path, model)
        return decide(path, **options)


def _exact(path: str, model: Any) -> None:
    """Replaces the numbers of a file of pyAgrum, which have six digits, by those of the model."""
    tree = ElementTree.parse(path)
    for definition in tree.iter("DEFINITION"):
        name, text = definition.findtext("FOR"), definition.find("TABLE")
        if name is None or text is None or text.text is None:
            continue
        node = model.idFromName(name)
        tensor = model.utility(node) if model.isUtilityNode(node) else model.cpt(node)
        axes = _axes(tensor, [str(own) for own in tensor.names])
        order = [str(given.text) for given in definition.iter("GIVEN")]
        order += [axis for axis in axes if axis not in order]
        table = np.transpose(tensor.toarray(), [axes.index(axis) for axis in order])
        written = np.array(text.text.split(), dtype=float)
        orders = (table.ravel(), table.transpose().ravel())
        own = next((own for own in orders if np.allclose(own, written, rtol=1e-4, atol=1e-6)), None)
        if own is None:
            raise Unsupported(f"{name}: the table in pyAgrum's file is not that of the model")
        text.text = " ".join(map(repr, own.tolist()))
    tree.write(path, encoding="utf-8", xml_declaration=True)


def _of_field(model: Any) -> Network:
    """Converts a Markov random field of pyAgrum."""
    variables = []
    for node in model.nodes():
        variable = model.variable(node)
        variables.append((str(variable.name()), [str(label) for label in variable.labels()]))
    tables = []
    for scope in model.factors():
        factor = model.factor(scope)
        tables.append((_axes(factor, [str(own) for own in factor.names]), factor.toarray()))
    if not tables:
        raise Unsupported("the model has no factors")
    return _factors(str(model.propertyWithDefault("name", "pyagrum")) or "pyagrum", variables, tables)


def _axes(cpt: Any, names: list[str]) -> list[str]:
    """Returns the variables along the axes of an array of pyAgrum, whose first variable is fastest in memory."""
    shape = cpt.toarray().shape
    sizes = {str(variable.name()): int(variable.domainSize()) for variable in map(cpt.variable, range(cpt.nbrDim()))}
    axes = [str(cpt.variable(place).name()) for place in range(cpt.nbrDim())][::-1]
    if tuple(sizes[axis] for axis in axes) != tuple(shape) or sorted(axes) != sorted(names):
        raise Unsupported(f"a table of {names} has the shape {shape}")
    return axes
