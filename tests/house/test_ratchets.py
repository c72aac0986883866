"""The size of the source may only shrink: figures of `benchmarks/codebase.py` against the limits in `ratchets.json`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.codebase import LIMITS, figures

LIMIT: dict[str, int] = json.loads(LIMITS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> dict[str, int]:
    return figures()


@pytest.mark.parametrize("name", LIMIT)
def test_a_figure_is_within_its_limit(found: dict[str, int], name: str) -> None:
    assert found[name] <= LIMIT[name], "make it smaller, or raise the limit by hand and say why in the commit"


def test_a_new_file_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "__init__.py").write_text('"""Nothing."""\n')
    (tmp_path / "a" / "b.py").write_text('"""A page."""\n\nfrom os import sep\n\n\ndef counted():\n    return sep\n')
    assert figures(tmp_path) == {
        "files": 2,
        "code lines": 2,
        "top folders": 1,
        "modules with a single importer": 0,
        "functions named by a participle": 1,
        "lines of the largest module": 7,
        "modules above 700 lines": 0,
    }
