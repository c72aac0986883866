"""What both engines must come to: claims, checks, records, attacks and what is lost."""

from __future__ import annotations

import pytest

import sfumato as sf

_NEAR = {"clustering": 0.05, "refined": 0.05, "guardian": 0.05, "utility-aware": 0.05}
"""How far apart losses may be. Clustering breaks ties by the order of rows, refined by the clock, tables by how buckets
fall."""
_MEASURED = {"other columns"}


def require_same(there: sf.Publication, here: sf.Publication, method: str, claims: int) -> None:
    """A release of the cluster beside one of the same rows that was made here; of so many claims findings are the
    same."""
    assert [f.to_json() for f in there.certificate.findings[:claims]] == [
        f.to_json() for f in here.certificate.findings[:claims]
    ]
    assert {f.model for f in there.certificate.findings} - _MEASURED == {
        f.model for f in here.certificate.findings
    } - _MEASURED
    assert {f.model for f in there.findings} - _MEASURED == {f.model for f in here.findings} - _MEASURED
    assert there.certificate.holds
    mine, theirs = there.certificate.records, here.certificate.records
    assert mine.input == theirs.input
    if method != "refined":  # its search ends by the clock, and so does what it spends of the allowed suppression
        assert mine == theirs
    assert there.certificate.attacks == here.certificate.attacks
    for figure in {"loss", "ntil", "kl_divergence"} & here.utility.keys():
        assert there.utility[figure] == pytest.approx(here.utility[figure], rel=_NEAR.get(method, 0.01))
    assert any("rows stayed on the cluster" in said for said in there.certificate.assumptions)
