"""Claims about a population: how many of its people each published class could be about, counted or estimated.

Notation
    f, F    published rows of a class; people of the population who fit what it is written as

Where a table of the population is at hand, F is counted by fit, whether or not classes overlap: exact. Somebody with a value that
is no leaf of a hierarchy fits nothing. From a fraction F is bounded by `data.population`, from weights it is their sum:
*estimates*. What is needed and not at hand leaves a claim *not judged*.

Presence, for people who fit the same classes S (G of them): at most Σ f over S, at least Σ f over the classes that nobody else
fits, over G. People who fit one class only: both are f / F. Rows are handed out to people who fit them, each as likely as the
other (`models.delta_presence`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.audit.floor import Everybody
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.bags import alike_bags
from sfumato.data.boxes import contained
from sfumato.data.classes import Classes, group
from sfumato.data.generalization import Generalization
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.population import fewest_people, positive_numbers
from sfumato.data.table import Table
from sfumato.errors import DataError, ReleaseError
from sfumato.models.delta_presence import IN
from sfumato.policy.claims import Claim
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.population import SampledPopulation, values_of
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit

_OUT = "0"
_SCALE = 1 << 40
"""Bounds on a presence are written as shares of so many."""
ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True)
class _Seen:
    linkage: Linkage
    grade: str
    reason: str = ""


def everybody_of(exhibit: Exhibit) -> Everybody | None:
    """The population for whoever counts it once more: its file, or the text of its columns where cells are read in another way."""
    table = exhibit.population
    if table is None or exhibit.population_file is not None:
        return exhibit.population_file
    names = {name for claim in exhibit.policy.claims if claim.model.of_population for name in claim.given}
    texts = {name: table.text(name) for name in names if name in table.names}
    return {name: [text.labels[code] for code in text.codes.tolist()] for name, text in texts.items()}


def judge_in_population(exhibit: Exhibit, claim: Claim) -> Finding:
    """The finding about one claim that speaks of the population."""
    seen = _seen(exhibit, claim)
    said = (claim.model.name, claim.model.required())
    if isinstance(seen, str):
        return Finding(said[0], True, said[1], {}, claim.given, claim.hide, NOT_JUDGED, seen)
    verdict = claim.model.satisfied(seen.linkage)
    broken = int((~verdict).sum())
    reason = f"{broken} group(s) fall below" if broken else seen.reason
    return Finding(*said[:1], not broken, said[1], claim.model.achieved(seen.linkage), claim.given, claim.hide, seen.grade, reason)


def _seen(exhibit: Exhibit, claim: Claim) -> _Seen | str:
    """What somebody who knows the population is left with; or what is missing to tell."""
    population = exhibit.policy.population
    if population is None:
        raise ReleaseError("the policy does not say whom the table is a sample of")
    table = exhibit.data
    classes = group([table.text(name).codes for name in claim.given], rows=table.rows)
    if population.file is None:
        people = _estimated(exhibit, population, classes)
        return people if isinstance(people, str) else _Seen(Linkage(classes.counts, people), ESTIMATE)
    if exhibit.population is None:
        return "who is in the population is not published: give the table of it"
    counted = _Everybody(exhibit, exhibit.population, classes, claim.given)
    seen = counted.presence() if claim.model.needs_everybody else Linkage(classes.counts, counted.fitting())
    strange = f"{counted.strangers} people of the population have values that are in no hierarchy" if counted.strangers else ""
    exact = not (claim.model.needs_everybody and counted.several)
    return _Seen(seen, "exact" if exact else "bound (at least this well)", strange)


def _estimated(exhibit: Exhibit, population: SampledPopulation, classes: Classes) -> IntArray | str:
    if population.fraction is not None:
        return fewest_people(classes.counts, population.fraction, population.confidence)
    weights = _weights(exhibit, str(population.weight))
    if isinstance(weights, str):
        return weights
    people: IntArray = np.floor(np.bincount(classes.of, weights=weights, minlength=len(classes)) + 1e-9).astype(np.int64)
    return people


def _weights(exhibit: Exhibit, name: str) -> FloatArray | str:
    """The weight of every published row, from the release or from the records behind it."""
    if name in exhibit.data.names:
        return weights_of(exhibit.data, name)
    if not exhibit.private or exhibit.behind is None:
        return "weights are not published, and who stands behind a row is not known here"
    return weights_of(exhibit.original, name)[exhibit.behind["data"]]


def weights_of(table: Table, name: str) -> FloatArray:
    """How many people each row stands for; a record stands for itself at least."""
    weights = positive_numbers(table, name)
    if (weights < 1).any():
        raise DataError(f"'{name}' must say of every record for how many people it stands, at least 1")
    return weights


class _Everybody:
    """People of the population beside the classes of a release; people who look alike are one point."""

    def __init__(self, exhibit: Exhibit, everybody: Table, classes: Classes, given: Sequence[str]) -> None:
        self.rows = classes.counts
        domains = {name: _domain(exhibit, everybody, name) for name in given}
        leaves = [_leaves(everybody, name, domains[name]) for name in given]
        known = np.logical_and.reduce([leaf >= 0 for leaf in leaves]) if leaves else np.ones(everybody.rows, dtype=np.bool_)
        self.strangers = int((~known).sum())
        points = group([leaf[known] for leaf in leaves], rows=int(known.sum()))
        self.people = points.counts
        at = np.array([leaf[known][points.first] for leaf in leaves], dtype=np.int64).T.reshape(len(points), len(given))
        shown = [_intervals(exhibit.data, name, domains[name].interval, classes) for name in given]
        lo = np.array([low for low, _ in shown], dtype=np.int64).T.reshape(len(classes), len(given))
        hi = np.array([high for _, high in shown], dtype=np.int64).T.reshape(len(classes), len(given))
        self.point, self.box = contained(at, at + 1, lo, hi)
        self.several = bool((np.bincount(self.point, minlength=1) > 1).any())

    def fitting(self) -> IntArray:
        """F of every class."""
        return np.bincount(self.box, weights=self.people[self.point], minlength=len(self.rows)).astype(np.int64)

    def presence(self) -> Linkage:
        """Everybody of the population by the classes they fit, with the bounds of their chance to be in them."""
        outside = int(self.people.sum()) - int(self.people[np.unique(self.point)].sum()) + self.strangers
        if not len(self.point):
            return _shares(np.zeros(1), np.array([max(outside, 1)]))
        met, place = np.unique(self.point, return_inverse=True)
        kind = alike_bags(place, self.box)
        many = np.bincount(kind, weights=self.people[met])
        pairs = group([kind[place], self.box])
        of, box = kind[place][pairs.first], self.box[pairs.first]
        fits = np.bincount(box, minlength=len(self.rows))
        most = np.bincount(of, weights=self.rows[box], minlength=len(many))
        least = np.bincount(of, weights=np.where(fits[box] == 1, self.rows[box], 0), minlength=len(many))
        none = np.zeros(1 if outside else 0)
        chance = np.concatenate([np.minimum(most / many, 1.0), np.minimum(least / many, 1.0), none])
        return _shares(chance, np.concatenate([many, many, np.full(len(none), outside)]).astype(np.int64))


def _shares(chance: FloatArray, people: IntArray) -> Linkage:
    """Kinds of people with a chance each to be in the table."""
    inside = np.rint(chance * _SCALE).astype(np.int64)
    weight = np.stack([_SCALE - inside, inside], axis=1).ravel()
    value = np.tile(np.arange(2), len(chance))
    kind = np.repeat(np.arange(len(chance)), 2)
    return Linkage(people, people, {"presence": Spread.count(kind, value, len(chance), (_OUT, IN), weight)})


def _domain(exhibit: Exhibit, everybody: Table, name: str) -> Generalization:
    """How the column may be generalized, with the values of the original, where it is at hand, and of the population."""
    return generalization_of(exhibit.policy, name, values_of(everybody, exhibit.original if exhibit.private else everybody, name))


def _leaves(table: Table, name: str, domain: Generalization) -> IntArray:
    text = table.text(name)
    return np.array([domain.code_of.get(label, -1) for label in text.labels], dtype=np.int64)[text.codes]


def _intervals(
    table: Table, name: str, interval: Callable[[str], tuple[int, int] | None], classes: Classes
) -> tuple[IntArray, IntArray]:
    """What each class is written as; a label that is none fits nobody, so that nothing is promised of it."""
    text = table.text(name)
    spans = np.array([interval(label) or (0, 0) for label in text.labels], dtype=np.int64).reshape(-1, 2)
    return spans[text.codes[classes.first], 0], spans[text.codes[classes.first], 1]
