"""Write: a draft of the release folder first; then, once it is certified, the folder itself, its ledger entry and the
reports.

Invariants
    I1  What is certified is read from the draft's bytes, and exactly these bytes are copied into the release folder.
    I2  A folder never appears before its entry is safe in the ledger: write, sync, append, rename.
    I3  What is signed is the complete folder, and nothing in it changes afterwards.
    I4  A draft has no certificate. It gets one in the folder that the next step renames, and who reads releases reads
        no folder whose name says that it is in the making: whenever a process is killed, what is left is no release.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.core.draft_folders import TemporaryFolder, draft_folder
from sfumato.core.errors import ReleaseError
from sfumato.engines.local import HERE
from sfumato.engines.protocol import FileEngine
from sfumato.history.judge.series import published_cells_of
from sfumato.history.ledger import Ledger
from sfumato.history.ledger.entries import LedgerPlace
from sfumato.history.ledger.person_files import PersonFilesDraft
from sfumato.history.ledger.stored_releases import pack_memory, write_cache
from sfumato.io.csv_format import CsvDialect
from sfumato.io.plain_files import is_part_file, read_tree, replace_file, require_writable
from sfumato.policy.policy import Policy, write_public_policy
from sfumato.release.certificate import Certificate
from sfumato.release.descriptors import describe_folder
from sfumato.release.evidence import evidence_for
from sfumato.release.folder import (
    CERTIFICATE,
    MANIFEST,
    REPORT,
    Format,
    folder_damage,
    new_folder,
    provenance_path,
    read_folder,
    save_provenance,
    write_json,
    write_manifest,
    write_part,
)
from sfumato.release.form import Form
from sfumato.release.release import Release
from sfumato.release.signature import sign_folder
from sfumato.release.view import ReleaseView, certificate_of

if TYPE_CHECKING:
    from sfumato.release.signature import SigningKey


@dataclass(frozen=True)
class DraftFolder:
    """A release folder in the making, in a private place; it vanishes with the last who knows it."""

    place: TemporaryFolder = field(repr=False)
    form: Form
    rows: Mapping[str, int]
    format: Format = "csv"
    engine: FileEngine = field(default=HERE, repr=False)
    """Who looks at parts that are folders."""
    people: PersonFilesDraft | None = field(default=None, repr=False)
    """Who is behind it, where a ledger keeps that in files beside itself."""
    lines: pa.Table | None = field(default=None, repr=False)
    """What is remembered with these files (`shelf.lines_table`)."""

    @property
    def folder(self) -> Path:
        return Path(self.place.name)

    @classmethod
    def of(cls, release: Release, policy: Policy, method: Mapping[str, Any], format: Format) -> DraftFolder:
        """The parts, the public policy and the manifest; not yet certified."""
        draft = cls(draft_folder("sfumato-draft-"), release.form, _rows(release, format), format)
        found = policy.data.dialect() if format == "csv" else CsvDialect()
        dialect = found.fitting(part.held for part in release.parts.values())
        for name, part in release.parts.items():
            write_part(part, draft.folder / f"{name}.{format}", dialect)
        write_public_policy(policy, method, draft.folder)
        write_manifest(draft.folder, draft.form, draft.rows, dialect=dialect)
        return draft

    def read(self) -> ReleaseView:
        """The draft as an adversary would see it (I1)."""
        return read_folder(self.folder, draft=True, engine=self.engine)

    def seal(self, certificate: Certificate, folder: Path | None = None) -> None:
        """Put the certificate into the draft, or into a folder that it was copied to."""
        write_json(certificate.to_json(), (folder or self.folder) / CERTIFICATE, synced=False)
        write_manifest(folder or self.folder, self.form, self.rows, self.engine.over_files, again=True)


def _laid(source: str, target: str) -> str:
    """The file under its new name; the files of a part that is a folder are not copied where a second name will do."""
    if is_part_file("/".join(Path(source).parts[-2:])):
        with suppress(OSError):
            os.link(source, target)
            return target
    return str(shutil.copy2(source, target))


def _rows(release: Release, format: Format) -> dict[str, int]:
    return {f"{name}.{format}": len(part) for name, part in release.parts.items()}


def write_out(
    draft: DraftFolder,
    exhibit: ReleaseView,
    target: Path,
    *,
    place: tuple[Ledger, LedgerPlace] | None = None,
    seed: int | None = None,
    report: bool = True,
    key: SigningKey | None = None,
) -> Path:
    """The release folder from its draft; the private report and a lasting trace go beside it."""
    from sfumato.workflow.report import private_path, save_private

    for beside in (private_path(target), provenance_path(target)):
        require_writable(beside)  # before anything is published: what is refused later is half done
    if place is None:
        with new_folder(target) as folder:
            _fill(draft, exhibit, folder, report, key)
    else:
        _write_and_enter(draft, exhibit, target, *place, seed, report, key)
    if report and exhibit.private:
        save_private(exhibit, private_path(target), target)
    if exhibit.trace.lasting:
        save_provenance(exhibit.trace.kept(), target)
    else:
        provenance_path(target).unlink(missing_ok=True)  # of an earlier release that had this name
    return target


def _write_and_enter(
    draft: DraftFolder,
    exhibit: ReleaseView,
    target: Path,
    ledger: Ledger,
    place: LedgerPlace,
    seed: int | None,
    report: bool,
    key: SigningKey | None,
) -> None:
    history = exhibit.history
    assert history is not None
    with ledger.writing() as base:
        ledger.require_free(base, place)
        last, people = history.releases[-1], draft.people
        memory = last.memory.to_arrow() if draft.lines is None else draft.lines
        kept = kept_of(exhibit)

        def enter(folder: Path) -> None:
            laid = None if people is None else people.laid(ledger.path, place.number)
            ledger.append(base, folder, memory, seed, place, kept=kept, people=laid)
            base.commit()
            if kept is not None:
                write_cache(ledger.path, kept)

        with new_folder(target, before_rename=enter) as folder:  # I2
            _fill(draft, exhibit, folder, report, key)


def kept_of(exhibit: ReleaseView) -> bytes | None:
    """What a ledger keeps of everything published so far, from the audit's own hands; nothing where forms join by
    themselves."""
    counted = exhibit.history is not None and exhibit.history.counted
    return (
        None
        if counted or evidence_for(exhibit.form).joins_itself
        else pack_memory(exhibit.once(published_cells_of).to_arrow())
    )


def _fill(draft: DraftFolder, exhibit: ReleaseView, folder: Path, report: bool, key: SigningKey | None) -> None:
    shutil.copytree(draft.folder, folder, dirs_exist_ok=True, copy_function=_laid)
    draft.seal(certificate_of(exhibit), folder)  # I4
    if report:
        from sfumato.workflow.report import render

        replace_file(folder / REPORT, render(exhibit.as_published(), folder, signed=key is not None).encode())
        for name, text in describe_folder(exhibit, read_tree(folder / MANIFEST)).items():
            replace_file(folder / name, text.encode())
        write_manifest(folder, draft.form, draft.rows, draft.engine.over_files, again=True)
    if key is not None:
        sign_folder(folder, key)  # I3
    damage = folder_damage(folder, draft.engine.over_files)
    if damage:  # I1
        raise ReleaseError(
            f"the folder is not what was certified: {damage[0]}", where=str(folder), hint="publish again"
        )
