"""The risk of a table as it stands: everything that can be told without a policy, as one typed object.

No row leaves the machine: the object holds counts and shares; what it knows of single records is an array for the data holder
(`records()`), which no page and no JSON shows.

>>> found = risk({"age": ["30", "30", "41"], "sex": ["f", "f", "m"], "illness": ["a", "b", "a"]}, qi=["age", "sex"])
>>> found
RiskReport(3 records, k = 1, 1 unique by age, sex)
>>> found.prosecutor.average, found.diversity[0].l_distinct
(0.6666666666666666, 1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.data.linkage import Linkage
from sfumato.data.people import people_of
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.io.table import TableSource
from sfumato.models.l_diversity import LDiversity
from sfumato.models.t_closeness import TCloseness
from sfumato.registry import nearest
from sfumato.risks.attackers import Attacker, individual_risk, journalist, marketer, prosecutor
from sfumato.risks.combinations import LARGEST, Combinations, combinations
from sfumato.risks.people import PeopleAtRisk, people_at_risk
from sfumato.risks.population import PopulationUniques, population_uniques
from sfumato.risks.roles import ColumnLook, looks_of
from sfumato.risks.special_uniques import DIS_FRACTION, SpecialUniques, special_uniques

THRESHOLDS = (0.05, 0.09, 0.2, 0.33, 0.5)
"""Risks that regulators and guides name as too high: 1 in 20, 1 in 11, 1 in 5, 1 in 3, 1 in 2."""
MOST_COMBINED = 16
"""Quasi-identifiers among which special uniques are looked for."""


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Classes of similar size."""

    low: int
    high: int
    classes: int
    records: int


@dataclass(frozen=True, slots=True)
class SensitiveSpread:
    """How a sensitive column spreads over the classes of the table as it is: the worst class."""

    column: str
    l_distinct: float
    l_entropy: float
    t: float
    distance: str


@dataclass(frozen=True, slots=True)
class IndividualRisks:
    """Expected 1 / F of every record, over all records."""

    highest: float
    expected: float
    """How many records one expects to be found."""
    share: float
    outlying: int
    """Records whose risk is above 0.1 and above the median by more than three robust standard deviations."""


@dataclass(frozen=True, slots=True, repr=False)
class RiskReport:
    """How identifying a table is as it stands."""

    rows: int
    quasi_identifiers: tuple[str, ...]
    guessed: bool
    """Whether the quasi-identifiers were chosen by names and looks."""
    sensitive: tuple[str, ...]
    columns: tuple[ColumnLook, ...]
    k: int
    classes: int
    uniques: int
    sizes: tuple[SizeBin, ...]
    diversity: tuple[SensitiveSpread, ...]
    prosecutor: Attacker
    journalist: Attacker
    marketer: Attacker
    individual: IndividualRisks
    population: PopulationUniques | None
    combinations: Combinations
    special: SpecialUniques | None
    notes: tuple[str, ...]
    _size: IntArray = field(compare=False)
    _risk: FloatArray = field(compare=False)
    people: PeopleAtRisk | None = None
    """What classes of rows come to for people, where it is said whose rows they are."""

    @property
    def word(self) -> str:
        """What records are, in sentences with their number."""
        return "people" if self.people is None else "rows"

    def __repr__(self) -> str:
        by = ", ".join(self.quasi_identifiers)
        return f"RiskReport({self.rows:,} records, k = {self.k}, {self.uniques:,} unique by {by})"

    def to_json(self) -> dict[str, Any]:
        """Everything but what belongs to single records."""
        tree = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__ if not name.startswith("_")}
        if self.special is not None:
            tree["special"] = {key: value for key, value in tree["special"].items() if key not in ("score", "dis")}
        return tree

    def records(self) -> pa.Table:
        """One row per record, in the order of the table: class size, risks and scores; for the data holder only."""
        if len(self._size) < self.rows:
            raise DataError("the risk of every record is not told where rows lie elsewhere", hint="leave --records out")
        columns: dict[str, Any] = {"record": np.arange(1, self.rows + 1), "class_size": self._size}
        columns |= {"prosecutor_risk": 1 / self._size, "individual_risk": self._risk}
        if self.special is not None:
            columns |= {"special_unique_score": self.special.score, "special_unique_risk": self.special.dis}
        return pa.table(columns)

    def page(self) -> str:
        """The report as one page that works offline."""
        from sfumato.risks.page import render_risk

        return render_risk(self)

    def _repr_html_(self) -> str:
        from sfumato.risks.page import risk_card

        return risk_card(self)


def _plain(value: Any) -> Any:
    """What JSON can say; numbers of numpy as Python's."""
    if hasattr(value, "__dataclass_fields__"):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def risk(
    data: Any,
    qi: Sequence[str] | None = None,
    *,
    sensitive: Sequence[str] | None = None,
    weights: str | None = None,
    fraction: float | None = None,
    population: Any = None,
    thresholds: Sequence[float] = THRESHOLDS,
    largest: int = LARGEST,
    read: Mapping[str, Any] | None = None,
    engine: Any = None,
    person: str | Sequence[str] | None = None,
) -> RiskReport:
    """How identifying a table is as it stands.

    Parameters
    ----------
    data
        A path, a polars, pandas or pyarrow frame, a dictionary of columns, or the URL of a database.
    qi
        The quasi-identifiers: columns that an outsider may know. Without them the names and looks of the columns decide.
    sensitive
        Columns whose spread over the classes is measured; without them the names decide.
    weights
        A column of survey weights: how many people of the population each record stands for.
    fraction
        The share of the population that the table holds, where there are no weights.
    population
        The population itself, as data with the same quasi-identifiers; then nothing about it is estimated.
    thresholds
        Risks above which records are counted.
    largest
        How many columns a combination or a special unique has at most.
    read
        How the data is written, as under ``data:`` in a policy: ``{"missing": ["NA"], "separator": ";"}``.
    engine
        A Spark session, or a `SparkEngine`: rows stay on its cluster, and `qi` says which columns are counted there.
    person
        The column, or the columns, that name a person who may stand in several rows: then `people` says who stands alone.

    Returns
    -------
    RiskReport
        Counts and shares, with `to_json()`, `page()` and, for the data holder, `records()`.
    """
    table = _table(data, qi, sensitive, read, engine, besides=(weights, population, person))
    looks = looks_of(table)
    unit = named_columns(table, [person] if isinstance(person, str) else person or (), "person")
    chosen = named_columns(table, qi, "qi") if qi else _guessed([look for look in looks if look.name not in unit], weights)
    secret = named_columns(table, sensitive, "sensitive") if sensitive is not None else _private(looks, chosen)
    classes = group([table.text(name).codes for name in chosen], rows=table.rows, weights=table.counts)
    around, notes = _population(table, chosen, classes, weights, fraction, population)
    sampled = min(1.0, table.records / float(around.sum())) if around is not None else None
    estimated = around if around is not None else classes.counts.astype(np.float64)
    counted = population is not None
    alone = 1 / estimated if counted else individual_risk(classes.counts, estimated)
    coded = {name: table.text(name).codes for name in chosen[:MOST_COMBINED]}
    whole = classes if len(coded) == len(chosen) else None
    return RiskReport(
        table.records, chosen, qi is None, secret, looks, int(classes.counts.min()), len(classes), int((classes.counts == 1).sum()),
        size_bins(classes.counts), tuple(spread_of(table, classes, name) for name in secret),
        prosecutor(classes.counts, thresholds), journalist(classes.counts, estimated, thresholds),
        marketer(classes.counts, estimated),
        _individual(alone, classes), None if sampled is None else population_uniques(classes.counts, sampled),
        combinations({look.name: table.text(look.name).codes for look in looks if _combined(look, table.records)}, largest,
                     weights=table.counts),
        special_uniques(coded, largest=largest, fraction=sampled or DIS_FRACTION, classes=whole) if largest else None,
        notes, classes.counts[classes.of], alone[classes.of],
        people_at_risk(classes.of, people_of(table, unit)) if unit else None,
    )  # fmt: skip


def _table(
    data: Any,
    qi: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    read: Mapping[str, Any] | None,
    engine: Any,
    besides: tuple[Any, ...],
) -> Table:
    """The rows, or their classes where they lie on a cluster."""
    if engine is None:
        return data if isinstance(data, Table) else TableSource(**(read or {})).read(data)
    if not qi or any(given is not None for given in besides):
        raise DataError(
            "on a cluster the quasi-identifiers are named, and weights, populations and people are not read", where="engine"
        )
    from sfumato.engines.spark import classes_of

    return classes_of(engine, list(dict.fromkeys([*qi, *(sensitive or ())])), data, TableSource(**(read or {})))


def _combined(look: ColumnLook, rows: int) -> bool:
    """A key identifies by itself and so does everything with it; what says one thing adds nothing."""
    return look.role != "identifier" and 1 < look.distinct < rows


def named_columns(table: Table, names: Sequence[str], what: str) -> tuple[str, ...]:
    """The columns, all of them there and none of them twice."""
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",") if name.strip()]
    for name in names:
        if name not in table.names:
            raise DataError(f"the data has no column '{name}'", where=what, hint=nearest(name, table.names))
    if len(set(names)) < len(names):
        raise DataError("a column is named twice", where=what, hint="name every column once")
    return tuple(names)


def _guessed(looks: Sequence[ColumnLook], weights: str | None) -> tuple[str, ...]:
    found = tuple(look.name for look in looks if look.role == "quasi-identifier" and look.name != weights)
    if not found:
        raise DataError("no column looks like a quasi-identifier", hint="name those that an outsider may know, with --qi or qi=[…]")
    return found


def _private(looks: Sequence[ColumnLook], chosen: Sequence[str]) -> tuple[str, ...]:
    return tuple(look.name for look in looks if look.role == "sensitive" and look.name not in chosen)


def _population(
    table: Table, chosen: Sequence[str], classes: Classes, weights: str | None, fraction: float | None, population: Any
) -> tuple[FloatArray | None, tuple[str, ...]]:
    """How many people of the population look like each class, and what is to be said about it."""
    if sum(given is not None for given in (weights, fraction, population)) > 1:
        raise DataError("the population is described twice", hint="give weights, or a fraction, or the population itself")
    if population is not None:
        return _counted(table, chosen, classes, TableSource().read(population))
    if weights is not None:
        each = table.numbers(named_columns(table, [weights], "weights")[0])
        if not (each > 0).all():
            raise DataError(
                f"weights of column '{weights}' are not all above zero", hint="a weight says how many people a record is"
            )
        summed = np.bincount(classes.of, weights=each)
        return np.maximum(summed, classes.counts.astype(np.float64)), ()
    if fraction is not None:
        if not 0 < fraction <= 1:
            raise DataError("the sampling fraction is a share", hint="above 0 and at most 1, for example 0.05")
        return classes.counts / fraction, ()
    return None, ("nothing is said about the population: journalist and marketer are taken to know that everybody is in the table",)


def _counted(table: Table, chosen: Sequence[str], classes: Classes, whole: Table) -> tuple[FloatArray, tuple[str, ...]]:
    """The population at hand, counted; the sample is at least in it."""
    joint = []
    for name in named_columns(whole, chosen, "population"):
        ours, theirs = table.text(name), whole.text(name)
        number = {label: code for code, label in enumerate(ours.labels)}
        theirs_as_ours = np.array([number.setdefault(label, len(number)) for label in theirs.labels], dtype=np.int64)
        joint.append(np.concatenate([ours.codes.astype(np.int64), theirs_as_ours[theirs.codes]]))
    together = group(joint)
    everybody = np.bincount(together.of[table.rows :], minlength=len(together))
    found = everybody[together.of[: table.rows][classes.first]]
    missed = int(classes.counts[found < classes.counts].sum())
    notes = (f"{missed:,} records have fewer people in the population than in the table",) if missed else ()
    return np.maximum(found, classes.counts).astype(np.float64), notes


def spread_of(table: Table, classes: Classes, name: str) -> SensitiveSpread:
    """The worst class of a sensitive column."""
    text = table.text(name)
    linkage = Linkage.of_groups(classes.of, {name: (text.codes, text.labels)}, table.counts)
    levels = {kind: LDiversity(l=1, kind=kind).achieved(linkage)["l"] for kind in ("distinct", "entropy")}
    try:
        closeness = TCloseness(t=1, distance="ordered").achieved(linkage)
    except DataError:  # neither numbers nor days
        closeness = TCloseness(t=1).achieved(linkage)
    return SensitiveSpread(name, levels["distinct"], levels["entropy"], closeness["t"], closeness["distance"])


def _individual(alone: FloatArray, classes: Classes) -> IndividualRisks:
    many = classes.counts
    middle = _median(alone, many)
    spread = 1.4826 * _median(np.abs(alone - middle), many)
    outlying = int(many[(alone > middle + 3 * spread) & (alone > 0.1)].sum())
    total = float(alone @ many)
    return IndividualRisks(float(alone.max()), total, total / int(many.sum()), outlying)


def _median(values: FloatArray, many: IntArray) -> float:
    """The median where every value stands so many times."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(many[order])
    places = np.searchsorted(reached, [(int(reached[-1]) - 1) // 2, int(reached[-1]) // 2], side="right")
    return float(values[order][places].mean())


def size_bins(sizes: IntArray) -> tuple[SizeBin, ...]:
    """1, 2, 3, 4, then ever wider."""
    edges = [1, 2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000, 1 << 62]
    found = []
    for low, high in pairwise(edges):
        inside = sizes[(sizes >= low) & (sizes < high)]
        if len(inside):
            found.append(SizeBin(low, min(high - 1, int(sizes.max())), len(inside), int(inside.sum())))
    return tuple(found)
