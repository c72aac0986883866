"""The recoding problem: distinct quasi-identifier tuples with counts, what may be joined, and what every group must
satisfy.

All methods that publish one recoded table (clustering, mondrian, refined, …) start from a `RecodingProblem` and end
with a `Grouping`. A group is published as the smallest publishable interval around it in every column, unless the
grouping says otherwise.

A claim is about the columns that the adversary is given. Who knows them sees *classes*: all records whose published
intervals are equal there. Where a requirement is about all columns, every group must satisfy it itself. Paper:
[boundaries Def. 8, 9, Properties 1-6]

Notation
    point     a distinct quasi-identifier tuple (leaf codes), with the number of records that have it
    cell      a distinct (point, sensitive values) combination, with its count: the smallest unit that methods move
    region    points with the same ceilings in every column (Def. 9); by Property 1 only records of one region may share
              a group
    out       regions that break a requirement even in the coarsest release; by Properties 5 and 6 exactly these must be
              suppressed
    coarsest  every record at its ceilings. Whatever else may be published, it may be published so: the classes of any
              release are parts of the coarsest ones, and a monotone model survives joining. So a release exists if this
              one holds
    uniform   all claims speak of all columns of the problem

Invariants
    I1  Groups never cross regions.
    I2  Every group, or class, satisfies every requirement; `satisfied` says so for a finished grouping, by the models
        themselves.
    I3  Intervals that a grouping brings along are publishable, contain their group and stay within the boundaries.
    I4  Of a class that breaks a requirement exactly those regions are suppressed that break it by themselves. There is
        one, because a monotone model would survive joining; and all of them, when adding records never hurts, because
        none can be saved.

Departures
    Properties 5 and 6 are stated for p-sensitive k-anonymity, where adding records to a group never hurts. For models
    on shares (frequency, entropy, t-closeness) a region that fails is suppressed as a whole, or who is missing would
    depend on single values. For t-closeness the overall distribution changes with what is suppressed: `out` is a fixed
    point, or one region alone.


Claims
------
The requirements of a recoding problem, asked about some of its groups at a time.

Invariants
    I1  A verdict never depends on which other groups are asked about: where a model may compare with the whole release
        (t-closeness), records that no group mentions are put into one group of their own, so that it sees the whole
        release.
    I2  Claims that speak of numbers alone are one threshold, `fewest`; it is found by asking the models themselves.


Shares
------
Shares: how many records of every row go to which group, where a row may be a class of many.

>>> shares = cross_shares(np.array([1, 0]), np.array([0, 3]), np.array([7, 8]), np.array([0, 2]), np.array([2, 2]), 5)
>>> shares.row.tolist(), shares.group.tolist(), shares.count.tolist()
([0, 0, 1, 1], [8, -1, 7, 8], [1, 1, 2, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from sfumato.core.arrays import BoolArray, CodeArray, IntArray, NarrowArray
from sfumato.data.equivalence_classes import EquivalenceClasses, class_counts, equivalence_classes_of, unit_weights
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.history.constrain.constraints import PersonCandidateClasses
from sfumato.models.base import Model

_TRIED, _FEW = 100, 10
"""Regions that are tried alone when all of them together leave nothing; so few that every set of them is tried."""
_OF_ROWS = ("row_point", "points", "row_cell", "cell_point", "cell_values", "regions")
"""What is derived whatever the requirements are."""


@dataclass(frozen=True, slots=True)
class Sensitive:
    """One sensitive column of the records: codes into its labels."""

    name: str
    codes: CodeArray
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A model, the sensitive columns it is about, and the columns that the adversary knows (none: all of the
    problem)."""

    model: Model
    hide: tuple[str, ...] = ()
    given: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """What each group is published as in one column.

    If several nodes of a hierarchy cover the same occurring leaves, the lowest is used unless a node is named. A column
    that is recoded as a whole shows ``30-39`` and ``40-49`` even if only one record is below 40."""

    lo: IntArray
    hi: IntArray
    node: IntArray | None = None

    @classmethod
    def at(cls, tree: Hierarchy, node: IntArray) -> Cells:
        """Cells that show nodes of a hierarchy by their own names."""
        return cls(tree.lo[node], tree.hi[node], node)

    def taken(self, groups: IntArray | CodeArray) -> Cells:
        """The cells of some groups."""
        return Cells(self.lo[groups], self.hi[groups], None if self.node is None else self.node[groups])

    def sides(self) -> list[IntArray]:
        """Numbers that are equal exactly when cells are written alike."""
        return [self.lo, self.hi] if self.node is None else [self.lo, self.hi, self.node]

    def risen(self, domain: Generalization) -> Cells:
        """The cells at their boundary: groups only become more alike, so monotone requirements hold."""
        if isinstance(domain, Hierarchy):
            return Cells.at(domain, domain.ceiling_nodes[self.lo])
        floor, roof = domain.ceiling()
        return Cells(floor[self.lo], roof[self.lo])

    def labels(self, domain: Generalization) -> list[str]:
        """How they are written."""
        if self.node is None or not isinstance(domain, Hierarchy):
            return domain.labels(self.lo, self.hi)
        return [domain.names[node] for node in self.node]


@dataclass(frozen=True, slots=True)
class Grouping:
    """`count[i]` records of cell `cell[i]` go to group `group[i]`; groups are numbered from 0 without gaps."""

    cell: IntArray
    group: IntArray
    count: IntArray
    published: tuple[Cells, ...] | None = None
    """Per column what each group is published as, when it is not the smallest interval around the group (I3)."""

    @property
    def groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1


@dataclass(frozen=True)
class RecodingProblem:
    """One recoding problem in terms of leaf codes; rows are records, or classes of records that look alike with their
    counts."""

    names: tuple[str, ...]
    domains: tuple[Generalization, ...]
    codes: tuple[NarrowArray, ...]
    """Leaf codes, one array over all rows per quasi-identifier."""
    sensitive: tuple[Sensitive, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)
    multiplicity: IntArray | None = field(default=None, repr=False)
    """How many records each row stands for, where rows are classes with counts; one each without."""
    beside: int = 0
    """Rows at the end that are people of the population and not of the table: company for others, never published."""
    undivided: tuple[str, frozenset[int]] | None = None
    """A column, and leaves of it of which all records are published or none, because absence is known."""
    settled: tuple[str, frozenset[int]] | None = None
    """A column, and leaves of it whose records were arranged as well as possible before: nobody need look for better
    groups."""
    whole: RecodingProblem | None = field(default=None, repr=False)
    """The problem that this is a component of, suppressed records included."""
    others: PersonCandidateClasses | None = field(default=None, repr=False)
    """Of people in several rows: rows that could be of another persistent class, too."""

    @property
    def rows(self) -> int:
        return len(self.codes[0])

    @property
    def records(self) -> int:
        return self.rows if self.multiplicity is None else int(self.multiplicity.sum())

    @cached_property
    def row_point(self) -> EquivalenceClasses:
        """Which point each row is at."""
        return equivalence_classes_of(self.codes, weights=self.multiplicity)

    @cached_property
    def points(self) -> CodeArray:
        """Leaf codes of each point: points × quasi-identifiers."""
        return np.stack([column[self.row_point.first] for column in self.codes], axis=1, dtype=np.int32)

    @property
    def counts(self) -> IntArray:
        return self.row_point.counts

    @cached_property
    def row_cell(self) -> EquivalenceClasses:
        """Which cell each row is in; cells are ordered by point."""
        return equivalence_classes_of(
            [self.row_point.of, *(column.codes for column in self.sensitive)], weights=self.multiplicity
        )

    def forget(self) -> None:
        """Let go of everything that was derived from the rows; who asks again has it made anew."""
        for name, made in vars(type(self)).items():
            if isinstance(made, cached_property):
                self.__dict__.pop(name, None)

    def tally(self, column: int) -> IntArray:
        """How many records have each leaf of a column."""
        return class_counts(self.codes[column].astype(np.int64), self.multiplicity, self.domains[column].size)

    @cached_property
    def cell_point(self) -> IntArray:
        return self.row_point.of[self.row_cell.first]

    @cached_property
    def cell_values(self) -> dict[str, CodeArray]:
        """The sensitive codes of each cell."""
        return {column.name: column.codes[self.row_cell.first] for column in self.sensitive}

    @cached_property
    def regions(self) -> EquivalenceClasses:
        """Region of each point (Def. 9): what Property 1 allows to be joined."""
        ceilings: list[IntArray] = []
        for column, domain in enumerate(self.domains):
            lo, hi = domain.ceiling()
            if len(lo) and ((lo != lo[0]) | (hi != hi[0])).any():  # else it is the same for all people
                ceilings += [lo[self.points[:, column]], hi[self.points[:, column]]]
        return equivalence_classes_of(
            ceilings, rows=len(self.points)
        )  # I1: nothing but points of one of these is ever joined

    @cached_property
    def settled_regions(self) -> BoolArray:
        """Per region: need nobody look for better groups of its points?"""
        if self.settled is None or self.settled[0] not in self.names:
            return np.zeros(len(self.regions), dtype=np.bool_)
        code = self.points[self.regions.first, self.names.index(self.settled[0])]
        return np.isin(code, list(self.settled[1]))

    @cached_property
    def uniform(self) -> bool:
        """Whether all claims speak of all columns, so that groups can be judged one by one."""
        return all(self.given(requirement) == self.names for requirement in self.requirements)

    def given(self, requirement: Requirement) -> tuple[str, ...]:
        """The columns that a requirement's adversary knows, in the order of the problem."""
        known = requirement.given
        return self.names if known is None else tuple(name for name in self.names if name in known)

    @cached_property
    def out(self) -> BoolArray:
        """Per point: must it be suppressed because its region breaks a requirement even in the coarsest release?"""
        kept = np.ones(len(self.regions), dtype=np.bool_)
        while kept.any():
            stays = self._worth_keeping(self._whole_regions(kept))
            if stays.all():
                return ~kept[self.regions.of]
            kept[np.flatnonzero(kept)[~stays]] = False
        return ~self._last_resort()[self.regions.of]

    def _worth_keeping(self, coarse: Grouping) -> BoolArray:
        """For each region: is no claim broken, in its class and by itself as well? (I4)"""
        whole = self.linkage(coarse, self._hidden)
        stays = np.ones(coarse.groups, dtype=np.bool_)
        for requirement in self.requirements:
            alone = self._groups_satisfied(requirement, whole)
            if self.given(requirement) != self.names:
                alone = alone | self._classes_satisfied(requirement, coarse)
            stays &= alone
        return stays

    def _last_resort(self) -> BoolArray:
        """The most records of a few regions that hold when nothing else is published; models that compare with the
        release may allow them although all regions together leave nothing."""
        if self.uniform and not any(requirement.model.compares_release for requirement in self.requirements):
            return np.zeros(len(self.regions), dtype=np.bool_)  # every region was judged by itself
        size = np.bincount(self.regions.of, weights=self.counts, minlength=len(self.regions))
        large = np.argsort(-size, kind="stable")[:_TRIED]
        sets = subsets(large.tolist()) if len(size) <= _FEW else [(region,) for region in large.tolist()]
        for chosen in sorted(sets, key=lambda some: -float(size[list(some)].sum())):
            only = np.isin(np.arange(len(size)), chosen)
            if self.satisfied(self._whole_regions(only)).all():
                return only
        return np.zeros(len(size), dtype=np.bool_)

    @cached_property
    def everywhere(self) -> RecodingProblem:
        """The problem in which every claim is about all columns: more than is asked, and judged group by group."""
        return self.asking(tuple(replace(one, given=None) for one in self.requirements))

    def asking(self, requirements: tuple[Requirement, ...]) -> RecodingProblem:
        """The same records under other requirements; what rows alone say is not found out again."""
        other = replace(self, requirements=requirements)
        other.__dict__.update({name: made for name, made in vars(self).items() if name in _OF_ROWS})
        return other

    def _whole_regions(self, kept: BoolArray) -> Grouping:
        region = self.regions.of[self.cell_point]
        cells = np.flatnonzero(kept[region])
        published = None if self.uniform else self._ceilings(self.regions.first[kept])
        return Grouping(cells, (np.cumsum(kept) - 1)[region[cells]], self.row_cell.counts[cells], published)

    def _ceilings(self, points: IntArray) -> tuple[Cells, ...]:
        """Per column how far some points may be generalized."""
        codes = self.points[points]
        return tuple(Cells(*domain.ceiling()).taken(codes[:, column]) for column, domain in enumerate(self.domains))

    def coarsest(self) -> Grouping:
        """The release in which every record that need not be suppressed is at its ceilings."""
        kept = np.ones(len(self.regions), dtype=np.bool_)
        kept[self.regions.of[self.out]] = False
        published = self._ceilings(self.regions.first[kept])
        return replace(self._whole_regions(kept), published=published)

    @property
    def suppressed(self) -> int:
        """How many records must be suppressed; people who are not in the table are none."""
        if self.beside:
            return int(self.out[self.row_point.of[: self.rows - self.beside]].sum())
        return int(self.counts[self.out].sum())

    @property
    def own(self) -> int:
        """Records of the table."""
        return self.records - self.beside

    def grouping(self, group_of_point: IntArray) -> Grouping:
        """The grouping that keeps every point whole; −1 marks points that are suppressed."""
        group_of_cell = group_of_point[self.cell_point]
        cells = np.flatnonzero(group_of_cell >= 0)
        return Grouping(cells, group_of_cell[cells], self.row_cell.counts[cells])

    def grouping_of(self, points: IntArray, group_of_point: IntArray) -> Grouping:
        """The grouping of some points, each kept whole; nothing is said about the others."""
        first = self._first_cell[points]
        many = self._first_cell[points + 1] - first
        cells = np.repeat(first - (np.cumsum(many) - many), many) + np.arange(int(many.sum()))
        return Grouping(cells, np.repeat(group_of_point, many), self.row_cell.counts[cells])

    @cached_property
    def _first_cell(self) -> IntArray:
        """Where the cells of each point begin, and the end: cells are ordered by point."""
        return np.searchsorted(self.cell_point, np.arange(len(self.points) + 1)).astype(np.int64)

    def linkage(self, grouping: Grouping, hide: Sequence[str] = ()) -> Linkage:
        """What an adversary would be left with if this grouping were published."""
        groups = grouping.groups
        size = np.bincount(grouping.group, weights=grouping.count, minlength=groups).astype(np.int64)
        spread = {
            column.name: ValueDistribution.count(
                grouping.group, self.cell_values[column.name][grouping.cell], groups, column.labels, grouping.count
            )
            for column in self.sensitive
            if column.name in hide
        }
        return Linkage(size, size, spread)

    def satisfied(self, grouping: Grouping) -> BoolArray:
        """For each group: are all claims satisfied, there or in the class that the adversary sees? (I2)"""
        whole = self.linkage(grouping, self._hidden)
        verdict = np.ones(len(whole.candidates), dtype=np.bool_)
        for requirement in self.requirements:
            if self.given(requirement) == self.names:
                verdict &= self._groups_satisfied(requirement, whole)
            else:
                verdict &= self._classes_satisfied(requirement, grouping)
        return verdict

    @property
    def _hidden(self) -> tuple[str, ...]:
        return tuple({name for requirement in self.requirements for name in requirement.hide})

    def _groups_satisfied(self, requirement: Requirement, whole: Linkage) -> BoolArray:
        seen = {name: whole.spread[name] for name in requirement.hide}
        return np.asarray(requirement.model.satisfied(Linkage(whole.people, whole.candidates, seen)))

    def _classes_satisfied(self, requirement: Requirement, grouping: Grouping) -> BoolArray:
        """Return for each group whether its class satisfies the requirement for an adversary who knows the given
        columns."""
        cells = dict(zip(self.names, self.cells(grouping), strict=True))
        alike = equivalence_classes_of(
            [side for name in self.given(requirement) for side in cells[name].sides()], rows=grouping.groups
        )
        classes = Grouping(grouping.cell, alike.of[grouping.group], grouping.count)
        return np.asarray(requirement.model.satisfied(self.linkage(classes, requirement.hide)))[alike.of]

    def intervals(self, grouping: Grouping) -> list[tuple[IntArray, IntArray]]:
        """Per column the published interval of each group."""
        if grouping.published is not None:
            return [(cells.lo, cells.hi) for cells in grouping.published]
        if not grouping.groups:
            none = np.zeros(0, dtype=np.int64)
            return [(none, none) for _ in self.domains]
        point = self.cell_point[grouping.cell]
        ends = (_extremes(self.points[:, column][point], grouping) for column in range(len(self.domains)))
        return [domain.close(lo, hi + 1) for domain, (lo, hi) in zip(self.domains, ends, strict=True)]

    def cells(self, grouping: Grouping) -> list[Cells]:
        """Per column what each group is published as."""
        if grouping.published is not None:
            return list(grouping.published)
        return [Cells(lo, hi) for lo, hi in self.intervals(grouping)]

    def flaw(self, grouping: Grouping) -> str:
        """What is wrong with the cells that a grouping brings along; empty when they may be published (I3)."""
        codes = self.points[self.cell_point[grouping.cell]]
        for column, cells in enumerate(grouping.published or ()):
            if len(cells.lo) != grouping.groups or not _publishable(self.domains[column], cells):
                return f"an interval of '{self.names[column]}' cannot be published"
            if found := _misplaced(self.domains[column], cells.taken(grouping.group), codes[:, column]):
                return f"an interval of '{self.names[column]}' {found}"
        return ""

    def group_of_record(self, grouping: Grouping) -> IntArray:
        """The group of every record, −1 for suppressed ones; which of a cell's records go where does not matter."""
        if self.multiplicity is not None:
            raise ValueError("rows are classes, whose records may go to several groups: ask for shares")
        return self.shares(grouping).group

    def shares(self, grouping: Grouping) -> Shares:
        """How many records of every row go to which group; the rows of a cell take its groups one after the other."""
        if np.array_equal(grouping.count, self.row_cell.counts[grouping.cell]):  # no cell is divided
            of_cell = np.full(len(self.row_cell), -1, dtype=np.int64)
            of_cell[grouping.cell] = grouping.group
            many = unit_weights(self.rows) if self.multiplicity is None else self.multiplicity
            return Shares(np.arange(self.rows), of_cell[self.row_cell.of], many)
        order = np.argsort(self.row_cell.of, kind="stable")
        many = np.ones(self.rows, dtype=np.int64) if self.multiplicity is None else self.multiplicity[order]
        starts, records = np.cumsum(many) - many, int(many.sum())
        del many
        of_cell = np.cumsum(self.row_cell.counts) - self.row_cell.counts
        by_cell = np.argsort(grouping.cell, kind="stable")
        cell, count = grouping.cell[by_cell], grouping.count[by_cell]
        placed = np.cumsum(count) - count
        first = of_cell[cell] + placed - placed[np.searchsorted(cell, cell)]
        del of_cell, cell, placed  # with many classes every array counts
        return cross_shares(order, starts, grouping.group[by_cell], first, count, records)


def _extremes(codes: CodeArray, grouping: Grouping) -> tuple[IntArray, IntArray]:
    """The lowest and the highest code in each group; 0 in a group without any person."""
    lo, hi = (
        np.full(grouping.groups, np.iinfo(codes.dtype).max, dtype=codes.dtype),
        np.full(grouping.groups, -1, dtype=codes.dtype),
    )
    np.minimum.at(lo, grouping.group, codes)
    np.maximum.at(hi, grouping.group, codes)
    return np.where(hi < 0, 0, lo).astype(np.int64), np.maximum(hi, 0).astype(np.int64)


def _publishable(domain: Generalization, cells: Cells) -> bool:
    lo, hi = domain.close(cells.lo, cells.hi)
    closed = np.array_equal(lo, cells.lo) and np.array_equal(hi, cells.hi)
    if cells.node is None or not closed:
        return closed
    return (
        isinstance(domain, Hierarchy)
        and np.array_equal(domain.lo[cells.node], lo)
        and np.array_equal(domain.hi[cells.node], hi)
    )


def _misplaced(domain: Generalization, cells: Cells, code: CodeArray) -> str:
    """What is wrong with publishing each leaf as its cell."""
    if ((code < cells.lo) | (code >= cells.hi)).any():
        return "does not contain its records"
    floor, roof = domain.ceiling()
    beyond = (cells.lo < floor[code]) | (cells.hi > roof[code])
    if cells.node is not None and isinstance(domain, Hierarchy):
        beyond |= cells.node > domain.ceiling_nodes[code]  # nodes above others have larger numbers
    return "goes beyond a boundary" if beyond.any() else ""


def subsets(some: Sequence[int]) -> list[tuple[int, ...]]:
    """All sets of these but the empty one.

    >>> subsets([3, 5])
    [(3,), (5,), (3, 5)]
    """
    return [chosen for size in range(1, len(some) + 1) for chosen in combinations(some, size)]


# Claims
# ------


class Claims:
    """What every group must satisfy."""

    def __init__(self, problem: RecodingProblem) -> None:
        self.problem = problem
        self.by_size = not any(r.model.needs_sensitive for r in problem.requirements)
        """Whether the number of records in a group decides everything."""
        self.hidden = tuple(c.name for c in problem.sensitive if any(c.name in r.hide for r in problem.requirements))
        """The sensitive columns that some claim speaks about."""
        self.compares = not problem.uniform or not all(r.model.demand().sufficient for r in problem.requirements)
        """Whether the verdict on a group may hang on others: not where numbers of its own are all that anybody asks
        for."""

    @cached_property
    def fewest(self) -> int:
        """The smallest size that satisfies the requirements on numbers; records + 1 when none does (I2)."""
        low, high = 1, self.problem.records + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._large_enough(np.array([middle]))[0] else (middle + 1, high)
        return low

    def _large_enough(self, size: IntArray) -> BoolArray:
        verdict = np.ones(len(size), dtype=np.bool_)
        for requirement in self.problem.requirements:
            if not requirement.model.needs_sensitive:
                verdict &= requirement.model.satisfied(Linkage(size, size))
        return verdict

    def hold(self, part: Grouping) -> BoolArray:
        """For each group of `part`, which may leave records out: are all claims satisfied?"""
        groups = part.groups
        size = np.bincount(part.group, weights=part.count, minlength=groups).astype(np.int64)
        verdict = self._large_enough(size)
        if self.by_size or not verdict.any():
            return verdict
        whole = self._with_rest(part) if self.compares else part  # I1
        del part  # freed by callers that do not need it
        return verdict & self.problem.satisfied(whole)[:groups]

    @cached_property
    def _profiles(self) -> tuple[IntArray, IntArray, IntArray]:
        """Per cell its combination of sensitive values; per combination one cell, and the records that are to be
        placed."""
        classes = equivalence_classes_of(
            [self.problem.cell_values[name] for name in self.hidden], rows=len(self.problem.cell_point)
        )
        placed = np.where(self.problem.out[self.problem.cell_point], 0, self.problem.row_cell.counts)
        total = np.bincount(classes.of, weights=placed, minlength=len(classes)).astype(np.int64)
        return classes.of, classes.first, total

    def _with_rest(self, part: Grouping) -> Grouping:
        """The part and, as one more group, everything else (I1)."""
        profile, representative, total = self._profiles
        inside = np.bincount(profile[part.cell], weights=part.count, minlength=len(total)).astype(np.int64)
        rest = np.flatnonzero(total > inside)
        return Grouping(
            np.concatenate([part.cell, representative[rest]]),
            np.concatenate([part.group, np.full(len(rest), part.groups, dtype=np.int64)]),
            np.concatenate([part.count, (total - inside)[rest]]),
        )

    def variety(self, name: str) -> tuple[int, bool]:
        """How many values of a sensitive column a group needs at least, and whether they must be about equally
        frequent.

        An estimate for methods that search groups, found by testing the models on invented ones; (1, False) means
        unknown."""
        even = [r for r in self.problem.requirements if name in r.hide]
        width = next(len(column.labels) for column in self.problem.sensitive if column.name == name)
        for kinds in range(1, width + 1):
            if all(_holds_for(r.model, name, np.full(kinds, _MANY)) for r in even):
                skewed = np.array([_MANY * _MANY] + [1] * (kinds - 1))
                return kinds, not all(_holds_for(r.model, name, skewed) for r in even)
        return 1, False


class Sizes(Claims):
    """Nothing but a number of records, for groups that are formed without a look at any person's values."""

    def __init__(self, problem: RecodingProblem, fewest: int) -> None:
        super().__init__(problem)
        self.by_size = True
        self.fewest = fewest

    def hold(self, part: Grouping) -> BoolArray:
        return np.bincount(part.group, weights=part.count, minlength=part.groups) >= self.fewest


_MANY = 1000


def _holds_for(model: Model, name: str, tally: IntArray) -> bool:
    """Whether a release of one group with this tally of made-up values satisfies a model."""
    values = np.arange(len(tally))
    spread = ValueDistribution.count(np.zeros(len(tally), dtype=np.int64), values, 1, tuple(map(str, values)), tally)
    size = np.array([tally.sum()])
    return bool(model.compared_with_release().satisfied(Linkage(size, size, {name: spread}))[0])


# Shares
# ------


@dataclass(frozen=True, slots=True)
class Shares:
    """`count[i]` records of row `row[i]` go to group `group[i]`, −1 when suppressed; sorted by row, every record in
    one."""

    row: IntArray
    group: IntArray
    count: IntArray


def cross_shares(
    order: IntArray, starts: IntArray, group: IntArray, first: IntArray, count: IntArray, records: int
) -> Shares:
    """Rows that begin at `starts`, cut where groups begin and end; what no group takes is suppressed. In the order of
    the rows."""
    last = first + count
    cuts = np.concatenate([starts, first, last])
    cuts.sort()
    cuts = cuts[np.append(True, cuts[1:] != cuts[:-1]) & (cuts < records)]
    row = order[np.searchsorted(starts, cuts, side="right") - 1]
    of = np.full(len(cuts), -1, dtype=np.int64)
    if len(first):
        taker = np.searchsorted(first, cuts, side="right") - 1
        taken = (taker >= 0) & (cuts < last[taker])
        of[taken] = group[taker[taken]]
        del taker, taken
    many = np.diff(cuts, append=records)
    del cuts, last
    by_row = np.argsort(row, kind="stable")
    return Shares(row[by_row], of[by_row], many[by_row])
