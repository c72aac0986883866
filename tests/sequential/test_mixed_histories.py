"""Everything published is judged together, whatever its form; every judgement is held against all ways to pair rows
with people."""

from copy import copy

import numpy as np
import pytest

from sfumato.history.judge.series import levels_after_each_release, persistent_classes_of
from sfumato.history.published_cells import PublishedCells
from sfumato.history.record_identity import require_one_record_per_row
from sfumato.history.standing_requirements import widen_requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.policy.requirements import PrivacyRequirement
from tests.slow import SLOW

from .mixed_histories import Literal, Story, pairs_of, traded

STORIES, JUDGEMENTS = (40, 150) if SLOW else (16, 30)
"""How many histories, and how many judgements there are at least about them."""


def claims_of(story):
    """One claim for each hidden column that was ever published, with all or one of the columns given, and
    k-anonymity."""
    policy = story.releases[-1].exhibit.policy
    told = sorted({name for past in story.releases for name in past.published} & {"s", "t"})
    given = ("a", "b") if story.rng.random() < 0.7 else (("a",) if story.rng.random() < 0.5 else ("b",))
    return [PrivacyRequirement(LDiversity(l=2), given, (name,)) for name in told] + [
        PrivacyRequirement(KAnonymity(k=2), policy.quasi_identifiers)
    ]


def judged(story, claim, cohorts, drop):
    bundles = PublishedCells(story.history)
    claim = widen_requirement(claim, story.releases[-1].exhibit.policy, bundles.policies) if not claim.hide else claim
    joint = persistent_classes_of(bundles, claim, cohorts)
    tables = [table for sheet in joint.sheets for table in sheet.tables()]
    if drop and len(tables) > 1:
        fewer = copy(bundles)
        fewer.sheets = sorted(tables, key=lambda table: table.releases)[1:]
        joint = persistent_classes_of(fewer, claim, cohorts)
    return claim, bundles, joint


def wrong_worlds(seed, drop=False):
    """(judgements, wrong ones, skipped ones) of one random history: classes beside worlds, in which people trade
    places.

    `drop` leaves the last table out of every bundle, as who judges a release alone does; then some must be wrong.
    """
    story = Story(np.random.default_rng(seed))
    literal = Literal(story)
    for past in story.releases:
        require_one_record_per_row(past)
    assert literal.is_world(literal.truth, {"a", "b"})
    cohorts = bool(story.rng.random() < 0.6)
    counts = np.zeros(3, dtype=int)
    for claim in claims_of(story):
        counts += _claim(story, literal, *judged(story, claim, cohorts, drop), cohorts)
    return counts


def _claim(story, literal, claim, bundles, joint, cohorts):
    person = np.array([int(key[1:]) for key in bundles.keys.to_pylist()])
    tables = [t for sheet in joint.sheets for t in literal.places(sheet)]
    classes = [person[joint.of == c].tolist() for c in range(int(joint.of.max(initial=-1)) + 1)]
    given, counts = set(claim.given), np.zeros(3, dtype=int)
    for one, other in pairs_of(classes):
        counts += (1, not literal.is_world(traded(literal, one, other, tables), given), 0)
    for t in tables:
        for name in (name for name in claim.hide if name in literal.columns(t)):
            for members in classes:
                counts += _values(
                    story, literal, name, t, [p for p in members if p in literal.truth[t]], given, cohorts
                )
    return counts


def _values(story, literal, name, table, members, given, cohorts):
    """Every value of a class must be possible for everybody in it: searched for, not constructed."""
    counts = np.zeros(3, dtype=int)
    values = {str(story.value[name][p]) for p in members}
    for p in members[:2]:
        for value in values - {str(story.value[name][p])}:
            found = literal.possible(p, table, lambda _, row, v=value: row[name] == {v}, given, cohorts)
            counts += (1, found is False, found is None)
    return counts


@pytest.mark.parametrize("part", range(4))
def test_what_joint_classes_say_is_possible_in_some_world(part):
    total = sum((wrong_worlds(1000 * part + n) for n in range(STORIES)), start=np.zeros(3, dtype=int))
    assert total[1] == 0
    assert total[0] > JUDGEMENTS
    assert total[2] < total[0] / 4


def test_judging_without_one_of_the_releases_is_found_out():
    """The control: people who look alike in all tables but one cannot trade places, and the search says so."""
    wrong, n = 0, 0
    while wrong <= 10 and n < 60:
        wrong, n = wrong + wrong_worlds(n, drop=True)[1], n + 1
    assert wrong > 10


def test_the_timeline_counts_everybody_who_was_ever_published():
    """Not those of one table: after each release all who stand in a table that tells the column, or is joined with
    one."""
    different = 0
    for seed in range(30):
        story = Story(np.random.default_rng(seed))
        bundles, claim = PublishedCells(story.history), PrivacyRequirement(LDiversity(l=2), ("a", "b"), ("s",))
        told = [r for r, past in enumerate(story.releases) if "s" in past.published]
        if any({"t", "o"} & set(past.published) for past in story.releases) or not told:
            continue  # columns that tie further tables to the bundle
        for number, verdict in levels_after_each_release(bundles, claim, cohorts=True):
            so_far = [set(story.releases[r].memory.keys) for r in told if r < number]
            assert verdict.people == len(set.union(*so_far))
            different += verdict.people > max(map(len, so_far))
    assert different
