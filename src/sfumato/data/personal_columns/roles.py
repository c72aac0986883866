"""A role for every column of a table, with the reason in a sentence and how certain it is.

No data says what an adversary knows; names and values only suggest it. What nothing speaks for is *undecided*
(`certainty` low): the proposed role is the cautious one, and a draft marks the column for review.

>>> import pyarrow as pa
>>> people = Table(pa.table({"id": ["1", "2", "3"], "sex": ["f", "m", "f"], "diagnosis": ["flu", "flu", "gout"]}))
>>> [(look.name, look.role) for look in infer_column_roles(people)]
[('id', 'identifier'), ('sex', 'quasi-identifier'), ('diagnosis', 'sensitive')]
>>> odd = infer_column_roles(Table(pa.table({"zq": ["a", "b", "a"]})))[0]
>>> odd.role, odd.decided, odd.reason
('quasi-identifier', False, 'no word or pattern recognized (2 different values in 3 rows)')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.data.personal_columns.detector import Certainty, Detected, detect
from sfumato.data.personal_columns.looks import Shape, value_shape
from sfumato.data.personal_columns.names import kinds_by_name, words_of_name
from sfumato.data.personal_columns.vocabulary import KINDS, ProposedRole
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import parse_number

_FEW, _MANY = 20, 100
_KEY_SHARE = 0.9
_SAMPLE = 2_000
OLDEST = 89
"""HIPAA: ages above are personal by themselves."""
SAFE_HARBOR = {
    "A": "names", "B": "geographic subdivisions smaller than a state", "C": "dates (except the year) and ages above 89",
    "D": "telephone numbers", "E": "fax numbers", "F": "e-mail addresses", "G": "social security numbers",
    "H": "medical record numbers", "I": "health plan beneficiary numbers", "J": "account numbers",
    "K": "certificate and license numbers", "L": "vehicle identifiers and license plates", "M": "device identifiers",
    "N": "web addresses", "O": "internet protocol addresses", "P": "biometric identifiers",
    "Q": "full-face photographs",
    "R": "any other unique identifying number, characteristic or code",
}  # fmt: skip
"""45 CFR 164.514(b)(2)(i), letters A to R."""
_NUMBERING = frozenset(
    ("id", "uid", "pid", "key", "uuid", "guid", "nbr", "ident", "identifier", "rowname", "row", "index")
)
_TEXTUAL = frozenset(
    ("name", "first name", "last name", "street", "city", "occupation", "company", "education", "origin")
)


@dataclass(frozen=True, slots=True)
class InferredColumn:
    """What one column seems to be."""

    name: str
    role: ProposedRole
    reason: str
    shape: Shape
    distinct: int
    missing: int
    kind: str = ""
    """The kind of data, when it shows one."""
    hipaa: str = ""
    """The letter of HIPAA's list."""
    certainty: Certainty = "medium"

    @property
    def decided(self) -> bool:
        """Whether something speaks for the role; else a person must decide."""
        return self.certainty != "low"


def infer_column_roles(table: Table) -> tuple[InferredColumn, ...]:
    """Return what every column seems to be; two that say the same in other words have the same role."""
    looks = [_look(name, table.text(name), table.records) for name in table.names]
    return tuple(_shared(look, looks, table) for look in looks)


def _look(name: str, text: TextColumn, rows: int) -> InferredColumn:
    values = [label for label in text.labels if label]
    counts = text.counts()
    missing = sum(int(count) for label, count in zip(text.labels, counts, strict=True) if not label)
    plain = InferredColumn(name, "other", "", value_shape(values), len(values), missing)
    found = detect(name, values, rows=rows - missing, dated=plain.shape == "dates")
    if found is not None and found.role in ("identifier", "drop"):
        return _with(plain, found)
    if len(values) <= 1 and (not values or not missing):
        return replace(
            plain, reason="the same value in every row" if values else "no value in any row", certainty="high"
        )
    if reason := _key_reason(plain, values, rows - missing, found):
        return replace(plain, role="identifier", reason=reason)
    if found is not None and not (found.kind == "event date" and plain.shape in ("text", "decimals")):
        return _aged(_with(plain, found), values)
    if plain.shape == "dates":
        return replace(
            plain,
            role="quasi-identifier",
            reason="dates: an adversary may know what happened then",
            kind="event date",
            hipaa="C",
        )
    return _undecided(plain, rows)


def _with(look: InferredColumn, found: Detected) -> InferredColumn:
    return replace(
        look, role=found.role, reason=found.reason, kind=found.kind, hipaa=found.hipaa, certainty=found.certainty
    )


def _aged(look: InferredColumn, values: Sequence[str]) -> InferredColumn:
    aged = look.kind == "age" and any(float(parse_number(value) or 0) > OLDEST for value in values[:_SAMPLE])
    return replace(look, hipaa="C") if aged else look


def _key_reason(look: InferredColumn, values: Sequence[str], known: int, found: Detected | None) -> str:
    """Return why a column is a key of rows or people; empty when it is none."""
    own = set(words_of_name(look.name))
    if not own and look.distinct == known:
        return "has no name and numbers the rows"
    if own & _NUMBERING and (look.distinct > _FEW or look.distinct == known) and found is None:
        return "its name says that it numbers people or records"
    if look.distinct <= _FEW or look.distinct < _KEY_SHARE * known or look.shape in ("decimals", "dates"):
        return ""
    if look.shape == "text":
        return (
            ""
            if found is not None and found.kind not in _TEXTUAL
            else f"almost all values are unique ({look.distinct:,} in {known:,} rows)"
        )
    if look.distinct == known and _is_run(values) and (found is None or found.kind != "postcode"):
        return "numbers the rows one after the other"
    return (
        f"every row has a number of its own ({known:,} rows)"
        if look.distinct == known > _MANY and found is None
        else ""
    )


def _is_run(values: Sequence[str]) -> bool:
    read = np.array([float(value) for value in values])
    return len(read) > 2 and float(read.max() - read.min()) <= 1.1 * len(read)


def _undecided(look: InferredColumn, rows: int) -> InferredColumn:
    """What nothing speaks for: a number of many values is proposed as sensitive, everything else as
    quasi-identifier."""
    many = look.shape in ("decimals", "whole numbers") and look.distinct > (_FEW if look.shape == "decimals" else _MANY)
    said = f"{look.distinct:,} different value{'' if look.distinct == 1 else 's'} in {rows:,} rows"
    return replace(
        look,
        role="sensitive" if many else "quasi-identifier",
        reason=f"no word or pattern recognized ({said})",
        certainty="low",
    )


def _shared(look: InferredColumn, looks: Sequence[InferredColumn], table: Table) -> InferredColumn:
    """Return an undecided column with the role of a sensitive one when their values map one to one."""
    if look.decided or look.distinct > min(_SAMPLE, table.records // 2):
        return look
    for other in looks:
        if (
            other.role == "sensitive"
            and other.decided
            and other.distinct == look.distinct
            and other.missing == look.missing
        ):
            one, two = table.text(look.name), table.text(other.name)
            pairs = np.unique(one.codes.astype(np.int64) * len(two.labels) + two.codes)
            if len(pairs) == len(one.labels):
                return replace(
                    look, role="sensitive", reason=f"says the same as '{other.name}' in other words", certainty="medium"
                )
    return look


def kind_title(look: InferredColumn) -> str:
    """Return the kind of a column in words, empty where none is known."""
    return KINDS[look.kind].title if look.kind else ""


def speaks_of_person(name: str) -> bool:
    """Return whether a name is that of a number of people, as `patient_nbr` is."""
    return any(one.kind == "person number" for one in kinds_by_name(name))
