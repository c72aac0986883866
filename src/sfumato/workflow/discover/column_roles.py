"""Roles and requirements: a draft with the reason beside every line, in which nothing unknown is decided.

What each column seems to be comes from `data.personal_columns`, how it may be generalized from the hierarchies that
fit. What nothing speaks for gets the role *review* with a proposal: only the data holder can say that a column is
sensitive or harmless.

Whose rows they are is proposed where a column clearly names people in several rows (`people_in_rows`), with the reason.

Claims
    k-anonymity   k = 5, or 3 where there are fewer than 200 records
    l-diversity   l = 3 different values where every sensitive column has at least six and none that more than half of
                  all people share; else l = 2; not where a sensitive column says only one thing


People in rows
--------------
Find the column that names people, who may have several rows each.

What speaks for it
    its name     whom a table is about (`patient`, `customer`), alone or with a word of numbering (`patient_nbr`,
    `CustomerID`) its values   more than twenty, some of them in several rows, none missing

A column is proposed when it is the only one; of several candidates nobody but the data holder can choose, and they are
named. Where a sensitive column stays the same for nearly everybody with several rows, rows that nothing ties would give
it away together, and linked rows are proposed.


Fitting hierarchies
-------------------
Hierarchies that fit a column: known lists first, then orders, then what its values look like.

Each way of fitting looks at the distinct values and answers with what may stand under ``hierarchy:`` and a sentence, or
not at all. Known lists: countries (ISO 3166) to regions (UN M49), states of the US to census divisions, diagnoses
(ICD-10, ICD-9) to chapters, occupations (ISCO-08) to major groups. Numbers get intervals at round numbers, days months
and years, codes prefixes, and words of a known scale are joined with their neighbours. Values are written into a policy
only where at least five rows carry each of them.

>>> fit_hierarchy("age", ["17", "23", "41", "88", "65", "30", "52"]).hierarchy
{'intervals': [5, 10, 20]}
>>> fit_hierarchy("zip", [f"{n:05}" for n in range(0, 90000, 999)]).hierarchy
{'prefix': 5}
>>> fit_hierarchy("pain", ["none", "mild", "severe", "moderate"]).hierarchy
{'order': ['none', 'mild', 'moderate', 'severe']}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.data.personal_columns import name_contains, words_of_name
from sfumato.data.personal_columns.looks import value_shape
from sfumato.data.personal_columns.roles import InferredColumn, infer_column_roles
from sfumato.data.persons import STAYS, persons_of_rows, share_with_constant_value
from sfumato.data.table import Table
from sfumato.data.text_values import parse_interval, parse_number, parse_timestamp
from sfumato.io.known_hierarchies import fold_name, path_in
from sfumato.policy.policy import Policy
from sfumato.workflow.discover.discover import Finder, Suggestion
from sfumato.workflow.discover.personal_columns import is_identifier_name
from sfumato.workflow.discover.proposal import OFTEN

_SMALL = 200
_MANY = 12
_VARIED = 50
"""Different texts without a hierarchy that are worth a word."""


class RoleFinder(Finder):
    """A role with its reason and, where one fits, a hierarchy for every column; requirements and limits for the
    table."""

    name: ClassVar[str] = "roles"
    order: ClassVar[int] = 10

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        looks = infer_column_roles(table)
        person = propose_person(table, looks)
        looks = tuple(_named(look) if person is not None and look.name == person.column else look for look in looks)
        fits = {look.name: _fit(table, look) for look in looks if look.role == "quasi-identifier"}
        columns = {look.name: _entry(look, fits.get(look.name)) for look in looks}
        roles = {name: entry if isinstance(entry, Mapping) else {"role": entry} for name, entry in columns.items()}
        columns |= {name: {**roles[name], "persistent": True} for name in (person.lasting if person else ())}
        remarks = {look.name: _remark(look, fits.get(look.name)) for look in looks}
        claims, reasons = _claims(table, looks)
        keys: dict[str, Any] = {"columns": columns}
        if person is not None:
            keys["person"] = person.entry
            reasons.append(person.reason)
        keys |= {"protect": claims, "utility": {"suppress_at_most": "5%"}}
        warnings = (*_of_people(table, looks, policy), *(_warnings(table, looks, fits) if policy is None else ()))
        said = (
            "roles are proposed from names and values: check which columns an adversary may know, and which are"
            " sensitive"
        )
        return Suggestion(keys, (*_open_questions(looks), said, *reasons), warnings, remarks=remarks)


def _open_questions(looks: Sequence[InferredColumn]) -> Iterator[str]:
    """What a person has to decide, before everything else."""
    asked = [look.name for look in looks if not look.decided]
    if asked:
        columns = "1 column needs" if len(asked) == 1 else f"{len(asked)} columns need"
        yield (
            f"{columns} a decision (role: review): {', '.join(asked)}; write a role, or take the proposals with"
            " --accept-roles"
        )


def _named(look: InferredColumn) -> InferredColumn:
    """A column that names people is an identifier, whatever it looked like."""
    told = "identifies people, who have several rows each"
    return look if look.role == "identifier" else replace(look, role="identifier", reason=told, certainty="medium")


def _of_people(table: Table, looks: Sequence[InferredColumn], policy: Policy | None) -> Iterator[str]:
    """What is not proposed by itself: one of several columns, and a line that a policy lacks."""
    named = person_columns(looks, table.records)
    if policy is not None and policy.person is None and named:
        yield f"'{named[0]}' seems to name people in several rows, and the policy counts rows: say 'person: {named[0]}'"
    elif policy is None and len(named) > 1:
        yield (
            f"{' and '.join(map(repr, named))} name people in several rows: write 'person:' with the one that the rows"
            " are about"
        )


def _fit(table: Table, look: InferredColumn) -> FittedHierarchy | None:
    text = table.text(look.name)
    return fit_hierarchy(look.name, text.labels, text.counts().tolist())


def _entry(look: InferredColumn, fit: FittedHierarchy | None) -> Any:
    if look.decided and fit is None:
        return look.role
    role = {"role": look.role} if look.decided else {"role": "review", "proposed": look.role}
    return role | ({} if fit is None else {"hierarchy": fit.hierarchy})


def _remark(look: InferredColumn, fit: FittedHierarchy | None) -> str:
    letter = f" (HIPAA {look.hipaa})" if look.hipaa else ""
    return f"{look.reason}{letter}" + (f"; {fit.reason}" if fit else "")


def _claims(table: Table, looks: Sequence[InferredColumn]) -> tuple[list[dict[str, Any]], list[str]]:
    k = 3 if table.rows < _SMALL else 5
    claims: list[dict[str, Any]] = [{"k-anonymity": {"k": k}}]
    reasons = [f"k = {k}: nobody is found with a probability above 1 in {k}"]
    secret = [look for look in looks if look.role == "sensitive"]
    if secret:
        varied = all(look.distinct >= 6 and _largest_share(table, look) <= 0.5 for look in secret)
        l = 3 if varied else 2
        claims.append({"l-diversity": {"l": l}})
        reasons.append(
            f"l = {l}: an adversary who knows the class of a person still has {l} possible "
            "values in every sensitive column"
        )
    return claims, reasons


def _largest_share(table: Table, look: InferredColumn) -> float:
    return float(table.text(look.name).counts().max() / table.rows)


def _warnings(table: Table, looks: Sequence[InferredColumn], fits: dict[str, FittedHierarchy | None]) -> Iterator[str]:
    known = [look for look in looks if look.role == "quasi-identifier"]
    if not known:
        yield "no column looks like something that an outsider knows: say which ones are quasi-identifiers"
    if len(known) > _MANY:
        yield (
            f"{len(known)} quasi-identifiers are many: the more an outsider knows, the less can be said; leave some out"
        )
    named = person_columns(looks, table.records)
    for look in looks:
        if (
            look.name not in named
            and look.role == "identifier"
            and look.distinct < table.rows - look.missing
            and look.kind in ("", "person number")
        ):
            yield (
                f"'{look.name}' has duplicates: if it identifies people, declare it under 'person:', or classes count"
                " rows"
            )
        if look.kind == "free text":
            yield f"'{look.name}' is free text, which may say anything about anybody: it is left out"
    for look in known:
        if fits.get(look.name) is None and look.shape == "text" and look.distinct > _VARIED:
            yield (
                f"'{look.name}' has {look.distinct:,} values and no hierarchy: without one they are kept or suppressed"
            )


# People in rows
# --------------


_SUBJECT_WORDS = """
    patient customer person user member client student pupil employee respondent participant subscriber citizen resident
    applicant voter donor passenger subject guest tenant
"""
_SUBJECTS = frozenset(_SUBJECT_WORDS.split())
_FEW = 20
"""Values of a category, at most."""


@dataclass(frozen=True, slots=True)
class ProposedPerson:
    """A column that names people, and why."""

    column: str
    people: int
    rows: int
    lasting: tuple[str, ...]
    """Sensitive columns that stay with a person."""

    @property
    def entry(self) -> str | dict[str, str]:
        """What stands under ``person:``."""
        return {"columns": self.column, "rows": "linked"} if self.lasting else self.column

    @property
    def reason(self) -> str:
        said = (
            f"person: '{self.column}' names {self.people:,} people in {self.rows:,} rows, so candidates are people; "
            "take the line out if a value is not a person"
        )
        if self.lasting:
            said += (
                f"; rows: linked, because '{self.lasting[0]}' stays with a person, and rows that nothing ties would"
                " give it away"
            )
        return said


def person_columns(looks: Sequence[InferredColumn], rows: int) -> list[str]:
    """Columns that name people in several rows by name and values."""
    return [look.name for look in looks if _names_somebody(look.name) and _repeats(look, rows)]


def _names_somebody(name: str) -> bool:
    own = words_of_name(name)
    return bool(_SUBJECTS & set(own)) and (len(own) == 1 or is_identifier_name(own))


def _repeats(look: InferredColumn, rows: int) -> bool:
    return not look.missing and _FEW < look.distinct < rows


def propose_person(table: Table, looks: Sequence[InferredColumn]) -> ProposedPerson | None:
    """The column that names people, when there is one and only one."""
    found = person_columns(looks, table.records)
    if len(found) != 1:
        return None
    person = persons_of_rows(table, found)
    hidden = [look.name for look in looks if look.role == "sensitive" and look.name not in found]
    lasting = tuple(name for name in hidden if share_with_constant_value(person, table.text(name).codes) >= STAYS)
    return ProposedPerson(found[0], int(person.max()) + 1, table.records, lasting)


# Fitting hierarchies
# -------------------


_MOST_KNOWN = 0.8
_FITTING_HIERARCHIES_FEW = 5
_SKEWED = 20.0
_SCALES = (
    "none mild moderate severe", "none low medium high", "very low,low,medium,high,very high", "low middle high",
    "small medium large",
    "never rarely sometimes often always", "no seldom sometimes often", "poor fair good very_good excellent",
    "bad average good",
    "strongly disagree,disagree,neutral,agree,strongly agree",
    "very dissatisfied,dissatisfied,neutral,satisfied,very satisfied",
    "not at all,a little,some,a lot", "primary secondary tertiary", "first second third", "minor moderate major",
    "young middle old",
    "child adult", "normal elevated high", "negative trace positive", "light moderate heavy", "never former current",
    "no school,primary school,high school,some college,college,graduate school", "freshman sophomore junior senior",
    "monday tuesday wednesday thursday friday saturday sunday", "mon tue wed thu fri sat sun", "thur fri sat sun",
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec", "spring summer autumn winter", "morning afternoon evening night",
)  # fmt: skip
_LISTS = (
    ("countries", ("country", "nationality", "nation", "citizenship"), "countries, joined to parts of the world"),
    ("states", ("state",), "states of the US, joined to census divisions"),
    ("icd", ("icd", "diag", "diagnosis", "dx"), "diagnoses, joined to categories and chapters (ICD)"),
    ("isco", ("isco",), "occupations, joined to major groups (ISCO-08)"),
)


@dataclass(frozen=True, slots=True)
class FittedHierarchy:
    """A hierarchy for a policy, and why."""

    hierarchy: Any
    reason: str


def fit_hierarchy(name: str, values: Sequence[str], counts: Sequence[int] = ()) -> FittedHierarchy | None:
    """The first hierarchy that fits; None when the values are best kept or suppressed."""
    present = [value for value in values if value]
    missing = len(present) < len(values)
    often = all(count >= OFTEN for count in counts)
    for fit in (_known_list, _scale, _bins, _dates, _codes):
        found = fit(name, present)
        if found is not None and (often or fit is not _bins):
            return found
    return _numbers(present, missing)


# ---- known lists -----------------------------------------------------------------------------------------------------


def _known_list(name: str, values: Sequence[str]) -> FittedHierarchy | None:
    """A list that knows most values; short codes and bare numbers mean something only where the name says so."""
    if len(values) <= 2:
        return None
    for known, phrases, what in _LISTS:
        named = any(name_contains(name, phrase) for phrase in phrases)
        spoken = [value for value in values if named or (known != "isco" and _speaks(known, value))]
        if sum(bool(path_in(known, value)) for value in spoken) >= _MOST_KNOWN * len(values):
            return FittedHierarchy({"list": known}, what)
    return None


def _speaks(known: str, value: str) -> bool:
    """Whether a value can be told without the name of its column: a word, or a diagnosis with its point."""
    return bool(re.fullmatch(r"[A-Z]\d\d\.\w+", value)) if known == "icd" else len(value) > 3


# ---- orders ----------------------------------------------------------------------------------------------------------


def _scale(name: str, values: Sequence[str]) -> FittedHierarchy | None:
    """Words of a known scale in its order."""
    own = {fold_name(value): value for value in values}
    if len(own) < 3 or len(own) < len(values):
        return None
    for scale in _SCALES:
        words = [word.replace("_", " ") for word in (scale.split(",") if "," in scale else scale.split())]
        if set(own) <= set(words):
            return FittedHierarchy({"order": [own.get(word, word) for word in words]}, "a scale: neighbours are joined")
    return None


def _bins(name: str, values: Sequence[str]) -> FittedHierarchy | None:
    """Ranges of numbers that came as text: ``20-29``, ``[70-80)``."""
    read = {value: _ends(value) for value in values}
    ends = [found for found in read.values() if found is not None]
    if len(ends) < 3 or len(ends) < len(values) - 2:
        return None
    ordered = sorted((value for value in values if read[value]), key=lambda value: read[value] or (0.0, 0.0))
    others = [value for value in values if not read[value]]
    return FittedHierarchy({"order": [*ordered, *sorted(others)]}, "ranges in their order: neighbours are joined")


def _ends(value: str) -> tuple[float, float] | None:
    found = parse_interval(value)
    if found is not None:
        return float(found[0]), float(found[1])
    match = re.fullmatch(r"[\[(]?(\d+(?:\.\d+)?)\s*(?:-|–|,| to )\s*(\d+(?:\.\d+)?)[\])]?", value.strip())
    if match:
        return float(match[1]), float(match[2])
    match = re.fullmatch(r"(?:>|>=|≥)?\s*(\d+(?:\.\d+)?)\s*\+?", value.strip())
    return (
        (float(match[1]), float("inf"))
        if match and not value.strip().isdigit() and parse_number(value) is None
        else None
    )


# ---- looks -----------------------------------------------------------------------------------------------------------


def _dates(name: str, values: Sequence[str]) -> FittedHierarchy | None:
    if value_shape(values) != "dates" or any(parse_timestamp(value) is None for value in values):
        return None  # without a format in the policy nothing else is read as a day
    years = sorted(int(value[:4]) for value in values)
    if years[-1] - years[0] >= 20:
        return FittedHierarchy({"dates": ["month", "year", "decade"]}, "days, joined to months, years and decades")
    return FittedHierarchy({"dates": ["month", "quarter", "year"]}, "days, joined to months, quarters and years")


def _codes(name: str, values: Sequence[str]) -> FittedHierarchy | None:
    """Codes of one length, at least one digit in most of them; plain numbers only where the name says that they are
    places."""
    lengths = {len(value) for value in values}
    if (
        len(values) <= 20
        or len(lengths) != 1
        or not 2 <= (length := lengths.pop()) <= 12
        or any("*" in value for value in values)
    ):
        return None
    placed = any(name_contains(name, word) for word in ("zip", "postal", "postcode", "zipcode", "code"))
    coded = all(re.fullmatch(r"[A-Za-z0-9.-]+", value) for value in values)
    numbered = value_shape(values) in ("whole numbers", "decimals")
    digits = sum(any(sign.isdigit() for sign in value) for value in values)
    if not coded or (numbered and not placed) or digits < _MOST_KNOWN * len(values):
        return None
    return FittedHierarchy({"prefix": length}, "codes of one length, which lose their last characters")


def _numbers(values: Sequence[str], missing: bool) -> FittedHierarchy | None:
    if value_shape(values) not in ("whole numbers", "decimals") or len(values) <= _FITTING_HIERARCHIES_FEW:
        return None
    if any(parse_number(value) is None for value in values):
        return None  # a sample looked like numbers, and one value is none
    read = np.array([float(value) for value in values])
    low, middle, high = float(read.min()), float(np.median(read)), float(read.max())
    if not missing and high - middle > _SKEWED * max(middle - low, 1e-12):
        return FittedHierarchy("ranges", "a few large numbers: any range may stand for some of them")
    return FittedHierarchy(
        {"intervals": round_widths(high - low, whole=value_shape(values) == "whole numbers")},
        "intervals at round numbers",
    )


def round_widths(whole_range: float, *, whole: bool) -> list[float]:
    """Three round widths, each a multiple of the one before, the first about a twentieth of the range.

    >>> round_widths(73, whole=True), round_widths(12, whole=True), round_widths(0.9, whole=False), round_widths(80_000,
    ...     whole=True)
    ([5, 10, 20], [2, 4, 8], [0.05, 0.1, 0.2], [5000, 10000, 20000])
    """
    power = int(np.floor(np.log10(whole_range / 24)))
    first = next(times for times in (1, 5, 10) if times * 10.0**power >= whole_range / 24)
    if whole and first * 10.0**power < 2:
        return [2, 4, 8]
    if power < 0:
        return [float(f"{first * times * 10.0**power:.6g}") for times in (1, 2, 4)]
    return [first * times * 10**power for times in (1, 2, 4)]
