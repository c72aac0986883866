"""Bags of rows: people with equally many rows, recoded so that each person's bag of published rows is that of at least
k people.

For every number of rows r the people who have r become the records of one recoding problem: what is constant stands
there once, what belongs to events r times, a person's rows in the order of their values. Any search for groups then
finds people whose rows, one beside the other, are cheap to write alike.

Notation
    bag     the published rows of a person, without their order
    slot    the place of a row in the order of a person's rows
    gone    a row that an earlier release published and this one does not: it has no cells now, and what it told counts
            on
    kind    how many rows are published of a person, and how many are gone
    ever    the set of values of a sensitive column that a person has in whichever row

Guarantee
    People of a group have equal bags. An adversary who knows all rows of a person, and their number, cannot tell the
    people of a group apart: each pseudonym is the person's with probability at most 1/k. In every slot the values
    satisfy the requirements, and *ever*: no value is had by all people of a group, none by more than the share that is
    asked for.

Invariants
    I1  The number of rows is known to adversaries. If too few people have as many rows, or no group of them satisfies
        the requirements, each of them loses a random row and joins those who have one less. A person without rows is
        suppressed.
    I2  What is constant is written as one cell that covers all rows of all people in the group, also where it varies.
    I4  Of a table of people and one of their rows, people without rows are records of a problem of their own: what is
        constant, and whatever of requirements is about numbers or about columns of people. Nothing else is said of
        them.
    I3  Groups of a problem satisfy the requirements; the models themselves say so.
    I5  A person who was published before shares a group with people whose rows, one by one, had the same past, present
        or not (`chains`).


Past records
------------
Records that earlier releases published, beside those of a table: whose they are, and what was shown of them.

If rows of a person share a pseudonym, a person who is published again shares a group with people whose rows had the
same past, one by one (`history.persons`). So a row of the table has a *look*: the joint class of what was published of
it. Rows that were published and are not in the table are *gone*; nothing is written of them now, and the values that
they told still count for their people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict

from sfumato.core.arrays import BoolArray, CodeArray, IntArray, positions_in_runs
from sfumato.core.errors import Infeasible, LedgerError, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import encode
from sfumato.data.linkage import Linkage
from sfumato.data.persons import persons_of_rows
from sfumato.data.table import RelatedTable, Table, TextColumn
from sfumato.history.constrain.constraints import HistoryLinks, link_to_history
from sfumato.kinds.tables.methods.recoding_history import HISTORY, classes_apart, keep_classes_apart
from sfumato.kinds.tables.methods.recoding_problem import Cells, Grouping, RecodingProblem, Requirement, Sensitive
from sfumato.models.base import Model
from sfumato.models.k_anonymity import KAnonymity
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.method import Task
from sfumato.release.past_releases import NO_ROW, WHOSE, keys_of, persons_of_records

Grouper = Callable[[RecodingProblem], Grouping]


class EverHad(Model):
    """No value that all people of a group have in some row, and none that more than a share has; never written in a
    policy."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, arbitrary_types_allowed=True)
    name: ClassVar[str] = "values that people ever have"

    column: str
    share: float
    start: Any
    """Values of set i are ``value[start[i]:start[i + 1]]``."""
    value: Any

    def satisfied(self, seen: Linkage) -> BoolArray:
        spread = seen.spread[self.column]
        size = np.diff(self.start)[spread.value]
        first = np.repeat(self.start[spread.value], size)
        held = self.value[first + positions_in_runs(size)]
        width = int(self.value.max(initial=0)) + 1
        pairs, place = np.unique(np.repeat(spread.kind(), size) * width + held, return_inverse=True)
        having = np.bincount(place, weights=np.repeat(spread.weight, size), minlength=len(pairs))
        most = np.zeros(spread.kinds)
        np.maximum.at(most, pairs // width, having)
        verdict: BoolArray = (most < seen.candidates) & (most <= self.share * seen.candidates + 1e-9)
        return verdict

    def achieved(self, seen: Linkage) -> dict[str, Any]:
        return {"share": self.share}

    def suggestion(self, seen: Linkage) -> str:
        return "a value is had by too many people with as many rows"

    def covers(self, other: Any) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class MultisetColumn:
    """One quasi-identifier: how it is generalized, the leaf of every record, whether it is written once per person."""

    name: str
    domain: Generalization
    codes: CodeArray
    constant: bool


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Some records as they will be published: per quasi-identifier the interval of each."""

    records: IntArray
    cells: dict[str, Cells]


class RowCounts(NamedTuple):
    """How many rows people have: of the table, or only the line of who has none, and of earlier releases."""

    rows: int
    line: int = 0
    gone: int = 0
    gone_lines: int = 0

    @property
    def told(self) -> int:
        """What is published of each person now."""
        return self.rows + self.line

    def visits(self) -> list[int]:
        """The slots of rows, without lines of people who had none."""
        return [*range(self.rows), *range(self.told, self.told + self.gone)]


class RowMultisets:
    """The people of a table, by how many rows they have; and those of earlier releases, where there are some."""

    def __init__(self, policy: Policy, table: Table, past: PastRecords | None = None) -> None:
        if policy.person is None:
            raise PolicyError("the policy does not say whose rows they are", hint="write 'person: patient_id'")
        self.policy, self.table = policy, table
        self.person = persons_of_rows(table, policy.person.unit)
        self.columns = [_column(policy, table, name) for name in policy.quasi_identifiers]
        self.fewest = max((claim.model.demand().fewest for claim in policy.claims), default=1)
        self.own = table.own if isinstance(table, RelatedTable) else frozenset(table.names)
        line = table.absent if isinstance(table, RelatedTable) else np.zeros(table.rows, dtype=np.bool_)
        past = past if past is not None else PastRecords.none(table)
        self.owner = np.concatenate([self.person, past.owner])
        """The person of every record, of the table and then gone; people who left follow those of the table."""
        self.line = np.concatenate([line, past.line])
        self.look = past.look
        """What earlier releases showed of every record, −1 where they showed nothing."""
        self.told_before = frozenset(past.values)
        names = dict.fromkeys(name for claim in policy.claims for name in claim.hide)
        self.hidden = {name: past.joined(table.text(name), name) for name in names}
        keys = [
            np.concatenate([column.codes.astype(np.int64), np.zeros(past.gone, dtype=np.int64)])
            for column in self.columns
        ]
        self.part = np.where(np.arange(len(self.owner)) < table.rows, 0, 2) + self.line
        self.order = np.lexsort(np.array([*keys[::-1], self.look, self.part, self.owner]))
        """Records person by person: rows of the table, then those that are gone, each in the order of their past and
        values."""

    @property
    def people(self) -> int:
        """Everybody, those who left included."""
        return int(self.owner.max(initial=-1)) + 1

    def by_kind(self, people: BoolArray, *, known: bool = False) -> dict[RowCounts, IntArray]:
        """Some of the people, by how many rows they have: people × records; of all their rows, or of `known` ones
        only."""
        order = self.order[(self.look[self.order] >= 0)] if known else self.order
        counts = np.bincount(self.owner[order] * 4 + self.part[order], minlength=4 * self.people).reshape(-1, 4)
        start = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
        some = np.flatnonzero(people)
        kinds, of = np.unique(counts[some], axis=0, return_inverse=True)
        found = {}
        for place, counted in enumerate(kinds.tolist()):
            mine = some[of.ravel() == place]
            found[RowCounts(*counted)] = order[start[mine][:, None] + np.arange(sum(counted))]
        return found

    def problem(self, kind: RowCounts, records: IntArray) -> RecodingProblem:
        """People of one kind as one recoding problem, in which those with another past stay apart (I5)."""
        names, domains, codes = [], [], []
        for column in self._shown(kind):
            for place, values in enumerate(_slots(column, column.codes[records[:, : kind.told]])):
                names.append(f"{column.name}\0{place}")
                domains.append(column.domain)
                codes.append(values)
        hidden: list[Sensitive] = []
        asked: list[Requirement] = []
        for name in self.hidden:
            self._ask(name, kind, records, hidden, asked)
        for claim in self.policy.claims:
            silent = not any(self._slots_of(name, kind) for name in claim.hide)
            model = KAnonymity(k=max(claim.model.demand().candidates, 1)) if claim.hide else claim.model
            asked += [Requirement(model)] * silent
        apart = equivalence_classes_of(list(self.look[records].T + 1), rows=len(records)).of
        if not names:
            leaf = apart.astype(np.int32)
            return RecodingProblem(
                (HISTORY,), (classes_apart(int(apart.max()) + 1),), (leaf,), tuple(hidden), tuple(asked)
            )
        return keep_classes_apart(
            RecodingProblem(tuple(names), tuple(domains), tuple(codes), tuple(hidden), tuple(asked)), apart
        )

    def _shown(self, kind: RowCounts) -> list[MultisetColumn]:
        """The quasi-identifiers of which something is published (I4)."""
        return [column for column in self.columns if kind.rows or (kind.line and column.name in self.own)]

    def _slots_of(self, name: str, kind: RowCounts) -> list[int]:
        """The slots in which a sensitive column says something: where it belongs to rows, those of people who have some
        (I4)."""
        of_rows = isinstance(self.table, RelatedTable) and name not in self.own
        slots = kind.visits() if of_rows else list(range(sum(kind)))
        return slots if name in self.told_before else [slot for slot in slots if slot < kind.told]

    def _ask(
        self, name: str, kind: RowCounts, records: IntArray, hidden: list[Sensitive], asked: list[Requirement]
    ) -> None:
        """What is asked of a sensitive column: of every slot, and of what people ever have."""
        slots, text = self._slots_of(name, kind), self.hidden[name]
        if not slots:
            return
        values = text.codes[records[:, slots]]
        told = [Sensitive(f"{name}\0{slot}", values[:, place], text.labels) for place, slot in enumerate(slots)]
        hidden += [*told, self._asked_ever(name, values, asked)]
        for claim in self.policy.claims:
            if name in claim.hide:
                asked += [Requirement(claim.model, (slot.name,)) for slot in told]

    def _asked_ever(self, name: str, values: CodeArray, asked: list[Requirement]) -> Sensitive:
        """The sets of values that people ever have, and what is asked of them."""
        ordered = np.sort(values, axis=1)
        sets, code = np.unique(ordered, axis=0, return_inverse=True)
        different = [np.unique(one) for one in sets]
        start = np.concatenate([[0], np.cumsum([len(one) for one in different])]).astype(np.int64)
        column, flat = f"{name}\0ever", np.concatenate(different).astype(np.int64)
        for claim in self.policy.claims:
            demand = claim.model.demand()
            if name in claim.hide and demand.of_values:
                model = EverHad(column=column, share=demand.largest_share, start=start, value=flat)
                asked.append(Requirement(model, (column,)))
        return Sensitive(column, code.ravel().astype(np.int32), tuple(map(str, range(len(sets)))))

    def written(self, kind: RowCounts, records: IntArray, problem: RecodingProblem, grouping: Grouping) -> WrittenRows:
        """The records of the people who are published, with their cells (I2); what rows would say is missing in a line
        (I4)."""
        if not problem.satisfied(grouping).all():  # I3
            raise Infeasible(
                "people with equally many rows cannot be grouped", hint="ask for less, or allow more suppression"
            )
        of_person = problem.group_of_record(grouping)
        kept = np.flatnonzero(of_person >= 0)
        group, mine = of_person[kept], records[kept, : kind.told]
        boxes, place, cells = problem.intervals(grouping), 0, {}
        for column in self.columns:
            if column not in self._shown(kind):
                codes = column.codes[mine].ravel().astype(np.int64)
                cells[column.name] = Cells(codes, codes + 1)
                continue
            width = len(_slots(column, column.codes[records[:, : kind.told]]))
            some = boxes[place : place + width]
            place += width
            lo = np.stack([low[group] for low, _ in some], axis=1)
            hi = np.stack([high[group] for _, high in some], axis=1)
            if column.constant:
                low, high = column.domain.close(lo.min(axis=1), hi.max(axis=1))
                lo, hi = np.repeat(low[:, None], kind.told, axis=1), np.repeat(high[:, None], kind.told, axis=1)
            cells[column.name] = Cells(lo.ravel(), hi.ravel())
        return WrittenRows(mine.ravel(), cells)

    def trimmed(
        self, kind: RowCounts, records: IntArray, randomness: Randomness
    ) -> Iterator[tuple[RowCounts, IntArray]]:
        """Remove one row per person (I1): a new one if there is one, else a random one that the others lack."""
        look = self.look[records[:, : kind.rows]]
        often = np.bincount(self.look[self.part >= 2] + 1, minlength=int(self.look.max(initial=-1)) + 2)
        rank = np.where(look < 0, -1, often[look + 1] * (len(often) + 1) + look)
        first = np.where((look < 0).any(axis=1), -1, rank.max(axis=1, initial=-1))
        may = rank == first[:, None]
        place = randomness.below(np.maximum(may.sum(axis=1), 1))
        lost = may & (np.cumsum(may, axis=1) - 1 == place[:, None])
        new = first < 0
        rest = records[:, : kind.rows][~lost].reshape(len(records), kind.rows - 1)
        behind = records[:, kind.rows :]
        if new.any():
            yield kind._replace(rows=kind.rows - 1), np.concatenate([rest, behind], axis=1)[new]
        if not new.all():
            gone = np.concatenate([behind[:, : kind.gone], records[:, : kind.rows][lost][:, None]], axis=1)[~new]
            gone = np.take_along_axis(gone, np.argsort(self.look[gone], axis=1, kind="stable"), axis=1)
            parts = [rest[~new], gone, behind[~new, kind.gone :]]
            yield kind._replace(rows=kind.rows - 1, gone=kind.gone + 1), np.concatenate(parts, axis=1)


def _column(policy: Policy, table: Table, name: str) -> MultisetColumn:
    text = table.text(name)
    domain = generalization_of(policy, name, text.labels)
    codes = encode(domain, text.labels, column=name)[text.codes]
    own = isinstance(table, RelatedTable) and name in table.own
    return MultisetColumn(name, domain, codes, policy.columns[name].constant or own)


def _slots(column: MultisetColumn, codes: CodeArray) -> list[CodeArray]:
    """The codes of a column that a problem looks at: of every row, or, where it is constant, one; its ends where it
    varies."""
    if not column.constant:
        return [codes[:, slot] for slot in range(codes.shape[1])]
    low, high = codes.min(axis=1), codes.max(axis=1)
    if np.array_equal(low, high):
        return [low]
    floor, roof = column.domain.ceiling()
    if (floor[low] != floor[high]).any() or (roof[low] != roof[high]).any():
        what = f"'{column.name}' is said to be constant, and varies across a boundary for some people"
        raise Infeasible(what, where=column.name, hint="leave 'constant' out, or widen the boundary")
    return [low, high]


def require_few_suppressed(policy: Policy, suppressed: int, records: int) -> None:
    """Refuse a release that leaves out more than the policy allows."""
    limit = policy.utility.suppress_at_most
    if suppressed == records:
        raise Infeasible(
            "no record can be published: no people with equally many rows satisfy the claims", hint="ask for less"
        )
    if limit is not None and suppressed > limit * records + 1e-9:
        share = suppressed / records
        hint = f"set utility.suppress_at_most to {np.ceil(share * 1e4) / 100:.2f}%, or lower the levels"
        raise Infeasible(
            f"{suppressed} of {records} rows ({share:.3%}) have no partner, and the policy allows {limit:.3%}",
            hint=hint,
        )


def group_multisets(
    bags: RowMultisets,
    people: Mapping[RowCounts, IntArray],
    randomness: Randomness,
    grouper: Grouper,
    done: Callable[[float], None],
) -> list[WrittenRows]:
    """Group the rows of some people so that multisets are shared; a person without partners loses a row and is tried
    again (I1)."""
    found, waiting = [], dict(people)
    most = max((kind.rows for kind in waiting), default=0)
    for rows in range(most, -1, -1):
        for kind in sorted(kind for kind in waiting if kind.rows == rows and kind.told):
            left = some = waiting.pop(kind)
            if len(some) >= bags.fewest:
                problem = bags.problem(kind, some)
                left = some[problem.out[problem.row_point.of]]
                if len(left) < len(some):
                    found.append(bags.written(kind, some, problem, grouper(problem)))
            chance = randomness.child(f"trimming {'.'.join(map(str, kind))}")
            for other, mine in bags.trimmed(kind, left, chance) if rows and len(left) else ():
                waiting[other] = np.concatenate([waiting[other], mine]) if other in waiting else mine
        done(1 - rows / (most + 1))
    return found


# Past records
# ------------


@dataclass(frozen=True)
class PastRecords:
    """The records that are gone, and what was shown of everything."""

    look: IntArray
    """Per record of the table, then per record that is gone: what earlier releases showed of it, −1 where they showed
    nothing."""
    owner: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The person of each record that is gone; people who are not in the table follow those who are."""
    line: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which of the records that are gone were the line of a person without rows."""
    values: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """Per sensitive column that was published before what the records that are gone told."""

    @classmethod
    def none(cls, table: Table) -> PastRecords:
        """Nothing was published before."""
        return cls(np.full(table.rows, -1, dtype=np.int64))

    @property
    def gone(self) -> int:
        return len(self.owner)

    def joined(self, text: TextColumn, name: str) -> TextColumn:
        """A sensitive column of the table with the values of what is gone behind it."""
        number = {label: code for code, label in enumerate(text.labels)}
        told = [number.setdefault(label or "", len(number)) for label in self.values.get(name, [None] * self.gone)]
        return TextColumn(np.concatenate([text.codes.astype(np.int32), np.array(told, dtype=np.int32)]), tuple(number))


def past_records(task: Task, policy: Policy) -> PastRecords:
    """What earlier releases published of the people of a task's table, and of those who left."""
    if not task.history:
        return PastRecords.none(task.data)
    tied = link_to_history(task, task.history, keys_of(task.policy, task.data))
    _require_same_owners(tied, task.policy, task.data)
    look = tied.history_class()
    here = np.where(tied.person < tied.bundles.people, tied.person, -1)
    missing = np.ones(tied.bundles.people, dtype=np.bool_)
    missing[here[here >= 0]] = False
    gone = np.flatnonzero(missing & (look >= 0))
    names = {name for claim in policy.claims for name in claim.hide if name in tied.bundles.values.newest}
    return PastRecords(
        np.concatenate([np.where(here >= 0, look[here], -1), look[gone]]),
        _owners(tied, task.policy, task.data, gone),
        pc.starts_with(tied.bundles.keys.take(pa.array(gone)), NO_ROW).to_numpy(zero_copy_only=False).astype(np.bool_),
        {name: tied.bundles.values.of_people(name, gone) for name in names},
    )


def _owners(tied: HistoryLinks, policy: Policy, table: Table, gone: IntArray) -> IntArray:
    """The people of records that are gone, in the numbering of the table."""
    assert policy.person is not None
    number = dict(
        zip(
            persons_of_records(policy, table).to_pylist(),
            persons_of_rows(table, policy.person.unit).tolist(),
            strict=True,
        )
    )
    names = tied.bundles.values.of_people(WHOSE, gone)
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)


def _require_same_owners(tied: HistoryLinks, policy: Policy, table: Table) -> None:
    """Refuse rows that are another person's than they were when they were published."""
    known = np.flatnonzero(tied.person < tied.bundles.people)
    before = tied.bundles.values.of_people(WHOSE, tied.person[known])
    now = persons_of_records(policy, table).take(pa.array(known)).to_pylist()
    if moved := sum(one != other for one, other in zip(before, now, strict=True)):
        what = f"{moved} row(s) are another person's than in an earlier release"
        raise LedgerError(what, where="person", hint="a key names one row of one person, in every release")
