"""`linkage`: the prosecutor, who knows each person's quasi-identifiers exactly and looks every person up in the
release.

For each person of the original table the adversary keeps the published rows whose cells cover the person's values, and
guesses. Success is the chance to pick the right row (presence) and the chance to guess each sensitive value from those
rows.

Paper: the adversary of [boundaries §2]. Of a perturbed table the nearest row is guessed (`_nearest_rows`), and the
figure is an estimate.
Cost: distinct original tuples × distinct published tuples, in pieces of bounded memory.


Nearest rows
------------
Distance-based record linkage: an adversary who knows a person's values guesses that the nearest published row is
theirs.

The share of people for whom that is right is measured on some of them, with the error of the sample; it is an estimate,
never a bound: another adversary may know more, or guess better.

Paper: Pagliuca, Seri (1999).


Of people
---------
People in several rows, as the prosecutor of `linkage` sees them: who knows some rows of a person, and how many are left
then.

Notation
    known   how many rows of a person the adversary knows, by their quasi-identifiers; all of them when it is 0

Rows that nothing ties: a class of n rows that k of the known rows fit is the person's, row for row, with at most k / n.
Linked rows: the pseudonyms that have a fitting row for every known one; each person's own is among them while no row is
suppressed.

Cost: linked rows are played for at most `PEOPLE` people, each against all pseudonyms.


Membership
----------
`membership`: is a known person in the table at all?

The adversary knows a person's quasi-identifiers and says "in the table" when some published row covers them. People of
the table are found nearly always; the question is how many people who are not in it are taken for members as well.

The figure
    `found` is the share of the table's people whom a row covers, `mistaken` the share of other people, and `advantage`
    their difference: 0 if the release reveals nothing about membership, 1 if it reveals it exactly. No privacy model
    here protects against it (k-anonymity hides the row, not the membership).

Paper
    Nergiz, Atzori and Clifton (2007) ask for the share of a known population that is in the table, per person; the
    advantage is the usual figure of a game with members and others.

Notation
    others    with `population`: its people whose quasi-identifiers nobody in the table has. Without: made from pairs of
              people of the table, one value of the first replaced by the second's, when nobody in the table looks so

Cost: people × classes comparisons, for `people` members and as many others.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.person_evidence import PersonCount, person_of
from sfumato.kinds.subtables.form import AnatomyForm
from sfumato.kinds.tables.form import PerturbedTable, Recoded
from sfumato.kinds.tables.truthfulness import AllowedLabels, allowed_labels
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.sections import PSEUDONYM
from sfumato.release.attack import ReleaseAttack
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

_CHUNK = 4_000_000


class LinkageAttack(ReleaseAttack):
    """Look up every person by exact quasi-identifiers; report the probability to find the row or the value."""

    name: ClassVar[str] = "linkage"
    paper: ClassVar[str] = "boundaries §2"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, PerturbedTable)

    known: int = Field(default=0, ge=0, description="known rows of a person with several rows; 0: all")

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        if not exhibit.form.recodes:
            return nearest_rows(exhibit)
        return play(exhibit.data, exhibit.original, exhibit.policy) | measure_person_linkage(exhibit, self.known)


def play(published: Table, original: Table, policy: Policy) -> dict[str, Any]:
    """What the prosecutor gets from a recoded table."""
    names = policy.quasi_identifiers
    people = equivalence_classes_of([original.text(name).codes for name in names], rows=original.rows)
    rows = equivalence_classes_of([published.text(name).codes for name in names], rows=published.rows)
    may = [
        allowed_labels(
            published.text(name),
            original.text(name),
            generalization_of(policy, name, original.text(name).labels),
            bounded=False,
        )
        for name in names
    ]
    spread = {name: _per_class(published, rows, name) for name in policy.sensitive}
    candidates, best = _candidates(published, original, people, rows, may, names, spread)
    found = candidates[candidates > 0]
    result: dict[str, Any] = {
        policy.record_word: int(people.counts.sum()),
        "fewest_candidates" if policy.person is None else "fewest_rows_that_fit": int(found.min()) if len(found) else 0,
        "highest_chance_to_find_the_row": float(1 / found.min()) if len(found) else 0.0,
    }
    if spread:
        result["highest_chance_to_guess"] = {name: round(float(best[name].max()), 6) for name in spread}
    return result


def _per_class(published: Table, rows: EquivalenceClasses, name: str) -> FloatArray:
    """Counts of the values of a sensitive column in each published class, dense."""
    text = published.text(name)
    counts = np.bincount(rows.of * len(text.labels) + text.codes, minlength=len(rows) * len(text.labels))
    dense: FloatArray = counts.reshape(len(rows), len(text.labels)).astype(np.float64)
    return dense


def _candidates(
    published: Table,
    original: Table,
    people: EquivalenceClasses,
    rows: EquivalenceClasses,
    may: list[AllowedLabels],
    names: tuple[str, ...],
    spread: dict[str, FloatArray],
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """For each distinct person: rows that may be theirs, and the largest share of one sensitive value among them."""
    labels = [published.text(name).codes[rows.first] for name in names]
    values = [original.text(name).codes[people.first] for name in names]
    step = max(1, _CHUNK // max(len(rows), 1))
    counts: list[FloatArray] = []
    best: dict[str, list[FloatArray]] = {name: [] for name in spread}
    for first in range(0, len(people), step):
        fits = np.ones((min(step, len(people) - first), len(rows)), dtype=np.bool_)
        for label, value, may_be in zip(labels, values, may, strict=True):
            fits &= may_be.products(label, value[first : first + step]).T
        counts.append(fits.astype(np.float64) @ rows.counts)
        for name, dense in spread.items():
            mixed = fits.astype(np.float64) @ dense
            best[name].append(mixed.max(axis=1) / np.maximum(mixed.sum(axis=1), 1.0))
    return np.concatenate(counts), {name: np.concatenate(shares) for name, shares in best.items()}


# Nearest rows
# ------------


_PEOPLE = 2000
_Z = 1.959964


def nearest_rows(exhibit: ReleaseView) -> dict[str, Any]:
    """How often the nearest row is the person's own, where the private provenance says whose rows they are."""
    if exhibit.behind is None:
        raise DataError(
            "the private provenance is not at hand, so nobody knows whose rows they are",
            hint="keep it beside the release",
        )
    behind, form = exhibit.behind["data"], exhibit.of(PerturbedTable)
    names = exhibit.policy.quasi_identifiers or form.columns
    rows = len(behind)
    picked = np.random.default_rng(0).permutation(rows)[:_PEOPLE]
    own, apart, ties = np.zeros(len(picked)), np.full(len(picked), np.inf), np.zeros(len(picked))
    mine = [_coordinates(exhibit.original.text(name), exhibit.data.text(name)) for name in names]
    for place, row in enumerate(picked.tolist()):
        distance = np.zeros(rows)
        for known, shown, numeric in mine:
            step = shown - known[behind[row]]
            distance += step * step if numeric else (step != 0)
        least = distance.min()
        near = distance <= least + 1e-12
        apart[place], ties[place], own[place] = least, near.sum(), near[row] / near.sum()
    share = float(own.mean()) if len(own) else 0.0
    error = _Z * float(np.sqrt(share * (1 - share) / max(len(picked), 1)))
    return {
        "people": len(picked),
        "linked_to_their_row": share,
        "by_chance": 1 / max(rows, 1),
        "error": error,
        "grade": f"estimate (± {error:.3g} at 95 %), of this outsider alone",
    }


def _coordinates(original: TextColumn, published: TextColumn) -> tuple[FloatArray, FloatArray, bool]:
    """The column of people and of rows in the same units."""
    from sfumato.kinds.tables.numeric_coordinates import is_numeric, values_of

    if is_numeric(original) and is_numeric(published):
        known, shown = values_of(original), values_of(published)
        spread = float(np.nanstd(known)) or 1.0
        return np.nan_to_num(known / spread), np.nan_to_num(shown / spread), True
    number = {label: code for code, label in enumerate(published.labels)}
    codes: IntArray = np.array([number.setdefault(label, len(number)) for label in original.labels], dtype=np.int64)
    return codes[original.codes].astype(np.float64), published.codes.astype(np.float64), False


# Of people
# ---------


PEOPLE = 500


def measure_person_linkage(exhibit: ReleaseView, known: int) -> dict[str, Any]:
    """Measure the risk of a person if so many of their rows are known; None if the policy does not name persons."""
    if exhibit.policy.person is None:
        return {}
    count = exhibit.once(PersonCount)
    counted = {person_of(exhibit).word: int(count.person.max(initial=-1)) + 1}
    return counted | (_linked(exhibit, known) if exhibit.form.links_rows else _unlinked(exhibit, known))


def _unlinked(exhibit: ReleaseView, known: int) -> dict[str, Any]:
    count = exhibit.once(PersonCount)
    names = exhibit.policy.quasi_identifiers
    classes = count.classes(names)
    most = count.most(classes, names)
    most = np.minimum(most, known) if known else most
    chance = float((most / classes.counts).max(initial=0.0))
    return {"known_rows": known or "all", "highest_chance_that_a_row_is_theirs": round(chance, 6)}


def _linked(exhibit: ReleaseView, known: int) -> dict[str, Any]:
    count = exhibit.once(PersonCount)
    names = exhibit.policy.quasi_identifiers
    cells = count.classes(names)
    called = exhibit.data.text(PSEUDONYM).codes.astype(np.int64)
    left = []
    for person in np.unique(np.linspace(0, int(count.person.max(initial=0)), PEOPLE).astype(np.int64)):
        own = np.flatnonzero(count.person == person)
        left.append(_left(count, own[:known] if known else own, cells.of, called, names))
    found = np.array([people for people in left if people], dtype=np.int64)
    result: dict[str, Any] = {"known_rows": known or "all", "people_played": len(left)}
    if len(found):
        result |= {"fewest_people_left": int(found.min()), "one_person_left": int((found == 1).sum())}
    return result


def _left(count: PersonCount, rows: IntArray, cell: IntArray, called: IntArray, names: tuple[str, ...]) -> int:
    """Pseudonyms that have a fitting row for every one of these records."""
    classes = count.classes(names)
    record, fits = count.fitting(rows, classes, names)
    left = np.unique(called)
    for row in rows:
        inside = np.isin(cell, fits[record == row])
        left = np.intersect1d(left, called[inside])
    return len(left)


# Membership
# ----------


_MEMBERSHIP_CHUNK = 8_000_000


class MembershipAttack(ReleaseAttack):
    """Tell people who are in the table from people who are not, by whether a published row covers them."""

    name: ClassVar[str] = "membership"
    paper: ClassVar[str] = "Nergiz, Atzori, Clifton 2007"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, AnatomyForm)
    headline: ClassVar[str] = "advantage"

    population: str = Field(
        default="", description="a table of people inside and outside the release, with its quasi-identifiers"
    )
    people: int = Field(default=2_000, ge=1, description="number of members and of non-members to test")
    seed: int = Field(default=1, description="repeat the same choice of people")

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        if not isinstance(exhibit.form, cls.forms) or not exhibit.policy.quasi_identifiers:
            return ""
        return (
            "published rows show which combinations of quasi-identifiers occur in the table, "
            "so an adversary who knows a person's combination can often tell whether the "
            "person is in it; no requirement covers that"
        )

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        draw = np.random.default_rng(self.seed)
        members = _leaves(exhibit, exhibit.original)
        chosen = members[draw.permutation(len(members))[: self.people]]
        if self.population:
            others = _outside(_leaves(exhibit, exhibit.policy.data.read(self.population)), members)
            others = others[draw.permutation(len(others))[: self.people]]
        else:
            others = _outside(_mixed(members, self.people, draw), members)[: self.people]
        who = "members" if exhibit.policy.person is None else "rows_of_members"
        if not len(others):
            return {who: len(chosen), "others": 0, "remark": "everybody else looks like somebody of the table"}
        found, mistaken = float(_covered(exhibit, chosen).mean()), float(_covered(exhibit, others).mean())
        return {
            who: len(chosen),
            "others": len(others),
            "found": found,
            "mistaken": mistaken,
            "advantage": found - mistaken,
        }


def _leaves(exhibit: ReleaseView, table: Table) -> IntArray:
    """The quasi-identifiers of a table as leaves, people × columns; −1 for a value that the hierarchies do not know."""
    columns = []
    for name in exhibit.policy.quasi_identifiers:
        text, code_of = table.text(name), exhibit.recoded[name].code_of
        columns.append(np.array([code_of.get(label, -1) for label in text.labels], dtype=np.int64)[text.codes])
    return np.stack(columns, axis=1)


def _mixed(members: IntArray, wanted: int, draw: np.random.Generator) -> IntArray:
    """People of the table with one value taken from another person."""
    one, other = draw.integers(0, len(members), (2, 4 * wanted))
    column = draw.integers(0, members.shape[1], 4 * wanted)
    people = members[one].copy()
    people[np.arange(len(people)), column] = members[other, column]
    return np.asarray(people)


def _outside(people: IntArray, members: IntArray) -> IntArray:
    """Those who look like nobody of the table."""
    known = {row.tobytes() for row in np.ascontiguousarray(members)}
    new = np.array([row.tobytes() not in known for row in np.ascontiguousarray(people)], dtype=np.bool_)
    return np.asarray(people[new])


def _covered(exhibit: ReleaseView, people: IntArray) -> BoolArray:
    """Per person: does some published row cover all values?"""
    rows = exhibit.classes
    cells = [
        tuple(side[exhibit.data.text(name).codes[rows.first]] for side in exhibit.intervals(name))
        for name in exhibit.policy.quasi_identifiers
    ]
    step, found = max(1, _MEMBERSHIP_CHUNK // max(len(rows), 1)), []
    for first in range(0, len(people), step):
        fits = np.ones((len(people[first : first + step]), len(rows)), dtype=np.bool_)
        for column, (lo, hi) in enumerate(cells):
            leaf = people[first : first + step, column, None]
            fits &= (lo <= leaf) & (leaf < hi)
        found.append(fits.any(axis=1))
    return np.concatenate(found)
