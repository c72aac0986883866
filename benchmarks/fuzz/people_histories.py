"""Histories of people with several rows in one ledger: rows that nothing ties, linked rows, and related tables."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.people import COUNTING, GROUPS
from benchmarks.fuzz.recoded import DEAR
from benchmarks.fuzz.story import Kind, columns_of
from benchmarks.fuzz.tally import Tally
from sfumato.core.errors import LedgerError
from tests.people import linked_worlds_over_releases as linked
from tests.people.worlds_of_related_tables import random_related
from tests.people.worlds_over_releases import random_history, violations
from tests.secret import secret

Judge = Callable[[list[sf.Publication]], list[str]]


class PeopleHistoryKind(Kind):
    """Two or three releases of people who come, leave and get new rows."""

    name: ClassVar[str] = "people over releases"
    form: ClassVar[str] = "recoded table"
    weight: ClassVar[float] = 2.0

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        tree, tables, judge = rng.choice([_unlinked, _linked, _related])(rng)
        made: list[sf.Publication] = []
        (method,) = tree["method"]
        for number, table in enumerate(tables):
            tally.count_one("tried")
            options: dict[str, Any] = {"ledger": place / "book", "new_ledger": not made}
            try:
                one = sf.publish(sf.Policy.parse(tree), data=table, seed=secret(rng.getrandbits(60)), **options)
            except (sf.Infeasible, sf.PolicyError, sf.DataError, LedgerError) as error:
                tally.refused(type(error).__name__, method)
                continue
            one.write(place / f"release{number}", report=False)
            made.append(one)
            tally.judged("history of people", method)
            tally.violations(judge(made))
            if rng.random() < 0.7:
                continue
            alone = sf.verify(place / f"release{number}", ledger=place / "book", original=table)
            tally.alarm("with ledger and original", [f.model for f in alone.findings if not f.holds])
        if len(made) > 1:
            tally.count_one("histories")


Drawn = tuple[dict[str, Any], list[Any], Judge]


def _unlinked(rng: random.Random) -> Drawn:
    tree, records, here = random_history(rng.getrandbits(48), releases=rng.choice([2, 2, 3]))
    (method,) = rng.choices(COUNTING, [DEAR.get(name, 1.0) for name, _ in COUNTING])
    tables = [columns_of([records[i] for i in mine]) for mine in here]
    return tree | {"method": dict([method])}, tables, lambda made: violations(made, records, tree)


def _linked(rng: random.Random) -> Drawn:
    tree, records, here = linked.linked_history(rng.getrandbits(48))
    method = {"linked": {"groups": rng.choice(GROUPS), "seconds": 0.02}}
    tables = [columns_of([records[i] for i in mine]) for mine in here]
    return tree | {"method": method}, tables, lambda made: linked.linked_violations(made, records, tree)


def _related(rng: random.Random) -> Drawn:
    seed = rng.getrandbits(48)
    plain, people, rows = random_related(seed)
    tree, releases = linked.related_history(plain, people, rows, seed)
    method = {"related": {"groups": rng.choice(GROUPS), "seconds": 0.02}}
    tables = [{"people": columns_of(mine), "rows": columns_of(some)} for mine, some in releases]
    return tree | {"method": method}, tables, lambda made: linked.related_violations(made, people, rows, tree)
