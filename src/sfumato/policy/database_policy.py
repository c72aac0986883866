"""A policy bound to the schema of its database: what is replaced, which columns change together, and every rule.

Notation
    linked    columns that refer to each other (foreign keys, `references` rules) or that the policy wants consistent:
              one map from old to new values serves them all
    free      replaced columns that stand alone: every record gets a value of its own

Invariants
    I1  A linked map is one-to-one, so keys stay unique, references stay valid, and records that agreed on a linked
        column still do: rules may group by the old values.


Fitting
-------
Whether a domain fits the type of a database column, and the domain as that type writes it.

>>> from sfumato.policy.value_domains import read
>>> fit_domain(read({"dates": ["2020-01-01", "2020-12-31"]}), ColumnFacts("t", "timestamp", "TIMESTAMP")).text(737425)
'2020-01-01 00:00:00'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest
from sfumato.data.database import ColumnFacts, ForeignKey, Schema
from sfumato.data.personal_columns import personal_kind
from sfumato.io.database_source import DatabaseSource
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import IntegrityRule, RuleError, bind, conjuncts, parse
from sfumato.policy.constraint_language.binding import joined_tables
from sfumato.policy.constraint_language.column_equations import ColumnEquation, column_definitions
from sfumato.policy.constraint_language.syntax_tree import ColumnValue, References, Unique
from sfumato.policy.custom_code import with_code, with_code_digest
from sfumato.policy.declared_constraints import Constraint, constraints_of
from sfumato.policy.kept_constraints import require_linear
from sfumato.policy.policy import Column, Policy
from sfumato.policy.value_domains import (
    Computed,
    Dates,
    Decimals,
    Empty,
    FormedFakes,
    Integers,
    Like,
    Ordered,
    Paths,
    PatternDomain,
    Timestamps,
    ValueDomain,
    Values,
)


@dataclass(frozen=True, slots=True)
class LinkedColumns:
    """Columns that share one one-to-one map (I1) from old to new values; `root` is the one that declares the domain."""

    columns: tuple[ColumnValue, ...]
    root: ColumnValue
    domain: ValueDomain
    deterministic: bool = False


class BoundPolicy:
    """A policy and a schema that fit each other; everything that does not is a `PolicyError`."""

    def __init__(self, policy: Policy, schema: Schema) -> None:
        self.policy, self.schema = policy, schema
        for name in policy.dropped:
            if name not in policy.undecided:
                hint = "write {role: replaced, domain: {empty: true}}, or leave its table out with 'tables:'"
                raise PolicyError(
                    f"'{name}' cannot be dropped", where=policy.document.where("columns", name), hint=hint
                )
        self.declared = {self.column(name): entry for name, entry in self._with_documents().items()}
        self.replaced: dict[ColumnValue, ValueDomain] = dict(self._domains())

    @classmethod
    def of(cls, policy: Policy, schema: Schema) -> BoundPolicy:
        """The policy bound to this schema, made once for each of the two."""
        return policy.once(("bound", id(schema)), lambda: cls(policy, schema))

    @property
    def source(self) -> DatabaseSource:
        """What the policy says under ``data:``."""
        assert isinstance(self.policy.data, DatabaseSource)
        return self.policy.data

    def require_fit(self) -> None:
        """Read everything that is otherwise read on first use, so that an error shows before any row is copied."""
        assert self.drawn_rules is not None
        tied = {frozenset((one.child[0].table, one.parent[0].table)) for one in self.references}
        for place, rule in enumerate(self.keep):
            for one, other in (pair for part in conjuncts(rule.body) for pair in joined_tables(part)):
                if frozenset((one, other)) not in tied:
                    where, hint = (
                        self.policy.document.where("keep", place),
                        "add a 'references' rule, or leave this one out",
                    )
                    raise PolicyError(
                        f"no rule says how table '{one}' refers to table '{other}'", where=where, hint=hint
                    )

    # ---- names -----------------------------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> dict[str, ColumnValue]:
        """Every column of the database by its full name."""
        return {f"{t.name}.{c.name}": ColumnValue(c.name, t.name) for t in self.schema.tables for c in t.columns}

    def column(self, name: str, *path: str | int) -> ColumnValue:
        if name not in self.columns:
            tables = {table.name for table in self.schema.tables}
            table = name.rpartition(".")[0]
            what = (
                f"the database has no column '{name}'" if table in tables else f"the database has no table for '{name}'"
            )
            where = self.policy.document.where(*(path or ("columns", name)))
            raise PolicyError(what, where=where, hint=nearest(name, list(self.columns)))
        return self.columns[name]

    def facts(self, column: ColumnValue) -> ColumnFacts:
        return self.schema.table(str(column.table)).column(column.name)

    def _with_documents(self) -> dict[str, Column]:
        """The entries of the policy, those for values inside documents together as one domain of their column."""
        found: dict[str, Column] = {}
        inside: dict[str, dict[str, Any]] = {}
        for name, entry in self.policy.columns.items():
            column, dollar, rest = name.partition(".$")
            if not dollar:
                found[name] = entry
                continue
            if entry.role != "replaced":
                where = self.policy.document.where("columns", name)
                hint = "what a policy does not name inside a document stays as it is"
                raise PolicyError(f"'{name}' cannot have the role {entry.role}", where=where, hint=hint)
            path = "$" + rest
            inside.setdefault(column, {})[path] = entry.domain or usual_domain(path)
        for column, paths in inside.items():
            if column in found:
                where = self.policy.document.where("columns", column)
                hint = "leave out one of them"
                raise PolicyError(f"'{column}' is named as a whole and by path", where=where, hint=hint)
            found[column] = Column(role="replaced", domain={"paths": paths})
        return found

    @cached_property
    def rewritten(self) -> dict[ColumnValue, Paths]:
        """Columns of documents in which single values are replaced."""
        return {column: domain for column, domain in self.replaced.items() if isinstance(domain, Paths)}

    # ---- replaced columns --------------------------------------------------------------------------------------------

    def _domains(self) -> Iterator[tuple[ColumnValue, ValueDomain]]:
        for column, entry in self.declared.items():
            where = self.policy.document.where("columns", str(column))
            if entry.role not in ("replaced", "other") or not entry.publish:
                hint = "columns of a database are replaced or other; give 'replaced' a domain"
                raise PolicyError(f"'{column}' cannot have the role {entry.role}", where=where, hint=hint)
            if entry.role == "replaced":
                yield column, self._domain(column, entry.domain, where)

    def _domain(self, column: ColumnValue, declared: object, where: str) -> ValueDomain:
        if declared is None:
            hint = "for example {integers: [1, 999999]} or {fakes: name}"
            raise PolicyError(f"'{column}' is replaced but has no domain", where=where, hint=hint)
        read = value_domains.read(declared, where)  # type: ignore[arg-type]
        domain = with_code(read, self.policy.plugins, where)
        wrong = reason_not_fitting(domain, self.facts(column))
        if wrong:
            raise PolicyError(f"'{column}': {wrong}", where=where, hint="choose a domain that the column can hold")
        if isinstance(domain, Like):
            self.column(domain.column, "columns", str(column), "domain")
        found = fit_domain(domain, self.facts(column))
        if isinstance(found, Empty) and found.stands is not None and self._must_differ(column):
            raise PolicyError(
                f"'{column}' is unique and cannot be empty in every row", where=where, hint="give it a domain"
            )
        return found

    def _must_differ(self, column: ColumnValue) -> bool:
        table = self.schema.table(str(column.table))
        return (column.name,) in (table.primary_key, *table.uniques)

    # ---- columns that change together --------------------------------------------------------------------------------

    @cached_property
    def references(self) -> list[References]:
        """Foreign keys, also those of partitions, and `references` rules of the policy."""
        rules = [*(constraint.rule for constraint in self.constraints if constraint.rule), *self.keep]
        return list(dict.fromkeys(rule.body for rule in rules if isinstance(rule.body, References)))

    @cached_property
    def linked_schema(self) -> Schema:
        """The schema as if it declared every reference that is known, those under `keep` too."""
        keys: dict[str, list[ForeignKey]] = {table.name: [] for table in self.schema.tables}
        for one in self.references:
            child, parent = (tuple(column.name for column in side) for side in (one.child, one.parent))
            keys[str(one.child[0].table)].append(
                ForeignKey(str(one.child[0].table), child, str(one.parent[0].table), parent)
            )
        tables = (replace(table, foreign_keys=tuple(keys[table.name])) for table in self.schema.tables)
        return replace(self.schema, tables=tuple(tables))

    def dealt(self, child: ColumnValue, parent: ColumnValue) -> bool:
        """Return whether children are assigned to parents at random: the column draws the parent's keys."""
        domain = self.replaced.get(child)
        return isinstance(domain, Like) and domain.column == str(parent)

    @cached_property
    def components(self) -> list[tuple[ColumnValue, ...]]:
        """Columns joined by references or by the policy's wish, two and more of them."""
        pairs = [pair for r in self.references for pair in zip(r.child, r.parent, strict=True) if not self.dealt(*pair)]
        for place, names in enumerate(self.source.consistent):
            group = [self.column(name, "data", "consistent", place) for name in names]
            pairs += [(group[0], other) for other in group[1:]]
        members: dict[ColumnValue, set[ColumnValue]] = {}
        for one, two in pairs:
            joined = members.get(one, {one}) | members.get(two, {two})
            members |= dict.fromkeys(joined, joined)
        position = {column: number for number, column in enumerate(self.columns.values())}
        distinct = {id(own): own for own in members.values() if len(own) > 1}
        ordered = [tuple(sorted(own, key=position.__getitem__)) for own in distinct.values()]
        return sorted(ordered, key=lambda own: position[own[0]])

    @cached_property
    def links(self) -> list[LinkedColumns]:
        """The maps that will be made: linked columns of which one is replaced, and columns replaced
        deterministically."""
        fixed = {self.column(name, "data", "deterministic") for name in self.source.deterministic}
        pairs = [pair for r in self.references for pair in zip(r.child, r.parent, strict=True)]
        asked = {parent for child, parent in pairs if self.dealt(child, parent) and parent in self.replaced}
        wanted = sorted(fixed | asked, key=str)
        alone = [(column,) for column in wanted if not any(column in group for group in self.components)]
        found = []
        for group in (*self.components, *alone):
            roots = [column for column in group if column in self.replaced]
            if roots:
                found.append(
                    LinkedColumns(
                        group, self._root(roots), self.replaced[roots[0]], any(column in fixed for column in group)
                    )
                )
            elif fixed & set(group):
                what = f"'{next(iter(fixed & set(group)))}' is deterministic but not replaced"
                raise PolicyError(what, where="data.deterministic")
        return found

    def _root(self, roots: Sequence[ColumnValue]) -> ColumnValue:
        """One domain for all; a child may repeat its parent's."""
        first, where = roots[0], self.policy.document.where("columns", str(roots[-1]))
        if any(isinstance(self.replaced[one], Empty) for one in roots):
            raise PolicyError(
                f"'{first}' is linked to other columns and cannot be emptied", where=where, hint="give it a domain"
            )
        if isinstance(self.replaced[first], Like):
            hint = "give it a domain of its own"
            raise PolicyError(
                f"'{first}' is linked to other columns and cannot be drawn like one", where=where, hint=hint
            )
        if any(self.replaced[other] != self.replaced[first] for other in roots[1:]):
            hint = "name only one of them, or give both the same domain"
            raise PolicyError(
                f"'{roots[-1]}' and '{first}' change together but have different domains", where=where, hint=hint
            )
        return first

    @cached_property
    def mapped(self) -> dict[ColumnValue, LinkedColumns]:
        """Every column that a linked map changes."""
        return {column: link for link in self.links for column in link.columns}

    @cached_property
    def free(self) -> dict[ColumnValue, ValueDomain]:
        given = {*self.mapped, *self.emptied, *self.rewritten, *(one.column for one in self.definitions)}
        return {column: domain for column, domain in self.replaced.items() if column not in given}

    @cached_property
    def emptied(self) -> dict[ColumnValue, str | None]:
        """Columns whose values are taken away, with what stands there instead."""
        return {column: domain.stands for column, domain in self.replaced.items() if isinstance(domain, Empty)}

    @property
    def changed(self) -> list[ColumnValue]:
        """All columns with new values, in the order of the database."""
        return [column for column in self.columns.values() if column in self.mapped or column in self.replaced]

    def domain(self, column: ColumnValue) -> ValueDomain:
        """What the new values of a changed column are drawn from."""
        return self.mapped[column].domain if column in self.mapped else self.replaced[column]

    # ---- rules -------------------------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> dict[str, str | None]:
        """How rules read each column: number, date, or as its values turn out."""
        found: dict[str, str | None] = {}
        for name, column in self.columns.items():
            kind = self.facts(column).kind
            found[name] = "number" if kind in NUMBERS else "date" if kind in MOMENTS else None
            domain = self.replaced.get(column)
            if found[name] is None and isinstance(domain, value_domains.Ordered):
                found[name] = domain.kind
        return found

    @cached_property
    def constraints(self) -> list[Constraint]:
        return constraints_of(self.schema, self.kinds)

    @cached_property
    def keep(self) -> list[IntegrityRule]:
        """The policy's own rules."""
        return [self._rule(place, text) for place, text in enumerate(self.policy.keep)]

    def _rule(self, place: int, text: str) -> IntegrityRule:
        words = {part for column in self.columns.values() for part in (str(column.table), column.name)}
        line = self.policy.document.where("keep", place)
        try:
            rule = with_code_digest(bind(parse(text, words), self.kinds), self.policy.plugins, line)
            require_linear(rule, line)
            return rule
        except RuleError as error:
            raise PolicyError(
                error.what, where=", ".join(part for part in (line, error.where) if part), hint=error.hint
            ) from None

    @property
    def definitions(self) -> list[ColumnEquation]:
        """Columns that an equation defines, each after those it needs."""
        return self._settled[0]

    @property
    def drawn_rules(self) -> list[IntegrityRule]:
        """The rules that draws must obey; those about defined columns speak about what these are made of."""
        return self._settled[1]

    @cached_property
    def _settled(self) -> tuple[list[ColumnEquation], list[IntegrityRule]]:
        found, left = column_definitions(
            self.rules,
            lambda column: column in self.replaced and column not in self.mapped,
            lambda column: isinstance(self.replaced.get(column), Computed),
        )
        lacking = {column for column, domain in self.replaced.items() if isinstance(domain, Computed)} - {
            one.column for one in found
        }
        for column in sorted(lacking, key=str):
            where = self.policy.document.where("columns", str(column))
            raise PolicyError(
                f"no rule says how '{column}' is computed", where=where, hint=f'add "{column} = …" under keep'
            )
        return found, _without_wider_keys(left, self)

    @cached_property
    def rules(self) -> list[IntegrityRule]:
        """Everything that must be true: the policy's rules and what the schema declares."""
        return list(
            {
                rule.text: rule
                for rule in (*self.keep, *(c.rule for c in self.constraints if c.rule is not None and c.judged))
            }.values()
        )


def _without_wider_keys(rules: list[IntegrityRule], bound: BoundPolicy) -> list[IntegrityRule]:
    """Without `unique` over columns that contain a key whose columns are never null: they follow from it."""
    keys = [set(rule.body.columns) for rule in bound.rules if isinstance(rule.body, Unique)]
    sure = [key for key in keys if all(not bound.facts(column).nullable for column in key)]
    return [r for r in rules if not isinstance(r.body, Unique) or not any(key < set(r.body.columns) for key in sure)]


# Fitting
# -------


NUMBERS = ("integer", "decimal", "float")
MOMENTS = ("date", "timestamp")
_DIGITS = re.compile(r"(?:\[[0-9]-[0-9]\]|\[[0-9]+\]|[0-9]|\\d|\{\d{1,2}\})+")
_FORMED = {"uuid": "uuid", "inet": "ipv4", "cidr": "ipv4", "macaddr": "mac"}
"""Kinds of columns and the fakes that fit them."""
_FITS: dict[str, tuple[type[ValueDomain], ...]] = {
    "integer": (Integers, Values, Like, PatternDomain),
    "decimal": (Integers, Decimals, Values, Like),
    "float": (Integers, Decimals, Values, Like),
    "date": (Dates, Values, Like),
    "timestamp": (Dates, Timestamps, Values, Like),
    "text": (ValueDomain,),
}
_NOTHING = {
    "text": "",
    "json": "{}",
    "array": "{}",
    "list": "[]",
    "tsvector": "",
    "binary": "\\x",
    "hstore": "",
    "xml": "",
}
"""What stands for nothing where a null is not allowed."""
_WIDTHS = {
    "TINYINT": 7, "SMALLINT": 15, "INT2": 15, "MEDIUMINT": 23, "INTEGER": 31, "INT": 31, "INT4": 31, "SERIAL": 31,
    "BIGINT": 63,
    "INT8": 63,
}  # fmt: skip
_UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64}


def _bounds(native: str) -> tuple[int, int] | None:
    """The least number of a type of whole numbers and the first that is too large, as far as the type says.

    >>> _bounds("smallint"), _bounds("int(10) unsigned"), _bounds("UTINYINT"), _bounds("numeric")
    ((-32768, 32768), (0, 4294967296), (0, 256), None)
    """
    name, *rest = re.sub(r"\(\d+\)", " ", native.upper()).split() or [""]
    if name in _UNSIGNED:
        return 0, 1 << _UNSIGNED[name]
    if name not in _WIDTHS:
        return None
    return (0, 1 << _WIDTHS[name] + 1) if "UNSIGNED" in rest else (-(1 << _WIDTHS[name]), 1 << _WIDTHS[name])


def reason_not_fitting(domain: ValueDomain, column: ColumnFacts) -> str:
    """Return why the column cannot hold values of the domain; empty if it can."""
    if column.computed:
        return "the server computes this column from others"
    if isinstance(domain, Computed):
        return ""
    if _padded(column) and not (isinstance(domain, Empty) and column.nullable):
        return _misfit_padded(domain, column)
    if isinstance(domain, Paths):
        return "" if column.kind in ("json", "xml", "text") else f"{column.native} holds no documents"
    if isinstance(domain, Empty):
        return (
            ""
            if column.nullable or column.kind in _NOTHING
            else f"the type {column.native} has no empty value, and no null is allowed"
        )
    fitting = _FITS.get(column.kind, (Values, Like))
    if isinstance(domain, PatternDomain) and column.kind != "text":
        formed = isinstance(domain, FormedFakes) and _FORMED.get(column.kind) == domain.fake
        formed = formed or (column.kind == "uuid" and _spells_uuid(domain.pattern))
        digits = column.kind == "integer" and _DIGITS.fullmatch(domain.pattern) is not None
        return "" if formed or (digits and _narrow(domain, column)) else _unfit(domain, column)
    if not isinstance(domain, fitting):
        return _unfit(domain, column)
    if isinstance(domain, PatternDomain) and column.length is not None and width(domain.pattern)[0] > column.length:
        return f"every text of the pattern is longer than {column.native} allows"
    if isinstance(domain, Values):
        return _misfit_values(domain, column)
    if isinstance(domain, Ordered):
        return _misfit_ordered(domain, column)
    return ""


_USUAL = {
    "email": {"fakes": "email"},
    "name": {"fakes": "name"},
    "first name": {"fakes": "first_name"},
    "last name": {"fakes": "last_name"},
    "street": {"fakes": "street"},
    "city": {"fakes": "city"},
    "company": {"fakes": "company"},
    "phone": {"pattern": "[2-9][0-9]{9}"},
    "ip": {"fakes": "ipv4"},
}


def usual_domain(path: str) -> dict[str, Any]:
    """Return what stands for a value inside a document whose entry has no domain, by the last word of its path.

    >>> usual_domain("$.contact.email"), usual_domain("$.zq")
    ({'fakes': 'email'}, {'pattern': '[a-z]{8}[0-9]{4}'})
    """
    return _USUAL.get(personal_kind(path.rpartition(".")[2], "people"), {"pattern": "[a-z]{8}[0-9]{4}"})


def _padded(column: ColumnFacts) -> bool:
    """Whether the server fills every text up to the same length."""
    return column.kind == "text" and column.native.lower().startswith(("character(", "char(", "bpchar("))


def _misfit_padded(domain: ValueDomain, column: ColumnFacts) -> str:
    """Texts of exactly the length that the column has: a shorter one would come back with blanks behind it."""
    length = column.length or 1
    if isinstance(domain, PatternDomain) and width(domain.pattern) == (length, length):
        return ""
    if isinstance(domain, Values) and all(len(value) == length for value in domain.values):
        return ""
    if isinstance(domain, Like) or (isinstance(domain, Ordered) and _even(domain, length)):
        return ""
    return f"{column.native} holds texts of exactly {length} characters, and those of {_word(domain)} differ"


def _even(domain: Ordered, length: int) -> bool:
    return {len(domain.text(domain.low)), len(domain.text(domain.high))} == {length}


def width(pattern: str) -> tuple[int, int]:
    """The shortest and the longest text of a form."""
    import re._parser as parser  # type: ignore[import-not-found]

    low, high = parser.parse(pattern).getwidth()
    return int(low), int(high)


def _unfit(domain: ValueDomain, column: ColumnFacts) -> str:
    return f"a domain of {_word(domain)} does not fit the type {column.native}"


def _spells_uuid(pattern: str) -> bool:
    """Whether everything of this form has the length and the signs of a uuid."""
    return width(pattern) == (36, 36) and re.fullmatch(r"[0-9a-f\[\](){}|,-]+", pattern) is not None


def _narrow(domain: PatternDomain, column: ColumnFacts) -> bool:
    """Whether every number of a pattern of digits fits; leading zeros would be lost."""
    most = (_bounds(column.native) or (0, 1 << 63))[1]
    signs = re.sub(r"\[[^]]*\]|\\d", "9", domain.pattern)
    widest = re.sub(r"(.)\{(\d+)\}", lambda found: found[1] * int(found[2]), signs)
    return not re.match(r"0|\[0|\\d", domain.pattern) and widest.isdigit() and int(widest) < most


def _misfit_values(domain: Values, column: ColumnFacts) -> str:
    strange = [value for value in domain.values if column.choices and value not in column.choices]
    if strange:
        return f"'{strange[0]}' is no value of the type {column.native}"
    if column.length is not None and max(map(len, domain.values)) > column.length:
        return f"a value of the list is longer than {column.native} allows"
    form = {"integer": r"[+-]?\d+", "decimal": r"[+-]?\d+(\.\d+)?", "float": r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?"}.get(
        column.kind
    )
    wrong = [value for value in domain.values if form and not re.fullmatch(form, value)]
    return f"'{wrong[0]}' is no value of the type {column.native}" if wrong else ""


def _misfit_ordered(domain: Ordered, column: ColumnFacts) -> str:
    bounds = _bounds(column.native)
    if isinstance(domain, Integers) and bounds and not bounds[0] <= domain.low <= domain.high < bounds[1]:
        return f"the bounds are wider than {column.native}"
    if isinstance(domain, Decimals) and column.places is not None and domain.places > column.places:
        return f"{domain.places} decimal places do not fit {column.native}"
    digits = re.search(r"\((\d+)\s*(?:,\s*(\d+)\s*)?\)", column.native) if column.kind == "decimal" else None
    if digits is not None:
        whole = int(digits[1]) - int(digits[2] or 0)
        if max(abs(domain.low), abs(domain.high)) // domain.unit >= 10**whole:
            return f"the bounds are wider than {column.native}"
    if column.length is not None and max(len(domain.text(domain.low)), len(domain.text(domain.high))) > column.length:
        return f"the bounds are longer than {column.native} allows"
    return ""


def fit_domain(domain: ValueDomain, column: ColumnFacts) -> ValueDomain:
    """The domain as the column's type writes it."""
    if isinstance(domain, Empty):
        return Empty(None if column.nullable else _NOTHING[column.kind])
    if isinstance(domain, Dates) and column.kind == "timestamp":
        domain = Timestamps(domain.low, domain.high, 1)
    if isinstance(domain, Timestamps) and zoned(column):
        domain = replace(domain, zone="+00")
    if isinstance(domain, PatternDomain) and column.length is not None:
        domain = replace(domain, longest=min(domain.longest, column.length))
    return domain


def zoned(column: ColumnFacts) -> bool:
    """Whether the column keeps a time zone."""
    native = column.native.upper()
    return column.kind == "timestamp" and ("WITH TIME ZONE" in native or "TIMESTAMPTZ" in native)


def _word(domain: ValueDomain) -> str:
    return next(iter(domain.declared()))
