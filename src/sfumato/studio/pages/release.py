"""Release: one release folder of the project, its certificate in words, the attacks played, its signature, files and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from sfumato.errors import DataError, PolicyError
from sfumato.release.folder import CERTIFICATE, MANIFEST, REPORT, STATEMENT, form_of
from sfumato.release.plain_files import files_of, read_tree
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.releasing import play, recovered, sign

PLAYING, SIGNING = "playing attacks", "signing"


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
        form = form_of(folder)
        job, signing = visit.desk.latest(visit.subject, PLAYING), visit.desk.latest(visit.subject, SIGNING)
        undone = None
        if form.recoverable:
            undone = visit.work(recovered, "recovered", visit.seen(f"{visit.subject}/{MANIFEST}"), folder=str(folder))
        originals = [file.name for file in (*visit.project.policies(), *visit.project.data_files())]
        return told | {
            "form": form.name,
            "report": REPORT in sizes,
            "private": private.is_file() and not private.is_symlink(),
            "signed": STATEMENT in sizes,
            "keys": [file.name for file in visit.project.signing_keys()],
            "originals": originals,
            "job": None if job is None else question(job),
            "signing": None if signing is None else question(signing),
            "recovered": None if undone is None else question(undone),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Play the attacks with the original, or sign the release."""
        folder = str(visit.project.existing(visit.subject))
        if form.get("act") == "play":
            visit.desk.start(
                play, PLAYING, visit.subject, folder=folder, original=str(visit.project.existing(form.get("original", "")))
            )
        elif form.get("act") == "sign":
            if STATEMENT in files_of(visit.project.existing(visit.subject)):
                raise PolicyError("the release is signed already", where="sign", hint="verify it with the signer's key")
            visit.desk.start(sign, SIGNING, visit.subject, folder=folder, key=str(visit.project.existing(form.get("key", ""))))
        else:
            raise PolicyError("nothing is known of this change", where=self.name, hint="load the page again")
        return ""
