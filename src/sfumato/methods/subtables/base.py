"""Methods that publish several sub-tables: from a policy's rules to a schema, and from the schema to shuffled, guarded tables.

Invariants
    I1  Eligibility first: every hidden column, published alone, satisfies what is asked about it.
    I2  Every sub-table has its own random row order and its own bucket numbers; nothing but shared columns links two tables.
    I3  The order of a table of hidden values tells nothing: it is sorted by what it says.
    I4  Only columns the policy publishes leave.
    I5  Buckets never cross history classes (`methods.continuing`), so joint classes over all releases keep every claim.
    I6  Where a person may stand in several rows, nobody has too large a part of a bucket (`people_apart`). In normal form, with
        one hidden column in a table, buckets may be dealt anew without another table telling (`decomposition.trading`).

Departures
    A rule that hides several columns together is kept by hiding one of them [versatile Cor. 3.1.1]: the one that another rule
    hides anyway, else the one whose most frequent value is rarest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.data.linkage import Linkage
from sfumato.data.table import Table
from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.privacy_rules import PrivacyRule
from sfumato.decomposition.published_subtables import BUCKET, COLUMN, COUNT, RESERVED, SENSITIVE, VALUE, WITHHELD
from sfumato.errors import Infeasible, SfumatoError
from sfumato.forms.recoded import plainly_recoded
from sfumato.forms.subtables import SubTables
from sfumato.methods.base import Method, Task
from sfumato.methods.continuing import continued, dealt_apart
from sfumato.methods.recoding.people import refusal_of_people
from sfumato.methods.subtables.bucketizing import buckets_for
from sfumato.methods.subtables.coloring import guarantees
from sfumato.methods.subtables.people_apart import BucketsApart, require_apart
from sfumato.models.base import Model
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Column, Policy
from sfumato.policy.privacy import privacy_rules
from sfumato.registry import find
from sfumato.release.form import Form
from sfumato.release.release import Part, Release, Trace


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the data offers and the rules ask for each hidden column."""

    table: Table
    rules: Sequence[PrivacyRule]
    members: Mapping[str, tuple[str, ...]]
    """The columns of each unit."""
    apart: IntArray
    """The history class of every record."""

    def of(self, rows: IntArray) -> Hidden:
        """The same about some of the records."""
        return replace(self, table=Table(self.table.frame.take(pa.array(rows))), apart=np.zeros(len(rows), dtype=np.int64))

    def asked(self, column: str) -> list[Model]:
        return [by for by in guarantees(column, self.rules) if isinstance(by, Model)]


def one_sided(rules: Sequence[PrivacyRule], table: Table) -> list[PrivacyRule]:
    """Every rule with one hidden column that is safe when published alone; `Infeasible` when there is none (I1)."""
    anyway = {each.hidden for each in rules if len(each.hide) == 1}

    def ease(column: str) -> tuple[bool, int]:
        return column in anyway, -int(table.text(column).counts().max(initial=0))

    chosen = []
    for each in rules:
        fit = [column for column in sorted(each.hide) if _safe_alone(table, column, each.by)]
        if not fit:
            raise _ineligible(table, max(sorted(each.hide), key=ease), each)
        chosen.append(each.with_sides(each.given, {max(fit, key=ease)}))
    return chosen


def _alone(table: Table, column: str) -> Linkage:
    """What everybody reads off the column published alone."""
    text = table.text(column)
    return Linkage.of_groups(np.zeros(table.rows, dtype=np.int64), {column: (text.codes, text.labels)}, text.weights)


def _safe_alone(table: Table, column: str, model: Any) -> bool:
    return bool(model.satisfied(_alone(table, column)).all())


def _safe_in(bucket: IntArray, table: Table, column: str, model: Any) -> bool:
    """Whether every bucket satisfies a model."""
    kept, text = bucket >= 0, table.text(column)
    return bool(model.satisfied(Linkage.of_groups(bucket[kept], {column: (text.codes[kept], text.labels)})).all())


def _ineligible(table: Table, column: str, rule: PrivacyRule) -> Infeasible:
    assert isinstance(rule.by, Model)
    return Infeasible(
        f"column '{column}' breaks {rule.by} even when it is published alone",
        where=f"rule {rule}",
        hint=f"{rule.by.suggestion(_alone(table, column))}; lower the level, or do not publish the column",
    )


class SubTableMethod(Method):
    """The common part of all methods that publish sub-tables."""

    form: ClassVar[type[Form]] = SubTables
    remembers: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    on_classes: ClassVar[bool] = True

    inner: str = Field(default="anatomy", description="how a table that hides a column is anonymized: anatomy or a recoding method")

    @abstractmethod
    def decompose(self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden) -> list[SubTable]:
        """Sub-tables over units of columns, for rules with one hidden unit each."""

    def refusal(self, policy: Policy) -> str:
        if not policy.claims:
            return "the policy protects nothing: 'protect' has no claims"
        for name in policy.published:
            if name in RESERVED:
                return f"a column is called '{name}', a name that sub-tables use themselves"
        for claim in policy.claims:
            if not self.enforces(claim, policy):
                return f"sub-tables hide columns behind models of their values, so they cannot keep {claim}"
        try:
            privacy_rules(policy).over_units()
        except Infeasible as error:
            return str(error)
        return self.refusal_of_inner(policy) or self.refusal_of_people(policy)

    def refusal_of_people(self, policy: Policy) -> str:
        """Why people in several rows cannot be protected; empty when they can, or rows are people."""
        if policy.person is None:
            return ""
        if policy.knows:
            return "what outsiders know ('knows:') ties columns, and nobody counts people in several rows then; leave it out"
        if self.inner != "anatomy":
            return "people in several rows are counted in buckets: use 'inner: anatomy'"
        return refusal_of_people(policy)

    def refusal_of_inner(self, policy: Policy) -> str:
        if self.inner == "anatomy":
            return ""
        method = find("methods", Method, self.inner, where=policy.document.where("method", self.name, "inner"))
        return "" if plainly_recoded(method.form) else f"{self.inner} does not make recoded tables"

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        model = claim.model
        return model.monotone and model.needs_sensitive and not model.bounds_candidates and bool(claim.hide) and bool(claim.given)

    def finds_out(self) -> bool:
        """A star that takes the place of a hidden value in another table is one value less there."""
        return self.inner != "anatomy"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        return privacy_rules(policy).sentences()

    def run(self, task: Task) -> Release:
        going = continued(task, may_stand_in=False)
        release = self._made(replace(task, data=going.table), going.apart)
        behind = {part: going.behind[rows] for part, rows in release.trace.rows.items()}
        return replace(release, suppressed=release.suppressed + going.withheld, trace=Trace(behind, lasting=True))

    def rows_for(self, policy: Policy) -> str:
        return super().rows_for(policy) or ("" if self.inner == "anatomy" else f"{self.inner} inside sub-tables needs rows")

    def tables_of(self, policy: Policy, table: Table, apart: IntArray | None = None) -> tuple[list[SubTable], Hidden]:
        """The tables to be published, over columns, and what the rules ask; of classes with counts as of rows."""
        rule_set = privacy_rules(policy)
        wanted = [each for each in rule_set.wanted if each.hide <= rule_set.unit.keys()]
        together = np.zeros(table.rows, dtype=np.int64) if apart is None else apart
        data = Hidden(table, rule_set.over_units(one_sided(wanted, table)), rule_set.members, together)
        tables = self.decompose(list(rule_set.members), data.rules, rule_set.guardable, data)
        if policy.person is not None:  # I6
            require_apart(policy, table, tables)
        return [_over_columns(each, rule_set.members) for each in tables], data

    def _made(self, task: Task, apart: IntArray) -> Release:
        task.progress(0.1, "choosing the tables")
        return self._published(task, *self.tables_of(task.policy, task.data, apart))

    def _published(self, task: Task, tables: Sequence[SubTable], data: Hidden) -> Release:
        parts: dict[str, Part] = {}
        behind: dict[str, IntArray] = {}
        withheld = 0
        for place, table in enumerate(tables):
            task.progress(0.2 + 0.7 * place / len(tables), "hiding columns")
            made = self._table(replace(task, randomness=task.randomness.child(place)), table, data)  # I2
            parts[f"table-{place + 1}"], behind[f"table-{place + 1}"] = Part(made.shown), made.rows
            withheld = max(withheld, made.withheld)
            if made.entries is not None:
                parts[f"table-{place + 1}{SENSITIVE}"] = Part(made.entries)
        return Release(SubTables(), parts, withheld, Trace(behind, lasting=True), notes=notes_of(tables))

    def _table(self, task: Task, table: SubTable, data: Hidden) -> MadeTable:
        if table.guarded and table.visible and self.inner != "anatomy":
            return recoded_table(task, table, data, self.inner)
        rows = task.randomness.child("row order").permutation(data.table.rows)
        alone = stands_alone(table)
        columns = table.columns if alone else table.visible
        shown = {name: _taken(data.table, name, rows) for name in task.policy.published if name in columns}  # I4
        if alone:
            return MadeTable(pa.table(shown), rows)
        bucket = self._buckets_apart(sorted(table.guarded), data, task, table.visible)
        numbers = pa.array([WITHHELD if number < 0 else str(number + 1) for number in bucket[rows]], pa.string())
        entries = _entries(data.table, sorted(table.guarded), bucket)
        return MadeTable(pa.table({**shown, BUCKET: numbers}), rows, entries, int((bucket < 0).sum()))

    def _buckets_apart(self, hidden: Sequence[str], data: Hidden, task: Task, shown: Collection[str]) -> IntArray:
        """Buckets within every history class (I5); values of who cannot be given one are withheld."""
        if int(data.apart.max(initial=0)) == 0:
            return self.buckets(hidden, data, task, people_in(task, data, hidden, shown))

        def deal(rows: IntArray, place: int) -> IntArray | None:
            mine = data.of(rows)
            try:
                bucket = self.buckets(hidden, mine, replace(task, randomness=task.randomness.child(f"class {place}")))
            except Infeasible:
                return None
            safe = all(_safe_in(bucket, mine.table, name, model) for name in hidden for model in data.asked(name))
            return bucket if safe else None

        return dealt_apart(data.apart, deal, task.randomness.child("numbers"))

    def buckets(self, hidden: Sequence[str], data: Hidden, task: Task, people: BucketsApart | None = None) -> IntArray:
        """A bucket for every record, −1 where the hidden values must be withheld."""
        (name,) = hidden
        return buckets_for(data.asked(name), name, data.table.text(name), task.randomness.child("buckets"), people)


def people_in(task: Task, data: Hidden, hidden: Sequence[str], shown: Collection[str]) -> BucketsApart | None:
    """What is asked of people in the buckets of a table; nothing where rows are people."""
    if task.policy.person is None:
        return None
    return BucketsApart(task.policy, data.table, {name: data.table.text(name) for name in hidden}, shown)


@dataclass(frozen=True, slots=True)
class MadeTable:
    """One finished sub-table and the records behind its rows."""

    shown: pa.Table
    rows: IntArray
    entries: pa.Table | None = None
    withheld: int = 0


def stands_alone(table: SubTable) -> bool:
    """Whether a table is published without buckets, as it is (I1)."""
    return not table.guarded or (not table.visible and len(table.guarded) == 1)


def _over_columns(table: SubTable, members: Mapping[str, tuple[str, ...]]) -> SubTable:
    columns = frozenset(column for unit in table.columns for column in members[unit])
    visible = columns - table.guarded
    return SubTable(columns, tuple(each.with_sides(visible, each.hide) for each in table.enforces))


def _taken(table: Table, name: str, rows: IntArray) -> Any:
    return table.column(name).combine_chunks().take(pa.array(rows))


def _entries(table: Table, names: Sequence[str], bucket: IntArray) -> pa.Table:
    """Per bucket the hidden values with their counts."""
    kept, keys = bucket >= 0, [BUCKET, *names]
    texts = {name: table.text(name) for name in names}
    values = {name: pa.array(text.labels, pa.string()).take(pa.array(text.codes[kept])) for name, text in texts.items()}
    counted = pa.table({BUCKET: bucket[kept] + 1, **values}).group_by(keys).aggregate([([], "count_all")])
    counted = counted.sort_by([(name, "ascending") for name in keys])  # I3
    parts = {BUCKET: counted.column(BUCKET).cast(pa.string()), **{name: counted.column(name) for name in names}}
    parts[COUNT] = counted.column("count_all")
    if len(names) == 1:
        parts = {VALUE if name == names[0] else name: column for name, column in parts.items()}
        parts[COLUMN] = pa.array([names[0]] * counted.num_rows, pa.string())
    return pa.table(parts)


def recoded_table(task: Task, table: SubTable, data: Hidden, inner: str) -> MadeTable:
    """A guarded table with its visible columns generalized instead of a bucket."""
    (hidden,) = table.guarded
    columns: dict[str, Column] = {}
    for name in task.policy.published:
        if name in table.columns:
            role = "sensitive" if name == hidden else "quasi-identifier"
            columns[name] = task.policy.columns[name].model_copy(update={"role": role, "domain": None})
    known = tuple(name for name in columns if name != hidden)
    claims = tuple(Claim(model, known, (hidden,)) for model in data.asked(hidden))
    utility = task.policy.utility.model_copy(update={"suppress_at_most": 0.0})
    policy = replace(task.policy, columns=columns, claims=claims, method=None, utility=utility, knows=())
    try:
        release = find("methods", Method, inner)().run(replace(task, policy=policy))
    except SfumatoError as error:
        raise Infeasible(f"{inner} cannot hide '{hidden}': {error.what}", hint=error.hint or "use inner: anatomy") from None
    return MadeTable(release.parts["data"].table, release.trace.rows["data"])


def notes_of(tables: Sequence[SubTable]) -> tuple[str, ...]:
    """What is assumed of such tables, for the certificate."""
    said = ["rows of every table are in an order of their own, and bucket numbers mean nothing outside their table"]
    if any(table.guarded for table in tables):
        said.append("outsiders have no opinion beforehand about who in a bucket has which hidden value")
    return tuple(said)
