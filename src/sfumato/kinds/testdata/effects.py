"""What publishing did to replaced tables and databases: which columns have new values, and what follows for
analysts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sfumato.core.wording import count_text, join_names, percent_text
from sfumato.kinds.testdata.form import DatabaseForm, Replaced
from sfumato.policy.kept_constraints import replacements_of
from sfumato.release.form import Form
from sfumato.release.metric import figures
from sfumato.release.summary import Effects, OpenPoint, Remedy, open_point, records_sentence
from sfumato.release.view import ReleaseView

_MOST = 6


class ReplacedEffects(Effects):
    """A table with new values in some columns."""

    name: ClassVar[str] = "replaced"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        yield records_sentence(exhibit)
        names = tuple(replacements_of(exhibit.policy))
        yield f"{_listed(names)} {'has' if len(names) == 1 else 'have'} new values; what the policy keeps stays true."
        told = exhibit.once(figures) if exhibit.private else {}
        if isinstance(change := told.get("distortion"), float):
            yield f"A replaced number differs from the original by {percent_text(change)} on average."
        if isinstance(error := told.get("query_error"), float):
            yield f"Threshold queries are off by {percent_text(error)} on average."

    def exposed(self, exhibit: ReleaseView) -> Iterator[OpenPoint]:
        yield from _unchanged(exhibit)


def _unchanged(exhibit: ReleaseView) -> Iterator[OpenPoint]:
    """Columns that are published unchanged where no requirement limits what they tell."""
    kept = tuple(name for name in exhibit.policy.published if exhibit.policy.columns[name].role != "replaced")
    if kept and not exhibit.policy.claims:
        text = (
            f"{_listed(kept)} {'is' if len(kept) == 1 else 'are'} published unchanged, beside new values of the same"
            " person."
        )
        ways = (
            Remedy("require", "state a requirement under `protect:`"),
            Remedy("change", "replace these columns, too"),
            Remedy("leave out", "leave them out", "publish: false"),
        )
        yield open_point("unchanged", text, kept, *ways)


class DatabaseEffects(Effects):
    """A database with new values in some columns."""

    name: ClassVar[str] = "database"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        rows = exhibit.records.published if exhibit.records is not None else 0
        yield f"All {rows:,} rows of {count_text(len(exhibit.parts), 'table')} are published."
        yield (
            "Replaced columns have new values. All other columns, nulls and numbers of rows are those of the original."
        )

    def exposed(self, exhibit: ReleaseView) -> Iterator[OpenPoint]:
        text = (
            "Columns that are not replaced are published unchanged, and rows of one person stay linked by their keys."
        )
        ways = "replace or empty every column that says something about a person (`check` lists suspects)"
        yield open_point("unchanged", text, (), Remedy("change", ways))


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST
    return (
        join_names(names[:_MOST])
        if more <= 0
        else f"{', '.join(names[:_MOST])} and {count_text(more, 'further column')}"
    )
