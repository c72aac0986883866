"""Regions of a table whose classes do not fit on the driver: cut from counts, solved where they lie, audited there as well.

Mondrian solves each region by itself and so comes to what it would with all classes at hand; methods that look at neighbours get
all regions of a bin as one.

Invariants
    I1  Nothing is collected that grows with the data before it is published: values of columns, histograms of regions, sums.
    I2  The audit of who stands where does not take the method's word: on the cluster every share is compared with the values of its
        class, every class with what was taken from it, and the written rows with the shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.audit.cover import allowed
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import encode
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.table import Table, as_text
from sfumato.engines.base import COUNT, IDENTITY, Secret
from sfumato.engines.spark_regions import FIRST, KEY, LABEL, LAST, SPLIT, DistantClasses, Leaves
from sfumato.errors import DataError, Infeasible, PolicyError
from sfumato.methods.base import Method, Task
from sfumato.methods.recoding.base import stated_claims
from sfumato.methods.recoding.problem import Requirement
from sfumato.methods.recoding.regions import ColumnTally, RegionCut, best_cut, bins, routed
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness

if TYPE_CHECKING:
    from sfumato.engines.spark import SparkEngine

MOST_VALUES = 1_000_000
"""Different values of one column that come to the driver."""


@dataclass(frozen=True)
class Regions:
    """A table cut into regions."""

    classes: DistantClasses
    leaves: tuple[Leaves, ...]
    domains: Mapping[str, Generalization]
    cuts: tuple[RegionCut, ...]
    sizes: Mapping[int, int]
    """Classes of each region."""
    bins: Mapping[int, int]
    """Regions that one task solves."""
    records: int


def unfit_for_regions(policy: Policy, method: Method) -> str:
    """Why classes must fit on the driver; empty when regions will do."""
    if not method.by_region:
        return f"{method.name} looks at all of them at once"
    whole = [claim.model.name for claim in policy.claims if claim.model.compares]
    if whole:
        return f"{whole[0]} compares groups with the whole release, which no region knows"
    if any(column.boundary is not None for column in policy.columns.values()):
        return "what boundaries suppress is found on all classes at once"
    return ""


def cut_regions(engine: SparkEngine, policy: Policy, method: Method, classes: DistantClasses) -> Regions:
    """Regions of at most so many classes where claims allow it, from counts of the cluster (I1)."""
    if reason := unfit_for_regions(policy, method):
        what = f"the classes do not fit on the driver, and {reason}"
        raise PolicyError(f"this cannot run with --engine spark: {what}", hint="give the driver more memory, or coarsen columns")
    texts = {name: tuple(_values(classes, name)) for name in policy.quasi_identifiers}
    domains = {name: generalization_of(policy, name, list(texts[name])) for name in policy.quasi_identifiers}
    leaves = tuple(Leaves(name, texts[name], encode(domain, texts[name], column=name)) for name, domain in domains.items())
    requirements = stated_claims(policy)
    hidden = list(dict.fromkeys(name for one in requirements for name in one.hide))
    cuts: list[RegionCut] = []
    sizes, waiting, records = {0: 0}, [0], 0
    while waiting:
        engine.progress(len(cuts) / (len(cuts) + len(waiting)), "cutting regions")
        found = engine.histogram(classes, leaves, partial(routed, tuple(cuts)), waiting, hidden)
        tallies = {region: _tallies(found, region, len(leaves), hidden) for region in waiting}
        records = records or _checked(tallies[0], requirements, _labels(found, hidden))
        ground = (tuple(domains.values()), requirements, _labels(found, hidden))
        waiting = [
            large for region in waiting for large in _cut(region, tallies[region], cuts, sizes, engine.region_classes, ground)
        ]
    return Regions(classes, leaves, domains, tuple(cuts), sizes, bins(sizes, engine.region_classes), records)


def _cut(
    region: int, tallies: list[ColumnTally], cuts: list[RegionCut], sizes: dict[int, int], most: int, ground: Any
) -> Iterator[int]:
    """Cuts a region that is too large, once; the parts that are still too large."""
    sizes[region] = int(tallies[0].classes.sum())
    found = best_cut(tallies, *ground) if sizes[region] > most else None
    if found is None:
        return
    column, part = found
    first = max(sizes) + 1
    to = np.full(ground[0][column].size, -1, dtype=np.int64)
    to[tallies[column].code] = first + part
    cuts.append(RegionCut(region, column, to))
    del sizes[region]
    for place, classes in enumerate(np.bincount(part, weights=tallies[column].classes).astype(np.int64).tolist()):
        sizes[first + place] = classes
        if classes > most:
            yield first + place


def _values(classes: DistantClasses, name: str) -> list[str]:
    found = classes.texts(name, MOST_VALUES)
    if len(found) > MOST_VALUES:
        raise DataError(f"column '{name}' has more than {MOST_VALUES:,} different values", hint="coarsen it before")
    return found


def _labels(found: pa.Table, hidden: Sequence[str]) -> dict[str, tuple[str, ...]]:
    which, value = found.column("hidden").to_numpy(), np.array(found.column("value").to_pylist(), dtype=object)
    return {name: tuple(sorted(set(value[which == place].tolist()))) for place, name in enumerate(hidden)}


def _tallies(found: pa.Table, region: int, columns: int, hidden: Sequence[str]) -> list[ColumnTally]:
    """The histogram of one region, column by column."""
    labels = {name: {text: code for code, text in enumerate(texts)} for name, texts in _labels(found, hidden).items()}
    mine = found.filter(pa.array(found.column("region").to_numpy() == region))
    column, which = mine.column("column").to_numpy(), mine.column("hidden").to_numpy()
    code, records = mine.column("code").to_numpy(), mine.column("records").to_numpy()
    classes, value = mine.column("classes").to_numpy(), np.array(mine.column("value").to_pylist(), dtype=object)
    made = []
    for place in range(columns):
        rows = np.flatnonzero((column == place) & (which < 0))
        rows = rows[np.argsort(code[rows], kind="stable")]
        spreads = {}
        for number, name in enumerate(hidden):
            there = np.flatnonzero((column == place) & (which == number))
            values = np.array([labels[name][text] for text in value[there]], dtype=np.int64)
            spreads[name] = (np.searchsorted(code[rows], code[there]), values, records[there])
        made.append(ColumnTally(code[rows], records[rows], classes[rows], spreads))
    return made


def _checked(tallies: list[ColumnTally], requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]) -> int:
    """The number of records; refuses a table of which not even one group of all would hold."""
    first = tallies[0]
    size = np.array([int(first.records.sum())])
    for one in requirements:
        seen = {}
        for name in one.hide:
            _, value, often = first.hidden[name]
            seen[name] = Spread.count(np.zeros(len(value), dtype=np.int64), value, 1, labels[name], often)
        whole = Linkage(size, size, seen)
        if not one.model.satisfied(whole).all():
            raise Infeasible("no record can be published: all records together break a claim", where=one.model.name)
    return int(size[0])


def solver(policy: Policy, method: Method, regions: Regions, secret: Secret, recoded: Sequence[str]) -> Any:
    """What solves one region: the same method on its classes, with trees over the values of the whole table."""
    columns = {
        name: column.model_copy(update={"hierarchy": regions.domains[name]}) if name in regions.domains else column
        for name, column in policy.columns.items()
    }
    bound = replace(policy, columns=columns)
    return partial(solved, bound, method, secret.content, tuple(regions.classes.names), tuple(recoded))


def solved(
    policy: Policy, method: Method, secret: bytes, names: tuple[str, ...], recoded: tuple[str, ...], classes: pa.Table
) -> pa.Table:
    """The shares of the classes of one region."""
    counts = classes.column(COUNT).to_numpy().astype(np.int64)
    table = Table(pa.table({name: classes.column(name) for name in names}), counts=counts)
    release = method.run(Task(policy, table, Randomness(1)))  # the order of shares is never seen
    part, behind = release.parts["data"], np.asarray(release.trace.rows["data"])
    order = np.argsort(behind, kind="stable")
    row, count = behind[order], np.asarray(part.counts)[order]
    start = np.cumsum(count) - count
    first = start - start[np.searchsorted(row, row)]
    shown = [part.table.column(name).cast(pa.string()).take(pa.array(order)) for name in recoded]
    key, identity = Secret(secret), classes.column(IDENTITY).to_numpy()[row]
    tuples = zip(*(each.to_pylist() for each in shown), strict=True)
    columns = {KEY: pa.array([key.key("order", *labels) for labels in tuples], pa.string())}
    columns[SPLIT] = pa.array([key.key("split", str(number)) for number in identity], pa.string())
    columns |= {f"{LABEL}{place}": each for place, each in enumerate(shown)}
    return pa.table(columns | {IDENTITY: identity, COUNT: counts[row], FIRST: first, LAST: first + count})


def misplaced(domains: Mapping[str, Generalization], recoded: Sequence[str]) -> Any:
    """What counts the records whose share shows something that does not cover their class, batch by batch (I2)."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            wrong = np.zeros(batch.num_rows, dtype=np.bool_)
            for place, name in enumerate(recoded):
                label, value = (as_text(pa.chunked_array([batch.column(each)]), name) for each in (f"{LABEL}{place}", name))
                wrong |= ~allowed(label, value, domains[name], bounded=False).pairs(label.codes, value.codes)
            taken = batch.column(LAST).to_numpy() - batch.column(FIRST).to_numpy()
            yield pa.RecordBatch.from_pydict({"wrong": [int(taken[wrong].sum())]})

    return count
