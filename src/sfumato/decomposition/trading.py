"""Trading places in sub-tables: when what a table hides may move between the rows of a bucket without any table telling.

A person may stand in several rows. What is known of whole worlds then counts, not only of one row: whether the hidden values of
*all* rows of a bucket may be dealt anew at once, everybody keeping the known values of all their rows.

Notation
    G       a table that shows the columns V and hides H behind buckets
    C       the columns that tables other than G connect with H, H included

Guarantee
    If C has no column of V and none that is given, the records of a bucket may trade everything in C among each other, in any
    order: every table but G has its columns inside C or outside of it, and G shows the same rows and lists the same hidden values
    as before. So, whoever stands where, the values of a bucket are dealt over its rows in every order equally often.
    A guardian in the sense of [versatile Def. 4] that hides one column trades it: what is given reaches G, so it reaches V, and
    condition (iii) says that without G's hidden column it does not reach H.
    If no chain of tables connects the hidden column with a given one, all records may trade it like those of one bucket (`ALONE`).

>>> tables = [(frozenset({"age", "zip"}), frozenset({"illness"})), (frozenset({"illness", "drug"}), frozenset())]
>>> asked = (({"age"}, "illness"), ({"age", "drug"}, "illness"), ({"sex"}, "drug"))
>>> [trading_table(tables, given, hidden) for given, hidden in asked]
[0, None, -1]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.decomposition.guardian import reach

ALONE = -1
Sides = tuple[frozenset[str], frozenset[str]]
"""What a table shows, and what it hides behind buckets."""


def trading_table(tables: Sequence[Sides], given: Iterable[str], hidden: str) -> int | None:
    """The table in whose buckets a hidden column is traded, `ALONE` when all records trade it, nothing when nobody can say."""
    known, columns = frozenset(given), [shown | behind for shown, behind in tables]
    if hidden not in reach(known, columns):
        return ALONE
    for place, (shown, behind) in enumerate(tables):
        if hidden in behind:
            moving = reach(behind, [*columns[:place], *columns[place + 1 :]])
            if not moving & (known | shown):
                return place
    return None
