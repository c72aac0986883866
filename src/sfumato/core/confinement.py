"""Where files lie that a policy names, and a folder that none of them may lie outside of.

The studio serves one project folder. A policy that it opens may come from any person, so it sets `CONFINED_TO`: a file
outside the folder is then refused, whichever key of the policy names it. Every reader of such a key asks
`declared_path`.

>>> declared_path(Path("project"), "people.csv").as_posix()
'project/people.csv'
"""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

from sfumato.core.errors import PolicyError

CONFINED_TO: ContextVar[Path | None] = ContextVar("CONFINED_TO", default=None)
"""The folder that holds every file a policy may name; none where the policy is the user's own."""


def declared_path(base: Path, text: str | Path) -> Path:
    """Return where a file lies that a policy in the folder `base` names; raise `PolicyError` if it may not lie
    there."""
    path, folder = base / text, CONFINED_TO.get()
    if folder is not None and not path.resolve().is_relative_to(folder.resolve()):
        hint = "put the file into the project folder and name it without a path"
        raise PolicyError("the policy names a file outside the project folder", hint=hint)
    return path
