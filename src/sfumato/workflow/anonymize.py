"""One line: a table in, an anonymous table of the same kind out.

>>> people = {"age": ["30", "30", "31", "32", "41", "43"], "illness": ["a", "b", "a", "c", "a", "b"]}
>>> safe = k_anonymize(people, k=2, qi=["age"])
>>> min(safe.column("age").to_pylist().count(age) for age in safe.column("age").to_pylist())
2
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from sfumato.core.errors import DataError
from sfumato.core.extras import bring
from sfumato.core.registry import nearest
from sfumato.data.table import Table
from sfumato.data.text_values import parse_interval, parse_number
from sfumato.io.table_source import TableSource
from sfumato.policy.builder import ClaimEntry, PolicyDraft, claim, draft_policy, k_anonymity, l_diversity, t_closeness
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
    made = in_order(publication.release.parts["data"].table, table.names)
    return like(data, made, kept=[name for name in table.names if name not in qi])


def anonymize(
    data: Any,
    k: int = 5,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Mapping[str, float | Mapping[str, float]] | Sequence[str] = (),
    identifiers: Sequence[str] = (),
    keep: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    suppress_at_most: float = 0.05,
    method: str | None = None,
    intervals: Literal["text", "interval"] = "text",
) -> Any:
    """Return an audited anonymous table of the same kind as the data.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow frame, a dictionary of columns, or a path.
    k
        Smallest size of an equivalence class.
    quasi_identifiers
        The columns that an adversary may know. They are generalized.
    sensitive
        Sensitive columns, published unchanged. A list asks for 2 different values in every class. A dictionary says
        more: ``{"illness": 3}``, ``{"illness": {"l": 3, "t": 0.4}}``.
    identifiers
        Columns that are not published. They need not be named: a column without a role is left out, with a warning.
    keep
        Harmless columns that are published unchanged.
    hierarchies
        Hierarchy of each quasi-identifier, such as ``sf.intervals(5, 10)`` or a file. Without one numbers get intervals
        at round numbers, and texts are published unchanged or suppressed.
    suppress_at_most
        Largest share of records that may be suppressed. Outliers are suppressed where the others gain more.
    method
        The method. Without it the planner chooses one.
    intervals
        ``text`` writes intervals like ``[20, 40)``. ``interval`` makes pandas intervals, closed on both sides, of every
        column whose labels are all numbers or intervals; suppressed cells are missing.

    Returns
    -------
    frame
        The published rows. Columns have the order of the data, and columns that are published unchanged their types;
        generalized categories stay categories. Rows have a new random order and a new index, because the old ones could
        identify people. `sf.publish` also gives the certificate.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["31", "32", "41", "43"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> safe = sf.anonymize(people, k=2, quasi_identifiers=["age"], sensitive={"illness": 2})
    >>> bool(sf.check(safe, qi=["age"], sensitive=["illness"], k=2, l=2))
    True
    """
    table, known = TableSource().read(data), tuple(quasi_identifiers)
    hidden = dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(sensitive, 2.0)
    draft = _draft(
        table, _asked(k, known, hidden), known, tuple(hidden), tuple(identifiers), hierarchies or {}, tuple(keep)
    ).suppress_at_most(suppress_at_most)
    named = {*known, *hidden, *identifiers, *keep}
    if left := [name for name in table.names if name not in named]:
        told = f"left out, because they have no role: {', '.join(left)}; name harmless columns under 'keep'"
        warnings.warn(told, stacklevel=2)
    found = publish(draft.method(method) if method else draft, table).release.parts["data"].table
    made = like(data, in_order(found, table.names), kept=[*hidden, *keep])
    return _as_categories(data, made, known, as_intervals=intervals == "interval")


def _asked(k: int, known: tuple[str, ...], hidden: Mapping[str, float | Mapping[str, float]]) -> list[ClaimEntry]:
    """Return the requirements: k for all, and levels for each sensitive column."""
    claims: list[ClaimEntry] = [k_anonymity(k)]
    for name, asked in hidden.items():
        levels = asked if isinstance(asked, Mapping) else {"l": asked}
        if strange := [key for key in levels if key not in ("l", "t")]:
            raise DataError(f"'{strange[0]}' is no level of '{name}'", where="sensitive", hint="l and t are levels")
        for key, model in (("l", "l-diversity"), ("t", "t-closeness")):
            claims += [claim(model, given=known, hide=name, **{key: levels[key]})] if key in levels else []
    return claims


def in_order(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return a table with its columns in the order of these names."""
    return table.select([name for name in names if name in table.column_names])


def _as_categories(data: Any, made: Any, known: Sequence[str], *, as_intervals: bool) -> Any:
    """Return a pandas frame with generalized columns as categories or intervals; any other table as it is."""
    if type(made).__module__.partition(".")[0] != "pandas":
        if as_intervals:
            raise DataError("intervals are made of a pandas frame", where="intervals", hint="give a pandas frame")
        return made
    pandas = bring("pandas", "a pandas frame")
    for name in (name for name in known if name in made.columns):
        texts = [None if value is None else str(value) for value in made[name]]
        ends = _ends(texts) if as_intervals else None
        if ends is not None:
            made[name] = pandas.arrays.IntervalArray.from_tuples(ends, closed="both")
        elif isinstance(data[name].dtype, pandas.CategoricalDtype):
            made[name] = made[name].astype("category")
    return made


def _ends(texts: Sequence[str | None]) -> list[tuple[float, float] | None] | None:
    """Return numbers and intervals as their two ends; None where a label is neither.

    >>> _ends(["5", "[20, 40)", "50-54", "*"])
    [(5.0, 5.0), (20.0, 40.0), (50.0, 54.0), None]
    """
    found: list[tuple[float, float] | None] = []
    for text in texts:
        if text is None or text == "*":
            found.append(None)
        elif (number := parse_number(text)) is not None:
            found.append((float(number), float(number)))
        elif (interval := parse_interval(text)) is not None:
            found.append((float(interval[0]), float(interval[1])))
        else:
            return None
    return found


def _draft(
    table: Table,
    claims: Sequence[ClaimEntry],
    qi: tuple[str, ...],
    sensitive: tuple[str, ...],
    identifiers: tuple[str, ...],
    hierarchies: Mapping[str, Any],
    keep: tuple[str, ...] | None = None,
) -> PolicyDraft:
    """`keep` are published as they are; without them every column that is not named."""
    named = (*qi, *sensitive, *identifiers, *(keep or ()))
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
    return draft.other(*((name for name in table.names if name not in named) if keep is None else keep))


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
