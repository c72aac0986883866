"""`minimality`: who knows that classes are cut as long as every part is safe concludes what the values of a class
cannot be.

The adversary knows each person's quasi-identifiers and that the method writes nothing more coarsely than it must. A
class that could have been cut and was not must break a requirement in some part of the cut. Arrangements of the class's
values over its people in which a cut would have been safe are ruled out, and the rest changes what is believed of each
person.

The figure
    `guesses_right` is how often the likeliest value is the true one, `guesses_right_blind` how often the most frequent
    value of the class is: what the certificate's adversary gets. `believed_above_promise` is the share of people for
    whom the posterior probability of a value exceeds what the requirements allow (beyond three standard errors of the
    sample).

Paper
    Wong, Fu, Wang and Pei (2007).

Notation
    world    a way to hand out the values of a class to its people; all are equally likely beforehand
    cut      of one column: the parts below the children of the class's node, or the two sides of the median of a range

Invariants
    I1  The cuts are those that `mondrian` tries first, so its classes never have a safe one; of other methods it is an
        assumption, and the share of classes whose true values agree with it is reported.
    I2  A requirement depends on the values of a possible world, not on the order of people with equal values. A model
        that compares with the whole release sees the same shares in all worlds, because all of them have the same
        values.

Departures
    The paper enumerates worlds. Here they are sampled, and classes for which hardly any sample agrees with the
    assumption are left out and counted. People are assumed to be in the cheapest class that covers them; classes that
    this does not fill exactly are left out.

Cost: people × `worlds` × cuts.


Downcoding
----------
`downcoding`: who knows each person's quasi-identifiers undoes part of a generalization, because cells are as small as
allowed.

A generalized row covers many people. The adversary rules out those who must stand elsewhere: first people whose rows
are published exactly, then everybody whom no way to hand out all rows to all people can put there, and last those who
are covered by a cheaper class, where a method that loses as little as it can would have put them.

The figure
    Candidates of a generalized row, on average over these rows: `covered` by its cells, `after_exact_rows`, `matched`
    (certain: no other person can be behind the row), and `at_least_cost` with the share of rows for which that guess is
    true. Every class keeps its k rows, so k-anonymity holds; but a coarse cell no longer hides the fine value.

Paper
    Cohen (2022).

Departures
    The paper's attack recovers finer values with high probability over a known distribution of people. Here the
    adversary knows the people themselves, who are the original table; without the matching step it needs no more than
    counts.

Cost: see `_compatible`.


Compatible
----------
Which people may stand behind which published rows, for an adversary who knows each person's quasi-identifiers.

People with the same values are one *kind*, rows with the same cells are one *class*. A kind is compatible with a class
whose cells cover its values. An adversary who also knows that rows and people match one to one can exclude more: a pair
is *possible* if some assignment of all rows to people uses it.

Notation
    row, person    the compatible pairs: numbers of a class and of a kind
    placed in one assignment of rows, how many people of the kind are in the class
    possible       whether some assignment uses the pair
    cheapest       per kind the compatible class that costs least: where a method that loses as little as it can would
                   put it

Invariants
    I1  A flow hands out all rows. A pair without flow is used by another flow exactly when it lies on a cycle of the
        residual graph, that is, when both of its ends are in one strong component.

Cost: kinds × classes comparisons in pieces of bounded memory, up to `PAIRS`; one flow over the compatible pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import PolicyError
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.attack import ReleaseAttack, largest_allowed_share, method_of
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

_LARGEST = 400
"""People in the largest class that is attacked: worlds of larger ones hardly change any person's chances."""
_ENOUGH, _ROUNDS = 30, 20
"""Worlds that must agree with the assumption, and how many rounds of samples are drawn until there are enough."""


class Minimality(ReleaseAttack):
    """Exclude values under which a class would have been split further; guess from the others."""

    name: ClassVar[str] = "minimality"
    paper: ClassVar[str] = "Wong, Fu, Wang, Pei 2007"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    headline: ClassVar[str] = "guesses_right"

    people: int = Field(default=2_000, ge=1, description="number of people to attack, in random classes")
    worlds: int = Field(default=1_000, ge=100, description="samples of each class")
    seed: int = Field(default=1, description="repeat the same samples")

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        method = method_of(exhibit)
        if not isinstance(exhibit.form, cls.forms) or method is None or not method.groups_by_sensitive(exhibit.policy):
            return ""
        return (
            f"{method.name} uses sensitive values when it decides how far to generalize, and "
            "generalizes no more than it must: an adversary who knows that can exclude "
            "values of a class that would have allowed a finer one"
        )

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        claims = [claim for claim in exhibit.policy.claims if set(claim.given) >= set(exhibit.policy.quasi_identifiers)]
        named = dict.fromkeys(name for claim in claims for name in claim.hide if claim.model.needs_sensitive)
        hidden = tuple(name for name in named if name in exhibit.data.names)
        if not hidden:
            raise PolicyError(
                "no claim speaks of sensitive values, so no class says anything about them", where=self.target
            )
        draw, found = np.random.default_rng(self.seed), exhibit.once(compatible_pairs)
        groups = list(_groups(exhibit, found, self.people, draw))
        tried = [played for group in groups if (played := self.believed(group, claims, draw))]
        word = exhibit.policy.record_word
        if not tried:
            return {
                word: 0,
                "remark": f"no class could be filled with known {word} and attacked: nothing was ruled out",
            }
        result: dict[str, Any] = {
            word: sum(one.size for one in tried),
            "classes": len(tried),
            "classes_left_out": len(groups) - len(tried),
            "true_values_agree": float(np.mean([one.agrees for one in tried])),
        }
        columns = {name: self._figures([one.beliefs[name] for one in tried], exhibit, name) for name in hidden}
        return result | (next(iter(columns.values())) if len(columns) == 1 else columns)

    def _figures(self, beliefs: list[Posteriors], exhibit: ReleaseView, name: str) -> dict[str, Any]:
        right, blind = (np.concatenate([getattr(one, key) for one in beliefs]) for key in ("right", "blind"))
        belief, error = (np.concatenate([getattr(one, key) for one in beliefs]) for key in ("belief", "error"))
        promised = largest_allowed_share(exhibit, name)
        figures: dict[str, Any] = {"guesses_right": float(right.mean()), "guesses_right_blind": float(blind.mean())}
        if promised < 1:
            above = float((belief > promised + 3 * error).mean())
            figures |= {"promised": promised, "believed_above_promise": above}
        return figures

    def believed(
        self, group: KnownClass, claims: list[PrivacyRequirement], draw: np.random.Generator
    ) -> ClassAttackResult | None:
        """What is believed of the people of one class; None when hardly any sample agrees with the assumption."""
        cuts, places = list(group.cuts()), np.arange(group.size)
        kept, agrees = np.zeros((0, group.size), dtype=np.int64), False
        for turn in range(_ROUNDS):
            worlds = draw.permuted(np.tile(places, (self.worlds, 1)), axis=1)
            if turn == 0:  # the true world is judged with the first ones
                worlds = np.concatenate([places[None, :], worlds])
            left = ~_cut_made(group, worlds, cuts, claims)
            if turn == 0:
                agrees, left[0] = bool(left[0]), False
            kept = np.concatenate([kept, worlds[left]])
            if len(kept) >= self.worlds // 2:
                break
        if len(kept) < _ENOUGH:
            return None
        return ClassAttackResult(
            group.size, agrees, {name: _beliefs(values, kept) for name, values in group.values.items()}
        )


@dataclass(frozen=True)
class KnownClass:
    """A class with its members; values are in the true order of the people."""

    domains: tuple[Generalization, ...]
    leaves: tuple[IntArray, ...]
    values: dict[str, IntArray]
    kind: IntArray
    rest: dict[str, IntArray]
    """How often each value occurs in the rest of the release, for models that compare with it."""
    labels: dict[str, tuple[str, ...]]

    @property
    def size(self) -> int:
        return len(self.kind)

    def cuts(self) -> Iterator[IntArray]:
        """Per cut the part of each person (I1)."""
        for domain, leaf in zip(self.domains, self.leaves, strict=True):
            present, place = np.unique(leaf, return_inverse=True)
            if len(present) < 2:
                continue
            lo, hi = domain.close(present[:-1], present[1:] + 1)
            low, high = domain.close(present[:1], present[-1:] + 1)
            apart = hi - lo == high - low
            if apart.any():
                yield np.concatenate([[0], np.cumsum(apart)])[place]
            else:
                median = int(np.sort(place)[(self.size - 1) // 2])
                yield from (
                    np.asarray(place >= at, dtype=np.int64) for at in (median, median + 1) if 0 < at < len(present)
                )


@dataclass(frozen=True)
class Posteriors:
    """Per person the chance that the likeliest value is right, the blind guess's chance, and the belief with its
    standard error."""

    right: FloatArray
    blind: FloatArray
    belief: FloatArray
    error: FloatArray


@dataclass(frozen=True)
class ClassAttackResult:
    """What one class gave."""

    size: int
    agrees: bool
    beliefs: dict[str, Posteriors]


def _groups(
    exhibit: ReleaseView, found: CompatiblePairs, people: int, draw: np.random.Generator
) -> Iterator[KnownClass]:
    """Classes in random order whose people are known, until enough people were seen."""
    names, original = exhibit.policy.quasi_identifiers, exhibit.original
    stands = found.cheapest[found.people.of]
    filled = np.bincount(stands[stands >= 0], minlength=len(found.rows)) == found.rows.counts
    order = np.argsort(stands, kind="stable")
    start = np.searchsorted(stands[order], np.arange(len(found.rows) + 1))
    named = dict.fromkeys(name for claim in exhibit.policy.claims for name in claim.hide)  # whatever their roles
    hidden = [name for name in named if name in original.names]
    columns = {name: original.text(name) for name in hidden}
    labels = {name: text.labels for name, text in columns.items()}
    everywhere = {
        name: np.bincount(text.codes[stands >= 0], minlength=len(text.labels)) for name, text in columns.items()
    }
    seen = 0
    for number in draw.permutation(np.flatnonzero(filled & (found.rows.counts <= _LARGEST))):
        members = order[start[number] : start[number + 1]]
        kind = found.people.of[members]
        values = {name: text.codes[members].astype(np.int64) for name, text in columns.items()}
        rest = {name: _rest(everywhere[name], codes) for name, codes in values.items()}
        yield KnownClass(
            tuple(exhibit.recoded[name] for name in names),
            tuple(leaf[kind] for leaf in found.leaves),
            values,
            kind,
            rest,
            labels,
        )
        seen += len(members)
        if seen >= people:
            return


def _rest(everywhere: IntArray, own: IntArray) -> IntArray:
    """The values of all people else; of a class that is the whole release its own, which are spread alike."""
    mine = np.bincount(own, minlength=len(everywhere))
    return everywhere - mine if (everywhere > mine).any() else mine


def _cut_made(group: KnownClass, worlds: IntArray, cuts: list[IntArray], claims: list[PrivacyRequirement]) -> BoolArray:
    """Per world: would some cut have been safe? Worlds in which everybody has the same values are judged once (I2)."""
    fewest = max((claim.model.demand().fewest for claim in claims), default=1)
    if group.size < 2 * fewest:  # a cut leaves two groups at least
        return np.zeros(len(worlds), dtype=np.bool_)
    first, which = _different(group, worlds)
    made: BoolArray = _safely_cut(group, worlds[first], cuts, claims)[which]
    return made


def _different(group: KnownClass, worlds: IntArray) -> tuple[IntArray, IntArray]:
    """One world for each way in which the values are handed out, and which of them every world is like."""
    kinds = np.unique(np.column_stack(list(group.values.values())), axis=0, return_inverse=True)[1].ravel()
    width = int(kinds.max()) + 1
    if group.size * np.log2(width) >= 62:
        return np.arange(len(worlds)), np.arange(len(worlds))
    name = kinds[worlds] @ (width ** np.arange(group.size, dtype=np.int64))
    _, first, which = np.unique(name, return_index=True, return_inverse=True)
    return first, which


def _safely_cut(
    group: KnownClass, worlds: IntArray, cuts: list[IntArray], claims: list[PrivacyRequirement]
) -> BoolArray:
    """Whether some cut is safe; parts that are not safe may stay together when they are so together."""
    count = len(worlds)
    made, world = np.zeros(count, dtype=np.bool_), np.arange(count)[:, None]
    for part in cuts:
        parts = int(part.max()) + 1
        safe = _hold(group, worlds, world * parts + part, count * parts, claims).reshape(count, parts)
        made |= safe.all(axis=1)
        mixed = np.flatnonzero(safe.any(axis=1) & ~made)
        if len(mixed):
            together = np.where(safe[mixed][:, part], len(mixed), 0) + world[: len(mixed)]
            made[mixed] = _hold(group, worlds[mixed], together, 2 * len(mixed), claims)[: len(mixed)]
    return made


def _hold(
    group: KnownClass, worlds: IntArray, of: IntArray, groups: int, claims: list[PrivacyRequirement]
) -> BoolArray:
    """Per group of people (`of` per world and person): do all requirements hold there? Empty ones do not.

    Everybody of every world is in some group, so that models which compare with the whole release see the whole
    release."""
    people = np.bincount(of.ravel(), minlength=groups)
    present = np.flatnonzero(people)
    number = (np.cumsum(people > 0) - 1)[of.ravel()]
    size = np.append(people[present], len(worlds))
    spread = {name: _spread(group, name, worlds, number) for name in group.values}
    fine = np.ones(len(present), dtype=np.bool_)
    for claim in claims:
        seen = {name: spread[name] for name in claim.hide if name in spread}
        fine &= claim.model.satisfied(Linkage(size, size, seen))[:-1]
    verdict = np.zeros(groups, dtype=np.bool_)
    verdict[present] = fine
    return verdict


def _spread(group: KnownClass, name: str, worlds: IntArray, number: IntArray) -> ValueDistribution:
    """The values of some groups, and as a last group the rest of the release, as often as there are worlds."""
    groups, rest = int(number.max()) + 1, group.rest[name]
    others = np.flatnonzero(rest)
    kind = np.concatenate([number, np.full(len(others), groups)])
    value = np.concatenate([group.values[name][worlds].ravel(), others])
    weight = np.concatenate([np.ones(len(number), dtype=np.int64), rest[others] * len(worlds)])
    return ValueDistribution.count(kind, value, groups + 1, group.labels[name], weight)


def _beliefs(values: IntArray, worlds: IntArray) -> Posteriors:
    """Over the worlds that are left: how often each person has each value; people's true values score the guesses."""
    labels, code = np.unique(values, return_inverse=True)
    people = len(values)
    key = np.arange(people) * len(labels) + code[worlds]
    chance = np.bincount(key.ravel(), minlength=people * len(labels)).reshape(people, len(labels)) / len(worlds)
    most = np.bincount(code).argmax()
    belief = chance.max(axis=1)
    return Posteriors(
        right=(chance.argmax(axis=1) == code).astype(np.float64),
        blind=(code == most).astype(np.float64),
        belief=belief,
        error=np.sqrt(belief * (1 - belief) / len(worlds)) + 1 / len(worlds),
    )


# Downcoding
# ----------


class Downcoding(ReleaseAttack):
    """Exclude people who must belong to other rows; report how many candidates are left for a generalized row."""

    name: ClassVar[str] = "downcoding"
    paper: ClassVar[str] = "Cohen 2022"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    headline: ClassVar[str] = "matched"

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        method = method_of(exhibit)
        if not isinstance(exhibit.form, cls.forms) or method is None or not method.minimal:
            return ""
        return (
            f"{method.name} makes every class as narrow as possible: an adversary who knows "
            "the quasi-identifiers of people in the table can tell many of those behind a "
            "generalized row from others whom it covers, and so undo part of the "
            "generalization"
        )

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        found = exhibit.once(compatible_pairs)
        counts = found.people.counts.astype(np.float64)
        rows = int(found.rows.counts[found.generalized].sum())
        if not rows:
            return {"generalized_rows": 0, "matched": 0.0}
        least = found.cheapest[found.person] == found.row
        result = {
            "generalized_rows": rows,
            "rows_of_their_class": float((found.rows.counts[found.generalized] ** 2).sum() / rows),
            "covered": found.per_row(counts),
            "after_exact_rows": found.per_row(found.beyond_exact),
            "matched": found.per_row(counts, found.possible),
            "at_least_cost": found.per_row(counts, least),
        }
        behind = exhibit.behind
        return result if behind is None else result | {"at_least_cost_is_true": _truth(found, exhibit, behind["data"])}


def _truth(found: CompatiblePairs, exhibit: ReleaseView, behind: Any) -> float:
    """Return the share of generalized rows whose person is in the cheapest class that covers them; needs the private
    provenance."""
    real = np.asarray(behind) >= 0
    inside = real & found.generalized[exhibit.classes.of]
    return float((found.cheapest[found.people.of[np.asarray(behind)[inside]]] == exhibit.classes.of[inside]).mean())


# Compatible
# ----------


PAIRS = 1_500_000_000
_CHUNK = 8_000_000
_MOST = 40_000_000
"""Compatible pairs that fit into memory."""


@dataclass(frozen=True)
class CompatiblePairs:
    """The compatible pairs of classes and kinds, with what a class costs."""

    rows: EquivalenceClasses
    people: EquivalenceClasses
    row: IntArray
    person: IntArray
    leaves: tuple[IntArray, ...]
    """Per quasi-identifier the leaf of each kind."""
    cells: tuple[tuple[IntArray, IntArray], ...]
    """Per quasi-identifier the interval of each class."""
    cost: FloatArray
    """The mean width of the cells of each class."""

    @cached_property
    def generalized(self) -> BoolArray:
        """Whether some cell of a class stands for more than one value."""
        return np.asarray(np.any([hi - lo > 1 for lo, hi in self.cells], axis=0))

    @cached_property
    def possible(self) -> BoolArray:
        """Per pair: does some way to hand out all rows use it? (I1)"""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        placed = self._placed()
        classes, kinds = len(self.rows), len(self.people)
        sink, other, some = classes + kinds, classes + self.person, placed > 0
        taken = np.bincount(self.person, weights=placed, minlength=kinds)
        free, used = np.flatnonzero(taken < self.people.counts), np.flatnonzero(taken > 0)
        tail = np.concatenate([self.row, other[some], classes + free, np.full(len(used), sink)])
        head = np.concatenate([other, self.row[some], np.full(len(free), sink), classes + used])
        residual = csr_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(sink + 1, sink + 1))
        component = connected_components(residual, connection="strong")[1]
        return np.asarray(some | (component[self.row] == component[other]))

    def _placed(self) -> IntArray:
        """Per pair how many people it places in one way to hand out all rows."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        classes, kinds = len(self.rows), len(self.people)
        sink, source = classes + kinds, classes + kinds + 1
        tail = np.concatenate([np.full(classes, source), self.row, classes + np.arange(kinds)])
        head = np.concatenate([np.arange(classes), classes + self.person, np.full(kinds, sink)])
        middle = np.minimum(self.rows.counts[self.row], self.people.counts[self.person])
        capacity = np.concatenate([self.rows.counts, middle, self.people.counts]).astype(np.int32)
        flow = maximum_flow(csr_array((capacity, (tail, head)), shape=(source + 1, source + 1)), source, sink)
        if flow.flow_value < self.rows.counts.sum():
            raise PolicyError(
                "not every row of this release can be somebody of that original", hint="give the right --original"
            )
        return np.asarray(flow.flow[self.row, classes + self.person]).ravel().astype(np.int64)

    @cached_property
    def cheapest(self) -> IntArray:
        """Per kind the compatible class that costs least; −1 where there is none."""
        order = np.lexsort((self.cost[self.row], self.person))
        kinds, first = np.unique(self.person[order], return_index=True)
        chosen = np.full(len(self.people), -1, dtype=np.int64)
        chosen[kinds] = self.row[order[first]]
        return chosen

    def per_row(self, weight: FloatArray, pairs: BoolArray | None = None) -> float:
        """People (counted by `weight` per kind) that a generalized row may stand for, on average over these rows."""
        chosen = self.generalized[self.row] if pairs is None else self.generalized[self.row] & pairs
        people = np.bincount(self.row[chosen], weights=weight[self.person[chosen]], minlength=len(self.rows))
        rows = self.rows.counts * self.generalized
        return float((people * rows).sum() / max(rows.sum(), 1))

    @cached_property
    def beyond_exact(self) -> FloatArray:
        """Per kind how many people are left when the rows that show exactly this kind are theirs."""
        exact = ~self.generalized[self.row]
        shown = np.bincount(self.person[exact], weights=self.rows.counts[self.row[exact]], minlength=len(self.people))
        return np.asarray(np.maximum(self.people.counts - shown, 0.0), dtype=np.float64)


def compatible_pairs(exhibit: ReleaseView) -> CompatiblePairs:
    """Return the compatible pairs of a release with quasi-identifiers in its main part; call it by
    ``exhibit.once(compatible)``."""
    names, original = exhibit.policy.quasi_identifiers, exhibit.original
    people = equivalence_classes_of([original.text(name).codes for name in names], rows=original.rows)
    rows = exhibit.classes
    leaves, cells, widths = [], [], []
    for name in names:
        domain, text = exhibit.recoded[name], original.text(name)
        leaf = np.array([domain.code_of.get(label, -1) for label in text.labels], dtype=np.int64)
        leaves.append(leaf[text.codes[people.first]])
        lo, hi = (side[exhibit.data.text(name).codes[rows.first]] for side in exhibit.intervals(name))
        cells.append((lo, hi))
        widths.append(domain.width(lo, hi))
    if len(people) * len(rows) > PAIRS:
        raise PolicyError(
            f"{len(people):,} kinds of people beside {len(rows):,} classes of rows are too many for this adversary"
        )
    row, person = _pairs(cells, leaves)
    return CompatiblePairs(rows, people, row, person, tuple(leaves), tuple(cells), np.mean(widths, axis=0))


def _pairs(cells: list[tuple[IntArray, IntArray]], leaves: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Classes and kinds whose values lie in all cells."""
    found: list[tuple[IntArray, IntArray]] = []
    step, total = max(1, _CHUNK // max(len(leaves[0]), 1)), 0
    for first in range(0, len(cells[0][0]), step):
        fits = np.ones((min(step, len(cells[0][0]) - first), len(leaves[0])), dtype=np.bool_)
        for (lo, hi), leaf in zip(cells, leaves, strict=True):
            fits &= (lo[first : first + step, None] <= leaf) & (leaf < hi[first : first + step, None])
        row, person = np.nonzero(fits)
        found.append((first + row, person))
        total += len(row)
        if total > _MOST:
            raise PolicyError(
                "the rows are too coarse: too many people are compatible with each of them for this adversary"
            )
    return np.concatenate([row for row, _ in found]), np.concatenate([person for _, person in found])
