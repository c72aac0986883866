"""Regions of a table whose classes do not fit on the driver: cut from counts, solved where they lie, audited there as
well.

Mondrian solves each region by itself and so comes to what it would with all classes at hand; methods that look at
neighbours get all regions of a bin as one.

Invariants
    I1  Nothing is collected that grows with the data before it is published: values of columns, histograms of regions,
        sums.
    I2  The audit of who stands where does not take the method's word: on the cluster every share is compared with the
        values of its class, every class with what was taken from it, and the written rows with the shares.


Regions
-------
Regions: the top of a multidimensional cut, found from counts alone, for tables whose classes do not fit in one place.

A region is a node of the tree that mondrian (`partitioning`) cuts: the column that saves most is divided into the
children of its node, or at the median of a range, and children that are not safe by themselves stay together. What
decides that are sums per leaf of one column: histograms are enough to cut as mondrian would with all classes at hand.
Each region is a recoding problem of its own, any method solves it, and groups never cross regions; small regions are
solved by one task together (`bin_regions`).

Guarantee: every region satisfies every requirement, so each of the problems has a solution without suppression
(monotone models). Mondrian in regions is mondrian (where the objective is the loss), so nothing is lost by them.

Departures: requirements that compare groups with the whole release are not for regions, because a region does not know
the whole.

Cost: per round one histogram of every open region and column, whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy, encode
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.table import Table, as_text
from sfumato.engines.protocol import COUNT, IDENTITY, RunSecret
from sfumato.engines.spark.regions import FIRST, KEY, LABEL, LAST, SPLIT, Leaves, RemoteClasses
from sfumato.kinds.tables.methods.multidimensional_partitioning import children, medians
from sfumato.kinds.tables.methods.recoding import stated_requirements
from sfumato.kinds.tables.methods.recoding_problem import Requirement
from sfumato.kinds.tables.truthfulness import allowed_labels
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.method import Method, Task

if TYPE_CHECKING:
    from sfumato.engines.spark.engine import SparkEngine


@dataclass(frozen=True, slots=True)
class RegionCut:
    """Records of a region go to other regions, by their leaf in a column."""

    region: int
    column: int
    to: IntArray
    """The new region of each leaf; −1 for leaves that do not occur."""


def route_to_regions(cuts: Sequence[RegionCut], codes: Sequence[IntArray]) -> IntArray:
    """The region of every tuple of leaf codes.

    >>> cuts = [RegionCut(0, 0, np.array([1, 2])), RegionCut(2, 1, np.array([3, 4]))]
    >>> route_to_regions(cuts, [np.array([0, 1, 1]), np.array([1, 0, 1])]).tolist()
    [1, 3, 4]
    """
    region = np.zeros(len(codes[0]), dtype=np.int64)
    for cut in cuts:
        mine = np.flatnonzero(region == cut.region)
        region[mine] = cut.to[codes[cut.column][mine]]
    return region


def bin_regions(sizes: Mapping[int, int], most: int) -> dict[int, int]:
    """Regions that are solved together: the bin of each, so that no bin of several has more than `most` classes.

    >>> bin_regions({0: 7, 1: 2, 2: 9, 3: 3}, 10)
    {2: 0, 0: 1, 3: 1, 1: 2}
    """
    found: dict[int, int] = {}
    loads: list[int] = []
    for region in sorted(sizes, key=lambda region: (-sizes[region], region)):
        place = next((place for place, load in enumerate(loads) if load + sizes[region] <= most), len(loads))
        loads += [0] * (place == len(loads))
        loads[place] += sizes[region]
        found[region] = place
    return found


@dataclass(frozen=True, slots=True)
class ColumnTally:
    """One column of one region: which leaves occur, in how many records and classes, and with which sensitive
    values."""

    code: IntArray
    """Ascending."""
    records: IntArray
    classes: IntArray
    hidden: Mapping[str, tuple[IntArray, IntArray, IntArray]]
    """Per sensitive column: the place of a leaf in `code`, a value, how often."""


def best_cut(
    tallies: Sequence[ColumnTally],
    domains: Sequence[Generalization],
    requirements: Sequence[Requirement],
    labels: Mapping[str, tuple[str, ...]],
) -> tuple[int, IntArray] | None:
    """The column that saves most and the part of each of its leaves that occur; None where no cut leaves parts that all
    hold."""
    best: tuple[int, IntArray] | None = None
    most = 0.0
    for column, (tally, domain) in enumerate(zip(tallies, domains, strict=True)):
        for child in _proposals(tally, domain):
            part = _safe_parts(tally, child, requirements, labels)
            gain = 0.0 if part is None else _gain(tally, domain, part)
            if part is not None and gain > most:
                best, most = (column, part), gain
    return best


def _proposals(tally: ColumnTally, domain: Generalization) -> Iterator[IntArray]:
    """The child that each leaf falls into: of the node around all of them, or of a range cut before or after its
    median."""
    if len(tally.code) < 2:
        return
    one = np.zeros(len(tally.code), dtype=np.int64)
    if isinstance(domain, Hierarchy):
        yield children(domain, tally.code, tally.code[:1], tally.code[-1:], one)
    else:
        for place in medians(one, tally.code, tally.records, 1):
            yield (tally.code >= place[0]).astype(np.int64)


def _safe_parts(
    tally: ColumnTally, child: IntArray, requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]
) -> IntArray | None:
    """Parts made of the children so that they are safe, two or more; those that are not safe stay together, if need be
    with the smallest one that is."""
    of = np.unique(child, return_inverse=True)[1].astype(np.int64)
    unsafe = ~_hold(tally, of, requirements, labels)
    fine = int((~unsafe).sum())
    if len(unsafe) < 2 or not fine:
        return None
    if unsafe.any() and not _hold(tally, np.where(unsafe[of], 0, 1), requirements, labels)[0]:
        if fine < 2:
            return None
        size = np.bincount(of, weights=tally.records)
        unsafe[np.flatnonzero(~unsafe)[np.argmin(size[~unsafe])]] = True
        if not _hold(tally, np.where(unsafe[of], 0, 1), requirements, labels)[0]:
            return None
    return np.unique(np.where(unsafe[of], len(unsafe), of), return_inverse=True)[1].astype(np.int64)


def _hold(
    tally: ColumnTally, of: IntArray, requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]
) -> BoolArray:
    """Whether the records of each part of the leaves satisfy every requirement."""
    parts = int(of.max()) + 1
    size = np.bincount(of, weights=tally.records, minlength=parts).astype(np.int64)
    holds = np.ones(parts, dtype=np.bool_)
    for requirement in requirements:
        seen = {}
        for name in requirement.hide:
            at, value, often = tally.hidden[name]
            seen[name] = ValueDistribution.count(of[at], value, parts, labels[name], often)
        holds &= np.asarray(requirement.model.satisfied(Linkage(size, size, seen)))
    return holds


def _gain(tally: ColumnTally, domain: Generalization, part: IntArray) -> float:
    """What the records of a region save in a column that is divided."""
    parts = int(part.max()) + 1
    first, last = np.full(parts, tally.code[-1]), np.zeros(parts, dtype=np.int64)
    np.minimum.at(first, part, tally.code)
    np.maximum.at(last, part, tally.code)
    whole = _width(domain, tally.code[:1], tally.code[-1:])[0]
    size = np.bincount(part, weights=tally.records, minlength=parts)
    return float(whole * size.sum() - size @ _width(domain, first, last))


def _width(domain: Generalization, first: IntArray, last: IntArray) -> FloatArray:
    return domain.width(*domain.close(first.astype(np.int64), last.astype(np.int64) + 1))


# Regions
# -------


MOST_VALUES = 1_000_000
"""Different values of one column that come to the driver."""


@dataclass(frozen=True)
class Regions:
    """A table cut into regions."""

    classes: RemoteClasses
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


def cut_regions(engine: SparkEngine, policy: Policy, method: Method, classes: RemoteClasses) -> Regions:
    """Regions of at most so many classes where claims allow it, from counts of the cluster (I1)."""
    if reason := unfit_for_regions(policy, method):
        what = f"the classes do not fit on the driver, and {reason}"
        raise PolicyError(
            f"this cannot run with --engine spark: {what}", hint="give the driver more memory, or coarsen columns"
        )
    texts = {name: tuple(_values(classes, name)) for name in policy.quasi_identifiers}
    domains = {name: generalization_of(policy, name, list(texts[name])) for name in policy.quasi_identifiers}
    leaves = tuple(
        Leaves(name, texts[name], encode(domain, texts[name], column=name)) for name, domain in domains.items()
    )
    requirements = stated_requirements(policy)
    hidden = list(dict.fromkeys(name for one in requirements for name in one.hide))
    cuts: list[RegionCut] = []
    sizes, waiting, records = {0: 0}, [0], 0
    while waiting:
        engine.progress(len(cuts) / (len(cuts) + len(waiting)), "cutting regions")
        found = engine.histogram(classes, leaves, partial(route_to_regions, tuple(cuts)), waiting, hidden)
        tallies = {region: _tallies(found, region, len(leaves), hidden) for region in waiting}
        records = records or _checked(tallies[0], requirements, _labels(found, hidden))
        ground = (tuple(domains.values()), requirements, _labels(found, hidden))
        waiting = [
            large
            for region in waiting
            for large in _cut(region, tallies[region], cuts, sizes, engine.region_classes, ground)
        ]
    return Regions(classes, leaves, domains, tuple(cuts), sizes, bin_regions(sizes, engine.region_classes), records)


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


def _values(classes: RemoteClasses, name: str) -> list[str]:
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


def _checked(
    tallies: list[ColumnTally], requirements: Sequence[Requirement], labels: Mapping[str, tuple[str, ...]]
) -> int:
    """The number of records; refuses a table of which not even one group of all would hold."""
    first = tallies[0]
    size = np.array([int(first.records.sum())])
    for one in requirements:
        seen = {}
        for name in one.hide:
            _, value, often = first.hidden[name]
            seen[name] = ValueDistribution.count(np.zeros(len(value), dtype=np.int64), value, 1, labels[name], often)
        whole = Linkage(size, size, seen)
        if not one.model.satisfied(whole).all():
            raise Infeasible("no record can be published: all records together break a claim", where=one.model.name)
    return int(size[0])


def solver(policy: Policy, method: Method, regions: Regions, secret: RunSecret, recoded: Sequence[str]) -> Any:
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
    key, identity = RunSecret(secret), classes.column(IDENTITY).to_numpy()[row]
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
                label, value = (
                    as_text(pa.chunked_array([batch.column(each)]), name) for each in (f"{LABEL}{place}", name)
                )
                wrong |= ~allowed_labels(label, value, domains[name], bounded=False).pairs(label.codes, value.codes)
            taken = batch.column(LAST).to_numpy() - batch.column(FIRST).to_numpy()
            yield pa.RecordBatch.from_pydict({"wrong": [int(taken[wrong].sum())]})

    return count
