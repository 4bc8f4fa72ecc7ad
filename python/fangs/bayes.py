"""Bayesian networks of pgmpy and pyAgrum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ._errors import Unsupported
from ._fangs import Network, reads

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


def from_pgmpy(model: Any, evidence: Mapping[str, Any] | None = None) -> Network:
    """Converts a ``DiscreteBayesianNetwork`` of pgmpy; the best assignment is the most probable explanation.

    Args:
        model: the model; each variable has its CPD.
        evidence: values of some variables, by name.

    Returns:
        A network that maximises the logarithm of the probability. ``marginals`` computes posteriors from the
        model's own numbers.

    Raises:
        Unsupported: the model does not consist of tables.
    """
    if not hasattr(model, "get_cpds"):
        raise Unsupported(f"a model with tables (get_cpds) is expected, not {type(model).__name__}")
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
    """Converts a ``BayesNet`` of pyAgrum; the best assignment is the most probable explanation.

    Args:
        model: the model.
        evidence: values of some variables, by name.

    Returns:
        A network that maximises the logarithm of the probability. ``marginals`` computes posteriors from the
        model's own numbers.

    Raises:
        Unsupported: the model is no Bayesian network.
    """
    if not hasattr(model, "cpt"):
        raise Unsupported(f"a Bayesian network (cpt) is expected, not {type(model).__name__}")
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


def _axes(cpt: Any, names: list[str]) -> list[str]:
    """Returns the variables along the axes of an array of pyAgrum, whose first variable is fastest in memory."""
    shape = cpt.toarray().shape
    sizes = {str(variable.name()): int(variable.domainSize()) for variable in map(cpt.variable, range(cpt.nbrDim()))}
    axes = [str(cpt.variable(place).name()) for place in range(cpt.nbrDim())][::-1]
    if tuple(sizes[axis] for axis in axes) != tuple(shape) or sorted(axes) != sorted(names):
        raise Unsupported(f"a table of {names} has the shape {shape}")
    return axes
