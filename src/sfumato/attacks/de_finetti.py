"""`de-finetti`: learn from the release itself which values go with which people, and then guess inside the buckets.

Buckets give every row the same values to choose from, and the certificate's outsider has no opinion which. But all buckets together
show that some values go with some people: the outsider fits a naive Bayes model to rows whose values are only known by bucket, by
expectation and maximization, and believes of each row what the model says.

The figure
    `guesses_right` is how often the likeliest value is the true one, `guesses_right_surest` the same for the surest hundredth of
    the rows, `guesses_right_blind` what the most frequent value of each bucket gets, and `promised` the share that the claims
    allow. A figure above the promise does not refute the claim, which is about outsiders who have no opinion beforehand; it
    measures what that assumption is worth.

Paper
    Kifer (2009); Xiao and Tao (2006) for the release.

Notation
    belief    row × value: how much the outsider believes that a row has a value; a bucket's beliefs add up to its counts

Departures
    The paper samples arrangements of values within buckets. Here a bucket's beliefs are scaled to its counts in turn by rows and by
    values, which needs no sampling. Without the private trace it is not known which of several people with the same visible values
    a row is: rows are scored by all of them whose value the bucket has, each person counted once.

Cost: rounds × rows × values × visible columns. Larger tables are learned on `rows` rows (whole buckets).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.base import ReleaseAttack, promised_share
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.table import Table
from sfumato.forms.anatomy import AnatomyForm, sensitive_part
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_SMOOTH = 0.5
_SCALINGS = 10


class DeFinetti(ReleaseAttack):
    """Learn from all buckets which values go with which rows, then guess inside each bucket."""

    name: ClassVar[str] = "de-finetti"
    paper: ClassVar[str] = "Kifer 2009"
    forms: ClassVar[tuple[type[Form], ...]] = (AnatomyForm,)
    headline: ClassVar[str] = "guesses_right"

    rounds: int = Field(default=10, ge=1, description="rounds of expectation and maximization")
    rows: int = Field(default=50_000, ge=100, description="most rows to learn from, in whole buckets chosen at random")
    seed: int = Field(default=1, description="repeat the same choice of buckets")

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        if not exhibit.form.buckets:
            return ""
        return (
            "values are hidden among those of a bucket, for outsiders who have no opinion beforehand which goes with whom: all "
            "buckets together teach such an opinion, and whoever learns it guesses better than the certificate says"
        )

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        found = {name: self._column(exhibit, name) for name in exhibit.policy.sensitive}
        return next(iter(found.values())) if len(found) == 1 else found

    def _column(self, exhibit: Exhibit, name: str) -> dict[str, Any]:
        known = known_buckets(exhibit, name)
        chosen = _some_buckets(known, self.rows, np.random.default_rng(self.seed))
        belief = learned(known.at(chosen), self.rounds)
        likely = belief.argmax(axis=1)
        scored = Scored.of(exhibit, name, known, chosen)
        right, blind = scored.chance(likely), scored.chance(known.counts[known.bucket[chosen]].argmax(axis=1))
        sure = np.argsort(-belief.max(axis=1), kind="stable")[: max(1, len(chosen) // 100)]
        figures = {
            "rows": len(chosen),
            "guesses_right": float(right.mean()),
            "guesses_right_surest": float(right[sure].mean()),
            "guesses_right_blind": float(blind.mean()),
        }
        promised = promised_share(exhibit, name)
        return figures | ({"promised": promised} if promised < 1 else {})


@dataclass(frozen=True)
class KnownBuckets:
    """The visible columns of each row in codes, its bucket, and how often each value occurs in each bucket."""

    columns: tuple[IntArray, ...]
    bucket: IntArray
    counts: FloatArray
    labels: tuple[str, ...]

    def at(self, rows: IntArray) -> KnownBuckets:
        """Only these rows, which are whole buckets."""
        present, bucket = np.unique(self.bucket[rows], return_inverse=True)
        return KnownBuckets(tuple(codes[rows] for codes in self.columns), bucket, self.counts[present], self.labels)


def known_buckets(exhibit: Exhibit, name: str) -> KnownBuckets:
    """The two tables of an anatomy side by side."""
    data, values = exhibit.data, exhibit.tables[sensitive_part(exhibit, name)]
    visible = tuple(data.text(column).codes.astype(np.int64) for column in visible_columns(exhibit, data))
    bucket, listed, value = data.text("bucket"), values.text("bucket"), values.text("value")
    number = {label: code for code, label in enumerate(bucket.labels)}
    place = np.array([number.get(label, -1) for label in listed.labels], dtype=np.int64)[listed.codes]
    counts = np.zeros((len(bucket.labels), len(value.labels)))
    used = place >= 0
    np.add.at(counts, (place[used], value.codes[used]), values.numbers("count")[used])
    return KnownBuckets(visible, bucket.codes.astype(np.int64), counts, value.labels)


def visible_columns(exhibit: Exhibit, data: Table) -> list[str]:
    """What stands in the rows themselves."""
    return [name for name in data.names if name in exhibit.policy.published and name not in exhibit.policy.sensitive]


def learned(known: KnownBuckets, rounds: int) -> FloatArray:
    """The beliefs of naive Bayes after some rounds; begins without an opinion."""
    may = known.counts[known.bucket]
    belief = may / np.maximum(may.sum(axis=1, keepdims=True), 1e-300)
    for _ in range(rounds):
        weight = np.zeros_like(belief)
        for codes in known.columns:
            weight += np.log(_likelihood(codes, belief))[codes]
        weight = np.where(may > 0, np.exp(weight - weight.max(axis=1, keepdims=True, where=may > 0, initial=-np.inf)), 0.0)
        belief = _scaled(weight, known)
    return np.asarray(belief)


def _likelihood(codes: IntArray, belief: FloatArray) -> FloatArray:
    """P(code | value) from beliefs, smoothed."""
    size = int(codes.max(initial=0)) + 1
    seen = np.stack([np.bincount(codes, weights=column, minlength=size) for column in belief.T], axis=1) + _SMOOTH
    return np.asarray(seen / seen.sum(axis=0))


def _scaled(weight: FloatArray, known: KnownBuckets) -> FloatArray:
    """Beliefs in proportion to the weights within rows whose sums over a bucket are its counts."""
    buckets, belief = len(known.counts), weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    for _ in range(_SCALINGS):
        total = np.stack([np.bincount(known.bucket, weights=column, minlength=buckets) for column in belief.T], axis=1)
        belief = belief * (known.counts / np.maximum(total, 1e-300))[known.bucket]
        belief = belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(belief)


def _some_buckets(known: KnownBuckets, rows: int, draw: np.random.Generator) -> IntArray:
    """The rows of randomly chosen buckets, all when there are few enough."""
    if len(known.bucket) <= rows:
        return np.arange(len(known.bucket))
    order = draw.permutation(len(known.counts))
    size = np.bincount(known.bucket, minlength=len(known.counts))
    chosen = order[np.cumsum(size[order]) <= rows]
    return np.flatnonzero(np.isin(known.bucket, chosen))


@dataclass(frozen=True)
class Scored:
    """What the true values of some rows may be: shares of the people behind each row, per value."""

    share: FloatArray

    def chance(self, guess: IntArray) -> FloatArray:
        """The chance that each row's guess is right."""
        return np.asarray(self.share[np.arange(len(guess)), guess])

    @classmethod
    def of(cls, exhibit: Exhibit, name: str, known: KnownBuckets, rows: IntArray) -> Scored:
        """By the trace, when it is at hand; else by everybody with the row's visible values and a value of its bucket."""
        truth, place = exhibit.original.text(name), {label: code for code, label in enumerate(known.labels)}
        code = np.array([place.get(label, -1) for label in truth.labels], dtype=np.int64)[truth.codes]
        if exhibit.behind is not None:
            own = code[np.asarray(exhibit.behind["data"])[rows]]
            return cls((own[:, None] == np.arange(len(known.labels))).astype(np.float64))
        kinds = _kinds(exhibit, visible_columns(exhibit, exhibit.data))
        mine, theirs = kinds[: exhibit.data.rows], kinds[exhibit.data.rows :]
        seen = np.zeros((int(kinds.max()) + 1, len(known.labels)))
        np.add.at(seen, (theirs[code >= 0], code[code >= 0]), 1.0)
        may = seen[mine] * (known.counts[known.bucket] > 0)
        return cls(_scaled(may, KnownBuckets((), mine, seen, known.labels))[rows])


def _kinds(exhibit: Exhibit, columns: list[str]) -> IntArray:
    """Published rows and then the people of the original, numbered alike by the visible columns."""
    both = []
    for name in columns:
        mine, theirs = exhibit.data.text(name), exhibit.original.text(name)
        place = {label: code for code, label in enumerate(theirs.labels)}
        code = np.array([place.get(label, len(place) + i) for i, label in enumerate(mine.labels)], dtype=np.int64)
        both.append(np.concatenate([code[mine.codes], theirs.codes]))
    return group(both).of
