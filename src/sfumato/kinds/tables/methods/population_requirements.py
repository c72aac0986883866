"""Samples of a population: what a recoding problem asks for when claims speak of people who are not in the table.

By what the policy says of the population
    fraction   a class of so many rows stands for at least k people at the confidence that is asked for: a number of
               rows
    weight     weights are one more sensitive column, and a group needs their sum
    file       everybody of the population joins the problem as one more row, and only rows of the table are published.
               A group then is people of the population; what is written for it contains them, so at least as many fit

Invariants
    I1  Claims about the table alone see only its rows (`InTable`); groups in which nobody of the table stands are never
        published.
    I2  Rows of the table come first, so that a row of the problem has its number in the table.
    I3  Of people who look alike as many are in the table as rows do; the others are beside it. A table whose people are
        not all in the population is refused.

Departures: costs are counted over everybody, not over the table alone. People with values that are in no hierarchy fit
nothing, and are left out of the problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import ConfigDict

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError, Infeasible, NotFound
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalized_tuples import containing_pairs
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.table import Table
from sfumato.data.text_values import parse_number
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.kinds.tables.sample_weights import presence_bounds, rows_needed
from sfumato.models.base import Model
from sfumato.models.delta_presence import IN
from sfumato.models.k_anonymity import KAnonymity
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.release import Release

PRESENCE, WEIGHT = "who is in\0", "weight\0"
"""Names of sensitive columns; no column of a table is called so."""
_INSIDE = 1


class WeightRequirement(Model):
    """The records of a group stand for at least k people; never written in a policy."""

    name: ClassVar[str] = "weights of a group"
    k: int

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return self._sums(linkage) >= self.k

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"k": int(self._sums(linkage).min(initial=0))}

    def _sums(self, linkage: Linkage) -> IntArray:
        if WEIGHT not in linkage.spread:
            return linkage.candidates
        spread = linkage.spread[WEIGHT]
        people = np.array([float(label) for label in spread.labels])[spread.value] * spread.weight
        whole: IntArray = np.floor(np.bincount(spread.kind(), weights=people, minlength=spread.kinds) + 1e-9).astype(
            np.int64
        )
        return whole


class PopulationModel(Model):
    """A requirement about who of the population is in the table, as one about a sensitive column."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, arbitrary_types_allowed=True)

    name: ClassVar[str] = "presence in a group"
    model: Model

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return self.model.satisfied(linkage)

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return self.model.achieved(linkage)


class InTable(Model):  # I1
    """A requirement about the rows of the table alone, where people of the population stand beside them (I1)."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, arbitrary_types_allowed=True)

    name: ClassVar[str] = "rows of the table"
    model: Model

    def satisfied(self, linkage: Linkage) -> BoolArray:
        if PRESENCE not in linkage.spread:
            return np.ones(len(linkage.candidates), dtype=np.bool_)
        rows = _inside(linkage.spread[PRESENCE])
        verdict = np.ones(len(rows), dtype=np.bool_)
        some = rows > 0
        spread = {name: _present(one, some) for name, one in linkage.spread.items() if name != PRESENCE}
        verdict[some] = self.model.satisfied(Linkage(rows[some], rows[some], spread))
        return verdict

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        rows = _inside(linkage.spread[PRESENCE]) if PRESENCE in linkage.spread else linkage.candidates
        return {"rows": int(rows.min(initial=0))}


def _inside(spread: ValueDistribution) -> IntArray:
    """Rows of the table in each group."""
    weights = np.where(spread.value == _INSIDE, spread.weight, 0)
    return np.bincount(spread.kind(), weights=weights, minlength=spread.kinds).astype(np.int64)


def _present(spread: ValueDistribution, kinds: BoolArray) -> ValueDistribution:
    """The values of rows of the table, in the groups that have some; the last label is that of people beside it."""
    kind = spread.kind()
    kept = kinds[kind] & (spread.value < len(spread.labels) - 1)
    number_of = (np.cumsum(kinds) - 1)[kind[kept]]
    return ValueDistribution.count(
        number_of, spread.value[kept], int(kinds.sum()), spread.labels[:-1], spread.weight[kept]
    )


def population_requirement(claim: PrivacyRequirement, policy: Policy, given: tuple[str, ...]) -> Requirement:
    """What a requirement comes to for every group."""
    model, population = claim.model.by_group(), policy.population
    hide = tuple(claim.hidden_columns(policy.published))
    everybody = policy.of_population and population is not None and population.file is not None
    if not model.of_population or population is None:
        return (
            Requirement(InTable(model=model), (*hide, PRESENCE), given)
            if everybody
            else Requirement(model, hide, given)
        )
    k = model.people_behind
    if k is None:
        return Requirement(PopulationModel(model=model), (PRESENCE,), given)
    if population.weight is not None:
        return Requirement(WeightRequirement(k=k), (WEIGHT,), given)
    rows = k if population.fraction is None else rows_needed(k, population.fraction, population.confidence)
    return Requirement(KAnonymity(k=rows), (), given)


def weight_column(policy: Policy, table: Table) -> tuple[Sensitive, ...]:
    """The sensitive column of weights, where claims need it."""
    population = policy.population
    if population is None or population.weight is None or not policy.of_population:
        return ()
    text = table.text(population.weight)
    if any((value := parse_number(label)) is None or value < 1 for label in text.labels):
        what = f"'{population.weight}' must say of every record for how many people it stands, at least 1"
        raise DataError(what, hint="correct the weights, or leave 'population:' out")
    return (Sensitive(WEIGHT, text.codes, text.labels),)


def add_population(problem: RecodingProblem, policy: Policy) -> RecodingProblem:
    """The problem with everybody of the population in it, where there is a table of them."""
    everybody = policy.everybody()
    if everybody is None:
        return problem
    codes = [_codes(everybody, name, problem, place) for place, name in enumerate(problem.names)]
    known = np.logical_and.reduce([column >= 0 for column in codes])
    least = max(
        (float(claim.model.required().get("at_least", 0)) for claim in policy.claims if claim.model.needs_everybody),
        default=0.0,
    )
    if least > 0 and not known.all():
        what = (
            f"{int((~known).sum())} people of the population have values that are in no hierarchy: they are surely not"
            " in the table"
        )
        raise Infeasible(what, where="population", hint="put these values into the hierarchies, or ask for at_least: 0")
    beside = _beside(problem, [column[known] for column in codes])
    joined = tuple(
        np.concatenate([mine, extra[beside]]).astype(mine.dtype)
        for mine, extra in zip(problem.codes, (c[known] for c in codes), strict=True)
    )
    # I2: codes, and so rows, of the table first
    inside = np.concatenate([np.ones(problem.rows, dtype=np.int32), np.zeros(len(beside), dtype=np.int32)])
    hidden = [_extended(column, len(beside)) for column in problem.sensitive]
    return replace(
        problem,
        codes=joined,
        sensitive=(*hidden, Sensitive(PRESENCE, inside, ("0", IN))),
        beside=len(beside),
    )


def _codes(table: Table, name: str, problem: RecodingProblem, place: int) -> IntArray:
    text, code_of = table.text(name), problem.domains[place].code_of
    return np.array([code_of.get(label, -1) for label in text.labels], dtype=np.int64)[text.codes]


def _beside(problem: RecodingProblem, codes: Sequence[IntArray]) -> IntArray:
    """The people of the population who are not in the table (I3)."""
    mine = problem.rows
    points = equivalence_classes_of(
        [np.concatenate([own, extra]) for own, extra in zip(problem.codes, codes, strict=True)]
    )
    rows = np.bincount(points.of[:mine], minlength=len(points))
    people = np.bincount(points.of[mine:], minlength=len(points))
    missing = int(np.maximum(rows - people, 0).sum())  # I3
    if missing:
        what = f"{missing} record(s) of the table look like nobody in the table of the population"
        raise DataError(what, hint="the population holds everybody, the people of the table included")
    of = points.of[mine:]
    order = np.argsort(of, kind="stable")
    start = np.concatenate([[0], np.cumsum(people)])[of[order]]
    beside: IntArray = order[np.arange(len(order)) - start >= rows[of[order]]]
    return beside


def _extended(column: Sensitive, many: int) -> Sensitive:
    """A sensitive column with one more value, for people beside the table."""
    codes = np.concatenate([column.codes, np.full(many, len(column.labels), dtype=column.codes.dtype)])
    return Sensitive(column.name, codes, (*column.labels, ""))


def require_presence(problem: RecodingProblem, policy: Policy, made: Release) -> None:
    """Raise `NotFound` if somebody of the population is in the table too surely, or too surely not.

    Groups that satisfy a requirement one by one are not enough. A person who fits no group is not in the table.
    Labels of different levels may cover the same values, so that people fit several groups.
    """
    for claim in policy.claims:
        if not claim.model.needs_everybody:
            continue
        table = Table(made.parts["data"].table)
        classes = equivalence_classes_of([table.text(name).codes for name in claim.given], rows=table.rows)
        places = [problem.names.index(name) for name in claim.given]
        points = equivalence_classes_of([problem.codes[place] for place in places])
        at = np.stack([problem.codes[place][points.first] for place in places], axis=1).astype(np.int64)
        spans = []
        for name, place in zip(claim.given, places, strict=True):
            text, interval = table.text(name), problem.domains[place].interval
            cells = np.array([interval(label) or (0, 0) for label in text.labels], dtype=np.int64).reshape(-1, 2)
            spans.append(cells[text.codes[classes.first]])
        box = np.stack(spans, axis=1)
        point, mine = containing_pairs(at, at + 1, box[:, :, 0], box[:, :, 1])
        outside = int(points.counts.sum() - points.counts[np.unique(point)].sum())
        if not claim.model.satisfied(presence_bounds(points.counts, classes.counts, point, mine, outside)).all():
            raise NotFound(
                "people of the population fit no published class, or several of them, so their presence is too sure",
                where=claim.model.name,
                hint="widen or leave out boundaries, or ask for less",
            )
