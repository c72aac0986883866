"""The release folder: written whole or not at all, read strictly.

::

    DIR/
      manifest.json     form, version, files with sha256 and row counts, public parameters
      certificate.json  what was found
      policy.yaml       the policy as used, without anything private
      hierarchies/…     the hierarchies the policy names, so that any person can verify
      <part>.csv        the published parts
      <part>/part-00000.parquet …  the same as a folder, of releases made where the data lies
      report.html       the public report
      croissant.json, datapackage.json  descriptors for other tools (`descriptors`)
      statement.dsse.json  of a signed release: manifest, certificate and all files as one signed statement
                           (`statement`)
      target.json       of a database that was loaded: what the audit found in the target, bound to this manifest

Invariants
    I1  A folder appears under its final name only when it is complete: written beside it, synced, then renamed.
    I2  Every file but the manifest, the record of a load and the signed statement is listed in the manifest with its
        sha256.
    I3  Nothing in a folder is read before everything in it is known to be a plain file, and nothing that a file in it
        names lies outside it (`plain_files`).


Trace file
----------
The private provenance on disk, for releases whose later audits need it: beside the folder, never in it, readable by its
owner only.

A replaced table whose rows are shuffled can be compared with its original record by record only by a person who has the
provenance. ``DIR.private.trace`` holds the row order and the method's notes for the audit; it can undo the shuffling.

Invariants
    I1  Written with mode 0600 from the first byte on, outside the release folder, and never through a link.
    I2  Plain arrays and texts only; nothing in the file is executed when it is read. The seed is not in it.
    I3  It names the certificate and the parts that it was written for. Beside a folder that has none of these it
        belongs to another release, which had the same name: it is not used, and the audit says so.
"""

from __future__ import annotations

import glob
import io
import json
import os
import re
import secrets
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from sfumato import __version__
from sfumato.core.draft_folders import lock_folder, remove_abandoned_folders
from sfumato.core.errors import DataError, PlaceError, ReleaseError
from sfumato.engines.local import HERE
from sfumato.engines.protocol import FileEngine
from sfumato.io.csv_format import CsvDialect, plain_copy, write_csv
from sfumato.io.hierarchy_files import is_standing
from sfumato.io.plain_files import (
    OverFiles,
    digest,
    files_of,
    is_inner,
    is_part_file,
    map_files,
    open_plain,
    printable_name,
    read_tree,
    replace_file,
    require_writable,
)
from sfumato.policy.policy import Policy
from sfumato.release.certificate import Certificate
from sfumato.release.form import Form
from sfumato.release.past_releases import History
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView

Format = Literal["csv", "parquet"]
MANIFEST, CERTIFICATE, POLICY, REPORT = "manifest.json", "certificate.json", "policy.yaml", "report.html"
TARGET, STATEMENT = "target.json", "statement.dsse.json"
AGAIN = frozenset({REPORT, "croissant.json", "datapackage.json"})
"""Files that are made from the others, and may be made again."""
UNLISTED = frozenset({MANIFEST, TARGET, STATEMENT})
"""Files that the manifest does not list: itself, and what is made when it is complete."""
MANIFEST_VERSION = 1
_USUAL = CsvDialect()


SPARE = 1 << 18
"""Bytes that a release needs beside its parts: manifest, certificate and reports."""


def require_room(target: Path, wanted: int = 0) -> None:
    """Refuses, before anything is computed, a folder that could not be written afterwards; `wanted` bytes are for its
    parts."""
    if target.is_symlink():
        require_writable(target)
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise DataError(
            f"{target.name} exists already", where=str(target), hint="choose another --out, or remove it first"
        )
    require_writable_folder(target.parent)
    for place in (_nearest(target.parent), Path(tempfile.gettempdir())):
        free = shutil.disk_usage(place).free
        if free < wanted + SPARE:
            what = f"the disk has {free // 1024:,} kB left, and the release may need {(wanted + SPARE) // 1024:,} kB"
            raise PlaceError(
                what, where=str(place), hint=("free some disk space, or write to another disk (TMPDIR holds the draft)")
            )


def require_writable_folder(folder: Path) -> None:
    """Refuses a folder in which, or above which, nothing can be made."""
    standing = _nearest(folder)
    if not standing.is_dir():
        raise PlaceError(f"{standing.name} is no folder", where=str(standing), hint="choose another place")
    try:
        with tempfile.TemporaryFile(dir=standing):
            return
    except OSError:
        raise PlaceError(
            "nothing can be written there", where=str(standing), hint="check the rights, or choose another folder"
        ) from None


def _nearest(folder: Path) -> Path:
    """The folder itself, or the first one above it that is there."""
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())


DRAFT = ".sfumato-"
"""How the names of drafts begin that lie beside a release."""
_MAKING = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


def require_finished(folder: Path) -> None:
    """Refuse a folder that a process left while it was making a release, whatever lies in it."""
    name = folder.absolute().name
    if name.startswith(DRAFT) or _MAKING.fullmatch(name):
        what = "this folder was left by a process that was stopped while it made a release, and is none"
        raise ReleaseError(what, where=str(folder), hint="remove it, and publish again")


@contextmanager
def new_folder(target: Path, *, before_rename: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its name when the block ends well, and vanishes when it does not
    (I1)."""
    if target.is_symlink():
        require_writable(target)
    if target.exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise DataError(
            f"{target.name} exists already", where=str(target), hint="choose another --out, or remove it first"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned_folders(target.parent, f".{glob.escape(target.name)}.????????.tmp")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    draft.mkdir()
    try:
        with lock_folder(draft):
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


def write_part(part: Part, path: Path, dialect: CsvDialect = _USUAL) -> None:
    """One part as CSV (nulls become empty) or Parquet, by the ending of the path."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(part.table, path)
    else:
        with path.open("wb") as target:
            write_csv(dialect.written(part.held), target, dialect.separator)


def write_json(tree: Mapping[str, Any], path: Path, *, synced: bool = True) -> None:
    """Readable JSON with a newline at the end."""
    replace_file(path, (json.dumps(tree, indent=1, ensure_ascii=False) + "\n").encode(), synced=synced)


def write_manifest(
    folder: Path,
    form: Form,
    rows: Mapping[str, int],
    over_files: OverFiles = map_files,
    *,
    again: bool = False,
    dialect: CsvDialect = _USUAL,
) -> None:
    """List every other file of a draft with its digest (I2).

    When it is written `again`, parts keep the digests that were listed first: they are what was certified, whatever
    lies there now."""
    present = {name: file for name, file in files_of(folder).items() if name not in UNLISTED}
    before = read_tree(folder / MANIFEST) if again else {}
    listed = _listed(before) if again else {}
    known = {name: str(listed[name]["sha256"]) for name in present if name in rows and name in listed}
    fresh = [name for name in present if name not in known]
    known |= zip(fresh, over_files(digest, [present[name] for name in fresh]), strict=True)
    files = {name: {"sha256": known[name]} | ({"rows": rows[name]} if name in rows else {}) for name in present}
    manifest = {
        "format": MANIFEST_VERSION,
        "form": form.name,
        "version": __version__,
        "date": str(before.get("date", "")) or date_of_today(),
        "files": files,
        "public": form.to_public(),
    }
    stated = before.get("csv") or (dialect.to_json() if dialect != _USUAL else {})
    manifest |= {"csv": stated} if stated else {}
    write_json(manifest, folder / MANIFEST, synced=False)  # before it gets its name everything in it is (I1)


def date_of_today() -> str:
    """The date that releases of today state, in UTC; ``SOURCE_DATE_EPOCH`` sets it for repeatable runs."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch) if epoch.isdigit() else time.time(), UTC).date().isoformat()


def read_folder(path: Path, *, draft: bool = False, engine: FileEngine | None = None) -> ReleaseView:
    """A release folder as an adversary sees it; damage is listed, not raised, so that the audit can name it.

    A draft has no certificate yet. Parts that are folders are counted by the engine; who names none does not understand
    counts, and such a release is refused."""
    if not draft:
        require_finished(path)
    present = files_of(path)  # I3
    form = form_of(path)
    try:
        files, dialect = _listed(manifest := read_tree(path / MANIFEST)), CsvDialect.read(manifest.get("csv"))
        certificate = None if draft else Certificate.from_json(read_tree(path / CERTIFICATE))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise ReleaseError("the manifest or the certificate is not what it should be", where=str(path)) from None
    parts, damage = {}, [*_damage(present, files, (engine or HERE).over_files, form), *_overstated(path, certificate)]
    policy = _policy(path, present)
    for name, entry in files.items():
        file = path / name
        if "rows" in entry and "/" not in name and name in present and file.suffix in {".csv", ".parquet"}:
            parts[file.stem] = _part(file, damage, form, dialect)
            if file.stem in parts and len(parts[file.stem]) != entry["rows"]:
                damage.append(
                    f"{printable_name(name)} has {len(parts[file.stem])} rows, the manifest says {entry['rows']}"
                )
    inside = [name for name, entry in files.items() if "rows" in entry and is_part_file(name) and name in present]
    if inside and engine is None:
        hint = "verify, measure and report do"
        raise ReleaseError(
            "rows of this release lie in folders of files, which this does not read", where=str(path), hint=hint
        )
    folders = {
        name: [file for file in inside if file.startswith(f"{name}/")]
        for name in {file.partition("/")[0]: 0 for file in inside}
    }
    where = {name: [path / file for file in mine] for name, mine in folders.items()}
    for main, lists in form.lists(list(folders)).items():
        parts |= _with_lists(main, lists, where, form.uncounted(policy), damage, engine or HERE)
    for name, mine in folders.items():
        if parts[name].text.records != sum(files[file]["rows"] for file in mine):
            damage.append(f"{printable_name(name)} does not have as many rows as the manifest says")
    used = engine or HERE
    return ReleaseView(
        form, parts, policy, certificate, tuple(damage), path, over_files=used.over_files, repeats=used.repeats
    )


def form_of(path: Path) -> Form:
    """The form that a folder's manifest declares; nothing else is read, and nothing is judged."""
    manifest = read_tree(path / MANIFEST)
    _require_format(manifest, path)
    try:
        return Form.read(str(manifest["form"]), dict(manifest["public"]))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise ReleaseError("the manifest is not what it should be", where=str(path)) from None


def folder_cover(path: Path, policy: Policy | None = None) -> ReleaseView:
    """Form and policy of a release folder, in which its tables need not lie; the policy is not read where it is at
    hand."""
    return ReleaseView(form_of(path), {}, _policy(path, files_of(path)) if policy is None else policy)


def _require_format(manifest: Any, path: Path) -> None:
    """A layout that this version does not know may mean anything; what is unknown is refused."""
    said = manifest.get("format", MANIFEST_VERSION) if isinstance(manifest, Mapping) else MANIFEST_VERSION
    if type(said) is not int or said != MANIFEST_VERSION:
        hint = "a newer version of Sfumato may have written it"
        raise ReleaseError(
            "the manifest has a format that this version does not know", where=str(path / MANIFEST), hint=hint
        )


def _counted_part(files: list[Path], beside: Sequence[str], damage: list[str], engine: FileEngine) -> Part:
    """A part that is a folder, as different rows with counts; some columns stand beside them."""
    try:
        names = engine.columns(files)
        aside = tuple(name for name in names if name in beside)
        if not (counted := [name for name in names if name not in aside]):
            return Part(pa.table({}), np.array([sum(engine.over_files(_rows_in, files))], dtype=np.int64), aside)
        return Part(*engine.count(files, counted), aside)
    except DataError as error:
        damage.append(f"{printable_name(files[0].parent.name)} cannot be read: {error.what}")
        return Part(pa.table({}), np.zeros(0, dtype=np.int64))


def _rows_in(file: Path) -> int:
    """How many rows a Parquet file says that it has."""
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(file).num_rows)
    except (OSError, pa.ArrowException):
        raise DataError("a file is no Parquet file") from None


def _with_lists(
    main: str,
    lists: Sequence[str],
    where: Mapping[str, list[Path]],
    beside: Sequence[str],
    damage: list[str],
    engine: FileEngine,
) -> dict[str, Part]:
    """A table that is a folder, and the parts that list what its buckets hide."""
    if not lists:
        return {main: _counted_part(where[main], beside, damage, engine)}
    try:
        aside = tuple(name for name in engine.columns(where[main]) if name in beside)
        found = engine.with_buckets(where[main], {name: where[name] for name in lists}, aside)
        return {
            name: Part(*each, aside if name == main and each[1] is not None else ()) for name, each in found.items()
        }
    except DataError as error:
        damage.append(f"{printable_name(main)} cannot be read: {error.what}")
        return {name: Part(pa.table({}), np.zeros(0, dtype=np.int64)) for name in (main, *lists)}


def part_files(folder: Path, part: str) -> list[Path]:
    """The files of a part that is a folder, as the manifest lists them."""
    files = _listed(read_tree(folder / MANIFEST))
    return [folder / name for name in files if is_part_file(name) and name.startswith(f"{part}/")]


def _listed(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The files that a manifest lists, each with what it says about it."""
    return {name: dict(entry.items()) for name, entry in manifest["files"].items()}


def _policy(path: Path, present: Mapping[str, Path]) -> Policy:
    """Return the policy of a folder; it names no path outside the folder (I3)."""
    if POLICY not in present:
        raise ReleaseError(
            f"no {POLICY} in the folder", where=str(path), hint="give a folder that 'sfumato publish' wrote"
        )
    policy = Policy.read(path / POLICY)
    hint = "a policy in a release folder names nothing outside it; do not trust this one"
    told = sorted(set(policy.data.model_fields_set) & set(policy.data.private) - {"base"})
    if told or policy.ledger or policy.key:
        raise ReleaseError(
            f"{POLICY} names '{(told or ['ledger or key'])[0]}', which is private", where=str(path), hint=hint
        )
    for name, column in policy.columns.items():
        spec = column.hierarchy
        if isinstance(spec, str) and is_standing(spec) and not (is_inner(spec) and spec in present):
            raise ReleaseError(
                f"the hierarchy of '{printable_name(name)}' is no file of the folder", where=str(path), hint=hint
            )
    return policy


def open_release(
    path: str | Path,
    *,
    original: Any = None,
    history: History | None = None,
    engine: FileEngine | None = None,
    **parameters: Any,
) -> ReleaseView:
    """A release folder; with the original the data holder's side of it, the private provenance beside the folder
    included."""
    return with_private_data(read_folder(Path(path), engine=engine), original, history, **parameters)


def with_private_data(exhibit: ReleaseView, original: Any, history: History | None, **parameters: Any) -> ReleaseView:
    """Return the view of a folder with the data holder's private files."""
    if original is None or exhibit.folder is None:
        return replace(exhibit, history=history, parameters=parameters)
    trace = read_provenance(exhibit.folder, exhibit.form)
    data = _as_named(original) or exhibit.policy.data.read(original)
    return replace(exhibit, original=data, trace=trace, history=history, parameters=parameters)


def _as_named(original: Any) -> Any:
    """The data that a policy names, where the policy is given as the original: of a table of people and one of their
    rows, both."""
    if isinstance(original, str | Path) and Path(original).suffix in (".yaml", ".yml"):
        return Policy.read(original).data.read()
    return None


def _part(file: Path, damage: list[str], form: Form, dialect: CsvDialect) -> Part:
    try:
        if dialect == _USUAL or file.suffix != ".csv":
            return Part(form.read_part(file))
        with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
            return Part(form.read_part(plain_copy(file, dialect, Path(place))))
    except DataError as error:
        damage.append(f"{file.name} cannot be read: {error.what}")
        return Part(pa.table({}))


def folder_damage(path: Path, over_files: OverFiles = map_files) -> tuple[str, ...]:
    """What is missing, edited or unlisted in a folder."""
    return tuple(_damage(files_of(path), _listed(read_tree(path / MANIFEST)), over_files, form_of(path)))


def _overstated(path: Path, certificate: Certificate | None) -> Iterator[str]:
    """A certificate that says it holds although a finding of its own does not."""
    if certificate is not None and read_tree(path / CERTIFICATE).get("holds") is True and certificate.violations:
        wrong = "; ".join(finding.reason or f"{finding.model} is violated" for finding in certificate.violations)
        yield f"{CERTIFICATE} says that it holds, its figures do not: {wrong}"


def _damage(
    present: Mapping[str, Path], files: Mapping[str, Mapping[str, Any]], over_files: OverFiles, form: Form
) -> Iterator[str]:
    there = [name for name in files if is_inner(name) and name in present]
    digests = dict(zip(there, over_files(digest, [present[name] for name in there]), strict=True))
    for name, entry in files.items():
        if not is_inner(name):
            yield f"{printable_name(name)} points outside the folder"
        elif name not in present:
            yield f"{printable_name(name)} is missing"
        elif digests[name] != entry.get("sha256"):
            yield f"{printable_name(name)} was changed after it was certified"
    unlisted = UNLISTED if form.has_target else UNLISTED - {TARGET}  # only what can be loaded has a record of a load
    for name in present:
        if name not in unlisted and name not in files:
            yield f"{printable_name(name)} is not listed in the manifest"


# Trace file
# ----------


_COMMON = {"rows", "lasting", "foreign"}


def provenance_path(folder: Path) -> Path:
    """``DIR.private.trace`` beside the folder."""
    return folder.with_name(folder.name + ".private.trace")


def save_provenance(trace: Provenance, folder: Path) -> Path:
    """Write the rows of the provenance, what its form adds to them, and for which release they are (I3), beside the
    folder."""
    packed = io.BytesIO()
    np.savez_compressed(
        packed, **dict(_flat({"rows": trace.rows, "extra": _extra(trace), "release": _identity(folder)}))
    )
    return replace_file(provenance_path(folder), packed.getvalue(), private=True)  # I1


def _identity(folder: Path) -> dict[str, str]:
    """The digests of the certificate and of the parts, as the manifest lists them."""
    listed = _listed(read_tree(folder / MANIFEST))
    return {name: str(entry["sha256"]) for name, entry in listed.items() if "rows" in entry or name == CERTIFICATE}


def _extra(trace: Provenance) -> dict[str, Any]:
    """What the provenance of a form has beyond rows; what is not known is left out."""
    own = {field.name: getattr(trace, field.name) for field in fields(trace) if field.name not in _COMMON}
    plain = {name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in own.items()}
    return {name: value for name, value in plain.items() if value is not None}


def read_provenance(folder: Path, form: Form) -> Provenance:
    """Return the provenance beside a folder of this form: an empty one when there is none, or when it is another
    release's (I3)."""
    path, tree = provenance_path(folder), dict[str, Any]({"rows": {}, "extra": {}})
    try:
        with open_plain(path) as file, np.load(file, allow_pickle=False) as stored:  # I2
            for name in stored.files:
                _put(tree, name.split("/"), stored[name])
    except FileNotFoundError:
        return form.trace_type()()
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
        raise ReleaseError(
            "the private provenance cannot be read", where=str(path), hint="remove it to audit without it"
        ) from None
    kind, written_for = form.trace_type(), tree.get("release")
    if written_for is not None and not set(written_for.items()) & set(_identity(folder).items()):
        return kind(foreign=True)
    known = {field.name for field in fields(kind)} - _COMMON
    if not set(tree["extra"]) <= known:
        raise ReleaseError(
            "the private provenance belongs to another form", where=str(path), hint="remove it to audit without it"
        )
    return kind(tree["rows"], **tree["extra"], lasting=True)


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        path = prefix + str(name).replace("%", "%25").replace("/", "%2F")
        if isinstance(value, Mapping):
            yield from _flat(value, path + "/")
        else:
            yield path, np.asarray(sorted(value) if isinstance(value, frozenset) else value)


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name.replace("%2F", "/").replace("%25", "%"), {})
    last = path[-1].replace("%2F", "/").replace("%25", "%")
    tree[last] = value if value.ndim else value.item()
