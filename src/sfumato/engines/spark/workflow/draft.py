"""What every release of distant rows has in common: which columns make a class, and a draft whose parts are folders.


Beside
------
What lies in the files of a release beside what the method made: who stands behind each row that was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.draft_folders import draft_folder
from sfumato.core.randomness import is_guessable
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table, TextColumn, encode_compactly
from sfumato.policy.policy import Policy, write_public_policy
from sfumato.release.folder import DRAFT, write_manifest
from sfumato.release.form import GIVEN_SEED
from sfumato.release.release import Part, Release
from sfumato.workflow.plan import Plan
from sfumato.workflow.write import DraftFolder

if TYPE_CHECKING:
    from sfumato.engines.spark.engine import SparkEngine


def marked(release: Release, seed: int | None) -> Release:
    """A release that rests on a seed that can be guessed says so."""
    return replace(release, form=release.form.with_public(mark=GIVEN_SEED)) if is_guessable(seed) else release


def class_columns(policy: Policy) -> list[str]:
    """The columns of a class: what adversaries know and what requirements hide; columns of no role go along with the
    rows."""
    hidden = {name for claim in policy.claims for name in claim.hide}
    return [
        name
        for name, column in policy.columns.items()
        if name in policy.quasi_identifiers or name in hidden or (name in policy.published and column.role != "other")
    ]


def draft_remote(
    engine: SparkEngine, parts: Mapping[str, tuple[Any, int]], release: Release, policy: Policy, chosen: Plan
) -> DraftFolder:
    """The draft of a release folder with its rows, written where executors and this process both see it; frames with
    sizes."""
    place = draft_folder(DRAFT, engine.staging)
    written: dict[str, int] = {}
    for name, (frame, records) in parts.items():
        written |= engine.write(frame, records, Path(place.name) / name)
    draft = DraftFolder(place, release.form, written, "parquet", engine)
    write_public_policy(policy, chosen.declaration, draft.folder)
    write_manifest(draft.folder, draft.form, draft.rows, engine.over_files)
    return draft


# Beside
# ------


_AT_ONCE = 4
"""Columns of all classes that are compared at once."""


def match_to_provenance(found: Part, made: Part, behind: IntArray) -> tuple[Part, IntArray]:
    """What lies in the files, with the class behind each share of it; −1 for rows that the release does not have ."""
    names = [name for name in found.held.column_names if name in made.held.column_names]
    if set(names) != set(made.held.column_names):
        return found, np.full(found.text.rows, -1, dtype=np.int64)
    alike = same_rows(found.text, made.text, names)
    mine, theirs = alike[: found.text.rows], alike[found.text.rows :]
    have = np.asarray(found.counts)
    given = np.asarray(made.counts)
    order = np.argsort(theirs, kind="stable")
    left = np.zeros(int(alike.max(initial=-1)) + 1, dtype=np.int64)
    left[mine] = have
    ends = np.cumsum(given[order])
    before = ends - given[order]
    before -= before[np.searchsorted(theirs[order], theirs[order])]
    taken = np.clip(left[theirs[order]] - before, 0, given[order])
    asked = np.bincount(theirs, weights=given, minlength=len(left)).astype(np.int64)
    over = np.maximum(have - asked[mine], 0)
    place = np.full(len(left), -1, dtype=np.int64)
    place[mine] = np.arange(len(mine))
    rows = np.concatenate([place[theirs[order]][taken > 0], np.flatnonzero(over)])
    counts = np.concatenate([taken[taken > 0], over[over > 0]])
    trace = np.concatenate([behind[order][taken > 0], np.full(int((over > 0).sum()), -1, dtype=np.int64)])
    del (
        alike,
        mine,
        theirs,
        order,
        left,
        ends,
        before,
        taken,
        asked,
        over,
        place,
    )  # with many classes every array counts
    return Part(encode_compactly(found.held.take(pa.array(rows))), counts, found.beside), trace


def same_rows(one: Table, other: Table, names: Sequence[str]) -> IntArray:
    """A number for every row of two tables, one below the other, the same for the same texts; a few columns at a
    time."""
    alike = np.zeros(one.rows + other.rows, dtype=np.int64)
    for first in range(0, len(names), _AT_ONCE):
        columns = [_alike(one.text(name), other.text(name)) for name in names[first : first + _AT_ONCE]]
        alike = equivalence_classes_of([alike, *columns], rows=len(alike)).of
    return alike


def _alike(one: TextColumn, other: TextColumn) -> IntArray:
    """The codes of two columns below each other, the same for the same text."""
    known = {label: code for code, label in enumerate(one.labels)}
    number = np.array([known.setdefault(label, len(known)) for label in other.labels], dtype=np.int32)
    return np.concatenate([one.codes, number[other.codes]])
