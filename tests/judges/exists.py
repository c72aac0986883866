"""Whether a recoded release exists at all, by trying every choice of records of a small table.

Every record is published as coarsely as its boundaries allow, or suppressed. That is one release per choice; where one
of them keeps every requirement, "infeasible" is false. Where none does there may still be a release, so this judge
never says that a refusal is right. `good` judges the rows of a choice; nothing of `sfumato` is imported.

>>> release_exists([{"a": "*"}] * 3, lambda rows: len(rows) >= 2, most_suppressed=1)
True
>>> release_exists([{"a": "*"}] * 3, lambda rows: len(rows) >= 4, most_suppressed=3)
False
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

Row = Mapping[str, str]


def release_exists(coarsest: Sequence[Row], good: Callable[[list[Row]], bool], most_suppressed: int) -> bool:
    """Whether publishing some of the records as they are in `coarsest` is a good release; at least one of them is."""
    seen: set[tuple[tuple[tuple[str, str], ...], ...]] = set()
    for size in range(len(coarsest), max(len(coarsest) - most_suppressed, 1) - 1, -1):
        for chosen in combinations(range(len(coarsest)), size):
            rows = [coarsest[place] for place in chosen]
            look = tuple(sorted(tuple(sorted(row.items())) for row in rows))
            if look not in seen:
                seen.add(look)
                if good(rows):
                    return True
    return False
