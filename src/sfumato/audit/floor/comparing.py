"""`disagreements`: the findings of a certificate beside the floor's own count.

Invariants
    I1  Findings of claims stand first, in the order of the policy, one for each claim; what follows are checks, and no model.
    I2  A count is a whole number and must be the same. Other figures are written with six digits in a certificate, and may
        differ by half a unit of the last one.
    I3  Whatever the floor cannot read is a disagreement, never a crash.

>>> same(5, 5), same(5, 4), same(2.33333, 7 / 3), same(2.3333, 7 / 3)
(True, False, True, False)
>>> _equal([["a", "*"], ["b", "*"]], [["b", "*"], ["a", "*"]]), _equal(["a", "b"], ["b", "a"])
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.audit.floor.counting import Recount, recount_opened
from sfumato.audit.floor.definitions import DEFINITIONS
from sfumato.audit.floor.files import LISTING, Everybody, Folder, OverFiles, open_folder
from sfumato.audit.floor.written import UNKNOWN, Written, read_policy
from sfumato.errors import ReleaseError

_RELATIVE = 6e-6
_ABSOLUTE = 1e-9


def disagreements(
    folder: Path,
    findings: Sequence[Mapping[str, Any]],
    over_files: OverFiles | None = None,
    everybody: Everybody | None = None,
) -> list[str]:
    """What the certificate says and the files do not, in sentences without values of people; empty when they agree.

    Parameters
        folder     a release folder, finished or not: ``policy.yaml``, ``manifest.json`` and the parts are read, nothing else.
        findings   as in ``certificate.json``: mappings with model, given, hide, required, achieved, holds.
        over_files how files of a part that is a folder are counted: here one after the other, or where they lie.
        everybody  the table of the population, where the data holder has one: then claims about it are counted, too.
    """
    try:
        release, policy = open_folder(folder, over_files), read_policy(folder / "policy.yaml")
        release = replace(release, wanted=_wanted(release, policy), everybody=everybody)
        counts = recount_opened(release, policy)
        rows = list(release.miscounted())
    except ReleaseError as error:
        return [f"the floor cannot read the folder: {error.what}"]  # I3
    wrong = [sentence for place, each in enumerate(counts) for sentence in _claim(place, each, findings)]
    more = [str(finding.get("model")) for finding in findings[len(counts) :] if finding.get("model") in DEFINITIONS]  # I1
    wrong += [f"the certificate speaks about {model}, which the policy does not claim" for model in more]
    return [*rows, *wrong]


def _wanted(release: Folder, policy: Written) -> frozenset[str]:
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
        yield from (f"{name}: {said}" for said in _achieved(each, finding))


def _required(each: Recount, finding: Mapping[str, Any]) -> Iterator[str]:
    """What the policy asks for is what the certificate says was asked for."""
    said = finding.get("required") or {}
    names = [*each.required, *(key for key in said if key not in each.required)] if each.model in DEFINITIONS else each.required
    for key in names:
        if key not in each.required or key not in said or not _equal(said[key], each.required[key]):
            yield f"the level asked for is not the one in the policy ({key})"


def _equal(said: Any, written: Any) -> bool:
    if isinstance(written, list) and all(isinstance(row, list) for row in written):
        return sorted(map(list, said)) == sorted(written)  # a tree, whose rows stand in any order
    if isinstance(written, list):
        return list(said) == written
    try:
        return abs(float(said) - float(written)) <= _ABSOLUTE * max(1.0, abs(float(written)))
    except (TypeError, ValueError):
        return bool(said == written)


def _achieved(each: Recount, finding: Mapping[str, Any]) -> Iterator[str]:
    said, holds = finding.get("achieved") or {}, finding.get("holds") is True
    if each.exact and (said or holds):
        for key in {*said, *each.achieved}:
            if not same(said.get(key), each.achieved.get(key)):
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


def same(said: Any, found: Any) -> bool:
    """Whether a figure of a certificate is the one that was counted (I2)."""
    if not (_is_number(said) and _is_number(found)):
        return bool(said == found)
    if isinstance(found, int):
        return bool(said == found)
    return bool(abs(said - found) <= _RELATIVE * abs(found) + _ABSOLUTE)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
