"""Using what was published: the distribution behind all tables of a release, and COUNT queries answered from it alone.

Guarantee
    Only published files are used. With exact or bucketized tables the answer is the maximum-likelihood estimate, which is also the
    mean over all worlds that agree with the tables; a generalized cell counts with the share of its leaves that qualifies.

Paper
    [versatile §5.1]

>>> import sfumato as sf
>>> policy = sf.Policy.parse({"version": 1, "columns": {"a": "other", "b": "other"}, "protect": ["a -> b : 2-diversity"]})
>>> publication = sf.publish(policy, data={"a": ["x", "x", "y", "y"], "b": ["1", "2", "3", "4"]}, seed=1)
>>> sf.estimate(publication).count("count where a = x")
2.0
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.data.generalization import Generalization
from sfumato.data.numbers import number, span
from sfumato.decomposition.estimate import JointEstimate
from sfumato.decomposition.published_subtables import PublishedSubTables, read_tables
from sfumato.errors import PolicyError, ReleaseError
from sfumato.estimation.basket_counts import answer, parse_question
from sfumato.estimation.count_queries import CountCondition, parse
from sfumato.forms.baskets import Basket
from sfumato.io.hierarchies import is_standing
from sfumato.metrics.basket_queries import BasketAnswer
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.registry import nearest
from sfumato.release.folder import read_folder

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
        """Expected number of people, or of rows where a person may stand in several, that satisfy
        ``"count where …"``, or ``{"age": ["37", "55"], "race": "white"}``.

        With `weighted` people of the population, by the published survey weights that the policy names: every row counts as
        often as its weight says, one whose weight is not shown as the mean of the others.
        """
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
        return np.array([_share(label, domain, condition) for label in labels], dtype=np.float64)

    def _domain(self, name: str) -> Generalization | None:
        column = self.policy.columns.get(name)
        if column is None or not is_standing(column.hierarchy):
            return None
        return generalization_of(self.policy, name, [])


def _middle(label: str) -> float:
    """A number, or the middle of a range."""
    value, ends = number(label), span(label)
    if value is not None:
        return float(value)
    return float("nan") if ends is None else (float(ends[0]) + float(ends[1])) / 2


def _conditions(query: str | Mapping[str, Any]) -> list[CountCondition]:
    if isinstance(query, str):
        return parse(query)
    return [_listed(name, values) for name, values in query.items()]


def _listed(name: str, values: Any) -> CountCondition:
    accepted = frozenset([str(values)] if isinstance(values, str | int | float) else map(str, values))
    return CountCondition(name, lambda text: text in accepted, accepted)


def _share(label: str, domain: Generalization | None, condition: CountCondition) -> float:
    if label in condition.named:
        return 1.0
    span = domain.interval(label) if domain is not None else None
    if domain is not None and span is not None:
        return float(np.mean([condition.accepts(leaf) for leaf in domain.leaves[span[0] : span[1]]]))
    match = _RANGE.match(label)
    if match and 0 < int(match[2]) - int(match[1]) < _WIDEST:
        return float(np.mean([condition.accepts(str(number)) for number in range(int(match[1]), int(match[2]) + 1)]))
    return float(condition.accepts(label))


def estimate(release: Any) -> CountEstimator:
    """The distribution behind a release: a folder, or a `Publication`.

    Parameters
    ----------
    release
        The path of a release folder, or what `publish` returned.

    Returns
    -------
    CountEstimator
        Its `count` answers COUNT queries from the published parts alone.
    """
    exhibit = read_folder(Path(release)) if isinstance(release, str | Path) else release.exhibit.as_published()
    why = exhibit.form.uncountable(exhibit)
    if why:
        raise ReleaseError(f"COUNT queries cannot be answered: {why}")
    policy = exhibit.policy
    tables = read_tables(exhibit.tables, policy.sensitive[0] if policy.sensitive else "value")
    return CountEstimator(tables, policy, JointEstimate(tables.sheets()))


def basket_answer(release: Any, question: str) -> tuple[BasketAnswer, int] | None:
    """The answer to a COUNT query on published baskets with the number of records; None where the release is of another form."""
    exhibit = read_folder(Path(release)) if isinstance(release, str | Path) else release.exhibit.as_published()
    if not isinstance(exhibit.form, Basket):
        return None
    return answer(exhibit, parse_question(question)), exhibit.form.records(exhibit)
