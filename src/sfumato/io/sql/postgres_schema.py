"""What PostgreSQL's catalogue says about the tables of one schema, or of all; tables that an extension owns are left
alone.


Postgres types
--------------
PostgreSQL's types as kinds, and the types a schema declares itself, in the order in which they can be created.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, SequenceFacts, TableFacts, TypeFacts
from sfumato.io.sql.addresses import QUALIFIED, literal, quoted
from sfumato.io.sql.connection import Session

_TABLES = """
SELECT c.oid, {name}, c.relkind, c.relrowsecurity,
       EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal),
       EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhrelid = c.oid)
FROM pg_class c
WHERE {inside} AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass
    AND d.deptype = 'e')
ORDER BY 2"""

_COLUMNS = """
SELECT a.attrelid, a.attname, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated,
       CASE WHEN a.attcollation <> t.typcollation THEN a.attcollation::regcollation::text ELSE '' END,
       (SELECT format('START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s%s',
                      q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache,
                        CASE WHEN q.seqcycle THEN ' CYCLE' ELSE '' END)
        FROM pg_depend n JOIN pg_sequence q ON q.seqrelid = n.objid
        WHERE a.attidentity <> '' AND n.deptype = 'i' AND n.refobjid = a.attrelid AND n.refobjsubid = a.attnum)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE {inside} AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum"""

_CONSTRAINTS = """
SELECT k.conrelid, k.conname, k.contype, pg_get_constraintdef(k.oid, true), {parent},
       {parent_inside},
       ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(n, i)
             JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.i),
       ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(n, i)
             JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.i),
       k.confdeltype, k.confupdtype, k.condeferrable, k.condeferred, k.confrelid
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_class p ON p.oid = k.confrelid
WHERE ({inside} OR c.relispartition) AND k.contype IN ('p', 'u', 'f', 'c', 'x') AND k.conparentid = 0
ORDER BY k.conrelid, k.contype, k.conname"""

_PARTITIONS = """
SELECT i.inhparent, i.inhrelid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE c.relispartition AND c.relkind IN ('r', 'p', 'f') ORDER BY 1, 2"""

_INDEXES = """
SELECT i.indrelid, pg_get_indexdef(i.indexrelid, 0, true), i.indisunique AND i.indpred IS NULL
  AND NOT 0 = ANY (i.indkey::int2[]),
       ARRAY(SELECT a.attname::text FROM generate_series(0, i.indnkeyatts - 1) s(n)
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[s.n] ORDER BY s.n)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE {inside} AND i.indisvalid
  AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
ORDER BY i.indrelid, i.indexrelid"""

_SEQUENCE = """
SELECT {name}, format_type(q.seqtypid, NULL), q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, q.seqcycle,
       {owner}, a.attname
FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid
LEFT JOIN pg_depend d ON d.objid = q.seqrelid AND d.deptype = 'a' AND d.classid = 'pg_class'::regclass
  AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0
LEFT JOIN pg_class o ON o.oid = d.refobjid LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid
  AND a.attnum = d.refobjsubid
WHERE q.seqrelid = %s::regclass"""

_FUNCTIONS = """
SELECT DISTINCT f.oid::regprocedure::text, pg_get_functiondef(f.oid) FROM pg_proc f
  JOIN pg_depend d ON d.refobjid = f.oid
WHERE d.refclassid = 'pg_proc'::regclass AND f.prokind = 'f' AND {functions}
  AND d.classid IN ('pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_class'::regclass, 'pg_type'::regclass)
  AND NOT EXISTS (SELECT 1 FROM pg_class v WHERE v.oid = d.objid AND d.classid = 'pg_class'::regclass
    AND v.relkind <> 'i')
  AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.objid = f.oid AND e.classid = 'pg_proc'::regclass
    AND e.deptype = 'e')"""

_NEXT = re.compile(r"^nextval\('((?:[^']|'')+)'::regclass\)$")
_ACTIONS = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


def postgres_schema(link: Session) -> Schema:
    """All tables of the current schema."""
    found = link.rows(_asked(link, _TABLES))
    types = Types(link)
    columns, keys, indexes = _by_table(link, _COLUMNS), _by_table(link, _CONSTRAINTS), _by_table(link, _INDEXES)
    partial = _settle_partition_keys({row[0]: str(row[1]) for row in found}, keys, link.rows(_PARTITIONS))
    sequences: dict[str, SequenceFacts] = {}
    tables = [
        _table(
            str(name),
            [_column(link, row, types, sequences) for row in columns[oid]],
            keys[oid],
            indexes[oid],
            partial[oid],
        )
        for oid, name, kind, *_ in found
        if kind in ("r", "p")
    ]
    namespace = str(link.rows("SELECT current_schema()")[0][0])
    named = [
        *(table.name for table in tables),
        *(one.name for one in types.declared()),
        *(one.name for one in sequences.values()),
    ]
    used = tuple(sorted({name.partition(".")[0] for name in named} & link.others))
    return Schema(
        tuple(tables),
        "postgresql",
        namespace,
        types.declared(),
        tuple(sequences.values()),
        tuple(_left_out(found, keys, partial)),
        tuple(TypeFacts(str(name), str(sql)) for name, sql in link.rows(_asked(link, _FUNCTIONS))),
        used,
    )


def _asked(link: Session, query: str) -> str:
    """A query of the catalogue about the schemas of this session."""
    spelt = {"name": QUALIFIED.format("c"), "parent": QUALIFIED.format("p"), "owner": QUALIFIED.format("o")}
    spelt |= {"inside": link.inside("c.relnamespace"), "parent_inside": link.inside("p.relnamespace")}
    spelt |= {"functions": link.inside("f.pronamespace")}
    for word, sql in spelt.items():
        query = query.replace("{" + word + "}", sql)
    return query


def _by_table(link: Session, query: str) -> defaultdict[int, list[tuple[Any, ...]]]:
    grouped: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for oid, *rest in link.rows(_asked(link, query)):
        grouped[oid].append(tuple(rest))
    return grouped


def _column(link: Session, row: tuple[Any, ...], types: Types, sequences: dict[str, SequenceFacts]) -> ColumnFacts:
    name, oid, modifier, native, required, default, identity, generated, collation, numbering = row
    computed = str(default) if generated else ""
    sequence = ""
    if default and not generated and (found := _NEXT.match(default)):
        sequence = found[1].replace("''", "'")
        sequences.setdefault(sequence, _sequence(link, sequence))
        sequence = sequences[sequence].name
    described = types.describe(oid, modifier)
    return ColumnFacts(
        name=str(name),
        kind=described.kind,
        native=str(native),
        nullable=not (required or described.required),
        length=described.length,
        places=described.places,
        choices=described.choices,
        default=None if generated else default,
        generated=bool(computed or sequence or identity),
        identity={"a": "ALWAYS", "d": "BY DEFAULT"}.get(identity, ""),
        numbering=numbering or "",
        computed=computed,
        sequence=sequence,
        collation=str(collation),
        type_name=described.declared,
    )


def _sequence(link: Session, spelt: str) -> SequenceFacts:
    name, kind, start, step, least, most, cache, cycle, table, column = link.rows(_asked(link, _SEQUENCE), spelt)[0]
    sql = (
        f"CREATE SEQUENCE {link.relation(name)} AS {kind} INCREMENT {step} MINVALUE {least} MAXVALUE {most}"
        f" START {start} CACHE {cache}" + (" CYCLE" if cycle else "")
    )
    return SequenceFacts(str(name), sql, (str(table), str(column)) if table else ("", ""))


Rows = list[tuple[Any, ...]]


def _settle_partition_keys(names: dict[int, str], keys: dict[int, Rows], pairs: Rows) -> defaultdict[int, Rows]:
    """Give every table the foreign keys that all of its partitions declare, and return those that only some of them
    declare.

    A key that refers to a single partition refers to rows of the whole table, and is returned as well. `pairs` are
    partitioned tables with their partitions, `names` the tables that are read.
    """
    above = {part: whole for whole, part in pairs}
    below: defaultdict[int, list[int]] = defaultdict(list)
    for whole, part in pairs:
        below[whole].append(part)
    partial: defaultdict[int, Rows] = defaultdict(list)
    for oid in names:
        declared: dict[tuple[Any, ...], tuple[tuple[Any, ...], set[int]]] = {}
        for part in _parts_of(oid, below):
            for key in keys.get(part, ()):
                if key[1] == "f" and (part != oid or key[11] in above):
                    parent = _top(key[11], above)
                    moved = (*key[:3], names.get(parent, key[3]), parent in names, *key[5:])
                    _, leaves = declared.setdefault((*map(tuple, key[5:7]), key[11]), (moved, set()))
                    leaves.update(one for one in _parts_of(part, below) if one not in below)
        own = [key for key in keys.get(oid, ()) if not (key[1] == "f" and key[11] in above)]
        known = {(tuple(key[5]), tuple(key[6]), key[11]) for key in own if key[1] == "f"}
        taken = {key[0] for key in own}
        everywhere = {one for one in _parts_of(oid, below) if one not in below}
        for shape, (key, leaves) in declared.items():
            if shape in known:
                continue
            if leaves == everywhere and shape[2] not in above:
                own.append((key[0] if key[0] not in taken else "", *key[1:]))
                taken.add(key[0])
            else:
                partial[oid].append(key)
        keys[oid] = own
    return partial


def _parts_of(oid: int, below: dict[int, list[int]]) -> list[int]:
    """A table and all of its partitions, those of partitions too."""
    return [oid, *(one for part in below.get(oid, ()) for one in _parts_of(part, below))]


def _top(oid: int, above: dict[int, int]) -> int:
    """The table that a partition belongs to in the end."""
    while oid in above:
        oid = above[oid]
    return oid


def _table(name: str, columns: list[ColumnFacts], keys: Rows, indexes: Rows, partial: Rows) -> TableFacts:
    primary = next((tuple(key[5]) for key in keys if key[1] == "p"), ())
    uniques = [tuple(key[5]) for key in keys if key[1] == "u"] + [tuple(index[2]) for index in indexes if index[1]]
    return TableFacts(
        name,
        tuple(columns),
        primary,
        tuple(dict.fromkeys(uniques)),
        tuple(_foreign_key(name, key) for key in keys if key[1] == "f" and key[4]),
        tuple(CheckConstraint(str(key[0]), _inside_check(key[2])) for key in keys if key[1] == "c"),
        "",
        tuple(str(index[0]) for index in indexes),
        tuple(
            CheckConstraint(str(key[0]), str(key[2]).removesuffix(" NOT VALID"))
            for key in keys
            if key[1] != "f" or key[4]
        ),
        tuple(_foreign_key(name, key) for key in partial if key[4]),
    )


def _inside_check(definition: str) -> str:
    """The condition of `CHECK (…) [NO INHERIT] [NOT VALID]`."""
    return definition[definition.index("(") + 1 : definition.rindex(")")].strip()


def _foreign_key(table: str, key: tuple[Any, ...]) -> ForeignKey:
    name, _, _, parent, _, columns, targets, on_delete, on_update, deferrable, deferred, _ = key
    options = {"on delete": _ACTIONS[on_delete], "on update": _ACTIONS[on_update]}
    if deferrable:
        options["deferrable"] = "INITIALLY DEFERRED" if deferred else "INITIALLY IMMEDIATE"
    return ForeignKey(table, tuple(columns), str(parent), tuple(targets), str(name), options)


def _left_out(found: Rows, keys: dict[int, Rows], partial: dict[int, Rows]) -> list[str]:
    sentences = []
    for oid, name, kind, secured, triggers, heir in found:
        what = {"v": "is a view", "m": "is a materialized view", "f": "is a foreign table"}.get(kind)
        if what:
            sentences.append(f"'{name}' {what} and is not copied")
        if kind == "p":
            sentences.append(f"table '{name}' is partitioned; the copy is one plain table")
        if heir:
            sentences.append(f"table '{name}' inherits from another; the copy is a table of its own")
        if secured:
            sentences.append(f"the row security of table '{name}' is not copied")
        if triggers:
            sentences.append(f"the triggers of table '{name}' are not copied")
        for key in (*keys[oid], *partial[oid]):
            if key[1] == "f" and not key[4]:
                sentences.append(f"foreign key '{key[0]}' of table '{name}' leaves the schema and is not copied")
        for key in partial[oid]:
            if key[4]:
                sentences.append(
                    f"foreign key '{key[0]}' is about some partitions of '{name}' or '{key[3]}'; the copy lacks it"
                )
    return sentences


# Postgres types
# --------------


KINDS = {
    "int2": "integer", "int4": "integer", "int8": "integer", "numeric": "decimal", "float4": "float", "float8": "float",
    "text": "text", "varchar": "text", "bpchar": "text", "name": "text", "citext": "text", "date": "date",
    "time": "time",
    "timetz": "time", "timestamp": "timestamp", "timestamptz": "timestamp", "bool": "boolean", "uuid": "uuid",
    "json": "json",
    "jsonb": "json", "bytea": "binary",
}  # fmt: skip

_TYPES = """
SELECT t.oid, t.typname, t.typtype, t.typcategory, t.typbasetype, t.typelem, t.typtypmod, t.typnotnull, t.typrelid,
       format_type(t.oid, NULL),
       {inside} AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = t.oid AND d.classid = 'pg_type'::regclass
                                AND d.deptype = 'e'),
       CASE WHEN t.typnamespace = quote_ident(current_schema())::regnamespace THEN t.typname::text
            ELSE (SELECT nspname FROM pg_namespace WHERE oid = t.typnamespace) || '.' || t.typname END
FROM pg_type t"""
_LABELS = "SELECT enumtypid, array_agg(enumlabel::text ORDER BY enumsortorder) FROM pg_enum GROUP BY enumtypid"
_DOMAIN = """
SELECT format_type(t.typbasetype, t.typtypmod), t.typdefault, t.typnotnull,
       CASE WHEN t.typcollation <> b.typcollation THEN t.typcollation::regcollation::text ELSE '' END,
       ARRAY(SELECT 'CONSTRAINT ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid, true)
             FROM pg_constraint k WHERE k.contypid = t.oid AND k.contype = 'c' ORDER BY k.conname)
FROM pg_type t JOIN pg_type b ON b.oid = t.typbasetype WHERE t.oid = %s"""
_FIELDS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.atttypid FROM pg_attribute a
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""


@dataclass(frozen=True, slots=True)
class Described:
    """A column's type in our words."""

    kind: str
    length: int | None = None
    places: int | None = None
    choices: tuple[str, ...] = ()
    required: bool = False
    declared: str = ""


@dataclass(frozen=True, slots=True)
class _Type:
    name: str
    sort: str
    category: str
    base: int
    element: int
    modifier: int
    required: bool
    relation: int
    spelt: str
    ours: bool
    full: str
    """The name, with its schema before it when that is not the current one."""


class Types:
    """All types of a database, and those that described columns turned out to need."""

    def __init__(self, link: Session) -> None:
        self.link = link
        self.known = {row[0]: _Type(*row[1:]) for row in link.rows(_TYPES.format(inside=link.inside("t.typnamespace")))}
        self.labels = {oid: tuple(labels) for oid, labels in link.rows(_LABELS)}
        self.needed: dict[int, TypeFacts] = {}

    def describe(self, oid: int, modifier: int) -> Described:
        entry = self.known[oid]
        declared = self._declare(oid)
        required = False
        while entry.sort == "d":
            required |= entry.required
            oid, modifier = entry.base, entry.modifier
            entry = self.known[oid]
        kind = "enum" if entry.sort == "e" else "array" if entry.category == "A" else KINDS.get(entry.name, entry.spelt)
        return Described(kind, *_bounds(entry.name, modifier), self.labels.get(oid, ()), required, declared)

    def declared(self) -> tuple[TypeFacts, ...]:
        return tuple(self.needed.values())

    def statement_of(self, name: str) -> str | None:
        """How a declared type of this database would be created, if it has one of this name."""
        oid = next(
            (oid for oid, entry in self.known.items() if entry.full == name and entry.ours and entry.sort in "edc"),
            None,
        )
        return None if oid is None else self._statement(oid, self.known[oid])[0]

    def _declare(self, oid: int) -> str:
        """The declared type behind a column, remembered after those it needs itself."""
        entry = self.known[oid]
        if entry.category == "A" and entry.element:
            return self._declare(entry.element)
        if not entry.ours or entry.sort not in "edc":
            return ""
        if oid not in self.needed:
            sql, needs = self._statement(oid, entry)
            self.needed[oid] = TypeFacts(entry.full, sql, needs)
        return entry.full

    def _statement(self, oid: int, entry: _Type) -> tuple[str, tuple[str, ...]]:
        head = f"CREATE {'DOMAIN' if entry.sort == 'd' else 'TYPE'} {self.link.relation(entry.full)} AS "
        if entry.sort == "e":
            return f"{head}ENUM ({', '.join(map(literal, self.labels.get(oid, ())))})", ()
        if entry.sort == "d":
            base = self._declare(entry.base)
            return head + self._domain(oid), (base,) if base else ()
        fields = self.link.rows(_FIELDS, entry.relation)
        needs = tuple(filter(None, (self._declare(kind) for _, _, kind in fields)))
        return f"{head}({', '.join(f'{quoted(name)} {spelt}' for name, spelt, _ in fields)})", needs

    def _domain(self, oid: int) -> str:
        base, default, required, collation, checks = self.link.rows(_DOMAIN, oid)[0]
        parts: list[Any] = [base, f"COLLATE {collation}" if collation else "", f"DEFAULT {default}" if default else ""]
        return " ".join(filter(None, [*parts, "NOT NULL" if required else "", *checks]))


def _bounds(name: str, modifier: int) -> tuple[int | None, int | None]:
    """Longest text and decimal places that a type modifier sets."""
    if modifier < 4:
        return None, None
    if name in ("varchar", "bpchar"):
        return modifier - 4, None
    if name == "numeric":
        return None, (((modifier - 4) & 0x7FF) ^ 1024) - 1024
    return None, None
