"""Fitting: form, policy and parts belong to each other, so that nothing in the folder is left to nobody.

A reading looks only at the parts and columns it knows. Whatever else lies in a folder is judged by no one, so it must not be
there: the form says which parts and columns it has, and the policy is about the kind of data that the form is made from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import CERTIFICATE, MANIFEST, POLICY, REPORT
from sfumato.release.plain_files import in_folder


class FormFits(Check):
    """The parts and columns are those of the form, and the policy is one that the form can serve."""

    name: ClassVar[str] = "form"
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.damage is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        wrong = [*exhibit.form.misfits(exhibit), *_policy(exhibit), *_strays(exhibit)]
        return Finding(self.name, not wrong, {"misfits": 0}, {"misfits": len(wrong)}, reason="; ".join(wrong))


def _strays(exhibit: Exhibit) -> Iterator[str]:
    """Files that are listed but are no part, nothing of the folder itself, and no hierarchy of the policy: nobody reads them."""
    if exhibit.folder is None:
        return
    listed = json.loads((exhibit.folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    own = {CERTIFICATE, POLICY, REPORT}
    own |= {column.hierarchy for column in exhibit.policy.columns.values() if isinstance(column.hierarchy, str)}
    parts = [PurePosixPath(name) for name, entry in listed.items() if "rows" in entry and name not in own]
    strange = sum(part.suffix not in (".csv", ".parquet") if len(part.parts) == 1 else not in_folder(str(part)) for part in parts)
    strange += sum(name not in own and "rows" not in entry for name, entry in listed.items())
    if strange:
        yield f"{strange} listed file(s) are neither parts nor anything that the policy names"
    named = [part.stem for part in parts if len(part.parts) == 1] + sorted({part.parts[0] for part in parts if len(part.parts) > 1})
    if len(set(named)) < len(named):
        yield "a part stands there twice, in two formats"


def _policy(exhibit: Exhibit) -> Iterator[str]:
    policy = exhibit.policy
    if policy.data.name != exhibit.form.kind:
        yield f"the policy is about {policy.data.name} data, and a {exhibit.form} is made from {exhibit.form.kind}"
    if policy.data.name == "table" and bool(policy.with_role("replaced")) != exhibit.form.replaces:
        yield f"a {exhibit.form} " + ("needs columns that are replaced" if exhibit.form.replaces else "replaces no column")
    for claim in policy.claims:
        if policy.data.name not in claim.model.kinds:
            yield f"{claim.model.name} says nothing about {policy.data.name} data"
    bare = not policy.claims and not policy.keep
    if bare and exhibit.form.promises and exhibit.form.shows_columns and not exhibit.form.replaces:
        yield "the policy promises nothing"
