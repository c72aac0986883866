"""Where reports go: the public one into the release folder, the private one beside it and readable by its owner only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.engines.local import HERE
from sfumato.errors import DataError, ReleaseError
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import MANIFEST, REPORT, STATEMENT, open_release, read_folder, write_json
from sfumato.release.plain_files import digest, read_tree, replace_file
from sfumato.report.page import render


def write_public(folder: Path) -> Path:
    """``DIR/report.html``, entered in the manifest; that of a signed folder is part of what was signed and stays as it is."""
    exhibit = read_folder(folder, engine=HERE)
    if (folder / STATEMENT).exists():
        hint = "its report was signed with it; --original and --out write the data holder's report elsewhere"
        raise ReleaseError("the folder is signed, and nothing in it is written again", where=str(folder), hint=hint)
    damage = [entry for entry in exhibit.damage or () if not entry.startswith(REPORT)]
    if damage:
        raise ReleaseError("the folder is damaged: " + "; ".join(damage), where=str(folder), hint="run 'sfumato verify' on it")
    replace_file(folder / REPORT, render(exhibit).encode())
    manifest = read_tree(folder / MANIFEST)
    manifest["files"][REPORT] = {"sha256": digest(folder / REPORT)}
    write_json(manifest, folder / MANIFEST)
    return folder / REPORT


def write_private(folder: Path, original: Any, out: Path | None, parameters: Mapping[str, Any] | None = None) -> Path:
    """The data holder's report on a folder, never inside it; `parameters` are those of metrics."""
    target = out or private_path(folder)
    if folder.resolve() in target.resolve().parents:
        raise DataError("the private report must not lie in the release folder", where=str(target), hint="choose another --out")
    return save_private(open_release(folder, original=original, engine=HERE, **(parameters or {})), target)


def private_path(folder: Path) -> Path:
    """``DIR.private.html`` beside the folder."""
    return folder.with_name(folder.name + ".private.html")


def save_private(exhibit: Exhibit, target: Path) -> Path:
    """Write with mode 0600 from the first byte on, never through a link."""
    return replace_file(target, render(exhibit).encode(), private=True)
