"""Where reports go: the public one into the release folder, the private one beside it and readable by its owner only."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, ReleaseError
from sfumato.policy.policy import Policy
from sfumato.release.folder import MANIFEST, POLICY, REPORT, digest, read_folder, write_json
from sfumato.report.page import render
from sfumato.report.view import View


def write_public(folder: Path) -> Path:
    """``DIR/report.html``, entered in the manifest."""
    read = read_folder(folder)
    damage = [entry for entry in read.damage if not entry.startswith(REPORT)]
    if damage:
        raise ReleaseError("the folder is damaged: " + "; ".join(damage), where=str(folder), hint="run 'sfumato verify' on it")
    view = View(read.form, read.parts, Policy.read(folder / POLICY), read.certificate, read.public)
    (folder / REPORT).write_text(render(view), encoding="utf-8")
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][REPORT] = {"sha256": digest(folder / REPORT)}
    write_json(manifest, folder / MANIFEST)
    return folder / REPORT


def write_private(folder: Path, original: Any, out: Path | None) -> Path:
    """The data holder's report on a folder, never inside it."""
    read = read_folder(folder)
    policy = Policy.read(folder / POLICY)
    target = out or private_path(folder)
    if folder.resolve() in target.resolve().parents:
        raise DataError("the private report must not lie in the release folder", where=str(target), hint="choose another --out")
    view = View(read.form, read.parts, policy, read.certificate, read.public, policy.data.read(original))
    return save_private(view, target)


def private_path(folder: Path) -> Path:
    """``DIR.private.html`` beside the folder."""
    return folder.with_name(folder.name + ".private.html")


def save_private(view: View, target: Path) -> Path:
    """Write with mode 0600 from the first byte on."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(handle, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(render(view))
    return target
