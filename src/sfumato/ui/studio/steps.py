"""The six steps from a file to a release: what each is called, and how far a policy is with it.

The state of a step is read from the policy, from the folder and from jobs that are done; nothing is begun for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sfumato.ui.studio.page import Visit

State = Literal["done", "open", "todo"]
STEPS = (
    ("read", "Read"),
    ("data", "Columns"),
    ("promises", "Promise"),
    ("hierarchies", "Coarsen"),
    ("explore", "Compare"),
    ("publish", "Publish"),
)
ROLE_WORDS: Mapping[str, str] = {
    "identifier": "leave out: it names people",
    "drop": "leave out",
    "quasi-identifier": "others may know it",
    "sensitive": "must stay secret",
    "other": "harmless: publish as it is",
    "replaced": "publish new values instead",
}
"""What the roles mean, as the pages say it."""
ROLE_COLORS: Mapping[str, str] = {
    "identifier": "out",
    "drop": "out",
    "quasi-identifier": "known",
    "sensitive": "secret",
    "other": "harmless",
    "replaced": "new",
    "review": "ask",
}


def steps_of(visit: Visit) -> list[dict[str, Any]]:
    """Every step with its state in a few words."""
    told = (_read, _columns, _promise, _coarsen, _compare, _publish)
    found = []
    for number, ((name, title), tell) in enumerate(zip(STEPS, told, strict=True), 1):
        state, said = tell(visit)
        href = f"/p/{visit.subject}/{name}"
        found.append({"number": number, "name": name, "title": title, "state": state, "said": said, "href": href})
    return found


def entries(visit: Visit) -> dict[str, dict[str, Any]]:
    """The columns of a policy as mappings."""
    listed = visit.tree.get("columns")
    pairs = listed.items() if isinstance(listed, Mapping) else ()
    return {str(name): dict(entry) if isinstance(entry, Mapping) else {"role": str(entry)} for name, entry in pairs}


def to_decide(visit: Visit) -> list[str]:
    """Columns that wait for a decision."""
    return [name for name, entry in entries(visit).items() if entry.get("role") == "review"]


def _read(visit: Visit) -> tuple[State, str]:
    known = [job for job in visit.desk.jobs.values() if job.subject == visit.subject and job.asked == "profile"]
    result = known[-1].result if known else None
    if isinstance(result, dict) and "rows" in result:
        return "done", f"{result['rows']:,} rows"
    return "done", str(visit.data.get("source", ""))[:40]


def _columns(visit: Visit) -> tuple[State, str]:
    if str(visit.data.get("kind", "table")) in ("graph", "baskets"):
        return "done", "nothing to decide"
    left, every = to_decide(visit), entries(visit)
    return ("open", f"{len(left)} to decide") if left else ("done" if every else "todo", f"{len(every)} columns")


def _promise(visit: Visit) -> tuple[State, str]:
    listed = visit.tree.get("protect")
    if not isinstance(listed, list) or not listed:
        return "todo", "nothing yet"
    levels = [level for entry in listed for level in _levels(entry)]
    return "done", ", ".join(dict.fromkeys(levels))[:48] or f"{len(listed)} requirements"


def _levels(entry: Any) -> list[str]:
    by = entry.get("by", entry) if isinstance(entry, Mapping) else {}
    found = by.items() if isinstance(by, Mapping) else ()
    return [
        f"{key} = {value}" for _, given in found if isinstance(given, Mapping) for key, value in list(given.items())[:1]
    ]


def _coarsen(visit: Visit) -> tuple[State, str]:
    known = [entry for entry in entries(visit).values() if entry.get("role") == "quasi-identifier"]
    if not known:
        return "todo", "no column to coarsen"
    made = sum("hierarchy" in entry for entry in known)
    return "done", f"levels for {made} of {len(known)} columns"


def _compare(visit: Visit) -> tuple[State, str]:
    kept = visit.project.settings(visit.subject)
    return ("done", f"{len(kept)} kept") if kept else ("todo", "optional")


def _publish(visit: Visit) -> tuple[State, str]:
    made = releases_of(visit)
    return ("done", made[-1]) if made else ("todo", "not yet")


def releases_of(visit: Visit) -> list[str]:
    """Releases that were made from this policy here, oldest first."""
    return [
        name
        for name in visit.project.releases()
        if (origin := visit.project.origin(name)) is not None and origin.get("policy") == visit.subject
    ]
