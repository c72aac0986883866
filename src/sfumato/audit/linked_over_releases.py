"""Linked rows over everything that was ever published: people are counted, and values slot by slot and as what people ever have.

Why people who share all bundles of rows protect each other stands in `history.linked_people`. Here they are counted for one claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.bags import ever_had
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage, Spread
from sfumato.errors import DataError
from sfumato.history.bundles import Bundles
from sfumato.history.joint import Joint
from sfumato.history.linked_people import LinkedPeople
from sfumato.history.people import require_same_people
from sfumato.policy.claims import Claim


def judged_for_people(bundles: Bundles, joint: Joint, claim: Claim) -> tuple[dict[str, Any], int, int] | None:
    """What is achieved at worst, how many people stand in classes that break the claim, and how many in any; nothing when no table
    tells what it hides."""
    model = claim.model
    require_same_people(bundles.policies[0], bundles.history)
    if model.joint or not model.demand().sufficient:
        raise DataError("it is not defined for people in several rows")
    people = LinkedPeople(bundles)
    of = people.classes(joint)
    many = np.bincount(of[of >= 0])
    seen = list(_of_values(people, joint, claim, of, many)) if claim.hide else [(Linkage(many, many), np.arange(len(many)))]
    if not seen or not len(many):
        return None
    broken = many < model.demand().candidates
    for linkage, classes in seen:
        broken[classes[~np.asarray(model.satisfied(linkage))]] = True
    worst = min((model.achieved(linkage) for linkage, _ in seen), key=model.strength)
    achieved = dict(worst)
    if "k" in achieved:  # people of whom no hidden value is told are candidates of each other, too
        achieved["k"] = min(achieved["k"], int(many.min()))
    return achieved, int(many[broken].sum()), int(many.sum())


def _of_values(
    people: LinkedPeople, joint: Joint, claim: Claim, of: IntArray, many: IntArray
) -> Iterator[tuple[Linkage, IntArray]]:
    """What classes of people leave an outsider of hidden values, and the class that each is about."""
    for name in claim.hide:
        values, labels = people.values(joint, name)
        told = np.flatnonzero((values >= 0) & (joint.of >= 0))
        if not len(told):
            continue
        classes, kind = np.unique(of[people.whose[told]], return_inverse=True)
        kind = kind.astype(np.int64)
        slots = group([kind, joint.of[told]], rows=len(told))
        mine = classes[kind[slots.first]]
        yield Linkage(many[mine], many[mine], {name: Spread.count(slots.of, values[told], len(slots), labels)}), mine
        ever = ever_had(values[told], labels, kind, people.whose[told], many[classes])
        yield Linkage(many[classes], many[classes], {name: ever}), classes
