"""One line: a table in, an anonymous table of the same kind out.

>>> people = {"age": ["30", "30", "31", "32", "41", "43"], "illness": ["a", "b", "a", "c", "a", "b"]}
>>> safe = k_anonymize(people, k=2, qi=["age"])
>>> min(safe.column("age").to_pylist().count(age) for age in safe.column("age").to_pylist())
2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sfumato.core.errors import DataError
from sfumato.core.extras import bring
from sfumato.core.registry import nearest
from sfumato.data.table import Table
from sfumato.io.table_source import TableSource
from sfumato.policy.builder import ClaimEntry, PolicyDraft, draft_policy, k_anonymity, l_diversity, t_closeness
from sfumato.workflow.publish import publish


def k_anonymize(
    data: Any,
    k: int = 5,
    qi: Sequence[str] = (),
    *,
    sensitive: Sequence[str] = (),
    l: float | None = None,
    t: float | None = None,
    identifiers: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    suppress: float = 0.05,
    method: str | None = None,
) -> Any:
    """Return a certified k-anonymous table of the same kind as the data.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow frame, a dictionary of columns, or a path.
    k
        Smallest size of an equivalence class.
    qi
        The quasi-identifiers: columns that an adversary may know. They are generalized.
    sensitive
        Sensitive columns. They are published unchanged, and protected by `l` and `t`.
    l
        Smallest number of distinct values of every sensitive column in each class.
    t
        Largest distance of a class from the whole table in a sensitive column.
    identifiers
        Columns that are not published.
    hierarchies
        Hierarchy of each quasi-identifier, such as ``sf.intervals(5, 10)`` or a file. Without one numbers get intervals
        at round numbers, and texts are published unchanged or suppressed.
    suppress
        Largest share of records that may be suppressed.
    method
        The method. Without it the planner chooses one.

    Returns
    -------
    frame
        The published rows in a new random order. `sf.publish` also gives the certificate.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["31", "32", "41", "43"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> safe = sf.k_anonymize(people, k=2, qi=["age"], sensitive=["illness"])
    >>> bool(sf.check(safe, qi=["age"], k=2))
    True
    """
    table = TableSource().read(data)
    claims = [k_anonymity(k)]
    claims += [l_diversity(l)] if l is not None else []
    claims += [t_closeness(t)] if t is not None else []
    draft = _draft(table, claims, tuple(qi), tuple(sensitive), tuple(identifiers), hierarchies or {}).suppress_at_most(
        suppress
    )
    publication = publish(draft.method(method) if method else draft, table)
    return like(data, publication.release.parts["data"].table, kept=[name for name in table.names if name not in qi])


def _draft(
    table: Table,
    claims: Sequence[ClaimEntry],
    qi: tuple[str, ...],
    sensitive: tuple[str, ...],
    identifiers: tuple[str, ...],
    hierarchies: Mapping[str, Any],
) -> PolicyDraft:
    """Every column that is not named is published as it is."""
    named = (*qi, *sensitive, *identifiers)
    if not qi:
        raise DataError("no quasi-identifier is named", where="qi", hint="name the columns that an outsider may know")
    for name in (*named, *hierarchies):
        if name not in table.names:
            raise DataError(f"the data has no column '{name}'", hint=nearest(name, table.names))
    if len(set(named)) < len(named):
        raise DataError("a column has two roles", hint="name every column once")
    draft = draft_policy().identifier(*identifiers).sensitive(*sensitive).protect(*claims)
    for name in qi:
        draft = draft.quasi(name, hierarchy=hierarchies.get(name))
    return draft.other(*(name for name in table.names if name not in named))


def like(data: Any, table: pa.Table, kept: Sequence[str] = ()) -> Any:
    """The table as the kind of frame that was given, pyarrow where it was no frame; `kept` columns are published as
    they are.

    Those get their types back: categories, nullable numbers, flags, days.
    """
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        bring("pandas", "a pandas frame")
        frame = table.to_pandas()
        same = [name for name in kept if name in frame.columns]
        return frame.astype({name: data[name].dtype for name in same})
    return bring("polars", "a polars frame").from_arrow(table) if library == "polars" else table
