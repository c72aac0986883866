"""Anatomy: two tables linked by buckets only, judged by an outsider's posterior from the definition."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.audit.certify import judge_claims
from sfumato.kinds.subtables.form import AnatomyForm
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.slow import SLOW

POLICY = {
    "version": 1,
    "columns": {"age": "quasi-identifier", "sex": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"l-diversity": {"l": 2, "kind": "frequency"}}],
    "method": {"anatomy": {}},
}


def people(seed: int) -> dict[str, list[str]]:
    rng = random.Random(seed)
    n = rng.randint(2, 20)
    return {
        "age": [str(rng.randint(30, 33)) for _ in range(n)],
        "sex": [rng.choice("FM") for _ in range(n)],
        "illness": [rng.choice("abcd"[: rng.randint(2, 4)]) for _ in range(n)],
    }


def posterior(parts: dict[str, list[dict[str, str]]]) -> Fraction:
    """The largest probability of one value for anybody: rows with the same quasi-identifiers are a mixture of their
    buckets."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in parts["sensitive"]:
        counts[str(row["bucket"])][row["value"]] += int(row["count"])
    buckets = defaultdict(list)
    for row in parts["data"]:
        buckets[row["age"], row["sex"]].append(str(row["bucket"]))
    worst = Fraction(0)
    for mine in buckets.values():
        for value in {value for bucket in mine for value in counts[bucket]}:
            share = sum(Fraction(counts[bucket][value], counts[bucket].total()) for bucket in mine) / len(mine)
            worst = max(worst, share)
    return worst


@pytest.mark.parametrize("seed", range(150 if SLOW else 60))
def test_nobody_is_guessed_with_more_than_one_half(seed: int) -> None:
    data = people(seed)
    eligible = 2 * max(Counter(data["illness"]).values()) <= len(data["illness"])
    if not eligible:
        with pytest.raises(sf.Infeasible):
            sf.publish(sf.Policy.parse(POLICY), data=data)
        return
    parts = {
        name: part.table.to_pylist()
        for name, part in sf.publish(sf.Policy.parse(POLICY), data=data).release.parts.items()
    }
    assert posterior(parts) <= Fraction(1, 2)
    assert sorted(row["age"] + row["sex"] for row in parts["data"]) == sorted(
        map("".join, zip(data["age"], data["sex"], strict=True))
    )
    listed = Counter(dict.fromkeys("abcd", 0))
    for row in parts["sensitive"]:
        listed[row["value"]] += row["count"]
    assert +listed == Counter(data["illness"])


def test_k_anonymity_is_refused_before_data_is_read() -> None:
    with pytest.raises(sf.PolicyError, match="anatomy"):
        sf.publish(sf.Policy.parse({**POLICY, "protect": [{"k-anonymity": {"k": 2}}]}), data={"age": ["1"]})


def test_several_sensitive_columns_and_the_folder(tmp_path: Path) -> None:
    rng = random.Random(1)
    data = {
        "age": [str(rng.randint(20, 60)) for _ in range(300)],
        "sex": [rng.choice("FM") for _ in range(300)],
        "illness": [rng.choice("abcd") for _ in range(300)],
        "job": [rng.choice("vwxyz") for _ in range(300)],
    }
    columns = {**POLICY["columns"], "job": "sensitive"}
    publication = sf.publish(sf.Policy.parse({**POLICY, "columns": columns}), data=data)
    publication.write(tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").glob("sensitive*")} == {
        "sensitive-illness.csv",
        "sensitive-job.csv",
    }
    assert sf.verify(tmp_path / "out", original=data).holds


def test_a_bucket_made_uniform_is_found(tmp_path: Path) -> None:
    data = {"age": ["1", "2", "3", "4"], "sex": ["F"] * 4, "illness": ["a", "b", "a", "b"]}
    sf.publish(sf.Policy.parse(POLICY), data=data, seed=1).write(tmp_path / "out", report=False)
    listed = tmp_path / "out" / "sensitive.csv"
    listed.write_text(listed.read_text().replace(",b,", ",a,"))
    assert "l-diversity" in {finding.model for finding in sf.verify(tmp_path / "out").findings if not finding.holds}


def test_a_column_beside_the_bucket_is_not_read_as_what_the_bucket_hides() -> None:
    """Bed stands in data.csv as it is; the counts in the sensitive part are those of another column."""
    columns = {"age": "quasi-identifier", "bed": "other", "illness": "sensitive"}
    claims = [{"given": ["age"], "hide": "bed", "by": {"p-sensitivity": {"p": 2}}}]
    policy = sf.Policy.parse({"version": 1, "columns": columns, "protect": claims})
    data = Part({"age": ["30", "31"], "bed": ["7", "8"], "bucket": ["1", "1"]})
    listed = Part({"bucket": ["1", "1"], "value": ["flu", "gout"], "count": ["1", "1"]})
    (finding,) = judge_claims(ReleaseView(AnatomyForm(), {"data": data, "sensitive": listed}, policy))
    assert not finding.holds
    assert finding.achieved == {"p": 1}
    both = sf.Policy.parse(
        {"version": 1, "columns": columns | {"pay": "sensitive"}, "protect": [{"p-sensitivity": {"p": 2}}]}
    )
    (finding,) = judge_claims(ReleaseView(AnatomyForm(), {"data": data, "sensitive": listed}, both))
    assert finding.reason == "no part lists the values of 'illness'"
