"""`relational`: all tables of a database made anew, for testing; every constraint and every rule still holds.

Guarantee
    The release depends on the original only through what the policy publishes: columns that are not replaced, which
    cells are null, row counts, which linked values are equal, rules that mention the original, and learned frequencies.
    Free columns are drawn like those of `obfuscation`: by exact samplers that do not look at what they replace, unless
    the certificate says otherwise.

Paper: [obfuscation §3-5], with several tables: the rule graph spans all of them.

Invariants
    I1  A child's foreign key is the image of the parent's key under one map, so references stay valid without an order
        of tables.
    I2  A null stays a null.
    I3  Every table is published in random row order.
    I4  Chance depends on the seed and the columns of a part only.

Departures: the paper makes one table; references, nulls, linked columns and subsets are ours.

Cost: linear in rows for linked columns and for parts with direct engines.


Maps
----
One map from old to new values for columns that change together: keys and everything that refers to them.

Guarantee
    Without a secret the map is a uniformly random one-to-one map into the domain, drawn anew for every release: equal
    values stay equal and different ones different, nothing else remains. With a secret it is a function of secret,
    domain and value only.

Invariants
    I1  New values are ranks without repetition, so the map is one-to-one; unique keys, composite ones too, and
        references through chains and cycles survive without a look at the rows.
    I2  With a secret, a value inside its own domain moves by a keyed permutation of ranks and cannot collide with
        another one inside; others are drawn by a keyed hash, and a collision is refused where a rule needs the values
        apart.

Cost: linear in the distinct values.


Linked rules
------------
What rules ask of linked columns: some they keep by themselves, some narrow the domain, the others are refused.

A one-to-one map keeps everything that only asks whether values are equal: unique, references, determines, at_least,
groups, and comparisons by = and != inside a link. A condition on one linked column alone narrows its domain. Anything
else would tie a key to other values.


Families
--------
Rules between a record and the one it refers to: `item.shipped >= invoice.issued`.

Everything is drawn first as if these rules were not there; then the records that break one are drawn again, a child
where it is new, else its parent, until none is left. Children that find nothing beside their parent have it drawn
again, too.

Guarantee: what is returned obeys every such rule; it is legal, not uniform.


Memory
------
How much memory the tables of a policy need, before anything is made: what is larger than allowed is refused with the
way out.

Rows lie on the shelf and are worked on in pieces, whatever their number. What must be in memory at once grows with
single columns:

    order   row numbers of the largest table
    made    a column that is drawn, as numbers and as texts
    links   different values of columns that change together, old and new
    seen    kept columns that a rule for drawn ones reads, as texts and as numbers
    groups  columns of rules about whole tables (totals, orders, overlaps), row by row
    sought  old values of replaced columns, which are looked for everywhere else

The numbers of bytes are estimates from how columns lie in memory, not a bound (`benchmarks/README.md` has what was
measured)."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.database import ColumnFacts, Database, schema_to_json
from sfumato.data.document_paths import rewrite_document, values_in_document
from sfumato.data.memory_map import MappedTableBuilder, map_column, map_numbers, rows_per_step
from sfumato.data.table import Table
from sfumato.kinds.testdata.form import DatabaseForm, Linked, PublishedTable, ReplacedPart, tables_of
from sfumato.kinds.testdata.methods.computed_columns import Calculator, has_dates, value_formatter
from sfumato.kinds.testdata.methods.database_parts import (
    FreeColumns,
    Segment,
    Selected,
    draw_segments,
    forecast_solver_time,
    numbering,
    place_values,
    subset,
)
from sfumato.kinds.testdata.methods.earlier_values import keep_earlier_values, require_refreshable
from sfumato.kinds.testdata.methods.sampling import keyed_randomness
from sfumato.kinds.testdata.methods.sampling.block_division import SolverBudget, solver_budget
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Listed, Spelled, Steps, facts
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import holds
from sfumato.kinds.testdata.methods.sampling.legal_records import legal_space
from sfumato.kinds.testdata.methods.sampling.problem import Clause, RulePart
from sfumato.kinds.testdata.methods.sampling.record_samplers import NewColumn, _without_repetition
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Blocks
from sfumato.policy.constraint_language import IntegrityRule, columns_of, conjuncts
from sfumato.policy.constraint_language.column_equations import ColumnEquation, doubtful_definitions
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    AtLeast,
    ColumnValue,
    Compare,
    Condition,
    Determines,
    Node,
    References,
    Statement,
    Unique,
)
from sfumato.policy.database_policy import BoundPolicy, LinkedColumns
from sfumato.policy.kept_constraints import require_own_code
from sfumato.policy.policy import Policy
from sfumato.policy.value_domains import Empty, Like, Paths, replaces_missing
from sfumato.release.form import Form
from sfumato.release.method import Method, Progress, Task, no_progress
from sfumato.release.release import Part, Provenance, Release


class Relational(Method):
    """Draw all replaced columns of a database: keys by one-to-one maps, others by exact samplers under all
    constraints."""

    name: ClassVar[str] = "relational"
    form: ClassVar[type[Form]] = DatabaseForm
    paper: ClassVar[str] = "obfuscation"
    kinds: ClassVar[tuple[str, ...]] = ("database",)
    keeps_rules: ClassVar[bool] = True

    heuristic: Literal["LM", "LM*", "IG"] = Field(
        default="LM*", description="order of the solver blocks: LM, LM* or IG"
    )
    block: int = Field(default=200, ge=2, description="records per block for parts that need the solver")
    minutes: float = Field(default=30, gt=0, description="time limit of the solver per run; the next run continues")

    def refusal(self, policy: Policy) -> str:
        if not policy.with_role("replaced"):
            return "no column has the role 'replaced'"
        require_own_code(policy)
        return f"it replaces values and cannot keep {policy.claims[0]}" if policy.claims else ""

    def unremembered(self, policy: Policy) -> str:
        return "a ledger cannot keep a database, and the next one could not be judged with it: publish without a ledger"

    def preference(self, records: int | None) -> tuple[int, str]:
        return 5, "the tables of a database are to be made anew"

    def run(self, task: Task) -> Release:
        bound = BoundPolicy.of(task.policy, task.data.schema)
        data = self.selected(bound, task.data, task.randomness)
        before = None
        if task.refreshed is not None:
            require_refreshable(bound)
            before = task.refreshed.once(tables_of)
        made = self.made(bound, data, task.randomness, task.progress, solver_budget(task, self.minutes), before)
        chance = task.randomness.child("row order")
        orders = {name: map_numbers(chance.child(name).permutation(data.count(name))) for name in data.tables}  # I3
        parts = {
            part_name(name): Part(self._table(bound, data, made.columns, name, orders[name])) for name in data.tables
        }
        trace = Provenance({part_name(name): data.behind(name, order) for name, order in orders.items()})
        notes = (*_notes(bound, made), *([_REFRESHED] if before is not None else []))
        return Release(_form(bound, data, made), parts, trace=trace, notes=notes)

    def selected(self, bound: BoundPolicy, database: Database, random: Randomness) -> Selected:
        """The rows that will be published: all, or a subset that is closed under references."""
        wanted = bound.source.subset
        linked = Database(bound.linked_schema, database.tables)
        rows = subset(linked, wanted, bound.kinds, random.child("subset")) if wanted else None
        found = Selected(database, rows, bound.emptied)
        require_memory(bound, found)
        return found

    def require_room(self, bound: BoundPolicy, selected: Selected) -> None:
        """Refuse domains with fewer values than linked columns need."""
        asked = conditions_on_links(bound)
        for link in bound.links:
            require_values(link, [bound.facts(column) for column in link.columns], selected, asked[link.root])

    def foreseen(self, bound: BoundPolicy) -> None:
        """Refuses rules that tie keys to other values, before a row is looked at."""
        conditions_on_links(bound)

    def made(
        self,
        bound: BoundPolicy,
        data: Selected,
        random: Randomness,
        progress: Progress = no_progress,
        patience: SolverBudget | None = None,
        before: Mapping[str, Table] | None = None,
    ) -> NewTables:
        """New values for every changed column, in the rows' original order; `before` are the tables of the last
        release, from which unchanged rows keep theirs."""
        asked = conditions_on_links(bound)
        free = FreeColumns(bound, data, self.heuristic, self.block)
        maps = {}
        columns: dict[ColumnValue, pa.Array] = {}
        for link in bound.links:
            maps[link] = _mapped(bound, link, data, asked[link.root], random)
            columns |= {column: map_column(maps[link](data.column(column))) for column in link.columns}  # I1
        draw_segments(columns, free, random.child("parts"), progress, patience)  # I4
        for column, domain in bound.free.items():
            dealt = bound.mapped.get(bound.columns[domain.column]) if isinstance(domain, Like) else None
            fresh = columns.get(column, data.column(column))  # a table without rows has no segment
            fresh = maps[dealt](fresh) if dealt else fresh
            columns[column] = map_column(
                fresh if replaces_missing(bound.declared[column].domain) else _nulled(fresh, data, column)
            )  # I2
        for column, paths in bound.rewritten.items():
            columns[column] = map_column(_rewritten(data.column(column), paths, column, random))
        if before is not None:
            keep_earlier_values(bound, data, free, columns, before)
        if free.crossing:
            Families(free, data, bound.references).settle(columns, random)
        for definition in bound.definitions:
            columns[definition.column] = map_column(_defined(bound, data, columns, definition))
        return NewTables(columns, free, maps)

    def _table(
        self, bound: BoundPolicy, data: Selected, columns: dict[ColumnValue, pa.Array], table: str, order: Any
    ) -> pa.Table:
        names = bound.schema.table(table).written
        shown = {name: ColumnValue(name, table) for name in names}
        if len(order) <= rows_per_step():
            return pa.table(
                {name: _values(columns, data, c).take(pa.array(order)) for name, c in shown.items()} if names else {}
            )
        shelf = MappedTableBuilder(names)
        for name, column in shown.items():
            values, cut = _values(columns, data, column), range(0, len(order), rows_per_step())
            shelf.put_column(name, (values.take(pa.array(order[start : start + rows_per_step()])) for start in cut))
        return shelf.table()

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        if data is None:
            return []
        bound = BoundPolicy.of(policy, data.schema)
        selected = self.selected(bound, data, Randomness())
        self.require_room(bound, selected)
        free = FreeColumns(bound, selected, self.heuristic, self.block)
        Families(free, selected, bound.references)
        found = [_link_sentence(link) for link in bound.links]
        found += [f"'{one.column}' is computed: {one.rule}" for one in bound.definitions]
        if bound.source.subset:
            counts = {name: (selected.count(name), data.tables[name].rows) for name in selected.tables}
            found += [f"table '{name}': {kept:,} of {there:,} rows" for name, (kept, there) in counts.items()]
        found += [
            *_together(dict.fromkeys(_sentence(segment) for segment in free.segments)),
            *self.doubts(policy, data),
        ]
        return [*found, *forecast_solver_time(free, self.minutes)]

    def doubts(self, policy: Policy, data: Any) -> list[str]:
        bound = BoundPolicy.of(policy, data.schema)
        return doubtful_definitions(bound.rules, bound.definitions)


def _together(sentences: Iterable[str]) -> Iterator[str]:
    """Sentences about parts; many that are made alike share one."""
    alike: dict[str, list[str]] = {}
    for sentence in sentences:
        part, _, how = sentence.partition(": ")
        alike.setdefault(how, []).append(part.removeprefix("part "))
    for how, parts in alike.items():
        if len(parts) > _APART:
            yield f"{len(parts)} parts ({', '.join(parts[:_APART])}, …): {how}"
        else:
            yield from (f"part {part}: {how}" for part in parts)


_APART = 3
_REFRESHED = (
    "rows that have not changed since the last release keep their new values: rows of both releases can be linked by"
    " their keys"
)


def _values(columns: dict[ColumnValue, pa.Array], data: Selected, column: ColumnValue) -> pa.Array:
    return columns[column] if column in columns else data.column(column)


def _rewritten(cells: pa.Array, domain: Paths, column: ColumnValue, random: Randomness) -> pa.Array:
    """Documents with new values at some paths: within a column equal values at one path get equal new ones."""
    texts = cells.to_pylist()
    changes: dict[str, Any] = {}
    for path, inside in domain.paths:
        if isinstance(inside, Empty):
            changes[path] = lambda old: None
            continue
        try:
            known = [values_in_document(text, path) for text in texts if text]
        except DataError as error:
            raise DataError(error.what, where=str(column), hint=error.hint) from None
        old = list(dict.fromkeys(value for found in known for value in found))
        drawn = numbering(inside, ColumnFacts(column.name, "text", "text"), f"{column}.{path}")
        chance = random.child("documents").child(str(column)).child(path)
        new: Any = drawn.texts(chance.integers(drawn.size, len(old))) if old else []
        texts_of = (value.decode() if isinstance(value, bytes) else str(value) for value in new)
        changes[path] = dict(zip(old, texts_of, strict=True)).get
    return pa.array([text and rewrite_document(text, changes) for text in texts], pa.string())


def _defined(
    bound: BoundPolicy, data: Selected, columns: dict[ColumnValue, pa.Array], definition: ColumnEquation
) -> pa.Array:
    """A column that an equation defines, from what is finished."""

    def texts(column: ColumnValue) -> list[str | None]:
        own = ColumnValue(column.name, column.table)
        found: list[str | None] = (
            data.column(own) if column.original else columns.get(own, data.column(own))
        ).to_pylist()
        return found

    facts = bound.facts(definition.column)
    kind = bound.kinds[str(definition.column)]
    dated = kind == "date" or (
        kind is None and has_dates(definition.expression, lambda c: bound.kinds.get(str(c)) == "date")
    )
    spell = value_formatter("date" if dated else kind, facts.places, moments=facts.kind == "timestamp")
    made = Calculator(texts, bound.references).column(definition, spell, bound.domain(definition.column))
    return pa.array(made, pa.string())


class NewTables:
    """New columns, and how they were made."""

    def __init__(
        self, columns: dict[ColumnValue, pa.Array], free: FreeColumns, maps: dict[LinkedColumns, ValueMap]
    ) -> None:
        self.columns, self.free, self.maps = columns, free, maps


def part_name(table: str) -> str:
    """The name of a table as the name of a file.

    >>> part_name("Order Details"), part_name("a/b")
    ('Order Details', 'a%2Fb')
    """
    return quote(table, safe=" ")


def _mapped(
    bound: BoundPolicy, link: LinkedColumns, data: Selected, conditions: list[Any], random: Randomness
) -> ValueMap:
    secret = bound.source.secret_key() if link.deterministic else None
    source = secret or random.child("links").child(str(link.root))
    found = value_map(link, [bound.facts(column) for column in link.columns], data, conditions, source)
    if link.deterministic and found.collides and must_stay_distinct(bound, link):
        hint = "widen the domain, or choose another secret"
        raise Infeasible(
            "two values get the same new value under this secret", where=f"column '{link.root}'", hint=hint
        )
    return found


def _nulled(column: pa.Array, data: Selected, of: ColumnValue) -> pa.Array:
    """New values where the original has some; nulls and empty texts stay."""
    if not data.has_missing(of):
        return column
    return pc.if_else(pa.array(data.missing(of)), data.column(of), column)


def _form(bound: BoundPolicy, data: Selected, made: NewTables) -> DatabaseForm:
    links = [
        Linked(columns=tuple(str(column) for column in link.columns), deterministic=link.deterministic)
        for link in bound.links
    ]
    return DatabaseForm(
        tables={part_name(name): PublishedTable(table=name, rows=data.count(name)) for name in data.tables},
        declared=schema_to_json(bound.schema),
        links=tuple(links),
        parts=(
            *{str(entry): entry for entry in map(_entry, made.free.segments)}.values(),
            *map(computed_part, bound.definitions),
        ),
        dialect=bound.schema.dialect,
        namespace="" if bound.schema.others else bound.schema.namespace or "",
        subset=bool(bound.source.subset),
        accepted=tuple(sorted(one for one in bound.source.accept if one.startswith("surviving:"))),
    )


def computed_part(definition: ColumnEquation) -> ReplacedPart:
    """How a defined column was made."""
    name, back = str(definition.column), any(column.original for column in columns_of(definition.expression))
    return ReplacedPart(columns=(name,), engine="computed from other columns", uniform=False, reads_original=back)


def _entry(segment: Segment) -> ReplacedPart:
    engine = segment.route.engine
    blocks = (
        {"engine": "blocks", "heuristic": engine.heuristic, "block": engine.size} if isinstance(engine, Blocks) else {}
    )
    said = {
        "columns": tuple(str(column) for column in segment.part.columns),
        "engine": engine.name,
        "uniform": engine.uniform,
        "reads_original": segment.route.reads_original,
    }
    return ReplacedPart.model_validate(said | blocks)


def _sentence(segment: Segment) -> str:
    how = "exactly uniform" if segment.route.engine.uniform else "legal, but not uniform"
    seen = "reads the original" if segment.route.reads_original else "blind to the original"
    return f"part {segment.title}: {segment.route.engine.name}, {how}, {seen}"


def _link_sentence(link: LinkedColumns) -> str:
    how = "a function of the secret and the old value" if link.deterministic else "one random map"
    return f"{', '.join(str(column) for column in link.columns)}: {how}, equal values stay equal"


def _notes(bound: BoundPolicy, made: NewTables) -> tuple[str, ...]:
    notes = [
        "columns that are not replaced are published as they are, and so is the pattern of nulls and the number of rows"
    ]
    if bound.links:
        notes.append(
            "linked columns: equal values stay equal, so the frequency of values and the "
            "references between rows are published"
        )
    if any(link.deterministic for link in bound.links):
        notes.append(
            "deterministic columns: releases under the same secret can be linked, and a "
            "holder of the secret can find values again"
        )
    if any(segment.route.reads_original for segment in made.free.segments):
        notes.append("some parts read original values, as their rules or weights ask")
    if any(isinstance(segment.route.engine, Blocks) for segment in made.free.segments):
        notes.append(
            "a constraint solver does not return all solutions equally often; estimates about its parts assume it does"
        )
    if any(one.startswith("surviving:") for one in bound.source.accept):
        notes.append(
            "original values of replaced columns still occur in columns that the data holder accepts: see 'accepted'"
        )
    if bound.source.subset:
        notes.append("a subset was published: every person in it is known to have been in the original")
    return tuple(notes)


# Maps
# ----


@dataclass(frozen=True)
class ValueMap:
    """Old texts and, in the same order, new ones."""

    old: pa.Array
    new: pa.Array

    def __call__(self, column: pa.Array) -> pa.Array:
        """The image of a column; nulls and empty texts stay."""
        image, empty = self.new.take(pc.index_in(column, self.old)), pc.equal(pc.binary_length(column), 0)
        return pc.if_else(pc.fill_null(empty, False), column, image) if pc.any(empty).as_py() else image

    @property
    def collides(self) -> bool:
        return len(pc.unique(self.new)) < len(self.new)


def require_values(
    link: LinkedColumns, facts: Sequence[ColumnFacts], data: Selected, conditions: list[Condition]
) -> None:
    """Refuses a link whose domain and rules leave fewer values than it has."""
    _possible(link, facts, data, conditions)


def _possible(
    link: LinkedColumns, facts: Sequence[ColumnFacts], data: Selected, conditions: list[Condition]
) -> tuple[pa.Array, Levels, Any]:
    """The old values, how the domain is numbered, and what the rules leave of it."""
    old = pc.unique(pa.concat_arrays([pc.drop_null(pc.unique(data.column(column))) for column in link.columns]))
    old = old.filter(pc.greater(pc.binary_length(old), 0))
    narrowest = min(facts, key=lambda column: column.length or 1 << 30)
    levels = numbering(link.domain, narrowest, str(link.root))
    found = legal_space({link.root: levels}, conditions, {})
    if found is None:
        raise Infeasible(
            "its rules cannot be combined with its domain", where=f"column '{link.root}'", hint="use a smaller domain"
        )
    size = found.space.size
    if size < len(old):
        what = f"only {size} different values are possible for {len(old)}"
        raise Infeasible(what, where=f"column '{link.root}'", hint="widen its domain")
    return old, levels, found


def value_map(
    link: LinkedColumns,
    facts: Sequence[ColumnFacts],
    data: Selected,
    conditions: list[Condition],
    source: Randomness | bytes,
) -> ValueMap:
    """The map of a link; `conditions` are rules on its root alone, `source` is chance or a secret."""
    old, levels, found = _possible(link, facts, data, conditions)
    size = found.space.size
    if isinstance(source, bytes):
        ranks = _deterministic(link, levels if not conditions else None, size, old, source)
    else:
        ranks = _random(size, len(old), source.bytes(16))
    codes = found.space.codes(ranks)[link.root]
    return ValueMap(old, NewColumn(found.levels[link.root], codes).arrow())


def _random(size: int, count: int, key: bytes) -> IntArray:
    numbers = np.arange(count, dtype=np.int64)
    return (
        keyed_randomness.Permutation(key, size)(numbers)
        if size <= keyed_randomness.LARGEST
        else _without_repetition(key, size, numbers)
    )  # I1


def _deterministic(link: LinkedColumns, levels: Levels | None, size: int, old: pa.Array, secret: bytes) -> IntArray:
    """I2: ranks from secret and value alone; the domain's own words keep different domains apart."""
    words = json.dumps(link.domain.declared(), sort_keys=True, default=str).encode()
    key = hmac.new(secret, words, hashlib.sha256).digest()
    texts = old.to_pylist()
    hashed = [int.from_bytes(hmac.digest(key, text.encode(), "sha256")[:24], "big") % size for text in texts]
    ranks: IntArray = np.array(hashed, dtype=np.int64 if size <= keyed_randomness.LARGEST else object)
    if levels is None or size > keyed_randomness.LARGEST:
        return ranks
    own = [rank_of(levels, text) for text in texts]
    inside = np.array([rank is not None for rank in own], dtype=bool)
    if inside.any():
        numbers = np.array([rank for rank in own if rank is not None], dtype=np.int64)
        ranks[inside] = keyed_randomness.Permutation(key[:16], size)(numbers)
    return ranks


def rank_of(levels: Levels, text: str) -> int | None:
    """The number of a text that belongs to the domain."""
    if isinstance(levels, Steps):
        code = levels.code(text)
        return code if code is not None and levels.texts(np.array([code]))[0] == text else None
    if isinstance(levels, Listed):
        return levels.code(text)
    return levels.words.rank(text) if isinstance(levels, Spelled) else None


def single_column(condition: Condition, root: ColumnValue, columns: Sequence[ColumnValue]) -> Condition:
    """The condition with every column of the link called by its root."""
    found = _renamed(condition, dict.fromkeys(columns, root))
    assert isinstance(found, Condition)
    return found


def _renamed(node: Node, names: Mapping[ColumnValue, ColumnValue]) -> Node:
    if isinstance(node, ColumnValue):
        return names.get(node, node)
    changes: dict[str, Any] = {}
    for entry in fields(node):
        value = getattr(node, entry.name)
        if isinstance(value, Node):
            changes[entry.name] = _renamed(value, names)
        elif isinstance(value, tuple):
            changes[entry.name] = tuple(_renamed(part, names) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes)


# Linked rules
# ------------


_EQUALITY = (Unique, References, Determines, AtLeast)


def conditions_on_links(bound: BoundPolicy) -> dict[ColumnValue, list[Condition]]:
    """Conditions on the root of each link; raises for rules that a map cannot keep."""
    found: dict[ColumnValue, list[Condition]] = {link.root: [] for link in bound.links}
    for rule in bound.drawn_rules:
        for part in conjuncts(rule.body):
            for link, condition in _asked(bound, rule, part):
                found[link.root].append(single_column(condition, link.root, link.columns))
    return found


def _asked(
    bound: BoundPolicy, rule: IntegrityRule, part: Condition | Statement
) -> Iterator[tuple[LinkedColumns, Condition]]:
    looked = [column for column in values_in(part) if not column.original]
    linked = {id(bound.mapped[column]): bound.mapped[column] for column in looked if column in bound.mapped}
    if not linked or isinstance(part, _EQUALITY):
        return
    link = next(iter(linked.values()))
    inside = len(linked) == 1 and all(column in link.columns for column in values_in(part))
    if inside and isinstance(part, Compare) and part.operator in ("=", "!=") and _plain(part):
        return
    alone = len({*looked}) == 1 and not any(column.original for column in values_in(part))
    if (
        not inside
        or not alone
        or not isinstance(part, Condition)
        or any(isinstance(node, Aggregate) for node in part.walk())
    ):
        what = f"the rule \"{rule}\" ties the linked column '{looked[0]}' to other values"
        raise PolicyError(
            what, where="keep", hint="a key keeps equality only; drop the rule or publish the key as it is"
        )
    yield link, part


def _plain(part: Compare) -> bool:
    return isinstance(part.left, ColumnValue) and isinstance(part.right, ColumnValue) and not part.tolerance


def values_in(node: Node) -> list[ColumnValue]:
    """Columns whose values matter, not only whether they are equal: all but those behind `by`."""
    grouping = {id(column) for found in node.walk() if isinstance(found, Aggregate) for column in found.by}
    return [found for found in node.walk() if isinstance(found, ColumnValue) and id(found) not in grouping]


def must_stay_distinct(bound: BoundPolicy, link: LinkedColumns) -> bool:
    """Whether something needs different values of a link to stay different."""
    for rule in bound.rules:
        grouped = [c for node in rule.body.walk() if isinstance(node, Aggregate) for c in node.by]
        asked = columns_of(rule) if isinstance(rule.body, _EQUALITY) else grouped
        if any(column in link.columns for column in asked):
            return True
    return False


# Families
# --------


_ROUNDS, _PATIENCE = 300, 12
Columns = dict[ColumnValue, pa.Array]


class Families:
    """The rules between tables of a database, and which tables they join."""

    def __init__(self, free: FreeColumns, data: Selected, references: list[References]) -> None:
        self.free, self.data, self.references = free, data, references
        self.links = [self._joined(clause) for clause in free.crossing]

    def _joined(self, clause: Clause) -> tuple[Clause, References]:
        tables = {column.table for column in columns_of(clause.body)}
        for reference in self.references:
            if {reference.child[0].table, reference.parent[0].table} == tables:
                self._require_drawn(clause)
                return clause, reference
        named = " and ".join(sorted(f"'{table}'" for table in tables))
        raise PolicyError(
            f"no reference joins {named}",
            where=f'rule "{clause.rule}"',
            hint="rules between tables follow a foreign key",
        )

    def _require_drawn(self, clause: Clause) -> None:
        for column in columns_of(clause.body):
            part = self._part(column)
            if part is not None and part.whole:
                what = f"'{column}' is bound by \"{part.whole[0].rule}\" and cannot be drawn record by record"
                raise PolicyError(what, where=f'rule "{clause.rule}"', hint="state one of the two rules only")

    def _part(self, column: ColumnValue) -> RulePart | None:
        own = ColumnValue(column.name, column.table)
        return next((part for part in self.free.parts if own in part.columns), None)

    def settle(self, columns: Columns, random: Randomness) -> None:
        """Draws again until every rule between tables holds."""
        for turn in range(_ROUNDS):
            broken = [(link, rows) for link in self.links if len(rows := self._broken(columns, *link))]
            if not broken:
                return
            for (clause, reference), rows in broken:
                chance = random.child("families").child(turn).child(str(clause.rule))
                self._again(columns, clause, reference, rows, chance, parents=turn % _PATIENCE == _PATIENCE - 1)
        clause, rows = broken[0][0][0], broken[0][1]
        what = f"{len(rows)} records found no legal value beside the ones they refer to"
        raise Infeasible(what, where=f'rule "{clause.rule}"', hint="widen the domains, or relax the rule")

    def _again(
        self,
        columns: Columns,
        clause: Clause,
        reference: References,
        rows: IntArray,
        chance: Randomness,
        *,
        parents: bool,
    ) -> None:
        child, parent = str(reference.child[0].table), str(reference.parent[0].table)
        new = {
            part
            for column in columns_of(clause.body)
            if (part := self._part(column)) is not None and not column.original
        }
        own = [part for part in new if part.columns[0].table == child]
        above = [part for part in new if part.columns[0].table == parent]
        if own and not (parents and above):
            self._draw(columns, own, child, rows, chance)
        else:
            places = self._parent_rows(columns, reference)[rows]
            self._draw(columns, above, parent, np.unique(places[places >= 0]), chance)

    def _draw(self, columns: Columns, parts: list[RulePart], table: str, rows: IntArray, chance: Randomness) -> None:
        for part in parts:
            for number, segment in enumerate(self.free.redrawn(part, table, rows)):
                fresh: Columns = {}
                place_values(
                    fresh, segment, segment.route.engine.run(chance.child(number).child(segment.title)), self.data
                )
                for column, values in fresh.items():
                    kept = pc.is_valid(columns[column])
                    columns[column] = pc.if_else(pc.and_(pc.is_valid(values), kept), values, columns[column])

    def _broken(self, columns: Columns, clause: Clause, reference: References) -> IntArray:
        """The rows of the child in which the rule is false; one over a null is not."""
        child = str(reference.child[0].table)
        rows = self._parent_rows(columns, reference)
        table: dict[ColumnValue, Any] = {}
        for column in columns_of(clause.body):
            own = ColumnValue(column.name, column.table)
            values = self.data.column(own) if column.original else columns.get(own, self.data.column(own))
            table[column] = values if column.table == child else values.take(pa.array(rows, mask=rows < 0))
        known: BoolArray = np.ones(len(rows), dtype=bool)
        for values in table.values():
            known &= np.asarray(pc.is_valid(values).to_numpy(zero_copy_only=False), dtype=bool)
        places = np.flatnonzero(known)
        if not len(places):
            return places
        vectors = {c: facts(values.take(pa.array(places)).to_pylist()) for c, values in table.items()}
        assert isinstance(clause.body, Condition)
        return places[~np.broadcast_to(holds(clause.body, vectors), (len(places),))]

    def _parent_rows(self, columns: Columns, reference: References) -> IntArray:
        """The row of the parent behind every row of the child, by the original keys; -1 where there is none."""
        keys = [self._joint(reference.child), self._joint(reference.parent)]
        found = pc.fill_null(pc.index_in(keys[0], value_set=keys[1]), -1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)

    def _joint(self, side: tuple[ColumnValue, ...]) -> pa.Array:
        parts = [self.data.column(column) for column in side]
        return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "\x1f")


# Memory
# ------


_CODE = 300 << 20
"""Bytes of the program itself and its libraries."""
_ORDER, _MADE, _LINK, _SEEN, _GROUP, _SOUGHT = 24, 48, 96, 24, 400, 48
_IN_TURN = ("the order of rows", "drawn columns", "old values to look for")
"""What is needed one after the other, not at the same time."""


def require_memory(bound: BoundPolicy, data: Selected) -> None:
    """Refuses what would need more than the policy allows."""
    wanted = needed(bound, data)
    total = sum(wanted.values()) - sum(sorted(wanted[what] for what in _IN_TURN)[:-1])
    allowed = bound.source.memory_bytes
    if total > allowed:
        most = max(wanted, key=lambda what: wanted[what])
        what = f"about {-(-total >> 20):,} MB are needed, most of it for {most}; {allowed >> 20:,} MB are allowed"
        hint = f"write 'memory: {-(-total >> 20)} MB', leave tables out with 'tables:', or take a 'subset'"
        raise PolicyError(what, where="data.memory", hint=hint)


def needed(bound: BoundPolicy, data: Selected) -> dict[str, int]:
    """Bytes by what they are for; small tables need none beyond those of the program."""
    clauses = [Clause(rule, body) for rule in bound.drawn_rules for body in conjuncts(rule.body)]
    grouped = [
        one.body for one in clauses if one.is_whole and not isinstance(one.body, References | Unique | Determines)
    ]
    drawn = [one.body for one in clauses if any(column in bound.free for column in columns_of(one.body))]
    kept = {ColumnValue(c.name, c.table) for body in drawn for c in columns_of(body)} - set(bound.free)
    used = {ColumnValue(c.name, c.table) for body in grouped for c in columns_of(body)}
    counts = {table: data.count(table) for table in data.tables}
    return {
        "the program": min(_CODE, bound.source.memory_bytes),
        "the order of rows": _ORDER * max(counts.values(), default=0),
        "drawn columns": max((_cost(data, column, _MADE, 3) for column in bound.free), default=0),
        "linked columns": sum(_cost(data, link.root, _LINK, 3) for link in bound.links),
        "kept columns that rules read": sum(
            _cost(data, column, _SEEN, 5) for column in kept if str(column.table) in counts
        ),
        "rules about whole tables": sum(
            _GROUP * counts[str(column.table)] for column in used if str(column.table) in counts
        ),
        "old values to look for": sum(_cost(data, column, _SOUGHT, 2) for column in bound.free),
    }


def _cost(data: Selected, column: ColumnValue, fixed: int, times: int) -> int:
    """So many bytes for every row, and the texts so many times."""
    cells = data.database.tables[str(column.table)].column(column.name)
    return fixed * data.count(str(column.table)) + times * int(cells.nbytes)
