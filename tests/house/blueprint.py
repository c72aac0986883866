"""The house as its tests see it: every module of the product, parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sfumato"


class Sheet(NamedTuple):
    """One module: where it stands in the house, its text, and its tree."""

    place: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return self.place.split("/")[0].removesuffix(".py")

    @property
    def page(self) -> str:
        """The module docstring."""
        return ast.get_docstring(self.tree, clean=False) or ""

    @property
    def below_the_page(self) -> str:
        """Everything but the module docstring."""
        first = self.tree.body[0].end_lineno or 0 if self.page else 0
        return "\n".join(self.text.splitlines()[first:])


@cache
def sheets(folder: Path = SOURCE, containing: str = "") -> tuple[Sheet, ...]:
    """All modules below `folder`, or those that contain some text."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if containing in text:
            found.append(Sheet(path.relative_to(folder).as_posix(), text, ast.parse(text)))
    return tuple(found)


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a module; to walk through the house takes a second, and a dozen tests do."""
    return tuple(ast.walk(tree))


@cache
def imports(tree: ast.Module) -> set[str]:
    """What a module imports, `a.b` for ``import a.b`` and both `a` and `a.b` for ``from a import b``."""
    names: set[str] = set()
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names
