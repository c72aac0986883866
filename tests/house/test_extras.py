"""What only some need is an extra: a missing one is named in one line, with the command that installs it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from blueprint import ROOT, SOURCE, sheets

from sfumato.core.constraint_solver import SolverModel
from sfumato.core.errors import MissingExtra
from sfumato.core.extras import EXTRAS, available, require

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
usual = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.split(".")[0] in {absent} else usual(name, package)
from sfumato.ui.cli import main
for arguments in {commands}:
    try:
        main(arguments)
    except SystemExit as end:
        if end.code:
            raise
"""


DISTRIBUTIONS = {"sklearn": "scikit-learn", "python_calamine": "python-calamine"}
"""Packages that are installed under another name than they are imported by."""
ROOMS = {"ui/studio": "studio", "core/compiled/translate.py": "compiler"}
"""What as a whole belongs to an extra: whoever loads it (`ui/cli/studio.py`, `core/compiled/build.py`) asks for it
first."""


def run_without(absent: set[str], *commands: list[str]) -> subprocess.CompletedProcess[str]:
    """One command after the other, until one fails."""
    code = WITHOUT.format(absent=sorted(absent), commands=commands)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


def names(requirements: list[str]) -> set[str]:
    return {part.split("[")[0].split(">")[0].split("<")[0].lower() for part in requirements}


@pytest.mark.parametrize(("package", "extra"), sorted(EXTRAS.items()))
def test_the_extra_brings_the_package(package: str, extra: str) -> None:
    extras = PROJECT["optional-dependencies"]
    if not extra:
        assert package not in {
            name for listed in (extras[one] for one in extras if one != "dev") for name in names(listed)
        }
        return
    assert DISTRIBUTIONS.get(package, package) in names(extras[extra]), f"sfumato[{extra}] does not install {package}"


def _is_guard(node: ast.stmt) -> bool:
    """Whether a statement is `require("package", …)`, which refuses in one line before the import below it can fail."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "require"


def test_nothing_of_an_extra_is_imported_at_the_top_of_a_file() -> None:
    """A file that is always loaded must load without the extras."""
    optional = set(EXTRAS)
    found = []
    for sheet in sheets():
        guarded: set[str] = set()
        for node in sheet.tree.body:
            guarded |= {ast.literal_eval(node.value.args[0])} if _is_guard(node) else set()
            roots = {alias.name.split(".")[0] for alias in node.names} if isinstance(node, ast.Import) else set()
            if isinstance(node, ast.ImportFrom) and node.module:
                roots = {node.module.split(".")[0]}
            asked = {
                package
                for package in roots & optional
                if EXTRAS[package] not in (ROOMS.get("/".join(sheet.place.split("/")[:2])), ROOMS.get(sheet.place))
            } - guarded
            if asked and "/kernels/" not in sheet.place:
                found.append(f"{sheet.place} imports {asked}")
    assert found == []


@pytest.mark.parametrize(
    ("absent", "arguments", "extra"),
    [
        ({"sqlalchemy", "psycopg", "sqlglot"}, ["discover", "sqlite:///people.db"], "sql"),
        ({"starlette"}, ["studio", "--no-browser"], "studio"),
        ({"sqlalchemy", "psycopg", "sqlglot"}, ["demo", "--scenario", "database", "--out", "{tmp}/demo"], "sql"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(
    absent: set[str], arguments: list[str], extra: str, tmp_path: Path
) -> None:
    done = run_without(absent, [argument.format(tmp=tmp_path) for argument in arguments])
    assert done.returncode == 7, done.stderr
    assert f"pip install 'sfumato[{extra}]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_tables_need_no_extra(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(
        "age,ill\n" + "\n".join(f"{20 + i % 9},{i % 3}" for i in range(60)), encoding="utf-8"
    )
    policy = "version: 1\ndata: {kind: table, source: d.csv}\ncolumns: {age: quasi-identifier, ill: sensitive}\n"
    (tmp_path / "p.yaml").write_text(
        policy + "protect: [k-anonymity: {k: 2}]\nmethod: {mondrian: {}}\n", encoding="utf-8"
    )
    publish = ["publish", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "out")]
    done = run_without(set(EXTRAS), publish, ["verify", str(tmp_path / "out"), "--original", str(tmp_path / "d.csv")])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("✓ k-anonymity") == 2, "both of them ran"


def test_rules_that_need_the_solver_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.core.extras.find_spec", lambda package: None)
    with pytest.raises(MissingExtra, match="solving rules") as refusal:
        SolverModel()
    assert refusal.value.hint == "install it with: pip install 'sfumato[rules]'"


@pytest.mark.parametrize("package", [package for package, extra in EXTRAS.items() if not extra])
def test_a_library_without_an_extra_is_named_by_itself(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.core.extras.find_spec", lambda package: None)
    with pytest.raises(MissingExtra, match=f"a frame needs the package {package}") as refusal:
        require(package, "a frame")
    assert refusal.value.hint == f"install it with: pip install {package}"


def test_old_names_of_extras_can_still_be_asked_for() -> None:
    assert {"graphs", "frames", "pandas", "privacy", "spark", "all", "dev"} <= PROJECT["optional-dependencies"].keys()


def test_an_unknown_package_is_refused_by_its_own_name() -> None:
    assert not available("no_such_package_here")
    with pytest.raises(ImportError, match="no_such_package_here"):
        require("no_such_package_here", "this test")


def test_the_wheel_contains_the_pages_that_messages_point_at() -> None:
    """Every page named in the code goes into the wheel, and what goes in exists."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packed = whole["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    named = {
        page
        for path in SOURCE.rglob("*.py")
        for page in re.findall(r"docs/[a-z_/-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert named <= packed.keys()
    assert len(named) > 3
    for source, inside in packed.items():
        assert (ROOT / source).is_file()
        assert inside == f"sfumato/{source}"


def test_the_front_door_names_where_the_project_lives() -> None:
    assert {"Documentation", "Source", "Changelog", "Issues"} <= PROJECT["urls"].keys()
