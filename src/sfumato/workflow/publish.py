"""Publish: plan → run → draft → certify → `Publication`. Only a release whose certificate holds may be written out or remembered.

What is certified is what lies on disk: the draft is written first, read back as the audit's own exhibit, and judged there.

>>> import sfumato as sf
>>> policy = sf.Policy.parse({"version": 1, "columns": {"age": "quasi-identifier", "illness": "sensitive"},
...                           "protect": [{"k-anonymity": {"k": 2}}], "method": {"mondrian": {}}})
>>> publication = sf.publish(policy, data={"age": ["30", "30", "40", "40"], "illness": ["a", "b", "a", "c"]}, seed=1)
>>> publication.certificate.holds, len(publication.release.parts["data"])
(True, 4)
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.core.randomness import Randomness, is_guessable
from sfumato.history.judge.earlier_requirements import (
    require_compatible_forms,
    require_no_background_link,
    require_no_weaker_adversary,
)
from sfumato.history.ledger import Ledger
from sfumato.policy.policy import Policy
from sfumato.release.evidence import source_audit
from sfumato.release.folder import Format
from sfumato.release.form import GIVEN_SEED
from sfumato.release.method import Progress, Task, no_progress
from sfumato.release.release import Release
from sfumato.workflow.arguments import PolicyLike, as_policy, ledger_of
from sfumato.workflow.plan import plan
from sfumato.workflow.publication import Publication, certify_draft

_MAKING = 0.5
"""The share of the work, as progress tells it, that is making."""
Data = Any
"""A path, a polars, pandas or pyarrow frame, or what the policy's kind of data reads."""


def publish(
    policy: PolicyLike,
    data: Data = None,
    *,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress = no_progress,
    ledger: str | Path | None = None,
    new_ledger: bool = False,
    format: Format = "csv",
    engine: Any = None,
    unfinished: Path | None = None,
) -> Publication:
    """Make and certify a release; raises `Infeasible` or `AuditRefused` rather than giving less than was asked.

    Parameters
    ----------
    policy
        What must stay private and what must stay true: a `Policy`, a draft, a mapping or text with its keys, or the path of a file.
    data
        Takes the place of the policy's own source: a path, or a polars, pandas or pyarrow frame.
    seed
        Repeats a run in tests; whoever knows the seed can undo the release. Below 2¹²⁷ (128 bits) it can be tried out: then the
        release is marked as not for publication, and where its promises rest on chance its certificate does not hold.
    jobs
        How many may work at once; without it all cores where they share memory (recoding), else one. The answer is the same.
    progress
        Told how far the work is, as a share and a word.
    ledger
        The ledger to judge this release with and to remember it in, instead of the one the policy names.
    new_ledger
        Begin this ledger; without it a ledger that is not there is an error.
    format
        Of the published parts.
    engine
        A Spark session, or a `SparkEngine`: rows stay on its cluster, and the parts are folders of Parquet files.
    unfinished
        A private file in which a constraint solver keeps what it has found; after it was stopped the same call goes on from there.
        It opens the release: remove it when the release is written.

    Returns
    -------
    Publication
        The release, its certificate, and `write` for the release folder.
    """
    policy, data = as_policy(policy, data)
    book = ledger_of(policy, ledger, new=new_ledger)
    if engine is not None:
        from sfumato.engines.spark.workflow.publish import publish_on

        told = {"ledger": ledger, "new_ledger": new_ledger}
        return publish_on(engine, policy, data, seed=seed, jobs=jobs, progress=progress, **told)
    with policy.data.within():
        return _published(policy, data, seed, jobs, progress, book, format, unfinished)


def _published(
    policy: Policy,
    data: Data,
    seed: int | None,
    jobs: int | None,
    progress: Progress,
    book: Ledger | None,
    format: Format,
    unfinished: Path | None,
) -> Publication:
    """All of it here, within the memory that the policy allows."""
    first = plan(policy, remembering=book is not None)  # refuse the impossible before data moves
    earlier, place = (None, None) if book is None else book.place()
    require_compatible_forms(earlier, first.form)
    require_no_background_link(earlier, policy)
    require_no_weaker_adversary(earlier, policy)
    source = source_audit(policy)
    progress(0.0, "reading")
    dataset = source.read(policy, data)
    chosen = plan(policy, records=getattr(dataset, "rows", None), remembering=book is not None)
    source.require_sound(policy, dataset, rules_stay=not chosen.method.keeps_rules)
    workers = jobs or chosen.method.usual_jobs()
    making = partial(_scaled, progress, 0.0, _MAKING)
    release = chosen.method.run(Task(policy, dataset, Randomness(seed), workers, making, earlier, unfinished))
    _remember_types(release, policy, data)
    if is_guessable(seed):
        release = replace(release, form=release.form.with_public(mark=GIVEN_SEED))
    progress(_MAKING, "certifying")
    return certify_draft(
        policy, chosen, release, dataset, earlier, book, place, seed, format, partial(_scaled, progress, _MAKING, 1.0)
    )


def _scaled(progress: Progress, low: float, high: float, done: float, what: str) -> None:
    """A part of the work within the whole."""
    progress(low + (high - low) * done, what)


def _remember_types(release: Release, policy: Policy, data: Data) -> None:
    """What a pandas frame had in columns that are published as they are: categories, nullable numbers, flags, days."""
    if type(data).__module__.partition(".")[0] != "pandas":
        return
    kept = [name for name in (*policy.sensitive, *policy.with_role("other")) if name in data]
    for part in release.parts.values():
        part.dtypes = {name: data[name].dtype for name in kept if name in part.table.column_names}
