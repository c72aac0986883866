"""Check: does a table, as it stands, keep what one asks of it? One line, for frames that came from anywhere.

>>> table = {"age": ["30-39"] * 3 + ["40-49"] * 2, "illness": ["a", "b", "a", "c", "c"]}
>>> check(table, ["age"], sensitive=["illness"], k=2, l=2)
TableCheck(does not hold: k = 2, illness: l = 1, t = 0.6)
>>> bool(check(table, ["age"], k=2))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.core.errors import DataError
from sfumato.core.html.pages import card_html, table_html
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table
from sfumato.io.table_source import TableSource
from sfumato.workflow.risk.report import SensitiveSpread, named_columns, spread_of


@dataclass(frozen=True, slots=True, repr=False)
class TableCheck:
    """Achieved and required levels of a table; true if every required level is reached.

    Examples
    --------
    >>> import sfumato as sf
    >>> found = sf.check({"age": ["30", "30"], "illness": ["flu", "gout"]}, qi=["age"], sensitive=["illness"], k=2, l=2)
    >>> found.k, bool(found)
    (2, True)
    """

    records: int
    classes: int
    k: int
    sensitive: tuple[SensitiveSpread, ...]
    asked_k: int | None = None
    asked_l: float | None = None
    asked_t: float | None = None

    @property
    def holds(self) -> bool:
        """Whether every level that was asked for is reached."""
        return (
            (self.asked_k is None or self.k >= self.asked_k)
            and (self.asked_l is None or all(each.l_distinct >= self.asked_l for each in self.sensitive))
            and (self.asked_t is None or all(each.t <= self.asked_t + 1e-9 for each in self.sensitive))
        )

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        parts = [
            f"k = {self.k}",
            *(f"{each.column}: l = {each.l_distinct:g}, t = {each.t:.4g}" for each in self.sensitive),
        ]
        return f"TableCheck({'holds' if self.holds else 'does not hold'}: {', '.join(parts)})"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"holds": self.holds}

    def _repr_html_(self) -> str:
        rows = [
            (each.column, f"{each.l_distinct:g}", f"{each.l_entropy:.3g}", f"{each.t:.4g}") for each in self.sensitive
        ]
        title = "The table keeps what was asked" if self.holds else "The table does not keep what was asked"
        figures = ((str(self.k), "k"), (f"{self.classes:,}", "classes"), (f"{self.records:,}", "records"))
        return card_html(
            title,
            "As it stands.",
            figures,
            table_html(("column", "l, distinct", "l, entropy", "t"), rows) if rows else "",
        )


def check(
    data: Any,
    qi: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    k: int | None = None,
    l: float | None = None,
    t: float | None = None,
) -> TableCheck:
    """Return k of a table as it is, and l and t of its sensitive columns.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow frame, a dictionary of columns, or a path.
    qi
        The quasi-identifiers.
    sensitive
        Columns whose values are counted in every class.
    k, l, t
        Required levels: class size, distinct values, largest distance from the whole table.

    Returns
    -------
    TableCheck
        The achieved levels. Its truth value says whether they are sufficient.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.check({"age": ["30", "30", "41"], "illness": ["flu", "gout", "flu"]}, qi=["age"], k=2)
    TableCheck(does not hold: k = 1)
    """
    table = data if isinstance(data, Table) else TableSource().read(data)
    if (l is not None or t is not None) and not sensitive:
        raise DataError("l and t are about sensitive columns", where="sensitive", hint="name at least one")
    names = named_columns(table, qi, "qi")
    classes = equivalence_classes_of([table.text(name).codes.astype(np.int64) for name in names], rows=table.rows)
    spreads = tuple(spread_of(table, classes, name) for name in named_columns(table, sensitive, "sensitive"))
    return TableCheck(table.rows, len(classes), int(classes.counts.min()), spreads, k, l, t)
