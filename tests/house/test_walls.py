"""The walls of the house: a room imports only rooms on earlier lines, and each heavy dependency has one home."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest
from blueprint import ROOT, SOURCE, imports, nodes, sheets

LINES = [
    {"core"},
    {"data"},
    {"models"},
    {"io"},
    {"policy"},
    {"engines"},
    {"release"},
    {"history"},
    {"kinds"},
    {"audit"},
    {"workflow"},
    {"ui"},
]
LINE = {room: number for number, rooms in enumerate(LINES) for room in rooms}
DOORS = {"__init__", "__main__", "testing"}
"""They only lead into the house."""
EXCEPTIONS = ("engines/spark/workflow/", "release/metric.py")
"""Files that import a later line until the ideas of the README of the restructuring are merged."""

HOMES = {
    "opendp": {"kinds/graphs/methods/private_figures.py"},
    "numba": {"core/compiled/numba_fallback.py", "core/compiled/translate.py"},
    "yaml": {"policy/yaml_document.py", "audit/recount/policy_text.py"},
    "ortools": {"core/constraint_solver.py"},
    "sqlalchemy": {"io/sql"},
    "sqlglot": {"io/sql/sql_syntax.py"},
    "psycopg": {"io/sql"},
    "duckdb": {"io/sql"},
    "pymysql": {"io/sql"},
    "cryptography": {"release/signature.py", "kinds/testdata/methods/sampling/keyed_randomness.py"},
    "click": {"ui/cli"},
    "starlette": {"ui/studio"},
    "uvicorn": {"ui/studio/server.py"},
    "ruamel": {"ui/studio/policy_editing.py"},
    "pyspark": {"engines"},
    "phonenumbers": {"data/personal_columns/looks.py", "data/phone_numbers.py"},
}


def rooms_imported(tree: ast.Module) -> set[str]:
    return {name.split(".")[1] for name in imports(tree) if name.startswith("sfumato.")} & set(LINE)


def test_the_rooms_are_those_on_the_lines() -> None:
    """A room without a line has no place in the house; a line without a room is a phantom."""
    assert {sheet.room for sheet in sheets()} - DOORS == set(LINE)


def test_the_tour_shows_these_lines() -> None:
    tour = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\d+ +(\S.*?)(?:   .*)?$", tour, re.MULTILINE)
    assert [set(line.replace("║ wall ║", "").split()) for line in shown] == LINES


def test_a_room_imports_only_earlier_lines() -> None:
    through_walls = [
        f"{sheet.place} imports {other}"
        for sheet in sheets()
        if sheet.room in LINE and not sheet.place.startswith(EXCEPTIONS)
        for other in rooms_imported(sheet.tree) - {sheet.room}
        if LINE[other] >= LINE[sheet.room]
    ]
    assert through_walls == []


def test_nothing_is_imported_relatively() -> None:
    relative = [
        sheet.place
        for sheet in sheets()
        for node in nodes(sheet.tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert relative == []


METHODS = re.compile(r"sfumato\.(kinds\.\w+\.methods|history\.constrain)\b")
ON_THE_AUDIT_SIDE = re.compile(
    r"audit/(?!attacks|join_attack)|history/judge/|policy/constraint_language/evaluat|kinds/(\w+/)?\w*"
    r"(evidence|checks|source_audit|truthfulness|property_space|leaked_values|database_view|metrics|information_loss|report_section)"
)


def test_the_audit_side_of_every_slice_imports_no_method() -> None:
    through_the_wall = [
        f"{sheet.place} imports {name}"
        for sheet in sheets()
        if ON_THE_AUDIT_SIDE.match(sheet.place)
        for name in imports(sheet.tree)
        if METHODS.match(name) or (".kernels" in name and ".methods." in name)
    ]
    assert through_the_wall == []


@pytest.mark.parametrize("library", sorted(HOMES))
def test_a_heavy_dependency_has_one_home(library: str) -> None:
    used = {sheet.place for sheet in sheets() if any(name.split(".")[0] == library for name in imports(sheet.tree))}
    assert used, f"nothing imports {library}: it needs no home"
    strays = [
        place for place in used if not any(place == home or place.startswith(f"{home}/") for home in HOMES[library])
    ]
    assert strays == []
    assert [home for home in HOMES[library] if not (SOURCE / home).exists()] == []


def test_the_product_knows_neither_tests_nor_benchmarks() -> None:
    outside = {"tests", "benchmarks", "baselines", "pytest", "hypothesis"}
    assert [sheet.place for sheet in sheets() if {name.split(".")[0] for name in imports(sheet.tree)} & outside] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("numpy", "numba", "polars", "pyarrow", "scipy", "yaml", "pydantic", "sqlglot", "sqlalchemy")
    code = f"import sfumato, sys; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from sfumato.ui.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'pyarrow', 'pydantic', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("[]")
    assert "publish" in out
