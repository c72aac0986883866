"""The compiled cuts for people come to the groups that plain loops come to, which ask the models about every part."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table
from sfumato.kinds.tables.methods.kernels.person_partitioning import (
    by_key,
    cut_for_people,
    draw_box,
    is_inside,
    keep_fitting,
    longer,
    most_in_box,
    rows_allowed,
    varied,
)
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.person_requirements import Fit, rows_of_several
from sfumato.kinds.tables.methods.recoding import problem_of
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem
from sfumato.policy.policy import Policy

Way = tuple[int, str, int]
Proposal = tuple[tuple[int, ...], list[Way]]


class PlainCuts:
    """Groups of records as lists, cut as `kernels.cutting_people` says."""

    def __init__(self, problem: RecodingProblem) -> None:
        self.problem, self.fit, self.costs = problem, Fit(problem), Costs.of(problem, "loss")
        self.codes = problem.points[problem.row_point.of].astype(int)
        self.rows, self.person = rows_of_several(problem, problem.names)
        self.k = max((one.model.k for one in problem.requirements if hasattr(one.model, "k")), default=1)
        self.fewest = max(one.model.demand().fewest for one in problem.requirements if one.model.demand().sufficient)

    def groups(self, members: list[int]) -> list[list[int]]:
        parts = self.best(members)
        return [members] if parts is None else [group for part in parts for group in self.groups(part)]

    def best(self, members: list[int]) -> list[list[int]] | None:
        if len(members) < 2 * self.fewest:
            return None
        for proposals in (self.usual(members), self.unusual(members)):
            best, saved = None, 0.0
            for columns, ways in proposals:
                cut = columns if ways[0][1] == "point" else tuple(way[0] for way in ways)
                parts, left = self.parts(members, cut, [self.key(way, record) for way in ways for record in members])
                if len(parts) > 1 and (gain := self.gain(members, parts, columns, left)) > saved:
                    best, saved = parts, gain
            if best is not None:
                return best
        return None

    def key(self, way: Way, record: int) -> int:
        column, kind, at = way
        code = int(self.codes[record, column])
        if kind == "point":
            return int(self.problem.row_point.of[record])
        return code if kind == "leaf" else int(code >= at) if kind == "from" else self.child(column, code, at)

    def child(self, column: int, code: int, depth: int) -> int:
        """The node of a leaf at a depth; siblings are in the order of their leaves."""
        tree = self.problem.domains[column]
        assert isinstance(tree, Hierarchy)
        node = int(tree.ancestors[min(depth, len(tree.ancestors) - 1), code])
        return [one for one in range(len(tree.names)) if tree.parent[one] == tree.parent[node]].index(node)

    def steps(self, members: list[int], column: int) -> list[Way]:
        codes = sorted(int(code) for code in self.codes[members, column])
        domain = self.problem.domains[column]
        if codes[0] == codes[-1]:
            return []
        if isinstance(domain, Hierarchy):
            depth = sum(row[codes[0]] == row[codes[-1]] for row in domain.ancestors)
            return [(column, "child", depth)]
        median = codes[(len(codes) - 1) // 2]
        return [(column, "from", median), (column, "from", next((code for code in codes if code > median), median))]

    def usual(self, members: list[int]) -> list[Proposal]:
        return [
            ((column,), [way]) for column in range(len(self.problem.domains)) for way in self.steps(members, column)
        ]

    def unusual(self, members: list[int]) -> list[Proposal]:
        every = tuple(range(len(self.problem.domains)))
        found: list[Proposal] = [(every, [(0, "point", 0)])]
        open_columns = [column for column in every if self.steps(members, column)]
        for one in open_columns:
            for other in (column for column in open_columns if column > one):
                for first in ((one, "leaf", 0), self.steps(members, one)[0]):
                    for second in ((other, "leaf", 0), self.steps(members, other)[0]):
                        found.append((every, [first, second]))
            codes = self.codes[members, one]
            if isinstance(self.problem.domains[one], Hierarchy):
                found.append(((one,), [(one, "leaf", 0)]))
            else:
                width = int(codes.max() - codes.min())
                places = min(14, width)
                found += [((one,), [(one, "from", int(codes.min()) + 1 + i * width // places)]) for i in range(places)]
        return found

    def box(self, members: list[int]) -> list[tuple[int, int]]:
        lo, last = self.codes[members].min(axis=0), self.codes[members].max(axis=0)
        closed = [d.close(lo[c : c + 1], last[c : c + 1] + 1) for c, d in enumerate(self.problem.domains)]
        return [(int(low[0]), int(high[0])) for low, high in closed]

    def most(self, box: list[tuple[int, int]]) -> int:
        inside = [
            all(low <= code < high for code, (low, high) in zip(row, box, strict=True)) for row in self.rows.tolist()
        ]
        return max(1, int(np.bincount(self.person[inside], minlength=1).max()))

    def allowed(self, members: list[int]) -> int:
        if not members:
            return 0
        cells, count = np.unique(self.problem.row_cell.of[members], return_counts=True)
        alone = Grouping(cells, np.zeros(len(cells), dtype=np.int64), count)
        if not self.problem.satisfied(alone).all() or self.fit.broken(alone).any():
            return 0
        return self.most(self.box(members))

    def parts(self, members: list[int], columns: tuple[int, ...], keys: list[int]) -> tuple[list[list[int]], int]:
        children: dict[tuple[int, ...], list[int]] = {}
        for i, record in enumerate(members):
            children.setdefault(tuple(keys[i :: len(members)]), []).append(record)
        ordered = [children[key] for key in sorted(children)]
        safe = {place: most for place, child in enumerate(ordered) if (most := self.allowed(child))}
        rest = [record for place, child in enumerate(ordered) if place not in safe for record in child]
        if len(children) < 2 or not safe:
            return [], 0
        kept = [ordered[place] for place in safe]
        if rest and not self.allowed(rest):
            lent = self.borrowed(members, rest, kept, list(safe.values()), columns)
            if lent is not None:
                kept = [[record for record in child if record not in lent] for child in kept]
                rest = rest + sorted(lent)
            else:
                while kept and not self.allowed(rest):
                    rest = rest + kept.pop(min(range(len(kept)), key=lambda place: len(kept[place])))
        if not kept:
            return [], 0
        return ([*kept, rest] if rest else kept), len(rest)

    def borrowed(
        self, members: list[int], rest: list[int], kept: list[list[int]], most: list[int], columns: tuple[int, ...]
    ) -> set[int] | None:
        whole, box = self.box(members), self.box(rest)
        box = [whole[column] if column in columns else side for column, side in enumerate(box)]
        widest = self.most(box)
        frequent = [
            int(np.bincount(column.codes[rest]).max()) for column in self.problem.sensitive if "\0" not in column.name
        ]
        sure = any(type(one.model).__name__ == "NoCertainValue" for one in self.problem.requirements)
        need = max([self.fewest, self.k * widest] + [f + widest for f in frequent if sure]) - len(rest)
        spare = [len(child) - max(self.fewest, self.k * m) for child, m in zip(kept, most, strict=True)]
        home = {record: place for place, child in enumerate(kept) for record in child}
        lent: set[int] = set()
        for record in sorted(home, key=lambda one: (self.problem.row_point.of[one], one), reverse=True):
            inside = all(low <= code < high for code, (low, high) in zip(self.codes[record], box, strict=True))
            if len(lent) < need and spare[home[record]] > 0 and inside:
                lent.add(record)
                spare[home[record]] -= 1
        if len(lent) < need or not self.allowed(rest + sorted(lent)):
            return None
        left = [[record for record in child if record not in lent] for child in kept]
        return lent if all(self.allowed(child) for child in left) else None

    def gain(self, members: list[int], parts: list[list[int]], columns: tuple[int, ...], left: int) -> float:
        saves = 0.0
        for column in columns:
            after = 0.0
            for part in parts:
                after += len(part) * self.price(column, part)
            saves += len(members) * self.price(column, members) - after
        return saves * (1.0 - left / len(members))

    def price(self, column: int, members: list[int]) -> float:
        low, high = self.box(members)[column]
        return float(self.costs.column(column, np.array([low]), np.array([high]))[0])


def made(seed: int) -> RecodingProblem:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(20, 70))
    letters = [f"{a}{b}" for a in "xyz" for b in "12"]
    data = {
        "id": draw.integers(0, rows * 2 // 3, rows).astype(str).tolist(),
        "a": [letters[code] for code in np.minimum(draw.zipf(1.6, rows) - 1, 5)],
        "b": draw.integers(0, 9, rows).astype(str).tolist(),
        "c": draw.choice(["u", "v", "w"], rows, p=[0.7, 0.2, 0.1]).tolist(),
        "s": draw.choice(["1", "2", "3", "4"], rows).tolist(),
    }
    tree = {"*": {letter: [f"{letter}1", f"{letter}2"] for letter in "xyz"}}
    columns = {"id": "identifier", "s": {"role": "sensitive", "persistent": False}, "c": "quasi-identifier"}
    columns["a"] = {"role": "quasi-identifier", "hierarchy": tree}
    columns["b"] = {"role": "quasi-identifier", "hierarchy": "ranges"}
    claims = [
        {"k-anonymity": {"k": 2 + seed % 2}},
        {"l-diversity": {"l": 2, "kind": ["distinct", "frequency"][seed % 3 % 2]}},
    ]
    policy = Policy.parse({"version": 1, "columns": columns, "person": "id", "protect": claims[: 1 + seed % 4 % 3]})
    return problem_of(policy, Table(pa.table(data)))


@pytest.mark.twin(of=[cut_for_people, draw_box, is_inside, keep_fitting, longer, most_in_box, rows_allowed, varied])
@pytest.mark.parametrize("seed", [3, 5, 6, 10])
def test_the_same_groups(seed: int) -> None:
    problem = made(seed)
    placed = np.flatnonzero(~problem.out[problem.row_point.of]).tolist()
    plain_groups = {tuple(sorted(one)) for one in PlainCuts(problem).groups(placed)} if placed else set()
    found = mondrian(problem)
    assert len(plain_groups) == found.groups
    cells = sorted(tuple(sorted(problem.row_cell.of[list(one)].tolist())) for one in plain_groups)
    assert cells == sorted(
        tuple(sorted(np.repeat(found.cell[found.group == g], found.count[found.group == g]).tolist()))
        for g in range(found.groups)
    )


def test_every_group_holds_with_all_rows_that_fit() -> None:
    several = 0
    for seed in range(24):
        problem = made(seed)
        found = mondrian(problem)
        whole = PlainCuts(problem).allowed(list(range(problem.rows)))
        if whole:
            assert not Fit(problem).broken(found).any() and problem.satisfied(found).all()
            several += found.groups > 2
    assert several > 8


def plain_order(key: list[int]) -> list[int]:
    return sorted(range(len(key)), key=lambda place: (key[place], place))


@pytest.mark.twin(of=[by_key])
def test_places_come_in_the_order_of_their_keys() -> None:
    """One test, for a loop that only other loops call is translated anew in every process that calls it by itself."""
    for largest, seed in itertools.product([1, 3, 40, 2**40], range(20)):
        draw = np.random.default_rng(seed)
        key = draw.integers(-largest, largest, int(draw.integers(1, 30)))
        found, plain = by_key(key).tolist(), plain_order(key.tolist())
        assert key[found].tolist() == key[plain].tolist() and sorted(found) == sorted(plain)
        assert found == plain or key.max() - key.min() > 2 * len(
            key
        )  # equal keys come as they stand where they are counted
