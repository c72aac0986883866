"""A release view: a release as the data holder or the public sees it. Audit, metrics, report, attacks and ledger all
read views.

The public view has the published parts, the form with its public parameters, and the public policy. On the data
holder's side it also has the original, the private provenance and the history. Everything derived from these (encoded
columns, hierarchies, parsed baskets, a policy bound to its schema) is made once and kept here.

>>> from sfumato.kinds.tables.form import Recoded
>>> from sfumato.policy.policy import Policy
>>> policy = Policy.parse({"version": 1, "columns": {"age": "quasi-identifier"}})
>>> exhibit = ReleaseView(Recoded(), {"data": Part({"age": ["30", "30", "40"]})}, policy)
>>> exhibit.data.rows, exhibit.classes.counts.tolist(), exhibit.private
(3, [2, 1], False)


Onlooker
--------
Base of everything that reads views of some forms: checks, metrics, attacks, report sections.

Checks, metrics and report sections are onlookers.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, ReleaseError
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.table import Table
from sfumato.io.hierarchy_files import is_standing
from sfumato.io.plain_files import OverFiles, map_files
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.certificate import Certificate, Records
from sfumato.release.form import Form
from sfumato.release.past_releases import History
from sfumato.release.release import Part, Provenance

T = TypeVar("T")
F = TypeVar("F", bound=Form)
R = TypeVar("R", bound=Provenance)


_OF_PARTS: set[Any] = set()


def of_parts(make: Callable[[ReleaseView], T]) -> Callable[[ReleaseView], T]:
    """Marks what looks at the published parts and the form alone, and so is the same for all people who looks."""
    _OF_PARTS.add(make)
    return make


@dataclass(frozen=True)
class ReleaseView:
    """Published parts and the public policy; on the data holder's side also the original, the provenance and the
    history."""

    form: Form
    parts: Mapping[str, Part]
    policy: Policy
    certificate: Certificate | None = None
    damage: tuple[str, ...] | None = None
    """What is wrong with the files of a folder; ``None`` when there is no folder."""
    folder: Path | None = None
    """Folder of the files, for checks that read them again; ``None`` when there are none."""
    original: Any = None
    """The original dataset, when the data holder gives it."""
    trace: Provenance = field(default_factory=Provenance, repr=False)
    """The private provenance; empty when it is not at hand."""
    history: History | None = None
    """Every release so far, this one last, when a ledger (or the private provenance) is at hand."""
    population: Table | None = field(default=None, repr=False)
    """Everybody whom the table is a sample of, when the data holder has a table of them."""
    population_file: Path | None = field(default=None, repr=False)
    """Where that table lies, when it is a text file whose cells mean what is written in them."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """How metrics are to be measured, where they leave a choice."""
    over_files: OverFiles = field(default=map_files, repr=False, compare=False)
    """How something plain is done with every file of a part: here one after the other, or where they lie."""
    repeats: Callable[[Sequence[Path], Sequence[str]], int] | None = field(default=None, repr=False, compare=False)
    """How rows that say the same in some columns are counted over all files of a part."""
    strangers: int | None = None
    """Of a part whose rows stay on a cluster: how many of them, compared there with the source, no record stands
    behind."""
    misplaced: int | None = None
    """Of buckets whose rows stay on a cluster: how many listed values, compared there with the source, nobody in their
    bucket has."""
    told: Callable[[float, str], None] | None = field(default=None, repr=False, compare=False)
    """Who hears how far the audit is, as a share and a word."""
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, make: Callable[[ReleaseView], T]) -> T:
        """Return what `make` computes from this view; it is computed on first use."""
        if make not in self._kept:
            self._kept[make] = make(self)
        found: T = self._kept[make]
        return found

    def of(self, form: type[F]) -> F:
        """The form with its public parameters, for who knows which form this is."""
        if not isinstance(self.form, form):
            raise ReleaseError(f"this is a {self.form}, not a {form.name}")
        return self.form

    def traced(self, trace: type[R]) -> R:
        """The private provenance as one of this kind; an empty one when it is not at hand."""
        return self.trace if isinstance(self.trace, trace) else trace()

    def as_published(self) -> ReleaseView:
        """The same release as an adversary sees it, made once; what was made of the published parts alone goes
        along."""
        return self.once(_outside)

    def certified(self, certificate: Certificate) -> ReleaseView:
        """The same release with its certificate, as the last of its history, too; it no longer leans on its draft."""
        exhibit = self._with_certificate(certificate)
        if self.history is None:
            return exhibit
        past = self.history.releases[-1]
        last = replace(past, exhibit=replace(past.exhibit, certificate=certificate, folder=None))
        remembered = replace(exhibit, history=replace(self.history, releases=(*self.history.releases[:-1], last)))
        remembered._kept.update(exhibit._kept)
        return remembered

    def _with_certificate(self, certificate: Certificate) -> ReleaseView:
        """Nothing that was made depends on the certificate, except how an adversary sees it."""
        exhibit = replace(self, certificate=certificate, folder=None)
        exhibit._kept.update(self._kept)
        if _outside in self._kept:
            exhibit._kept[_outside] = self._kept[_outside]._with_certificate(certificate)
        return exhibit

    @property
    def private(self) -> bool:
        """Whether this is the data holder's side."""
        return self.original is not None

    @property
    def counted(self) -> bool:
        """Whether parts or the original are at hand as different rows with counts."""
        parts = any(part.counts is not None for part in self.parts.values())
        return parts or getattr(self.original, "counts", None) is not None

    @property
    def behind(self) -> Mapping[str, IntArray] | None:
        """Per part the original record behind each row (−1: none), when provenance is at hand; each record stands
        behind one row.

        Raises `DataError` where provenance does not fit what was published: a check that asks for it then fails.
        """
        return self.once(_behind)

    @property
    def records(self) -> Records | None:
        """What the certificate says about record counts."""
        return None if self.certificate is None else self.certificate.records

    @cached_property
    def tables(self) -> dict[str, Table]:
        return {name: part.text for name, part in self.parts.items()}

    @property
    def data(self) -> Table:
        """The main part, or what the form makes of several."""
        return self.form.main(self)

    @property
    def inputs(self) -> int:
        """Records of the original: counted by the data holder, for others as the certificate says."""
        if self.private:
            return int(self.original.records)
        return self.form.records(self) if self.records is None else self.records.input

    @property
    def suppressed(self) -> int:
        """Records of the original that are not published."""
        return self.inputs - self.form.records(self)

    @property
    def share_of_people(self) -> float:
        """Return the share of main-part rows that belong to people in the table; the others are counterfeits for people
        who left.

        A sum over rows weighs every row by this share before it is compared with records, because counterfeits cannot
        be told apart.
        """
        return self.form.records(self) / max(self.data.records, 1)

    def generalization(self, name: str) -> Generalization | None:
        """How a column may be generalized, as far as this side may know it."""
        if self.private:
            return generalization_of(self.policy, name, self.original.text(name).labels)
        if is_standing(self.policy.columns[name].hierarchy):
            missing = [label for label in self.data.text(name).labels if label == MISSING]
            return generalization_of(self.policy, name, missing)
        return None

    @cached_property
    def recoded(self) -> dict[str, Generalization]:
        """The quasi-identifiers with how they may be generalized; empty where the form does not show them."""
        if not self.form.recodes or not self.private:
            return {}
        return {name: self._original_generalization(name) for name in self.policy.quasi_identifiers}

    def _original_generalization(self, name: str) -> Generalization:
        return generalization_of(self.policy, name, self.original.text(name).labels)

    @property
    def classes(self) -> EquivalenceClasses:
        """Published rows with the same quasi-identifiers."""
        return self.once(_classes)

    def intervals(self, name: str) -> tuple[IntArray, IntArray]:
        """The interval of leaves behind each published label of a column; a label that is none stands for
        everything."""
        domain = self.recoded[name]
        spans = [domain.interval(label) or (0, domain.size) for label in self.data.text(name).labels]
        return np.array([lo for lo, _ in spans], dtype=np.int64), np.array([hi for _, hi in spans], dtype=np.int64)


def _behind(exhibit: ReleaseView) -> Mapping[str, IntArray] | None:
    for part, rows in exhibit.trace.rows.items():
        real, table = rows >= 0, exhibit.tables[part] if part in exhibit.parts else exhibit.data
        if len(rows) != table.rows:
            raise DataError(f"the private provenance of {part} is not that of its rows")
        if (_published_times(rows[real], table.counts, real) > _times_there(exhibit.original, rows[real])).any():
            raise DataError(f"{part} has a record twice, as the private provenance says")
    return exhibit.trace.rows or None


def _published_times(behind: IntArray, counts: IntArray | None, real: np.ndarray) -> IntArray:
    """Return how often each record is published, or each equal row where rows are counted."""
    often = np.ones(len(behind), dtype=np.int64) if counts is None else np.asarray(counts)[real]
    return np.bincount(behind, weights=often).astype(np.int64) if len(behind) else np.zeros(0, dtype=np.int64)


def _times_there(original: Any, behind: IntArray) -> IntArray:
    """Return how often each of these records is in the original: once, unless equal rows are counted."""
    size = int(behind.max()) + 1 if len(behind) else 0
    counts = getattr(original, "counts", None)
    return np.ones(size, dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)[:size]


@of_parts
def _classes(exhibit: ReleaseView) -> EquivalenceClasses:
    known = [exhibit.data.text(name).codes for name in exhibit.policy.quasi_identifiers]
    return equivalence_classes_of(known, rows=exhibit.data.rows, weights=exhibit.data.counts)


def _outside(exhibit: ReleaseView) -> ReleaseView:
    alone = replace(exhibit, original=None, trace=Provenance(), history=None, strangers=None, misplaced=None)
    seen = replace(alone, population=None, population_file=None, told=None)
    seen._kept.update({make: made for make, made in exhibit._kept.items() if make in _OF_PARTS})
    return seen


def certificate_of(exhibit: ReleaseView) -> Certificate:
    """Return the certificate of a view that has one."""
    assert exhibit.certificate is not None
    return exhibit.certificate


# Onlooker
# --------


class Applicable(ABC):
    """Reads views of its forms, if everything that it needs is available."""

    name: ClassVar[str]
    forms: ClassVar[tuple[type[Form], ...]] = (Form,)
    """The forms it understands; all of them unless it says otherwise."""

    on_classes: ClassVar[bool] = False
    """Whether it understands parts that are different rows with counts; what does not is silent there, or says so."""

    def applies(self, exhibit: ReleaseView) -> bool:
        """Return whether it applies to this view."""
        return self.understands(exhibit.form) and (self.on_classes or not exhibit.counted) and self.ready(exhibit)

    def concerned(self, exhibit: ReleaseView) -> bool:
        """Return whether the view has one of its forms and everything that it needs, wherever its rows are."""
        return self.understands(exhibit.form) and self.ready(exhibit)

    @classmethod
    def understands(cls, form: Form) -> bool:
        """Return whether the form is one of those that it declares."""
        return isinstance(form, cls.forms)

    def ready(self, exhibit: ReleaseView) -> bool:
        """Whether everything it needs is at hand (the original, the private provenance, a public parameter)."""
        return True
