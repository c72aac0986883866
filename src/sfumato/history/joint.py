"""Joint classes: people who look alike in everything that was published with a hidden column may trade all those rows at once.

Guarantee
    Let B be the bundle of a claim: the tables that publish what it hides, and those reached from them through columns that nobody
    is known by (sensitive and other ones). When two people have equal cells in every table of B, in the columns that the claim's
    outsider knows and in those that tables outside B publish too, then the world in which they trade all their rows of B agrees
    with everything published. So whoever joins all releases cannot tell the members of a joint class apart: every permutation of
    their bundles is possible, and a model that holds in every joint class holds over all releases, however many there are.

    Proof. Take i and j of one class and a table q outside B with a column m that a table r of B has too. Then m is a known column,
    or q would be in B; so the cells of i and j in r are equal in m, and that cell contains the value of i, as does that of i in q.
    So the row of j in r agrees with the row of i in q, and the other way round. Inside B the rows of one person stay together. The
    outsider's own knowledge of i and j agrees with both, because the cells in the columns that the outsider knows are equal.

Presence
    With ``cohorts: known`` being absent from a table is one more value that its cells may have: outsiders may know in which
    releases somebody is. See `united` for outsiders who do not.

Knowledge
    Whoever trades places keeps what the outsider knows and what tables outside B tell (`kept_columns`), and takes all else from the
    other. A dependency that outsiders know (``knows:``) holds in the new world when all its columns are kept, because they are as
    they were, and when all are taken, because they are as they were for the other. One that ties both kinds is not judged.

Changed values: a bundle moves as a whole, and a cell need only cover what is true at its time, so values may change freely.

Paper: beside [sequential Def. 4.2], whose measure counts rows that cover somebody; see *alibi rows* in docs/ledger.md.

Cost: one sort of people for each table of the bundle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage
from sfumato.history.bundles import Bundles
from sfumato.history.people_sheet import PeopleSheet


@dataclass(frozen=True)
class Joint:
    """The joint classes of a claim."""

    sheets: tuple[PeopleSheet, ...]
    """The bundle."""
    of: IntArray
    """The class of everybody, −1 for who stands in no table of the bundle."""
    signs: IntArray
    """``signs[c, t]``: what class c looks like in sheet t of the bundle; −1 where it is absent from all its tables."""
    names: tuple[tuple[str, ...], ...] = ()
    """Per sheet the columns in which the people of a class look alike."""
    mixed: bool = False
    """Whether people of one class may be in different tables, so that each table must be judged by those who stand in it."""
    weights: IntArray | None = None
    """For how many people each of them stands; one without."""

    def linkages(self, hide: Collection[str], *, each: bool = False) -> Iterator[Linkage]:
        """What the classes leave an outsider, in every table that tells a hidden column, or every table when nothing is hidden.

        A value may change from release to release; it is judged in each of them. Where all people of a class are in the same tables
        and no value changed, what one table tells of a class all of them do, and they are judged at once; `each` is for models that
        compare classes with their whole table.
        """
        for sheet in self.sheets:
            for name in sheet.columns & set(hide) if hide else [next(iter(sheet.columns))]:
                yield from self._tables(sheet, name, bool(hide), each or self.mixed)

    def _tables(self, sheet: PeopleSheet, name: str, told: bool, each: bool) -> Iterator[Linkage]:
        weights = None if self.weights is None else self.weights[sheet.here]
        pairs = group([self.of[sheet.here], sheet.cells[name][sheet.here]], weights=weights)
        one = np.flatnonzero(sheet.here)[pairs.first]
        classes, code = self.of[one], sheet.cells[name][one]
        lasting = sheet.lasting(name) if told else np.zeros(len(sheet.said(name)), dtype=np.int64)
        columns = sheet.said(name).T if each or lasting is None else [lasting]
        for labels in columns:
            value = labels[code]
            there = value >= 0
            if there.any():
                spread = {name: (value[there], sheet.labels[name])} if told else {}
                yield Linkage.of_groups(group([classes[there]]).of, spread, pairs.counts[there])


def bundle_of(bundles: Bundles, hide: Collection[str], among: Iterable[PeopleSheet] = ()) -> tuple[PeopleSheet, ...]:
    """The tables that publish a hidden column, those `among`, and whatever hangs on them by columns that nobody is known by."""
    every = bundles.sheets
    wanted = [id(sheet) for sheet in among]
    inside = [not sheet.columns.isdisjoint(hide) or id(sheet) in wanted for sheet in every]
    while True:
        ties = {name for one, sheet in zip(inside, every, strict=True) if one for name in sheet.columns}
        ties = {name for name in ties if name in hide or not bundles.is_known(name)}
        more = [one or not sheet.columns.isdisjoint(ties) for one, sheet in zip(inside, every, strict=True)]
        if more == inside:
            return tuple(sheet for one, sheet in zip(inside, every, strict=True) if one)
        inside = more


def kept_columns(
    bundles: Bundles, given: Collection[str], hide: Collection[str], among: Iterable[PeopleSheet] = ()
) -> frozenset[str]:
    """Columns whose values everybody keeps who trades places: what the outsider knows, and what tables outside the bundle tell."""
    mine = {id(sheet) for sheet in bundle_of(bundles, hide, among)}
    return frozenset(given).union(*(sheet.columns for sheet in bundles.sheets if id(sheet) not in mine))


def joint_classes(
    bundles: Bundles,
    given: Collection[str],
    hide: Collection[str],
    *,
    among: Iterable[PeopleSheet] = (),
    without: PeopleSheet | None = None,
) -> Joint:
    """The joint classes of a claim: of tables that publish what it hides and those `among`, `without` one that is only coming."""
    sheets = bundle_of(bundles, hide, among)
    mine = {id(sheet) for sheet in sheets}
    outside = {name for sheet in bundles.sheets if id(sheet) not in mine for name in sheet.columns}
    sheets = tuple(sheet for sheet in sheets if sheet is not without)
    wanted = {name for name in (set(given) | outside) - set(hide) if bundles.is_known(name)}
    names = tuple(tuple(sorted(sheet.columns & wanted)) for sheet in sheets)
    signs = [_sign(sheet, mine, bundles.people) for sheet, mine in zip(sheets, names, strict=True)]
    if not signs:
        nobody = np.full(bundles.people, -1, dtype=np.int64)
        return Joint((), nobody, np.zeros((0, 0), dtype=np.int64))
    present = np.any([sheet.here for sheet in sheets], axis=0)
    classes = group([sign[present] + 1 for sign in signs])
    of = np.full(bundles.people, -1, dtype=np.int64)
    of[present] = classes.of
    seen = np.stack([sign[present][classes.first] for sign in signs], axis=1)
    return Joint(sheets, of, seen, names, weights=bundles.weights)


def _sign(sheet: PeopleSheet, names: Sequence[str], people: int) -> IntArray:
    """Equal exactly for people with equal cells in these columns who are in the same tables of the sheet; −1 for the absent."""
    sign = np.full(people, -1, dtype=np.int64)
    cells = [sheet.cells[name] for name in names] or [sheet.presence()]
    sign[sheet.here] = group([column[sheet.here] for column in cells]).of
    return sign
