"""`downcoding`: who knows everybody's quasi-identifiers undoes part of a generalization, because cells are as small as allowed.

A generalized row covers many people. The outsider rules out those who must stand elsewhere: first people whose rows are published
exactly, then everybody whom no way to hand out all rows to all people can put there, and last those who are covered by a cheaper
class, where a method that loses as little as it can would have put them.

The figure
    People that a generalized row may stand for, on average over these rows: `covered` by its cells, `after_exact_rows`, `matched`
    (certain: nobody else can be behind the row), and `at_least_cost` with the share of rows for which that guess is true. Every
    class keeps its k rows, so k-anonymity stands; what is lost is that a coarse cell hides a fine one.

Paper
    Cohen (2022).

Departures
    The paper's attack recovers finer values with high probability over a known distribution of people. Here the outsider knows the
    people themselves, who are the original table; without the matching step it needs no more than counts.

Cost: see `_compatible`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sfumato.attacks._compatible import Compatible, compatible
from sfumato.attacks.base import ReleaseAttack, method_of
from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Downcoding(ReleaseAttack):
    """Rule out the people who must stand behind other rows; report how many are left behind a generalized one."""

    name: ClassVar[str] = "downcoding"
    paper: ClassVar[str] = "Cohen 2022"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    headline: ClassVar[str] = "matched"

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        method = method_of(exhibit)
        if not isinstance(exhibit.form, cls.forms) or method is None or not method.minimal:
            return ""
        return (
            f"{method.name} makes every class as narrow as it may be: whoever knows the quasi-identifiers of people in the table "
            "can tell many of those behind a generalized row from others whom it covers, and so undo part of the generalization"
        )

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        found = exhibit.once(compatible)
        counts = found.people.counts.astype(np.float64)
        rows = int(found.rows.counts[found.generalized].sum())
        if not rows:
            return {"generalized_rows": 0, "matched": 0.0}
        least = found.cheapest[found.person] == found.row
        result = {
            "generalized_rows": rows,
            "rows_of_their_class": float((found.rows.counts[found.generalized] ** 2).sum() / rows),
            "covered": found.per_row(counts),
            "after_exact_rows": found.per_row(found.beyond_exact),
            "matched": found.per_row(counts, found.possible),
            "at_least_cost": found.per_row(counts, least),
        }
        behind = exhibit.behind
        return result if behind is None else result | {"at_least_cost_is_true": _truth(found, exhibit, behind["data"])}


def _truth(found: Compatible, exhibit: Exhibit, behind: Any) -> float:
    """The share of generalized rows whose person stands in the cheapest class that covers them; needs the private trace."""
    real = np.asarray(behind) >= 0
    inside = real & found.generalized[exhibit.classes.of]
    return float((found.cheapest[found.people.of[np.asarray(behind)[inside]]] == exhibit.classes.of[inside]).mean())
