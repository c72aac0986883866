"""Releasing: publish, sign, run attacks, verify a folder, show before and after; each is one call into the package."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
import zipfile
from collections import Counter
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.audit.attacks import run_attack, runnable_attack
from sfumato.core.errors import DataError, PolicyError, SfumatoError
from sfumato.core.limits import UnpacksTooFar, require_unpacked_size
from sfumato.core.registry import catalogue
from sfumato.data.table import Table
from sfumato.history.ledger import Ledger
from sfumato.models.base import Model
from sfumato.policy.policy import UNPROTECTED, Policy
from sfumato.release.attack import known_attacks
from sfumato.release.folder import open_release
from sfumato.release.method import Progress
from sfumato.release.signature import SigningKey, sign_folder
from sfumato.release.summary import summarize
from sfumato.release.summary_html import headline_html, summary_html
from sfumato.release.view import certificate_of
from sfumato.ui.studio.work.estimating import figures_of, unique_now
from sfumato.workflow.database_load import has_target, load_release
from sfumato.workflow.estimate import recover_folder
from sfumato.workflow.explore.comparison import sides_of
from sfumato.workflow.forecast import forecast_publish, preview
from sfumato.workflow.publication import Publication
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify

_LONGEST_END = 22 + (1 << 16)
"""Bytes from the record that ends an archive to the last byte of its comment, at most."""
MOST_FILES = 2_000
"""Files that a dropped archive may hold."""


def release(
    progress: Progress,
    policy: str,
    out: str,
    ledger: str = "",
    new_ledger: bool = False,
    key: str = "",
    replace: bool = False,
    origin: str = "",
) -> dict[str, Any]:
    """Make, certify and write a release, and load its target when the policy names one; its figures go to `origin`."""
    read, sign = Policy.read(policy), SigningKey.read(key) if key else None
    _require_reasons(read)
    begun = time.monotonic()
    made = publish(read, progress=progress, ledger=ledger or None, new_ledger=new_ledger)
    progress(1.0, "writing")
    made.write(out, sign=sign)
    if origin:
        taken = time.monotonic() - begun
        _remember(Path(origin), remembered(made) | {"policy": Path(policy).name, "ledger": ledger, "seconds": taken})
    told: dict[str, Any] = {
        "release": Path(out).name,
        "certificate": made.certificate.to_json(),
        "findings": _findings(made),
    }
    if has_target(read):
        told["target"] = load_release(read, out, progress=progress, replace=replace).to_json()
    return told | {"utility": dict(made.utility)}


def _remember(place: Path, told: dict[str, Any]) -> None:
    """Write figures that need the original into the private folder of the project."""
    for folder in (place.parent.parent, place.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(place, flags, 0o600), "w", encoding="utf-8") as file:
        json.dump(told, file, default=str)


def remembered(made: Publication) -> dict[str, Any]:
    """What the data holder wants to see again of a release and its original: rows, columns and figures side by side."""
    exhibit = made.exhibit
    policy, table = exhibit.policy, exhibit.original
    told: dict[str, Any] = {"when": datetime.now().isoformat(timespec="minutes"), "method": made.certificate.method}
    told["records"] = made.certificate.to_json()["records"]
    told["levels"] = {
        f"{finding.title}{' of ' + ', '.join(finding.hide) if finding.hide else ''}": dict(finding.achieved)
        for finding in made.summary().promised
    }
    told["utility"] = {name: value for name, value in made.utility.items() if isinstance(value, int | float)}
    if not isinstance(table, Table):
        return told
    told |= {"unique_before": unique_now(policy, table)["unique_before"]}
    told |= {key: value for key, value in figures_of(made, table, _SHOWN_ROWS).items() if key != "open_points"}
    told["risks"] = [{"name": risk.name, "before": risk.before, "after": risk.after} for risk in made.summary().risks]
    told["roles"] = {name: column.role for name, column in policy.columns.items()}
    told["left_out"] = [name for name in table.names if name not in policy.published]
    told["pictures"] = _pictures(made, table)
    return told


_SHOWN_ROWS, _PICTURE_BINS, _PICTURE_BARS = 12, 12, 8


def _pictures(made: Publication, table: Table) -> dict[str, Any]:
    """Per published column two rows of heights: the original and the release over the same runs of values."""
    exhibit, found = made.exhibit, {}
    if exhibit.recoded:
        before, after = sides_of(exhibit.policy, table, exhibit)
        for name in before.columns:
            found[name] = {"before": list(before.columns[name].spread), "after": list(after.columns[name].spread)}
    for part in made.release.parts.values():
        for name in part.table.column_names:
            if name in table.names and name not in found:
                found[name] = _commonest(table, name, part.table.column(name).to_pylist())
    return found


def _commonest(table: Table, name: str, after: list[Any]) -> dict[str, list[float]]:
    """How often the commonest values of the original occur in both."""
    text, counted = table.text(name), Counter(map(str, after))
    order = sorted(range(len(text.labels)), key=lambda at: -int(text.counts()[at]))[:_PICTURE_BARS]
    labels = [text.labels[at] for at in order]
    return {
        "before": [float(text.counts()[at]) for at in order],
        "after": [float(counted.get(label, 0)) for label in labels],
    }


def _require_reasons(policy: Policy) -> None:
    """Refuse sensitive columns that no requirement names until the policy says why they may be published so."""
    for name in policy.unexplained:
        what = f"'{name}' is sensitive, and no requirement limits what can be learned about it"
        hint = f"add a requirement that hides it, or accept the warning '{UNPROTECTED}{name}' with a reason"
        raise PolicyError(what, where=policy.document.where("columns", name), hint=hint)


def _findings(made: Publication) -> list[dict[str, Any]]:
    return [finding.to_json() for finding in made.findings]


def audit(
    progress: Progress, folder: str = "", archive: str = "", original: str = "", ledger: str = "", signer: str = ""
) -> dict[str, Any]:
    """What the audit finds in a release folder, or in one that was packed into a zip file."""
    place = Path(folder) if folder else unpacked(Path(archive), Path(tempfile.mkdtemp()))
    progress(0.3, "auditing")
    found = verify(place, original=data_of(original), ledger=ledger or None, signer=signer or None)
    stated = next((finding for finding in found.findings if finding.model == "certificate"), None)
    differences = [] if stated is None or stated.holds else [part for part in stated.reason.split("; ") if part]
    return {"release": place.name, "violated": found.violated, "differences": differences, **found.to_json()}


def data_of(name: str) -> Any:
    """The original: a data file, or the source of a policy, read as the policy says."""
    return Policy.read(name).data.read(None) if name.endswith((".yaml", ".yml")) else name or None


def play(progress: Progress, folder: str, original: str) -> dict[str, Any]:
    """Every attack that concerns a release and can be played with the original, with what it gets beside what was
    promised."""
    progress(0.0, "reading")
    exhibit = open_release(folder, original=data_of(original))
    named = known_attacks(exhibit)
    figures = []
    for done, attack in enumerate(named):
        progress(done / max(len(named), 1), attack.name)
        figures += [figure.to_json() for figure in run_attack(attack.name, exhibit)]
    without = [attack.name for attack in named if runnable_attack(attack.name, exhibit) is None]
    return {"figures": figures, "without": without}


def five(progress: Progress, folder: str) -> dict[str, Any]:
    """The answers to the five questions about a release, from its published files, as HTML that is escaped already."""
    progress(0.2, "Summing up")
    exhibit = open_release(folder)
    certificate = certificate_of(exhibit)
    steps = (f"Download it and hand it over. Recipients check it with `sfumato verify {Path(folder).name}`.",)
    told = summarize(exhibit, certificate.findings, attacks=certificate.attacks or (), next_steps=steps)
    return {
        "headline": str(headline_html(told, 2)),
        "five": str(summary_html(told, details="#findings")),
        "summary": told.to_json(),
    }


def sign(progress: Progress, folder: str, key: str) -> dict[str, Any]:
    """Put a signed statement about every file into a release folder that has none."""
    sign_folder(Path(folder), SigningKey.read(key))
    return {"signed": True}


def recovered(progress: Progress, folder: str) -> dict[str, Any]:
    """Return what a recipient can estimate from a randomly perturbed release."""
    progress(0.2, "undoing it on average")
    return recover_folder(folder)


def ahead(progress: Progress, policy: str, ledger: str) -> dict[str, Any]:
    """What the releases of a ledger mean for the next one."""
    foresight = forecast_publish(policy, ledger=ledger)
    return {
        "method": foresight.plan.method.name,
        "history": list(foresight.history),
        "promises": list(foresight.promises),
    }


def unpacked(archive: Path, target: Path) -> Path:
    """The release folder in a zip file; refuses names that lead elsewhere, links, and more than anybody publishes."""
    size = archive.stat().st_size
    try:
        if _stated_entries(archive, size) > 2 * MOST_FILES:  # folders are entries, too
            raise UnpacksTooFar
        with zipfile.ZipFile(archive) as pack:
            entries = [entry for entry in pack.infolist() if not entry.is_dir()]
            if len(entries) > MOST_FILES:
                raise UnpacksTooFar
            require_unpacked_size(sum(entry.file_size for entry in entries), size)
            for entry in entries:
                _unpack(pack, entry, target)
    except UnpacksTooFar:
        hint = "pack one release folder"
        raise DataError("the archive holds more than a release folder does", where=archive.name, hint=hint) from None
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError):
        raise DataError(
            "not a zip file that can be read", where=archive.name, hint="pack the release folder again"
        ) from None
    manifests = sorted(target.rglob("manifest.json"), key=lambda path: len(path.parts))
    if not manifests:
        raise DataError(
            "no release folder in the archive", where=archive.name, hint="pack the folder with manifest.json in it"
        )
    return manifests[0].parent


def _stated_entries(archive: Path, size: int) -> int:
    """Return how many entries an archive says it has, before its list of entries is read."""
    with archive.open("rb") as file:
        file.seek(max(0, size - _LONGEST_END))
        end = file.read()
    place = end.rfind(b"PK\x05\x06")
    return int.from_bytes(end[place + 10 : place + 12], "little") if place >= 0 else 0


def _unpack(pack: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    path = PurePosixPath(entry.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.filename or ":" in entry.filename:
        raise DataError(
            "a name in the archive leads out of it", where=pack.filename or "", hint="do not use this archive"
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise DataError("a link in the archive", where=pack.filename or "", hint="pack plain files only")
    place = target.joinpath(*path.parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    with pack.open(entry) as source, place.open("xb") as file:
        left = entry.file_size
        while chunk := source.read(min(1 << 20, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise DataError(
                    "the archive is larger inside than it says", where=pack.filename or "", hint="do not trust it"
                )
            file.write(chunk)


def packed(folder: Path, target: Path) -> Path:
    """Return a release folder as a zip file for download."""
    return Path(shutil.make_archive(str(target.with_suffix("")), "zip", folder.parent, folder.name))


def before_and_after(progress: Progress, policy: str, rows: int = 5) -> dict[str, Any]:
    """What a few rows would become."""
    return {"tables": [sample.to_json() for sample in preview(policy, rows=rows, progress=progress)]}


def timeline(progress: Progress, ledger: str) -> dict[str, Any]:
    """Every release of a ledger with what was found then, and whether the chain holds."""
    book = Ledger(ledger)
    entries = [
        {
            "number": entry.number,
            "when": entry.when,
            "records": entry.body["records"],
            "method": entry.body["certificate"].get("method", ""),
            "findings": [finding for finding in entry.body["certificate"]["findings"] if finding["required"]],
        }
        for entry in book.entries()
        if not entry.forgets
    ]
    try:
        book.verify()
        wrong = ""
    except SfumatoError as error:
        wrong = error.what
    return {"ledger": Path(ledger).name, "entries": entries, "levels": _levels(entries), "wrong": wrong}


def _levels(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every figure of every requirement over all releases, as lines of a chart; None where a release has
    none."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for place, entry in enumerate(entries):
        for finding in entry["findings"]:
            hide = f" of {', '.join(finding['hide'])}" if finding.get("hide") else ""
            for name, asked in finding["required"].items():
                value = finding["achieved"].get(name)
                if isinstance(value, int | float) and not isinstance(value, bool) and isinstance(asked, int | float):
                    empty = {
                        "title": f"{finding['model']}{hide}",
                        "level": name,
                        "values": [None] * len(entries),
                        "asked": asked,
                    }
                    lines.setdefault((f"{finding['model']}{hide}", name), empty)["values"][place] = value
    return [line for line in lines.values() if line["title"].split(" of ")[0] in catalogue("models", Model)]
