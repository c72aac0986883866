"""People in several rows: what a release of rows that nothing ties together says about them, counted with the original.

An adversary who knows the quasi-identifiers of one row of a person, of all rows of the person (how many there are
included), or of all rows of all people, sees *worlds*: ways to hand the published rows out to records that fit them.
Rows of one class are written alike, so a world stays one when they trade places.

Notation
    n, f    published rows of a class, and how many of them have a value
    M       rows of a person in the original, published or suppressed, that fit the class; no world has more of theirs
            in it

Guarantee
    k       k·M ≤ n for all people. The rows of a class are equally likely to be a person's, by trading places, and in
            every world at most M of the n are: each with probability at most M/n ≤ 1/k.
    values  f + M ≤ n for every value. At least M rows of the class lack the value, so in some world all rows that the
            person has there do: nobody is certain to have it.
    share   besides the rows', at most that share of the people of a class has a value, in whichever of their rows.
    persistent values  may be intersected over classes. Where a sensitive column is persistent, people with equal bags
    of classes are
            counted instead: at least k of them, no value with all of them, no value above the share.

If a requirement limits the number of known columns (subset anonymity), every choice of so many columns or fewer makes
its own classes, and a suppressed cell fits every value: an adversary who knows fewer columns may find more rows of a
person in a larger class.

Classes may overlap, so a person's rows are counted by fit (M), not by where they are. Shares of people and bags need to
know who stands where: from the private provenance, or where every record fits one class only; else they are *not
judged*.


Listed values
-------------
The sensitive values that a table of buckets lists: which bucket, which value, how often.


People
------
People: if a person may have several rows, every requirement also holds for people, not only for rows.

`kinds.person_evidence` explains what is counted and why it suffices, `history.persons` for several releases. Whose rows
they are is not published, so without the original nothing can be said: *not judged*. In a linked release the pseudonyms
are published, and its reading judges people by itself.


People over releases
--------------------
People in several rows over everything that was ever published: what all releases together say about them.

`history.persons` explains what is counted, for which adversary, and why it suffices. A release is judged alone as well
(`kinds.person_evidence`): an adversary with only the newest table sees other classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from sfumato.core.arrays import BoolArray, IntArray, positions_in_runs
from sfumato.core.errors import DataError
from sfumato.core.wording import Wording
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.generalized_tuples import containing_pairs
from sfumato.data.persons import (
    buckets_disclosing_value,
    most_rows_of_one_person,
    number_equal_multisets,
    persons_of_rows,
)
from sfumato.data.table import Table, TextColumn
from sfumato.history.judge.series import (
    is_membership_known_for_view,
    is_series,
    persistent_classes_of,
    published_cells_of,
)
from sfumato.history.persons import PersonsOfHistory, require_same_persons, violated_classes
from sfumato.history.standing_requirements import standing_requirements
from sfumato.kinds.subtables.form import BUCKET, sensitive_part
from sfumato.kinds.tables.form import is_plain_recoding
from sfumato.models.base import Demand
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.sections import Person
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.evidence import Check, ViolationCount, evidence_for
from sfumato.release.past_releases import History
from sfumato.release.view import ReleaseView

PEOPLE = "people"
"""The finding about them."""


class PersonCount:
    """The rows of a recoded table, the records, and whose they are."""

    def __init__(self, exhibit: ReleaseView) -> None:
        self.exhibit = exhibit
        self.table: Table = exhibit.data
        self.original: Table = exhibit.original
        self.person = persons_of_rows(self.original, person_of(exhibit).unit)

    @cached_property
    def leaves(self) -> Mapping[str, IntArray]:
        """The leaf of every record in each quasi-identifier; −1 fits nothing."""
        found = {}
        for name, domain in self.exhibit.recoded.items():
            text = self.original.text(name)
            found[name] = np.array([domain.code_of.get(label, -1) for label in text.labels], dtype=np.int64)[text.codes]
        return found

    def classes(self, given: Sequence[str]) -> EquivalenceClasses:
        return equivalence_classes_of([self.table.text(name).codes for name in given], rows=self.table.rows)

    def boxes(self, classes: EquivalenceClasses, given: Sequence[str]) -> tuple[IntArray, IntArray]:
        """What each class is written as, as intervals of leaves."""
        lo, hi = [], []
        for name in given:
            code = self.table.text(name).codes[classes.first]
            low, high = self.exhibit.intervals(name)
            lo.append(low[code])
            hi.append(high[code])
        shape = (len(classes), len(given))
        return np.array(lo, dtype=np.int64).T.reshape(shape), np.array(hi, dtype=np.int64).T.reshape(shape)

    def fitting(
        self, records: IntArray, classes: EquivalenceClasses, given: Sequence[str]
    ) -> tuple[IntArray, IntArray]:
        """Pairs of a record and a class that it fits."""
        points = equivalence_classes_of([self.leaves[name][records] + 1 for name in given], rows=len(records))
        leaf = np.array([self.leaves[name][records[points.first]] for name in given], dtype=np.int64).T.reshape(
            -1, len(given)
        )
        i, j = containing_pairs(leaf, leaf + 1, *self.boxes(classes, given))
        order = np.argsort(points.of, kind="stable")
        start = np.concatenate([[0], np.cumsum(points.counts)])
        width = points.counts[i]
        return records[order[np.repeat(start[i], width) + positions_in_runs(width)]], np.repeat(j, width)

    def most(self, classes: EquivalenceClasses, given: Sequence[str]) -> IntArray:
        """Return M of each class; at least 1, since every row has a person."""
        rows = np.bincount(self.person)
        if not given:  # nothing is known: each person's rows fit
            return np.full(len(classes), int(rows.max(initial=1)), dtype=np.int64)
        records = np.flatnonzero(rows[self.person] > 1)
        record, j = self.fitting(records, classes, given)
        pairs = equivalence_classes_of([j, self.person[record]], rows=len(j))
        most = np.ones(len(classes), dtype=np.int64)
        np.maximum.at(most, j[pairs.first], pairs.counts)
        return most

    def judged(self, claim: PrivacyRequirement) -> ViolationCount:
        """One requirement, for people; of one that says how many columns are known, for every choice of so many or
        fewer."""
        if claim.model.joint or not claim.model.demand().sufficient:
            return ViolationCount(0, complete=False)
        most = claim.model.known_columns
        if most is None:
            return self._judged(claim, claim.given)
        numbers = range(min(most, len(claim.given)) + 1)
        found = [self._judged(claim, known) for many in numbers for known in combinations(claim.given, many)]
        fewest = min(one.fewest for one in found if one.fewest is not None)
        return ViolationCount(sum(one.broken for one in found), all(one.complete for one in found), fewest)

    def _judged(self, claim: PrivacyRequirement, given: Sequence[str]) -> ViolationCount:
        demand, classes = claim.model.demand(), self.classes(given)
        most = self.most(classes, given)
        broken = classes.counts < demand.candidates * most
        complete = True
        shown = [name for name in claim.hide if name in self.table.names]
        for name in shown if demand.of_values else ():
            broken |= self._frequent(classes, name) + most > classes.counts
            if demand.largest_share < 1:
                if self.behind is None:
                    complete = False
                else:
                    broken |= ~value_shares_hold(
                        classes.of, self.person[self.behind], self._values(name), demand.largest_share
                    )
        count = int(broken.sum())
        for name in shown:
            if self.exhibit.policy.columns[name].persistent:
                found = self._persistent(classes, name, demand)
                count, complete = count + (found or 0), complete and found is not None
        fewest = int((classes.counts // most).min(initial=self.table.rows))
        return ViolationCount(count, complete, fewest)

    def _frequent(self, classes: EquivalenceClasses, name: str) -> IntArray:
        """Rows with the most frequent value of each class."""
        pairs = equivalence_classes_of([classes.of, self.table.text(name).codes], rows=self.table.rows)
        most = np.zeros(len(classes), dtype=np.int64)
        np.maximum.at(most, classes.of[pairs.first], pairs.counts)
        return most

    def _values(self, name: str) -> IntArray:
        return self.table.text(name).codes.astype(np.int64)

    def _persistent(self, classes: EquivalenceClasses, name: str, demand: Demand) -> int | None:
        """Groups of people with equal bags of classes that break what is asked; nothing when it is not known who stands
        where."""
        if self.behind is None:
            return None
        person = np.unique(self.person[self.behind], return_inverse=True)[1].astype(np.int64)
        bag = number_equal_multisets(person, classes.of)
        return int((~varied(bag[person], person, self._values(name), demand)).sum())

    @cached_property
    def behind(self) -> IntArray | None:
        """The record behind each row, or one that is of the same class and looks alike; nothing when that is not
        known."""
        traced = self.exhibit.behind
        if traced is not None and "data" in traced:
            if len(traced["data"]) != self.table.rows:
                raise DataError("the private provenance does not belong to as many rows as are published")
            return traced["data"]
        return self._matched()

    def _matched(self) -> IntArray | None:
        """Where every record fits rows of one look only, and as many as there are, it does not matter which row is
        whose."""
        names = [name for name in self.exhibit.policy.published if name in self.table.names]
        looks = self.classes(names)
        recoded = [name for name in self.exhibit.policy.quasi_identifiers if name in names]
        record, look = self.fitting(np.arange(self.original.rows), looks, recoded)
        for name in (name for name in names if name not in recoded):
            mine, theirs = self.table.text(name), self.original.text(name)
            known = {label: code for code, label in enumerate(mine.labels)}
            code = np.array([known.get(label, -1) for label in theirs.labels], dtype=np.int64)[theirs.codes]
            same = code[record] == mine.codes[looks.first[look]]
            record, look = record[same], look[same]
        once = np.bincount(record, minlength=self.original.rows).max(initial=0) <= 1
        if not once or not np.array_equal(np.bincount(look, minlength=len(looks)), looks.counts):
            return None
        behind = np.empty(self.table.rows, dtype=np.int64)
        behind[np.argsort(looks.of, kind="stable")] = record[np.argsort(look, kind="stable")]
        return behind


def person_of(exhibit: ReleaseView) -> Person:
    """What the policy says about whose rows they are."""
    if exhibit.policy.person is None:
        raise DataError("the policy does not say whose rows they are")
    return exhibit.policy.person


def judge_persons_in_buckets(exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
    """One requirement on an anatomy, for people: rows stand there exactly, so a person fits rows with the given values
    of an own record.

    M is then counted by kinds of rows; where a share is asked for, one of M rows has a value with no more than that.
    """
    demand, table, original = claim.model.demand(), exhibit.data, exhibit.original
    text = table.text(BUCKET)
    if (
        claim.model.joint
        or not demand.sufficient
        or demand.candidates > 1
        or not set(claim.hide).isdisjoint(table.names)
    ):
        return ViolationCount(0, complete=False)
    bucket, number = text.codes.astype(np.int64), {label: code for code, label in enumerate(text.labels)}
    columns = [_beside(table.text(name), original.text(name)) for name in claim.given]
    alike = equivalence_classes_of(columns, rows=table.rows + original.rows).of
    person = persons_of_rows(original, person_of(exhibit).unit)
    most = most_rows_of_one_person(bucket, alike[: table.rows], person, alike[table.rows :])
    rows = np.bincount(bucket, minlength=len(text.labels))
    broken = np.zeros(len(rows), dtype=np.bool_)
    for name in claim.hide:
        of_bucket, value, weight = listed_values(exhibit.tables[sensitive_part(exhibit, name)], number)
        pairs = equivalence_classes_of([of_bucket, value])
        frequent = np.zeros(len(rows), dtype=np.int64)
        np.maximum.at(frequent, of_bucket[pairs.first], np.bincount(pairs.of, weights=weight).astype(np.int64))
        broken |= buckets_disclosing_value(rows, frequent, most, demand.largest_share)
    lasting = any(exhibit.policy.columns[name].persistent for name in claim.hide)
    return ViolationCount(int(broken.sum()), not lasting, int((rows // most).min(initial=table.rows)))


def judge_persons_in_averages(exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
    """One requirement on averages, for people: these cover nobody's values, so all rows that any person has count
    against every class."""
    demand, table = claim.model.demand(), exhibit.data
    lasting = any(exhibit.policy.columns[name].persistent for name in claim.hide)
    if claim.model.joint or not demand.sufficient or lasting:
        return ViolationCount(0, complete=False)
    person = persons_of_rows(exhibit.original, person_of(exhibit).unit)
    most, behind, complete = int(np.bincount(person).max(initial=1)), exhibit.behind, True
    classes = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
    broken = classes.counts < demand.candidates * most
    for name in claim.hide if demand.of_values else ():
        value = table.text(name).codes.astype(np.int64)
        pairs, frequent = equivalence_classes_of([classes.of, value]), np.zeros(len(classes), dtype=np.int64)
        np.maximum.at(frequent, classes.of[pairs.first], pairs.counts)
        broken |= frequent + most > classes.counts
        if demand.largest_share < 1 and behind is not None:
            broken |= ~value_shares_hold(classes.of, person[behind["data"]], value, demand.largest_share)
        complete &= demand.largest_share >= 1 or behind is not None
    return ViolationCount(int(broken.sum()), complete, int((classes.counts // most).min(initial=table.rows)))


def _beside(now: TextColumn, before: TextColumn) -> IntArray:
    """Published cells and original ones in the same codes, one after the other."""
    known = {label: code for code, label in enumerate(before.labels)}
    codes = np.array([known.get(label, len(known) + place) for place, label in enumerate(now.labels)], dtype=np.int64)
    return np.concatenate([codes[now.codes], before.codes.astype(np.int64)])


def persons_behind_rows(exhibit: ReleaseView) -> dict[str, list[str]] | None:
    """The name of the person behind every row of each table, when rows are not tied and the private provenance is at
    hand."""
    person, traced = exhibit.policy.person, exhibit.behind
    if (
        person is None
        or person.linked
        or not exhibit.private
        or traced is None
        or not evidence_for(exhibit.form).rows_are_records
    ):
        return None
    texts = [exhibit.original.text(name) for name in person.unit]
    return {part: _names(texts, rows) for part, rows in traced.items()}


def _names(texts: Sequence[TextColumn], rows: IntArray) -> list[str]:
    columns = [[text.labels[code] for code in text.codes[rows].tolist()] for text in texts]
    return columns[0] if len(columns) == 1 else ["\x1f".join(names) for names in zip(*columns, strict=True)]


def value_shares_hold(kind: IntArray, person: IntArray, value: IntArray, share: float) -> BoolArray:
    """Per kind: does at most this share of its people have each value?"""
    heads = equivalence_classes_of([kind, person])
    people = np.bincount(kind[heads.first])
    once = equivalence_classes_of([kind, person, value]).first
    having = equivalence_classes_of([kind[once], value[once]])
    most = np.zeros(len(people), dtype=np.int64)
    np.maximum.at(most, kind[once][having.first], having.counts)
    verdict: BoolArray = most <= share * people + 1e-9
    return verdict


def varied(bag: IntArray, person: IntArray, value: IntArray, demand: Demand) -> BoolArray:
    """Per bag of classes: enough people, as many different values as asked, no value that all of them have, none above
    the share.

    `bag`, `person` and `value` are of rows; kinds of bags are numbered without gaps.
    """
    people = np.bincount(bag[equivalence_classes_of([bag, person]).first])
    once = equivalence_classes_of([bag, person, value]).first
    having = equivalence_classes_of([bag[once], value[once]])
    most = np.zeros(len(people), dtype=np.int64)
    np.maximum.at(most, bag[once][having.first], having.counts)
    different = np.bincount(bag[once][having.first], minlength=len(people))
    enough = (people >= demand.candidates) & (different >= demand.distinct)
    if demand.of_values:
        enough &= (most < people) & (most <= demand.largest_share * people + 1e-9)
    return enough


# Listed values
# -------------


def listed_values(counts: Table, number: dict[str, int]) -> tuple[IntArray, IntArray, IntArray]:
    """Bucket, code of the value and count of every entry of a table of sensitive values."""
    text = counts.text("bucket")
    if any(label not in number for label in text.labels):
        raise DataError("the sensitive table lists buckets that no row belongs to")
    code = np.array([number[label] for label in text.labels], dtype=np.int64)
    try:
        weight = np.array([int(label) for label in counts.text("count").labels], dtype=np.int64)[
            counts.text("count").codes
        ]
    except ValueError:
        raise DataError("a count of the sensitive table is no number") from None
    if (weight <= 0).any():
        raise DataError("a count of the sensitive table is not positive")
    weight = weight if counts.counts is None else weight * counts.counts
    return code[text.codes], counts.text("value").codes.astype(np.int64), weight


# People
# ------


_ASKED = {"classes": 0}


class CountedPeople(Check):
    """No class of rows says more about a person in several of them than the claims allow."""

    name: ClassVar[str] = PEOPLE
    words: ClassVar[Wording] = Wording(
        title="People with several records",
        code="people",
        group="privacy",
        holds=(
            (
                "All guarantees also hold for people with several records; each is hidden among at least "
                "{details.among person/people}."
            ),
            "All guarantees also hold for people with several records.",
        ),
        violated=(
            "{found.classes equivalence class/equivalence classes} reveal too much about a person with several records."
        ),
    )
    steady: ClassVar[bool] = False

    def ready(self, exhibit: ReleaseView) -> bool:
        return not exhibit.form.links_rows and (exhibit.policy.person is not None or _of_people_before(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        if not exhibit.private:
            return _open("whose rows they are is not published: give the original")
        together = judge_persons_over_releases(exhibit) if is_series(exhibit) else []
        if exhibit.policy.person is None or exhibit.policy.person.linked:
            return _open(f"no audit rule counts people in a {exhibit.form}")
        if any(claim.needs_joint for claim in exhibit.policy.claims):
            return _open("nobody counts people who share a combination of hidden columns")
        reading = evidence_for(exhibit.form)
        found = [tally for claim in exhibit.policy.claims if (tally := reading.of_people(exhibit, claim)) is not None]
        if len(found) < len(exhibit.policy.claims):
            return _open(f"no audit rule counts people in a {exhibit.form}")
        shares = any(claim.model.demand().largest_share < 1 for claim in exhibit.policy.claims)
        return _found([*found, *together], PER_BUCKET if shares else "")


def _of_people_before(exhibit: ReleaseView) -> bool:
    """Whether an earlier release of the ledger said whose its rows are: what it promised people still stands."""
    history = exhibit.history if is_series(exhibit) else None
    return history is not None and any(past.cover.policy.person is not None for past in history.releases)


PER_BUCKET = (
    "in each class or bucket by itself; over all rows of a person together, a value that they ever had may be guessed"
    " more surely"
)


def _found(tallies: list[ViolationCount], scope: str = "") -> Finding:
    """What was found; `scope` says of what the figures hold, where that is not everything about a person."""
    broken = sum(tally.broken for tally in tallies)
    fewest = [tally.fewest for tally in tallies if tally.fewest is not None]
    if not broken and not all(tally.complete for tally in tallies):
        return _open("the persons of the rows cannot be derived from the original")
    reason = f"{broken} class(es) reveal too much about a person with several rows" if broken else scope
    among = {"among": min(fewest)} if fewest else {}
    return Finding(CountedPeople.name, not broken, _ASKED, {"classes": broken} | among, reason=reason, details=among)


def _open(reason: str) -> Finding:
    return Finding(CountedPeople.name, True, _ASKED, {}, grade=NOT_JUDGED, reason=reason)


# People over releases
# --------------------


def judge_persons_over_releases(exhibit: ReleaseView) -> list[ViolationCount]:
    """All that was promised, the newest release's requirements and those of earlier ones, each for people."""
    history = exhibit.history
    assert history is not None
    require_same_persons(exhibit.policy, history)
    forms = [past.cover for past in history.releases]
    linked = any(cover.policy.person is not None and cover.policy.person.linked for cover in forms)
    if linked or not all(is_plain_recoding(type(cover.form)) for cover in forms):
        raise DataError("people in several rows are judged over recoded tables only, whose rows nothing ties")
    people = PersonsOfHistory(exhibit.once(published_cells_of))
    return [
        _judged(exhibit, people, claim)
        for claim in standing_requirements(exhibit.policy, History(history.releases[:-1]))
    ]


def _judged(exhibit: ReleaseView, people: PersonsOfHistory, claim: PrivacyRequirement) -> ViolationCount:
    demand = claim.model.demand()
    lasting = any(column.persistent for name, column in exhibit.policy.columns.items() if name in claim.hide)
    if claim.model.joint or not demand.sufficient or lasting or not is_membership_known_for_view(exhibit):
        return ViolationCount(0, complete=False)
    joint = persistent_classes_of(people.bundles, claim, cohorts=True)
    if not len(joint.signs):  # no release shows what is hidden
        return ViolationCount(0)
    most = people.most(joint)
    broken = violated_classes(people.whose, joint.sheets, joint.of, most, claim.hide, demand)
    if broken is None:
        return ViolationCount(0, complete=False)
    size = np.bincount(joint.of[joint.of >= 0], minlength=len(most))
    return ViolationCount(int(broken.sum()), fewest=int((size // most).min(initial=len(joint.of))))
