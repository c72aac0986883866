"""The changelog says things once: every heading once in a release, and no two entries that begin alike.

Branches that are put together leave entries twice; whoever makes the pages drops the second.

>>> said_once("# Log\\n\\n## 1\\n\\n### New\\n- one\\n- two\\n\\n### New\\n- two\\n- three\\n")
'# Log\\n\\n## 1\\n\\n### New\\n- one\\n- two\\n- three\\n'
"""

from __future__ import annotations

import re
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[3] / "CHANGELOG.md"
_ALIKE = 40
"""Letters by which an entry is known."""


def changelog_page() -> str:
    """The changelog as it stands, without what stands in it already."""
    return said_once(CHANGELOG.read_text(encoding="utf-8"))


def said_once(text: str) -> str:
    """Headings of the same name put together, entries that begin alike dropped."""
    head, *releases = re.split(r"(?m)^(?=## )", text)
    return (head + "\n".join(_release(release) for release in releases)).rstrip() + "\n"


def _release(text: str) -> str:
    title, *parts = re.split(r"(?m)^### ", text)
    found: dict[str, list[str]] = {}
    known: set[str] = set()
    for part in parts:
        heading, _, body = part.partition("\n")
        entries = found.setdefault(heading.strip(), [])
        for entry in re.split(r"(?m)^- ", body)[1:]:
            beginning = " ".join(entry.split())[:_ALIKE]
            if beginning not in known:
                entries.append(f"- {entry.rstrip()}\n")
                known.add(beginning)
    return title.rstrip() + "\n\n" + "\n".join(f"### {heading}\n" + "".join(entries) for heading, entries in found.items())
