"""Which records an adversary who can tell old rows from new ones joins over a series: one history per cohort."""

from __future__ import annotations

from pathlib import Path

import sfumato as sf
from sfumato.history.judge.sequence import cohorts_of
from sfumato.history.ledger import Ledger
from tests.secret import secret

POLICY = {
    "version": 1,
    "key": "id",
    "columns": {"id": "identifier", "a": "quasi-identifier", "s": "sensitive"},
    "method": "mondrian",
    "protect": [{"l-diversity": {"l": 2}}],
}


def test_a_cohort_that_has_left_is_no_history(tmp_path: Path) -> None:
    """Four people come with the second release and are gone in the third: nobody of the newest release joined then."""
    book = tmp_path / "book"
    for number, many in enumerate((4, 8, 4)):
        data = {"id": [f"p{i}" for i in range(many)], "a": list("00112233")[:many], "s": list("xyxyxyxy")[:many]}
        made = sf.publish(sf.Policy.parse(POLICY), data, ledger=book, new_ledger=not number, seed=secret(number))
        made.write(tmp_path / f"out-{number}", report=False)
    history, _ = Ledger(book).place()
    (cohort,) = cohorts_of(history)
    assert len(cohort) == 3
    assert all(set(past.memory.keys) == {"p0", "p1", "p2", "p3"} for past in cohort.releases)
