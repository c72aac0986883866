"""Releasing: publish, verify somebody's folder, show before and after; each one call into the house."""

from __future__ import annotations

import shutil
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.errors import DataError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.methods.base import Progress
from sfumato.policy.policy import Policy
from sfumato.release.signature import SigningKey
from sfumato.spine.load import has_target, load_release
from sfumato.spine.preview import preview
from sfumato.spine.publish import Publication, publish
from sfumato.spine.verify import verify

MOST_UNPACKED = 8 << 30
"""Bytes that a dropped archive may unpack to."""
MOST_FILES = 2_000


def release(progress: Progress, policy: str, out: str, ledger: str = "", new_ledger: bool = False, key: str = "") -> dict[str, Any]:
    """Make, certify and write a release; load its target when the policy names one."""
    read, sign = Policy.read(policy), SigningKey.read(key) if key else None
    made = publish(read, progress=progress, ledger=ledger or None, new_ledger=new_ledger)
    progress(1.0, "writing")
    made.write(out, sign=sign)
    told: dict[str, Any] = {"release": Path(out).name, "certificate": made.certificate.to_json(), "findings": _findings(made)}
    if has_target(read):
        told["target"] = load_release(read, out, progress=progress).to_json()
    return told | {"utility": dict(made.utility)}


def _findings(made: Publication) -> list[dict[str, Any]]:
    return [finding.to_json() for finding in made.findings]


def audit(progress: Progress, folder: str = "", archive: str = "", original: str = "", ledger: str = "") -> dict[str, Any]:
    """What the audit finds in a release folder, or in one that was packed into a zip file."""
    place = Path(folder) if folder else unpacked(Path(archive), Path(tempfile.mkdtemp()))
    progress(0.3, "auditing")
    found = verify(place, original=original or None, ledger=ledger or None)
    return {"release": place.name, "violated": found.violated, **found.to_json()}


def unpacked(archive: Path, target: Path) -> Path:
    """The release folder in a zip file; refuses names that lead elsewhere, links, and more than anybody publishes."""
    try:
        with zipfile.ZipFile(archive) as pack:
            entries = [entry for entry in pack.infolist() if not entry.is_dir()]
            if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_UNPACKED:
                raise DataError(
                    "the archive holds more than a release folder does", where=archive.name, hint="pack one release folder"
                )
            for entry in entries:
                _unpack(pack, entry, target)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError):
        raise DataError("not a zip file that can be read", where=archive.name, hint="pack the release folder again") from None
    manifests = sorted(target.rglob("manifest.json"), key=lambda path: len(path.parts))
    if not manifests:
        raise DataError("no release folder in the archive", where=archive.name, hint="pack the folder with manifest.json in it")
    return manifests[0].parent


def _unpack(pack: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    path = PurePosixPath(entry.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.filename or ":" in entry.filename:
        raise DataError("a name in the archive leads out of it", where=pack.filename or "", hint="do not trust whoever sent it")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise DataError("a link in the archive", where=pack.filename or "", hint="pack plain files only")
    place = target.joinpath(*path.parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    with pack.open(entry) as source, place.open("xb") as file:
        left = entry.file_size
        while chunk := source.read(min(1 << 20, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise DataError("the archive is larger inside than it says", where=pack.filename or "", hint="do not trust it")
            file.write(chunk)


def packed(folder: Path, target: Path) -> Path:
    """A release folder as a zip file, for whoever takes it away."""
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
    ]
    try:
        book.verify()
        wrong = ""
    except SfumatoError as error:
        wrong = error.what
    return {"ledger": Path(ledger).name, "entries": entries, "wrong": wrong}
