"""Loss: the average share of its domain that a published quasi-identifier cell gives up.

A cell that stands for a set of s leaves out of m costs (s − 1)/(m − 1); a suppressed record costs 1 in every column.
Counterfeit records for people who left count as rows in the average, not as records. The data holder's leaves are the
original's values where a rule grows the hierarchy from them; an adversary's are the declared ones (see
`tables.information_loss`), so the figure of a certificate may differ a little from that of `measure`.

Paper: the LM measure of Iyengar (2002), used in [sequential §7], [obfuscation §6.2].


Declared
--------
What a published label gives up, as far as the policy and the published labels say: nothing here looks at an original.

A hierarchy file or a nested tree declares its leaves. Where a rule grows the hierarchy from the values of the data, the
domain is what the published labels themselves span:

    intervals, cuts, ranges,   from the lowest to the highest end of all labels; a label costs the share that its own
    ends
    dates                      enclose
    prefix                     codes as long as the longest label over the characters that are shown; j masked ones cost
                               (aʲ − 1)/(aⁿ − 1) with a different characters and n places
    flat                       a value costs nothing, ``*`` everything
    list                       a group costs its share of the whole list
    nothing said               as intervals where a label is one, else as flat
    top, bottom, round, recode as the rule beside them, over coded values; ``≥90`` is a value

Heights are levels of the declared rule over their number. So two originals with the same published rows have the same
figures.

>>> numeric = Spanned(["0-9", "10-19", "35", "*"], (10,))
>>> [round(float(width), 3) for width in numeric.widths(["0-9", "35", "*"])], numeric.heights(["0-9", "35",
...     "*"]).tolist()
([0.257, 0.0, 1.0], [0.5, 0.0, 1.0])
>>> Masked(["7100*", "71***"], 5).heights(["7100*", "71***", "*"]).tolist()
[0.2, 0.6, 1.0]


Ntil
----
NTIL: normalized total information loss, the average height to which quasi-identifier cells were generalized.

Paper: [boundaries Def. 10, 11]; the suppressed records are a cluster of their own with full loss.


Entropy loss
------------
Entropy loss: how many bits about an original cell a reader of the release still lacks, on average.

A cell with original value a published as a set B costs −log₂ P(a | B), with P from the original column; a suppressed
record is published as everything. The sum needs no matching of rows to records: it is Σ log₂ n(B) over published cells
minus Σ log₂ n(a) over original ones, where n counts original records.

Paper: the entropy measure (EM) of Gionis and Tassa, used in [sequential §7].


Discernibility
--------------
Discernibility: how many records each record cannot be told from, summed; a suppressed record cannot be told from any.

Paper: Bayardo and Agrawal (2005), as cited in [boundaries §3].


Optimality
----------
Optimality: how far a release is from the least loss that any release of its kind can have, as its method proved.

The loss is measured on what was published; the bound is the method's word with the space it is about. It is a figure of
the original, so it is in the private provenance and never in the folder; folders of earlier versions have it in their
manifest."""

from __future__ import annotations

import datetime as dt
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.data.generalization import MISSING, Generalization, Ranges
from sfumato.data.hierarchy import ROOT
from sfumato.data.table import TextColumn
from sfumato.data.text_values import parse_interval, parse_number, parse_timestamp
from sfumato.io.hierarchy_files import cut_levels
from sfumato.io.known_hierarchies import reference
from sfumato.io.value_coding import is_coded, without_coding
from sfumato.kinds.tables.form import Optimality, Recoded, RecodedProvenance
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView

AGAINST_ORIGINAL, WITHIN_RELEASE = "against the original", "within what is published"
"""Two measures under the key ``loss``: the domain of a column is that of the original (`measure`, the private report),
or the declared one that an adversary knows (certificates, public reports)."""


class Loss(Metric):
    """Average share of its domain that a cell covers; suppressed records count 1."""

    name: ClassVar[str] = "loss"
    title: ClassVar[str] = "Information loss"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1"
    needs_original: ClassVar[bool] = False
    paper: ClassVar[str] = "sequential §7"

    def measure(self, exhibit: ReleaseView) -> float:
        columns = exhibit.once(per_column)
        return sum(columns.values()) / max(len(columns), 1)


class LossByColumn(Metric):
    """The loss of each quasi-identifier by itself."""

    name: ClassVar[str] = "loss_by_column"
    title: ClassVar[str] = "Information loss per column"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1 each"
    paper: ClassVar[str] = "sequential §7"
    needs_original: ClassVar[bool] = False

    def measure(self, exhibit: ReleaseView) -> dict[str, float]:
        return exhibit.once(per_column)


def per_column(exhibit: ReleaseView) -> dict[str, float]:
    """The loss of each quasi-identifier."""
    return {name: _of_column(exhibit, name) for name in exhibit.policy.quasi_identifiers}


def _of_column(exhibit: ReleaseView, name: str) -> float:
    text = exhibit.data.text(name)
    if not exhibit.private:
        widths = exhibit.once(declared_domains)[name].widths(text.labels)
    else:
        widths = exhibit.recoded[name].width(*exhibit.intervals(name)) if text.labels else np.zeros(0)
    return (float(widths @ text.counts()) * exhibit.share_of_people + exhibit.suppressed) / max(exhibit.inputs, 1)


# Declared
# --------


_MONTHS = {"quarter": 3, "year": 12, "decade": 120}


class DeclaredDomain(ABC):
    """How much of a column's declared domain its labels leave open."""

    @abstractmethod
    def width(self, label: str) -> float:
        """Share of the domain that the label stands for; 0 for one value, 1 for everything."""

    @abstractmethod
    def height(self, label: str) -> float:
        """How far up the hierarchy the label stands, from 0 to 1."""

    def widths(self, labels: Sequence[str]) -> FloatArray:
        return np.array([_known(label, self.width) for label in labels], dtype=np.float64)

    def heights(self, labels: Sequence[str]) -> FloatArray:
        return np.array([_known(label, self.height) for label in labels], dtype=np.float64)


def _known(label: str, share: Any) -> float:
    """Everything and nothing mean the same in every domain."""
    if label in (ROOT, MISSING):
        return float(label == ROOT)
    return min(max(float(share(label)), 0.0), 1.0)


class Standing(DeclaredDomain):
    """A tree whose leaves the policy itself declares."""

    def __init__(self, domain: Generalization) -> None:
        self.domain = domain

    def width(self, label: str) -> float:
        return float(self.widths([label])[0])

    def height(self, label: str) -> float:
        return float(self.heights([label])[0])

    def widths(self, labels: Sequence[str]) -> FloatArray:
        return self._shares(labels, self.domain.width)

    def heights(self, labels: Sequence[str]) -> FloatArray:
        return self._shares(labels, self.domain.height)

    def _shares(self, labels: Sequence[str], share: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
        """All labels in one go: a hierarchy of thousands of labels is asked once."""
        if not labels:
            return np.zeros(0)
        spans = np.array([self.domain.interval(label) or (0, self.domain.size) for label in labels], dtype=np.int64)
        shares = np.clip(share(spans[:, 0], spans[:, 1]), 0.0, 1.0)
        return np.array([_known(label, lambda _, own=own: own) for label, own in zip(labels, shares, strict=True)])


class Flat(DeclaredDomain):
    """Values that are kept or suppressed."""

    def width(self, label: str) -> float:
        return 0.0

    def height(self, label: str) -> float:
        return 0.0


class KnownGroups(DeclaredDomain):
    """Groups of a known list; what is no group is a value."""

    def __init__(self, name: str) -> None:
        whole = reference(name)
        self.whole, self.groups = Standing(whole), set(whole.names[whole.size :])

    def width(self, label: str) -> float:
        return self.whole.width(label) if label in self.groups else 0.0

    def height(self, label: str) -> float:
        return self.whole.height(label) if label in self.groups else 0.0


class Spanned(DeclaredDomain):
    """Numbers in intervals of declared widths, or in any interval when no width is declared."""

    def __init__(self, labels: Sequence[str], steps: Sequence[Any] = ()) -> None:
        self.steps = [step for step in (parse_number(str(entry)) for entry in steps) if step is not None]
        self._known: dict[str, tuple[Decimal, Decimal] | None] = {}
        ends = [found for found in map(self.ends, labels) if found is not None]
        self.length = float(max(high for _, high in ends) - min(low for low, _ in ends)) if ends else 0.0

    def ends(self, label: str) -> tuple[Decimal, Decimal] | None:
        """The lowest and the highest number that the label may stand for, read once."""
        if label not in self._known:
            value, found = parse_number(label), parse_interval(label)
            self._known[label] = (
                (value, value) if value is not None else None if found is None else (found[0], found[1])
            )
        return self._known[label]

    def width(self, label: str) -> float:
        found = self.ends(label)
        if found is None:
            return 1.0
        return float(found[1] - found[0]) / self.length if self.length else 0.0

    def height(self, label: str) -> float:
        found = parse_interval(label) if self.steps else None
        if found is None:
            return self.width(label)
        low, high, closed = found
        return sum(step <= high - low + closed for step in self.steps) / (len(self.steps) + 1)


class CutPoints(Spanned):
    """Numbers between chosen points; a label stands on the finest level that has a bin with its ends.

    >>> ages = CutPoints(["0-17", "0-64", "30"], cut_levels([[0, 18, 65], [0, 65]], "age"))
    >>> ages.heights(["30", "0-17", "0-64", "*"]).round(2).tolist()
    [0.0, 0.33, 0.67, 1.0]
    """

    def __init__(self, labels: Sequence[str], levels: Sequence[Sequence[Decimal]]) -> None:
        super().__init__(labels)
        self.levels = [set(pairwise(level)) for level in levels]

    def height(self, label: str) -> float:
        found = parse_interval(label)
        if found is None:
            return self.width(label)
        ends = found[0], found[1] + found[2]
        return next((number for number, bins in enumerate(self.levels, 1) if ends in bins), len(self.levels)) / (
            len(self.levels) + 1
        )


class Natural(Spanned):
    """Numbers in intervals at round numbers, texts that are kept or suppressed: what a column is when nothing is
    said."""

    def width(self, label: str) -> float:
        return 0.0 if self.ends(label) is None else super().width(label)


class CodedEnds(DeclaredDomain):
    """Numbers with a top or a bottom: ``≥90`` is a value like others."""

    def __init__(self, inner: DeclaredDomain) -> None:
        self.inner = inner

    def width(self, label: str) -> float:
        return 0.0 if label[:1] in "≤≥" else self.inner.width(label)

    def height(self, label: str) -> float:
        return 0.0 if label[:1] in "≤≥" else self.inner.height(label)


class Dated(DeclaredDomain):
    """Days in ever longer spans."""

    def __init__(self, labels: Sequence[str], units: Sequence[Any]) -> None:
        self.units = [str(unit) for unit in units]
        ends = [found for found in map(days, labels) if found is not None]
        self.length = max(high for _, high, _ in ends) - min(low for low, _, _ in ends) if ends else 0

    def width(self, label: str) -> float:
        found = days(label)
        if found is None:
            return 1.0
        return (found[1] - found[0]) / self.length if self.length else 0.0

    def height(self, label: str) -> float:
        found = days(label)
        if found is None or not found[2]:
            return float(found is None)
        level = self.units.index(found[2]) + 1 if found[2] in self.units else len(self.units)
        return level / (len(self.units) + 1)


def days(label: str) -> tuple[int, int, str] | None:
    """The first and the last day of a label and the unit it is written in; no unit for a day itself.

    >>> [days(label)[1] - days(label)[0] for label in ("2024-02", "2024-Q1", "2024", "2020s", "2024-W09", "2024-02-29")]
    [28, 90, 365, 3652, 6, 0]
    """
    if parse_timestamp(label) is not None:
        day = dt.date.fromisoformat(label[:10]).toordinal()
        return day, day, ""
    try:
        if found := re.fullmatch(r"(\d{4})-W(\d\d)", label):
            first = dt.date.fromisocalendar(int(found[1]), int(found[2]), 1).toordinal()
            return first, first + 6, "week"
        return _months(label)
    except ValueError:
        return None


def _months(label: str) -> tuple[int, int, str] | None:
    for pattern, unit in (
        (r"(\d{4})-(\d\d)", "month"),
        (r"(\d{4})-Q([1-4])", "quarter"),
        (r"(\d{4})", "year"),
        (r"(\d{3}0)s", "decade"),
    ):
        found = re.fullmatch(pattern, label)
        if found is None:
            continue
        count = _MONTHS.get(unit, 1)
        start = int(found[1]) * 12 + ((int(found[2]) - 1) * count if found.lastindex == 2 else 0)
        return _first_day(start), _first_day(start + count) - 1, unit
    return None


def _first_day(month: int) -> int:
    """Months are counted from the year 0; the day after the last one that there is has a number, too."""
    return (
        dt.date.max.toordinal() + 1 if month // 12 > dt.MAXYEAR else dt.date(month // 12, month % 12 + 1, 1).toordinal()
    )


class Masked(DeclaredDomain):
    """Codes that lose their last characters."""

    def __init__(self, labels: Sequence[str], length: int) -> None:
        shown = [label for label in labels if label != ROOT]
        self.levels = length
        self.letters = max(len(set("".join(shown)) - {ROOT}), 2)
        self.longest = max(map(len, shown), default=1)

    def width(self, label: str) -> float:
        return float((Decimal(self.letters) ** _masked(label) - 1) / (Decimal(self.letters) ** self.longest - 1))

    def height(self, label: str) -> float:
        whole = min(self.levels, len(label))
        return max(whole - (len(label) - _masked(label)), 0) / whole if _masked(label) else 0.0


def _masked(label: str) -> int:
    return len(label) - len(label.rstrip(ROOT))


def declared_domains(exhibit: ReleaseView) -> dict[str, DeclaredDomain]:
    """The domain of every quasi-identifier as an adversary knows it; ask for it with ``exhibit.once``."""
    return {name: _declared(exhibit, name) for name in exhibit.policy.quasi_identifiers}


def _declared(exhibit: ReleaseView, name: str) -> DeclaredDomain:
    spec, labels = exhibit.policy.columns[name].hierarchy, exhibit.data.text(name).labels
    standing = exhibit.generalization(name)
    if standing is not None:
        return Standing(standing)
    if isinstance(spec, Ranges) or spec == "ranges":
        return Spanned(labels)
    if spec is None:
        return Natural(labels)
    if not isinstance(spec, Mapping):
        return Flat()
    if is_coded(spec):
        return _beside_coding(without_coding(spec), labels, name)
    return _ruled(spec, labels, name)


def _beside_coding(spec: Mapping[Any, Any], labels: Sequence[str], name: str) -> DeclaredDomain:
    """The rule over coded values; an end whose other end nobody knows costs nothing."""
    ruled: DeclaredDomain = Natural(labels) if not spec else _ruled(spec, labels, name)
    return CodedEnds(ruled) if not spec or "intervals" in spec or "cuts" in spec else ruled


def _ruled(spec: Mapping[Any, Any], labels: Sequence[str], name: str) -> DeclaredDomain:
    ((rule, argument),) = spec.items()
    if rule == "list":
        return KnownGroups(str(argument))
    if rule == "prefix":
        return Masked(labels, int(str(argument)))
    if rule == "cuts":
        return CutPoints(labels, cut_levels(argument, name))
    return Spanned(labels, argument) if rule == "intervals" else Dated(labels, argument)


# Ntil
# ----


class NormalizedTotalInformationLoss(Metric):
    """Average height of generalization over the height of the hierarchy; suppressed records count 1."""

    name: ClassVar[str] = "ntil"
    title: ClassVar[str] = "Generalization height (NTIL)"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1"
    needs_original: ClassVar[bool] = False
    paper: ClassVar[str] = "boundaries Def. 11"

    def measure(self, exhibit: ReleaseView) -> float:
        columns = exhibit.policy.quasi_identifiers
        lost = sum(_ntil_of_column(exhibit, name) for name in columns) * exhibit.share_of_people
        lost += exhibit.suppressed * max(len(columns), 1)
        return lost / max(exhibit.inputs * len(columns), exhibit.inputs, 1)


def _ntil_of_column(exhibit: ReleaseView, name: str) -> float:
    text = exhibit.data.text(name)
    if not exhibit.private:
        return float(exhibit.once(declared_domains)[name].heights(text.labels) @ text.counts())
    return float(exhibit.recoded[name].height(*exhibit.intervals(name)) @ text.counts()) if text.labels else 0.0


# Entropy loss
# ------------


class EntropyLoss(Metric):
    """Average number of bits that are missing to know an original cell."""

    name: ClassVar[str] = "entropy_loss"
    title: ClassVar[str] = "Entropy loss (bits per cell)"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … log₂ of the records"
    paper: ClassVar[str] = "sequential §7"

    def measure(self, exhibit: ReleaseView) -> float:
        bits = 0.0
        for name, domain in exhibit.recoded.items():
            original = exhibit.original.text(name)
            counts = _leaf_counts(domain, original)
            below = np.concatenate([[0.0], np.cumsum(counts)])
            lo, hi = exhibit.intervals(name)
            published = exhibit.data.text(name).counts()
            bits += float(np.log2(np.maximum(below[hi] - below[lo], 1.0)) @ published) * exhibit.share_of_people
            bits += exhibit.suppressed * np.log2(exhibit.inputs)
            bits -= float(original.counts() @ np.log2(original.counts()))
        return max(bits, 0.0) / (exhibit.inputs * max(len(exhibit.recoded), 1))


def _leaf_counts(domain: Generalization, original: TextColumn) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    counts = np.zeros(domain.size)
    for label, count in zip(original.labels, original.counts(), strict=True):
        counts[domain.code_of[label]] += count
    return counts


# Discernibility
# --------------


class Discernibility(Metric):
    """Sum of squared class sizes, plus the size of the table for every suppressed record."""

    name: ClassVar[str] = "discernibility"
    title: ClassVar[str] = "Discernibility"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "records … records²"
    paper: ClassVar[str] = "Bayardo, Agrawal 2005"
    needs_original: ClassVar[bool] = False

    def measure(self, exhibit: ReleaseView) -> int:
        sizes = exhibit.classes.counts
        return int((sizes * sizes).sum()) + exhibit.suppressed * exhibit.inputs


class AverageClassSize(Metric):
    """Published records per class of equal quasi-identifiers."""

    name: ClassVar[str] = "average_class_size"
    title: ClassVar[str] = "Average class size"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "1 … records"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan 2006"
    needs_original: ClassVar[bool] = False

    def measure(self, exhibit: ReleaseView) -> float:
        return exhibit.data.records / max(len(exhibit.classes), 1)


# Optimality
# ----------


OBJECTIVES: dict[str, type[Metric]] = {cls.name: cls for cls in (Loss, EntropyLoss, NormalizedTotalInformationLoss)}


class OptimalityGap(Metric):
    """Largest share of the loss that a better release could save; 0 for a proven optimum."""

    name: ClassVar[str] = "optimality_gap"
    title: ClassVar[str] = "Largest saving that is possible"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "obfuscation §3.3"

    def ready(self, exhibit: ReleaseView) -> bool:
        return optimality_statement(exhibit) is not None

    def measure(self, exhibit: ReleaseView) -> float:
        said = statement(exhibit)
        loss = measured_objective(exhibit, said)
        return max(1.0 - said.lower_bound / loss, 0.0) if loss > 0 else 0.0


class LowerBound(OptimalityGap):
    """No release of this kind can lose less than this, in the figure that the policy minimizes."""

    name: ClassVar[str] = "lower_bound"
    title: ClassVar[str] = "Lower bound of the loss"
    range: ClassVar[str] = "that of the figure"

    def measure(self, exhibit: ReleaseView) -> float:
        return statement(exhibit).lower_bound


def optimality_statement(exhibit: ReleaseView) -> Optimality | None:
    """What the method says about the best release, when the private provenance (or an old manifest) has it."""
    return exhibit.traced(RecodedProvenance).optimality or exhibit.of(Recoded).optimality


def statement(exhibit: ReleaseView) -> Optimality:
    """What the method says about the best release, for who knows that it says something."""
    said = optimality_statement(exhibit)
    assert said is not None
    return said


def measured_objective(exhibit: ReleaseView, said: Optimality) -> float:
    """The figure that the policy minimizes, on what was published."""
    return float(OBJECTIVES[said.objective]().measure(exhibit))
