"""What would be published now, estimated from a sample within a second, and what stands in the way with its mends.

The table is read once and kept as Arrow in the private scratch folder while the studio runs; every further estimate
begins there. A sample is published by the fastest suitable method and certified like any release; nothing of it is
kept. A sample is sparser than the whole table, so it loses more: the figures of loss are upper estimates. How many
people are unique today is counted on the whole table.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.effort import watch_searches
from sfumato.core.errors import AuditRefused, Infeasible, PolicyError, SfumatoError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.policy import UNPROTECTED, Policy
from sfumato.policy.privacy_rules import parse_dependency
from sfumato.policy.yaml_document import Document, read_yaml
from sfumato.release.method import Progress
from sfumato.workflow.arguments import ledger_of
from sfumato.workflow.forecast import samples_of
from sfumato.workflow.plan import plan
from sfumato.workflow.publication import Publication
from sfumato.workflow.publish import publish

SAMPLE = 5_000
"""Records that are published to estimate."""
SEARCH = 0.3
"""Seconds of search of an estimate."""
_FAST = "mondrian"
_DRAW = 20_06
_ROWS, _MOST_PROBLEMS = 4, 8
_NOT_TRIED = ("ledger", "key", "method", "series", "effort")
"""Keys that an estimate does without: it is one release, made quickly."""


@dataclass(frozen=True, slots=True)
class Mend:
    """A button beside a problem: a change of the policy; `asks` wants a reason with it."""

    label: str
    edits: tuple[tuple[tuple[str | int, ...], Any], ...]
    """Paths in the policy with their new values; None takes the entry out."""
    asks: bool = False


def estimate(progress: Progress, policy: str, cache: str) -> dict[str, Any]:
    """Unique people before and after, the loss of every column, rows old and new, and every problem with its mends."""
    progress(0.1, "reading")
    document = read_yaml(Path(policy))
    problems = list(problems_of(document))
    try:
        read = Policy.from_document(proposals_taken(document))
    except SfumatoError:
        return {"problems": problems, "figures": None}
    table = cached_table(read, Path(cache))
    told = {"rows": table.rows, "quasi_identifiers": list(read.quasi_identifiers)} | unique_now(read, table)
    progress(0.5, "publishing a sample")
    if problems or not read.claims:
        return {"problems": problems, "figures": told | {"sampled": 0, "columns": [], "samples": []}}
    try:
        figures = told | _tried(read, table)
    except SfumatoError as error:
        found = _problem(error, list(_data_mends(read, table)))
        return {"problems": [found], "figures": told | {"sampled": 0, "columns": [], "samples": []}}
    return {"problems": [*_unexplained(read)], "figures": figures}


def cached_table(policy: Policy, place: Path) -> Table:
    """The table of a policy, read from its source once and afterwards from the cache."""
    if place.is_file():
        with contextlib.suppress(pa.ArrowInvalid, OSError), pa.memory_map(str(place)) as file:
            return Table(pa.ipc.open_file(file).read_all())
    table = policy.data.read(None)
    if not isinstance(table, Table):
        raise PolicyError("an estimate is made of a table", where="data", hint="publish it and look at the release")
    if not table.own and table.counts is None:
        beside = place.with_suffix(f".{os.getpid()}")
        with pa.OSFile(str(beside), "wb") as file, pa.ipc.new_file(file, table.held.schema) as writer:
            writer.write_table(table.held)
        beside.replace(place)
    return table


def unique_now(policy: Policy, table: Table) -> dict[str, Any]:
    """How many records are unique by the quasi-identifiers, as the table is."""
    names = [name for name in policy.quasi_identifiers if name in table.names]
    if not names or not table.rows:
        return {"unique_before": None}
    classes = equivalence_classes_of([table.text(name).codes for name in names], rows=table.rows)
    return {"unique_before": int((classes.counts == 1).sum())}


def proposals_taken(document: Document) -> Document:
    """The policy with the proposed role of every column under review; without a proposal a column is left out."""
    columns = document.tree.get("columns")
    if not isinstance(columns, Mapping):
        return document
    decided = {name: _decided(entry) for name, entry in columns.items()}
    return replace(document, tree={**document.tree, "columns": decided})


def _decided(entry: Any) -> Any:
    if entry == "review":
        return "drop"
    if not isinstance(entry, Mapping) or entry.get("role") != "review":
        return entry
    role = entry.get("proposed") or "drop"
    kept = {key: value for key, value in entry.items() if key != "proposed"}
    return kept | {"role": role} if role == "quasi-identifier" else role


def _tried(policy: Policy, table: Table) -> dict[str, Any]:
    """What a sample becomes, certified."""
    sample = sample_of(table)
    quick = quick_policy(policy)
    with watch_searches(SEARCH):
        made = publish(quick, sample)
    found = figures_of(made, sample)
    return found | {"sampled": sample.rows, "method": made.certificate.method}


def sample_of(table: Table) -> Table:
    """The table, or a sample of it where it has more than `SAMPLE` records; always the same one."""
    if table.rows <= SAMPLE:
        return table
    drawn = np.sort(np.random.default_rng(_DRAW).choice(table.rows, SAMPLE, replace=False))
    return Table(table.held.take(pa.array(drawn)))


def quick_policy(policy: Policy) -> Policy:
    """The policy with the fastest method that can serve it, where its own would publish generalized values."""
    tree = {key: value for key, value in policy.document.tree.items() if key not in _NOT_TRIED}
    alone = Policy.from_document(replace(policy.document, tree=tree))
    own = alone if policy.method is None else policy
    if not issubclass(plan(own).form, Recoded):
        return own
    fast = replace(policy.document, tree=tree | {"method": {_FAST: {}}})
    try:
        plan(quick := Policy.from_document(fast))
    except PolicyError:
        return own
    return quick


def figures_of(made: Publication, table: Table, rows: int = _ROWS) -> dict[str, Any]:
    """Unique people, loss per column, open points and some rows of a publication beside their original."""
    summary = made.summary()
    exhibit = made.exhibit
    recoded = isinstance(made.release.form, Recoded) or issubclass(type(made.release.form), Recoded)
    unique = int((exhibit.classes.counts == 1).sum()) if recoded else None
    losses = sorted(summary.columns, key=lambda column: -(column.loss or 0.0))
    samples = [sample.to_json() for sample in samples_of(made.exhibit.policy, table, made.release, rows)]
    loss = made.utility.get("loss")
    return {
        "unique_after": unique,
        "loss": float(loss) if isinstance(loss, int | float) else None,
        "columns": [{"name": each.name, "loss": each.loss or 0.0} for each in losses],
        "open_points": [{"text": point.text, "advice": point.advice} for point in summary.open_points],
        "suppressed": made.certificate.records.suppressed,
        "headline": summary.headline.sentence,
        "samples": samples,
    }


# Problems
# --------


def problems_of(document: Document) -> Iterator[dict[str, Any]]:
    """Everything that keeps a policy from being planned: what cannot be read, all at once; then what no method can
    serve, one after the other, each found behind the first mend of the one before."""
    for _ in range(_MOST_PROBLEMS):
        error = refusal(proposals_taken(document))
        if error is None:
            return
        if error.others:
            for each in (error, *error.others):
                yield _problem(each, [mend for mend in _candidates(document) if _mends(document, mend, each)])
            return
        mends = list(mends_of(document, error))
        yield _problem(error, mends)
        if not mends or mends[0].asks:
            return
        document = mended(document, mends[0])


def refusal(document: Document) -> PolicyError | None:
    """Why a policy cannot be planned; nothing when it can."""
    try:
        policy = Policy.from_document(document)
        plan(policy, remembering=ledger_of(policy, None, new=None) is not None)
    except PolicyError as error:
        return error
    return None


def mends_of(document: Document, error: PolicyError) -> Iterator[Mend]:
    """Every small change of the policy after which the planner no longer says this."""
    for mend in _candidates(document):
        if _mends(document, mend, error):
            yield mend


def _mends(document: Document, mend: Mend, error: PolicyError) -> bool:
    """Whether a change takes one of several errors away, and brings no new one."""
    before, after = refusal(proposals_taken(document)), refusal(proposals_taken(mended(document, mend)))
    known = {each.what for each in (before, *before.others)} if before is not None else set()
    left = {each.what for each in (after, *after.others)} if after is not None else set()
    return error.what not in left and (left <= known or len(known) == 1)


def _candidates(document: Document) -> Iterator[Mend]:
    """Changes that may mend a policy, the one that gives up least first."""
    tree = document.tree
    columns = tree.get("columns") if isinstance(tree.get("columns"), Mapping) else {}
    roles = {str(name): _role(entry) for name, entry in (columns or {}).items()}
    for place, line in enumerate(_listed(tree, "knows")):
        named = sorted(_named(line) & set(roles))
        for name in (name for name in named if roles[name] not in ("quasi-identifier", "identifier", "drop")):
            yield Mend(f"count {name} as known", ((_role_path(columns, name), "quasi-identifier"),))
        yield Mend(f"forget the dependency {line}", ((("knows", place), None),))
    for name in sorted({name for line in _listed(tree, "knows") for name in _named(line)} - _there(roles)):
        places = [place for place, line in enumerate(_listed(tree, "knows")) if name in _named(line)]
        edits = tuple(((("knows", place), None)) for place in reversed(places))
        yield Mend(f"forget the dependencies that name {name}", edits)
    for place, entry in enumerate(_listed(tree, "protect")):
        yield Mend(f"take requirement {place + 1} out ({_said(entry)})", ((("protect", place), None),))
    for name, role in roles.items():
        if role == "identifier" and tree.get("ledger"):
            yield Mend(f"{name} names a person in every release", ((("key",), name),))
    for key, label in (("method", "let the method be chosen"), ("ledger", "publish without a ledger")):
        if tree.get(key):
            yield Mend(label, (((key,), None),))
    for place, line in enumerate(_listed(tree, "keep")):
        yield Mend(f"give up the rule {line}", ((("keep", place), None),))


def _named(line: Any) -> frozenset[str]:
    """The columns that a dependency names."""
    try:
        return frozenset(parse_dependency(str(line)).columns)
    except SfumatoError:
        return frozenset()


def _there(roles: Mapping[str, str]) -> set[str]:
    """The columns that a policy knows of."""
    return {name for name, role in roles.items() if role not in ("drop", "review")}


def _unexplained(policy: Policy) -> Iterator[dict[str, Any]]:
    """Sensitive columns that no requirement names: they are published only with a reason."""
    for name in policy.unexplained:
        what = f"{name} is secret, and no requirement limits what can be learned about it"
        hide: dict[str, Any] = {"hide": name, "by": {"l-diversity": {"l": "2"}}}
        mends = [
            Mend(f"require 2 different values of {name}", ((("protect", _END), hide),)),
            Mend(f"leave {name} out", ((_role_path(policy.document.tree["columns"], name), "drop"),)),
            Mend("accept it", ((("accept", _END), {"accept": f"{UNPROTECTED}{name}"}),), asks=True),
        ]
        yield {"what": what, "where": "", "hint": "", "mends": [asdict(mend) for mend in mends]}


_END = 1 << 30
"""Beyond every list: appended."""


def _data_mends(policy: Policy, table: Table) -> Iterator[Mend]:
    """Changes for a policy that the data cannot serve: levels that the columns allow, and columns left out."""
    columns = policy.document.tree.get("columns") or {}
    for claim in policy.claims:
        level = getattr(claim.model, "l", None)
        for name in claim.hide:
            values = len([label for label in table.text(name).labels if label]) if name in table.names else 0
            if level is not None and values < float(level):
                less = {"hide": name, "by": {"l-diversity": {"l": str(values)}}}
                if values >= 2:
                    others = [other for other in claim.hide if other != name]
                    yield Mend(f"require l = {values} for {name}", _split(policy, claim, others, less))
                yield Mend(f"leave {name} out", ((_role_path(columns, name), "drop"),))
    share = policy.document.tree.get("utility")
    if not isinstance(share, Mapping) or str(share.get("suppress_at_most", "")) in ("", "0", "0%", "1%", "2%", "5%"):
        yield Mend("suppress up to 10 % of the records", ((("utility", "suppress_at_most"), "10%"),))
    widest = sorted(policy.quasi_identifiers, key=lambda name: -len(table.text(name).labels))
    for name in widest[:2]:
        yield Mend(f"leave {name} out", ((_role_path(columns, name), "drop"),))


def _split(policy: Policy, claim: Any, others: list[str], less: dict[str, Any]) -> tuple[Any, ...]:
    """The edits that give one column a lower level and keep the requirement for the others."""
    place = policy.claims.index(claim)
    written = _listed(policy.document.tree, "protect")
    if len(written) != len(policy.claims):
        return ((("protect", _END), less),)
    level = {key: str(value) for key, value in claim.model.model_dump(exclude_defaults=True).items()}
    stays = {"hide": others, "by": {claim.model.name: level}}
    return ((("protect", place), stays if others else less), *(((("protect", _END), less),) if others else ()))


def mended(document: Document, mend: Mend) -> Document:
    """The policy as it would be after a mend."""
    tree = _plain(document.tree)
    for path, value in mend.edits:
        node = tree
        for part in path[:-1]:
            if isinstance(node, dict):
                node.setdefault(part, {})
            node = node[part]
        last = path[-1]
        if value is None:
            del node[last]
        elif isinstance(node, list):
            node.append(value)
        else:
            node[last] = value
    return replace(
        document, tree={key: value for key, value in tree.items() if value not in ([], {}) or key == "protect"}
    )


def _plain(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    return [_plain(value) for value in node] if isinstance(node, list) else node


def _role_path(columns: Any, name: str) -> tuple[str | int, ...]:
    return ("columns", name, "role") if isinstance(columns.get(name), Mapping) else ("columns", name)


def _role(entry: Any) -> str:
    return str(entry.get("role", "")) if isinstance(entry, Mapping) else str(entry)


def _listed(tree: Mapping[str, Any], key: str) -> Sequence[Any]:
    return tree[key] if isinstance(tree.get(key), list) else []


def _said(entry: Any) -> str:
    by = entry.get("by", entry) if isinstance(entry, Mapping) else entry
    return str(next(iter(by))) if isinstance(by, Mapping) and by else str(by)


def _problem(error: SfumatoError, mends: Sequence[Mend]) -> dict[str, Any]:
    told = {"what": error.what, "where": error.where, "hint": error.hint}
    return told | {
        "mends": [asdict(mend) for mend in mends[:5]],
        "searched": isinstance(error, Infeasible | AuditRefused),
    }
