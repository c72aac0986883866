"""People whose rows a pseudonym ties, as whoever joins all releases sees them.

The adversary knows all rows of everybody and who is in which release, and is told which pseudonyms of different releases are the
same person. People whose published rows are the same in all releases, row by row, are what is left of each of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.audit.series import joint_of
from sfumato.data.bags import ever_had
from sfumato.history.bundles import Bundles
from sfumato.history.linked_people import LinkedPeople
from sfumato.history.promises import widened
from sfumato.policy.claims import Claim
from sfumato.release.past import History


def joined_people(history: History, column: str, promised: list[Claim]) -> dict[str, Any]:
    """What all releases together leave of everybody, about one hidden column."""
    bundles = Bundles(history)
    claim = next((claim for claim in promised if column in claim.hide), None)
    if claim is None:
        return {"releases": len(history), "remark": "nothing is promised about the column"}
    people, joint = LinkedPeople(bundles), joint_of(bundles, widened(claim, bundles.policies[0], bundles.policies), cohorts=True)
    of = people.classes(joint)
    many = np.bincount(of[of >= 0])
    values, labels = people.values(joint, column)
    told = np.flatnonzero((values >= 0) & (joint.of >= 0))
    if not len(told):
        return {"releases": len(history), "remark": "the column was never published"}
    classes, kind = np.unique(of[people.whose[told]], return_inverse=True)
    ever = ever_had(values[told], labels, kind.astype(np.int64), people.whose[told], many[classes])
    share = np.maximum.reduceat(ever.weight / np.repeat(many[classes], np.diff(ever.start)), ever.start[:-1])
    return {
        "releases": len(history),
        "people": int(many.sum()),
        "fewest_people_left": int(many.min()),
        "one_person_left": int((many == 1).sum()),
        "highest_chance_that_somebody_ever_had_a_value": round(float(share.max()), 6),
        "people_with_a_certain_value": int(many[classes][share >= 1].sum()),
    }
