"""`relational`: all tables of a database made anew, for testing; every constraint and every rule still holds.

Guarantee
    The release depends on the original only through what the policy publishes: columns that are not replaced, which cells are null,
    row counts, which linked values are equal, rules that mention the original, and learned frequencies. Free columns are drawn like
    those of `obfuscation`: by exact samplers that do not look at what they replace, unless the certificate says otherwise.

Paper: [obfuscation §3-5], with several tables: the rule graph spans all of them.

Invariants
    I1  A child's foreign key is the image of the parent's key under one map, so references stay valid without an order of tables.
    I2  A null stays a null.
    I3  Every table is published in random row order.
    I4  Chance depends on the seed and the columns of a part only.

Departures: the paper makes one table; references, nulls, linked columns and subsets are ours.

Cost: linear in rows for linked columns and for parts with direct engines.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.data.database import Database
from sfumato.data.schema_json import json_of
from sfumato.data.shelf import Shelf, laid, rows_at_once, shelved
from sfumato.errors import Infeasible
from sfumato.forms.database import DatabaseForm, Linked, PublishedTable
from sfumato.forms.replaced import MadePart
from sfumato.methods.base import Method, Progress, Task, silent
from sfumato.methods.replacing.computed import Calculator, has_dates, speller
from sfumato.methods.replacing.databases.families import Families
from sfumato.methods.replacing.databases.linked_rules import apart, narrowing
from sfumato.methods.replacing.databases.maps import ValueMap, require_values, value_map
from sfumato.methods.replacing.databases.memory import require_memory
from sfumato.methods.replacing.databases.parts import FreeColumns, Segment
from sfumato.methods.replacing.databases.placing import draw_segments, forecasts
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.methods.replacing.databases.subset import subset
from sfumato.methods.replacing.sampling.blocks import Blocks
from sfumato.methods.replacing.sampling.patience import Patience, patience_of
from sfumato.policy.bound_policy import BoundPolicy, LinkedColumns
from sfumato.policy.keep import require_own_code
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Like, fills
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.definitions import ColumnEquation, doubtful
from sfumato.policy.rules.tree import ColumnValue
from sfumato.randomness import Randomness
from sfumato.release.form import Form
from sfumato.release.release import Part, Release, Trace


class Relational(Method):
    """All tables of a database anew: keys by one-to-one maps, other columns by exact samplers under every rule."""

    name: ClassVar[str] = "relational"
    form: ClassVar[type[Form]] = DatabaseForm
    paper: ClassVar[str] = "obfuscation"
    kinds: ClassVar[tuple[str, ...]] = ("database",)
    keeps_rules: ClassVar[bool] = True

    heuristic: Literal["LM", "LM*", "IG"] = Field(default="LM*", description="how solver blocks follow each other: LM, LM* or IG")
    block: int = Field(default=200, ge=2, description="records per block for parts that need the solver")
    minutes: float = Field(default=30, gt=0, description="how long the solver may take in one run; the next one goes on from there")

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
        made = self.made(bound, data, task.randomness, task.progress, patience_of(task, self.minutes))
        chance = task.randomness.child("row order")
        orders = {name: laid(chance.child(name).permutation(data.count(name))) for name in data.tables}  # I3
        parts = {part_name(name): Part(self._table(bound, data, made.columns, name, orders[name])) for name in data.tables}
        trace = Trace({part_name(name): data.behind(name, order) for name, order in orders.items()})
        return Release(_form(bound, data, made), parts, trace=trace, notes=_notes(bound, made))

    def selected(self, bound: BoundPolicy, database: Database, random: Randomness) -> Selected:
        """The rows that will be published: all, or a subset that is closed under references."""
        wanted = bound.source.subset
        rows = subset(database, wanted, bound.kinds, random.child("subset")) if wanted else None
        found = Selected(database, rows, bound.emptied)
        require_memory(bound, found)
        return found

    def foreseen(self, bound: BoundPolicy) -> None:
        """Refuses rules that tie keys to other values, before a row is looked at."""
        narrowing(bound)

    def made(
        self,
        bound: BoundPolicy,
        data: Selected,
        random: Randomness,
        progress: Progress = silent,
        patience: Patience | None = None,
    ) -> NewTables:
        """New values for every changed column, in the rows' original order."""
        asked = narrowing(bound)
        free = FreeColumns(bound, data, self.heuristic, self.block)
        maps = {}
        columns: dict[ColumnValue, pa.Array] = {}
        for link in bound.links:
            maps[link] = _mapped(bound, link, data, asked[link.root], random)
            columns |= {column: shelved(maps[link](data.column(column))) for column in link.columns}  # I1
        draw_segments(columns, free, random.child("parts"), progress, patience)  # I4
        for column, domain in bound.free.items():
            dealt = bound.mapped.get(bound.columns[domain.column]) if isinstance(domain, Like) else None
            fresh = columns.get(column, data.column(column))  # a table without rows has no segment
            fresh = maps[dealt](fresh) if dealt else fresh
            columns[column] = shelved(fresh if fills(bound.declared[column].domain) else _nulled(fresh, data, column))  # I2
        if free.crossing:
            Families(free, data, bound.references).settle(columns, random)
        for definition in bound.definitions:
            columns[definition.column] = shelved(_defined(bound, data, columns, definition))
        return NewTables(columns, free, maps)

    def _table(self, bound: BoundPolicy, data: Selected, columns: dict[ColumnValue, pa.Array], table: str, order: Any) -> pa.Table:
        names = bound.schema.table(table).written
        shown = {name: ColumnValue(name, table) for name in names}
        if len(order) <= rows_at_once():
            return pa.table({name: _values(columns, data, c).take(pa.array(order)) for name, c in shown.items()} if names else {})
        shelf = Shelf(names)
        for name, column in shown.items():
            values, cut = _values(columns, data, column), range(0, len(order), rows_at_once())
            shelf.put_column(name, (values.take(pa.array(order[start : start + rows_at_once()])) for start in cut))
        return shelf.table()

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        if data is None:
            return []
        bound = BoundPolicy.of(policy, data.schema)
        selected = self.selected(bound, data, Randomness())
        asked = narrowing(bound)
        for link in bound.links:
            require_values(link, [bound.facts(column) for column in link.columns], selected, asked[link.root])
        free = FreeColumns(bound, selected, self.heuristic, self.block)
        Families(free, selected, bound.references)
        found = [_link_sentence(link) for link in bound.links]
        found += [f"'{one.column}' is computed: {one.rule}" for one in bound.definitions]
        found += [*dict.fromkeys(_sentence(segment) for segment in free.segments), *self.doubts(policy, data)]
        return [*found, *forecasts(free, self.minutes)]

    def doubts(self, policy: Policy, data: Any) -> list[str]:
        bound = BoundPolicy.of(policy, data.schema)
        return doubtful(bound.rules, bound.definitions)


def _values(columns: dict[ColumnValue, pa.Array], data: Selected, column: ColumnValue) -> pa.Array:
    return columns[column] if column in columns else data.column(column)


def _defined(bound: BoundPolicy, data: Selected, columns: dict[ColumnValue, pa.Array], definition: ColumnEquation) -> pa.Array:
    """A column that an equation defines, from what is finished."""

    def texts(column: ColumnValue) -> list[str | None]:
        own = ColumnValue(column.name, column.table)
        found: list[str | None] = (data.column(own) if column.original else columns.get(own, data.column(own))).to_pylist()
        return found

    facts = bound.facts(definition.column)
    kind = bound.kinds[str(definition.column)]
    dated = kind == "date" or (kind is None and has_dates(definition.expression, lambda c: bound.kinds.get(str(c)) == "date"))
    spell = speller("date" if dated else kind, facts.places, moments=facts.kind == "timestamp")
    made = Calculator(texts, bound.references).column(definition, spell, bound.domain(definition.column))
    return pa.array(made, pa.string())


class NewTables:
    """New columns, and how they were made."""

    def __init__(self, columns: dict[ColumnValue, pa.Array], free: FreeColumns, maps: dict[LinkedColumns, ValueMap]) -> None:
        self.columns, self.free, self.maps = columns, free, maps


def part_name(table: str) -> str:
    """The name of a table as the name of a file.

    >>> part_name("Order Details"), part_name("a/b")
    ('Order Details', 'a%2Fb')
    """
    return quote(table, safe=" ")


def _mapped(bound: BoundPolicy, link: LinkedColumns, data: Selected, conditions: list[Any], random: Randomness) -> ValueMap:
    secret = bound.source.secret_key() if link.deterministic else None
    source = secret or random.child("links").child(str(link.root))
    found = value_map(link, [bound.facts(column) for column in link.columns], data, conditions, source)
    if link.deterministic and found.collides and apart(bound, link):
        hint = "widen the domain, or choose another secret"
        raise Infeasible("two values get the same new value under this secret", where=f"column '{link.root}'", hint=hint)
    return found


def _nulled(column: pa.Array, data: Selected, of: ColumnValue) -> pa.Array:
    if not data.has_nulls(of):
        return column
    return pc.if_else(pc.is_valid(data.column(of)), column, pa.scalar(None, pa.string()))


def _form(bound: BoundPolicy, data: Selected, made: NewTables) -> DatabaseForm:
    links = [
        Linked(columns=tuple(str(column) for column in link.columns), deterministic=link.deterministic) for link in bound.links
    ]
    return DatabaseForm(
        tables={part_name(name): PublishedTable(table=name, rows=data.count(name)) for name in data.tables},
        declared=json_of(bound.schema),
        links=tuple(links),
        parts=(*{str(entry): entry for entry in map(_entry, made.free.segments)}.values(), *map(computed_part, bound.definitions)),
        dialect=bound.schema.dialect,
        namespace="" if bound.schema.others else bound.schema.namespace or "",
        subset=bool(bound.source.subset),
        accepted=tuple(sorted(one for one in bound.source.accept if one.startswith("surviving:"))),
    )


def computed_part(definition: ColumnEquation) -> MadePart:
    """How a defined column was made."""
    name, back = str(definition.column), any(column.original for column in columns_of(definition.expression))
    return MadePart(columns=(name,), engine="computed from other columns", uniform=False, reads_original=back)


def _entry(segment: Segment) -> MadePart:
    engine = segment.route.engine
    blocks = {"engine": "blocks", "heuristic": engine.heuristic, "block": engine.size} if isinstance(engine, Blocks) else {}
    said = {
        "columns": tuple(str(column) for column in segment.part.columns),
        "engine": engine.name,
        "uniform": engine.uniform,
        "reads_original": segment.route.reads_original,
    }
    return MadePart.model_validate(said | blocks)


def _sentence(segment: Segment) -> str:
    how = "exactly uniform" if segment.route.engine.uniform else "legal, but not uniform"
    seen = "reads the original" if segment.route.reads_original else "blind to the original"
    return f"part {segment.title}: {segment.route.engine.name}, {how}, {seen}"


def _link_sentence(link: LinkedColumns) -> str:
    how = "a function of the secret and the old value" if link.deterministic else "one random map"
    return f"{', '.join(str(column) for column in link.columns)}: {how}, equal values stay equal"


def _notes(bound: BoundPolicy, made: NewTables) -> tuple[str, ...]:
    notes = ["columns that are not replaced are published as they are, and so is the pattern of nulls and the number of rows"]
    if bound.links:
        notes.append("linked columns: equal values stay equal, so how often a value occurs and who refers to whom is published")
    if any(link.deterministic for link in bound.links):
        notes.append(
            "deterministic columns: releases under the same secret can be linked, and whoever holds it can find values again"
        )
    if any(segment.route.reads_original for segment in made.free.segments):
        notes.append("some parts read original values, as their rules or weights ask")
    if any(isinstance(segment.route.engine, Blocks) for segment in made.free.segments):
        notes.append("a constraint solver does not return all solutions equally often; estimates about its parts assume it does")
    if any(one.startswith("surviving:") for one in bound.source.accept):
        notes.append("original values of replaced columns still stand in columns that the data holder accepts: see 'accepted'")
    if bound.source.subset:
        notes.append("a subset was published: whoever is in it is known to have been in the original")
    return tuple(notes)
