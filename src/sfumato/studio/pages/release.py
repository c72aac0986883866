"""Release: one release folder of the project, its certificate in words, its files and its reports."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sfumato.errors import DataError
from sfumato.release.folder import CERTIFICATE, REPORT
from sfumato.release.plain_files import files_of, read_tree
from sfumato.studio.visit import Page, Visit


class ReleasePage(Page):
    """What a release says of itself; whether that is so, the page *verify* says."""

    name: ClassVar[str] = "certificate"
    title: ClassVar[str] = "Release"
    about: ClassVar[Literal["project", "policy", "release"]] = "release"
    order: ClassVar[int] = 10

    def model(self, visit: Visit) -> dict[str, Any]:
        if visit.subject not in visit.project.releases():
            raise DataError(f"no release '{visit.subject}'", where="the project folder", hint="look at the list of releases")
        folder = visit.project.existing(visit.subject)
        sizes = {name: path.stat().st_size for name, path in sorted(files_of(folder).items())}
        private = folder.with_name(f"{folder.name}.private.html")
        told = {"release": folder.name, "certificate": read_tree(folder / CERTIFICATE), "files": sizes}
        return told | {"report": REPORT in sizes, "private": private.is_file() and not private.is_symlink()}
