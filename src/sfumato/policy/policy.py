"""A policy: what must stay private and what must stay true, read once and checked completely before any data moves.

>>> policy = Policy.parse({
...     "version": 1, "data": {"kind": "table"},
...     "columns": {"name": "identifier", "age": {"role": "quasi-identifier"}, "illness": "sensitive"},
...     "protect": [{"k-anonymity": {"k": 3}}]})
>>> policy.quasi_identifiers, policy.sensitive, str(policy.claims[0])
(('age',), ('illness',), 'k-anonymity {k: 3}')


Public
------
The policy as it may be shown: without sources, ledger, keys or paths, with the hierarchies it names beside it.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

from sfumato.core.confinement import declared_path
from sfumato.core.effort import EFFORTS, USUAL, Effort
from sfumato.core.errors import PolicyError, PolicyErrors
from sfumato.core.html.pages import card_html, table_html
from sfumato.core.registry import find, nearest
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table
from sfumato.io.hierarchy_files import build_generalization, is_standing, require_level, require_rule, save_hierarchy
from sfumato.io.source import Source
from sfumato.io.value_coding import is_coded, with_table
from sfumato.policy.custom_code import Plugins
from sfumato.policy.requirements import PrivacyRequirement, read_requirements
from sfumato.policy.sections import (
    DateShift,
    Person,
    SampledPopulation,
    Series,
    read_person,
    read_population,
    require_population,
    require_private,
    share_of,
)
from sfumato.policy.yaml_document import Document, instantiate, parse_yaml, read_yaml, require_shallow, write_yaml

if TYPE_CHECKING:
    from sfumato.policy.builder import PolicyDraft


T = TypeVar("T")
UNPROTECTED = "unprotected:"
"""Begins the identifier of a warning about a sensitive column that no privacy requirement names."""
OPEN = "open:"
"""Begins the identifier of an open point of a release: something measured that no requirement limits."""
Role = Literal["identifier", "quasi-identifier", "sensitive", "other", "replaced"]
WrittenRole = Literal["identifier", "quasi-identifier", "sensitive", "other", "replaced", "drop", "review"]
"""Roles as a policy file has them: a dropped column is left out, and one under review is decided by a person before
publishing."""
MOST_IMPORTANT = 1000
"""The largest weight of a column."""
_MEANT = {
    "quasi-identifier": "qi quasi quasiidentifier quasi-id quasid key-variable",
    "identifier": "id direct direct-identifier identifying pii key name",
    "sensitive": "secret confidential sensitive-attribute sa private hide hidden",
    "other": "insensitive non-sensitive nonsensitive keep kept plain public none as-is unchanged",
    "replaced": "replace fake synthetic mask masked pseudonym synthesize invent",
    "drop": "dropped remove removed delete exclude excluded ignore ignored skip omit leave-out suppress suppressed",
    "review": "unknown undecided ask todo",
}
"""Words that people write for a role, which the error answers with the role."""
_KEYS = (
    "version", "data", "columns", "protect", "knows", "keep", "method", "utility", "ledger", "key", "person",
    "population",
    "series", "accept", "plugins", "effort", "title", "publisher",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A warning or open point that the data holder accepts."""

    point: str
    """Its identifier."""
    reason: str
    by: str = ""
    """Who accepts it."""


class Column(BaseModel):
    """What the policy says about one column."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    role: WrittenRole = Field(description="identifier, quasi-identifier, sensitive, other, replaced, drop or review")
    proposed: WrittenRole | None = Field(
        default=None,
        description="for a column under review: the role that 'discover' proposes and --accept-roles takes",
    )
    hierarchy: Any = Field(
        default=None, description="a file, flat, ranges, or {intervals|prefix|dates: …}, or a nested root"
    )
    boundary: list[str] | dict[str, int | str] | None = Field(
        default=None, description="most general nodes that are allowed"
    )
    at_most: int | str | None = Field(
        default=None,
        description="most general level allowed: its name (decade, chapter, width 10) or number (0: the values)",
    )
    uniform: bool = Field(
        default=False, description="true: every label is of the level that 'at_most' names, none finer or coarser"
    )
    publish: bool = Field(default=True, description="false: the adversary may know the column, but it is not published")
    domain: Any = Field(default=None, description="values that a replaced column is drawn from")
    constant: bool = Field(
        default=False, description="the same in all rows of a person; generalized once where rows are linked"
    )
    persistent: bool | None = Field(
        default=None, description="true: the value stays with a person, so several rows together must not disclose it"
    )
    dates: DateShift | None = Field(
        default=None, description="{shift: days}: all dates of a person are shifted by the same random number of days"
    )


class Utility(BaseModel):
    """What the release should be good at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    minimize: Literal["loss", "entropy_loss", "ntil"] = Field(
        default="loss", description="the loss that methods minimize"
    )
    suppress_at_most: float | None = Field(
        default=None, description="largest share of suppressed records, like 2% or 0.02"
    )

    importance: dict[str, float] = Field(
        default_factory=dict,
        description="weights of quasi-identifiers in the loss to be minimized, like {birth_date: 3}; others have 1",
    )

    @field_validator("suppress_at_most", mode="before")
    @classmethod
    def _share(cls, value: Any) -> Any:
        return None if value is None else share_of(value)

    @field_validator("importance")
    @classmethod
    def _positive(cls, value: dict[str, float]) -> dict[str, float]:
        if any(not 0 < weight <= MOST_IMPORTANT for weight in value.values()):
            raise ValueError(f"must be weights above 0, {MOST_IMPORTANT} at most, like {{birth_date: 3}}")
        return value


class Book(BaseModel):
    """The ledger that releases under a policy are remembered in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(min_length=1, description="path of the ledger, relative to the policy")
    new: bool = Field(default=False, description="true: start the ledger if the file does not exist")


@dataclass(frozen=True, slots=True)
class Choice:
    """A method by name, with its parameters as written."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Policy:
    """A policy: what must stay private and what must stay true.

    `read` takes a file, `parse` a mapping or text with the same keys, and `table` starts a draft in code.

    Examples
    --------
    >>> import sfumato as sf
    >>> policy = sf.Policy.parse({
    ...     "version": 1,
    ...     "columns": {"name": "identifier", "age": "quasi-identifier", "illness": "sensitive"},
    ...     "protect": [{"k-anonymity": {"k": 5}}],
    ... })
    >>> policy.sensitive
    ('illness',)
    """

    data: Source
    columns: Mapping[str, Column]
    claims: tuple[PrivacyRequirement, ...]
    method: Choice | None
    utility: Utility
    keep: tuple[str, ...] = ()
    knows: tuple[str, ...] = ()
    ledger: Book | None = None
    key: tuple[str, ...] = ()
    person: Person | None = None
    """The columns that name a person, if a person may have several rows."""
    population: SampledPopulation | None = None
    """Whom the table is a sample of."""
    series: Series = field(default_factory=Series)
    accept: tuple[str, ...] = ()
    """Warnings about columns that the data holder has looked at and accepts, by their identifiers."""
    accept_reasons: Mapping[str, str] = field(default_factory=dict)
    """Why a warning is accepted, by its identifier, where the policy says so."""
    accept_names: Mapping[str, str] = field(default_factory=dict)
    """Who accepts it, by its identifier, where the policy says so."""
    effort: Effort = USUAL
    """How long searches may take: quick, balanced or thorough."""
    title: str = ""
    """What the data set is called, on reports."""
    publisher: str = ""
    """Who publishes it, on reports."""
    plugins: Plugins | None = None
    """Own code that rules and domains call; off unless the environment allows it."""
    dropped: tuple[str, ...] = ()
    """Columns of the role 'drop': left out of every release, as columns that the policy does not name are."""
    undecided: Mapping[str, WrittenRole | None] = field(default_factory=dict)
    """Columns of the role 'review' with the role that is proposed; nothing is published while there are any."""
    document: Document = field(default_factory=lambda: Document({}), repr=False, compare=False)
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """The policy in a YAML file."""
        return cls.from_document(read_yaml(Path(path)))

    @classmethod
    def parse(cls, tree: Mapping[str, Any] | str, *, base: str | Path = ".") -> Policy:
        """A policy built in code, with the same keys as the file; or the text of a file."""
        if isinstance(tree, str):
            return cls.from_document(parse_yaml(tree, name="policy", base=Path(base)))
        require_shallow(tree)
        return cls.from_document(Document(dict(tree), base=Path(base)))

    @classmethod
    def table(cls, data: Any = None, **settings: Any) -> PolicyDraft:
        """A draft about a table (a path or a frame), to be built word by word: ``.quasi("age",
        sf.intervals(5)).protect(…)``."""
        from sfumato.policy.builder import draft_policy

        return draft_policy(data, **settings)

    def __repr__(self) -> str:
        roles = Counter(column.role for column in self.columns.values())
        claims = ", ".join(map(str, self.claims)) or "no claims"
        columns = ", ".join(f"{count} {role}" for role, count in roles.items())
        return f"Policy({self.data.name}{': ' + columns if columns else ''}; {claims})"

    def _repr_html_(self) -> str:
        rows = [
            (name, column.role, "" if column.hierarchy is None else str(column.hierarchy))
            for name, column in self.columns.items()
        ]
        claims = "; ".join(map(str, self.claims)) or "nothing is promised"
        lead = f"{claims}. Method: {self.method.name if self.method else 'chosen by the planner'}."
        return card_html("Policy", lead, (), table_html(("column", "role", "hierarchy"), rows) if rows else "")

    @classmethod
    def from_document(cls, document: Document) -> Policy:
        """The policy, or all that is wrong with it at once: what can be read by itself is read, whatever else is
        wrong."""
        errors = PolicyErrors()
        _require_keys(document, errors)
        written = _columns(document, errors)
        columns = {
            name: column for name, one in written.items() if (column := _decided(one)).role not in ("drop", "review")
        }
        parts: dict[str, Any] = {"columns": columns}
        shown = [name for name, one in columns.items() if one.role != "identifier" and one.publish]
        for name, read in _READ.items():
            with errors:
                parts[name] = read(document)
        with errors:
            parts["data"] = _source(document, tuple(shown), parts.get("person"))
        with errors:
            parts["claims"] = _claims(document, columns, errors)
        _require_known(parts.get("claims", ()), document, columns, errors)
        errors.settle()
        dropped = tuple(name for name in written if name not in columns)
        undecided = {name: one.proposed for name, one in written.items() if one.role == "review"}
        policy = cls(**parts, dropped=dropped, undecided=undecided, document=document)
        checks = (
            policy._check_claims,
            policy._check_person,
            policy._check_population,
            policy._check_accepted,
            policy._check_importance,
        )
        for check in checks:
            with errors:
                check()
        errors.settle()
        return policy

    def accept_roles(self) -> Policy:
        """The same policy with the proposed role for every column under review; one without a proposal is an error.

        >>> tree = {"version": 1, "columns": {"age": {"role": "review", "proposed": "quasi-identifier"}}}
        >>> Policy.parse(tree).accept_roles().quasi_identifiers
        ('age',)
        """
        if not self.undecided:
            return self
        errors, columns = PolicyErrors(), dict(self.document.tree["columns"])
        for name, proposed in self.undecided.items():
            with errors:
                if proposed in (None, "review"):
                    where = self.document.where("columns", name)
                    raise PolicyError(
                        f"no role is proposed for '{name}'", where=where, hint=f"write a role for it: {_roles_listed()}"
                    )
            entry = columns[name] if isinstance(columns[name], Mapping) else {}
            columns[name] = {key: value for key, value in entry.items() if key != "proposed"} | {"role": proposed}
        errors.settle()
        return Policy.from_document(replace(self.document, tree={**self.document.tree, "columns": columns}))

    def require_decided(self) -> None:
        """Raise a `PolicyError` that names every column under review."""
        errors = PolicyErrors()
        for name, proposed in self.undecided.items():
            with errors:
                what = f"'{name}' needs a decision: its role is 'review'" + (
                    f" (proposed: {proposed})" if proposed else ""
                )
                hint = f"write a role for it ({_roles_listed()}), or take all proposals with --accept-roles"
                raise PolicyError(what, where=self.document.where("columns", name), hint=hint)
        errors.settle()

    def reading(self, settings: Mapping[str, Any]) -> Policy:
        """The same policy with these settings under ``data:``, as they are given on the command line."""
        given = self.document.tree.get("data") or {}
        data = {"source": given} if isinstance(given, str) else dict(given)
        tree = {**self.document.tree, "data": {**data, **settings}}
        return self if not settings else Policy.from_document(replace(self.document, tree=tree))

    def with_effort(self, effort: Effort | None) -> Policy:
        """Return the same policy with this effort, as it is given on the command line."""
        return (
            self
            if effort is None
            else Policy.from_document(replace(self.document, tree={**self.document.tree, "effort": effort}))
        )

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made of this policy under a key, made at the first time of asking."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def _check_claims(self) -> None:
        for claim in self.claims:
            for name in claim.model.compared_columns:
                if name not in claim.hide:
                    what = f"'reference' names '{name}', which the claim does not hide"
                    raise PolicyError(what, where=claim.where, hint=nearest(name, list(claim.hide)))
                if claim.needs_joint:
                    what = f"'reference' counts values of '{name}', and the claim is about a combination of columns"
                    hint = "leave 'reference' out, or write one rule for each column"
                    raise PolicyError(what, where=claim.where, hint=hint)
            if self.data.name not in claim.model.kinds:
                what = f"{claim.model.name} does not speak about {self.data.name} data"
                raise PolicyError(
                    what, where=claim.where, hint="see 'sfumato check --help' for the models of each kind"
                )
            if self.data.name == "table" and claim.model.needs_sensitive and not claim.hide:
                hint = "give one column the role 'sensitive', or write {given: …, hide: …, by: …}"
                raise PolicyError(f"{claim.model.name} needs a column to hide", where=claim.where, hint=hint)

    def _check_importance(self) -> None:
        for name in self.utility.importance:
            if name not in self.quasi_identifiers and name not in self.undecided:
                known = list(self.quasi_identifiers)
                what = f"'{name}' has an importance and is no quasi-identifier"
                where = self.document.where("utility", "importance", name)
                raise PolicyError(what, where=where, hint=nearest(name, known) if known else "leave it out")

    def _check_person(self) -> None:
        if self.person is None:
            if getattr(self.data, "people", ""):
                hint = "say which columns name a person in both tables: 'person: patient_id'"
                raise PolicyError("there is a table of people", where=self.document.where("data", "people"), hint=hint)
            for name, column in self.columns.items():
                if column.constant or column.persistent is not None or column.dates is not None:
                    where = self.document.where("columns", name)
                    raise PolicyError(
                        f"'{name}' speaks of rows of one person", where=where, hint="say whose rows they are: 'person:'"
                    )
            return
        if self.data.name != "table":
            raise PolicyError(
                "'person' is about rows of a table", where=self.document.where("person"), hint="remove it"
            )
        require_private(self.person, {name: column.role for name, column in self.columns.items()}, self.document)

    def _check_population(self) -> None:
        if self.population is not None and self.data.name != "table":
            hint = "remove it"
            raise PolicyError(
                "'population' is about people in a table", where=self.document.where("population"), hint=hint
            )
        require_population(self.population, self.claims, self.document)
        if self.population is not None and self.population.calibrate:
            self._check_calibration(self.population)

    def _check_calibration(self, said: SampledPopulation) -> None:
        """Weights that are made anew are published by themselves; totals are kept of what is published."""
        where, column = self.document.where("population"), self.columns.get(str(said.weight))
        if column is None or column.role != "other" or not column.publish or column.hierarchy is not None:
            hint = f"write '{said.weight}: other' under columns"
            raise PolicyError("calibrated weights are a published column of the role 'other'", where=where, hint=hint)
        strange = [name for name in said.calibrate if name not in self.published or name == said.weight]
        if strange:
            raise PolicyError(
                f"'{strange[0]}' is not published, so no total of it can be kept", where=where, hint="name others"
            )
        if self.of_population:
            what = (
                "claims about the population are judged by the weights that were drawn, and calibrated ones are others"
            )
            raise PolicyError(what, where=where, hint="say 'fraction' or 'file', or leave 'calibrate' out")

    @property
    def record_word(self) -> str:
        """What records are, in sentences with their number: people, or rows of people who may have several."""
        return "people" if self.person is None else "rows"

    @property
    def candidate_word(self) -> str:
        """What joint classes are classes of: rows only where nothing ties the rows of a person together."""
        return "people" if self.person is None or self.person.linked else "rows"

    @property
    def of_population(self) -> bool:
        """Whether a requirement is about the population."""
        return any(claim.model.of_population for claim in self.claims)

    @property
    def calibrated(self) -> str | None:
        """The column of weights that is published anew, where the policy asks for it."""
        return self.population.weight if self.population is not None and self.population.calibrate else None

    def everybody(self) -> Table | None:
        """The table of the population, read once, where a requirement asks for it."""
        if self.population is None or self.population.file is None or not self.of_population:
            return None
        return self.once("everybody", partial(self.population.read, self.data, self.base))

    def everybody_file(self) -> Path | None:
        """Where that table lies, when it is a text file whose cells mean what is written in them."""
        if self.population is None or self.population.file is None:
            return None
        return self.data.as_written(declared_path(self.base, self.population.file))

    def _check_accepted(self) -> None:
        for identifier in self.accept:
            reason, name = (told.get(identifier, "").strip() for told in (self.accept_reasons, self.accept_names))
            if identifier.startswith(OPEN) and not (reason and name):
                hint = f"write '- {{\"{identifier}\": {{by: NAME, reason: why it may be published so}}}}'"
                what = f"'{identifier}' is accepted without a name and a reason"
                raise PolicyError(what, where=self.document.where("accept"), hint=hint)
            if identifier.startswith(UNPROTECTED) and not reason:
                hint = f"write '- {{{identifier}: why it may be published so}}'"
                raise PolicyError(
                    f"'{identifier}' is accepted without a reason", where=self.document.where("accept"), hint=hint
                )
            if not identifier.startswith(OPEN) and self.data.name not in ("table", "baskets"):
                hint = "a database accepts warnings under 'data:'" if self.data.name == "database" else "remove it"
                raise PolicyError(
                    "'accept' is about columns of a table", where=self.document.where("accept"), hint=hint
                )

    @property
    def acceptances(self) -> tuple[Acceptance, ...]:
        """What the data holder accepts with a reason, in the order of the policy."""
        told = self.accept_reasons
        return tuple(
            Acceptance(each, told[each], self.accept_names.get(each, "")) for each in self.accept if each in told
        )

    def with_role(self, role: Role) -> tuple[str, ...]:
        """The published columns with this role, in the order of the policy."""
        return names_with(self.columns, role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self.with_role("quasi-identifier")

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.with_role("sensitive")

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Published sensitive columns that no privacy requirement names."""
        claims = [claim for claim in self.claims if claim.model.needs_sensitive]
        hidden = {name for claim in claims if not claim.model.is_trivial(claim.model.required()) for name in claim.hide}
        return tuple(name for name in self.sensitive if name not in hidden)

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Unprotected columns for which the policy gives no reason under ``accept:``."""
        return tuple(name for name in self.unprotected if UNPROTECTED + name not in self.accept)

    @property
    def published(self) -> tuple[str, ...]:
        """Every column that a release of one table may contain."""
        return tuple(name for name, column in self.columns.items() if column.role != "identifier" and column.publish)

    @property
    def base(self) -> Path:
        return self.document.base


def _require_keys(document: Document, errors: PolicyErrors) -> None:
    for key in document.tree:
        if key not in _KEYS:
            with errors:
                raise PolicyError(f"unknown key '{key}'", where=document.where(key), hint=nearest(key, list(_KEYS)))
    if str(document.tree.get("version", "")) != "1":
        with errors:
            raise PolicyError(
                "the policy needs 'version: 1'", where=document.where("version"), hint="write 'version: 1' first"
            )


def names_with(columns: Mapping[str, Column], role: Role, *, hidden_too: bool = False) -> tuple[str, ...]:
    """Columns with a role, in the order of the policy; of those that this release leaves out only when asked for."""
    return tuple(name for name, column in columns.items() if column.role == role and (column.publish or hidden_too))


def _claims(document: Document, columns: Mapping[str, Column], errors: PolicyErrors) -> tuple[PrivacyRequirement, ...]:
    known, hidden = names_with(columns, "quasi-identifier"), names_with(columns, "sensitive")
    secret = names_with(columns, "sensitive", hidden_too=True)
    return read_requirements(document.tree.get("protect"), document, known, hidden, secret, errors)


def _require_known(
    claims: Sequence[PrivacyRequirement], document: Document, columns: Mapping[str, Column], errors: PolicyErrors
) -> None:
    """Claims name columns of the policy; one that was written wrongly is known all the same."""
    entries = document.tree.get("columns") or {}
    listed = [str(name) for name in entries] if isinstance(entries, Mapping) else []
    for claim in claims:
        for name in dict.fromkeys((*claim.given, *claim.hide)):
            with errors:
                if listed and name not in listed:
                    hint = nearest(name, listed)
                    raise PolicyError(f"the claim names an unknown column '{name}'", where=claim.where, hint=hint)
                if name in listed and name not in columns and _role_of(entries[name]) == "drop":
                    hint = "give it another role, or leave it out of the claim"
                    raise PolicyError(
                        f"the claim names '{name}', which is left out of the release", where=claim.where, hint=hint
                    )


def _source(document: Document, published: tuple[str, ...], person: Person | None) -> Source:
    given = document.tree.get("data") or {"kind": "table"}
    if isinstance(given, str):
        given = {"kind": "table", "source": given}
    if not isinstance(given, Mapping):
        raise PolicyError(
            "'data' is a file or a mapping", where=document.where("data"), hint="write 'data: {source: people.csv}'"
        )
    values = dict(given)
    cls = find("io", Source, str(values.pop("kind", "table")), where=document.where("data", "kind"))
    own: dict[str, Any] = {"base": document.base, "published": published}
    own |= {"person": person.columns, "linked": person.linked} if person is not None else {}
    for key in {"base", "published", "person", "linked"} & set(values):
        known = [name for name, field in cls.model_fields.items() if not field.exclude]
        raise PolicyError(f"unknown key '{key}'", where=document.where("data", key), hint=nearest(key, known))
    return instantiate(cls, values | own, document, "data")


def _columns(document: Document, errors: PolicyErrors) -> dict[str, Column]:
    entries = document.tree.get("columns") or {}
    columns: dict[str, Column] = {}
    if not isinstance(entries, Mapping):
        with errors:
            hint = "write 'age: quasi-identifier'"
            raise PolicyError("'columns' maps names to roles", where=document.where("columns"), hint=hint)
        return columns
    for name, entry in entries.items():
        with errors:
            values = {"role": entry} if isinstance(entry, str) else entry
            _require_role(values, str(name), document)
            column = instantiate(Column, values, document, "columns", name)
            require_rule(column.hierarchy, column=str(name), where=document.where("columns", name, "hierarchy"))
            column = _bounded(column, str(name), document)
            _require_boundary(column, str(name), document)
            _require_coding(column, str(name), document)
            columns[str(name)] = column
    return columns


def _decided(column: Column) -> Column:
    """A column under review as if its proposal were taken."""
    return (
        column
        if column.role != "review" or column.proposed is None
        else column.model_copy(update={"role": column.proposed})
    )


def _role_of(entry: Any) -> str:
    return str(entry.get("role", "")) if isinstance(entry, Mapping) else str(entry)


def _roles_listed() -> str:
    return ", ".join(role for role in get_args(WrittenRole) if role != "review")


def _require_role(values: Any, name: str, document: Document) -> None:
    """Answer a word that is no role with the role that was meant."""
    for key in ("role", "proposed"):
        role = values.get(key) if isinstance(values, Mapping) else None
        if isinstance(role, str) and role not in get_args(WrittenRole):
            plain = re.sub(r"[\s_]+", "-", role.strip().lower())
            meant = {word: known for known, words in _MEANT.items() for word in (known, *words.split())}
            known = meant.get(plain) or meant.get(plain.replace("-", ""))
            hint = f"did you mean '{known}'?" if known else nearest(plain, list(get_args(WrittenRole)))
            raise PolicyError(f"'{role}' is no role of a column", where=document.where("columns", name), hint=hint)


def _bounded(column: Column, name: str, document: Document) -> Column:
    """Return the column with the level of ``at_most`` as its boundary, and numbers of levels as numbers."""
    boundary = column.boundary
    if column.at_most is not None:
        if boundary is not None:
            where = document.where("columns", name, "at_most")
            raise PolicyError(f"column '{name}' has a boundary and 'at_most'", where=where, hint="write one of them")
        boundary = {"level": column.at_most}
    if column.uniform and not isinstance(boundary, dict):
        where = document.where("columns", name, "uniform")
        hint = f"name the level, like '{name}: {{role: quasi-identifier, at_most: 1, uniform: true}}'"
        raise PolicyError(f"column '{name}' is uniform, and no level is named", where=where, hint=hint)
    if isinstance(boundary, dict):
        boundary = {key: int(level) if str(level).lstrip("-").isdigit() else level for key, level in boundary.items()}
    return column.model_copy(update={"boundary": boundary, "at_most": None})


def boundary_place(document: Document, name: str) -> str:
    """Return where a policy says how far a column may be generalized."""
    entry = (document.tree.get("columns") or {}).get(name)
    return document.where("columns", name, "at_most" if "at_most" in (entry or {}) else "boundary")


def _require_boundary(column: Column, name: str, document: Document) -> None:
    if column.boundary is None:
        return
    where = boundary_place(document, name)
    named = isinstance(column.boundary, dict) and isinstance(column.boundary.get("level"), str)
    flat = isinstance(column.hierarchy, str) and column.hierarchy == "ranges"
    if flat or (column.hierarchy is None and not named):
        hint = "give the column a hierarchy with named groups"
        raise PolicyError(f"column '{name}' has a boundary but no hierarchy", where=where, hint=hint)
    if isinstance(column.boundary, dict):
        strange = [key for key in column.boundary if key != "level"]
        if strange:
            raise PolicyError(
                f"unknown key '{strange[0]}' in a boundary", where=where, hint=nearest(strange[0], ["level"])
            )
        level = column.boundary.get("level", -1)
        if isinstance(level, int) and level < 0:
            raise PolicyError("a boundary needs a level of at least 0", where=where, hint="for example {level: 2}")
        if isinstance(level, str):
            require_level(column.hierarchy, level, column=name, where=where)


def _require_coding(column: Column, name: str, document: Document) -> None:
    """Only quasi-identifiers are published through their hierarchies: elsewhere coding would be a word without a
    deed."""
    if is_coded(column.hierarchy) and _decided(column).role != "quasi-identifier":
        what = f"'{name}' is no quasi-identifier: its values are published as they are, and cannot be coded"
        raise PolicyError(what, where=document.where("columns", name, "hierarchy"), hint="make it a quasi-identifier")


def _choice(document: Document) -> Choice | None:
    entry = document.tree.get("method")
    if entry is None:
        return None
    if isinstance(entry, str):
        return Choice(entry)
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise PolicyError(
            "'method' names one method", where=document.where("method"), hint="write 'method: {clustering: {}}'"
        )
    ((name, parameters),) = entry.items()
    if parameters is not None and not isinstance(parameters, Mapping):
        where = document.where("method", str(name))
        raise PolicyError(f"'{name}' takes named parameters", where=where, hint=f"write 'method: {{{name}: {{}}}}'")
    return Choice(str(name), dict(parameters or {}))


def _book(document: Document) -> Book | None:
    entry = document.tree.get("ledger")
    if entry is None or entry == "":
        return None
    return instantiate(Book, {"file": str(entry)} if isinstance(entry, str | Path) else entry, document, "ledger")


def _plugins(document: Document) -> Plugins | None:
    entry = document.tree.get("plugins")
    return None if entry is None else instantiate(Plugins, entry, document, "plugins")


def _texts(document: Document, key: str) -> tuple[str, ...]:
    entry = document.tree.get(key)
    if entry is None:
        return ()
    entries = entry if isinstance(entry, list | tuple) else [entry]
    return tuple(str(text) for text in entries)


def _accepted(document: Document) -> dict[str, tuple[str, str]]:
    """Identifiers of what is accepted, each with the reason and the name of who accepts it; both may be empty."""
    entry = document.tree.get("accept")
    accepted: dict[str, tuple[str, str]] = {}
    for one in () if entry is None else entry if isinstance(entry, list | tuple) else [entry]:
        for key, told in (one if isinstance(one, Mapping) else {one: ""}).items():
            given = told if isinstance(told, Mapping) else {"reason": told}
            if set(given) - {"by", "reason"} or not all(isinstance(text, str) for text in given.values()):
                hint = "write '- unique-column:case', '- {unique-column:case: why}' or"
                hint += " '- {unique-column:case: {by: NAME, reason: why}}'"
                raise PolicyError("a reason under 'accept' is a text", where=document.where("accept"), hint=hint)
            accepted[str(key)] = (given.get("reason", ""), given.get("by", ""))
    return accepted


def _effort(document: Document) -> Effort:
    said = document.tree.get("effort", USUAL)
    if said not in EFFORTS:
        hint = nearest(str(said), list(EFFORTS))
        raise PolicyError("'effort' is quick, balanced or thorough", where=document.where("effort"), hint=hint)
    return EFFORTS[EFFORTS.index(said)]


_READ: dict[str, Callable[[Document], Any]] = {
    "method": _choice,
    "utility": lambda document: instantiate(Utility, document.tree.get("utility"), document, "utility"),
    "keep": lambda document: _texts(document, "keep"),
    "knows": lambda document: _texts(document, "knows"),
    "ledger": _book,
    "key": lambda document: _texts(document, "key"),
    "person": read_person,
    "population": read_population,
    "series": lambda document: instantiate(Series, document.tree.get("series"), document, "series"),
    "accept": lambda document: tuple(_accepted(document)),
    "accept_reasons": lambda document: {key: told[0] for key, told in _accepted(document).items() if told[0]},
    "accept_names": lambda document: {key: told[1] for key, told in _accepted(document).items() if told[1]},
    "plugins": _plugins,
    "effort": _effort,
    "title": lambda document: str(document.tree.get("title") or ""),
    "publisher": lambda document: str(document.tree.get("publisher") or ""),
}
"""The parts of a policy that are read by themselves."""


# Public
# ------


_PRIVATE = ("ledger", "key")


def write_public_policy(policy: Policy, method: Mapping[str, Any], folder: Path) -> None:
    """``policy.yaml`` and ``hierarchies/`` in a release folder."""
    (folder / "policy.yaml").write_text(public_policy(policy, method, folder), encoding="utf-8")


def public_policy(policy: Policy, method: Mapping[str, Any], folder: Path | None = None) -> str:
    """The text of ``policy.yaml``; hierarchies are written beside it when there is a folder."""
    tree = {key: copy.deepcopy(value) for key, value in policy.document.tree.items() if key not in _PRIVATE}
    tree["data"] = {"kind": policy.data.name} | _shown(policy)
    if policy.columns:
        tree["columns"] = {name: _column(policy, name, folder) for name in policy.columns}
    if policy.population is not None:
        tree["population"] = policy.population.shown()
    tree["method"] = dict(method)
    return write_yaml(_public_texts(tree))


def _shown(policy: Policy) -> dict[str, Any]:
    values = policy.data.model_dump(exclude_defaults=True)
    if values.get("people"):  # that there was such a table, not where it lay
        values["people"] = "people"
    return {key: value for key, value in values.items() if key not in policy.data.private}


def _column(policy: Policy, name: str, folder: Path | None) -> Any:
    column = policy.columns[name]
    told = column.model_fields_set - {"proposed"}
    entry = {key: value for key, value in column.model_dump().items() if key in told and value is not None}
    spec = column.hierarchy
    if folder is not None and is_standing(spec) and not isinstance(spec, Mapping):
        entry["hierarchy"] = _copied(policy, name, folder)
    if is_coded(spec):
        entry["hierarchy"] = with_table(spec, policy.base)
    return entry["role"] if set(entry) == {"role"} else entry


def _copied(policy: Policy, name: str, folder: Path) -> str:
    """The hierarchy as a file of the release; it comes from the data holder's files, not from the data."""
    hierarchy = build_generalization(policy.columns[name].hierarchy, [], column=name, base=policy.base)
    file = folder / "hierarchies" / f"{list(policy.columns).index(name) + 1}-{re.sub(r'[^A-Za-z0-9_-]', '_', name)}.csv"
    file.parent.mkdir(exist_ok=True)
    if isinstance(hierarchy, Hierarchy):
        save_hierarchy(hierarchy, file)
    return file.relative_to(folder).as_posix()


def _public_texts(value: Any) -> Any:
    """Plain mappings, lists and scalars only."""
    if isinstance(value, Mapping):
        return {str(key): _public_texts(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_public_texts(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
