"""Candidates side by side, column by column: the original against what each policy would publish, class sizes and risk.

Every candidate is made and certified like any release and kept nowhere. Everything told is a count over classes: how
many records look alike, how the values of a column spread, how many records stand behind the commonest cells; never a
row.

Notation
    spread    records over at most twelve runs of neighbouring leaves of a column; a generalized cell counts in equal
              shares for all of its leaves
    risk      of the prosecutor (`risk.figures`): one over the class size

>>> people = Table(pa.table({"age": ["30", "31", "40", "41"], "sex": ["f", "f", "m", "m"]}))
>>> rough = Policy.parse({"version": 1, "columns": {"age": {"role": "quasi-identifier",
...     "hierarchy": {"intervals": [10]}},
...     "sex": "quasi-identifier"}, "protect": [{"k-anonymity": {"k": 2}}], "method": {"mondrian": {}}})
>>> found = compare({"rough": rough}, people)
>>> found.before.k, found.after["rough"].k, found.after["rough"].columns["age"].top
(1, 2, (('30-39', 2), ('40-49', 2)))


Limits
------
Why is this column so coarse? What keeps it from being finer, found by taking one limit away at a time and publishing
again.

A column of a release is coarse because of something: values that few people have, a boundary that keeps another column
from giving way, or one of the requirements. Each of these is lifted by itself, the release is made and certified again,
and the loss of the column is measured; what brings it down most limits it most. The answer is measured, not reasoned:
it holds for this table and this method.

What is shown
    Values of the column and classes of the release, with counts. Never a row: a class of one record is not shown (I1).

Definitions
    rare      a value that fewer people have than the requirements ask for as candidates; with one column alone it could
              not be shown
    lifted    rare values: their records are left out; a boundary: the entry is dropped; a requirement: it is dropped,
              and where it is the only one its first level is halved (doubled where less is safer)

Invariants
    I1  Everything shown stands for at least two records.

Departures
    Random methods differ a little from run to run; differences of loss below 0.001 are taken for nothing.

>>> people = Table(pa.table({"age": ["30", "31"] * 3 + ["90"], "sex": ["f", "m"] * 3 + ["f"]}))
>>> policy = Policy.parse({"version": 1, "columns": {"age": {"role": "quasi-identifier",
...     "hierarchy": {"intervals": [10]}},
...     "sex": {"role": "quasi-identifier", "hierarchy": "flat"}},
...     "protect": [{"k-anonymity": {"k": 3}}], "method": {"mondrian": {}}})
>>> found = why_coarse(policy, "age", people)
>>> found.limits[0].kind, found.limits[0].records, found.limits[0].loss < found.loss
('rare values', 1, True)
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import AuditRefused, Infeasible, PolicyError
from sfumato.core.registry import nearest
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.table import Table
from sfumato.kinds.tables.information_loss import per_column
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.yaml_document import Document
from sfumato.release.evidence import source_audit
from sfumato.release.method import Progress, no_progress
from sfumato.release.view import ReleaseView
from sfumato.workflow.publish import publish
from sfumato.workflow.risk.figures import Attacker, prosecutor
from sfumato.workflow.risk.report import THRESHOLDS, SizeBin, size_bins

_RUNS, _TOP = 12, 5


@dataclass(frozen=True, slots=True)
class ColumnSide:
    """One column on one side of a comparison."""

    values: int
    """Different values that are shown."""
    loss: float
    top: tuple[tuple[str, int], ...]
    spread: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TableSide:
    """The original, or what one candidate publishes of it."""

    records: int
    suppressed: int
    k: int
    classes: int
    sizes: tuple[SizeBin, ...]
    risk: Attacker
    columns: Mapping[str, ColumnSide]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Before and after, for every candidate."""

    before: TableSide
    after: Mapping[str, TableSide]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(policies: Mapping[str, Policy], data: Any = None, *, progress: Progress = no_progress) -> Comparison:
    """The original against what each policy would publish.

    Parameters
    ----------
    policies
        Candidates by name; all speak of the same data and the same quasi-identifiers.
    data
        Takes the place of the source of the first policy.
    progress
        Told how far the work is, as a share and a word.

    Returns
    -------
    Comparison
        Class sizes, risk and columns before and after.
    """
    first = next(iter(policies.values()))
    table = source_audit(first).read(first, data)
    exhibits = {}
    for done, (name, policy) in enumerate(policies.items()):
        progress(done / len(policies), f"making {name}")
        exhibits[name] = make_release(policy, table).exhibit
    return Comparison(_original(first, table), {name: _published(exhibit) for name, exhibit in exhibits.items()})


def sides_of(policy: Policy, table: Table, exhibit: ReleaseView) -> tuple[TableSide, TableSide]:
    """The original and a release of generalized values, column by column."""
    return _original(policy, table), _published(exhibit)


def make_release(policy: Policy, table: Table) -> Any:
    """A certified release of a recoded table, kept nowhere."""
    publication = publish(policy, table)
    if not publication.exhibit.recoded:
        hint = "choose a method that generalizes values, such as mondrian or refined"
        raise PolicyError(
            "only tables with generalized values are compared column by column", where="method", hint=hint
        )
    return publication


def _original(policy: Policy, table: Table) -> TableSide:
    names = policy.quasi_identifiers
    classes = equivalence_classes_of([table.text(name).codes for name in names], rows=table.rows)
    columns = {}
    for name in names:
        text, domain = table.text(name), generalization_of(policy, name, table.text(name).labels)
        codes = [domain.code_of[label] for label in text.labels]
        leaves = np.bincount(codes, weights=text.counts(), minlength=domain.size)
        columns[name] = ColumnSide(
            len(text.labels), 0.0, _top(text.labels, text.counts()), _runs(leaves.astype(np.float64))
        )
    return _side(table.rows, 0, classes, columns)


def _published(exhibit: ReleaseView) -> TableSide:
    losses = per_column(exhibit)
    columns = {}
    for name, domain in exhibit.recoded.items():
        text = exhibit.data.text(name)
        spread = _runs(_leaves(domain, *exhibit.intervals(name), text.counts()))
        columns[name] = ColumnSide(len(text.labels), losses[name], _top(text.labels, text.counts()), spread)
    return _side(exhibit.data.rows, exhibit.suppressed, exhibit.classes, columns)


def _side(records: int, suppressed: int, classes: EquivalenceClasses, columns: Mapping[str, ColumnSide]) -> TableSide:
    counts = classes.counts if len(classes) else np.ones(1, dtype=np.int64)
    risk = prosecutor(counts, THRESHOLDS)
    return TableSide(records, suppressed, int(counts.min()), len(classes), size_bins(classes.counts), risk, columns)


def _leaves(domain: Generalization, lo: IntArray, hi: IntArray, counts: IntArray) -> FloatArray:
    """Records per leaf, a cell in equal shares for all of its leaves."""
    share = counts / (hi - lo)
    steps = np.bincount(lo, weights=share, minlength=domain.size + 1) - np.bincount(
        hi, weights=share, minlength=domain.size + 1
    )
    return np.maximum(np.cumsum(steps)[: domain.size], 0.0)


def _runs(leaves: FloatArray) -> tuple[float, ...]:
    """Neighbouring leaves together, as many runs as a small picture can show."""
    return tuple(float(f"{part.sum():.6g}") for part in np.array_split(leaves, min(_RUNS, max(len(leaves), 1))))


def _top(labels: Any, counts: IntArray) -> tuple[tuple[str, int], ...]:
    """The most frequent labels; of equally frequent ones the first by name, since rows come in an order of chance."""
    order = sorted(range(len(labels)), key=lambda at: (-int(counts[at]), str(labels[at])))[:_TOP]
    return tuple((str(labels[at]), int(counts[at])) for at in order)


# Limits
# ------


BUDGET = 60.0
"""Seconds after which no further limit is lifted."""
_SHOWN, _NOTHING, _TOGETHER = 8, 1e-3, 2
Kind = Literal["rare values", "boundary", "claim"]


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that may keep a column coarse, and the loss of the column without it."""

    kind: Kind
    what: str
    records: int
    """Of rare values those who have one; of a boundary the cells that stand at it; of a requirement nobody in
    particular."""
    loss: float | None
    """Without the limit; None when that was not tried or cannot be had."""
    note: str = ""

    def gain(self, loss: float) -> float:
        """How much finer the column becomes; nothing when the limit does not matter."""
        return 0.0 if self.loss is None or loss - self.loss < _NOTHING else loss - self.loss


@dataclass(frozen=True, slots=True)
class CoarseCell:
    """A published value of the column, or a class of the release: its cells, how many records it holds, how many
    values."""

    cells: Mapping[str, str]
    records: int
    classes: int
    values: int
    """Different original values of the column behind it."""


@dataclass(frozen=True, slots=True)
class Coarseness:
    """The answer, what limits most first."""

    column: str
    loss: float
    shares: Mapping[str, float]
    """Of the published cells: as fine as the original (`exact`), generalized (`groups`), everything (`all`)."""
    limits: tuple[Limit, ...]
    nodes: tuple[CoarseCell, ...]
    """The coarsest published values of the column."""
    classes: tuple[CoarseCell, ...]
    """The largest classes in which the column is coarsest."""

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.loss < _NOTHING:
            return f"'{self.column}' is published as it is"
        most = self.limits[0] if self.limits else None
        if most is None or not most.gain(self.loss):
            return "nothing by itself: no single limit makes it finer, so it is all of them together"
        lifted = most.note if most.kind == "claim" and most.note.startswith("with ") else "without it"
        return f"{most.what}: {lifted} the loss of '{self.column}' would be {most.loss:.3g} instead of {self.loss:.3g}"

    def to_json(self) -> dict[str, Any]:
        told = asdict(self) | {"sentence": self.sentence}
        told["limits"] = [asdict(limit) | {"gain": limit.gain(self.loss)} for limit in self.limits]
        return told


def why_coarse(
    policy: Policy, column: str, data: Any = None, *, budget: float = BUDGET, progress: Progress = no_progress
) -> Coarseness:
    """What limits a column of the release that a policy makes.

    Parameters
    ----------
    policy
        The policy, with a method that generalizes values.
    column
        One of its quasi-identifiers.
    data
        Takes the place of the policy's own source.
    budget
        Seconds after which no further limit is lifted; those left say so.
    progress
        Told how far the work is, as a share and a word.

    Returns
    -------
    Coarseness
        The limits in the order of what they cost, and the coarsest nodes and classes.
    """
    if column not in policy.quasi_identifiers:
        hint = nearest(column, list(policy.quasi_identifiers))
        raise PolicyError(
            f"'{column}' is no quasi-identifier", where=policy.document.where("columns", column), hint=hint
        )
    table = source_audit(policy).read(policy, data)
    progress(0.0, "as it is")
    exhibit = make_release(policy, table).exhibit
    loss, end = per_column(exhibit)[column], time.monotonic() + budget
    wanted = list(_candidates(policy, column, table, exhibit))
    limits = []
    for done, (limit, lifted) in enumerate(wanted, 1):
        progress(done / (len(wanted) + 1), f"without {limit.what}")
        limits.append(
            _tried(limit, lifted, column) if time.monotonic() < end else replace(limit, note="not tried: no time left")
        )
    limits.sort(key=lambda limit: -limit.gain(loss))
    return Coarseness(
        column, loss, _shares(exhibit, column), tuple(limits), _nodes(exhibit, column), _classes(exhibit, column)
    )


def _candidates(
    policy: Policy, column: str, table: Table, exhibit: ReleaseView
) -> Iterator[tuple[Limit, Callable[[], tuple[Policy, Table]] | None]]:
    """Every limit there may be, and how the world looks without it."""
    yield _rare(policy, column, table)
    for name in policy.quasi_identifiers:
        if policy.columns[name].boundary is not None:
            at = _at_ceiling(exhibit, name)
            limit = Limit("boundary", f"the boundary of '{name}'", at, None, f"{at:,} published cells stand at it")
            yield limit, lambda name=name: (_unbounded(policy, name), table)  # type: ignore[misc]
    for number, claim in enumerate(policy.claims):
        loosened, how = _loosened(policy, number)
        words = f"the claim {claim}"
        lift = None if loosened is None else (lambda loosened=loosened: (loosened, table))
        yield Limit("claim", words, 0, None, how), lift


def _tried(limit: Limit, lifted: Callable[[], tuple[Policy, Table]] | None, column: str) -> Limit:
    if lifted is None:
        return limit
    try:
        return replace(limit, loss=per_column(make_release(*lifted()).exhibit)[column])
    except (Infeasible, AuditRefused, PolicyError) as error:
        return replace(limit, note=f"cannot be had without it: {error.what}")


def fewest(policy: Policy) -> int:
    """Candidates that the requirements ask for, at least two."""
    return max([2, *(claim.model.demand().fewest for claim in policy.claims)])


def _rare(policy: Policy, column: str, table: Table) -> tuple[Limit, Callable[[], tuple[Policy, Table]] | None]:
    text, least = table.text(column), fewest(policy)
    counts = text.counts()
    rare = counts < least
    records = int(counts[rare].sum())
    words = f"values of '{column}' that fewer than {least} {policy.record_word} have"
    if not records or records == table.rows:
        note = "every value is rare: lifting it would leave nothing" if records else "there are none"
        return Limit("rare values", words, records, None, note), None
    kept = Table(table.frame.filter(pa.array(~rare[text.codes])))
    note = f"{int(rare.sum()):,} values, {records:,} records"
    return Limit("rare values", words, records, None, note), lambda: (policy, kept)


def _unbounded(policy: Policy, name: str) -> Policy:
    tree = copy.deepcopy(policy.document.tree)
    tree["columns"][name] = {key: value for key, value in tree["columns"][name].items() if key != "boundary"}
    return _rewritten(policy, tree)


def _loosened(policy: Policy, number: int) -> tuple[Policy | None, str]:
    """The policy without one of its requirements, or with half of its first level when it is the only one."""
    tree, written = copy.deepcopy(policy.document.tree), policy.document.tree.get("protect") or []
    if len(policy.claims) > 1 and len(written) == len(policy.claims):
        tree["protect"] = [entry for place, entry in enumerate(written) if place != number]
        return _rewritten(policy, tree), "dropped"
    model = policy.claims[number].model
    if not model.levels or len(written) != 1 or isinstance(written[0], str):
        return None, "not tried: it cannot be loosened by itself"
    name, safer = next(iter(model.levels.items()))
    value = float(getattr(model, name))
    less = max(1.0, math.ceil(value / 2)) if safer == "more" else value * 2
    if less == value:
        return None, "not tried: its level cannot be lower"
    tree["protect"] = [_releveled(written[0], name, int(less) if float(less).is_integer() else less)]
    return _rewritten(policy, tree), f"with {name} = {less:g} instead of {value:g}"


def _releveled(entry: Mapping[str, Any], level: str, value: float) -> dict[str, Any]:
    if "by" in entry:
        return dict(entry) | {"by": _releveled(entry["by"], level, value)}
    return {model: dict(given or {}) | {level: value} for model, given in entry.items()}


def _rewritten(policy: Policy, tree: dict[str, Any]) -> Policy:
    return Policy.from_document(Document(tree, policy.document.name, policy.base))


def _at_ceiling(exhibit: ReleaseView, name: str) -> int:
    """Published cells of a column that may rise no further."""
    lo, hi = exhibit.intervals(name)
    top_lo, top_hi = exhibit.recoded[name].ceiling()
    wide = exhibit.recoded[name].size
    stuck = (top_lo[lo] == lo) & (top_hi[lo] == hi) & (hi - lo < wide)
    return int(exhibit.data.text(name).counts()[stuck].sum())


def _shares(exhibit: ReleaseView, column: str) -> dict[str, float]:
    lo, hi = exhibit.intervals(column)
    counts, size = exhibit.data.text(column).counts(), exhibit.recoded[column].size
    total = max(int(counts.sum()), 1)
    exact, whole = hi - lo == 1, (hi - lo == size) & (size > 1)
    return {
        "exact": float(counts[exact].sum() / total),
        "groups": float(counts[~exact & ~whole].sum() / total),
        "all": float(counts[whole].sum() / total),
    }


def _behind(exhibit: ReleaseView, column: str) -> np.ndarray:
    """For every leaf how many leaves before it occur in the original, so that differences count values."""
    domain = exhibit.recoded[column]
    present = np.zeros(domain.size + 1, dtype=np.int64)
    for label in exhibit.original.text(column).labels:
        present[domain.code_of[label] + 1] = 1
    return np.cumsum(present)


def _nodes(exhibit: ReleaseView, column: str) -> tuple[CoarseCell, ...]:
    text, (lo, hi), behind = exhibit.data.text(column), exhibit.intervals(column), _behind(exhibit, column)
    counts = text.counts()
    widths = exhibit.recoded[column].width(lo, hi)
    labels = text.codes[exhibit.classes.first]
    order = np.lexsort((-counts, -widths))[:_SHOWN]
    return tuple(
        CoarseCell(
            {column: text.labels[at]}, int(counts[at]), int((labels == at).sum()), int(behind[hi[at]] - behind[lo[at]])
        )
        for at in order
        if widths[at] > 0 and counts[at] >= _TOGETHER  # I1
    )


def _classes(exhibit: ReleaseView, column: str) -> tuple[CoarseCell, ...]:
    """The largest of the classes in which the column is widest."""
    text, (lo, hi), behind = exhibit.data.text(column), exhibit.intervals(column), _behind(exhibit, column)
    widths = exhibit.recoded[column].width(lo, hi)
    first, counts = exhibit.classes.first, exhibit.classes.counts
    label = text.codes[first]
    coarse = np.flatnonzero((widths[label] > 0) & (counts >= _TOGETHER))  # I1
    order = coarse[np.lexsort((-counts[coarse], -widths[label][coarse]))][:_SHOWN]
    names = exhibit.policy.quasi_identifiers
    shown = {name: exhibit.data.text(name) for name in names}
    return tuple(
        CoarseCell(
            {name: shown[name].labels[shown[name].codes[first[at]]] for name in names},
            int(counts[at]),
            1,
            int(behind[hi[label[at]]] - behind[lo[label[at]]]),
        )
        for at in order
    )
