"""Every model on Adult: what the audit finds on ARX's optimum is what its definition gives, counted over the published
rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.adult_by_definition import adult, levels, of_population


def test_the_audit_and_the_definitions_agree(public: Path) -> None:
    data = adult()[::8]  # the benchmark takes all
    found = [*levels(data), *of_population(data)]
    assert len(found) == 22
    for name, audited, defined in found:
        assert audited == pytest.approx(defined, rel=6e-6), name
