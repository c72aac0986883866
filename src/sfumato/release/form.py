"""A form: a kind of thing that can be published. A new form is one file with one class in the folder ``kinds``.

A form says what its parts are and how their files are read, which columns it brings along itself, how many records it
is about, what the private provenance holds, what a ledger keeps of it and whether it is loaded into a target. Its
declared fields are its *public parameters*: disclosed on purpose, listed in the manifest, typed and strict. An audit
that meets a parameter no form declares refuses the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.core.errors import PolicyError, ReleaseError
from sfumato.core.registry import find
from sfumato.io.table_files import read_file
from sfumato.policy.policy import Policy

if TYPE_CHECKING:
    from sfumato.data.table import Table
    from sfumato.release.past_releases import Memory, RememberedTable
    from sfumato.release.release import Part, Provenance
    from sfumato.release.view import ReleaseView


GIVEN_SEED = "made from a given seed: not for publication"


class Form(BaseModel):
    """What can be published; its fields are what is disclosed on purpose."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, arbitrary_types_allowed=True)

    name: ClassVar[str]
    made: ClassVar[frozenset[str]] = frozenset()
    """Columns that the form brings along itself."""
    beside_people: ClassVar[frozenset[str]] = frozenset()
    """Parts in which no columns of people stand; `misfits` says which they have."""
    shows_columns: ClassVar[bool] = False
    """Whether its parts show columns of the policy, so that roles can be judged on them."""
    recodes: ClassVar[bool] = False
    """Whether its main part has quasi-identifiers, exact or generalized, and the original has the same columns."""
    replaces: ClassVar[bool] = False
    """Whether it shows new values instead of original ones, so that rows before and after can be laid side by side."""
    kind: ClassVar[str] = "table"
    """The kind of data that it is made from."""
    knowledge: ClassVar[str] = "only the published files"
    """What an adversary knows where a requirement names no columns, in words that follow 'knows'."""
    buckets: ClassVar[bool] = False
    """Whether it hides values among those of a bucket, so that rows and values are linked by buckets only."""
    joins_columns: ClassVar[bool] = False
    """Whether it has several tables, which are joined by whatever columns they share."""
    hides_size: ClassVar[bool] = False
    """Whether how many records the original had is not told: then a certificate counts what is published."""
    reads_knowledge: ClassVar[bool] = False
    """Whether its reading judges any dependency that adversaries know; else those between given and other columns are
    refused."""
    has_target: ClassVar[bool] = False
    """Whether it is loaded into a target, which can be verified, too."""
    links_rows: ClassVar[bool] = False
    """Whether it ties the rows of a person together by a pseudonym."""
    company: ClassVar[str] = "tables"
    """Forms of one company can be judged together; a ledger keeps releases of one company."""
    promises: ClassVar[bool] = True
    """Whether a policy of people has to promise something; a form that can promise nothing says so in its
    certificate."""
    remembered: ClassVar[bool] = False
    """Whether a ledger can keep it and judge the next release together with it; then it has a `memory`."""

    mark: str = Field(default="", description="why this release is not for publication")

    @property
    def rests_on_chance(self) -> bool:
        """Return whether repeating the random draws would undo the protection; classes protect without secret draws."""
        return False

    @property
    def recoverable(self) -> bool:
        """Whether recipients can undo it on average: its parameters say by which chances the original was changed."""
        return False

    @classmethod
    def read(cls, name: str, public: Mapping[str, Any]) -> Form:
        """The form of a manifest with its public parameters; what no form declares is refused."""
        found = find("forms", Form, name)
        try:
            return found.model_validate(dict(public))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ReleaseError(f"the manifest's public parameter '{place}' is wrong: {first['msg']}") from None

    def to_public(self) -> dict[str, Any]:
        """The public parameters as the manifest writes them; what was left at its default is not written."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def with_public(self, **changes: Any) -> Self:
        """The same form with other public parameters, checked like those of a manifest."""
        return type(self).model_validate(self.to_public() | changes)

    def read_part(self, file: Path) -> pa.Table:
        """Return one part from its file; a part may list nothing."""
        return read_file(file, coded=True, empty=True)

    def lists(self, parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Its tables, each with the parts that list what its buckets hide."""
        return dict.fromkeys(parts, ())

    def trace_type(self) -> type[Provenance]:
        """What the private provenance of this form holds."""
        from sfumato.release.release import Provenance

        return Provenance

    def uncounted(self, policy: Policy) -> tuple[str, ...]:
        """Columns of its parts that are not counted on a cluster, because nothing judged on counts needs them."""
        return policy.with_role("other")

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        """What is missing, left over or misnamed among the parts and columns of a release of this form, in sentences.

        What a form does not expect is not assessed by any check, so a form without this method accepts no release.
        """
        yield f"a {self} does not say which parts it has"

    def main(self, exhibit: ReleaseView) -> Table:
        """Return the table of records: the main part, or several parts joined into one table."""
        return exhibit.tables["data"]

    def records(self, exhibit: ReleaseView) -> int:
        """How many records the release is about."""
        return exhibit.data.records

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Any) -> Memory:
        """What a ledger keeps of the records behind a release of this form."""
        raise PolicyError(f"a ledger cannot remember a {self}", hint="publish without a ledger")

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        """The published tables of a remembered release, record by record; none where nothing can be joined with
        anything."""
        raise PolicyError(f"nobody can join a {self} with other releases", hint="publish without a ledger")

    def accounts(self, exhibit: ReleaseView, memory: Memory) -> bool:
        """Whether the remembered records are those behind the published rows: each row has one, and says what it
        has."""
        return False

    def shown(self, exhibit: ReleaseView) -> tuple[str, ...]:
        """The columns of people that its parts show."""
        return tuple(exhibit.data.names)

    def beside(self, part: str, policy: Policy, original: Any) -> tuple[str, pa.Table, list[str]]:
        """Of a form that replaces values: the name of the table behind a part, its original, and the columns with new
        values."""
        raise PolicyError(f"a {self} replaces no values")

    def uncountable(self, exhibit: ReleaseView) -> str:
        """Why COUNT queries cannot be answered from its parts alone; empty when they can."""
        return f"the parts of a {self} are not counts of people"

    def __str__(self) -> str:
        return self.name


def differing_parts(exhibit: ReleaseView, expected: Iterable[str]) -> Iterator[str]:
    """Parts that are missing, and parts that do not belong to the form."""
    wanted = set(expected)
    yield from (f"there is no part '{name}'" for name in sorted(wanted - set(exhibit.parts)))
    left = len(set(exhibit.parts) - wanted)
    if left:
        yield f"{left} part(s) do not belong to a {exhibit.form}"


def differing_columns(exhibit: ReleaseView, part: str, expected: Iterable[str]) -> Iterator[str]:
    """Columns of a part that are missing, repeated, or that nobody expects there."""
    if part not in exhibit.parts:
        return
    names = exhibit.parts[part].shown
    wanted, shown = set(expected), set(names)
    yield from (f"part '{part}' lacks the column '{name}'" for name in sorted(wanted - shown))
    if len(names) > len(shown):
        yield f"part '{part}' repeats {len(names) - len(shown)} column name(s)"
    if shown - wanted:
        yield f"part '{part}' has {len(shown - wanted)} column(s) that do not belong there"
