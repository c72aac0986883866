"""A cluster of real processes, with tasks that fail twice, speculation, and an executor that is killed while rows are
written."""

from __future__ import annotations

from collections import Counter

import sfumato as sf
from tests.engines.conftest import Submitted
from tests.engines.people import people, rows_of
from tests.engines.settings import MASTER

VALUES = ("gout", "Bonn", "Köln", "north")
"""Of sensitive, known and other columns."""


def test_nobody_is_lost_or_doubled(submitted: Submitted) -> None:
    """The release of a troubled cluster holds, also beside the original, and everybody is in it once."""
    code, said, logged = submitted.said()
    assert code == 0, logged[-2000:]
    assert f"master {MASTER}" in said
    assert "killed True" in said
    published, original = rows_of(submitted.place / "out"), people(400)
    assert published.num_rows == original.num_rows
    for name in ("illness", "ward"):
        assert Counter(published.column(name).to_pylist()) == Counter(original.column(name).to_pylist())
    assert sf.verify(submitted.place / "out", original=original).holds
    executors = submitted.logs()
    assert len(executors) == 3  # two, and one in place of the killed one
    assert any("this task fails" in log for log in executors)
    values = ["somebody", *VALUES]
    assert not [value for log in (logged, *executors) for value in values if value in log]
