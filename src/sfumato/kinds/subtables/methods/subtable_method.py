"""Methods that publish several sub-tables: from a policy's rules to a schema, and from the schema to shuffled, guarded
tables.

Invariants
    I1  Eligibility first: every sensitive column, published alone, satisfies what is asked about it.
    I2  Every sub-table has its own random row order and its own bucket numbers; nothing but shared columns links two
        tables.
    I3  The order of a table of sensitive values tells nothing: it is sorted by what it says.
    I4  Only columns the policy publishes leave.
    I5  Buckets never cross persistent classes (`constrain.constraints`), so joint classes over all releases keep every
        requirement.
    I6  If a person may have several rows, no person has too large a share of a bucket (`people_apart`). In normal form,
        with one sensitive column in a table, buckets can be permuted without a contradiction in another table
        (`subtables.guardian_normal_form`).

Departures
    A rule that hides several columns together is kept by hiding one of them [versatile Cor. 3.1.1], where the model
    hides combinations: the one that another rule hides anyway, else the one whose most frequent value is rarest. Where
    the model does not, or no column is safe by itself, no table connects any of them with what is known; their joint
    distribution in the tables that were made must satisfy the rule (`_hides_combination`), with the columns in common
    tables or else apart from each other.


Coloring
--------
Utility-aware decomposition: few tables, each a set of columns without conflict plus one guarded column.

Guarantee
    The tables are in Guardian Normal Form for the given rules, and every column is in exactly one table.

Paper
    [versatile Alg. 2] (UAD), colouring by DSATUR.

Notation
    The conflict graph has an arc A ⇒ S for every rule with A on the left and S on the right.

Invariants
    I1  The visible columns of a table are an independent set of the conflict graph.
    I2  A guarded column has no arc to a visible column of its table. By I1 and I2 every rule with a left column in the
        table of its right column S has S guarded there; tables share no column, so nothing else connects them.

Departures
    Every colour class is widened to a maximal independent set (a column without conflict may as well be visible) before
    the largest is taken. A column tied to others by outside knowledge is a unit of several columns and is never guarded
    (`guardable`).

Cost
    O(m⁴) in the number of columns, independent of the number of records.

>>> from sfumato.policy.privacy_rules import split_arrow
>>> from sfumato.models.p_sensitivity import PSensitivity
>>> def rule(text: str) -> PrivacyRule:
...     return PrivacyRule(*split_arrow(text), PSensitivity(p=2))
>>> rules = [rule("age, icd9 -> race"), rule("gender, icd9 -> zip"), rule("race -> zip")]
>>> for table in utility_aware(["age", "gender", "icd9", "race", "zip"], rules):
...     print(sorted(table.visible), sorted(table.guarded))
['age', 'gender', 'icd9'] ['race']
['zip'] []
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.core.errors import Infeasible, NotFound, SfumatoError
from sfumato.core.registry import find
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.table import Table
from sfumato.history.constrain.constraints import buckets_per_class, constrain_task
from sfumato.kinds.subtables.form import SubTables
from sfumato.kinds.subtables.guardian_normal_form import SubTable
from sfumato.kinds.subtables.joint_estimate import (
    BUCKET,
    COLUMN,
    COUNT,
    RESERVED,
    SENSITIVE,
    VALUE,
    WITHHELD,
    read_tables,
)
from sfumato.kinds.subtables.methods.buckets import PersonBuckets, buckets_for, require_persons_apart
from sfumato.kinds.tables.form import is_plain_recoding
from sfumato.kinds.tables.methods.person_requirements import refusal_of_people
from sfumato.models.base import Model
from sfumato.policy.policy import Column, Policy
from sfumato.policy.privacy_rules import Guarantee, PrivacyRule, join_names
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.rule_reduction import RuleSet, privacy_rules
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Provenance, Release


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the data offers and the rules ask for each sensitive column."""

    table: Table
    rules: Sequence[PrivacyRule]
    members: Mapping[str, tuple[str, ...]]
    """The columns of each unit."""
    apart: IntArray
    """The persistent class of every record."""
    parted: tuple[PrivacyRule, ...] = ()
    """Rules on combinations whose columns are parted from what is known (`Separation`)."""

    def of(self, rows: IntArray) -> Hidden:
        """The same about some of the records."""
        return replace(
            self, table=Table(self.table.frame.take(pa.array(rows))), apart=np.zeros(len(rows), dtype=np.int64)
        )

    def asked(self, column: str) -> list[Model]:
        return [by for by in guarantees(column, self.rules) if isinstance(by, Model)]


class Separation(NamedTuple):
    """Rules with one sensitive column each that keep the rules of a policy."""

    rules: list[PrivacyRule]
    parted: list[PrivacyRule]
    """Rules on combinations that no column keeps by itself: all columns of theirs are parted from what is known."""

    @property
    def columns(self) -> frozenset[str]:
        """Columns that no bucket may hide, because that would connect them with what is known."""
        return frozenset().union(*(each.hide for each in self.parted))


def one_sided(rules: Sequence[PrivacyRule], table: Table, *, combined: bool = True) -> Separation:
    """Rules with one sensitive column each that keep the given ones; `Infeasible` when a column is not safe by itself
    (I1).

    A combination is kept by its best column; where there is none, by parting all its columns from what is known, and
    from each other unless they may stand `combined` in one table."""
    anyway = {each.hidden for each in rules if len(each.hide) == 1}

    def ease(column: str) -> tuple[bool, int]:
        return column in anyway, -int(table.text(column).counts().max(initial=0))

    chosen, parted = [], []
    for each in rules:
        single = len(each.hide) == 1
        fit = [column for column in sorted(each.hide) if _safe_alone(table, column, each.by)]
        if fit and (single or each.by.hides_combinations):
            chosen.append(each.with_sides(each.given, {max(fit, key=ease)}))
        elif single:
            raise _ineligible(table, each.hidden, each)
        else:
            parted.append(each)
            beside = frozenset[str]() if combined else each.hide
            chosen += [each.with_sides((each.given | beside) - {name}, {name}) for name in sorted(each.hide)]
    return Separation(chosen, parted)


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
    refuse = Infeasible if rule.by.demand().only_counts else NotFound  # fewer records may have better shares
    return refuse(
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
    hides_combinations: ClassVar[bool] = True

    inner: str = Field(
        default="anatomy", description="method for a sub-table that protects a column: anatomy or a recoding method"
    )

    @abstractmethod
    def decompose(
        self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden
    ) -> list[SubTable]:
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
            return (
                "what outsiders know ('knows:') ties columns, and nobody counts people in several rows then; leave"
                " it out"
            )
        if self.inner != "anatomy":
            return "people in several rows are counted in buckets: use 'inner: anatomy'"
        return refusal_of_people(policy)

    def refusal_of_inner(self, policy: Policy) -> str:
        if self.inner == "anatomy":
            return ""
        method = find("methods", Method, self.inner, where=policy.document.where("method", self.name, "inner"))
        return "" if is_plain_recoding(method.form) else f"{self.inner} does not make recoded tables"

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        model = claim.model
        return (
            model.monotone
            and model.needs_sensitive
            and not model.bounds_candidates
            and bool(claim.hide)
            and bool(claim.given)
        )

    def finds_out(self) -> bool:
        """A star that takes the place of a sensitive value in another table is one value less there."""
        return self.inner != "anatomy"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        return privacy_rules(policy).sentences()

    def run(self, task: Task) -> Release:
        going = constrain_task(task, may_stand_in=False)
        release = self._made(replace(task, data=going.table), going.apart)
        _require_few_withheld(task.policy, release.suppressed + going.withheld, task.data.records)
        behind = {part: going.behind[rows] for part, rows in release.trace.rows.items()}
        return replace(release, suppressed=release.suppressed + going.withheld, trace=Provenance(behind, lasting=True))

    def read_keys(self) -> frozenset[str]:
        """What a recoding method inside the tables reads."""
        return self.reads if self.inner == "anatomy" else find("methods", Method, self.inner).reads

    def rows_for(self, policy: Policy) -> str:
        return super().rows_for(policy) or (
            "" if self.inner == "anatomy" else f"{self.inner} inside sub-tables needs rows"
        )

    def tables_of(
        self,
        policy: Policy,
        table: Table,
        apart: IntArray | None = None,
        combined: bool | None = None,
        *,
        guarded: bool = True,
    ) -> tuple[list[SubTable], Hidden]:
        """The tables to be published, over columns, and what the rules ask; of classes with counts as of rows.

        Without `guarded` no table hides a column behind buckets: sensitive columns are in separate tables.

        `combined` says whether columns of a protected combination, separated from known columns, may be in one table.
        Without it the call raises `Infeasible` if a combination must be split."""
        rule_set = privacy_rules(policy)
        separation = one_sided(_binding(rule_set), table, combined=combined is not False)
        if separation.parted and combined is None:
            raise _unkept_combination(separation.parted[0])
        guardable = rule_set.guardable - {rule_set.unit[name] for name in separation.columns} if guarded else set[str]()
        together = np.zeros(table.rows, dtype=np.int64) if apart is None else apart
        data = Hidden(
            table, rule_set.over_units(separation.rules), rule_set.members, together, tuple(separation.parted)
        )
        tables = self.decompose(list(rule_set.members), data.rules, guardable, data)
        if policy.person is not None:  # I6
            require_persons_apart(policy, table, tables)
        return [_over_columns(each, rule_set.members) for each in tables], data

    def _made(self, task: Task, apart: IntArray) -> Release:
        task.progress(0.1, "choosing the tables")
        alone = self.hides_combinations and task.policy.person is None and not task.history
        if alone:
            return self._with_combinations(task, apart)
        try:
            return self._published(task, *self.tables_of(task.policy, task.data, apart))
        except NotFound as error:
            if task.policy.person is None:
                raise
            return self._without_buckets(task, apart, error)

    def _with_combinations(self, task: Task, apart: IntArray) -> Release:
        unkept: PrivacyRule | None = None
        for combined in (True, False):
            tables, data = self.tables_of(task.policy, task.data, apart, combined)
            release = self._published(task, tables, data)
            unkept = next((rule for rule in data.parted if not _hides_combination(release, rule)), None)
            if unkept is None:
                return release
        assert unkept is not None
        raise _unkept_combination(unkept)

    def _without_buckets(self, task: Task, apart: IntArray, error: NotFound) -> Release:
        """Tables that hide nothing behind buckets, where no buckets keep people apart; else what was said of the
        buckets."""
        try:
            return self._published(task, *self.tables_of(task.policy, task.data, apart, guarded=False))
        except Infeasible:
            raise error from None

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
        return Release(SubTables(), parts, withheld, Provenance(behind, lasting=True), notes=notes_of(tables))

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
        """Return buckets within every persistent class (I5); values of records without a bucket are suppressed."""
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

        return buckets_per_class(data.apart, deal, task.randomness.child("numbers"))

    def buckets(self, hidden: Sequence[str], data: Hidden, task: Task, people: PersonBuckets | None = None) -> IntArray:
        """Return a bucket for every record, −1 if its sensitive values must be suppressed."""
        (name,) = hidden
        return buckets_for(data.asked(name), name, data.table.text(name), task.randomness.child("buckets"), people)


def _binding(rule_set: RuleSet) -> list[PrivacyRule]:
    """The rules that bind what is published; a column that is not published tells nothing of a combination.

    A rule whose guarantee hides combinations is kept already when one of its columns is not published.
    """
    found = []
    for each in rule_set.wanted:
        shown = each.hide & rule_set.unit.keys()
        if shown == each.hide or (shown and not each.by.hides_combinations):
            found.append(each.with_sides(each.given, shown))
    return found


def _hides_combination(release: Release, rule: PrivacyRule) -> bool:
    """Whether the joint distribution of columns that nothing connects with what is known satisfies a rule."""
    assert isinstance(rule.by, Model)
    if rule.by.compares:  # everybody has the same distribution
        return True
    tables = read_tables({name: Table(part.table) for name, part in release.parts.items()})
    joint = tables.joint(rule.hide)
    values = np.arange(len(joint.weight))
    everybody = np.zeros(1, dtype=np.int64)
    spread = ValueDistribution(np.array([0, len(values)]), values, joint.weight, tuple(map(str, values)))
    return bool(rule.by.satisfied(Linkage(everybody + tables.people, everybody + tables.people, {"": spread})).all())


def _require_few_withheld(policy: Policy, withheld: int, records: int) -> None:
    limit = policy.utility.suppress_at_most
    if limit is not None and withheld > limit * records + 1e-9:
        raise NotFound(
            f"{withheld} of {records} records fit into no bucket, and the policy allows {limit:.3%}",
            where="utility.suppress_at_most",
            hint=(
                "raise utility.suppress_at_most, lower the levels, or use utility-aware, which hides one column in each"
                " table"
            ),
        )


def _unkept_combination(rule: PrivacyRule) -> NotFound:
    return NotFound(
        f"no tables hide the combination of {join_names(rule.hide)} as {rule.by} asks",
        where=f"rule {rule}",
        hint="lower the level, write a rule for one of the columns, or do not publish one of them",
    )


def people_in(task: Task, data: Hidden, hidden: Sequence[str], shown: Collection[str]) -> PersonBuckets | None:
    """What is asked of people in the buckets of a table; nothing where rows are people."""
    if task.policy.person is None:
        return None
    return PersonBuckets(task.policy, data.table, {name: data.table.text(name) for name in hidden}, shown)


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
    """Per bucket the sensitive values with their counts."""
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
    claims = tuple(PrivacyRequirement(model, known, (hidden,)) for model in data.asked(hidden))
    utility = task.policy.utility.model_copy(update={"suppress_at_most": 0.0})
    policy = replace(task.policy, columns=columns, claims=claims, method=None, utility=utility, knows=())
    try:
        release = find("methods", Method, inner)().run(replace(task, policy=policy))
    except SfumatoError as error:
        raise Infeasible(
            f"{inner} cannot hide '{hidden}': {error.what}", hint=error.hint or "use inner: anatomy"
        ) from None
    return MadeTable(release.parts["data"].table, release.trace.rows["data"])


def notes_of(tables: Sequence[SubTable]) -> tuple[str, ...]:
    """What is assumed of such tables, for the certificate."""
    said = ["rows of every table are in an order of their own, and bucket numbers mean nothing outside their table"]
    if any(table.guarded for table in tables):
        said.append("outsiders have no opinion beforehand about who in a bucket has which hidden value")
    return tuple(said)


# Coloring
# --------


Arcs = set[tuple[str, str]]


def utility_aware(
    columns: Sequence[str], rules: Sequence[PrivacyRule], guardable: Collection[str] | None = None
) -> list[SubTable]:
    """Sub-tables for rules with one sensitive column each."""
    arcs = {(left, each.hidden) for each in rules for left in each.given}
    left = list(columns)
    tables = []
    while left:
        visible = max((_widened(colour, left, arcs) for colour in _colours(left, arcs)), key=len)
        hidden = _to_guard([column for column in left if column not in visible], visible, arcs, guardable)
        tables.append(guarded_table({*visible, *hidden}, hidden, rules))
        left = [column for column in left if column not in visible and column not in hidden]
    return tables


def guarded_table(columns: Iterable[str], hidden: Iterable[str], rules: Sequence[PrivacyRule]) -> SubTable:
    """A table that hides each column of `hidden` from its visible columns, as strongly as any rule asks."""
    concealed = frozenset(hidden)
    visible = frozenset(columns) - concealed
    enforced = [
        PrivacyRule(visible, frozenset({name}), by) for name in sorted(concealed) for by in guarantees(name, rules)
    ]
    return SubTable(visible | concealed, tuple(enforced))


def guarantees(hidden: str, rules: Sequence[PrivacyRule]) -> list[Guarantee]:
    """What the rules ask for one sensitive column, without what another of them covers."""
    asked: list[Guarantee] = []
    for each in rules:
        if each.hidden == hidden and not any(known.covers(each.by) for known in asked):
            asked = [known for known in asked if not each.by.covers(known)] + [each.by]
    return asked


def _colours(columns: list[str], arcs: Arcs) -> list[list[str]]:
    """Classes of columns without an arc inside: the column that sees most colours is coloured next (DSATUR)."""
    near = {
        column: {other for other in columns if (column, other) in arcs or (other, column) in arcs} for column in columns
    }
    colours: dict[str, int] = {}
    while len(colours) < len(columns):
        waiting = [column for column in columns if column not in colours]
        seen = {column: {colours[other] for other in near[column] if other in colours} for column in waiting}
        chosen = max(waiting, key=lambda column: (len(seen[column]), len(near[column])))
        colours[chosen] = next(colour for colour in range(len(columns)) if colour not in seen[chosen])
    classes: dict[int, list[str]] = {}
    for column in columns:
        classes.setdefault(colours[column], []).append(column)
    return list(classes.values())


def _widened(visible: list[str], columns: list[str], arcs: Arcs) -> list[str]:
    wide = list(visible)
    for column in columns:
        if column not in wide and not any((column, one) in arcs or (one, column) in arcs for one in wide):
            wide.append(column)  # I1
    return wide


def _to_guard(candidates: list[str], visible: list[str], arcs: Arcs, guardable: Collection[str] | None) -> list[str]:
    """The column with no arc to, and most arcs from, the visible ones; none when there is no such column."""
    fit = [
        (sum((one, column) in arcs for one in visible), column)
        for column in candidates
        if (guardable is None or column in guardable) and not any((column, one) in arcs for one in visible)  # I2
    ]
    return [max(fit, key=lambda each: each[0])[1]] if fit else []
