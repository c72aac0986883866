"""pattern-walk: new numbers at random, in which every chosen linear property of the old ones is still true.

The owner names properties under `keep:` (orderings, relative distances by `localities(…)`, any linear inequality
between values). `localities(age) sample 0.08 partition 20 across 50` samples 8 % of the relative distances inside every
run of 20 records, and 50 more of the column that compare values of three different runs; all of them are kept alike.
`partition by class` takes the records of a class together, `partition near 20` records that are near each other in all
the columns. All tables that keep them form a polytope around the data; a walk inside it ends at a random one, which is
published.

Guarantee
    Every property holds in the published table, exactly: values are integers in units of their domain and no sum is
    rounded. Nothing is guaranteed about privacy; the audit measures it afterwards, and refuses a release in which the
    adversary of `linked_at_most` finds more people than that.

Paper
    [multitype ch. 5]

Invariants
    I1  Only levels of the declared domains are published, written as the domain writes them.
    I2  Rows are shuffled with the cryptographic source, unless the policy wants `rows: ordered`; the sampled localities
        stay in the private provenance, unless it wants them told (`tell: kept`).

Departures
    Full chords, tied values, implied equalities, order with every locality, integer steps and a stop on measured
    mixing: see `methods.polytope_walk`, `methods.linear_properties` and `kernels.pattern_walk`. A policy's `steps` is
    therefore an upper limit. The paper lets the values of a partition move between the partition's least and largest
    one; here they move in the domain that the policy declares, unless `range: partition` asks for the paper's box,
    which keeps values closer.

Cost
    Partitions that `across` ties together are one part and are walked as one, which mixes more slowly than partitions
    apart. Adult (30,162 records, three columns, partitions of 20, at most 40,000 steps): about half a minute on one
    core; linear in the records.


Telling
-------
The file of kept properties for recipients: which of them hold between which published rows.

A locality is stated by the published rows of its three values, lowest first, and the gap that is at least as wide. A
constraint that names records (`v[1] + v[2] <= v[3]`) is stated with the published rows of these records, numbered from
1. Other constraints are about every record or about totals and are in the policy already; those that mention the
original are of no use here.

Invariants
    I1  Lines are sorted by what they say, so their order tells nothing else.

>>> import numpy as np
>>> told = kept_properties_part([], {"v": np.array([[2, 0, 1, 1]])}, np.array([1, 2,
...     0]))       # record 2 is published in row 2
>>> told.to_pylist()
[{'rule': '', 'column': 'v', 'low': '2', 'middle': '3', 'high': '1', 'wider': 'low'}]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.core.effort import Effort
from sfumato.core.errors import DataError
from sfumato.core.token_reader import exact_number
from sfumato.data.table import Table
from sfumato.data.text_values import parse_number
from sfumato.kinds.testdata.form import KEPT, KEPT_COLUMNS, Replaced, WalkProgress, WalkProvenance
from sfumato.kinds.testdata.methods.linear_properties import KeptPattern, ReplacedColumn, RuleSheet, reason_not_linear
from sfumato.kinds.testdata.methods.polytope_walk import WalkEffort, WalkResult, walk
from sfumato.policy.constraint_language import IntegrityRule, columns_of
from sfumato.policy.constraint_language.parser import scan
from sfumato.policy.constraint_language.syntax_tree import Cell, Localities
from sfumato.policy.kept_constraints import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.value_domains import Ordered
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Release

NOTES = (
    "the properties are kept exactly; privacy is measured on this release, not guaranteed",
    "the kept properties are public: an outsider who knows other people's values may reason with them",
    "records of a partition that shared a value share one still, and sensitive columns are published as they are",
    "a person whose value the properties pin is published with it; the private report counts such values",
    (
        "only the data holder sees how far the walk mixed; parts that did not mix are "
        "closer to the data than a uniform choice would be"
    ),
)


TOLD = (
    "kept.csv states which properties of the original hold between which rows: an "
    "adversary who knows some people's numbers may look for rows that fit"
)
ORDERED = "rows are in the order of the source: an adversary who knows that order knows the person of each row"


SIZES: Mapping[Effort, float] = {"quick": 25.0, "balanced": 100.0, "thorough": 128.0}
"""The effective sample size of a part at which it counts as mixed, by effort."""


class PatternWalk(Method):
    """Draw random numbers that satisfy every kept linear property; privacy is measured, not promised."""

    name: ClassVar[str] = "pattern-walk"
    form: ClassVar[type[Form]] = Replaced
    paper: ClassVar[str] = "multitype ch. 5"
    keeps_rules: ClassVar[bool] = True

    steps: int | None = Field(
        default=None, ge=1, description="largest number of steps of a walk; without it until it has mixed"
    )
    walks: int = Field(
        default=4,
        ge=2,
        le=32,
        description="number of walks through every part, compared to see whether they have mixed",
    )
    range: Literal["domain", "partition"] = Field(
        default="domain",
        description=(
            "domain: values move in their domain; partition: only between the least and largest value of their"
            " partition"
        ),
    )
    sample_size: float = Field(
        default=100.0, gt=0, le=128, description="effective sample size at which a part counts as mixed"
    )
    tell: Literal["nothing", "kept"] = Field(
        default="nothing",
        description="`kept`: publish which properties hold between which rows, so that recipients can use them",
    )
    rows: Literal["shuffled", "ordered"] = Field(
        default="shuffled",
        description="`ordered`: rows keep the order of the source, so that v[1] in a rule is row 1",
    )
    linked_at_most: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="largest share of rows that an adversary who knows all original numbers may find",
    )

    def refusal(self, policy: Policy) -> str:
        replaced = policy.with_role("replaced")
        if not replaced:
            return "the policy has no column with the role 'replaced'"
        if policy.claims:
            return "it guarantees no claim under 'protect'; it keeps properties and measures privacy"
        if policy.quasi_identifiers:
            return (
                f"'{policy.quasi_identifiers[0]}' would be published unchanged; give it the role 'replaced' or 'other'"
            )
        for name, domain in replacements_of(policy).items():
            if not isinstance(domain, Ordered):
                return f"'{name}' is not replaced by integers, decimals or dates"
        if self.tell == "kept" and any(
            isinstance(r.body, Localities) and r.body.distances for r in integrity_rules(policy)
        ):
            return "kept.csv has no words for the order of distances; take 'tell: nothing', or rules that name records"
        return next((why for rule in integrity_rules(policy) if (why := _rule_refusal(rule, policy))), "")

    def finds_out(self) -> bool:
        return self.linked_at_most is not None

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        limit = "until it has mixed" if self.steps is None else f"until it has mixed, at most {self.steps:,} steps"
        kept = [f"keep: {rule}" for rule in integrity_rules(policy)]
        size = self._sample_size(policy.effort)
        stated = "sample_size" in self.model_fields_set
        sizes = f"{size:g}" if stated else ", ".join(f"{effort} {one:g}" for effort, one in SIZES.items())
        told = ["kept.csv will say which properties hold between which rows"] if self.tell == "kept" else []
        return [
            *kept,
            *told,
            f"{self.walks} walks through every independent part, each {limit}",
            f"effort: {policy.effort} (a part has mixed at an effective sample size of {sizes})",
            "privacy is measured, not guaranteed",
        ]

    def unremembered(self, policy: Policy) -> str:
        return "kept properties of several releases together were never judged: publish without a ledger"

    def _sample_size(self, effort: Effort) -> float:
        """Return the effective sample size that ends a walk: as stated, else of the usual one a share by effort."""
        return self.sample_size if "sample_size" in self.model_fields_set else SIZES[effort]

    def run(self, task: Task) -> Release:
        policy, table = task.policy, task.data
        sheet = sheet_of(policy, table, narrow=self.range == "partition")
        polytope, variable, patterns = sheet.polytope(integrity_rules(policy), task.randomness)
        task.progress(0.1, "walking")
        effort = WalkEffort(self.steps, self.walks, self._sample_size(policy.effort), jobs=task.jobs)
        walked = walk(polytope, task.randomness, effort)
        place = walked.place[polytope.variable_of]
        levels = {name: place[own] for name, own in variable.items()}
        shuffled = task.randomness.child("row order").permutation(table.rows)
        rows = shuffled if self.rows == "shuffled" else np.arange(table.rows, dtype=np.int64)  # I2
        kept = {name: _triples(own) for name, own in patterns.items()}
        parts = {"data": Part(pa.table(_columns(policy, table, levels, rows)))}
        if self.tell == "kept":
            parts[KEPT] = Part(kept_properties_part(integrity_rules(policy), kept, rows))
        near = {name: patterns[name].home for name in _near(policy)}
        pairs = {name: _records(own)[own.quads] for name, own in patterns.items() if len(own.quads)}
        trace = WalkProvenance(
            {"data": rows},
            localities=kept,
            distances=pairs,
            range=self.range,
            walk=_progress(walked, effort),
            partitions=near,
            lasting=True,
        )
        return Release(self._form(), parts, trace=trace, notes=(*NOTES, *self._told()))

    def _form(self) -> Replaced:
        ordered = self.rows == "ordered"
        return Replaced(walked=True, told=self.tell == "kept", ordered=ordered, linked_at_most=self.linked_at_most)

    def _told(self) -> list[str]:
        return [note for asked, note in ((self.tell == "kept", TOLD), (self.rows == "ordered", ORDERED)) if asked]


def _rule_refusal(rule: IntegrityRule, policy: Policy) -> str:
    why = reason_not_linear(rule)
    if why:
        return f"the rule '{rule}' {why}"
    if isinstance(rule.body, Localities):
        kept = [column.name for column in rule.body.columns if policy.columns[column.name].role != "replaced"]
        hidden = [column.name for column in rule.body.by if not _as_it_is(policy, column.name)]
        unseen = (
            f"the rule '{rule}' makes partitions by '{hidden[0]}', which is not published as it is" if hidden else ""
        )
        return f"the rule '{rule}' names '{kept[0]}', which is not replaced" if kept else unseen
    return ""


def _as_it_is(policy: Policy, name: str) -> bool:
    return name in policy.published and policy.columns[name].role != "replaced"


def _near(policy: Policy) -> list[str]:
    """Columns whose partitions are records near each other."""
    bodies = [rule.body for rule in integrity_rules(policy) if isinstance(rule.body, Localities) and rule.body.near]
    return [column.name for body in bodies for column in body.columns]


def sheet_of(policy: Policy, table: Table, *, narrow: bool = False) -> RuleSheet:
    """The replaced columns as levels, the others as constants; `narrow` keeps partitions between their own ends."""
    replaced = {name: _replaced(policy, table, name, domain) for name, domain in _ordered(policy).items()}

    def fixed(name: str) -> list[Fraction]:
        text = table.text(name)
        values = [_exact(label, name) for label in text.labels]
        return [values[code] for code in text.codes]

    return RuleSheet(
        replaced, table.rows, fixed, narrow, lambda name: np.asarray(table.text(name).codes, dtype=np.int64)
    )


def _ordered(policy: Policy) -> dict[str, Ordered]:
    return {name: domain for name, domain in replacements_of(policy).items() if isinstance(domain, Ordered)}


def _replaced(policy: Policy, table: Table, name: str, domain: Ordered) -> ReplacedColumn:
    text = table.text(name)
    levels = [domain.level(label) for label in text.labels]
    counts = text.counts()
    unread = sum(
        int(counts[code])
        for code, level in enumerate(levels)
        if level is None or not domain.low <= level <= domain.high
    )
    if unread:
        where, hint = policy.document.where("columns", name), "widen the domain, or clean the column first"
        raise DataError(f"{unread} values of '{name}' are not in its domain", where=where, hint=hint)
    found = np.array(levels, dtype=np.int64)[text.codes] if levels else np.empty(0, np.int64)
    return ReplacedColumn(found, domain.low, domain.high, domain.unit)


def _exact(label: str, name: str) -> Fraction:
    value = parse_number(label)
    if value is not None:
        return Fraction(value)
    try:
        return Fraction(date.fromisoformat(label).toordinal())
    except ValueError:
        raise DataError(f"a rule compares column '{name}', which has values that are no numbers") from None


def _columns(policy: Policy, table: Table, levels: Mapping[str, IntArray], rows: IntArray) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    domains = _ordered(policy)
    for name in policy.published:
        if name in levels:
            domain = domains[name]
            distinct, code = np.unique(levels[name][rows], return_inverse=True)
            texts = pa.array([domain.text(int(level)) for level in distinct], pa.string())
            columns[name] = texts.take(pa.array(code))  # I1
        else:
            columns[name] = table.column(name).combine_chunks().take(pa.array(rows))
    return columns


def _triples(pattern: KeptPattern) -> IntArray:
    """The sampled localities over records: one record for each of the three points, and the side."""
    return np.column_stack([_records(pattern)[pattern.triples[:, :3]], pattern.triples[:, 3]])


def _records(pattern: KeptPattern) -> IntArray:
    """The first record of every point."""
    record = np.empty(pattern.points.max(initial=-1) + 1, np.int64)
    record[pattern.points[::-1]] = np.arange(pattern.points.size - 1, -1, -1)
    return record


def _progress(walked: WalkResult, effort: WalkEffort) -> WalkProgress:
    done = walked.mixed(effort)
    return WalkProgress(parts=int(done.size), mixed=int(done.sum()), implied_equalities=walked.implied)


# Telling
# -------


def kept_properties_part(
    rules: Iterable[IntegrityRule], localities: Mapping[str, IntArray], rows: IntArray
) -> pa.Table:
    """The lines of kept.csv; `rows` are the records behind the published rows."""
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import WIDE

    row = np.empty(rows.size, np.int64)
    row[rows] = np.arange(1, rows.size + 1)
    lines = [
        (rename_records(rule.text, lambda record: int(row[record - 1])), "", "", "", "", "")
        for rule in rules
        if _names(rule)
    ]
    for name, triples in localities.items():
        told = sorted(zip(*row[triples[:, :3]].T.tolist(), (triples[:, 3] == WIDE).tolist(), strict=True))  # I1
        lines += [("", name, str(a), str(b), str(c), "low" if wide else "high") for a, b, c, wide in told]
    columns = zip(*lines, strict=True) if lines else [()] * len(KEPT_COLUMNS)
    return pa.table(
        {name: pa.array(list(column), pa.string()) for name, column in zip(KEPT_COLUMNS, columns, strict=True)}
    )


def _names(rule: IntegrityRule) -> bool:
    """Whether a rule names records, and nothing that recipients cannot see."""
    nodes = list(rule.body.walk())
    return any(isinstance(node, Cell) for node in nodes) and not any(column.original for column in columns_of(rule))


def rename_records(text: str, row: Callable[[int], int]) -> str:
    """A rule with other records.

    >>> rename_records("v[1] + `a[2]`[2] <= 3", lambda record: 10 * record)
    'v[10] + `a[2]`[20] <= 3'
    """
    words = scan(text)
    for before, number, after in reversed(list(zip(words, words[1:], words[2:], strict=False))):
        signs = [(word.kind, word.text) for word in (before, after)] == [("sign", "["), ("sign", "]")]
        if signs and number.kind == "number":
            text = (
                f"{text[: number.at]}{row(int(exact_number(number.text) or 0))}{text[number.at + len(number.text) :]}"
            )
    return text
