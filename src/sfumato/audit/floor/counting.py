"""`recount`: for every claim of ``policy.yaml`` what the published files give, counted here.

Invariants
    I1  One entry per claim, in the order of the policy.
    I2  An entry is counted, or it says why not; a claim that ought to be countable and is not (files are missing or do not add
        up) is counted as reaching nothing.

Cost: linear in the folder for each claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.audit.floor.definitions import DEFINITIONS, Groups, Level, NotCounted, counted, level_of, reaches
from sfumato.audit.floor.files import Folder, open_folder
from sfumato.audit.floor.groups import (
    of_anatomy,
    of_graph,
    of_linked,
    of_recoded,
    of_related,
    of_release_alone,
    of_replaced,
    of_suppressed,
)
from sfumato.audit.floor.population import in_population, speaks_of_population
from sfumato.audit.floor.subtables import through_tables
from sfumato.audit.floor.written import Asked, Written, read_policy
from sfumato.errors import ReleaseError

NOTHING_PUBLISHED: Level = {"published": 0}
"""What a release achieves that does not contain the hidden columns at all."""


@dataclass(frozen=True, slots=True)
class Recount:
    """One claim, counted or not."""

    model: str
    given: tuple[str, ...]
    hide: tuple[str, ...]
    required: Level = field(default_factory=dict)
    """The level asked for, as a certificate writes it; as it stands in the policy when the model is unknown."""
    achieved: Level = field(default_factory=dict)
    """The level found, under the names of a certificate; empty when nothing was found."""
    reaches: bool | None = None
    """Whether the level found reaches the one asked for; None when it was not counted."""
    why: str = ""
    """Why it was not counted, or what is wrong with the files."""
    exact: bool = True
    """False: the level is reached at least, if no other release of the same people exists."""

    @property
    def counted(self) -> bool:
        return self.reaches is not None

    def __str__(self) -> str:
        if not self.counted:
            return f"{self.model}: not counted: {self.why}"
        found = ", ".join(f"{name} {value}" for name, value in self.achieved.items()) or self.why or "nothing"
        return f"{self.model}: {found}"


def recount(folder: Path) -> tuple[Recount, ...]:
    """Every claim of the policy in a release folder, counted again (I1).

    Parameters
        folder   a release folder, finished or not: ``policy.yaml``, ``manifest.json`` and the parts are read, nothing else.

    Returns one `Recount` per claim under ``protect``. Raises `ReleaseError` when policy or manifest cannot be read.
    """
    return recount_opened(open_folder(folder), read_policy(folder / "policy.yaml"))


def recount_opened(release: Folder, policy: Written) -> tuple[Recount, ...]:
    """The same for a folder that is open already."""
    return tuple(_one(release, policy, asked) for asked in policy.asked)


def _one(release: Folder, policy: Written, asked: Asked) -> Recount:
    names = (asked.model, asked.given, asked.hide)
    if asked.model not in DEFINITIONS:
        return Recount(*names, dict(asked.level), why="the model is unknown here")
    try:
        level = level_of(asked.model, asked.level)
    except NotCounted as reason:
        return Recount(*names, dict(asked.level), why=str(reason))
    try:
        found = _achieved(release, policy, asked, level)
    except NotCounted as reason:
        return Recount(*names, level, why=str(reason))
    except ReleaseError as error:
        return Recount(*names, level, {}, False, error.what)  # I2
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return Recount(*names, level, {}, False, "the files are not what the policy says they are")  # I2
    verdict = found == NOTHING_PUBLISHED or reaches(asked.model, level, found)
    if DEFINITIONS[asked.model].joint:
        why = "" if verdict else "a person may fit into rows of several groups, which only people tell"
        return Recount(*names, level, found, True if verdict else None, why, exact=False)
    return Recount(*names, level, found, verdict, "" if found else "a rule is not kept by any table")


def _achieved(release: Folder, policy: Written, asked: Asked, level: Level) -> Level:
    if release.form not in COUNTERS:
        raise NotCounted(f"candidates in {release.form} are people, who are not in the folder")
    return COUNTERS[release.form](release, policy, asked, level)


Counter = Callable[[Folder, Written, Asked, Level], Level]
"""How a claim is counted on a release of one form."""


def _by_groups(of_form: Callable[[Folder, Written, Asked], Groups]) -> Counter:
    """Count the claim on the groups that such a release falls into."""

    def count(release: Folder, policy: Written, asked: Asked, level: Level) -> Level:
        groups = of_form(release, policy, asked)
        if speaks_of_population(asked):
            groups = in_population(groups, release, policy, asked)
        return counted(asked.model, groups, level)

    return count


def _recoded(release: Folder, policy: Written, asked: Asked, level: Level) -> Level:
    """A claim over all releases is counted on this one alone."""
    if not DEFINITIONS[asked.model].joint:
        return _by_groups(of_recoded)(release, policy, asked, level)
    groups = of_release_alone(release, policy, asked)
    return counted(asked.model, groups, level) if groups.spreads else dict(NOTHING_PUBLISHED)


COUNTERS: dict[str, Counter] = {
    "recoded table": _recoded,
    "linked table": _by_groups(of_linked),
    "related tables": _by_groups(of_related),
    "sampled table": _by_groups(of_recoded),
    "microaggregated table": _by_groups(of_recoded),
    "locally suppressed table": _by_groups(of_suppressed),
    "anatomy": _by_groups(of_anatomy),
    "sub-tables": through_tables,
    "replaced table": _by_groups(of_replaced),
    "graph": _by_groups(of_graph),
}
