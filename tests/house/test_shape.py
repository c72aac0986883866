"""The shape of the house: short functions, files of one idea, one name for one thing, and invariants marked where they
are kept."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from blueprint import ROOT, Sheet, nodes, sheets

from sfumato.core.registry import catalogue
from sfumato.models.base import Model
from sfumato.release.form import Form
from tests.conftest import DEAR, together

LONGEST_FUNCTION = 50
LONGEST_FILE = 950
VAGUE = {"utils", "util", "helpers", "helper", "manager", "common", "misc", "tools"}
SPINE = {"workflow", "audit"}
"""Rooms that know neither which kind of data nor which model they look at."""
KINDS = {"Table", "RelatedTable", "Baskets", "Graph", "Database"}
INVARIANT = re.compile(r"^\s+(I\d+)\b", re.MULTILINE)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body; the docstring is free."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def unmarked(sheet: Sheet) -> list[str]:
    """Invariants that the page names and no line below it claims to keep."""
    marked = set(re.findall(r"\bI\d+\b", sheet.below_the_page))
    return [name for name in dict.fromkeys(INVARIANT.findall(sheet.page)) if name not in marked]


def test_functions_are_short() -> None:
    long = [
        f"{sheet.place}: {function.name} has {lines_of(function)} lines"
        for sheet in sheets()
        for function in functions(sheet.tree)
        if lines_of(function) > LONGEST_FUNCTION
    ]
    assert long == []


def test_files_are_short() -> None:
    assert [sheet.place for sheet in sheets() if len(sheet.text.splitlines()) > LONGEST_FILE] == []


def test_every_file_says_what_it_is() -> None:
    assert [sheet.place for sheet in sheets() if not sheet.page.strip()] == []


def test_no_file_has_a_vague_name() -> None:
    names = {part.removesuffix(".py").strip("_") for sheet in sheets() for part in sheet.place.split("/")}
    assert names & VAGUE == set()


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for sheet in sheets():
        for node in sheet.tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(sheet.place)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_invariants_are_marked_where_they_are_kept() -> None:
    forgotten = {sheet.place: missing for sheet in sheets() if (missing := unmarked(sheet))}
    assert forgotten == {}


def test_a_mark_names_an_invariant_of_its_page() -> None:
    """A comment ``# I2`` in a file whose page names no I2 marks nothing."""
    stray = {}
    for sheet in sheets():
        marks = set(re.findall(r"#[^\n]*\b(I\d)\b", sheet.below_the_page))
        if unknown := marks - set(INVARIANT.findall(sheet.page)):
            stray[sheet.place] = sorted(unknown)
    assert stray == {}


def told_apart(sheet: Sheet, classes: set[str], words: set[str]) -> list[str]:
    """Where somebody asks of which class an object is, or compares the name of a form or model with a word."""
    found = []
    for node in ast.walk(sheet.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            asked = {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)}
        elif isinstance(node, ast.Compare) and {getattr(inner, "attr", "") for inner in ast.walk(node)} & {
            "form",
            "model",
        }:
            asked = {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)} & words
        else:
            continue
        found += [f"{sheet.place}:{node.lineno} {name}" for name in sorted(asked & (classes | words))]
    return found


def test_nothing_is_told_apart_by_its_class_or_its_name() -> None:
    """The floor alone knows definitions by their names: it shares nothing with the models that it counts again."""
    models, forms = catalogue("models", Model), catalogue("forms", Form)
    classes = KINDS | {each.__name__ for each in models.values()}
    words = {*models, *forms}
    free = [
        sheet
        for sheet in sheets()
        if sheet.room != "models"
        and not sheet.place.endswith("/form.py")
        and not sheet.place.startswith("audit/recount/")
    ]
    assert [
        place
        for sheet in free
        for place in told_apart(sheet, classes if sheet.room in SPINE and sheet.place.count("/") == 1 else set(), words)
    ] == []


def test_what_begins_first_is_there() -> None:
    """A dear file that was renamed would begin at any time, and everybody would wait for it in the end."""
    files = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "tests").glob("*/test_*.py")
    }
    tests = [f"{file}::{name}" for file, text in files.items() for name in re.findall(r"^def (test_\w+)", text, re.M)]
    assert set(DEAR) <= {together(test).partition("#")[0] for test in tests}


def test_the_measures_can_fail() -> None:
    text = (
        '"""Page.\n\nInvariants\n    I1  kept\n    I2  forgotten\n"""\ndef f():\n    """Doc."""\n    x = 1  # I1\n   '
        " return x\n"
    )
    sheet = Sheet("room/file.py", text, ast.parse(text))
    assert unmarked(sheet) == ["I2"]
    assert [lines_of(function) for function in functions(sheet.tree)] == [2]
    text = (
        'isinstance(data, Table | None)\nexhibit.form.name == "graph"\nform in ("graph", x.model)\nisinstance(data,'
        " str)\n"
    )
    assert told_apart(Sheet("workflow/file.py", text, ast.parse(text)), {"Table"}, {"graph"}) == [
        "workflow/file.py:1 Table",
        "workflow/file.py:2 graph",
        "workflow/file.py:3 graph",
    ]


def test_slow_tests_have_one_switch() -> None:
    """`tests/slow.py` reads it, `tests/conftest.py` sets it."""
    readers = {sheet.place for sheet in sheets(ROOT / "tests", containing="SFUMATO_" + "SLOW")}
    assert readers - {"slow.py", "conftest.py"} == set()
