"""People who were published before, where pseudonyms tie their rows: who may be published again, and who is left out beside whom.

Bags keep people with the same past together (`bags`, I5). What remains is absence: whoever is not published now is known by that,
and shares it with the people of the same past who are absent, too.

Invariants
    I1  Of people with the same past those who are absent satisfy the claims by what was published of them, unless all are absent.
        Where those who left do not, companions are withheld beside them, as few as will do, or everybody with that past.
    I2  Whoever found no partners is absent like who left. Where that breaks a claim, everybody with the same past is tried again
        with the rows alone that were published before, and withheld if that breaks one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.bags import alike_bags
from sfumato.errors import Infeasible
from sfumato.methods.recoding.bags import Bags, Grouper, RowCounts, WrittenRows, grouped
from sfumato.methods.recoding.problem import Cells
from sfumato.randomness import Randomness

_ROUNDS = 12
"""How many companions are tried beside those who left before everybody with their past is withheld."""


def continued_bags(
    bags: Bags, leaving: str, randomness: Randomness, grouper: Grouper, done: Callable[[float], None]
) -> Sequence[WrittenRows]:
    """Everybody's rows as far as they may be published."""
    here = np.zeros(bags.people, dtype=np.bool_)
    here[bags.person] = True
    past = _Pasts(bags)
    away = past.looked_after(~here & (past.of >= 0), leaving, randomness.child("companions"))
    found = grouped(bags, bags.by_kind(here & ~away), randomness, grouper, done)
    lost = past.torn(found)
    if lost.any():  # I2
        found = [_without(one, lost[bags.owner[one.records]]) for one in found]
        found += grouped(bags, bags.by_kind(here & ~away & lost, known=True), randomness.child("again"), grouper, done)
        lost = past.torn(found)
    return [_without(one, lost[bags.owner[one.records]]) for one in found]


def _without(written: WrittenRows, dropped: BoolArray) -> WrittenRows:
    cells = {name: Cells(cell.lo[~dropped], cell.hi[~dropped]) for name, cell in written.cells.items()}
    return WrittenRows(written.records[~dropped], cells)


class _Pasts:
    """Everybody who was ever published, by what was shown of all their records."""

    def __init__(self, bags: Bags) -> None:
        self.bags = bags
        told = np.flatnonzero(bags.look >= 0)
        people, person = np.unique(bags.owner[told], return_inverse=True)
        self.of = np.full(bags.people, -1, dtype=np.int64)
        """The past of everybody, the same for people who share all of it; −1 of whom nothing was published."""
        self.of[people] = alike_bags(person.astype(np.int64), bags.look[told])

    def looked_after(self, away: BoolArray, leaving: str, randomness: Randomness) -> BoolArray:
        """Who is absent: those who left, and companions where these alone would break a claim (I1)."""
        broken = self.unsafe(away)
        if broken.any() and leaving == "refuse":
            gone = int((broken[self.of] & away & (self.of >= 0)).sum())
            what = f"{gone} people of earlier releases are no longer in the table, and what is missing would tell who they are"
            raise Infeasible(what, where="key", hint="set 'series: {leaving: withhold}', or keep them in the data")
        away = away.copy()
        chance = randomness.permutation(self.bags.people)
        for _ in range(_ROUNDS):
            if not broken.any():
                return away
            away[self._one_more(away, broken, chance)] = True
            broken = self.unsafe(away)
        return away | ((self.of >= 0) & broken[self.of])

    def _one_more(self, away: BoolArray, broken: BoolArray, chance: IntArray) -> IntArray:
        """One companion for each past: somebody whose values those who are absent do not have, where there is one."""
        stay = np.flatnonzero((self.of >= 0) & ~away & broken[self.of])
        values = self._values()
        pair = self.of * (int(values.max(initial=0)) + 1) + values
        met = np.isin(pair[stay], pair[away & (self.of >= 0)])
        order = stay[np.lexsort((chance[stay], met, self.of[stay]))]
        return order[np.unique(self.of[order], return_index=True)[1]]

    def _values(self) -> IntArray:
        """A number for everybody, equal for people of whom the same hidden values were told."""
        bags, told = self.bags, np.flatnonzero(self.bags.look >= 0)
        found = np.zeros(bags.people, dtype=np.int64)
        people, person = np.unique(bags.owner[told], return_inverse=True)
        for text in bags.hidden.values():
            found[people] = alike_bags(np.arange(len(people)), found[people]) * len(people) + alike_bags(
                person.astype(np.int64), text.codes[told].astype(np.int64)
            )
        return found

    def torn(self, found: Sequence[WrittenRows]) -> BoolArray:
        """Whose past is that of absent people who break a claim, when so much is published."""
        away = self.of >= 0
        for one in found:
            away[self.bags.owner[one.records]] = False
        broken = np.append(self.unsafe(away), False)
        verdict: BoolArray = broken[self.of]
        return verdict

    def unsafe(self, away: BoolArray) -> BoolArray:
        """Per past of which some are absent and some are not: do the absent ones break a claim?"""
        classes = int(self.of.max(initial=-1)) + 1
        broken = np.zeros(classes, dtype=np.bool_)
        inside = self.of >= 0
        mixed = np.bincount(self.of[inside & ~away], minlength=classes) > 0
        some = np.flatnonzero(inside & away & mixed[self.of]) if classes else np.zeros(0, dtype=np.int64)
        for kind, people, records in self._absent(some):
            problem = self.bags.problem(kind, records)
            broken[self.of[people[problem.out[problem.row_point.of]]]] = True
        return broken

    def _absent(self, people: IntArray) -> list[tuple[RowCounts, IntArray, IntArray]]:
        """People of whom nothing is published now, by how much was published before: everything is gone."""
        bags = self.bags
        chosen = np.isin(bags.owner, people) & (bags.look >= 0)
        told = np.flatnonzero(chosen)
        told = told[np.lexsort((bags.look[told], bags.line[told], bags.owner[told]))]
        counts = np.bincount(bags.owner[told] * 2 + bags.line[told], minlength=2 * bags.people).reshape(-1, 2)[people]
        start = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
        kinds, of = np.unique(counts, axis=0, return_inverse=True)
        found = []
        for place, (gone, lines) in enumerate(kinds.tolist()):
            mine = np.flatnonzero(of.ravel() == place)
            found.append((RowCounts(0, 0, gone, lines), people[mine], told[start[mine][:, None] + np.arange(gone + lines)]))
        return found
