"""Using what was published: the distribution behind all tables of a release, and COUNT queries answered from it alone.

Guarantee
    Only published files are used. With exact or bucketized tables the answer is the maximum-likelihood estimate, which
    is also the mean over all worlds that agree with the tables; a generalized cell counts with the share of its leaves
    that qualifies.

Paper
    [versatile §5.1]

>>> import sfumato as sf
>>> policy = sf.Policy.parse({"version": 1, "columns": {"a": "other", "b": "other"},
...     "protect": ["a -> b : 2-diversity"]})
>>> publication = sf.publish(policy, data={"a": ["x", "x", "y", "y"], "b": ["1", "2", "3", "4"]}, seed=1)
>>> sf.estimate(publication).count("count where a = x")
2.0


Count queries
-------------
COUNT queries in words: ``count where age in (37, 55) and race = white``.

Conditions are joined by ``and``. A condition is ``column = value``, ``column != value``, ``column in (value, …)``,
``column between low and high`` or a comparison ``< <= > >=`` of numbers. Values and names with blanks are quoted.
Numbers compare as numbers: ``age = 22`` also counts cells that say ``22.0``. A code with a leading zero is a text.

>>> [condition.column for condition in parse("count where age between 30 and 39 and race in (white, 'not said')")]
['age', 'race']
>>> parse("where age >= 40")[0].accepts("39"), parse("age >= 40")[0].accepts("40.5")
(False, True)
>>> [parse(f"age {words}")[0].accepts("22.0") for words in ("= 22", "in (21, 22)", "!= 22", "between 22 and 23")]
[True, True, False, True]
>>> parse("zip = 1234")[0].accepts("01234")
False


Basket counts
-------------
COUNT queries on published baskets: ``count where items has tea and items lacks soap and creed = x``, with bounds.

The estimate counts rows as they stand; the true count lies between the bounds. Under a vote a row stands for some set
among its possible worlds (`baskets.metrics`), and a hidden label may be any. If items are distributed, a block reveals
exactly how many of its records have each item. One item is counted exactly; several lie between the bounds of each
block (Fréchet).

>>> parse_question("count where items has 'green tea' and items lacks soap")
BasketQuestion(present=('green tea',), absent=('soap',), labels=())


Recovering
----------
What a recipient can estimate from a randomly perturbed release folder of any form, without the original.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray
from sfumato.core.errors import PolicyError, ReleaseError
from sfumato.core.registry import nearest
from sfumato.core.token_reader import TokenReader, tokens
from sfumato.data.generalization import Generalization
from sfumato.data.text_values import parse_interval, parse_number
from sfumato.io.hierarchy_files import is_standing
from sfumato.kinds.baskets.form import Basket, BasketBlocks, blocks_of, published_baskets
from sfumato.kinds.baskets.known_columns import known_columns
from sfumato.kinds.baskets.metrics import BasketAnswer, count, item_columns
from sfumato.kinds.baskets.published_baskets import WITHHELD
from sfumato.kinds.graphs.recovery import recover_graph
from sfumato.kinds.subtables.joint_estimate import JointEstimate, PublishedSubTables, read_tables
from sfumato.kinds.tables.form import PerturbedTable
from sfumato.kinds.tables.recovery import recover_table
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.folder import read_folder
from sfumato.release.view import ReleaseView

_RANGE = re.compile(r"^(-?\d+)-(-?\d+)$")
_WIDEST = 100_000


@dataclass(frozen=True, slots=True)
class CountEstimator:
    """The estimated distribution behind a release."""

    tables: PublishedSubTables
    policy: Policy
    estimate: JointEstimate

    @property
    def people(self) -> int:
        return self.tables.people

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.tables.labels)

    def count(self, query: str | Mapping[str, Any], *, weighted: bool = False) -> float:
        """Expected number of people, or of rows where a person may have several, that satisfy ``"count where …"``, or
        ``{"age": ["37", "55"], "race": "white"}``.

        With `weighted` people of the population, by the published survey weights that the policy names: every row
        counts as often as its weight says, one whose weight is not shown as the mean of the others."""
        where: dict[str, FloatArray] = self._weights() if weighted else {}
        for condition in _conditions(query):
            if condition.column not in self.tables.labels:
                what = f"no published table has a column '{condition.column}'"
                raise PolicyError(what, hint=nearest(condition.column, list(self.tables.labels)))
            share = self._shares(condition)
            where[condition.column] = where.get(condition.column, np.ones(len(share))) * share
        return float(self.estimate.count(where))

    def _weights(self) -> dict[str, FloatArray]:
        named = self.policy.population.weight if self.policy.population is not None else None
        if named is None or named not in self.tables.labels:
            hint = "write 'population: {weight: column}', and publish the column, rounded: {round: 50}"
            raise PolicyError("the release shows no survey weights", hint=hint)
        weights = np.array([_middle(label) for label in self.tables.labels[named]], dtype=np.float64)
        if np.isnan(weights).all():
            raise PolicyError(f"no weight of '{named}' can be read as a number", hint="round weights with {round: 50}")
        return {named: np.where(np.isnan(weights), self._mean(named, weights), weights)}

    def _mean(self, named: str, weights: FloatArray) -> float:
        told = (~np.isnan(weights)).astype(np.float64)
        return float(self.estimate.count({named: np.nan_to_num(weights)}) / self.estimate.count({named: told}))

    def _shares(self, condition: CountCondition) -> FloatArray:
        """For each label of the column, the share of what it stands for that the condition accepts."""
        labels = self.tables.labels[condition.column]
        domain = self._domain(condition.column)
        known = _known_numbers(labels)
        return np.array([_share(label, domain, condition, known) for label in labels], dtype=np.float64)

    def _domain(self, name: str) -> Generalization | None:
        column = self.policy.columns.get(name)
        if column is None or not is_standing(column.hierarchy):
            return None
        return generalization_of(self.policy, name, [])


def _middle(label: str) -> float:
    """A number, or the middle of a range."""
    value, ends = parse_number(label), parse_interval(label)
    if value is not None:
        return float(value)
    return float("nan") if ends is None else (float(ends[0]) + float(ends[1])) / 2


def _conditions(query: str | Mapping[str, Any]) -> list[CountCondition]:
    if isinstance(query, str):
        return parse(query)
    return [_listed(name, values) for name, values in query.items()]


def _listed(name: str, values: Any) -> CountCondition:
    accepted = frozenset([str(values)] if isinstance(values, str | int | float) else map(str, values))
    return CountCondition(name, _one_of(accepted), accepted)


def _known_numbers(labels: Sequence[str]) -> list[Decimal]:
    """The numbers that a column shows by themselves or as closed ends of intervals, in order."""
    ends = [found for found in map(parse_interval, labels) if found is not None]
    shown = {value for value in map(parse_number, labels) if value is not None}
    return sorted(shown | {low for low, _, _ in ends} | {high for _, high, closed in ends if closed})


def _share(label: str, domain: Generalization | None, condition: CountCondition, known: Sequence[Decimal]) -> float:
    """The share of what a label stands for that the condition accepts, each of its values counted alike.

    An interval with whole ends stands for all whole numbers in it, any other for the numbers that the column shows
    (`known`)."""
    if label in condition.named:
        return 1.0
    span = domain.interval(label) if domain is not None else None
    if domain is not None and span is not None:
        return float(np.mean([condition.accepts(leaf) for leaf in domain.leaves[span[0] : span[1]]]))
    match = _RANGE.match(label)
    if match and 0 < int(match[2]) - int(match[1]) < _WIDEST:
        return float(np.mean([condition.accepts(str(number)) for number in range(int(match[1]), int(match[2]) + 1)]))
    if (ends := parse_interval(label)) is not None:
        low, high, closed = ends
        inside = [value for value in known if low <= value < high or (closed and value == high)]
        return float(np.mean([condition.accepts(str(value)) for value in inside])) if inside else 0.0
    return float(condition.accepts(label))


def estimate(release: Any) -> CountEstimator:
    """Return an estimator that answers COUNT queries from a release.

    Parameters
    ----------
    release
        The path of a release folder, or a `Publication`.

    Returns
    -------
    CountEstimator
        Its `count` uses the published parts alone.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "30", "40", "40"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> publication = sf.publish(sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2)))
    >>> sf.estimate(publication).count("count where age = 30 and illness = flu")
    1.0
    """
    exhibit = read_folder(Path(release)) if isinstance(release, str | Path) else release.exhibit.as_published()
    why = exhibit.form.uncountable(exhibit)
    if why:
        raise ReleaseError(f"COUNT queries cannot be answered: {why}")
    policy = exhibit.policy
    tables = read_tables(exhibit.tables, policy.sensitive[0] if policy.sensitive else "value")
    return CountEstimator(tables, policy, JointEstimate(tables.sheets()))


def basket_answer(release: Any, question: str) -> tuple[BasketAnswer, int] | None:
    """The answer to a COUNT query on published baskets with the number of records; None where the release is of another
    form."""
    exhibit = read_folder(Path(release)) if isinstance(release, str | Path) else release.exhibit.as_published()
    if not isinstance(exhibit.form, Basket):
        return None
    return answer(exhibit, parse_question(question)), exhibit.form.records(exhibit)


# Count queries
# -------------


_WORD = re.compile(
    r"""(?P<blank>\s+)|(?P<quoted>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|<>|[=<>(),])|(?P<name>[^\s=<>!(),'"]+)"""
)
_HINT = 'write "count where age in (37, 55) and race = white"'
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_ORDER: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


@dataclass(frozen=True, slots=True)
class CountCondition:
    """What a value of one column must satisfy."""

    column: str
    accepts: Callable[[str], bool]
    named: frozenset[str] = frozenset()
    """Values asked for by name, which may also be published labels like 30-39."""


def parse(text: str) -> list[CountCondition]:
    """The conditions of a query; without any, everybody is counted."""
    reader = _QueryReader(text, list(tokens(text, _WORD, _unknown)))
    reader.accept("count")
    if not reader.accept("where") and reader.token.kind == "end":
        return []
    conditions = [reader.condition()]
    while reader.token.kind != "end":
        reader.expect("and", "in the query")
        conditions.append(reader.condition())
    return conditions


def _unknown(at: int) -> PolicyError:
    return PolicyError("the query is not understood", where=f"at character {at + 1}", hint=_HINT)


class _QueryReader(TokenReader):
    any_case = True

    def wrong(self, what: str, at: int | None = None, *, hint: str = _HINT) -> PolicyError:
        return PolicyError(what, where=f"at word {self.next + 1}", hint=hint)

    def value(self) -> str:
        if self.token.kind == "end":
            raise PolicyError("the query ends too early", hint=_HINT)
        if self.token.kind == "sign":
            raise self.wrong("expected a name or a value in the query")
        token = self.take()
        return token.text[1:-1] if token.kind == "quoted" else token.text

    def condition(self) -> CountCondition:
        column = self.value()
        if self.accept("in"):
            accepted = frozenset(self._listed())
            return CountCondition(column, _one_of(accepted), accepted)
        if self.accept("between"):
            low = self.value()
            self.expect("and", "in the query")
            return CountCondition(column, _between(_number(low), _number(self.value())))
        sign = self.accept("=", "!=", "<>", "<", "<=", ">", ">=")
        if sign is None:
            raise PolicyError(f"expected =, !=, <, >, in or between after '{column}'", hint=_HINT)
        value = self.value()
        return CountCondition(column, _comparison(sign.text, value), frozenset({value} if sign.text == "=" else ()))

    def _listed(self) -> list[str]:
        self.expect("(", "in the query")
        values = [self.value()]
        while self.accept(","):
            values.append(self.value())
        self.expect(")", "in the query")
        return values


def _comparison(sign: str, value: str) -> Callable[[str], bool]:
    if sign in ("=", "!=", "<>"):
        equal = _one_of([value])
        return equal if sign == "=" else lambda text: not equal(text)
    limit, compare = _number(value), _ORDER[sign]
    return lambda text: (number := parse_number(text)) is not None and compare(number, limit)


def _one_of(values: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text is one of these, numbers compared as numbers; a code with a leading zero is no number."""
    texts = frozenset(values)
    numbers = frozenset(number for number in map(_plain_number, texts) if number is not None)
    return lambda text: text in texts or (bool(numbers) and _plain_number(text) in numbers)


def _plain_number(text: str) -> Decimal | None:
    return None if _LEADING_ZERO.match(text) else parse_number(text)


def _between(low: Decimal, high: Decimal) -> Callable[[str], bool]:
    return lambda text: (number := parse_number(text)) is not None and low <= number <= high


def _number(text: str) -> Decimal:
    number = parse_number(text)
    if number is None:
        raise PolicyError("an order comparison needs a number", hint=_HINT)
    return number


# Basket counts
# -------------


_ASK = re.compile(r"\s*count(?:\s+where\s+(?P<conditions>.+?))?\s*$", re.IGNORECASE | re.DOTALL)
_BASKET_COUNTS_WORD = r"'[^']*'|\"[^\"]*\"|[^\s'\"]+"
_CONDITION = re.compile(
    rf"\s*(?P<column>{_BASKET_COUNTS_WORD})\s+(?P<verb>has|lacks|=)\s+(?P<value>{_BASKET_COUNTS_WORD})\s*(?:and\b|$)",
    re.IGNORECASE,
)
_LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class BasketQuestion:
    """Items that must be there, items that must not, and labels as (column, value)."""

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


def parse_question(text: str) -> BasketQuestion:
    """What is asked; anything else is an error."""
    asked = _ASK.match(text) if len(text) <= _LONGEST else None
    if asked is None:
        raise _wrong("a query begins with 'count where'")
    rest = asked["conditions"] or ""
    present: list[str] = []
    absent: list[str] = []
    labels: list[tuple[str, str]] = []
    while rest:
        found = _CONDITION.match(rest)
        if found is None:
            raise _wrong("a condition cannot be read")
        column, value, verb = found["column"].strip("'\""), found["value"].strip("'\""), found["verb"].lower()
        if verb == "=":
            labels.append((column, value))
        elif column == "items":
            (present if verb == "has" else absent).append(value)
        else:
            raise _wrong("only items can be had or lacked")
        rest = rest[found.end() :]
    return BasketQuestion(tuple(present), tuple(absent), tuple(labels))


def _wrong(what: str) -> PolicyError:
    return PolicyError(what, where="query", hint="count where items has tea and items lacks soap and creed = x")


def answer(exhibit: ReleaseView, question: BasketQuestion) -> BasketAnswer:
    """The estimate, and between which counts the truth lies."""
    published = exhibit.once(published_baskets)
    for name, _ in question.labels:
        if name not in published.labels:
            raise PolicyError(f"the published baskets have no column '{name}'", where="query")
        if name in known_columns(exhibit.policy):
            hint = "query items and labels; the cells of the column are in data.csv"
            raise PolicyError(
                f"rows show a range of '{name}' and no value, which is not counted", where="query", hint=hint
            )
    shown, maybe = _labelled(exhibit, question)
    if not question.labels and isinstance(exhibit.form, BasketBlocks) and exhibit.form.shows == "dealt":
        return _dealt(exhibit, question)
    asked = {"present": question.present, "absent": question.absent}
    if not question.labels:
        return count(published, **asked)
    sure, open_ = (
        count(published.take(np.flatnonzero(shown)), **asked),
        count(published.take(np.flatnonzero(maybe)), **asked),
    )
    return BasketAnswer(sure.estimate, sure.low, sure.high + open_.high)


def _labelled(exhibit: ReleaseView, question: BasketQuestion) -> tuple[BoolArray, BoolArray]:
    """Rows that show all the labels asked for, and rows that may have them because one is hidden."""
    published = exhibit.once(published_baskets)
    fits = np.ones(len(published), dtype=np.bool_)
    shown = fits.copy()
    for name, value in question.labels:
        column = published.labels[name]
        equal = _one_of([value])
        same = np.array([equal(str(label)) for label in column], dtype=np.bool_)
        shown &= same
        fits &= same | (column == WITHHELD)
    return shown, fits & ~shown


def _dealt(exhibit: ReleaseView, question: BasketQuestion) -> BasketAnswer:
    """From how many records of every block have each item."""
    published, block = exhibit.once(published_baskets), exhibit.once(blocks_of)
    has = item_columns(published.base, published.names, [*question.present, *question.absent])
    has[:, len(question.present) :] = ~has[:, len(question.present) :]
    estimate = int(has.all(axis=1).sum())
    if not has.shape[1]:
        return BasketAnswer(len(block), len(block), len(block))
    sizes = np.bincount(block)
    each = np.stack([np.bincount(block, weights=column, minlength=len(sizes)) for column in has.T.astype(np.float64)])
    low = np.maximum(each.sum(axis=0) - (len(each) - 1) * sizes, 0).sum()
    return BasketAnswer(estimate, int(low), int(each.min(axis=0).sum()))


# Recovering
# ----------


def recover_folder(folder: str | Path, confidence: float = 0.95, patterns: Sequence[str] = ()) -> dict[str, Any]:
    """Figures of the original and notes, as one JSON document; refused where the form says that nothing can be
    undone."""
    exhibit = read_folder(Path(folder))
    if not exhibit.form.recoverable:
        what = "there is nothing to recover: the manifest names no chances by which ties or values were changed"
        raise ReleaseError(what, where=str(folder), hint="see 'measure' and 'query' for other forms")
    if isinstance(exhibit.form, PerturbedTable):
        return recover_table(exhibit)
    return recover_graph(exhibit, confidence, patterns)
