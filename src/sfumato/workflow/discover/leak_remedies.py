"""What to do about columns in which original values of replaced columns still stand.

A copy changes together with what it was copied from; what an equation gives exactly (initials, a slug, a search vector,
a login made of names) is computed anew from the new values; a note or a document is emptied where the column allows it,
or gets an invented form. Keys and references are never emptied: all columns that refer to each other get invented
values together. What is left are coincidences (a composer who is called like a customer): accepted by name, with the
count.


Derivations
-----------
How a column was made of others of its row, as an equation: lower case, initials, a slug, a search vector, texts put
together.

Guarantee
    An equation is proposed only when it gives every cell of the column exactly, and nothing where the cell is missing.
    Constants in it occur in every row, at least `OFTEN` times, so that no single person's value is spelled out.

Notation
    piece      a column of the row, or a function of one, as a rule writes it, with its texts
    witness    a few rows in which the cell is read from left to right as pieces and signs that all of them share

>>> rows = {"first": ["Ann", "Bo", "Cy", "Di", "Ed"], "last": ["Lee", "Ray", "Fox", "Orr", "Kim"]}
>>> mails = [f"{one.lower()}.{two.lower()}@a.test" for one, two in zip(rows["first"], rows["last"])]
>>> equation("t", "mail", mails, rows, "text")
't.mail = lower(t.first) + "." + lower(t.last) + "@a.test"'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import DataError, PolicyError
from sfumato.data.database import ColumnFacts, Database
from sfumato.data.table import Table
from sfumato.data.text_values import parse_timestamp
from sfumato.kinds.testdata.leaked_values import LeakedColumn, find_leaked_values
from sfumato.kinds.testdata.methods.database_parts import numbering, parent_rows
from sfumato.kinds.testdata.methods.sampling.column_values import Composed
from sfumato.policy.constraint_language import columns_of, parse
from sfumato.policy.constraint_language.binding import bind
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.functions import call
from sfumato.policy.constraint_language.syntax_tree import ColumnValue
from sfumato.policy.database_policy import BoundPolicy, width
from sfumato.policy.policy import Policy
from sfumato.policy.value_domains import Empty, Fakes, PatternDomain, ValueDomain
from sfumato.workflow.discover.personal_columns import fits
from sfumato.workflow.discover.proposal import OFTEN, can_be_named, quoted

_ROUNDS = 4
_COPY, _COINCIDENCE = 0.5, 0.02
_LOOKED_AT, _SHORT, _FEW_WORDS = 2_000, 60, 4
"""Cells that are looked at, and what is short: signs of the longest cell, words of a cell on average."""
_COMPUTED, _SOURCES = ("text", "tsvector", "integer"), ("text", "date", "timestamp")
_ROOM, _MOST = 80, 8
"""Signs of a value of which no bound is known; columns that are tried as sources of a computed text."""
_MAIL = re.compile(r'("[^"@]*)@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"')
_PROVIDERS = frozenset(
    (
        "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "yahoo.com", "icloud.com", "aol.com",
        "proton.me", "gmx.de", "gmx.net", "web.de", "t-online.de", "orange.fr", "free.fr", "libero.it", "mail.com",
    )
)  # fmt: skip
"""Where anybody may have an address."""
_CONSTANT = re.compile(r'"([^"]*)"')


@dataclass
class Remedies:
    """Additions to a proposed policy."""

    columns: dict[str, Any] = field(default_factory=dict)
    consistent: list[list[str]] = field(default_factory=list)
    accepted: dict[str, str] = field(default_factory=dict)
    equations: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    undecided: dict[str, str] = field(default_factory=dict)
    """Columns that hold personal data for which nothing else can stand: a person has to decide."""

    @property
    def remarks(self) -> dict[str, str]:
        """The reason beside each added column."""
        return {name: reason for name in self.columns for reason in self.reasons if reason.startswith(f"'{name}' ")}


def add_remedies(
    database: Database,
    tree: Mapping[str, Any],
    forms: Mapping[str, str],
    ties: Sequence[str] = (),
    equations: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], Remedies]:
    """The proposed policy with a remedy for every column in which replaced values survive.

    `forms` are the columns' patterns, `ties` the references that will be kept, `equations` how columns are computed
    already."""
    found = Remedies(equations=dict(equations or {}))
    current = {**tree, "keep": [*ties, *found.equations.values()]}
    for _ in range(_ROUNDS):
        bound = BoundPolicy(Policy.parse(current), database.schema)
        left: dict[ColumnValue, list[LeakedColumn]] = {}
        for one in find_leaked_values(bound, database):
            if str(one) not in found.accepted and str(one.kept) not in found.undecided:
                left.setdefault(one.kept, []).append(one)
        if not left:
            break
        moved: set[ColumnValue] = set()  # one remedy for all columns that refer to each other
        for column, pairs in left.items():
            if column not in moved:
                _remedy(bound, database, column, pairs, forms, found)
                moved.update(_linked(bound, column))
        data = dict(current["data"]) | ({"consistent": found.consistent} if found.consistent else {})
        current |= {"columns": {**current["columns"], **found.columns}, "data": data}
        current |= {"keep": [*ties, *found.equations.values()]}
    return current, found


def _remedy(
    bound: BoundPolicy,
    database: Database,
    column: ColumnValue,
    pairs: list[LeakedColumn],
    forms: Mapping[str, str],
    found: Remedies,
) -> None:
    facts, name = bound.facts(column), str(column)
    cells = len(database.tables[str(column.table)].column(column.name).drop_null())
    best = max(pairs, key=lambda one: (one.whole, one.cells))
    told = f"it holds {best.how} of {best.replaced} in {best.cells:,} of {cells:,} rows"
    if _coincides(pairs, cells):
        found.accepted.update(
            {str(one): f"a coincidence, it seems: {one.cells:,} of {cells:,} rows; look" for one in pairs}
        )
    elif rule := _derivation(bound, database, column):
        found.columns[name] = {"role": "replaced", "domain": {"computed": True}}
        found.equations[name] = rule
        found.reasons.append(f"'{name}' is computed from the new values: {told}")
    elif best.whole >= _COPY * cells and _may_follow(bound, best.replaced, column):
        found.consistent.append([str(best.replaced), name])
        found.reasons.append(f"'{name}' changes together with '{best.replaced}': {told}")
    elif facts.kind == "text" and _is_short(database, column) and _invent(bound, column, pairs, forms, found, told):
        pass
    elif not _must_differ(bound, column) and fits({"empty": True}, facts):
        found.columns[name] = {"role": "replaced", "domain": {"empty": True}}
        found.reasons.append(f"'{name}' is emptied: {told}")
    elif _must_differ(bound, column) and all(str(one.replaced) in found.columns for one in pairs):
        found.accepted.update(
            {str(one): f"a key is kept, and '{one.replaced}' held such keys; {told}" for one in pairs}
        )
    elif not _invent(bound, column, pairs, forms, found, told):
        found.undecided[name] = f"{told}, and no other value fits"


def _is_short(database: Database, column: ColumnValue) -> bool:
    """Whether a column holds names, codes and the like rather than notes: a few words, for which others can stand."""
    texts = [text for text in database.tables[str(column.table)].column(column.name)[:_LOOKED_AT].to_pylist() if text]
    return (
        bool(texts)
        and max(map(len, texts)) <= _SHORT
        and sum(len(text.split()) for text in texts) <= _FEW_WORDS * len(texts)
    )


def _invent(
    bound: BoundPolicy,
    column: ColumnValue,
    pairs: list[LeakedColumn],
    forms: Mapping[str, str],
    found: Remedies,
    told: str,
) -> bool:
    """Invented values for a column and for all that refer to it or that it refers to, where some fit."""
    group = _linked(bound, column)
    lengths = [facts.length for facts in map(bound.facts, group) if facts.length is not None]
    root = next((one for one in group if any(one in reference.parent for reference in bound.references)), column)
    given = _invented(forms.get(str(root), "") or forms.get(str(column), ""), min(lengths, default=None))
    domain = next((one for one in given if all(fits(one, bound.facts(member)) for member in group)), None)
    if domain is None:
        return False
    found.columns[str(root)] = {"role": "replaced", "domain": domain}
    about = f"'{column}', " if root != column else ""
    found.reasons.append(f"'{root}' gets invented values: {about}{told}")
    return True


def _linked(bound: BoundPolicy, column: ColumnValue) -> tuple[ColumnValue, ...]:
    """The columns that change together with one, itself among them."""
    return next((group for group in bound.components if column in group), (column,))


def find_equation(
    bound: BoundPolicy, database: Database, column: ColumnValue, taken: Collection[ColumnValue] = ()
) -> str:
    """The equation that gives a replaced column from others, where every cell of the original keeps it, or nothing.

    A copy across a reference (the address on an invoice) comes before what is made of columns of the row (an e-mail
    address of names). Columns in `taken` are no sources."""
    return _copy(bound, database, column, taken) or _derivation(bound, database, column, taken)


def _copy(bound: BoundPolicy, database: Database, column: ColumnValue, taken: Collection[ColumnValue]) -> str:
    """`invoice.address = customer.address`, where a reference says whose it is."""
    cells = database.tables[str(column.table)].column(column.name)
    met: set[str] = set()
    for reference in bound.references:
        child, parent = str(reference.child[0].table), str(reference.parent[0].table)
        if child != column.table or parent in (child, *met) or _must_differ(bound, column):
            continue
        met.add(parent)  # rules follow the first reference between two tables
        mine, theirs = database.tables[child], database.tables[parent]
        place = parent_rows(
            [mine.column(c.name) for c in reference.child], [theirs.column(c.name) for c in reference.parent]
        )
        rows = pa.array(place, mask=place < 0)
        for source in _sources(bound, parent, taken):
            same = bound.facts(source).kind == bound.facts(column).kind and can_be_named(source.name)
            if same and _fits_into(bound, [source], 0, column) and _agree(cells, theirs.column(source.name).take(rows)):
                return f"{_named(child, column.name)} = {_named(parent, source.name)}"
    return ""


def _agree(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two columns are the same in every row, and different in some rows that have values."""
    one, other = (pc.fill_null(side, "") for side in (one, other))
    return bool(pc.all(pc.equal(one, other)).as_py()) and len(pc.unique(one)) > 2 and len(one) >= OFTEN


def _sources(bound: BoundPolicy, table: str, taken: Collection[ColumnValue]) -> list[ColumnValue]:
    """Columns of a table that get new values by themselves."""
    given = {*bound.emptied, *(one.column for one in bound.definitions), *taken}
    return [c for c in bound.changed if c.table == table and c not in given and bound.facts(c).kind in _SOURCES]


def _fits_into(bound: BoundPolicy, sources: Sequence[ColumnValue], signs: int, column: ColumnValue) -> bool:
    """Return whether the longest new values of the sources, with a few signs more, fit into a column."""
    length = bound.facts(column).length
    return length is None or sum(_longest(bound.domain(one), bound.facts(one)) for one in sources) + signs <= length


def _longest(domain: ValueDomain, facts: ColumnFacts) -> int:
    """How long new values of a column can be."""
    found = _ROOM
    if isinstance(domain, Fakes):
        pieces = numbering(domain, facts, facts.name)
        if isinstance(pieces, Composed):
            found = sum(max(map(len, one)) for one in pieces.pieces) + len(pieces.join(*("" for _ in pieces.pieces)))
    elif isinstance(domain, PatternDomain):
        found = width(domain.pattern)[1]
    return min(found, facts.length or found)


def _derivation(
    bound: BoundPolicy, database: Database, column: ColumnValue, taken: Collection[ColumnValue] = ()
) -> str:
    """The equation that gives the column from replaced ones of its row, where new values will fit, or nothing."""
    facts, table = bound.facts(column), database.tables[str(column.table)]
    if facts.kind not in _COMPUTED or _must_differ(bound, column):
        return ""
    known = [one for one in _sources(bound, str(column.table), taken) if one != column]
    own = bound.schema.table(str(column.table))
    names = list(dict.fromkeys([*(c.name for c in known), *own.primary_key]))[:_MOST]
    texts = {name: table.column(name).to_pylist() for name in names if name != column.name}
    rule = (
        equation(str(column.table), column.name, table.column(column.name).to_pylist(), texts, facts.kind)
        if known
        else ""
    )
    if not rule or not _judged(rule, bound, table):
        return ""
    rule = with_example_domain(rule)
    used = [ColumnValue(one.name, one.table) for one in columns_of(parse(rule))[1:]]
    if column in bound.changed and not any(one in known for one in used):
        return ""  # made of a key and the same signs in every row: invented values say less
    constants = sum(len(text) for text in _CONSTANT.findall(rule))
    changed = [one for one in used if one in bound.changed]
    return (
        rule
        if facts.kind != "text"
        or _fits_into(bound, changed, constants + _ROOM // 8 * (len(used) - len(changed)), column)
        else ""
    )


def with_example_domain(rule: str) -> str:
    """Return an equation for e-mail addresses with a domain that belongs to nobody.

    The domain of a source says where people work. That of a provider for everybody stays, and so does one that is
    reserved for examples.

    >>> with_example_domain('t.m = lower(t.n) + "@corp.internal"'), with_example_domain('t.m = t.n + "@gmail.com"')
    ('t.m = lower(t.n) + "@example.org"', 't.m = t.n + "@gmail.com"')
    """
    return _MAIL.sub(lambda met: met[0] if _belongs_to_nobody(met[2].lower()) else f'{met[1]}@example.org"', rule)


def _belongs_to_nobody(domain: str) -> bool:
    reserved = domain.rpartition(".")[2] in ("test", "example", "invalid") or domain.startswith("example.")
    return reserved or domain in _PROVIDERS


def _judged(rule: str, bound: BoundPolicy, table: Table) -> bool:
    """Whether the audit finds it true as well: for it a column of digits is a number, and no text."""
    try:
        own = bind(parse(rule), bound.kinds)
        named = {column.name: table.text(column.name) for column in columns_of(own)}
        return ConstraintEvaluator({columns_of(own)[0].table: named}).broken(own) == 0
    except (DataError, PolicyError):
        return False


def _coincides(pairs: list[LeakedColumn], cells: int) -> bool:
    by_words = all(one.how == "the words of its values" and not one.whole and not one.surely for one in pairs)
    return by_words and sum(one.cells for one in pairs) <= _COINCIDENCE * cells


def _may_follow(bound: BoundPolicy, replaced: ColumnValue, column: ColumnValue) -> bool:
    """Whether one map can serve both: texts with a domain that can be numbered, in no other link."""
    domain = bound.domain(replaced)
    texts = bound.facts(column).kind == "text" == bound.facts(replaced).kind
    linked = any(column in group for group in bound.components)
    return texts and isinstance(domain, Fakes | PatternDomain) and not isinstance(domain, Empty) and not linked


def _must_differ(bound: BoundPolicy, column: ColumnValue) -> bool:
    table = bound.schema.table(str(column.table))
    keys = [key for key in (table.primary_key, *table.uniques) if column.name in key]
    return bool(keys) or any(column in group for group in bound.components)


def _invented(form: str, length: int | None) -> list[dict[str, Any]]:
    """Forms for a key or a not-null column that was made of names."""
    longest = min(length or 12, 12)
    return [
        *([{"pattern": form}] if form else []),
        {"pattern": f"[a-z]{{{longest - 4}}}[0-9]{{4}}"} if longest > 6 else {"pattern": f"[a-z]{{{longest}}}"},
        {"fakes": "uuid"},
    ]


# Derivations
# -----------


Texts = Sequence[str | None]
_WITNESSES, _READINGS, _SCREEN, _TERMS, _STEPS, _LONGEST = 5, 6, 300, 8, 5_000, 120


@dataclass(frozen=True)
class Piece:
    """A text of every row, as a rule writes it."""

    rule: str
    made: Callable[[int], str | None]


def equation(table: str, column: str, cells: Texts, sources: Mapping[str, Texts], kind: str) -> str:
    """The rule that gives every cell of the column from the sources of its row, or nothing."""
    known = [row for row, cell in enumerate(cells) if cell]
    if len(known) < OFTEN or not all(map(can_be_named, (column, *table.split("."), *sources))):
        return ""
    name = _named(table, column)
    pieces = [Piece(_named(table, source), texts.__getitem__) for source, texts in sources.items()]
    for one in _of_one(pieces, kind):
        if _gives(one, cells, known):
            return f"{name} = {one.rule}"
    found = _put_together(_parts(pieces), cells, known) if kind == "text" else None
    return f"{name} = {found.rule}" if found is not None and _gives(found, cells, known) else ""


def _against(piece: Piece, cells: Texts, known: Sequence[int]) -> int | None:
    """A row in which a piece is not the cell."""
    return next((row for row in known if piece.made(row) != cells[row]), None)


def _named(table: str, column: str) -> str:
    return ".".join(quoted(part) for part in (table, column))


def _gives(piece: Piece, cells: Texts, known: Sequence[int]) -> bool:
    """Whether a piece is the cell in every row, first in some of them."""
    few = known[:: max(1, len(known) // _SCREEN)]
    if any(piece.made(row) != cells[row] for row in few):
        return False
    return all((piece.made(row) or None) == (cell or None) for row, cell in enumerate(cells))


def _applied(name: str, piece: Piece, *more: Fraction) -> Piece:
    """A function of a piece; a function of something missing is missing."""

    def made(row: int) -> str | None:
        text = piece.made(row)
        return str(call(name, [text, *more])) if text else None

    return Piece(f"{name}({', '.join([piece.rule, *map(str, more)])})", made)


def _dated(name: str, piece: Piece) -> Piece:
    def made(row: int) -> str | None:
        day = parse_timestamp(piece.made(row) or "")
        return None if day is None else str(call(name, [day]))

    return Piece(f"{name}({piece.rule})", made)


def _joined(one: Piece, two: Piece) -> Piece:
    """Two names with a space between them."""

    def made(row: int) -> str | None:
        texts = (one.made(row), two.made(row))
        return f"{texts[0]} {texts[1]}" if all(texts) else None

    return Piece(f'{one.rule} + " " + {two.rule}', made)


def _of_one(pieces: Sequence[Piece], kind: str) -> Iterator[Piece]:
    """A function of a column, or of two with a space between them."""
    both = [_joined(one, two) for one in pieces for two in pieces if one is not two]
    if kind == "text":
        yield from both
        yield from (
            _applied(name, one)
            for one in (*pieces, *both)
            for name in ("lower", "upper", "initials", "slug", "lexemes")
        )
        yield from (
            _applied(name, _applied("initials", one)) for one in (*pieces, *both) for name in ("lower", "upper")
        )
        yield from (_applied("left", one, Fraction(signs)) for one in pieces for signs in range(1, 5))
    elif kind == "tsvector":
        yield from (_applied("lexemes", one) for one in (*pieces, *both))
    elif kind == "integer":
        yield from (_dated(name, one) for one in pieces for name in ("year", "month", "day"))


def _parts(pieces: Sequence[Piece]) -> list[Piece]:
    """What texts are put together of; longer ones are tried first."""
    found = []
    for one in pieces:
        first = _applied("left", one, Fraction(1))
        found += [
            one,
            _applied("lower", one),
            _applied("upper", one),
            _applied("slug", one),
            first,
            _applied("lower", first),
        ]
    return found


def _put_together(pieces: Sequence[Piece], cells: Texts, known: Sequence[int]) -> Piece | None:
    """The cell read from left to right in a few rows at once, as pieces and signs that all of them share.

    A row that speaks against what was read is looked at as well, and all are read again.
    """
    rows = list(known[:: max(1, len(known) // _WITNESSES)][:_WITNESSES])
    for _ in range(_READINGS):
        rows.sort(key=lambda row: -len(cells[row] or ""))
        texts = [cells[row] or "" for row in rows]
        if len(texts[0]) > _LONGEST:
            return None
        made = [(piece, [piece.made(row) or "" for row in rows]) for piece in pieces]
        parts = [(piece, own) for piece, own in made if all(own) and len(set(own)) > 1]
        reader = _CellReader(texts, sorted(parts, key=lambda part: -sum(map(len, part[1]))))
        terms = reader.read((0,) * len(rows), _TERMS)
        found = None if terms is None else _sum(terms)
        other = None if found is None else _against(found, cells, known)
        if other is None:
            return found
        rows.append(other)
    return None


class _CellReader:
    """Reads several cells at once; `steps` bounds the search."""

    def __init__(self, texts: list[str], parts: list[tuple[Piece, list[str]]]) -> None:
        self.texts, self.parts, self.steps = texts, parts, _STEPS

    def read(self, at: tuple[int, ...], terms: int) -> list[Piece | str] | None:
        self.steps -= 1
        if all(place == len(text) for place, text in zip(at, self.texts, strict=True)):
            return []
        if not terms or self.steps < 0:
            return None
        for piece, own in self.parts:
            if all(text.startswith(part, place) for text, part, place in zip(self.texts, own, at, strict=True)):
                rest = self.read(tuple(place + len(part) for place, part in zip(at, own, strict=True)), terms - 1)
                if rest is not None:
                    return [piece, *rest]
        signs = {text[place : place + 1] for text, place in zip(self.texts, at, strict=True)}
        sign = next(iter(signs))
        if len(signs) > 1 or not sign or sign in '"\\' or not sign.isprintable():
            return None
        rest = self.read(tuple(place + 1 for place in at), terms)
        if rest is None:
            return None
        return [sign + rest[0], *rest[1:]] if rest and isinstance(rest[0], str) else [sign, *rest]


def _sum(terms: list[Piece | str]) -> Piece | None:
    """The terms as one piece; at least one is a column, and the first two are not both plain columns, which would be
    added up."""
    plain = [isinstance(term, Piece) and "(" not in term.rule for term in terms[:2]]
    if all(isinstance(term, str) for term in terms) or len(terms) < 2 or all(plain):
        return None

    def made(row: int) -> str | None:
        texts = [term if isinstance(term, str) else term.made(row) for term in terms]
        return "".join(text for text in texts if text) if all(texts) else None

    return Piece(" + ".join(f'"{term}"' if isinstance(term, str) else term.rule for term in terms), made)
