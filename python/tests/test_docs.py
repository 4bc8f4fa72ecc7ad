"""Every listing of the documentation runs."""

from __future__ import annotations

import ast
import inspect
import re
import shutil

import fangs
import pytest
from conftest import ROOT

LISTING = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def listings(path):
    return LISTING.findall(path.read_text())


def test_the_listings_of_the_guide_run(tmp_path, monkeypatch):
    for package in ("cpmpy", "dimod", "pyagrum"):
        pytest.importorskip(package)
    shutil.copy(ROOT / "examples" / "potts-20x20.wcsp", tmp_path)
    monkeypatch.chdir(tmp_path)
    found = listings(ROOT / "docs" / "python.md")
    assert len(found) > 15
    names: dict = {}
    for listing in found:
        exec(compile(listing, "docs/python.md", "exec"), names)


@pytest.mark.parametrize("path", ["README.md", "python/README.md"])
def test_the_listings_of_the_readmes_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = listings(ROOT / path)
    assert found
    for listing in found:
        exec(compile(listing, path, "exec"), {})


def test_types_and_documentation_are_complete():
    """Each class and function of the module has its stub, with the same parameters, and a description."""
    stub = ast.parse((ROOT / "python" / "fangs" / "_fangs.pyi").read_text())
    described = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    described = {name: node for name, node in described.items() if not name.startswith("_")}
    own = {name for name in dir(fangs._fangs) if not name.startswith("_")}
    assert own == set(described)
    for name, node in described.items():
        assert ast.get_docstring(node), name
        # the command is of the module alone
        real = getattr(fangs if name in fangs.__all__ else fangs._fangs, name)
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == list(inspect.signature(real).parameters), name
            continue
        members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        real_members = {member for member in vars(real) if not member.startswith("_")}
        assert real_members == {member for member in members if not member.startswith("_")}, name
        for member, definition in members.items():
            if member.startswith("_"):
                continue
            assert ast.get_docstring(definition), f"{name}.{member}"
            if not definition.decorator_list:
                found = [own for own in inspect.signature(getattr(real, member)).parameters if own != "self"]
                assert parameters(definition) == found, f"{name}.{member}"


def parameters(node):
    everything = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    return [argument.arg for argument in everything if argument.arg != "self"]
