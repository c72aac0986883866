"""Mondrian's cuts where one person may stand in several rows: what the compiled pass needs, from a recoding problem.

The pass (`kernels.cutting_people`) judges every part with M, all rows of a person that fit what the part is published as, so that
holds whatever the other parts become. It divides points: a rest that is too small borrows records, not whole points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.cell_costs import cell_costs
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.joining import tidied
from sfumato.methods.recoding.people import HAVING, WHOSE, FewHaveIt, NothingCertain, OfPeople, RowsApart, rows_of_several
from sfumato.methods.recoding.problem import Grouping, RecodingProblem, Requirement
from sfumato.methods.recoding.trees import trees_of

if TYPE_CHECKING:
    from sfumato.methods.recoding.kernels.crowds import Crowd, CrowdWish, Ends
    from sfumato.methods.recoding.kernels.cutting_people import PeopleBoard, Run


def counts_people(problem: RecodingProblem) -> bool:
    """Whether something is asked of people, and the compiled pass knows all that is asked."""
    known = all(isinstance(one.model, OfPeople) or one.model.demand().sufficient for one in problem.requirements)
    return known and problem.uniform and any(isinstance(one.model, OfPeople) for one in problem.requirements)


def cut_people(problem: RecodingProblem, objective: str) -> Grouping:
    """The groups of a problem in which people are counted; groups are safe unless a region is not safe as a whole."""
    from sfumato.methods.recoding.kernels.cutting_people import cut_for_people

    rows = np.flatnonzero(~problem.out[problem.row_point.of])
    region = problem.regions.of[problem.row_point.of[rows]]
    order = rows[np.argsort(region, kind="stable")]
    first = np.concatenate([np.flatnonzero(np.diff(np.sort(region), prepend=-1)), [len(order)]]).astype(np.int64)
    found = cut_for_people(_board(problem, objective), order, first, _room(problem, len(order)))
    return tidied(problem.row_cell.of[rows], found[rows], np.ones(len(rows), dtype=np.int64))


def _board(problem: RecodingProblem, objective: str) -> PeopleBoard:
    from sfumato.methods.recoding.kernels.crowds import CrowdDesk
    from sfumato.methods.recoding.kernels.cutting_people import PeopleBoard

    hidden = [column.name for column in problem.sensitive if column.name != WHOSE and not column.name.startswith(HAVING)]
    crowd, wanted = _crowd(problem, hidden), _wanted(problem, hidden)
    people, values, had = (int(codes.max(initial=0)) + 1 for codes in (crowd.person, crowd.value, crowd.having))
    box, whole = np.zeros((2, 2, len(problem.domains)), dtype=np.int64)
    tally, value, having, largest = (np.zeros(n, dtype=np.int64) for n in (people, values, had, len(hidden)))
    desk = CrowdDesk(tally, value, having, box, whole, largest)
    return PeopleBoard(crowd, wanted, trees_of(problem), _ends(problem), cell_costs(problem, objective), desk)


def _crowd(problem: RecodingProblem, hidden: Sequence[str]) -> Crowd:
    from sfumato.methods.recoding.kernels.crowds import Crowd

    columns = {column.name: column.codes for column in problem.sensitive}
    value = _beside([columns[name] for name in hidden], problem.rows)
    having = _beside([columns.get(HAVING + name, columns[name]) for name in hidden], problem.rows)
    codes = np.ascontiguousarray(problem.points[problem.row_point.of])
    point, whose = problem.row_point.of.astype(np.int64), columns[WHOSE].astype(np.int64)
    return Crowd(codes, point, whose, value, having, *rows_of_several(problem, problem.names))


def _beside(columns: Sequence[np.ndarray], rows: int) -> IntArray:
    """Columns as one array of records × columns."""
    return np.ascontiguousarray(np.array(columns, dtype=np.int64).reshape(len(columns), rows).T)


def _wanted(problem: RecodingProblem, hidden: Sequence[str]) -> CrowdWish:
    """What the requirements come to in numbers."""
    from sfumato.methods.recoding.kernels.crowds import CrowdWish

    people = [one.model for one in problem.requirements if isinstance(one.model, OfPeople)]
    others = [one for one in problem.requirements if not isinstance(one.model, OfPeople)]
    k = max((model.k for model in people if isinstance(model, RowsApart)), default=1)
    sure = {model.column for model in people if isinstance(model, NothingCertain)}
    shares = {model.column: model for model in sorted(_shares(people), key=lambda model: -model.share)}
    mine = [shares.get(HAVING + name) for name in hidden]
    value_of = np.zeros((len(hidden), max([1, *(len(one.value) for one in mine if one is not None)])), dtype=np.int64)
    for place, one in enumerate(mine):
        if one is not None:
            value_of[place, : len(one.value)] = one.value
    return CrowdWish(
        Claims(problem).fewest, k,
        np.array([max(_demanded(others, name, "distinct"), default=0) for name in hidden], dtype=np.int64),
        _shares_of([min(_demanded(others, name, "largest_share"), default=1.0) for name in hidden]),
        _shares_of([1.0 if one is None else one.share for one in mine]),
        np.array([name in sure for name in hidden], dtype=np.int64),
        np.array([0 if one is None else one.values for one in mine], dtype=np.int64),
        value_of,
    )  # fmt: skip


def _shares(people: Sequence[OfPeople]) -> list[FewHaveIt]:
    return [model for model in people if isinstance(model, FewHaveIt)]


def _shares_of(shares: Sequence[float]) -> FloatArray:
    return np.array(shares, dtype=np.float64)


def _demanded(others: Sequence[Requirement], name: str, what: str) -> list[float]:
    return [getattr(one.model.demand(), what) for one in others if name in one.hide]


def _ends(problem: RecodingProblem) -> Ends:
    """First leaf and the one after the last below every node, beside the nodes of the trees."""
    from sfumato.methods.recoding.kernels.crowds import Ends

    above = [(domain, domain.ancestors) for domain in problem.domains if isinstance(domain, Hierarchy)]
    none = np.zeros(0, dtype=np.int64)
    low = np.concatenate([none, *(domain.lo[nodes].ravel() for domain, nodes in above)]).astype(np.int64)
    return Ends(low, np.concatenate([none, *(domain.hi[nodes].ravel() for domain, nodes in above)]).astype(np.int64))


def _room(problem: RecodingProblem, many: int) -> Run:
    from sfumato.methods.recoding.kernels.cutting_people import Run

    span, cut, members, part, start, most, rest, best, size = (
        np.zeros(n, dtype=np.int64) for n in (4, 4, many, many, many + 2, many + 1, many, problem.rows, many + 1)
    )
    extent = np.zeros((many + 1, 2 * len(problem.domains)), dtype=np.int64)
    return Run(span, cut, members, part, start, most, rest, best, np.zeros(1), extent, size)
