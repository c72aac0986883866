"""`recount`: for every requirement of ``policy.yaml`` what the published files give, counted here.

Invariants
    I1  One entry per requirement, in the order of the policy.
    I2  An entry is counted, or it says why not; a requirement that ought to be countable and is not (files are missing
        or do not add up) is counted as reaching nothing.

Cost: linear in the folder for each requirement.


Comparing
---------
`compare_with_findings`: the findings of a certificate beside the recount, and how many claims were counted at all;
`disagreements` is what differs.

Invariants
    I1  Findings of claims stand first, in the order of the policy, one for each requirement; what follows are checks,
        and no model.
    I2  A count is a whole number and must be the same. Other figures are written with six digits in a certificate, and
        may differ by half a unit of the last one.
    I3  A file that the recount cannot read is a disagreement, never a crash.

>>> same_figure(5, 5), same_figure(5, 4), same_figure(2.33333, 7 / 3), same_figure(2.3333, 7 / 3)
(True, False, True, False)
>>> _equal([["a", "*"], ["b", "*"]], [["b", "*"], ["a", "*"]]), _equal(["a", "b"], ["b", "a"])
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.audit.recount.definitions import (
    DEFINITIONS,
    Level,
    NotRecounted,
    RecountedClasses,
    count_level,
    is_at_least_as_private,
    level_of,
)
from sfumato.audit.recount.equivalence_classes import (
    classes_of_anatomy,
    classes_of_graph,
    classes_of_linked,
    classes_of_recoded,
    classes_of_related,
    classes_of_release_alone,
    classes_of_replaced,
    classes_of_suppressed,
    level_over_tables,
    needs_joint,
)
from sfumato.audit.recount.files import LISTING, Everybody, Folder, OverFiles, open_folder
from sfumato.audit.recount.policy_text import UNKNOWN, WrittenPolicy, WrittenRequirement, read_policy
from sfumato.audit.recount.population import in_population, speaks_of_population
from sfumato.core.errors import ReleaseError

NOTHING_PUBLISHED: Level = {"published": 0}
"""What a release achieves that does not contain the sensitive columns at all."""


@dataclass(frozen=True, slots=True)
class Recount:
    """One requirement, counted or not."""

    model: str
    given: tuple[str, ...]
    hide: tuple[str, ...]
    required: Level = field(default_factory=dict)
    """The required level as a certificate writes it; as the policy writes it if the model is unknown."""
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
    """Every requirement of the policy in a release folder, counted again (I1).

    Parameters
        folder   a release folder, finished or not: ``policy.yaml``, ``manifest.json`` and the parts are read, nothing
                 else.

    Returns one `Recount` per claim under ``protect``. Raises `ReleaseError` when policy or manifest cannot be read.
    """
    release, policy = open_folder(folder), read_policy(folder / "policy.yaml")
    return recount_opened(replace(release, wanted=_wanted(release, policy)), policy)


def recount_opened(release: Folder, policy: WrittenPolicy) -> tuple[Recount, ...]:
    """The same for a folder that is open already."""
    return tuple(_one(release, policy, asked) for asked in policy.asked)


def _one(release: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> Recount:
    names = (asked.model, asked.given, asked.hide)
    if asked.model not in DEFINITIONS:
        return Recount(*names, dict(asked.level), why="the model is unknown here")
    try:
        level = level_of(asked.model, asked.level)
    except NotRecounted as reason:
        return Recount(*names, dict(asked.level), why=str(reason))
    try:
        found = _achieved(release, policy, asked, level)
    except NotRecounted as reason:
        return Recount(*names, level, why=str(reason))
    except ReleaseError as error:
        return Recount(*names, level, {}, False, error.what)  # I2
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return Recount(*names, level, {}, False, "the files are not what the policy says they are")  # I2
    verdict = found == NOTHING_PUBLISHED or is_at_least_as_private(asked.model, level, found)
    if DEFINITIONS[asked.model].joint:
        why = "" if verdict else "a person may fit into rows of several groups, which only people tell"
        return Recount(*names, level, found, True if verdict else None, why, exact=False)
    return Recount(*names, level, found, verdict, "" if found else "a rule is not kept by any table")


def _achieved(release: Folder, policy: WrittenPolicy, asked: WrittenRequirement, level: Level) -> Level:
    if _is_untold(policy, asked, level):
        return NOTHING_PUBLISHED
    if release.form not in COUNTERS:
        raise NotRecounted(f"candidates in {release.form} are people, who are not in the folder")
    if needs_joint(asked) and (release.form not in JOINTLY or level.get("distance", "equal") != "equal"):
        raise NotRecounted(f"a combination of hidden columns is not counted in {release.form}")
    return COUNTERS[release.form](release, policy, asked, level)


def _is_untold(policy: WrittenPolicy, asked: WrittenRequirement, level: Level) -> bool:
    """Whether a requirement on values alone hides columns that are not published: all of them, or a part of a
    combination."""
    definition = DEFINITIONS[asked.model]
    if not definition.hides or definition.joint or level.get("k", 1) > 1 or not asked.hide:
        return False
    untold = [name in policy.columns and not policy.columns[name].published for name in asked.hide]
    return any(untold) if asked.composite and not needs_joint(asked) else all(untold)


Counter = Callable[[Folder, WrittenPolicy, WrittenRequirement, Level], Level]
"""How a requirement is counted on a release of one form."""


def _by_groups(of_form: Callable[[Folder, WrittenPolicy, WrittenRequirement], RecountedClasses]) -> Counter:
    """Count the requirement on the groups that such a release falls into."""

    def count(release: Folder, policy: WrittenPolicy, asked: WrittenRequirement, level: Level) -> Level:
        groups = of_form(release, policy, asked)
        if speaks_of_population(asked):
            groups = in_population(groups, release, policy, asked)
        return count_level(asked.model, groups, level)

    return count


def _recoded(release: Folder, policy: WrittenPolicy, asked: WrittenRequirement, level: Level) -> Level:
    """A requirement over all releases is counted on this one alone."""
    if not DEFINITIONS[asked.model].joint:
        return _by_groups(classes_of_recoded)(release, policy, asked, level)
    groups = classes_of_release_alone(release, policy, asked)
    return count_level(asked.model, groups, level) if groups.spreads else dict(NOTHING_PUBLISHED)


COUNTERS: dict[str, Counter] = {
    "recoded table": _recoded,
    "linked table": _by_groups(classes_of_linked),
    "related tables": _by_groups(classes_of_related),
    "sampled table": _by_groups(classes_of_recoded),
    "microaggregated table": _by_groups(classes_of_recoded),
    "locally suppressed table": _by_groups(classes_of_suppressed),
    "anatomy": _by_groups(classes_of_anatomy),
    "sub-tables": level_over_tables,
    "replaced table": _by_groups(classes_of_replaced),
    "graph": _by_groups(classes_of_graph),
}


JOINTLY = frozenset({"recoded table", "sub-tables"})
"""Forms in which combinations of sensitive columns are counted."""


# Comparing
# ---------


_RELATIVE = 6e-6
_ABSOLUTE = 1e-9


class RecountComparison(NamedTuple):
    """What the certificate says and the files do not, and of how many claims the level was counted again."""

    wrong: list[str]
    counted: int = 0
    claims: int = 0


def disagreements(
    folder: Path,
    findings: Sequence[Mapping[str, Any]],
    over_files: OverFiles | None = None,
    everybody: Everybody | None = None,
) -> list[str]:
    """What differs between the findings and the recount, in sentences (`compare_with_findings`); empty when they
    agree."""
    return compare_with_findings(folder, findings, over_files, everybody).wrong


def compare_with_findings(
    folder: Path,
    findings: Sequence[Mapping[str, Any]],
    over_files: OverFiles | None = None,
    everybody: Everybody | None = None,
) -> RecountComparison:
    """Compare findings with what the files say, in sentences without values of people.

    Parameters
        folder     a release folder, finished or not: ``policy.yaml``, ``manifest.json`` and the parts are read, nothing
                   else.
        findings   as in ``certificate.json``: mappings with model, given, hide, required, achieved, holds.
        over_files how files of a part that is a folder are counted: here one after the other, or where they lie.
        everybody  the table of the population, where the data holder has one: then requirements about it are counted,
                   too.
    """
    try:
        release, policy = open_folder(folder, over_files), read_policy(folder / "policy.yaml")
        release = replace(release, wanted=_wanted(release, policy), everybody=everybody)
        counts = recount_opened(release, policy)
        rows = list(release.miscounted())
    except ReleaseError as error:
        return RecountComparison([f"the independent recount cannot read the folder: {error.what}"])  # I3
    wrong = [sentence for place, each in enumerate(counts) for sentence in _claim(place, each, findings)]
    more = [
        str(finding.get("model")) for finding in findings[len(counts) :] if finding.get("model") in DEFINITIONS
    ]  # I1
    wrong += [f"the certificate speaks about {model}, which the policy does not claim" for model in more]
    return RecountComparison([*rows, *wrong], sum(each.counted for each in counts), len(counts))


def _wanted(release: Folder, policy: WrittenPolicy) -> frozenset[str]:
    """Columns that claims speak of; where several tables can be joined, by whatever they share, all of them."""
    if release.form == "sub-tables":
        return frozenset(policy.columns) | LISTING | {"column"}
    return frozenset(name for asked in policy.asked for name in (*asked.given, *asked.hide)) | LISTING


def _claim(place: int, each: Recount, findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    name = f"claim {place + 1}, {each.model}"
    if place >= len(findings) or each.model not in (findings[place].get("model"), UNKNOWN):
        yield f"{name}: the certificate has no finding for it"
        return
    finding = findings[place]
    for side in ("given", "hide"):
        if each.model in DEFINITIONS and sorted(finding.get(side, ())) != sorted(getattr(each, side)):
            yield f"{name}: the policy and the certificate do not name the same columns as {side}"
    yield from (f"{name}: {said}" for said in _required(each, finding))
    if each.counted:
        yield from (f"{name}: {said}" for said in _comparing_achieved(each, finding))


def _required(each: Recount, finding: Mapping[str, Any]) -> Iterator[str]:
    """What the policy asks for is what the certificate says was asked for."""
    said = finding.get("required") or {}
    names = (
        [*each.required, *(key for key in said if key not in each.required)]
        if each.model in DEFINITIONS
        else each.required
    )
    for key in names:
        if key not in each.required or key not in said or not _equal(said[key], each.required[key]):
            yield f"the level asked for is not the one in the policy ({key})"


def _equal(said: Any, written: Any) -> bool:
    if isinstance(written, list) and all(isinstance(row, list) for row in written):
        return sorted(map(list, said)) == sorted(written)  # a tree, whose rows may be in any order
    if isinstance(written, list):
        return list(said) == written
    try:
        return abs(float(said) - float(written)) <= _ABSOLUTE * max(1.0, abs(float(written)))
    except (TypeError, ValueError):
        return bool(said == written)


def _comparing_achieved(each: Recount, finding: Mapping[str, Any]) -> Iterator[str]:
    said, holds = finding.get("achieved") or {}, finding.get("holds") is True
    if each.exact and (said or holds):
        for key in {*said, *each.achieved}:
            if not same_figure(said.get(key), each.achieved.get(key)):
                shown = (
                    "nothing"
                    if key not in each.achieved
                    else f"{each.achieved[key]:.6g}"
                    if _is_number(each.achieved[key])
                    else "another"
                )
                yield f"{key} is {said.get(key, 'missing')} in the certificate and {shown} in the files"
    if holds and not each.reaches:
        level = ", ".join(f"{key} {value}" for key, value in each.required.items())
        yield f"said to hold, but the files do not reach {level}" + (f" ({each.why})" if each.why else "")


def same_figure(said: Any, found: Any) -> bool:
    """Whether a figure of a certificate is the one that was counted (I2)."""
    if not (_is_number(said) and _is_number(found)):
        return bool(said == found)
    if isinstance(found, int):
        return bool(said == found)
    return bool(abs(said - found) <= _RELATIVE * abs(found) + _ABSOLUTE)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
