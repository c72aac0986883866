"""The risk of a table as it stands: everything that can be told without a policy, as one typed object.

No row leaves the machine: the object holds counts and shares; what it knows of single records is an array for the data
holder (`records()`), which no page and no JSON shows.

>>> found = risk({"age": ["30", "30", "41"], "sex": ["f", "f", "m"], "illness": ["a", "b", "a"]}, qi=["age", "sex"])
>>> found
RiskReport(3 records, k = 1, 1 unique by age, sex)
>>> found.prosecutor.average, found.diversity[0].l_distinct
(0.6666666666666666, 1)


Writing
-------
The risk of a table in words, and the risk of its records as a file.


Page
----
The risk of a table as a page with pictures, and as a card for notebooks. Only counts and shares: no value of any
person."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from markupsafe import Markup

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.core.html.charts import histogram, share_bars
from sfumato.core.html.pages import Headline, Passage, card, render_page
from sfumato.core.registry import nearest
from sfumato.core.wording import as_sentences, count_text, join_names, percent_text
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.linkage import Linkage
from sfumato.data.personal_columns.roles import SAFE_HARBOR, InferredColumn, infer_column_roles, kind_title
from sfumato.data.persons import persons_of_rows
from sfumato.data.table import Table
from sfumato.io.table_source import TableSource, read_as_suggested
from sfumato.models.l_diversity import LDiversity
from sfumato.models.t_closeness import TCloseness
from sfumato.release.report_section import bullets, paragraph, table
from sfumato.workflow.risk.figures import (
    DIS_FRACTION,
    LARGEST,
    Attacker,
    Combinations,
    PeopleAtRisk,
    PopulationUniques,
    SpecialUniques,
    combinations,
    individual_risk,
    journalist,
    marketer,
    people_at_risk,
    population_uniques,
    prosecutor,
    special_uniques,
)

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
    """How identifying a table is as it is.

    `risk` returns it. `to_json()` and `page()` contain counts and shares only; `records()` is for the data holder.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.risk({"age": ["30", "30", "41"], "sex": ["f", "f", "m"]}, qi=["age", "sex"])
    RiskReport(3 records, k = 1, 1 unique by age, sex)
    """

    rows: int
    quasi_identifiers: tuple[str, ...]
    guessed: bool
    """Whether the quasi-identifiers were detected from names and values."""
    sensitive: tuple[str, ...]
    columns: tuple[InferredColumn, ...]
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
            raise DataError(
                "the risk of every record is not available with the Spark engine", hint="leave --records out"
            )
        columns: dict[str, Any] = {"record": np.arange(1, self.rows + 1), "class_size": self._size}
        columns |= {"prosecutor_risk": 1 / self._size, "individual_risk": self._risk}
        if self.special is not None:
            columns |= {"special_unique_score": self.special.score, "special_unique_risk": self.special.dis}
        return pa.table(columns)

    def page(self) -> str:
        """The report as one page that works offline."""
        return render_risk(self)

    def _repr_html_(self) -> str:
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
    """Measure how identifying a table is as it is.

    Parameters
    ----------
    data
        A path, a polars, pandas or pyarrow frame, a dictionary of columns, or the URL of a database.
    qi
        The quasi-identifiers. Without them they are detected from names and values.
    sensitive
        Sensitive columns. Without them they are detected from names.
    weights
        A column of survey weights: the number of people that each record represents.
    fraction
        The sampling fraction, if there are no weights.
    population
        The population itself, with the same quasi-identifiers; then nothing about it is estimated.
    thresholds
        Risks above which records are counted.
    largest
        Largest number of columns in a combination or a special unique.
    read
        How the data is written, as under ``data:`` in a policy: ``{"missing": ["NA"], "separator": ";"}``.
    engine
        A Spark session, or a `SparkEngine`: rows stay on its cluster, and `qi` is needed.
    person
        The columns that identify a person who may have several rows.

    Returns
    -------
    RiskReport
        Counts and shares, with `to_json()`, `page()` and, for the data holder, `records()`.

    Examples
    --------
    >>> import sfumato as sf
    >>> report = sf.risk({"age": ["30", "30", "41"], "sex": ["f", "f", "m"]}, qi=["age", "sex"])
    >>> report.k, report.uniques
    (1, 1)
    """
    table = _table(data, qi, sensitive, read, engine, besides=(weights, population, person))
    looks = infer_column_roles(table)
    unit = named_columns(table, [person] if isinstance(person, str) else person or (), "person")
    chosen = (
        named_columns(table, qi, "qi") if qi else _guessed([look for look in looks if look.name not in unit], weights)
    )
    secret = named_columns(table, sensitive, "sensitive") if sensitive is not None else _private(looks, chosen)
    classes = equivalence_classes_of([table.text(name).codes for name in chosen], rows=table.rows, weights=table.counts)
    around, notes = _population(table, chosen, classes, weights, fraction, population)
    sampled = min(1.0, table.records / float(around.sum())) if around is not None else None
    estimated = around if around is not None else classes.counts.astype(np.float64)
    counted = population is not None
    alone = 1 / estimated if counted else individual_risk(classes.counts, estimated)
    coded = {name: table.text(name).codes for name in chosen[:MOST_COMBINED]}
    whole = classes if len(coded) == len(chosen) else None
    return RiskReport(
        table.records, chosen, qi is None, secret, looks, int(classes.counts.min()), len(classes),
        int((classes.counts == 1).sum()),
        size_bins(classes.counts), tuple(spread_of(table, classes, name) for name in secret),
        prosecutor(classes.counts, thresholds), journalist(classes.counts, estimated, thresholds),
        marketer(classes.counts, estimated),
        _individual(alone, classes), None if sampled is None else population_uniques(classes.counts, sampled),
        combinations({look.name: table.text(look.name).codes for look in looks if _combined(look, table.records)},
        largest,
                     weights=table.counts),
        special_uniques(coded, largest=largest, fraction=sampled or DIS_FRACTION, classes=whole) if largest else None,
        notes, classes.counts[classes.of], alone[classes.of],
        people_at_risk(classes.of, persons_of_rows(table, unit)) if unit else None,
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
        return data if isinstance(data, Table) else read_as_suggested(data, read or {})[0]
    if not qi or any(given is not None for given in besides):
        raise DataError(
            "on a cluster the quasi-identifiers are named, and weights, populations and people are not read",
            where="engine",
        )
    from sfumato.engines.spark.engine import classes_of

    return classes_of(engine, list(dict.fromkeys([*qi, *(sensitive or ())])), data, TableSource(**(read or {})))


def _combined(look: InferredColumn, rows: int) -> bool:
    """A key identifies by itself and so does everything with it; what says one thing adds nothing."""
    return look.role not in ("identifier", "drop") and 1 < look.distinct < rows


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


def _guessed(looks: Sequence[InferredColumn], weights: str | None) -> tuple[str, ...]:
    found = tuple(look.name for look in looks if look.role == "quasi-identifier" and look.name != weights)
    if not found:
        raise DataError(
            "no column looks like a quasi-identifier", hint="name those an adversary may know, with --qi or qi=[…]"
        )
    return found


def _private(looks: Sequence[InferredColumn], chosen: Sequence[str]) -> tuple[str, ...]:
    return tuple(look.name for look in looks if look.role == "sensitive" and look.name not in chosen)


def _population(
    table: Table,
    chosen: Sequence[str],
    classes: EquivalenceClasses,
    weights: str | None,
    fraction: float | None,
    population: Any,
) -> tuple[FloatArray | None, tuple[str, ...]]:
    """How many people of the population look like each class, and what is to be said about it."""
    if sum(given is not None for given in (weights, fraction, population)) > 1:
        raise DataError(
            "the population is described twice", hint="give weights, or a fraction, or the population itself"
        )
    if population is not None:
        return _counted(table, chosen, classes, TableSource().read(population))
    if weights is not None:
        each = table.numbers(named_columns(table, [weights], "weights")[0])
        if not (each > 0).all():
            raise DataError(
                f"weights of column '{weights}' are not all above zero",
                hint="a weight says how many people a record is",
            )
        summed = np.bincount(classes.of, weights=each)
        return np.maximum(summed, classes.counts.astype(np.float64)), ()
    if fraction is not None:
        if not 0 < fraction <= 1:
            raise DataError("the sampling fraction is a share", hint="above 0 and at most 1, for example 0.05")
        return classes.counts / fraction, ()
    return None, (
        (
            "no population is given, so the journalist and the marketer are assumed to know that every person is in"
            " the table"
        ),
    )


def _counted(
    table: Table, chosen: Sequence[str], classes: EquivalenceClasses, whole: Table
) -> tuple[FloatArray, tuple[str, ...]]:
    """The population at hand, counted; the sample is at least in it."""
    joint = []
    for name in named_columns(whole, chosen, "population"):
        ours, theirs = table.text(name), whole.text(name)
        number = {label: code for code, label in enumerate(ours.labels)}
        theirs_as_ours = np.array([number.setdefault(label, len(number)) for label in theirs.labels], dtype=np.int64)
        joint.append(np.concatenate([ours.codes.astype(np.int64), theirs_as_ours[theirs.codes]]))
    together = equivalence_classes_of(joint)
    everybody = np.bincount(together.of[table.rows :], minlength=len(together))
    found = everybody[together.of[: table.rows][classes.first]]
    missed = int(classes.counts[found < classes.counts].sum())
    notes = (f"{missed:,} records have fewer people in the population than in the table",) if missed else ()
    return np.maximum(found, classes.counts).astype(np.float64), notes


def spread_of(table: Table, classes: EquivalenceClasses, name: str) -> SensitiveSpread:
    """The worst class of a sensitive column."""
    text = table.text(name)
    linkage = Linkage.of_groups(classes.of, {name: (text.codes, text.labels)}, table.counts)
    levels = {kind: LDiversity(l=1, kind=kind).achieved(linkage)["l"] for kind in ("distinct", "entropy")}
    try:
        closeness = TCloseness(t=1, distance="ordered").achieved(linkage)
    except DataError:  # neither numbers nor days
        closeness = TCloseness(t=1).achieved(linkage)
    return SensitiveSpread(name, levels["distinct"], levels["entropy"], closeness["t"], closeness["distance"])


def _individual(alone: FloatArray, classes: EquivalenceClasses) -> IndividualRisks:
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


# Writing
# -------


_SHOWN = 8


def sentences(found: RiskReport) -> Iterator[tuple[str, list[str]]]:
    """Headings with what is to be said below them."""
    chosen = "detected from names and values; --qi changes this" if found.guessed else "as given"
    yield f"Re-identification risk if an adversary knows {join_names(found.quasi_identifiers)} ({chosen})", _main(found)
    if found.people is not None:
        yield "People with several rows", people_sentences(found.people)
    yield (
        "Attackers",
        [f"The {each.name} {each.meaning}: right for {_average(each)}." for each in _three(found)]
        + [
            f"{each.records:,} records have a risk above {percent_text(each.threshold)}."
            for each in found.prosecutor.at_risk
        ],
    )
    if found.diversity:
        yield "Sensitive columns, in the equivalence class that says most about them", _spread_lines(found)
    if found.population is not None:
        one = found.population
        told = (
            f"About {one.uniques:,.0f} of {one.population:,} people are unique in the population (model: {one.chosen})."
        )
        yield "Population", [told]
    best = found.combinations.found[:_SHOWN]
    yield (
        "Most identifying columns (share of pairs of records that they tell apart)",
        [f"{', '.join(each.columns)}: {each.separation:.4%}" for each in best],
    )
    if found.special is not None and found.special.records:
        yield "Records that are unique in very few values (special uniques)", [_special_sentence(found.special)]
    personal = [f"{each.name}: {kind_title(each)} (HIPAA {each.hipaa})" for each in found.columns if each.hipaa]
    if personal:
        yield "Columns with personal data", personal
    out = [each.name for each in found.columns if each.role in ("identifier", "drop") and each.decided]
    if out:
        yield "Columns nobody should publish", [", ".join(out)]
    asked = [f"{each.name}: {each.reason}; counted as {each.role}" for each in found.columns if not each.decided]
    if asked:
        yield "Columns to review", asked
    if found.notes:
        yield "Assumed", [as_sentences(note) for note in found.notes]


def _main(found: RiskReport) -> list[str]:
    """The figures to read first."""
    unit = "record" if found.people is None else "row"
    unique = f"{found.uniques:,} of {found.rows:,} ({percent_text(found.uniques / found.rows)})"
    risks = f"{percent_text(found.prosecutor.highest)} / {percent_text(found.prosecutor.average)}"
    many = count_text(found.classes, "equivalence class", "equivalence classes")
    classes = f"{count_text(found.k, unit)} (k = {found.k}; {many} in all)"
    return [
        f"Unique {unit}s           {unique}",
        f"Smallest class           {classes}",
        f"Highest / average risk   {risks}",
    ]


def _three(found: RiskReport) -> tuple[Attacker, Attacker, Attacker]:
    return found.prosecutor, found.journalist, found.marketer


def _average(each: Attacker) -> str:
    best = f", and for one record with {percent_text(each.highest)}" if each.highest > each.average else ""
    return f"{percent_text(each.average)} of the records{best}"


def _spread_lines(found: RiskReport) -> list[str]:
    return [
        f"{each.column}: {count_text(int(each.l_distinct), 'different value')} (l = {each.l_distinct:g}); its"
        f" distribution is {each.t:.3g} away from that of the table (t, 0 to 1)"
        for each in found.diversity
    ]


def _special_sentence(special: SpecialUniques) -> str:
    counts = [f"{count:,} with {count_text(size, 'column')}" for size, count in special.by_size.items()]
    return f"{special.records:,} records. Smallest combinations that are unique: {join_names(counts)}."


def people_sentences(one: PeopleAtRisk) -> list[str]:
    """What classes of rows come to for people."""
    return [
        f"{one.people:,} people, {one.several:,} of them in several rows. The smallest class has"
        f" {count_text(one.fewest, 'person', 'people')}.",
        f"{one.alone:,} people have a class of their own; {one.alone_by_all_rows:,} are unique by all their rows"
        " together.",
        f"A row of a class belongs to one person with probability up to {percent_text(one.highest)},"
        f" {percent_text(one.average)} on average over people.",
    ]


def records_text(found: RiskReport) -> bytes:
    """The risk of every record as CSV, in the order of the table."""
    file = io.BytesIO()
    pa_csv.write_csv(found.records(), file)
    return file.getvalue()


# Page
# ----


_PAGE_SHOWN = 15
_FOOTER = (
    "Computed on this machine from counts; no row of the table is on this page. Keep it as safe as the table itself."
)


def render_risk(found: RiskReport) -> str:
    """The whole page."""
    passages = [
        Passage("classes", "Equivalence classes", _classes(found)),
        Passage("attackers", "What three attackers get", _attackers(found)),
        Passage("columns", "What each column seems to be", _columns(found)),
        Passage("combinations", "Most identifying columns", _combinations(found)),
    ]
    if found.people is not None:
        passages.insert(1, Passage("people", "People with several rows", bullets(people_sentences(found.people))))
    if found.special is not None:
        passages.append(Passage("special", "Special uniques", _special(found)))
    if found.population is not None:
        passages.append(Passage("population", "Unique in the population", _page_population(found)))
    if found.diversity:
        passages.append(Passage("sensitive", "What classes say about sensitive columns", _diversity(found)))
    if found.notes:
        passages.append(Passage("notes", "Assumed", bullets(found.notes)))
    return render_page(_headline(found), passages)


def risk_card(found: RiskReport) -> str:
    """A few figures and the picture of class sizes."""
    return card(_headline(found), _sizes(found), _table_of(found))


def _headline(found: RiskReport) -> Headline:
    unit, by = "records" if found.people is None else "rows", join_names(found.quasi_identifiers)
    if found.uniques:
        title = f"{found.uniques:,} of {found.rows:,} {unit} are unique"
        lead = f"An adversary who knows {by} finds {_share(found.uniques / found.rows)} of the {unit} with certainty."
    else:
        title = f"Every equivalence class has at least {found.k:,} {unit}"
        lead = f"An adversary who knows {by} finds no single record with certainty."
    figures = (
        (f"{found.k:,}", "smallest class (k)"),
        (_share(found.prosecutor.highest), "highest risk"),
        (_share(found.prosecutor.average), "average risk"),
        (f"{found.classes:,}", "equivalence classes"),
    )
    return Headline(title, lead, figures, private=True, footer=_FOOTER)


def _share(value: float) -> str:
    return "0 %" if value == 0 else f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.1f} %"


def _classes(found: RiskReport) -> Markup:
    chosen = "They were detected from names and values; --qi changes this." if found.guessed else "As given."
    words = (
        f"Quasi-identifiers: {', '.join(found.quasi_identifiers)}. {chosen} A record is as safe as its class is large."
    )
    return paragraph(words) + _sizes(found)


def _sizes(found: RiskReport) -> Markup:
    rows = [(_span(each.low, each.high), None, float(each.records)) for each in found.sizes]
    axes = ("records in the equivalence class", "records")
    return histogram(rows, title="Records by the size of their equivalence class", axes=axes, shares=False)


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _attackers(found: RiskReport) -> Markup:
    three = _three(found)
    rows = [(each.name, each.average, f"{each.name}: right for {_average(each)}") for each in three]
    told = table(("attacker", "highest risk", "average risk", "who"), [_told(each) for each in three])
    above = table(
        ("records with a risk above", "prosecutor", "journalist"),
        [
            (_share(one.threshold), f"{one.records:,} ({_share(one.share)})", f"{two.records:,} ({_share(two.share)})")
            for one, two in zip(found.prosecutor.at_risk, found.journalist.at_risk, strict=True)
        ],
    )
    one = found.individual
    words = (
        f"An adversary is expected to find {one.expected:,.1f} records ({_share(one.share)}), and the one most at risk "
        f"with probability {_share(one.highest)}. {one.outlying:,} records have a much higher risk than the others."
    )
    drawn = share_bars(rows, title="Share of the records that each attacker finds", axis="records found, on average")
    return drawn + told + above + paragraph(words)


def _told(each: Attacker) -> tuple[str, str, str, str]:
    return each.name, _share(each.highest), _share(each.average), each.meaning


def _shown_role(each: InferredColumn) -> str:
    return each.role if each.decided else f"{each.role} (review)"


def _columns(found: RiskReport) -> Markup:
    rows = [
        (
            each.name,
            _shown_role(each),
            each.reason,
            f"{each.distinct:,}",
            f"{each.missing:,}",
            f"{each.hipaa} {kind_title(each)}".strip(),
        )
        for each in found.columns
    ]
    listed = sorted({each.hipaa for each in found.columns if each.hipaa})
    words = "No column shows one of the eighteen kinds of HIPAA's safe harbor by its name or its values."
    if listed:
        words = (
            "Kinds of HIPAA's safe harbor: " + "; ".join(f"{letter}, {SAFE_HARBOR[letter]}" for letter in listed) + "."
        )
    hint = "Names and values only suggest a role. Decide yourself what an adversary may know."
    return paragraph(f"{words} {hint}") + table(("column", "seems to be", "because", "values", "missing", "kind"), rows)


def _combinations(found: RiskReport) -> Markup:
    best = found.combinations.found[:_PAGE_SHOWN]
    rows = [
        (", ".join(each.columns), f"{each.distinction:.4f}", f"{each.separation:.6f}", f"{each.uniques:,}")
        for each in best
    ]
    words = (
        "Distinction is the share of different combinations of values (1: every record is unique). Separation is the"
        f" share of pairs of records that the columns tell apart. Shown: {len(best)} of"
        f" {len(found.combinations.found):,} combinations."
    )
    left = found.combinations.left_out
    more = (
        paragraph(f"Left out of larger combinations, because they separate least: {', '.join(left)}.")
        if left
        else Markup("")
    )
    alone = [
        (each.columns[0], each.distinction, f"{each.columns[0]}: {percent_text(each.distinction)}")
        for each in found.combinations.found
        if len(each.columns) == 1
    ]
    ranked = sorted(alone, key=lambda row: -row[1])[:_PAGE_SHOWN]
    picture = share_bars(ranked, title="Distinction of single columns", axis="different values per record")
    return paragraph(words) + table(("columns", "distinction", "separation", "unique records"), rows) + picture + more


def _special(found: RiskReport) -> Markup:
    special = found.special
    assert special is not None
    words = (
        f"{_special_sentence(special)} An adversary finds these records first. The chart shows how much each column"
        " contributes."
    )
    ranked = sorted(special.contribution.items(), key=lambda pair: -pair[1])
    rows = [(name, share, f"{name}: {percent_text(share)}") for name, share in ranked if share]
    title, axis = "Columns of special uniques", "share of the combinations with the column"
    return paragraph(words) + (share_bars(rows[:_PAGE_SHOWN], title=title, axis=axis) if rows else Markup(""))


def _page_population(found: RiskReport) -> Markup:
    one = found.population
    assert one is not None
    words = (
        f"The table is taken to hold {_share(one.fraction)} of {one.population:,} people. About {one.uniques:,.0f} of"
        f" them ({_share(one.share)}) are unique in the population, by the model that the rule of Dankar et al. chooses"
        f" ({one.chosen})."
    )
    rows = [
        (
            each.model,
            "does not fit" if each.uniques is None else f"{each.uniques:,.0f}",
            "" if each.share is None else _share(each.share),
        )
        for each in one.models
    ]
    return paragraph(words) + table(("model", "unique people", "share of the population"), rows)


def _diversity(found: RiskReport) -> Markup:
    words = (
        "In the equivalence class that says most about each column: how many different values it has, their entropy,"
        " and the distance of its distribution from that of the whole table."
    )
    rows = [
        (each.column, f"{each.l_distinct:g}", f"{each.l_entropy:.3g}", f"{each.t:.3g} ({each.distance})")
        for each in found.diversity
    ]
    return paragraph(words) + table(("column", "l, distinct", "l, entropy", "t"), rows)


def _table_of(found: RiskReport) -> Markup:
    rows = [_told(each)[:3] for each in (found.prosecutor, found.journalist, found.marketer)]
    return table(("attacker", "highest risk", "average risk"), rows)
