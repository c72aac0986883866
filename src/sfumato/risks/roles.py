"""What each column seems to be: identifier, quasi-identifier, sensitive or other, with the reason in a sentence.

No data says what an outsider knows; names and shapes only suggest it. The order of asking is: kinds that point at a person by
themselves; keys; words that describe a person (somebody may know them); words of what a person would rather keep; shape. What
nothing speaks for is a quasi-identifier, since that is the cautious answer, except for measurements and amounts: these
are rarely known outside, and a release in which they were generalized away would be of no use.

>>> import pyarrow as pa
>>> people = Table(pa.table({"id": ["1", "2", "3"], "sex": ["f", "m", "f"], "diagnosis": ["flu", "flu", "gout"]}))
>>> [(look.name, look.role) for look in looks_of(people)]
[('id', 'identifier'), ('sex', 'quasi-identifier'), ('diagnosis', 'sensitive')]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sfumato.data.moments import moment
from sfumato.data.numbers import is_whole, number
from sfumato.data.table import Table, TextColumn
from sfumato.data.words import says, words
from sfumato.risks.kinds import AGES, PersonalKind, kind_of

GuessedRole = Literal["identifier", "quasi-identifier", "sensitive", "other"]
Shape = Literal["nothing", "whole numbers", "decimals", "dates", "text"]
_FEW, _MANY = 20, 100
_KEY_SHARE = 0.9
_SAMPLE = 2_000
UNKNOWN = "nothing speaks against somebody knowing it"
OLDEST = 89
"""HIPAA: ages above are personal by themselves."""

_NUMBERING = frozenset(
    ("id", "uid", "pid", "key", "uuid", "guid", "nbr", "ident", "identifier", "subject", "rowname", "row", "index")
)
_SOMEBODY = frozenset(("patient", "customer", "person", "user", "member", "client", "student", "employee", "respondent", "case"))
_COUNTING = frozenset(("no", "nr", "num", "number", "code"))
_KNOWN_WORDS = """
    age agegroup birth born sex gender male female race ethnic ethnicity ancestry nationality citizenship citizen country native
    state province region county city town village district zip postal postcode address street latitude longitude location place
    urban rural metro area neighborhood marital married spouse widow single education educ school schooling degree college
    university graduate qualification major occupation job profession employer employment employed industry sector workclass
    department dept position title rank seniority tenure experience service hours hour household family child kid sibling sibsp
    parch parent relationship dependent language height eye hair hand handed veteran military pclass class cabin embarked deck
    black hispanic white asian immigrant foreign owner house home car year date day month admission admitted discharge hospital
    ward weight
"""
_PRIVATE_WORDS = """
    disease diagnosis diag icd illness condition cancer tumor tumour hiv aids infection covid symptom drug medication medicine
    treatment treat therapy dose surgery blood pressure systolic diastolic cholesterol glucose insulin bmi hba pulse pregnant
    pregnancy abortion smoke smoker smoking tobacco alcohol drink drinking cannabis abuse depression anxiety mental psych stress
    disability disabled genetic gene survived survival death died dead alive mortality relapse severity stage income salary wage
    earning pay payment debt credit loan balance wealth saving asset expenditure expense spend spending consumption bill tip
    fare amount charge cost price tax benefit bonus pension mortgage rent default arrest crime criminal offense offence convict
    conviction prison sentence recidivism religion religious church political politic party vote ideology union orientation
    sexual affair opinion attitude satisfaction happiness happy rating score grade gpa test exam mark iq performance evaluation
    result outcome target label response readmitted fraud churn complaint injury health doctor visit
"""

_KNOWN, _PRIVATE = tuple(_KNOWN_WORDS.split()), tuple(_PRIVATE_WORDS.split())


@dataclass(frozen=True, slots=True)
class ColumnLook:
    """What one column seems to be."""

    name: str
    role: GuessedRole
    reason: str
    shape: Shape
    distinct: int
    missing: int
    kind: str = ""
    """The personal kind, when it shows one."""
    hipaa: str = ""
    """The letter of HIPAA's list."""


def looks_of(table: Table) -> tuple[ColumnLook, ...]:
    """All columns; two that say the same in other words have the same role."""
    looks = [_look(name, table.text(name), table.records) for name in table.names]
    return tuple(_shared(look, looks, table) for look in looks)


def shape_of(values: Sequence[str]) -> Shape:
    """What kind of values a column has, judged by a sample of the distinct ones; codes with a leading zero are text."""
    sample = [value for value in values if value]
    sample = sample[:: max(1, len(sample) // _SAMPLE)]
    if not sample:
        return "nothing"
    read = [number(value) for value in sample]
    if all(value is not None for value in read) and not any(value[0] == "0" and value[1:2].isdigit() for value in sample):
        return "whole numbers" if all(value is not None and is_whole(value) for value in read) else "decimals"
    return "dates" if all(moment(value) is not None for value in sample) else "text"


def _look(name: str, text: TextColumn, rows: int) -> ColumnLook:
    values = [label for label in text.labels if label]
    counts = text.counts()
    missing = sum(int(count) for label, count in zip(text.labels, counts, strict=True) if not label)
    plain = ColumnLook(name, "quasi-identifier", "", shape_of(values), len(values), missing)
    if len(values) <= 1:
        return replace(plain, role="other", reason="says the same in every row that has a value")
    kind = kind_of(name, values, rows - missing)
    if kind is not None and kind.direct:
        return _with_kind(plain, kind, "identifier", f"{kind.name}: points at a person by itself")
    if reason := _key_reason(plain, values, rows - missing):
        return replace(plain, role="identifier", reason=reason)
    if kind is not None:
        return _with_kind(plain, kind, "quasi-identifier", f"{kind.name}: somebody may know them")
    return _described(plain, values)


def _with_kind(look: ColumnLook, kind: PersonalKind, role: GuessedRole, reason: str) -> ColumnLook:
    return replace(look, role=role, reason=reason, kind=kind.name, hipaa=kind.hipaa)


def _key_reason(look: ColumnLook, values: Sequence[str], known: int) -> str:
    """Why a column is a key of rows or people; empty when it is none."""
    own = set(words(look.name))
    if not own and look.distinct == known:
        return "has no name and numbers the rows"
    named = bool(own & _NUMBERING) or bool(own & _SOMEBODY and own & _COUNTING)
    if named and (look.distinct > _FEW or look.distinct == known):
        return "its name says that it numbers people or records"
    if look.distinct <= _FEW or look.distinct < _KEY_SHARE * known or look.shape in ("decimals", "dates"):
        return ""
    if look.shape == "text":
        return "has a text of its own in almost every row"
    if look.distinct == known and _is_run(values):
        return "numbers the rows one after the other"
    unnamed = not any(says(look.name, word) for word in (*_PRIVATE, *_KNOWN))
    return "has a number of its own in every row" if look.distinct == known > _MANY and unnamed else ""


def _is_run(values: Sequence[str]) -> bool:
    read = np.array([float(value) for value in values])
    return len(read) > 2 and float(read.max() - read.min()) <= 1.1 * len(read)


def _described(look: ColumnLook, values: Sequence[str]) -> ColumnLook:
    private = next((word for word in _PRIVATE if says(look.name, word)), "")
    known = next((word for word in _KNOWN if says(look.name, word)), "")
    if private and not (known and words(look.name)[-1] == known and private != words(look.name)[-1]):
        return replace(look, role="sensitive", reason=f"'{private}': what people would rather keep to themselves")
    if known:
        aged = known == "age" and any(float(number(value) or 0) > OLDEST for value in values[:_SAMPLE])
        found = replace(look, reason=f"'{known}': somebody may know it")
        return replace(found, kind=AGES.name, hipaa=AGES.hipaa) if aged else found
    if look.shape == "dates":
        return replace(look, reason="a date: somebody may know what happened then", kind="dates of a person", hipaa="C")
    if look.distinct > (_FEW if look.shape == "decimals" else _MANY) and look.shape in ("decimals", "whole numbers"):
        return replace(look, role="sensitive", reason="a measurement or an amount, which outsiders rarely know exactly")
    return replace(look, reason=UNKNOWN)


def _shared(look: ColumnLook, looks: Sequence[ColumnLook], table: Table) -> ColumnLook:
    """Where nothing is known of a column, the role of a sensitive one with a one-to-one map between their values."""
    if look.reason != UNKNOWN or look.distinct > min(_SAMPLE, table.records // 2):
        return look
    for other in looks:
        if other.role == "sensitive" and other.distinct == look.distinct and other.missing == look.missing:
            one, two = table.text(look.name), table.text(other.name)
            pairs = np.unique(one.codes.astype(np.int64) * len(two.labels) + two.codes)
            if len(pairs) == len(one.labels):
                return replace(look, role="sensitive", reason=f"says the same as '{other.name}' in other words")
    return look
