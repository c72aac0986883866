"""People in several rows over everything that was ever published: what all releases together say about them.

What is counted, for which outsider, and why it is enough, stands in `history.people`. A release is judged alone as well
(`audit.people`): whoever has nothing but the newest table sees other classes.
"""

from __future__ import annotations

import numpy as np

from sfumato.audit.base import Tally
from sfumato.audit.series import bundles_of, cohorts_known, joint_of
from sfumato.errors import DataError
from sfumato.forms.recoded import plainly_recoded
from sfumato.history.people import PeopleOfHistory, broken_classes, require_same_people
from sfumato.history.promises import promises
from sfumato.policy.claims import Claim
from sfumato.release.exhibit import Exhibit
from sfumato.release.past import History


def judged_over_releases(exhibit: Exhibit) -> list[Tally]:
    """All that was promised, the newest release's claims and those of earlier ones, each for people."""
    history = exhibit.history
    assert history is not None
    require_same_people(exhibit.policy, history)
    forms = [past.cover for past in history.releases]
    linked = any(cover.policy.person is not None and cover.policy.person.linked for cover in forms)
    if linked or not all(plainly_recoded(type(cover.form)) for cover in forms):
        raise DataError("people in several rows are judged over recoded tables only, whose rows nothing ties")
    people = PeopleOfHistory(exhibit.once(bundles_of))
    return [_judged(exhibit, people, claim) for claim in promises(exhibit.policy, History(history.releases[:-1]))]


def _judged(exhibit: Exhibit, people: PeopleOfHistory, claim: Claim) -> Tally:
    demand = claim.model.demand()
    lasting = any(column.persistent for name, column in exhibit.policy.columns.items() if name in claim.hide)
    if claim.model.joint or not demand.sufficient or lasting or not cohorts_known(exhibit):
        return Tally(0, complete=False)
    joint = joint_of(people.bundles, claim, cohorts=True)
    if not len(joint.signs):  # no release shows what is hidden
        return Tally(0)
    most = people.most(joint)
    broken = broken_classes(people.whose, joint.sheets, joint.of, most, claim.hide, demand)
    if broken is None:
        return Tally(0, complete=False)
    size = np.bincount(joint.of[joint.of >= 0], minlength=len(most))
    return Tally(int(broken.sum()), fewest=int((size // most).min(initial=len(joint.of))))
