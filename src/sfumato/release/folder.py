"""The release folder: written whole or not at all, read strictly.

::

    DIR/
      manifest.json     form, version, files with sha256 and row counts, public parameters
      certificate.json  what was found
      policy.yaml       the policy as used, without anything private
      hierarchies/…     the hierarchies the policy names, so that anybody can verify
      <part>.csv        the published parts
      report.html       the public report
      target.json       of a database that was loaded: what the audit found in the target, bound to this manifest

Invariants
    I1  A folder appears under its final name only when it is complete: written beside it, synced, then renamed.
    I2  Every file but the manifest and the record of a load is listed in the manifest with its sha256.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato import __version__
from sfumato.errors import DataError, ReleaseError
from sfumato.policy.policy import Policy
from sfumato.release.certificate import Certificate
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.release.past import History
from sfumato.release.release import Part
from sfumato.release.trace_file import read_trace, trace_path

Format = Literal["csv", "parquet"]
MANIFEST, CERTIFICATE, POLICY, REPORT = "manifest.json", "certificate.json", "policy.yaml", "report.html"
TARGET = "target.json"
MANIFEST_VERSION = 1


@contextmanager
def new_folder(target: Path, *, before_rename: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its name when the block ends well, and vanishes when it does not (I1)."""
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise DataError(f"{target.name} exists already", where=str(target), hint="choose another --out, or remove it first")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    draft.mkdir()
    try:
        yield draft
        for file in sorted(draft.rglob("*")):
            _sync(file)
        _sync(draft)
        if before_rename is not None:
            before_rename(draft)
        draft.rename(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_part(part: Part, path: Path) -> None:
    """One part as CSV (nulls become empty) or Parquet, by the ending of the path."""
    if path.suffix == ".parquet":
        pq.write_table(part.table, path)
    else:
        part.to_polars().write_csv(path, quote_style="necessary", line_terminator="\n")


def write_json(tree: Mapping[str, Any], path: Path) -> None:
    """Readable JSON with a newline at the end."""
    path.write_text(json.dumps(tree, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_manifest(folder: Path, form: Form, rows: Mapping[str, int]) -> None:
    """List every other file of the folder with its digest (I2)."""
    files = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.name not in (MANIFEST, TARGET):
            name = file.relative_to(folder).as_posix()
            files[name] = {"sha256": digest(file)} | ({"rows": rows[name]} if name in rows else {})
    manifest = {"format": MANIFEST_VERSION, "form": form.name, "version": __version__, "files": files, "public": form.to_public()}
    write_json(manifest, folder / MANIFEST)


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_folder(path: Path, *, draft: bool = False) -> Exhibit:
    """A release folder as an outsider sees it; damage is listed, not raised, so that the audit can name it.

    A draft has no certificate yet.
    """
    manifest = _json(path / MANIFEST)
    try:
        files: dict[str, dict[str, Any]] = dict(manifest["files"])
        form = Form.read(str(manifest["form"]), dict(manifest["public"]))
        certificate = None if draft else Certificate.from_json(_json(path / CERTIFICATE))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReleaseError("the manifest or the certificate is not what it should be", where=str(path)) from None
    parts, damage = {}, [*_damage(path, files), *_overstated(path, certificate)]
    for name, entry in files.items():
        file = path / name
        if "rows" in entry and "/" not in name and file.is_file() and file.suffix in {".csv", ".parquet"}:
            parts[file.stem] = _part(file, damage, form)
            if file.stem in parts and len(parts[file.stem]) != entry["rows"]:
                damage.append(f"{name} has {len(parts[file.stem])} rows, the manifest says {entry['rows']}")
    return Exhibit(form, parts, Policy.read(path / POLICY), certificate, tuple(damage), path)


def open_release(path: str | Path, *, original: Any = None, history: History | None = None, **parameters: Any) -> Exhibit:
    """A release folder; with the original the data holder's side of it, the private trace beside the folder included."""
    return laid_beside(read_folder(Path(path)), original, history, **parameters)


def laid_beside(exhibit: Exhibit, original: Any, history: History | None, **parameters: Any) -> Exhibit:
    """The exhibit of a folder with what the data holder has."""
    if original is None or exhibit.folder is None:
        return replace(exhibit, history=history, parameters=parameters)
    trace = read_trace(trace_path(exhibit.folder), exhibit.form)
    data = exhibit.policy.data.read(original)
    return replace(exhibit, original=data, trace=trace, history=history, parameters=parameters)


def _part(file: Path, damage: list[str], form: Form) -> Part:
    try:
        return Part(form.read_part(file))
    except DataError as error:
        damage.append(f"{file.name} cannot be read: {error.what}")
        return Part(pa.table({}))


def damage_of(path: Path) -> tuple[str, ...]:
    """What is missing, edited or unlisted in a folder."""
    return tuple(_damage(path, _json(path / MANIFEST)["files"]))


def _overstated(path: Path, certificate: Certificate | None) -> Iterator[str]:
    """A certificate that says it holds although a finding of its own does not."""
    if certificate is not None and _json(path / CERTIFICATE).get("holds") is True and certificate.violations:
        wrong = "; ".join(finding.reason or f"{finding.model} is violated" for finding in certificate.violations)
        yield f"{CERTIFICATE} says that it holds, its figures do not: {wrong}"


def _damage(path: Path, files: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, entry in files.items():
        file = path / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            yield f"{name} points outside the folder"
        elif not file.is_file():
            yield f"{name} is missing"
        elif digest(file) != entry.get("sha256"):
            yield f"{name} was changed after it was certified"
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.is_file() and name not in (MANIFEST, TARGET) and name not in files:
            yield f"{name} is not listed in the manifest"


def _json(path: Path) -> dict[str, Any]:
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        hint = "give a folder that 'sfumato publish' wrote"
        raise ReleaseError(f"no {path.name} in the folder", where=str(path.parent), hint=hint) from None
    except ValueError:
        raise ReleaseError(f"{path.name} is not valid JSON", where=str(path)) from None
    if not isinstance(tree, dict):
        raise ReleaseError(f"{path.name} is not what it should be", where=str(path))
    return tree
