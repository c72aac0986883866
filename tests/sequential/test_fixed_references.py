"""Models that compare with the whole table keep their promise over releases, because all of them compare with one
distribution."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

import sfumato as sf
from benchmarks.fixed_references import Settings, configurations, play, run_random
from sfumato.core.errors import LedgerError
from sfumato.policy.yaml_document import read_yaml

AGES = [str(20 + i % 8) for i in range(24)]
ILLNESS = ["flu", "flu", "cold", "gout"] * 6


@pytest.mark.parametrize(
    "settings",
    list(configurations({"t-closeness": {"t": 0.5}})),
    ids=lambda one: f"{one.own_given}-{one.leaving}-{one.cohorts}",
)
def test_every_release_of_a_series_is_published(settings: Settings) -> None:
    outcome = play(settings, 1)
    assert outcome.refused == outcome.infeasible == []
    assert len(outcome.suppressed) == 4


def test_random_series_are_published_with_little_suppression() -> None:
    rows, refused = run_random(14, "test")
    assert refused == []
    assert next(row[5] for row in rows if row[0] == "all") < 0.1


def table(ids: range, illness: list[str], ages: list[str] | None = None) -> dict[str, list[str]]:
    many = len(ids)
    return {"id": [f"p{i}" for i in ids], "age": (ages or AGES * 3)[:many], "illness": illness[:many]}


def policy(claim: dict[str, object], **more: object) -> sf.Policy:
    columns = {"id": "identifier", "age": "quasi-identifier", "illness": "sensitive"}
    tree = {
        "version": 1,
        "key": "id",
        "columns": columns,
        "method": "mondrian",
        "protect": [{"k-anonymity": {"k": 2}}, claim],
    }
    return sf.Policy.parse(tree | more)


def published(place: Path, number: int, asked: sf.Policy, data: dict[str, list[str]]) -> Path:
    book = place / "series.ledger"
    made = sf.publish(asked, data, ledger=book, new_ledger=not book.exists())
    return made.write(place / f"release-{number}", report=False)


def distance_from_first(first: Path, release: Path) -> float:
    """The farthest class of a release from the values of the first one, by the definition."""
    rows = [
        list(csv.DictReader((folder / "data.csv").read_text(encoding="utf-8").splitlines()))
        for folder in (first, release)
    ]
    whole = Counter(row["illness"] for row in rows[0])
    classes: dict[str, Counter[str]] = {}
    for row in rows[1]:
        classes.setdefault(row["age"], Counter())[row["illness"]] += 1
    values = {row["illness"] for both in rows for row in both}

    def apart(mine: Counter[str]) -> float:
        return sum(abs(mine[value] / mine.total() - whole[value] / whole.total()) for value in values) / 2

    return max(map(apart, classes.values()))


def test_later_releases_compare_with_the_first_and_say_so(tmp_path: Path) -> None:
    """Everybody who comes has gout: the release as a whole moves away from what the classes are compared with."""
    claim = {"t-closeness": {"t": 0.4}}
    first = published(tmp_path, 1, policy(claim), table(range(24), ILLNESS))
    more = [*ILLNESS, *["gout", "gout", "flu"] * 6]
    second = published(tmp_path, 2, policy(claim), table(range(42), more))
    stated = read_yaml(second / "policy.yaml").tree["protect"][1]["t-closeness"]["reference"]
    assert {value: int(count) for value, count in stated["illness"].items()} == {"flu": 12, "cold": 6, "gout": 6}
    assert distance_from_first(first, second) <= 0.4
    assert "fixed distribution" in (second / "certificate.json").read_text(encoding="utf-8")
    for folder in (first, second):
        assert not sf.verify(folder).violated  # a recipient without the ledger counts with the same distribution
        assert not sf.verify(folder, ledger=tmp_path / "series.ledger").violated


def test_another_distribution_in_the_folder_is_found_with_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit refuses a release that does not compare with what its series compares with."""
    from sfumato.workflow import publish as workflow

    claim = {"t-closeness": {"t": 0.6}}
    published(tmp_path, 1, policy(claim), table(range(24), ILLNESS))
    monkeypatch.setattr(workflow, "policy_of_series", lambda asked, _: asked)
    with pytest.raises(sf.AuditRefused, match="another distribution"):
        published(tmp_path, 2, policy(claim), table(range(30), ILLNESS * 2))


@pytest.mark.parametrize(
    "claim", [{"beta-likeness": {"beta": 3}}, {"delta-disclosure": {"delta": 2}}], ids=lambda one: next(iter(one))
)
@pytest.mark.parametrize("cohorts", ["known", "unknown"])
def test_who_has_a_value_that_the_reference_lacks_is_suppressed(
    tmp_path: Path, claim: dict[str, object], cohorts: str
) -> None:
    asked = policy(claim, series={"cohorts": cohorts})
    published(tmp_path, 1, asked, table(range(24), ILLNESS))
    second = published(tmp_path, 2, asked, table(range(32), [*ILLNESS, "mumps", *ILLNESS]))
    shown = [row["illness"] for row in csv.DictReader((second / "data.csv").read_text(encoding="utf-8").splitlines())]
    assert "mumps" not in shown
    assert len(shown) == 31


def test_a_stated_distribution_counts_and_stays(tmp_path: Path) -> None:
    """The policy may say what is known of everybody; the recount and the audit count with it, and a later one cannot
    differ."""
    stated = {"t-closeness": {"t": 0.5, "reference": {"illness": {"flu": 1, "cold": 1, "gout": 1}}}}
    first = published(tmp_path, 1, policy(stated), table(range(24), ILLNESS))
    assert not sf.verify(first).violated
    far = {"t-closeness": {"t": 0.1, "reference": {"illness": {"mumps": 1}}}}
    with pytest.raises(sf.Infeasible):
        sf.publish(policy(far), table(range(24), ILLNESS))
    with pytest.raises(LedgerError, match="another 'reference'"):
        published(
            tmp_path,
            2,
            policy({"t-closeness": {"t": 0.5, "reference": {"illness": {"flu": 2}}}}),
            table(range(24), ILLNESS),
        )


@pytest.mark.parametrize(
    "written", [{"illness": {"flu": 0}}, {"illness": {}}, {}, {"illness": {"flu": "many"}}, {"age": {"30": 1}}, [1]]
)
def test_a_distribution_without_counts_is_refused(written: object) -> None:
    with pytest.raises(sf.PolicyError):
        policy({"t-closeness": {"t": 0.5, "reference": written}})
