"""Fill the tables of any PostgreSQL database with invented rows, from its catalog alone.

Keys, references, value lists, checks and types hold: the server judges every row, and one that it refuses is tried
again with other values, among them the constants of the check that refused it. A column that is called like a table of
which it could hold the key refers to it, even where the schema does not say so.

Family names, streets and secrets are invented signs, so that a value that is met in another database was copied there.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

FIRST = re.findall(
    r"\w+",
    "Anna Ben Carla David Emma Felix Grace Henry Ida Jonas Klara Leo Maria Noah Olga Paul Rosa Simon Tina Vera Alice"
    " Bruno Chloe Diego Elena Frank Hannah Ivan Julia Karl Laura Marco Nina Oscar Petra Robert Sara Thomas Ursula",
)
_ONSETS = re.findall(r"\w+", "b br d dr f fl g gr k kl l m n p pr r s st t tr v w z")
_VOWELS = ("a", "e", "i", "o", "u", "ei", "au")
_WORDS = re.findall(
    r"\w+",
    "order reached customer late asked again please call back about invoice parcel weather meeting moved next week"
    " offer accepted without change returned broken part waiting reply agreed price garden window table second floor",
)
_FEW = {"type", "types", "class", "category", "categories", "status", "kind", "language", "method", "unit", "role"}
_TRIES = 60
_PICTURES = (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")


@dataclass
class Column:
    name: str
    type: str
    category: str
    length: int | None
    places: tuple[int, int] | None
    nullable: bool
    labels: tuple[str, ...]
    default: bool
    array: bool = False

    @property
    def words(self) -> list[str]:
        return [one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", self.name)]

    @property
    def plain(self) -> str:
        return re.sub(r"[^a-z]", "", self.name.lower())


@dataclass
class Reference:
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


@dataclass
class Relation:
    """A table with what the catalog says about it; `name` is quoted and has its schema."""

    name: str
    plain: str
    columns: dict[str, Column]
    own: str = ""
    """What is selected from: only its own rows, where others inherit from it."""
    primary: tuple[str, ...] = ()
    uniques: list[tuple[str, ...]] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    checks: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    """Columns and constants of every check, by its name."""


def catalog(connection: psycopg.Connection) -> dict[str, Relation]:
    """All tables that hold rows of their own; partitions belong to their table."""
    found: dict[int, Relation] = {}
    names: dict[int, dict[int, str]] = {}
    rows = connection.execute(
        """select c.oid, format('%I.%I', n.nspname, c.relname), c.relname, c.relkind from pg_class c
           join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p') and not c.relispartition
           and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg_toast%' order by 2"""
    ).fetchall()
    for oid, name, plain, kind in rows:
        found[oid], names[oid] = Relation(name, plain, {}, f"only {name}" if kind == "r" else name), {}
    rows = connection.execute(
        """select a.attrelid, a.attnum, a.attname, coalesce(b.typname, t.typname), coalesce(b.typtype, t.typtype),
             coalesce(nullif(t.typtypmod, -1), a.atttypmod), not (a.attnotnull or t.typnotnull), a.attgenerated,
             a.atthasdef or a.attidentity <> '',
             array(select enumlabel::text from pg_enum e where e.enumtypid in (t.oid, t.typelem)
                   order by enumsortorder),
             coalesce(b.typcategory, t.typcategory) = 'A', e.typname
           from pg_attribute a join pg_type t on t.oid = a.atttypid
           left join pg_type b on b.oid = nullif(t.typbasetype, 0)
           left join pg_type e on e.oid = nullif(t.typelem, 0)
           where a.attnum > 0 and not a.attisdropped and a.attrelid = any(%s) order by 1, 2""",
        [list(found)],
    ).fetchall()
    for oid, number, name, kind, category, modifier, nullable, generated, default, labels, array, element in rows:
        names[oid][number] = name
        if generated:
            continue
        kind = element if array else kind
        length = modifier - 4 if kind in ("varchar", "bpchar") and modifier > 0 else None
        length = modifier if kind in ("bit", "varbit") and modifier > 0 else length
        places = ((modifier - 4) >> 16, (modifier - 4) & 0xFFFF) if kind == "numeric" and modifier > 0 else None
        length = 1 if kind == "bpchar" and length is None else length
        found[oid].columns[name] = Column(name, kind, category, length, places, nullable, tuple(labels), default, array)
    for oid, kind, numbers, parent, theirs, name, text in connection.execute(
        """select conrelid, contype, conkey, confrelid, confkey, conname, pg_get_constraintdef(oid) from pg_constraint
           where conrelid = any(%s) order by conname""",
        [list(found)],
    ).fetchall():
        own = tuple(names[oid][number] for number in numbers or ())
        if kind == "p":
            found[oid].primary = own
        if kind in "pu":
            found[oid].uniques.append(own)
        if kind == "f" and parent in found:
            found[oid].references.append(
                Reference(own, found[parent].name, tuple(names[parent][number] for number in theirs))
            )
        if kind == "c":
            constants = re.findall(r"'((?:[^']|'')*)'", text) + re.findall(r"(?<![\w'])-?\d+(?:\.\d+)?", text)
            found[oid].checks[name] = own, tuple(constants)
    return {one.name: one for one in found.values()}


class Filler:
    """Fills one database; the same seed fills it in the same way."""

    def __init__(self, connection: psycopg.Connection, seed: int, rows: int) -> None:
        self.connection, self.random, self.rows = connection, random.Random(seed), rows
        self.tables = catalog(connection)
        self.keys: dict[tuple[str, tuple[str, ...]], list[tuple[Any, ...]]] = {}
        self.named = self._named()
        self.codes: dict[tuple[str, str], list[str]] = {}
        self.count = 0

    def _named(self) -> dict[str, tuple[str, str, str]]:
        """Table, key and type by what a column would be called that refers to it."""
        found = {}
        for table in self.tables.values():
            if len(table.primary) == 1:
                plain = re.sub(r"[^a-z]", "", table.plain.lower())
                one = table.name, table.primary[0], table.columns[table.primary[0]].type
                for stem in {plain, plain.removesuffix("s"), plain.removesuffix("es"), plain[:-3] + "y"}:
                    found.setdefault(stem, one)
        return found

    def fill(self) -> dict[str, int]:
        """Fill every empty table; returns how many rows each has."""
        self.connection.execute("set session_replication_role = replica")
        counts, late = {}, []
        for table in self._order():
            had = self.connection.execute(f"select count(*) from {table.own}").fetchone()[0]  # type: ignore[index]
            if not had:
                late += self._fill(table)
            counts[table.name] = self.connection.execute(f"select count(*) from {table.own}").fetchone()[0]  # type: ignore[index]
        for table, reference in late:
            self._refer_late(table, reference)
        self.connection.execute("set session_replication_role = origin")
        return counts

    def _order(self) -> list[Relation]:
        """Tables after those that they must refer to, as far as there is such an order."""
        waiting, done, found = dict(self.tables), set(), []
        while waiting:
            free = [
                one
                for one in waiting.values()
                if all(r.parent in done or r.parent == one.name or self._optional(one, r) for r in one.references)
            ]
            best = sorted(free, key=lambda one: sum(r.parent not in done for r in one.references))
            one = best[0] if best else next(iter(waiting.values()))
            found.append(waiting.pop(one.name))
            done.add(one.name)
        return found

    @staticmethod
    def _optional(table: Relation, reference: Reference) -> bool:
        return all(table.columns[name].nullable for name in reference.columns if name in table.columns)

    def _fill(self, table: Relation) -> list[tuple[Relation, Reference]]:
        words = set(re.findall(r"[a-z]+", table.plain.lower()))
        wanted = 8 if words & _FEW and not table.references else self.rows
        late = [
            (table, one) for one in table.references if not self._rows_of(one.parent, one.parent_columns, table.name)
        ]
        made, failed = 0, 0
        while made < wanted and failed < 25:
            done = self._insert(table, made)
            made, failed = made + done, 0 if done else failed + 1
        self.keys = {key: rows for key, rows in self.keys.items() if key[0] != table.name}
        return late

    def _rows_of(self, table: str, columns: tuple[str, ...], asking: str = "") -> list[tuple[Any, ...]]:
        key = (table, columns)
        if key not in self.keys:
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            query = sql.SQL("select {} from {} limit 2000").format(names, sql.SQL(self.tables[table].own))
            self.keys[key] = [row for row in self.connection.execute(query).fetchall() if None not in row]
        return self.keys[key]

    def _insert(self, table: Relation, number: int) -> bool:
        """One row, tried until the server takes it."""
        blamed: set[str] = set()
        constants: tuple[str, ...] = ()
        for attempt in range(_TRIES):
            row = self._row(table, number, blamed, constants, attempt)
            names = sql.SQL(", ").join(map(sql.Identifier, row))
            marks = sql.SQL(", ").join(sql.Placeholder() for _ in row)
            query = sql.SQL("insert into {} ({}) overriding system value values ({})").format(
                sql.SQL(table.name), names, marks
            )
            try:
                with self.connection.transaction():
                    self.connection.execute(query, list(row.values()))
                return True
            except psycopg.errors.CheckViolation as error:
                own, constants = table.checks.get(error.diag.constraint_name or "", ((), constants))
                blamed |= set(own)
            except psycopg.errors.NotNullViolation as error:
                blamed -= {error.diag.column_name or ""}
            except (psycopg.errors.IntegrityError, psycopg.errors.DataError, psycopg.errors.RaiseException):
                continue
        return False

    def _row(
        self, table: Relation, number: int, blamed: set[str], constants: tuple[str, ...], attempt: int
    ) -> dict[str, Any]:
        self.count += 1
        person = self._person()
        row: dict[str, Any] = {}
        for reference in sorted(table.references, key=lambda one: -len(one.columns)):
            known = {
                theirs: row[mine]
                for mine, theirs in zip(reference.columns, reference.parent_columns, strict=True)
                if mine in row
            }
            self._refer(table, reference, row, known)
        for column in table.columns.values():
            if column.name in row:
                continue
            if column.name in blamed and attempt % 3:
                row[column.name] = self._constant(column, constants)
            elif column.nullable and column.name not in table.primary and self.random.random() < 0.08:
                row[column.name] = None
            else:
                row[column.name] = self._value(table, column, number, person)
        return row

    def _refer(self, table: Relation, reference: Reference, row: dict[str, Any], known: dict[str, Any]) -> None:
        rows = self._rows_of(reference.parent, reference.parent_columns)
        at = {name: place for place, name in enumerate(reference.parent_columns)}
        fitting = (
            [one for one in rows if all(one[at[name]] == value for name, value in known.items())] if known else rows
        )
        optional = self._optional(table, reference) and not set(reference.columns) & set(table.primary)
        chosen = self.random.choice(fitting) if fitting and not (optional and self.random.random() < 0.15) else None
        for mine, theirs in zip(reference.columns, reference.parent_columns, strict=True):
            if chosen is not None:
                row[mine] = chosen[at[theirs]]
            elif mine not in row and table.columns[mine].nullable:
                row[mine] = None

    def _refer_late(self, table: Relation, reference: Reference) -> None:
        """References to tables that were filled later, one row at a time."""
        self.keys = {}
        rows = self._rows_of(reference.parent, reference.parent_columns)
        if not rows:
            return
        places = [one for (one,) in self.connection.execute(f"select ctid::text from {table.own}").fetchall()]
        own = sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in reference.columns)
        for place in places:
            if self._optional(table, reference) and self.random.random() < 0.3:
                continue
            query = sql.SQL("update {} set {} where ctid = %s::tid").format(sql.SQL(table.name), own)
            try:
                with self.connection.transaction():
                    self.connection.execute(query, [*self.random.choice(rows), place])
            except psycopg.Error:
                continue

    # Values
    # ------

    def _person(self) -> dict[str, str]:
        first, last = self.random.choice(FIRST), self._coined().capitalize()
        return {"first": first, "last": last, "email": f"{first}.{last}@{self._coined()}.example".lower()}

    def _coined(self) -> str:
        return "".join(
            self.random.choice(_ONSETS) + self.random.choice(_VOWELS) for _ in range(3)
        ) + self.random.choice("nrslk")

    def _secret(self, size: int) -> str:
        return "".join(self.random.choices(string.ascii_lowercase + string.digits, k=size))

    def _constant(self, column: Column, constants: Sequence[str]) -> Any:
        choices: list[Any] = [one for one in constants if column.category != "N" or re.fullmatch(r"-?\d+(\.\d+)?", one)]
        if column.type in ("int2", "int4", "int8", "numeric", "float4", "float8"):
            choices = [
                int(float(one)) + step
                for one in choices
                if re.fullmatch(r"-?\d+(\.\d+)?", str(one))
                for step in (0, 1, -1)
            ]
        if column.type == "bool":
            choices = [True, False]
        if column.type in ("date", "timestamp", "timestamptz"):
            choices = []
        if column.nullable:
            choices.append(None)
        return self.random.choice(choices) if choices else self._typed(column)

    def _value(self, table: Relation, column: Column, number: int, person: dict[str, str]) -> Any:
        unique = any(own == (column.name,) for own in table.uniques)
        if column.type in ("int2", "int4", "int8") and (unique or table.primary[:1] == (column.name,)):
            return number + 1 + (1000 if column.type != "int2" else 0)
        target = self._undeclared(table, column)
        if target:
            return self.random.choice(target)[0]
        if column.array:
            return [self._scalar(table, column, person, False) for _ in range(self.random.randrange(3))]
        return self._scalar(table, column, person, unique)

    def _undeclared(self, table: Relation, column: Column) -> list[tuple[Any, ...]]:
        """Keys of the table that a column is called after, where the types agree."""
        if not column.plain.endswith("id") or column.type not in ("int4", "int8", "text", "varchar", "uuid", "bpchar"):
            return []
        stem = column.plain.removesuffix("id")
        for name, (parent, key, kind) in self.named.items():
            if name == stem and kind == column.type and parent != table.name:
                return self._rows_of(parent, (key,))
        return []

    def _scalar(self, table: Relation, column: Column, person: dict[str, str], unique: bool) -> Any:
        if column.labels:
            return self.random.choice(column.labels)
        if column.type in ("text", "varchar", "bpchar", "citext", "name"):
            text = self._text(table, column, person, unique)
            return text[: column.length] if column.length else text
        return self._typed(column, person)

    def _typed(self, column: Column, person: dict[str, str] | None = None) -> Any:
        pick, words = self.random, set(column.words)
        kind = column.type
        if column.labels:
            return pick.choice(column.labels)
        if kind in ("int2", "int4", "int8"):
            if "year" in words:
                return pick.randrange(1940, 2010)
            if kind == "int8" and (column.plain.endswith("at") or "time" in column.plain):
                return 1_600_000_000_000 + pick.randrange(90_000_000_000)
            return min(int(pick.expovariate(0.12)), 12 if words & {"month", "day"} else 30_000)
        if kind in ("numeric", "float4", "float8", "money"):
            if words & {"latitude", "lat"}:
                return round(pick.uniform(45, 55), 6)
            if words & {"longitude", "lon", "long", "lng"}:
                return round(pick.uniform(3, 15), 6)
            before, after = (column.places[0] - column.places[1], column.places[1]) if column.places else (4, 2)
            return round(pick.random() * min(10 ** max(before, 0), 5000) * 0.99, min(after, 4))
        if kind == "bool":
            return pick.random() < 0.5
        day = date(2015, 1, 1) + timedelta(pick.randrange(3500))
        if words & {"birth", "birthday", "birthdate", "dob", "born"} or "birth" in column.plain:
            day = date(1940, 1, 1) + timedelta(pick.randrange(24_000))
        if kind == "date":
            return day
        if kind in ("timestamp", "timestamptz"):
            return datetime(day.year, day.month, day.day, pick.randrange(24), pick.randrange(60), pick.randrange(60))
        if kind in ("json", "jsonb"):
            return Jsonb(self._document(person or self._person()))
        if kind == "bytea":
            head = pick.choice(_PICTURES) if words & {"picture", "photo", "image", "thumbnail", "content"} else b""
            return head + pick.randbytes(40)
        if kind == "uuid":
            return f"{pick.getrandbits(128):032x}"
        if kind in ("inet", "cidr"):
            return f"10.{pick.randrange(256)}.{pick.randrange(256)}.{pick.randrange(1, 255)}" + (
                "/32" if kind == "cidr" else ""
            )
        own = person or self._person()
        simple: dict[str, Any] = {
            "interval": f"{pick.randrange(1, 90)} days",
            "time": f"{pick.randrange(24):02}:{pick.randrange(60):02}:00",
            "tsvector": f"{own['last'].lower()} {pick.choice(_WORDS)}",
            "xml": f"<person><name>{own['first']} {own['last']}</name><size>{pick.randrange(9)}</size></person>",
            "hstore": f'"phone"=>"{self._phone()}"',
            "bit": "".join(pick.choice("01") for _ in range(column.length or 1)),
            "point": f"({pick.uniform(3, 15):.5f},{pick.uniform(45, 55):.5f})",
            "macaddr": "02:" + ":".join(f"{pick.randrange(256):02x}" for _ in range(5)),
            "int4range": "[1,9)",
        }
        if kind not in simple and not column.nullable:
            raise ValueError(f"no values for type {kind} of column {column.name}")
        return simple.get(kind)

    def _document(self, person: dict[str, str]) -> Any:
        pick = self.random
        return pick.choice(
            [
                {
                    "theme": pick.choice(["dark", "light"]),
                    "contact": {"email": person["email"], "phone": self._phone()},
                },
                {"theme": "dark", "retries": pick.randrange(5)},
                {},
            ]
        )

    def _phone(self) -> str:
        return f"+49 30 {self.random.randrange(10**7, 10**8)}"

    def _sentence(self, person: dict[str, str]) -> str:
        words = self.random.choices(_WORDS, k=self.random.randrange(8, 16))
        words[self.random.randrange(4)] = f"{person['first']} {person['last']}"
        return " ".join(words).capitalize() + "."

    def _text(self, table: Relation, column: Column, person: dict[str, str], unique: bool) -> str:
        pick, name, size = self.random, column.plain, column.length or 64

        def says(*parts: str) -> bool:
            return any(part in name for part in parts)

        tail = f" {self.count}" if unique else ""
        if says("password", "hash", "secret", "token", "salt", "privatekey", "certificate", "signingkey", "ciphertext"):
            return self._secret(min(size, 40))
        if says("email", "mail") and not says("count", "verified", "template"):
            return person["email"]
        if says("phone", "fax", "mobile", "tele"):
            return self._phone()
        if says("firstname", "givenname", "fname"):
            return person["first"]
        if says("lastname", "surname", "familyname", "lname"):
            return person["last"]
        if says("middlename"):
            return pick.choice(FIRST)
        if says("username", "login", "createdby", "updatedby"):
            return f"{person['first'][0]}{person['last']}".lower() + (str(self.count) if unique else "")
        if says("address", "street", "lineone", "line1"):
            return f"{pick.randrange(1, 200)} {self._coined().capitalize()} Street"
        if says("city", "town"):
            return self._coined().capitalize() + "burg"
        if says("zip", "postal", "mailcode", "postcode"):
            return f"{pick.randrange(10_000, 99_999)}"
        if says("ssn", "taxid", "nationalid", "personalid", "iban", "accountnumber", "cardnumber", "npi", "dea"):
            return "".join(pick.choices(string.digits, k=min(size, 11)))
        if says("url", "uri", "website", "link", "avatar"):
            return f"https://{self._coined()}.example/{self._secret(6)}"
        if name == "ip" or says("ipaddress", "remoteaddr"):
            return f"10.{pick.randrange(256)}.{pick.randrange(256)}.{pick.randrange(1, 255)}"
        if says(
            "note",
            "comment",
            "message",
            "text",
            "description",
            "subject",
            "memo",
            "remark",
            "snippet",
            "content",
            "body",
        ):
            return self._sentence(person) + tail
        if unique or column.name in table.primary:
            return self._secret(min(size, 20 if size > 20 else size))
        if says("name", "title", "label"):
            people = ("person", "user", "customer", "employee", "contact", "provider", "entity", "vendor", "patient")
            if any(one in table.plain.lower() for one in people):
                return f"{person['first']} {person['last']}"
            return f"{self._code(table, column)} {self._code(table, column)}"[:size]
        if size <= 3:
            return "".join(pick.choices("ABC", k=size))
        if says("type", "status", "state", "kind", "code", "locale", "language", "currency", "country", "curr"):
            return self._code(table, column, 5)
        if name.endswith("id"):
            return self._secret(min(size, 20))
        return self._code(table, column) if size <= 40 else f"{self._coined()} {self._code(table, column)}"

    def _code(self, table: Relation, column: Column, many: int = 14) -> str:
        """One of the few values that a column has and no other column."""
        own = self.codes.setdefault((table.name, column.name), [self._coined() for _ in range(many)])
        return self.random.choice(own)


def broken_references(connection: psycopg.Connection) -> Iterator[str]:
    """References that have rows without a parent."""
    tables = catalog(connection)
    for table in tables.values():
        for one in table.references:
            mine = sql.SQL(" and ").join(
                sql.SQL("p.{} = c.{}").format(sql.Identifier(b), sql.Identifier(a))
                for a, b in zip(one.columns, one.parent_columns, strict=True)
            )
            known = sql.SQL(" and ").join(sql.SQL("c.{} is not null").format(sql.Identifier(a)) for a in one.columns)
            query = sql.SQL("select count(*) from {} c where {} and not exists (select 1 from {} p where {})").format(
                sql.SQL(table.own), known, sql.SQL(tables[one.parent].own), mine
            )
            found = connection.execute(query).fetchone()
            if found and found[0]:
                yield f"{table.name} {one.columns} -> {one.parent}: {found[0]}"


def fill(url: str, seed: int = 46, rows: int = 120) -> dict[str, int]:
    """Fill the empty tables of a database; returns the rows of every table."""
    with psycopg.connect(url, autocommit=True) as connection:
        counts = Filler(connection, seed, rows).fill()
        broken = list(broken_references(connection))
        if broken:
            raise ValueError(f"references are broken: {broken[:5]}")
        connection.execute("analyze")
        return counts


def iterate_tables(url: str) -> Iterator[str]:
    """Names of all tables."""
    with psycopg.connect(url) as connection:
        yield from catalog(connection)
