"""People: where a person may stand in several rows, every claim also holds for people, not only for rows.

What is counted, and why it is enough, stands in `audit.people`, of several releases in `history.people`. Whose rows they are is
not published, so without the original nothing can be said: *not judged*. In a linked release the pseudonyms are published, and its
reading judges people by itself.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check, Tally, reading_of
from sfumato.audit.people import PEOPLE
from sfumato.audit.people_over_releases import judged_over_releases
from sfumato.audit.series import is_series
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit

_ASKED = {"classes": 0}


class CountedPeople(Check):
    """No class of rows says more about a person in several of them than the claims allow."""

    name: ClassVar[str] = PEOPLE
    steady: ClassVar[bool] = False

    def ready(self, exhibit: Exhibit) -> bool:
        return not exhibit.form.links_rows and (exhibit.policy.person is not None or _of_people_before(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        if not exhibit.private:
            return _open("whose rows they are is not published: give the original")
        together = judged_over_releases(exhibit) if is_series(exhibit) else []
        if exhibit.policy.person is None or exhibit.policy.person.linked:
            return _open(f"nobody counts people in a {exhibit.form}")
        reading = reading_of(exhibit.form)
        found = [tally for claim in exhibit.policy.claims if (tally := reading.of_people(exhibit, claim)) is not None]
        if len(found) < len(exhibit.policy.claims):
            return _open(f"nobody counts people in a {exhibit.form}")
        return _found([*found, *together])


def _of_people_before(exhibit: Exhibit) -> bool:
    """Whether an earlier release of the ledger said whose its rows are: what it promised people still stands."""
    history = exhibit.history if is_series(exhibit) else None
    return history is not None and any(past.cover.policy.person is not None for past in history.releases)


def _found(tallies: list[Tally]) -> Finding:
    broken = sum(tally.broken for tally in tallies)
    among = min((tally.fewest for tally in tallies if tally.fewest is not None), default=0)
    if not broken and not all(tally.complete for tally in tallies):
        return _open("who stands in which row cannot be told from the original")
    reason = f"{broken} class(es) say too much about somebody who stands in several rows" if broken else ""
    return Finding(CountedPeople.name, not broken, _ASKED, {"classes": broken, "among": among}, reason=reason)


def _open(reason: str) -> Finding:
    return Finding(CountedPeople.name, True, _ASKED, {}, grade=NOT_JUDGED, reason=reason)
