"""What every release of distant rows has in common: which columns make a class, and a draft whose parts are folders."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.policy.policy import Policy
from sfumato.policy.public import write_public_policy
from sfumato.randomness import guessable
from sfumato.release.folder import DRAFT, write_manifest
from sfumato.release.form import GIVEN_SEED
from sfumato.release.release import Release
from sfumato.spine.plan import Plan
from sfumato.spine.write import DraftFolder

if TYPE_CHECKING:
    from sfumato.engines.spark import SparkEngine


def marked(release: Release, seed: int | None) -> Release:
    """A release that rests on a seed that can be guessed says so."""
    return replace(release, form=release.form.with_public(mark=GIVEN_SEED)) if guessable(seed) else release


def class_columns(policy: Policy) -> list[str]:
    """The columns of a class: what outsiders know and what claims hide; columns of no role go along with the rows."""
    hidden = {name for claim in policy.claims for name in claim.hide}
    return [
        name
        for name, column in policy.columns.items()
        if name in policy.quasi_identifiers or name in hidden or (name in policy.published and column.role != "other")
    ]


def drafted(
    engine: SparkEngine, parts: Mapping[str, tuple[Any, int]], release: Release, policy: Policy, chosen: Plan
) -> DraftFolder:
    """The draft of a release folder with its rows, written where executors and this process both see it; frames with sizes."""
    place = tempfile.TemporaryDirectory(prefix=DRAFT, dir=engine.staging)
    written: dict[str, int] = {}
    for name, (frame, records) in parts.items():
        written |= engine.write(frame, records, Path(place.name) / name)
    draft = DraftFolder(place, release.form, written, "parquet", engine)
    write_public_policy(policy, chosen.declaration, draft.folder)
    write_manifest(draft.folder, draft.form, draft.rows, engine.over_files)
    return draft
