"""An outside judge of a test database: plain SQL and Python, nothing of the product.

It compares two PostgreSQL databases: structure, counts, references and join sizes must be equal, the columns that were
to be kept must have the same values, and no original of a personal column may stand anywhere in a dump of the target.

Chance
    A value of at least eight signs with a digit, a blank or a sign of punctuation tells who it is: it is searched for
    in every cell and inside every cell. Short values, numbers and single words occur by chance. For them the rows of
    both databases are matched by the columns that were kept, and new and old value may agree in a row as often as two
    independent columns with the same frequencies do, plus five standard deviations.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import psycopg
from psycopg import sql

_LONGEST = 8
"""Words of a value that are compared inside cells."""
_SIGMAS = 5.0


@dataclass
class Judgement:
    """What was counted, and everything that is wrong, one sentence each."""

    tables: int = 0
    rows: int = 0
    objects: int = 0
    """Constraints, indexes, triggers, views and functions that are equal."""
    references: int = 0
    undeclared: int = 0
    """References that no key declares, found in the rows of the source."""
    searched: int = 0
    """Originals of personal columns that tell who it is."""
    weighed: int = 0
    """Personal columns of short values or numbers, compared row by row with chance."""
    kept: int = 0
    renamed: int = 0
    """Columns of keys and references whose values are new and whose frequencies are the old ones."""
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Table:
    name: str
    """Quoted, with its schema; `only` its own rows, not those of tables that inherit from it."""
    plain: str
    columns: Mapping[str, str]
    """Types by name, without columns that the server computes."""


def judge(source: str, target: str, changed: Iterable[str], personal: Iterable[str]) -> Judgement:
    """Compare two databases; `changed` were to be replaced and `personal` are labelled by hand, both as
    `schema.table.column`."""
    found, new, labelled = Judgement(), set(changed), set(personal)
    with psycopg.connect(source) as old, psycopg.connect(target) as made:
        tables = list(_tables(old))
        found.tables = len(tables)
        _structure(old, made, found)
        _counts(old, made, tables, found)
        following = _references(old, made, tables, found)
        matched = _distributions(old, made, tables, new, following, found)
        _originals(old, made, target, tables, new | labelled, matched, found)
    return found


def _all(connection: psycopg.Connection, query: str | sql.Composed) -> list[tuple]:
    return connection.execute(query).fetchall()  # type: ignore[arg-type]


def _tables(connection: psycopg.Connection) -> Iterator[_Table]:
    rows = _all(
        connection,
        """select case relkind when 'r' then 'only ' else '' end || format('%I.%I', n.nspname, c.relname),
             n.nspname || '.' || c.relname, array_agg(a.attname order by attnum),
             array_agg(format_type(a.atttypid, null) order by attnum) from pg_class c
           join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
           where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
             and a.attgenerated = '' and n.nspname not in ('pg_catalog', 'information_schema')
           group by 1, 2 order by 1""",
    )
    for name, plain, columns, types in rows:
        yield _Table(name, plain, dict(zip(columns, types, strict=True)))


_OBJECTS = {
    "constraints": """select conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated
                      from pg_constraint
                      where connamespace::regnamespace::text not in ('pg_catalog', 'information_schema')""",
    "indexes": "select indexdef from pg_indexes where schemaname not in ('pg_catalog', 'information_schema')",
    "triggers": "select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal",
    "views": """select schemaname, viewname, definition from pg_views
                where schemaname not in ('pg_catalog', 'information_schema')""",
    "columns": """select table_schema, table_name, column_name, data_type, character_maximum_length,
                    is_nullable, column_default from information_schema.columns
                  where table_schema not in ('pg_catalog', 'information_schema')""",
    "functions": """select p.oid::regprocedure::text, md5(prosrc) from pg_proc p
                    join pg_namespace n on n.oid = pronamespace
                    where nspname not in ('pg_catalog', 'information_schema')""",
}


def _structure(old: psycopg.Connection, made: psycopg.Connection, found: Judgement) -> None:
    for kind, query in _OBJECTS.items():
        one, two = Counter(_all(old, query)), Counter(_all(made, query))
        found.objects += sum((one & two).values())
        for what in ((one - two) + (two - one)).elements():
            found.wrong.append(f"{kind} differ: {str(what)[:120]}")


def _counts(old: psycopg.Connection, made: psycopg.Connection, tables: list[_Table], found: Judgement) -> None:
    for table in tables:
        one, two = (_all(side, f"select count(*) from {table.name}")[0][0] for side in (old, made))
        found.rows += one
        if one != two:
            found.wrong.append(f"{table.plain} has {two} rows instead of {one}")


def _references(
    old: psycopg.Connection, made: psycopg.Connection, tables: list[_Table], found: Judgement
) -> set[tuple[str, str]]:
    """Compare the sizes of all joins; return the columns that refer to something, and those referred to."""
    declared = _all(
        old,
        """select case c.relkind when 'r' then 'only ' else '' end || format('%I.%I', n.nspname, c.relname),
             n.nspname || '.' || c.relname,
             case p.relkind when 'r' then 'only ' else '' end || format('%I.%I', m.nspname, p.relname),
             m.nspname || '.' || p.relname,
             array(select attname::text from unnest(conkey) with ordinality k(n, i)
                   join pg_attribute on attrelid = conrelid and attnum = k.n order by i),
             array(select attname::text from unnest(confkey) with ordinality k(n, i)
                   join pg_attribute on attrelid = confrelid and attnum = k.n order by i)
           from pg_constraint join pg_class c on c.oid = conrelid join pg_namespace n on n.oid = c.relnamespace
           join pg_class p on p.oid = confrelid join pg_namespace m on m.oid = p.relnamespace where contype = 'f'""",
    )
    known = {(child, tuple(own)) for _, child, _, _, own, _ in declared}
    following: set[tuple[str, str]] = set()
    links = [(a, b, c, d, tuple(own), tuple(theirs), True) for a, b, c, d, own, theirs in declared]
    links += [link for link in _by_name(old, tables) if (link[1], link[4]) not in known]
    for child, plain, parent, plain_parent, own, theirs, is_declared in links:
        on = sql.SQL(" and ").join(
            sql.SQL("c.{} = p.{}").format(sql.Identifier(a), sql.Identifier(b))
            for a, b in zip(own, theirs, strict=True)
        )
        set_ = sql.SQL(" and ").join(sql.SQL("c.{} is not null").format(sql.Identifier(a)) for a in own)
        query = sql.SQL(
            "select (select count(*) from {c} c join {p} p on {on}),"
            " (select count(*) from {c} c where {set} and not exists (select 1 from {p} p where {on}))"
        ).format(c=sql.SQL(child), p=sql.SQL(parent), on=on, set=set_)
        (joined, orphans), (joined_now, orphans_now) = _all(old, query)[0], _all(made, query)[0]
        found.references, found.undeclared = found.references + is_declared, found.undeclared + (not is_declared)
        if (joined, orphans) != (joined_now, orphans_now):
            found.wrong.append(
                f"{plain} {own} -> {plain_parent}: {joined_now} rows join instead of {joined},"
                f" {orphans_now} have no parent instead of {orphans}"
            )
        following |= {(plain, name) for name in own} | {(plain_parent, name) for name in theirs}
    return following


def _by_name(old: psycopg.Connection, tables: list[_Table]) -> Iterator[tuple]:
    """References that nothing declares: called like a table, of the type of its key, and all values are there."""
    keys = {
        (schema_table, column)
        for schema_table, column in _all(
            old,
            """select n.nspname || '.' || c.relname, a.attname::text from pg_constraint k
               join pg_class c on c.oid = conrelid join pg_namespace n on n.oid = c.relnamespace
               join pg_attribute a on a.attrelid = conrelid and attnum = conkey[1]
               where contype = 'p' and array_length(conkey, 1) = 1""",
        )
    }
    single = dict(keys)
    by_stem = {}
    for table in tables:
        plain = re.sub("[^a-z]", "", table.plain.rpartition(".")[2].lower())
        if table.plain in single:
            for stem in {plain, plain.removesuffix("s")}:
                by_stem.setdefault(stem, table)
    for table in tables:
        for column, kind in table.columns.items():
            stem = re.sub("[^a-z]", "", column.lower())
            parent = by_stem.get(stem.removesuffix("id")) if stem.endswith("id") else None
            if parent is None or parent.name == table.name or parent.columns[single[parent.plain]] != kind:
                continue
            key = single[parent.plain]
            query = sql.SQL(
                "select count(c.{c}), count(p.{k}), count(distinct c.{c}) from {t} c left join {p} p on c.{c} = p.{k}"
            ).format(c=sql.Identifier(column), k=sql.Identifier(key), t=sql.SQL(table.name), p=sql.SQL(parent.name))
            rows, met, different = _all(old, query)[0]
            if rows == met and different > 1:
                yield table.name, table.plain, parent.name, parent.plain, (column,), (key,), False


def _values(connection: psycopg.Connection, table: _Table, column: str) -> list[str | None]:
    query = sql.SQL("select {}::text from {}").format(sql.Identifier(column), sql.SQL(table.name))
    return [value for (value,) in _all(connection, query)]


Rows = tuple[list[tuple[str | None, ...]], list[tuple[str | None, ...]]]


def _distributions(
    old: psycopg.Connection,
    made: psycopg.Connection,
    tables: list[_Table],
    new: set[str],
    following: set[tuple[str, str]],
    found: Judgement,
) -> dict[str, list[str]]:
    """Compare the values of all kept columns; return by table the columns that are equal."""
    equal: dict[str, list[str]] = {}
    for table in tables:
        for column in table.columns:
            if f"{table.plain}.{column}" in new:
                continue
            one, two = Counter(_values(old, table, column)), Counter(_values(made, table, column))
            if one == two:
                found.kept += 1
                equal.setdefault(table.plain, []).append(column)
            elif (table.plain, column) in following and sorted(one.values()) == sorted(two.values()):
                found.renamed += 1
            else:
                found.wrong.append(f"{table.plain}.{column} was to be kept and has other values")
    return equal


def _originals(
    old: psycopg.Connection,
    made: psycopg.Connection,
    target: str,
    tables: list[_Table],
    wanted: set[str],
    matched: dict[str, list[str]],
    found: Judgement,
) -> None:
    dump = subprocess.run(
        ["pg_dump", "--data-only", "--dbname", target], capture_output=True, text=True, check=True, errors="replace"
    ).stdout
    cells, inside = _content(dump)
    for table in tables:
        for column in table.columns:
            name = f"{table.plain}.{column}"
            if name not in wanted:
                continue
            values = {value for value in _values(old, table, column) if value}
            telling = {value for value in values if _tells(value)}
            found.searched += len(telling)
            met = [value for value in telling if value in cells or tuple(_words(value)[:_LONGEST]) in inside]
            if met:
                found.wrong.append(
                    f"{name}: {len(met)} of {len(telling)} originals stand in the dump, as {met[0][:1]}…"
                )
            if values - telling:
                found.weighed += 1
                found.wrong += list(_agreeing(old, made, table, column, matched.get(table.plain, [])))


def _tells(value: str) -> bool:
    """Whether a value is long and odd enough to be met only where it was copied."""
    if re.fullmatch(r"[\d\s:.+-]+", value):
        return len(re.sub(r"\D", "", value)) >= 9 and not re.match(r"\d{4}-\d\d-\d\d", value)
    words = _words(value)
    if value.startswith(("{", "[")) or not words:
        return False  # a document; its texts are searched for by their own columns
    if len(words) == 1:
        return len(value) >= 8 and bool(re.search(r"\d", value)) and bool(re.search("[a-zA-Z]", value))
    return len(value) >= 8 and sum(len(word) > 2 for word in words) > 1


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _content(dump: str) -> tuple[set[str], set[tuple[str, ...]]]:
    """All cells, and all runs of words inside them."""
    cells: set[str] = set()
    inside: set[tuple[str, ...]] = set()
    copying = False
    for line in dump.splitlines():
        if line.startswith("COPY "):
            copying = True
        elif line == "\\.":
            copying = False
        elif copying:
            for cell in line.split("\t"):
                if cell in cells:
                    continue
                cells.add(cell)
                words = _words(cell.replace("\\n", " "))
                for start in range(len(words)):
                    inside.update(tuple(words[start : start + size]) for size in range(1, _LONGEST + 1))
    return cells, inside


def _agreeing(
    old: psycopg.Connection, made: psycopg.Connection, table: _Table, column: str, kept: list[str]
) -> Iterator[str]:
    """Old and new value of the same row agree more often than independent ones would."""
    if not kept:
        return
    names = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in kept)
    query = sql.SQL("select md5(row({})::text), {}::text from {}").format(
        names, sql.Identifier(column), sql.SQL(table.name)
    )
    one, two = _all(old, query), _all(made, query)
    many = Counter(key for key, _ in one)
    before = {key: value for key, value in one if many[key] == 1}
    pairs = [(before[key], value) for key, value in two if key in before and before[key] and value]
    if len(pairs) < 20:
        return
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(count * second[value] for value, count in first.items()) / len(pairs)
    agree = sum(a == b for a, b in pairs)
    if agree > expected + _SIGMAS * math.sqrt(expected) + 3:
        yield f"{table.plain}.{column}: {agree} of {len(pairs)} rows have their old value ({expected:.1f} by chance)"
