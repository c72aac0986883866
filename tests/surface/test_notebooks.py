"""The notebooks in `examples/` run from the first cell to the last, and everything they show can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def cells(path: Path) -> list[str]:
    tree = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in tree["cells"] if cell["cell_type"] == "code"]


def test_there_are_three() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = 0
    for cell in cells(path):
        tree = ast.parse(cell)
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
        exec(compile(tree, path.name, "exec"), names)
        value = eval(compile(last, path.name, "eval"), names) if last is not None else None
        if hasattr(value, "_repr_html_"):
            shown += "<" in value._repr_html_()
    assert shown >= 1
    assert any("assert " in cell for cell in cells(path))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    tree = json.loads(path.read_text(encoding="utf-8"))
    assert not [cell for cell in tree["cells"] if cell.get("outputs") or cell.get("execution_count")]
