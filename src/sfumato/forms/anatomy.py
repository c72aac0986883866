"""Anatomy: ``data.csv`` with exact values and a ``bucket``, and per sensitive column a table ``bucket,value,count``."""

from __future__ import annotations

from typing import ClassVar

from sfumato.errors import DataError
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class AnatomyForm(Form):
    """Exact quasi-identifiers in one table, sensitive values in others, linked by buckets only."""

    name: ClassVar[str] = "anatomy"
    made: ClassVar[frozenset[str]] = frozenset({"bucket", "value", "count"})
    shows_columns: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    buckets: ClassVar[bool] = True

    def uncountable(self, exhibit: Exhibit) -> str:
        one = len(exhibit.policy.sensitive) == 1
        return "" if one else "an anatomy of several sensitive columns is not one distribution; publish sub-tables"


def sensitive_part(exhibit: Exhibit, column: str) -> str:
    """The part with the counts of one sensitive column."""
    own = f"sensitive-{column}"
    if own not in exhibit.parts and exhibit.policy.sensitive != (column,):
        raise DataError(f"no part lists the values of '{column}'")
    return own if own in exhibit.parts else "sensitive"
