"""Every compiled loop that another file calls is compared with a plain twin by a test that says so.

A test says so with ``@pytest.mark.twin(of=[kernel, …])`` and uses something whose name begins with ``plain_`` (or
``Plain``)."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache

from blueprint import ROOT, Sheet, nodes, sheets

from sfumato.core.compiled.native import signatures

TESTS = ROOT / "tests"


def kernel_modules() -> list[Sheet]:
    return [sheet for sheet in sheets() if "/kernels/" in sheet.place and not sheet.place.endswith("__init__.py")]


def module_of(sheet: Sheet) -> str:
    return "sfumato." + sheet.place.removesuffix(".py").replace("/", ".")


@cache
def names_used(tree: ast.Module) -> set[str]:
    """Full names of what a module imports, and of attributes of modules that it imports."""
    places = known_as(tree)
    attributes = {
        f"{places[node.value.id]}.{node.attr}"
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in places
    }
    return set(places.values()) | attributes


def known_as(tree: ast.Module) -> dict[str, str]:
    """Local name → full name of everything imported from somewhere."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in nodes(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


@cache
def entries(*, from_outside: bool = False) -> set[str]:
    """Compiled functions of the kernel modules that another module of the product calls; or one that is no kernel
    itself."""
    compiled = set()
    for sheet in kernel_modules():
        members = vars(importlib.import_module(module_of(sheet)))
        own = [
            name
            for name, found in members.items()
            if getattr(found, "py_func", None) and found.__module__ == module_of(sheet)
        ]
        compiled |= {f"{module_of(sheet)}.{name}" for name in own}
    called = {
        name
        for sheet in sheets()
        for name in names_used(sheet.tree)
        if name.rpartition(".")[0] != "sfumato." + sheet.place.removesuffix(".py").replace("/", ".")
        and not (from_outside and "/kernels/" in sheet.place)
    }
    return compiled & called


def called_at_home() -> set[str]:
    """Compiled functions that an ordinary function of their own module calls, twins left out."""
    found = set()
    for sheet in kernel_modules():
        own = {f"{module_of(sheet)}.{node.name}": node for node in sheet.tree.body if isinstance(node, ast.FunctionDef)}
        ordinary = [node for node in own.values() if not node.decorator_list and not re.match(r"_?plain_", node.name)]
        named = {one.id for node in ordinary for one in ast.walk(node) if isinstance(one, ast.Name)}
        found |= {name for name, node in own.items() if node.decorator_list and node.name in named}
    return found


def twins(sheet: Sheet) -> Iterator[tuple[str, bool]]:
    """(kernel, whether a plain twin is in sight) of every marked test of a file."""
    places = known_as(sheet.tree)
    plain = bool(re.search(r"\b(plain_|Plain)\w", sheet.text))
    for node in nodes(sheet.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.twin":
            (listed,) = (word.value for word in node.keywords if word.arg == "of")
            assert isinstance(listed, ast.List)
            for kernel in listed.elts:
                first, _, rest = ast.unparse(kernel).partition(".")
                yield places[first] + (f".{rest}" if rest else ""), plain


def test_every_kernel_that_is_called_has_a_twin_that_a_test_compares() -> None:
    marked = sheets(TESTS, containing="pytest.mark.twin")
    compared = {kernel for sheet in marked for kernel, plain in twins(sheet) if plain}
    alone = entries() - compared
    assert alone == set()


def test_twins_are_spelled_one_way() -> None:
    spelled = [
        f"{sheet.place}: {node.name}"
        for sheet in kernel_modules()
        for node in sheet.tree.body
        if isinstance(node, ast.FunctionDef) and re.search(r"plain", node.name) and not re.match(r"_?plain_", node.name)
    ]
    assert spelled == []


def test_there_are_kernels_to_look_at() -> None:
    assert len(entries()) > 40


def test_the_library_has_an_entry_for_every_kernel_that_is_called_and_for_no_other() -> None:
    """A new kernel: call it with SFUMATO_LOOPS=native, and add the line that the error names to signatures.txt."""
    there = {f"{module}.{function}" for module, function, _ in signatures()}
    assert sorted((entries(from_outside=True) | called_at_home()) ^ there) == []


def test_kernels_import_nothing_that_the_build_does_not_look_at() -> None:
    """The object file of a kernel module is kept under a digest of the kernel modules that it imports, and of nothing
    else."""
    harmless = {"__future__", "typing", "numpy", "numpy.typing", "collections.abc", "itertools", "functools"}
    own = {"sfumato.core.arrays", "sfumato.core.compiled", *map(module_of, kernel_modules())}
    found = {
        name
        for sheet in kernel_modules()
        for node in nodes(sheet.tree)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [])
        + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
    }
    assert found - harmless - own == set()
