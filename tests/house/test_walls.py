"""The walls of the house: a room imports only rooms on earlier lines, and each heavy dependency has one home."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "sfumato"

LINES = [
    {"errors", "compiled"},
    {"randomness", "registry"},
    {"data"},
    {"decomposition"},
    {"models", "metrics", "io"},
    {"policy", "release"},
    {"history"},
    {"methods", "audit"},
    {"ledger"},
    {"plan", "report", "attacks", "estimation", "loading"},
    {"publication", "preview"},
    {"demos", "discover"},
    {"cli"},
    {"catalogue"},
    {"__main__"},
]
LINE = {room: number for number, rooms in enumerate(LINES) for room in rooms}

HOMES = {
    "numba": {"compiled.py"},
    "yaml": {"policy/read.py", "audit/floor/written.py"},
    "ortools": {"methods/solver.py"},
    "sqlalchemy": {"io/sql"},
    "psycopg": {"io/sql"},
    "click": {"cli"},
}


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_imported(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("sfumato.") and name.split(".")[1] in LINE}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_earlier_lines(path: Path) -> None:
    room = room_of(path)
    assert room in LINE, f"{room} has no place in the house: add it to LINES and to docs/tour.md"
    for other in rooms_imported(path) - {room}:
        assert LINE[other] < LINE[room], f"{path} imports {other}"


def test_the_audit_imports_neither_methods_nor_kernels() -> None:
    for path in modules():
        if room_of(path) == "audit":
            assert not rooms_imported(path) & {"methods"}, path
            assert not any(".kernels" in name for name in imports(path)), path


@pytest.mark.parametrize("library", sorted(HOMES))
def test_a_heavy_dependency_has_one_home(library: str) -> None:
    for path in modules():
        if any(name.split(".")[0] == library for name in imports(path)):
            place = path.relative_to(SOURCE).as_posix()
            assert any(place == home or place.startswith(f"{home}/") for home in HOMES[library]), f"{place} imports {library}"


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("numpy", "numba", "polars", "pyarrow", "scipy", "yaml", "pydantic")
    code = f"import sfumato, sys; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from sfumato.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'pyarrow', 'pydantic', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("[]")
    assert "publish" in out
