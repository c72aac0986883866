"""Every pair of claims with different outsiders and hidden columns, one after the other: what is said to hold no world
breaks.

Two exact tables of four people under one claim each. The judge here knows nothing of joint classes or of promises that
replace others: it lists all ways to give the rows of both tables to people, keeps those that agree with what a claim's
outsider knows of everybody, and asks whether everybody is left with two values of what the claim hides."""

from collections import Counter
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.table import Table
from sfumato.history import standing_requirements
from sfumato.history.judge.earlier_requirements import EarlierPromises
from sfumato.history.judge.series import judge_series
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import History, Memory, PastRelease
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.slow import SLOW

KNOWN, HIDDEN, PEOPLE = ("a", "b", "c"), ("s", "t"), 4
GIVEN = [some for size in (1, 2, 3) for some in combinations(KNOWN, size)]
CLAIMS = [(given, hide) for given in GIVEN for hide in (("s",), ("t",), ("s", "t"))]
PEOPLE_OF = {
    "example 1.1": {"a": "1122", "b": "xyxy", "c": "kkkk", "s": "ABCD", "t": "MNNM"},
    "three columns": {"a": "1122", "b": "xyxy", "c": "kllk", "s": "ABBA", "t": "MNMN"},
    "one column tells": {"a": "1122", "b": "xxxx", "c": "klkl", "s": "ABBA", "t": "MMNN"},
}
SHOWN = {"a, then b": ("ast", "bst"), "all, then less": ("abs", "cst"), "a, then a and c": ("as", "acst")}
TRIED = [("example 1.1", "a, then b"), ("three columns", "a, then a and c"), ("one column tells", "a, then b")]
PAIRS = list(product(CLAIMS, repeat=2))
SHARES = [PAIRS] * 3 if SLOW else [PAIRS[::2], PAIRS[1::2], PAIRS[::2]]
"""Which pairs each of these is tried with: every pair with one of them at least."""


def release(people, shown, claim, number):
    """An exact table of everybody, and the policy that it was published under."""
    given, hide = claim
    columns = {
        name: {"role": "quasi-identifier" if name in KNOWN else "sensitive", "publish": name in shown}
        for name in "abcst"
    }
    protect = [{"given": list(given), "hide": list(hide), "by": {"l-diversity": {"l": 2}}}]
    policy = Policy.parse({"version": 1, "columns": {"id": "identifier", **columns}, "protect": protect, "key": "id"})
    table = pa.table({name: list(people[name]) for name in shown})
    memory = Memory(tuple("pqrs"), np.arange(PEOPLE), Table(table), np.zeros(PEOPLE, dtype=bool))
    return PastRelease(ReleaseView(Recoded(), {"data": Part(table)}, policy), memory, number)


def says_it_holds(first, second):
    """What the audit says of the second release beside the first."""
    history = History((first, second))
    exhibit = ReleaseView(Recoded(), second.exhibit.parts, second.exhibit.policy, history=history)
    found = [judge_series(exhibit, claim, None) for claim in exhibit.policy.claims]
    found += [EarlierPromises().examine(exhibit)] if EarlierPromises().ready(exhibit) else []
    return all(finding.holds and not finding.open for finding in found)


@cache
def left_with(story, tables, given):
    """Per hidden column that is published, what everybody may have, for an outsider who knows `given` of everybody."""
    people = PEOPLE_OF[story]
    may = {name: [set() for _ in range(PEOPLE)] for name in HIDDEN if any(name in shown for shown in tables)}
    for rows in product(permutations(range(PEOPLE)), repeat=len(tables)):
        told = [{name: {people[name][r[p]] for r, shown in zip(rows, tables,
        strict=True) if name in shown} for name in "abcst"}
                for p in range(PEOPLE)]  # fmt: skip
        alone = all(len(values) <= 1 for one in told for values in one.values())
        if alone and all(told[p][name] <= {people[name][p]} for p in range(PEOPLE) for name in given):
            for name, sets in may.items():
                for p in range(PEOPLE):
                    sets[p] |= told[p][name]
    return may


def broken(story, tables, claim):
    """Whether somebody is left with one value of something that the claim hides, for its own outsider."""
    given, hide = claim
    may = left_with(story, tables, given)
    return any(len(values) < 2 for name in hide if name in may for values in may[name])


def judged(story, shown, pairs=PAIRS):
    """Per pair of claims: was it said to hold, and does it break a promise?"""
    tables, people = SHOWN[shown], PEOPLE_OF[story]
    before = {claim: release(people, tables[0], claim, 1) for claim in CLAIMS}
    after = {claim: release(people, tables[1], claim, 2) for claim in CLAIMS}
    for first, second in pairs:
        yield says_it_holds(before[first], after[second]), broken(story, tables, first) or broken(story, tables, second)


def test_every_pair_is_tried():
    assert len(PAIRS) == len(CLAIMS) ** 2
    assert all(any(pair in share for share in SHARES) for pair in PAIRS)


@pytest.mark.parametrize(
    ("tried", "pairs"), list(zip(TRIED, SHARES, strict=True)), ids=["-".join(tried) for tried in TRIED]
)
def test_no_pair_of_claims_holds_that_some_outsider_breaks(tried, pairs):
    found = Counter(judged(*tried, pairs))
    assert found.total() == len(pairs)
    assert not found[True, True]
    assert found[True, False] > len(pairs) // 22
    assert found[False, True] > len(pairs) // 22


@pytest.mark.parametrize("story", TRIED)
def test_a_later_claim_in_the_place_of_a_wider_one_is_found(monkeypatch, story):
    """The control: what was once the rule, that any claim about the same columns replaces an earlier one."""
    monkeypatch.setattr(
        standing_requirements,
        "_replaces",
        lambda new, old: standing_requirements._about(new) == standing_requirements._about(old),
    )
    assert (True, True) in judged(*story)


def test_a_later_claim_about_less_in_the_place_of_one_about_more_is_found(monkeypatch):
    """The control for hidden columns: a promise about one of two columns replaces none about both."""
    monkeypatch.setattr(
        standing_requirements,
        "_replaces",
        lambda new, old: set(new.given) >= set(old.given) and set(new.hide) <= set(old.hide),
    )
    assert (True, True) in judged("one column tells", "a, then b")
