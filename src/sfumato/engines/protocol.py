"""The interface between an engine and the package: counted files in, classes to the methods, a recoding back to rows.

A `Recoding` is the private provenance of a release as a grouping instead of rows: which share of each class is
published as what.

Invariants
    I1  A class is known again by a number that no other class of the run has; where two had the same, the run is
        refused.
    I2  What chance decides is keyed by a secret of the run and by what is published or split, never by a place, a
        partition or a time: a task that runs twice does the same twice.
    I3  The order of published rows is a function of the secret and of the published rows alone.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.errors import SfumatoError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table

COUNT, IDENTITY, NUMBER = "\x1fcount", "\x1fidentity", "\x1fnumber"
"""Names that columns have on the way; no column of a table is called so."""
SECRET_BYTES = 32
PERSON, LINE = "key", "line"
"""Columns of people files: the private key of a person, and the line of a release that the person is on."""
People: TypeAlias = "Sequence[Path] | pa.Table"
"""Who is on which line of a release: files of such pairs, or the pairs themselves."""
TWICE = "somebody stands twice among the people of a release"


class FileEngine(Protocol):
    """Who looks at the files of a part."""

    def columns(self, files: Sequence[Path]) -> list[str]:
        """The columns that all of these files have."""

    def count(self, files: Sequence[Path], names: Sequence[str]) -> tuple[pa.Table, IntArray]:
        """The different rows of some columns, as text, and how often each stands there."""

    def with_buckets(
        self, files: Sequence[Path], lists: Mapping[str, Sequence[Path]], aside: Sequence[str]
    ) -> dict[str, tuple[pa.Table, IntArray | None]]:
        """A table with buckets, named as its folder, and the parts that list what they hide: rows, or different rows
        with counts.

        Counted buckets are distinguished only by the values that they list. Columns `aside` are not counted.
        """

    def repeats(self, files: Sequence[Path], names: Sequence[str]) -> int:
        """Rows that say in some columns, as text, what another row says that came before them."""

    def courses(self, people: Sequence[People]) -> tuple[pa.Table, IntArray]:
        """The different courses of people through some releases (per release a line, −1 where absent), and how many
        took each.

        Somebody who is twice in a release is refused.
        """

    def over_files(self, ask: Callable[[Path], Any], files: Sequence[Path]) -> list[Any]:
        """The answers of something plain for every file."""


@dataclass(frozen=True, slots=True)
class NumberedClasses:
    """The classes of a table that lies elsewhere, and the number by which rows know theirs (I1)."""

    table: Table
    identity: IntArray
    salt: int = 0
    """What the numbers were made with; the first for which all are different."""

    def __post_init__(self) -> None:
        if len(np.unique(self.identity)) < len(self.identity):
            raise SfumatoError("two classes of the data got the same number")


@dataclass(frozen=True, slots=True)
class RunSecret:
    """The unwritten secret of one run, and keys made from it for one purpose each (I2)."""

    content: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.content) < SECRET_BYTES:
            raise ValueError(f"a secret has at least {SECRET_BYTES} bytes")

    def key(self, purpose: str, *about: str) -> str:
        """128 bits for something, in hexadecimal."""
        told = "\0".join([purpose, *(f"{len(text)}:{text}" for text in about)]).encode()
        return hmac.new(self.content, told, hashlib.sha256).hexdigest()[:32]

    def __reduce__(self) -> Any:
        raise TypeError("the secret of a run stays where it is")


@dataclass(frozen=True, slots=True)
class Recoding:
    """Which share of each class is published as what: places `first` … `last` of class `identity` become tuple
    `shown`."""

    names: tuple[str, ...]
    """The columns that make a class."""
    identity: IntArray
    first: IntArray
    last: IntArray
    whole: np.ndarray[Any, np.dtype[np.bool_]]
    """Whether the share is the whole class."""
    shown: IntArray
    labels: Mapping[str, pa.Array]
    """Per recoded column the label of each published tuple."""
    salt: int = 0

    @classmethod
    def of(cls, classes: NumberedClasses, part: Any, behind: IntArray, recoded: Sequence[str]) -> Recoding:
        """From a counted part, the class behind each of its rows, and the names of its recoded columns."""
        texts = [part.text.text(name) for name in recoded]
        tuples = equivalence_classes_of([text.codes for text in texts], rows=len(behind))
        labels = {
            name: pa.array(text.labels, pa.string()).take(pa.array(text.codes[tuples.first]))
            for name, text in zip(recoded, texts, strict=True)
        }
        order = np.argsort(behind, kind="stable")
        shown, row, last = tuples.of[order], behind[order], np.asarray(part.counts)[order]
        del tuples, texts, order  # one number of every class each
        assert classes.table.counts is not None
        whole = last == classes.table.counts[row]
        first = np.cumsum(last)
        first -= last
        first -= first[np.searchsorted(row, row)]
        last += first
        return cls(tuple(classes.table.names), classes.identity[row], first, last, whole, shown, labels, classes.salt)

    def tuple_keys(self, secret: RunSecret) -> list[str]:
        """A key for every published tuple, from what it shows (I3)."""
        columns = [column.to_pylist() for column in self.labels.values()]
        return [secret.key("order", *shown) for shown in zip(*columns, strict=True)]
