"""Anatomy: ``data.csv`` with exact values and a ``bucket``, and per sensitive column a table ``bucket,value,count``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sfumato.errors import DataError
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form, differing_columns, differing_parts

BUCKET = "bucket"


class AnatomyForm(Form):
    """Exact quasi-identifiers in one table, sensitive values in others, linked by buckets only."""

    name: ClassVar[str] = "anatomy"
    made: ClassVar[frozenset[str]] = frozenset({"bucket", "value", "count"})
    shows_columns: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    buckets: ClassVar[bool] = True

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        policy = exhibit.policy
        hidden = [name for name in policy.sensitive if name in policy.published]
        lists = {name: f"sensitive-{name}" for name in hidden}
        if len(hidden) == 1 and "sensitive" in exhibit.parts:
            lists = {hidden[0]: "sensitive"}
        if not hidden:
            yield "an anatomy hides sensitive columns, and the policy publishes none"
        yield from differing_parts(exhibit, ["data", *lists.values()])
        yield from differing_columns(exhibit, "data", [*(name for name in policy.published if name not in hidden), BUCKET])
        for part in lists.values():
            yield from differing_columns(exhibit, part, self.made)

    def uncountable(self, exhibit: Exhibit) -> str:
        one = len(exhibit.policy.sensitive) == 1
        return "" if one else "an anatomy of several sensitive columns is not one distribution; publish sub-tables"


def sensitive_part(exhibit: Exhibit, column: str) -> str:
    """The part with the counts of one sensitive column."""
    own = f"sensitive-{column}"
    if own not in exhibit.parts and exhibit.policy.sensitive != (column,):
        raise DataError(f"no part lists the values of '{column}'")
    return own if own in exhibit.parts else "sensitive"
