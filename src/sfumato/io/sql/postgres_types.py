"""PostgreSQL's types as kinds, and the types a schema declares itself, in the order in which they can be created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.data.database import TypeFacts
from sfumato.io.sql.link import Session
from sfumato.io.sql.names import literal, quoted

KINDS = {
    "int2": "integer", "int4": "integer", "int8": "integer", "numeric": "decimal", "float4": "float", "float8": "float",
    "text": "text", "varchar": "text", "bpchar": "text", "name": "text", "citext": "text", "date": "date", "time": "time",
    "timetz": "time", "timestamp": "timestamp", "timestamptz": "timestamp", "bool": "boolean", "uuid": "uuid", "json": "json",
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
        oid = next((oid for oid, entry in self.known.items() if entry.full == name and entry.ours and entry.sort in "edc"), None)
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
