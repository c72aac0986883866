"""Publish: plan → run → draft → certify → `Publication`. Only a release whose certificate holds may be written out or
remembered.

The files on disk are certified: the draft is written first, read back as the audit's own view, and judged there.

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

import numpy as np

from sfumato.core.errors import PolicyError, ReleaseError
from sfumato.core.randomness import Randomness, is_guessable
from sfumato.history.constrain.constraints import require_few_withheld, require_somebody
from sfumato.history.judge.earlier_requirements import (
    require_compatible_forms,
    require_no_background_link,
    require_no_weaker_adversary,
)
from sfumato.history.ledger import Ledger
from sfumato.history.reference_distribution import policy_of_series
from sfumato.io.plain_files import read_plain
from sfumato.policy.policy import Policy, public_policy
from sfumato.release.evidence import source_audit
from sfumato.release.folder import POLICY, Format, read_folder
from sfumato.release.form import GIVEN_SEED
from sfumato.release.method import Progress, Task, no_progress
from sfumato.release.past_releases import keys_of
from sfumato.release.release import Release
from sfumato.release.view import ReleaseView
from sfumato.workflow.arguments import PolicyLike, as_policy, ledger_of
from sfumato.workflow.plan import Plan, plan
from sfumato.workflow.publication import NotFoundOverReleases, Publication, certify_draft

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
    refresh: str | Path | None = None,
) -> Publication:
    """Make a release, audit it and return it as a `Publication`.

    The audit must hold: `Infeasible` or `AuditRefused` is raised rather than publishing less than the policy requires.

    Parameters
    ----------
    policy
        A `Policy`, a `PolicyDraft`, a mapping or text with the keys of a policy, or the path of a file.
    data
        Used instead of the source of the policy: a path, or a polars, pandas or pyarrow frame.
    seed
        Repeats a run in tests. An adversary who knows the seed can undo the release. A release from a seed below 2¹²⁷
        is marked as not for publication.
    jobs
        Number of parallel workers. Without it recoding uses all cores. The result does not depend on it.
    progress
        Function that is called with the finished share of the work and a word.
    ledger
        Ledger to judge the release with and to enter it in, instead of the one that the policy names.
    new_ledger
        Start this ledger. Without it a missing ledger is an error.
    format
        File format of the published parts: ``csv`` or ``parquet``.
    engine
        A Spark session, or a `SparkEngine`. Rows stay on its cluster, and the parts are folders of Parquet files.
    unfinished
        Private file in which a constraint solver stores its state, so that the same call continues after a stop. Delete
        it afterwards: it can undo the release.
    refresh
        The last release folder of a database under the same policy. Rows of the source that have not changed since keep
        their new values.

    Returns
    -------
    Publication
        The release, its certificate, and `write` for the release folder.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "30", "40", "40"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> draft = sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2))
    >>> sf.publish(draft).certificate.holds
    True
    """
    policy, data = as_policy(policy, data)
    book = ledger_of(policy, ledger, new=new_ledger)
    if engine is not None:
        from sfumato.engines.spark.workflow.publish import publish_on

        told = {"ledger": ledger, "new_ledger": new_ledger}
        return publish_on(engine, policy, data, seed=seed, jobs=jobs, progress=progress, **told)
    with policy.data.within():
        return _published(policy, data, seed, jobs, progress, book, format, unfinished, refresh)


def _published(
    policy: Policy,
    data: Data,
    seed: int | None,
    jobs: int | None,
    progress: Progress,
    book: Ledger | None,
    format: Format,
    unfinished: Path | None,
    refresh: str | Path | None = None,
) -> Publication:
    """All of it here, within the memory that the policy allows."""
    first = plan(policy, remembering=book is not None)  # refuse the impossible before data moves
    earlier, place = (None, None) if book is None else book.place()
    policy = policy_of_series(policy, earlier)
    require_compatible_forms(earlier, first.form)
    require_no_background_link(earlier, policy)
    require_no_weaker_adversary(earlier, policy)
    source = source_audit(policy)
    last = None if refresh is None else last_release(policy, Path(refresh), first)
    progress(0.0, "reading")
    dataset = source.read(policy, data)
    chosen = plan(policy, records=getattr(dataset, "rows", None), remembering=book is not None)
    source.require_sound(policy, dataset, rules_stay=not chosen.method.keeps_rules)
    workers = jobs or chosen.method.usual_jobs()
    making = partial(_scaled, progress, 0.0, _MAKING)
    task = Task(policy, dataset, Randomness(seed), workers, making, earlier, unfinished, last)
    certifying, out = partial(_scaled, progress, _MAKING, 1.0), frozenset[str]()
    while True:
        release = _made(chosen, task, out)
        _remember_types(release, policy, data)
        if is_guessable(seed):
            release = replace(release, form=release.form.with_public(mark=GIVEN_SEED))
        progress(_MAKING, "certifying")
        try:
            return certify_draft(policy, chosen, release, dataset, earlier, book, place, seed, format, certifying)
        except NotFoundOverReleases as refused:  # records that cannot be published with earlier releases are deferred
            if refused.records <= out:
                raise
            out |= refused.records


def last_release(policy: Policy, folder: Path, chosen: Plan) -> ReleaseView:
    """The release that a refresh begins with: undamaged, of a database, and made under the same policy."""
    if policy.data.name != "database":
        raise PolicyError("only a database can be refreshed", hint="publish without --refresh")
    found = read_folder(folder)
    if found.damage:
        hint = "refresh from a folder that `sfumato verify` accepts, or publish without --refresh"
        raise ReleaseError(f"the folder was changed: {found.damage[0]}", where=str(folder), hint=hint)
    if read_plain(folder / POLICY) != public_policy(policy, chosen.declaration).encode():
        hint = "publish without --refresh; the next release can be refreshed"
        raise PolicyError("the last release was made under another policy", where=str(folder), hint=hint)
    return found


def _made(chosen: Plan, task: Task, out: frozenset[str]) -> Release:
    """The release of a method that is asked about everybody but some, by their keys; these are suppressed."""
    if out:
        left = np.array([key not in out for key in keys_of(task.policy, task.data)], dtype=np.bool_)
        kept = np.flatnonzero(left)
        require_somebody(len(kept))
        made = chosen.method.run(replace(task, data=task.data.taking(kept)))
        release = replace(made, suppressed=made.suppressed + int((~left).sum()), trace=made.trace.among(kept))
        require_few_withheld(task.policy, release.suppressed, task.data.records)
    else:
        release = chosen.method.run(task)
    if task.history and release.form.remembered:
        require_somebody(task.data.records - release.suppressed)
    return release


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
