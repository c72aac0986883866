"""Who stands with whom when set-valued records are published again: at home, among strangers without labels, or for the first time.

Invariants
    I1  Whoever was never published stands only with others who were not; these blocks promise what those of a first release do.
    I2  Whoever was published stands in the own home when all of it is there, with labels shown and hidden as before; else with
        others whose home is broken, and no label is shown (`history.home_blocks` says why nothing is learned).
    I3  Which of these it is depends on who is there, never on labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.baskets import Baskets
from sfumato.data.sets import Sets
from sfumato.errors import Infeasible
from sfumato.history.home_blocks import HomeBlocks
from sfumato.history.known_again import require_known_again
from sfumato.methods.baskets.block_labels import HiddenLabels
from sfumato.methods.baskets.partition import Partition, partition
from sfumato.policy.policy import Policy
from sfumato.release.past import History, keys_of


@dataclass(frozen=True)
class Company:
    """Records by what becomes of them."""

    fresh: IntArray
    """Never published before (I1)."""
    homes: tuple[IntArray, ...] = ()
    """The people of every home that is whole (I2)."""
    strays: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """People whose home is broken (I2)."""
    shown: Mapping[str, BoolArray] = field(default_factory=dict)
    """By label column: whose label was shown at home."""

    def sentences(self, size: int) -> list[str]:
        """What will happen, for `check`."""
        told = [f"{sum(map(len, self.homes))} record(s) stay in their {len(self.homes)} block(s); {len(self.fresh)} are new"]
        if 0 < len(self.fresh) < size:
            told.append(f"{len(self.fresh)} new record(s) are too few for a block of {size} and wait for the next release")
        if len(self.strays):
            told.append(f"{len(self.strays)} record(s) stood beside people who left: they are published without labels")
        return told


def company_of(policy: Policy, history: History | None, baskets: Baskets) -> Company:
    """Who was published before, and with whom; labels must be what they were."""
    if not history:
        return Company(np.arange(len(baskets), dtype=np.int64))
    keys, homes = keys_of(policy, baskets), HomeBlocks.of(history)
    require_known_again(policy, history, keys)
    _require_unchanged(policy, history, keys, baskets)
    place = {key: record for record, key in enumerate(keys)}
    whole = tuple(np.sort([place[key] for key in people]).astype(np.int64) for _, people in homes.intact(frozenset(keys)))
    known = np.array([key in homes.seat for key in keys], dtype=np.bool_)  # I3
    at_home = np.zeros(len(keys), dtype=np.bool_)
    if whole:
        at_home[np.concatenate(whole)] = True
    strays = np.flatnonzero(known & ~at_home)
    if len(strays) and policy.series.leaving == "refuse":
        what = f"{len(strays)} record(s) stood beside people who are no longer there"
        raise Infeasible(what, where="series.leaving", hint="say 'series: {leaving: withhold}' to publish them without labels")
    told = {
        name: np.array([key in homes.seat and homes.seat[key].shown.get(name, False) for key in keys], dtype=np.bool_)
        for name in policy.published
    }
    return Company(np.flatnonzero(~known), whole, strays, told)


def _require_unchanged(policy: Policy, history: History, keys: Sequence[str], baskets: Baskets) -> None:
    """Refuse labels that are not what was published: what was hidden then and what is shown now would speak together."""
    for name in policy.published:
        changed: set[str] = set()
        now = dict(zip(keys, baskets.labels[name].tolist(), strict=True)) if name in baskets.labels else {}
        for past in history.releases:
            if name in past.memory.values.names:
                text = past.memory.values.text(name)
                before = zip(past.memory.keys, (text.labels[code] for code in text.codes.tolist()), strict=True)
                changed |= {key for key, label in before if now.get(key, label) != label}
        if changed:
            what = f"{len(changed)} label(s) of '{name}' are not what they were when they were published"
            hint = "labels that change are not judged over several releases of baskets; leave the column out"
            raise Infeasible(what, where=policy.document.where("columns", name), hint=hint)


@dataclass(frozen=True)
class BlockSeating:
    """Blocks of everybody who is published, the fresh ones first."""

    blocks: Partition
    """Records in blocks; `order` names records of the whole table."""
    fresh: Partition
    """The blocks of new people, which come first."""
    at_home: BoolArray
    """By place: in a home, so that labels may be shown."""
    withheld: int

    def with_homes(self, hidden: HiddenLabels, company: Company, behind: IntArray) -> HiddenLabels:
        """What is hidden in the blocks of new people, as before at home, and everything elsewhere (I2)."""
        if len(self.fresh.order) == len(self.blocks.order):
            return hidden
        fresh, places = len(self.fresh.order), {}
        for name, shown in company.shown.items():
            at = ~(self.at_home & shown[behind])
            at[:fresh] = hidden.places.get(name, False)
            places[name] = at
        return replace(hidden, places=places)


def require_homes(company: Company, size: int) -> None:
    """Refuse when more is asked for than the blocks of earlier releases, which stay what they are, have."""
    short = min(map(len, company.homes), default=size)
    if short < size:
        what = f"earlier releases have blocks of {short} records, and {size} are asked for"
        raise Infeasible(what, where="protect", hint="ask for no more than was promised before; blocks stay what they are")


def seating(company: Company, known: Sets, size: int, jobs: int) -> BlockSeating:
    """Everybody in blocks of at least `size`; new people, or strays, who are too few for one are withheld."""
    fresh, strays = (_parted(records, known, size, jobs) for records in (company.fresh, company.strays))
    require_homes(company, size)
    own = Partition(
        np.concatenate([np.zeros(0, dtype=np.int64), *company.homes]),
        np.concatenate([[0], np.cumsum([len(home) for home in company.homes], dtype=np.int64)]).astype(np.int64),
    )
    blocks = _joined([fresh, own, strays])
    if not len(blocks.order):
        what = f"{len(known)} records cannot each have {size} candidates"
        raise Infeasible(what, where="protect", hint=f"ask for at most {len(known)} candidates, or give more records")
    at_home = np.zeros(len(blocks.order), dtype=np.bool_)
    at_home[len(fresh.order) : len(fresh.order) + len(own.order)] = True
    return BlockSeating(blocks, fresh, at_home, len(known) - len(blocks.order))


def require_few_withheld(policy: Policy, withheld: int, records: int) -> None:
    """Refuse when more records than the policy allows would have to wait."""
    limit = policy.utility.suppress_at_most
    if limit is not None and withheld > limit * records + 1e-9:
        what = f"{withheld} of {records} records are too few for a block of their own, and the policy allows {limit:.3%}"
        raise Infeasible(what, where="utility.suppress_at_most", hint="publish when more people have come, or allow more")


def _parted(records: IntArray, known: Sets, size: int, jobs: int) -> Partition:
    if len(records) < size:
        return Partition(np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64))
    found = partition(known.take(records), size, jobs=jobs)
    return Partition(records[found.order], found.starts)


def _joined(parts: Sequence[Partition]) -> Partition:
    sizes = np.concatenate([part.sizes for part in parts])
    return Partition(
        np.concatenate([part.order for part in parts]), np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    )
