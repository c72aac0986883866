"""A policy bound to the schema of its database: what is replaced, which columns change together, and every rule.

Notation
    linked    columns that refer to each other (foreign keys, `references` rules) or that the policy wants consistent: one map
              from old to new values serves them all
    free      replaced columns that stand alone: every record gets a value of its own

Invariants
    I1  A linked map is one-to-one, so keys stay unique, references stay valid, and records that agreed on a linked column still do:
        rules may group by the old values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sfumato.data.database import ColumnFacts, Schema
from sfumato.errors import PolicyError
from sfumato.io.database import DatabaseSource
from sfumato.policy import replacements
from sfumato.policy.declared_rules import Constraint, constraints_of
from sfumato.policy.fitting import MOMENTS, NUMBERS, fitted, misfit
from sfumato.policy.keep import require_linear
from sfumato.policy.own_texts import with_code
from sfumato.policy.plugins import coded
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Computed, Empty, Like, ValueDomain
from sfumato.policy.rules import IntegrityRule, RuleError, bind, conjuncts, parse
from sfumato.policy.rules.definitions import ColumnEquation, defined_by
from sfumato.policy.rules.joined import joins
from sfumato.policy.rules.tree import ColumnValue, References, Unique
from sfumato.registry import nearest


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
        self.declared = {self.column(name): policy.columns[name] for name in policy.columns}
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
        """Reads everything that is otherwise read when it is needed first, so that a misfit shows before any row moves."""
        assert self.drawn_rules is not None
        tied = {frozenset((one.child[0].table, one.parent[0].table)) for one in self.references}
        for place, rule in enumerate(self.keep):
            for one, other in (pair for part in conjuncts(rule.body) for pair in joins(part)):
                if frozenset((one, other)) not in tied:
                    where, hint = self.policy.document.where("keep", place), "add a 'references' rule, or leave this one out"
                    raise PolicyError(f"no rule says how table '{one}' refers to table '{other}'", where=where, hint=hint)

    # ---- names -----------------------------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> dict[str, ColumnValue]:
        """Every column of the database by its full name."""
        return {f"{t.name}.{c.name}": ColumnValue(c.name, t.name) for t in self.schema.tables for c in t.columns}

    def column(self, name: str, *path: str | int) -> ColumnValue:
        if name not in self.columns:
            tables = {table.name for table in self.schema.tables}
            table = name.rpartition(".")[0]
            what = f"the database has no column '{name}'" if table in tables else f"the database has no table for '{name}'"
            where = self.policy.document.where(*(path or ("columns", name)))
            raise PolicyError(what, where=where, hint=nearest(name, list(self.columns)))
        return self.columns[name]

    def facts(self, column: ColumnValue) -> ColumnFacts:
        return self.schema.table(str(column.table)).column(column.name)

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
        read = replacements.read(declared, where)  # type: ignore[arg-type]
        domain = with_code(read, self.policy.plugins, where)
        wrong = misfit(domain, self.facts(column))
        if wrong:
            raise PolicyError(f"'{column}': {wrong}", where=where, hint="choose a domain that the column can hold")
        if isinstance(domain, Like):
            self.column(domain.column, "columns", str(column), "domain")
        found = fitted(domain, self.facts(column))
        if isinstance(found, Empty) and found.stands is not None and self._must_differ(column):
            raise PolicyError(f"'{column}' is unique and cannot be empty in every row", where=where, hint="give it a domain")
        return found

    def _must_differ(self, column: ColumnValue) -> bool:
        table = self.schema.table(str(column.table))
        return (column.name,) in (table.primary_key, *table.uniques)

    # ---- columns that change together ------------------------------------------------------------------------------------

    @cached_property
    def references(self) -> list[References]:
        """Foreign keys, and `references` rules of the policy."""
        own = [rule.body for rule in self.keep if isinstance(rule.body, References)]
        declared = [constraint.rule.body for constraint in self.constraints if constraint.kind == "foreign key" and constraint.rule]
        return [*(body for body in declared if isinstance(body, References)), *own]

    def dealt(self, child: ColumnValue, parent: ColumnValue) -> bool:
        """Whether children are dealt to parents anew: the referring column is drawn from the parent's keys."""
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
        """The maps that will be made: linked columns of which one is replaced, and columns replaced deterministically."""
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
                    LinkedColumns(group, self._root(roots), self.replaced[roots[0]], any(column in fixed for column in group))
                )
            elif fixed & set(group):
                what = f"'{next(iter(fixed & set(group)))}' is deterministic but not replaced"
                raise PolicyError(what, where="data.deterministic")
        return found

    def _root(self, roots: Sequence[ColumnValue]) -> ColumnValue:
        """One domain for all; a child may repeat its parent's."""
        first, where = roots[0], self.policy.document.where("columns", str(roots[-1]))
        if any(isinstance(self.replaced[one], Empty) for one in roots):
            raise PolicyError(f"'{first}' is linked to other columns and cannot be emptied", where=where, hint="give it a domain")
        if isinstance(self.replaced[first], Like):
            hint = "give it a domain of its own"
            raise PolicyError(f"'{first}' is linked to other columns and cannot be drawn like one", where=where, hint=hint)
        if any(self.replaced[other] != self.replaced[first] for other in roots[1:]):
            hint = "name only one of them, or give both the same domain"
            raise PolicyError(f"'{roots[-1]}' and '{first}' change together but have different domains", where=where, hint=hint)
        return first

    @cached_property
    def mapped(self) -> dict[ColumnValue, LinkedColumns]:
        """Every column that a linked map changes."""
        return {column: link for link in self.links for column in link.columns}

    @cached_property
    def free(self) -> dict[ColumnValue, ValueDomain]:
        given = {*self.mapped, *self.emptied, *(one.column for one in self.definitions)}
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

    # ---- rules -----------------------------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> dict[str, str | None]:
        """How rules read each column: number, date, or as its values turn out."""
        found: dict[str, str | None] = {}
        for name, column in self.columns.items():
            kind = self.facts(column).kind
            found[name] = "number" if kind in NUMBERS else "date" if kind in MOMENTS else None
            domain = self.replaced.get(column)
            if found[name] is None and isinstance(domain, replacements.Ordered):
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
            rule = coded(bind(parse(text, words), self.kinds), self.policy.plugins, line)
            require_linear(rule, line)
            return rule
        except RuleError as error:
            raise PolicyError(error.what, where=", ".join(part for part in (line, error.where) if part), hint=error.hint) from None

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
        found, left = defined_by(
            self.rules,
            lambda column: column in self.replaced and column not in self.mapped,
            lambda column: isinstance(self.replaced.get(column), Computed),
        )
        lacking = {column for column, domain in self.replaced.items() if isinstance(domain, Computed)} - {
            one.column for one in found
        }
        for column in sorted(lacking, key=str):
            where = self.policy.document.where("columns", str(column))
            raise PolicyError(f"no rule says how '{column}' is computed", where=where, hint=f'add "{column} = …" under keep')
        return found, _without_wider_keys(left, self)

    @cached_property
    def rules(self) -> list[IntegrityRule]:
        """Everything that must be true: the policy's rules and what the schema declares."""
        return list({rule.text: rule for rule in (*self.keep, *(c.rule for c in self.constraints if c.rule is not None))}.values())


def _without_wider_keys(rules: list[IntegrityRule], bound: BoundPolicy) -> list[IntegrityRule]:
    """Without `unique` over columns that contain a key whose columns are never null: they follow from it."""
    keys = [set(rule.body.columns) for rule in bound.rules if isinstance(rule.body, Unique)]
    sure = [key for key in keys if all(not bound.facts(column).nullable for column in key)]
    return [r for r in rules if not isinstance(r.body, Unique) or not any(key < set(r.body.columns) for key in sure)]
