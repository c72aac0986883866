"""Sub-tables compare with the distribution that a requirement states, alone and in a series, as possible worlds do."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import log
from pathlib import Path

import pytest

import sfumato as sf
from tests.judges.subtables import Beliefs, Distribution, beliefs, read_release, satisfied
from tests.secret import secret

METHODS = ("single-attribute", "guardian", "utility-aware", "anatomy")
LEVELS = {
    "t-closeness": [{"t": 0.1}, {"t": 0.4}, {"t": 0.7}],
    "beta-likeness": [{"beta": 0.2}, {"beta": 1.5}, {"beta": 4}],
    "delta-disclosure": [{"delta": 0.4}, {"delta": 1.5}, {"delta": 4}],
}
COLUMNS = {"id": "identifier", "a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive"}


def policy(method: str, claim: dict[str, object]) -> sf.Policy:
    return sf.Policy.parse({"version": 1, "key": "id", "columns": COLUMNS, "protect": [claim], "method": method})


def shares(counts: dict[str, int]) -> Distribution:
    return {(value,): Fraction(count, sum(counts.values())) for value, count in counts.items()}


def farthest(belief: Beliefs, stated: Distribution) -> float:
    """The largest |ln q/p| of the definition."""
    return max(abs(log(mine[value] / stated[value])) for mine in belief.of.values() for value in stated)


def test_a_stated_reference_is_kept_in_all_possible_worlds(tmp_path: Path) -> None:
    """Random tables and references far from what the tables show: what is certified holds against the stated one."""
    chance, seen = random.Random(50), Counter[str]()
    for case in range(120):
        many, method = chance.choice([4, 5, 6]), chance.choice(METHODS)
        model = chance.choice(list(LEVELS))
        level = chance.choice(LEVELS[model])
        data = {"id": [str(i) for i in range(many)]}
        data |= {name: [chance.choice("01") for _ in range(many)] for name in "abs"}
        reference = {"0": chance.randint(1, 9), "1": chance.randint(1, 9)}
        asked = policy(method, {model: {**level, "reference": {"s": reference}}})
        try:
            made = sf.publish(asked, data, seed=secret(case))
        except sf.Infeasible:
            seen["not published"] += 1
            continue
        folder = made.write(tmp_path / str(case), report=False)
        belief = beliefs(read_release(folder, "s"), ["a", "b"], ["s"])
        stated = replace(belief, everybody=shares(reference))
        assert satisfied(model, level, stated), (method, model, level, data, reference)
        assert sf.verify(folder, original=data).holds
        seen[method] += 1
        if model == "delta-disclosure":
            achieved = made.certificate.findings[0].achieved["delta"]
            assert achieved == pytest.approx(farthest(belief, shares(reference)), rel=1e-5)
            seen["counted"] += 1
    assert min(seen[name] for name in (*METHODS, "counted", "not published")) > 2, seen


def test_newcomers_with_one_value_wait_instead_of_a_refusal_by_the_audit(tmp_path: Path) -> None:
    """Two people come who both have a cold: they would be told by their presence, so the next release leaves them out.

    The certificate of the second release counts the level against the values of the first one, as the recount does.
    """
    book, asked = tmp_path / "book", policy("single-attribute", {"delta-disclosure": {"delta": 2}})
    first = {"id": list("123456"), "a": list("001100"), "b": list("010101")}
    first["s"] = ["gout", "gout", "gout", "cold", "flu", "cold"]
    made = sf.publish(asked, first, ledger=book, new_ledger=True, seed=secret(1))
    made.write(tmp_path / "first", report=False)
    more = {"id": ["7", "8"], "a": ["0", "1"], "b": ["1", "1"], "s": ["cold", "cold"]}
    second = {name: values + more[name] for name, values in first.items()}
    later = sf.publish(asked, second, ledger=book, seed=secret(2))
    folder = later.write(tmp_path / "second", report=False)
    (told,) = [sheet for sheet in read_release(folder) if sheet.columns == ("s",)]
    assert Counter(value for (value,) in told.rows) == Counter(first["s"])
    assert sf.verify(folder, original=second, ledger=book).holds
    assert all(finding.holds for finding in sf.verify(folder).findings)


def test_a_later_release_is_counted_against_the_first(tmp_path: Path) -> None:
    """One of each value comes: alone the release is like itself, and against the first one gout is rarer."""
    book, asked = tmp_path / "book", policy("single-attribute", {"delta-disclosure": {"delta": 2}})
    first = {"id": list("123456"), "a": list("001100"), "b": list("010101")}
    first["s"] = ["gout", "gout", "gout", "cold", "gout", "gout"]
    made = sf.publish(asked, first, ledger=book, new_ledger=True, seed=secret(1))
    made.write(tmp_path / "first", report=False)
    more = {"id": ["7", "8"], "a": ["0", "1"], "b": ["1", "1"], "s": ["cold", "gout"]}
    second = {name: values + more[name] for name, values in first.items()}
    folder = sf.publish(asked, second, ledger=book, seed=secret(2)).write(tmp_path / "second", report=False)
    belief = beliefs(read_release(folder), ["a", "b"], ["s"])
    assert belief.everybody[("cold",)] == Fraction(2, 8)
    (alone,) = [each for each in sf.verify(folder).findings if each.model == "delta-disclosure"]
    assert alone.achieved["delta"] == pytest.approx(log(Fraction(2, 8) / Fraction(1, 6)), rel=1e-5)


def test_a_combination_with_a_stated_reference_is_refused() -> None:
    """A reference counts the values of single columns; it says nothing about their combination."""
    claim = {"given": ["a"], "hide": ["b", "s"], "by": {"t-closeness": {"t": 0.5, "reference": {"s": {"0": 1}}}}}
    columns = COLUMNS | {"b": "sensitive"}
    with pytest.raises(sf.PolicyError, match="about a combination of columns"):
        sf.Policy.parse({"version": 1, "columns": columns, "protect": [claim], "method": "single-attribute"})


def test_shares_that_are_rounded_do_not_break_a_level_that_they_reach(tmp_path: Path) -> None:
    """Two of five values in the one bucket are alike: a share of 2/5 is just what k = 2.5 allows."""
    claim = {"given": ["a", "b"], "hide": "s", "by": {"k-diversity": {"k": 2.5}}}
    data = {"id": list("12345"), "a": list("01234"), "b": list("01010"), "s": list("xxyzw")}
    folder = sf.publish(policy("guardian", claim), data, seed=secret(1)).write(tmp_path / "out", report=False)
    belief = beliefs(read_release(folder), ["a", "b"], ["s"])
    assert max(share for mine in belief.of.values() for share in mine.values()) == Fraction(2, 5)
    assert not sf.verify(folder, original=data).violated
