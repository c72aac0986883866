"""What PostgreSQL's catalogue says about the tables of one schema, or of all; tables that an extension owns are left alone."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, SequenceFacts, TableFacts, TypeFacts
from sfumato.io.sql.link import Session
from sfumato.io.sql.names import QUALIFIED
from sfumato.io.sql.postgres_types import Types

_TABLES = """
SELECT c.oid, {name}, c.relkind, c.relrowsecurity,
       EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal),
       EXISTS (SELECT 1 FROM pg_inherits h WHERE h.inhrelid = c.oid)
FROM pg_class c
WHERE {inside} AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'e')
ORDER BY 2"""

_COLUMNS = """
SELECT a.attrelid, a.attname, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated,
       CASE WHEN a.attcollation <> t.typcollation THEN a.attcollation::regcollation::text ELSE '' END,
       (SELECT format('START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s%s',
                      q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, CASE WHEN q.seqcycle THEN ' CYCLE' ELSE '' END)
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
       k.confdeltype, k.confupdtype, k.condeferrable, k.condeferred
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_class p ON p.oid = k.confrelid
WHERE {inside} AND k.contype IN ('p', 'u', 'f', 'c', 'x') AND k.conparentid = 0
ORDER BY k.conrelid, k.contype, k.conname"""

_INDEXES = """
SELECT i.indrelid, pg_get_indexdef(i.indexrelid, 0, true), i.indisunique AND i.indpred IS NULL AND NOT 0 = ANY (i.indkey::int2[]),
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
LEFT JOIN pg_class o ON o.oid = d.refobjid LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE q.seqrelid = %s::regclass"""

_FUNCTIONS = """
SELECT DISTINCT f.oid::regprocedure::text, pg_get_functiondef(f.oid) FROM pg_proc f JOIN pg_depend d ON d.refobjid = f.oid
WHERE d.refclassid = 'pg_proc'::regclass AND f.prokind = 'f' AND {functions}
  AND d.classid IN ('pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_class'::regclass, 'pg_type'::regclass)
  AND NOT EXISTS (SELECT 1 FROM pg_class v WHERE v.oid = d.objid AND d.classid = 'pg_class'::regclass AND v.relkind <> 'i')
  AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.objid = f.oid AND e.classid = 'pg_proc'::regclass AND e.deptype = 'e')"""

_NEXT = re.compile(r"^nextval\('((?:[^']|'')+)'::regclass\)$")
_ACTIONS = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


def postgres_schema(link: Session) -> Schema:
    """All tables of the current schema."""
    found = link.rows(_asked(link, _TABLES))
    types = Types(link)
    columns, keys, indexes = _by_table(link, _COLUMNS), _by_table(link, _CONSTRAINTS), _by_table(link, _INDEXES)
    sequences: dict[str, SequenceFacts] = {}
    tables = [
        _table(str(name), [_column(link, row, types, sequences) for row in columns[oid]], keys[oid], indexes[oid])
        for oid, name, kind, *_ in found
        if kind in ("r", "p")
    ]
    namespace = str(link.rows("SELECT current_schema()")[0][0])
    named = [*(table.name for table in tables), *(one.name for one in types.declared()), *(one.name for one in sequences.values())]
    used = tuple(sorted({name.partition(".")[0] for name in named} & link.others))
    return Schema(
        tuple(tables),
        "postgresql",
        namespace,
        types.declared(),
        tuple(sequences.values()),
        tuple(_left_out(found, keys)),
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


def _table(name: str, columns: list[ColumnFacts], keys: list[tuple[Any, ...]], indexes: list[tuple[Any, ...]]) -> TableFacts:
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
        tuple(CheckConstraint(str(key[0]), str(key[2]).removesuffix(" NOT VALID")) for key in keys if key[1] != "f" or key[4]),
    )


def _inside_check(definition: str) -> str:
    """The condition of `CHECK (…) [NO INHERIT] [NOT VALID]`."""
    return definition[definition.index("(") + 1 : definition.rindex(")")].strip()


def _foreign_key(table: str, key: tuple[Any, ...]) -> ForeignKey:
    name, _, _, parent, _, columns, targets, on_delete, on_update, deferrable, deferred = key
    options = {"on delete": _ACTIONS[on_delete], "on update": _ACTIONS[on_update]}
    if deferrable:
        options["deferrable"] = "INITIALLY DEFERRED" if deferred else "INITIALLY IMMEDIATE"
    return ForeignKey(table, tuple(columns), str(parent), tuple(targets), str(name), options)


def _left_out(found: list[tuple[Any, ...]], keys: dict[int, list[tuple[Any, ...]]]) -> list[str]:
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
        for key in keys[oid]:
            if key[1] == "f" and not key[4]:
                sentences.append(f"foreign key '{key[0]}' of table '{name}' leaves the schema and is not copied")
    return sentences
