"""One recoded table: each person's candidates are the published rows with the same values in the given columns.

Claims about all releases together (k-linkability, k-diversity) are judged in `sfumato.history.judge.sequence`, those
about people of a population (k-map, δ-presence) in `sfumato.kinds.tables.evidence`.

Paper: [boundaries Def. 1]


Microaggregated
---------------
One microaggregated table: each person's candidates are the published rows with the same averages in the given columns.

An adversary who knows a person's values may look for the nearest averages, and finds a class; all its rows are equal,
so no row of it is nearer.


Suppressed
----------
One locally suppressed table: for every choice of up to m known columns, the rows that look alike in them.

Of a requirement that does not say how many columns are known, candidates are rows that look alike in all given columns.


Sampled
-------
One sampled table: rows that look alike are each other's candidates, and differential privacy follows from how they were
drawn.

What can be read off the files: every row has at least as many look-alikes, in all columns, as the manifest's threshold
says; every label stands at the level that the manifest says of its column; and the declared draw gives the asked (ε,
δ), which is computed again. That records were drawn so, and that the levels do not depend on the data beyond the
declared search, is the method's word; the grade says so.


Linked
------
One linked table: the candidates of a person are the people who have the same published rows.

Pseudonyms are published, so people can be counted from the files alone. Two people whose bags of rows are written alike
cannot be told apart, however much is known of the rows of all people.

Values are looked at twice, and both must satisfy the requirement
    slot    the rows of a group of people that are written alike: what is learnt about one event of a person
    ever    who has a value in whichever row: what is learnt about the person. A value that all people of a group have
            is certain, and counts as the only one


Related
-------
Related tables: people whose line and whose rows are written alike, taken together, are each other's candidates.

An adversary who knows all quasi-identifiers of a person, in both tables, and the number of rows, cannot tell apart the
people of the same *multiset*. Values of rows are judged among people with rows, slot by slot and as values that people
ever have; values of the table of people among all people of a bag; a number of candidates for all people, people
without rows included.


Perturbed
---------
One perturbed table: nobody's candidates can be counted, because any row may be any person's; so no requirement is
judged, and none holds.


Population
----------
Claims about a population: how many of its people each published class could be about, counted or estimated.

Notation
    f, F    published rows of a class; people of the population who fit what it is written as

Where a table of the population is at hand, F is counted by fit, whether or not classes overlap: exact. Somebody with a
value that is no leaf of a hierarchy fits nothing. From a fraction F is bounded by `tables.sample_weights`, from weights
it is their sum: *estimates*. What is needed and not at hand leaves a requirement *not judged*.

Presence, for people who fit the same classes S (G of them): at most Σ f over S, at least Σ f over the classes that fit
no other person, over G. People who fit one class only: both are f / F. Rows are handed out to people who fit them, each
as likely as the other (`models.delta_presence`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import DataError, ReleaseError
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.generalized_tuples import containing_pairs
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.persons import number_equal_multisets, persons_per_value
from sfumato.data.table import RelatedTable, Table, combination_of
from sfumato.history.judge.sequence import judge_all_releases
from sfumato.io.hierarchy_files import build_generalization, is_standing
from sfumato.kinds.person_evidence import PersonCount, judge_persons_in_averages
from sfumato.kinds.tables.form import (
    DrawnTable,
    LinkedTable,
    Microaggregated,
    PerturbedTable,
    Recoded,
    RelatedTables,
    SuppressedCells,
    joined_table,
)
from sfumato.kinds.tables.sample_weights import population_lower_bound, presence_bounds, read_weights
from sfumato.models.differential_privacy import Sampling
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.sections import PSEUDONYM, SampledPopulation, values_of
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.evidence import Evidence, ViolationCount, below_text
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView


class RecodedReading(Evidence):
    """Rows that look alike in the given columns are each other's candidates."""

    name: ClassVar[str] = "recoded table"
    steady: ClassVar[bool] = False
    on_classes: ClassVar[bool] = True
    in_population: ClassVar[bool] = True
    reads_combinations: ClassVar[bool] = True
    form: ClassVar[type[Form]] = Recoded
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
        return exhibit.once(PersonCount).judged(claim)

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        if claim.model.of_population:
            return judge_population_requirement(exhibit, claim)
        return judge_all_releases(exhibit, claim) if claim.model.joint else super().judge(exhibit, claim)

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        table = exhibit.data
        whole = claim.given == exhibit.policy.quasi_identifiers
        classes = (
            exhibit.classes
            if whole
            else equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
        )
        hidden = {name: combination_of(table, columns) for name, columns in claim.hidden_columns(table.names).items()}
        return Linkage.of_groups(
            classes.of, {name: (text.codes, text.labels) for name, text in hidden.items()}, table.counts
        )


# Microaggregated
# ---------------


class MicroaggregatedReading(Evidence):
    """Rows with the same averages are each other's candidates."""

    name: ClassVar[str] = "microaggregated table"
    form: ClassVar[type[Form]] = Microaggregated
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
        return judge_persons_in_averages(exhibit, claim)

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        table = exhibit.data
        alike = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
        return Linkage.of_groups(
            alike.of, {name: (table.text(name).codes, table.text(name).labels) for name in claim.hide}
        )


# Suppressed
# ----------


class SuppressedReading(Evidence):
    """Rows that look alike in what is known of a person are candidates."""

    name: ClassVar[str] = "locally suppressed table"
    form: ClassVar[type[Form]] = SuppressedCells
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
        return exhibit.once(PersonCount).judged(claim)

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        table = exhibit.data
        if claim.model.known_columns is None:
            alike = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
            hidden = {name: (table.text(name).codes, table.text(name).labels) for name in claim.hide}
            return Linkage.of_groups(alike.of, hidden)
        classes = [
            equivalence_classes_of([table.text(name).codes for name in known], rows=table.rows).counts
            for known in combinations(claim.given, min(claim.model.known_columns, len(claim.given)))
        ]
        sizes = np.concatenate(classes)
        return Linkage(sizes, sizes)


# Sampled
# -------


class SampledReading(Evidence):
    """Look-alikes are candidates; the declared draw gives (ε, δ)."""

    name: ClassVar[str] = "sampled table"
    form: ClassVar[type[Form]] = DrawnTable

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        table = exhibit.data
        classes = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
        hidden = {name: table.text(name) for name in claim.hide}
        return Linkage.of_groups(classes.of, {name: (text.codes, text.labels) for name, text in hidden.items()})

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        model = claim.model
        if model.judges is not Sampling:
            return super().judge(exhibit, claim)
        form, table = exhibit.of(DrawnTable), exhibit.data
        drawn = Sampling(form.fraction, form.threshold, form.search)
        rare = int(
            (
                equivalence_classes_of([table.text(name).codes for name in table.names], rows=table.rows).counts
                < form.threshold
            ).sum()
        )
        strange = [
            name for name in exhibit.policy.quasi_identifiers if not _at_level(exhibit, name, form.levels.get(name, 0))
        ]
        holds = bool(model.satisfied(drawn).all()) and not rare and not strange
        said = [f"{rare} kind(s) of rows stand there less often than the threshold"] if rare else []
        reason = "; ".join([*said, *(f"'{name}' is not written at the declared level" for name in strange)])
        grade = "bound (at most this, if records were drawn as the manifest says)"
        return Finding(
            model.name, holds, model.required(), model.achieved(drawn), claim.given, claim.hide, grade, reason
        )


def _at_level(exhibit: ReleaseView, name: str, level: int) -> bool:
    """Whether every label of a column is what its hierarchy has so many steps above a leaf."""
    spec, shown = exhibit.policy.columns[name].hierarchy, set(exhibit.data.text(name).labels)
    if not is_standing(spec):
        return level == 0 or shown <= {"*"}
    tree = build_generalization(spec, [], column=name, base=exhibit.policy.base)
    if not isinstance(tree, Hierarchy):
        return False
    paths = [tree.path(leaf) for leaf in range(tree.size)]
    return shown <= {tree.names[path[min(level, len(path) - 1)]] for path in paths}


# Linked
# ------


class LinkedReading(Evidence):
    """People with equal bags of rows are each other's candidates."""

    name: ClassVar[str] = "linked table"
    form: ClassVar[type[Form]] = LinkedTable

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        model = claim.model
        if model.joint or not model.demand().sufficient:
            reason = "it is not defined for people in several rows"
            return Finding(model.name, True, model.required(), {}, claim.given, claim.hide, NOT_JUDGED, reason)
        whole = self.read(exhibit, claim)
        broken = ~model.satisfied(whole)
        seen = [whole]
        if claim.hide:
            slots, bag = _slots(exhibit, claim)
            broken[bag[~model.satisfied(slots)]] = True  # a person in several rows is counted once
            seen.append(slots)
        below = int(whole.people[broken].sum())
        achieved = min((model.achieved(linkage) for linkage in seen), key=model.strength)
        reason = below_text(below, "people") if below else ""
        return Finding(model.name, not below, model.required(), achieved, claim.given, claim.hide, self.grade, reason)

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        """Groups of people with equal bags, and how many of each ever have a value."""
        person, bag, _ = _bags(exhibit.data, claim)
        people = np.bincount(bag)
        return Linkage(
            people, people, {name: _ever(exhibit.data, name, bag[person], person, people) for name in claim.hide}
        )


def _bags(table: Table, claim: PrivacyRequirement) -> tuple[IntArray, IntArray, IntArray]:
    """The person of every row, the bag of every person, the cell of every row."""
    person = table.text(PSEUDONYM).codes.astype(np.int64)
    cell = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows).of
    return person, number_equal_multisets(person, cell), cell


def _slots(exhibit: ReleaseView, claim: PrivacyRequirement) -> tuple[Linkage, IntArray]:
    """Rows of a group of people that are written alike, and the group of each."""
    table = exhibit.data
    person, bag, cell = _bags(table, claim)
    slots = equivalence_classes_of([bag[person], cell], rows=table.rows)
    group = bag[person][slots.first]
    people = np.bincount(bag)[group]
    hidden = {name: table.text(name) for name in claim.hide}
    spread = {
        name: ValueDistribution.count(slots.of, text.codes, len(slots), text.labels) for name, text in hidden.items()
    }
    return Linkage(people, people, spread), group


def _ever(table: Table, name: str, bag: IntArray, person: IntArray, people: IntArray) -> ValueDistribution:
    text = table.text(name)
    return persons_per_value(text.codes, text.labels, bag, person, people)


# Related
# -------


class RelatedReading(Evidence):
    """People with equal lines and equal bags of rows are each other's candidates."""

    name: ClassVar[str] = "related tables"
    form: ClassVar[type[Form]] = RelatedTables

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        model = claim.model
        if model.joint or not model.demand().sufficient:
            reason = "it is not defined for people in several rows"
            return Finding(model.name, True, model.required(), {}, claim.given, claim.hide, NOT_JUDGED, reason)
        candidates = self.read(exhibit, claim)
        found = list(_of_values(exhibit.once(joined_table), claim)) if claim.hide else []
        seen = [linkage for linkage, _ in found] or [candidates]
        broken = candidates.candidates < model.demand().candidates
        for linkage, group in found:
            broken[group[~model.satisfied(linkage)]] = True  # a person in several rows or tables is counted once
        if not found:
            broken |= ~model.satisfied(candidates)
        below = int(candidates.people[broken].sum())
        achieved = min((model.achieved(linkage) for linkage in seen), key=model.strength)
        if "k" in achieved:  # people without rows are candidates of each other, too
            achieved["k"] = min(achieved["k"], int(candidates.candidates.min(initial=achieved["k"])))
        reason = below_text(below, "people") if below else ""
        return Finding(model.name, not below, model.required(), achieved, claim.given, claim.hide, self.grade, reason)

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        """Groups of people who cannot be told apart."""
        people = np.bincount(_related_bags(exhibit.once(joined_table), claim)[1])
        return Linkage(people, people)


def _related_bags(table: RelatedTable, claim: PrivacyRequirement) -> tuple[IntArray, IntArray, IntArray]:
    """The person of every line, the bag of every person, the cell of every line."""
    person = table.text(PSEUDONYM).codes.astype(np.int64)
    cell = equivalence_classes_of(
        [table.absent.astype(np.int64), *(table.text(name).codes for name in claim.given)], rows=table.rows
    ).of
    return person, number_equal_multisets(person, cell), cell


def _of_values(table: RelatedTable, claim: PrivacyRequirement) -> Iterator[tuple[Linkage, IntArray]]:
    """What is seen of sensitive values, and of which group: those of people among everybody, those of rows among people
    who have some."""
    person, bag, cell = _related_bags(table, claim)
    for name in claim.hide:
        there: BoolArray = np.ones(table.rows, dtype=np.bool_) if name in table.own else ~table.absent
        mine, text = np.flatnonzero(there), table.text(name)
        kinds, kind = np.unique(bag[person[mine]], return_inverse=True)
        people = np.bincount(bag)[kinds]
        slots = equivalence_classes_of([kind, cell[mine]], rows=len(mine))
        many = people[kind[slots.first]]
        spread = ValueDistribution.count(slots.of, text.codes[mine], len(slots), text.labels)
        yield Linkage(many, many, {name: spread}), kinds[kind[slots.first]]
        ever = persons_per_value(text.codes[mine], text.labels, kind.astype(np.int64), person[mine], people)
        yield Linkage(people, people, {name: ever}), kinds


# Perturbed
# ---------


class PerturbedReading(Evidence):
    """Chance promises nothing that could be read off the rows."""

    name: ClassVar[str] = "perturbed table"
    form: ClassVar[type[Form]] = PerturbedTable

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        return Linkage(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        reason = "values were perturbed at random, so candidates cannot be counted"
        return Finding(claim.model.name, False, claim.model.required(), {}, claim.given, claim.hide, reason=reason)


# Population
# ----------


ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True)
class _Seen:
    linkage: Linkage
    grade: str
    reason: str = ""


def population_source(exhibit: ReleaseView) -> Path | Mapping[str, Sequence[str | None]] | None:
    """Return the population for the recount: its file, or the text of its columns if cells are converted."""
    table = exhibit.population
    if table is None or exhibit.population_file is not None:
        return exhibit.population_file
    names = {name for claim in exhibit.policy.claims if claim.model.of_population for name in claim.given}
    texts = {name: table.text(name) for name in names if name in table.names}
    return {name: [text.labels[code] for code in text.codes.tolist()] for name, text in texts.items()}


def judge_population_requirement(exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
    """The finding about one requirement that is about the population."""
    seen = _seen(exhibit, claim)
    said = (claim.model.name, claim.model.required())
    if isinstance(seen, str):
        return Finding(said[0], True, said[1], {}, claim.given, claim.hide, NOT_JUDGED, seen)
    verdict = claim.model.satisfied(seen.linkage)
    broken = int((~verdict).sum())
    reason = below_text(broken, "groups") if broken else seen.reason
    return Finding(
        *said[:1], not broken, said[1], claim.model.achieved(seen.linkage), claim.given, claim.hide, seen.grade, reason
    )


def _seen(exhibit: ReleaseView, claim: PrivacyRequirement) -> _Seen | str:
    """What a person who knows the population is left with; or what is missing to tell."""
    population = exhibit.policy.population
    if population is None:
        raise ReleaseError("the policy does not say whom the table is a sample of")
    table = exhibit.data
    classes = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
    if population.file is None:
        people = _estimated(exhibit, population, classes)
        return people if isinstance(people, str) else _Seen(Linkage(classes.counts, people), ESTIMATE)
    if exhibit.population is None:
        return "who is in the population is not published: give the table of it"
    counted = _Everybody(exhibit, exhibit.population, classes, claim.given)
    seen = counted.presence() if claim.model.needs_everybody else Linkage(classes.counts, counted.fitting())
    strange = (
        f"{counted.strangers} people of the population have values that are in no hierarchy"
        if counted.strangers
        else ""
    )
    exact = not (claim.model.needs_everybody and counted.several)
    return _Seen(seen, "exact" if exact else "bound (at least this well)", strange)


def _estimated(exhibit: ReleaseView, population: SampledPopulation, classes: EquivalenceClasses) -> IntArray | str:
    if population.fraction is not None:
        return population_lower_bound(classes.counts, population.fraction, population.confidence)
    weights = _weights(exhibit, str(population.weight))
    if isinstance(weights, str):
        return weights
    people: IntArray = np.floor(np.bincount(classes.of, weights=weights, minlength=len(classes)) + 1e-9).astype(
        np.int64
    )
    return people


def _weights(exhibit: ReleaseView, name: str) -> FloatArray | str:
    """The weight of every published row, from the release or from the records behind it."""
    if name in exhibit.data.names:
        return weights_of(exhibit.data, name)
    if not exhibit.private or exhibit.behind is None:
        return "weights are not published, and who stands behind a row is not known here"
    return weights_of(exhibit.original, name)[exhibit.behind["data"]]


def weights_of(table: Table, name: str) -> FloatArray:
    """How many people each row stands for; a record stands for itself at least."""
    weights = read_weights(table, name)
    if (weights < 1).any():
        raise DataError(f"'{name}' must say of every record for how many people it stands, at least 1")
    return weights


class _Everybody:
    """People of the population beside the classes of a release; people who look alike are one point."""

    def __init__(
        self, exhibit: ReleaseView, everybody: Table, classes: EquivalenceClasses, given: Sequence[str]
    ) -> None:
        self.rows = classes.counts
        domains = {name: _domain(exhibit, everybody, name) for name in given}
        leaves = [_leaves(everybody, name, domains[name]) for name in given]
        known = (
            np.logical_and.reduce([leaf >= 0 for leaf in leaves]) if leaves else np.ones(everybody.rows, dtype=np.bool_)
        )
        self.strangers = int((~known).sum())
        points = equivalence_classes_of([leaf[known] for leaf in leaves], rows=int(known.sum()))
        self.people = points.counts
        at = np.array([leaf[known][points.first] for leaf in leaves], dtype=np.int64).T.reshape(len(points), len(given))
        shown = [_intervals(exhibit.data, name, domains[name].interval, classes) for name in given]
        lo = np.array([low for low, _ in shown], dtype=np.int64).T.reshape(len(classes), len(given))
        hi = np.array([high for _, high in shown], dtype=np.int64).T.reshape(len(classes), len(given))
        self.point, self.box = containing_pairs(at, at + 1, lo, hi)
        self.several = bool((np.bincount(self.point, minlength=1) > 1).any())

    def fitting(self) -> IntArray:
        """F of every class."""
        return np.bincount(self.box, weights=self.people[self.point], minlength=len(self.rows)).astype(np.int64)

    def presence(self) -> Linkage:
        """Everybody of the population by the classes they fit, with the bounds of their chance to be in them."""
        outside = int(self.people.sum()) - int(self.people[np.unique(self.point)].sum()) + self.strangers
        return presence_bounds(self.people, self.rows, self.point, self.box, outside)


def _domain(exhibit: ReleaseView, everybody: Table, name: str) -> Generalization:
    """How the column may be generalized, with the values of the original, where it is at hand, and of the
    population."""
    return generalization_of(
        exhibit.policy, name, values_of(everybody, exhibit.original if exhibit.private else everybody, name)
    )


def _leaves(table: Table, name: str, domain: Generalization) -> IntArray:
    text = table.text(name)
    return np.array([domain.code_of.get(label, -1) for label in text.labels], dtype=np.int64)[text.codes]


def _intervals(
    table: Table, name: str, interval: Callable[[str], tuple[int, int] | None], classes: EquivalenceClasses
) -> tuple[IntArray, IntArray]:
    """What each class is written as; a label that is none fits nobody, so that nothing is promised of it."""
    text = table.text(name)
    spans = np.array([interval(label) or (0, 0) for label in text.labels], dtype=np.int64).reshape(-1, 2)
    return spans[text.codes[classes.first], 0], spans[text.codes[classes.first], 1]
