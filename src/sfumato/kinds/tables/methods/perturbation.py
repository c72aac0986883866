"""What all perturbing methods share: which columns they change, the refusal of promises, and the published table.

Invariants
    I1  Every draw comes from the cryptographic source, with a child of its own for every column.
    I2  Rows are shuffled; the private provenance, which says whose row each was, lasts for the attack that measures the
        risk.


Noise
-----
`noise`: numbers get normal noise whose covariance is a declared share of their own, so that correlations stay what they
were.

With C the covariance of the columns and a the amount, what is published has covariance (1 + a) C and the same means, on
average. The covariance of the noise is declared, and `sfumato recover` takes it off. Paper: Kim (1986).


Pram
----
`pram`: every category stays with a declared probability, and is drawn anew from the shares of its column otherwise.

The matrix P = keep · I + (1 − keep) · 1 t' has the column's own shares t as fixed point (t P = t): on average shares
stay what they were, without any correction (invariant post randomization). Tables of two columns do not; `sfumato
recover` inverts P for them. Paper: Gouweleeuw, Kooiman, Willenborg, de Wolf (1998).

Departures: the matrix is published, and with it the shares of the original; that is what it is for.


Swapping
--------
`swapping`: every value changes places with one of nearby rank in its column, column by column.

What stays: the values of every column, exactly; what is near: correlations, as far as the window is narrow.
Paper: Moore (1996).

Invariants
    I1  Two records change places at most once per column, and their ranks are at most a window apart.


Shuffling
---------
`shuffling`: the values of some columns are reassigned, in a random order that the other columns predict.

Every column becomes normal scores of its ranks. The scores of the changing columns are drawn from their normal
distribution, conditional on the scores of the other columns. The values of each column are then assigned in the order
of its drawn scores. Every column keeps its values exactly, and rank correlations are kept on average. A drawn score
reveals no more about the record's own value than the other columns do. Paper: Muralidhar, Sarathy (2006)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.tables.form import PerturbedTable
from sfumato.kinds.tables.methods.microaggregation import decimal_places
from sfumato.kinds.tables.numeric_coordinates import is_numeric, values_of
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Provenance, Release

NOTHING = (
    "this release has no privacy guarantee: values were perturbed at random, and an "
    "adversary who knows enough about a person may still find their row"
)


class Perturbing(Method):
    """A method that perturbs values of some columns at random."""

    form: ClassVar[type[Form]] = PerturbedTable

    columns: tuple[str, ...] = Field(
        default=(), description="columns whose values change; by default all quasi-identifiers"
    )

    def refusal(self, policy: Policy) -> str:
        if policy.claims:
            return (
                "chance keeps no promise about single people: leave 'protect' empty, and measure the risk with 'attack"
                " linkage'"
            )
        if policy.keep:
            return "randomly perturbed values need not satisfy the constraints under 'keep'"
        strange = [name for name in self.columns if name not in policy.published]
        if strange:
            return f"'{strange[0]}' is to change and is not published"
        return "" if self.changing(policy) else "the policy has no quasi-identifier column, and no columns are named"

    def changing(self, policy: Policy) -> tuple[str, ...]:
        """The columns whose values change."""
        return self.columns or policy.quasi_identifiers

    def run(self, task: Task) -> Release:
        form, written = self.changed(task)
        rows = task.randomness.child("row order").permutation(task.data.rows)  # I2
        columns = {}
        for name in task.policy.published:
            column = written.get(name)
            columns[name] = (task.data.column(name).combine_chunks() if column is None else column).take(pa.array(rows))
        return Release(
            form, {"data": Part(pa.table(columns))}, 0, Provenance({"data": rows}, lasting=True), notes=(NOTHING,)
        )

    @abstractmethod
    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        """The form with what is declared, and the new columns, in the order of the records."""


def decode_texts(labels: list[str] | tuple[str, ...], codes: np.ndarray) -> pa.Array:
    """A column of texts from codes."""
    return pa.array(list(labels), pa.string()).take(pa.array(codes))


def require_numbers(table: Table, names: tuple[str, ...]) -> None:
    """Refuses columns that are no numbers, or have missing ones."""
    for name in names:
        text = table.text(name)
        if not is_numeric(text) or "" in text.labels:
            raise DataError(
                f"column '{name}' has values that are no numbers", hint="name the columns to change: columns: […]"
            )


def normal_numbers(randomness: Randomness, count: int) -> FloatArray:
    """Standard normal numbers, two from two uniform ones (I1)."""
    half = (count + 1) // 2
    radius = np.sqrt(-2 * np.log(np.maximum(randomness.child("radius").uniform(half), 1e-300)))
    angle = 2 * np.pi * randomness.child("angle").uniform(half)
    drawn: FloatArray = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
    return drawn


# Noise
# -----


class CorrelatedNoise(Perturbing):
    """Add correlated noise of a published covariance to numbers; no privacy model is promised."""

    name: ClassVar[str] = "noise"
    paper: ClassVar[str] = "Kim 1986"

    amount: float = Field(default=0.1, gt=0, description="variance of the noise over that of the column")

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names = self.changing(task.policy)
        require_numbers(task.data, names)
        values = np.stack([values_of(task.data.text(name)) for name in names], axis=1)
        covariance = self.amount * np.atleast_2d(np.cov(values, rowvar=False, ddof=0))
        size, vectors = np.linalg.eigh(covariance)
        drawn = normal_numbers(task.randomness.child("noise"), values.size).reshape(values.shape)
        values = values + drawn @ (vectors * np.sqrt(np.maximum(size, 0.0))).T
        written = {}
        for place, name in enumerate(names):
            digits = decimal_places(task.data.text(name)) + 1
            numbers = np.round(values[:, place], digits) + 0.0
            written[name] = pa.array([f"{value:.{digits}f}" for value in numbers.tolist()], pa.string())
        told = {
            name: {other: float(f"{covariance[i, j]:.9g}") for j, other in enumerate(names)}
            for i, name in enumerate(names)
        }
        return PerturbedTable(how="noise", columns=names, covariance=told), written


# Pram
# ----


class PostRandomization(Perturbing):
    """Change categories by a published matrix that keeps their shares on average; no privacy model is promised."""

    name: ClassVar[str] = "pram"
    paper: ClassVar[str] = "Gouweleeuw, Kooiman, Willenborg, de Wolf 1998"

    keep: float = Field(default=0.8, gt=0, lt=1, description="probability that a value is kept")

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names = self.changing(task.policy)
        written, shares = {}, {}
        for name in names:
            text, chance = task.data.text(name), task.randomness.child(name)
            share = text.counts() / max(len(text.codes), 1)
            drawn = np.searchsorted(np.cumsum(share)[:-1], chance.child("value").uniform(len(text.codes)), side="right")
            stays = chance.child("stay").uniform(len(text.codes)) < self.keep
            written[name] = decode_texts(text.labels, np.where(stays, text.codes, drawn))
            shares[name] = dict(zip(text.labels, share.tolist(), strict=True))
        return PerturbedTable(how="pram", columns=names, keep=dict.fromkeys(names, self.keep), shares=shares), written


# Swapping
# --------


class Swapping(Perturbing):
    """Exchange values of similar rank; every column keeps its values, and no privacy model is promised."""

    name: ClassVar[str] = "swapping"
    paper: ClassVar[str] = "Moore 1996"

    window: float = Field(default=0.05, gt=0, le=1, description="largest difference of ranks, as a share of all rows")

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names = self.changing(task.policy)
        written = {}
        for name in names:
            text = task.data.text(name)
            partner = swap_partners(
                rank_order(text), max(1, int(self.window * len(text.codes))), task.randomness.child(name)
            )
            written[name] = decode_texts(text.labels, text.codes[partner])
        return PerturbedTable(how="swapping", columns=names, window=self.window), written


def rank_order(text: TextColumn) -> IntArray:
    """Return the records of a column from its least to its largest value; names are in alphabetical order."""
    order = np.argsort(np.argsort(np.array(text.labels, dtype=object), kind="stable"), kind="stable")
    key = values_of(text) if is_numeric(text) else order[text.codes].astype(np.float64)
    return np.argsort(key, kind="stable")


def swap_partners(ranked: IntArray, window: int, randomness: Randomness) -> IntArray:
    """For each record the record whose value it gets (I1); the last ones may be left with their own."""
    many = len(ranked)
    steps = randomness.integers(window, many).tolist() if many else []
    partner, free = list(range(many)), [True] * many
    for place in range(many):
        if not free[place]:
            continue
        reach = min(window, many - place - 1)
        for turn in range(reach):
            other = place + 1 + (steps[place] + turn) % reach
            if free[other]:
                partner[place], partner[other] = other, place
                free[place] = free[other] = False
                break
    found = np.empty(many, dtype=np.int64)
    found[ranked] = ranked[np.array(partner, dtype=np.int64)] if many else ranked
    return found


# Shuffling
# ---------


class Shuffling(Perturbing):
    """Reassign values of some columns in the order that the other columns predict; no privacy model is promised."""

    name: ClassVar[str] = "shuffling"
    paper: ClassVar[str] = "Muralidhar, Sarathy 2006"

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names, table = self.changing(task.policy), task.data
        require_numbers(table, names)
        stay = [name for name in task.policy.published if name not in names and is_numeric(table.text(name))]
        own, others = _scores(table, names), _scores(table, tuple(stay))
        weight = np.linalg.lstsq(others, own, rcond=None)[0] if stay else np.zeros((0, len(names)))
        rest = own - others @ weight
        size, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rest, rowvar=False, ddof=0)))
        drawn = normal_numbers(task.randomness.child("scores"), own.size).reshape(own.shape)
        scores = others @ weight + drawn @ (vectors * np.sqrt(np.maximum(size, 0.0))).T
        written = {name: _dealt(table, name, scores[:, place]) for place, name in enumerate(names)}
        return PerturbedTable(how="shuffling", columns=names), written


def _scores(table: Table, names: tuple[str, ...]) -> FloatArray:
    """Normal scores of the ranks of each column, equal values alike."""
    from scipy.stats import norm, rankdata

    columns = []
    for name in names:
        text = table.text(name)
        columns.append(
            norm.ppf(rankdata(table.numbers(name) if "" not in text.labels else text.codes) / (table.rows + 1))
        )
    return np.stack(columns, axis=1) if columns else np.zeros((table.rows, 0))


def _dealt(table: Table, name: str, scores: FloatArray) -> pa.Array:
    text = table.text(name)
    dealt: IntArray = np.empty(table.rows, dtype=np.int64)
    dealt[np.argsort(scores, kind="stable")] = text.codes[rank_order(text)]
    return decode_texts(text.labels, dealt)
