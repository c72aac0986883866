"""What the site shows differently from the files in the repository."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:src|tests|benchmarks)/[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Files of the repository are no pages of the site: their names stay, the links go."""
    return _OUTSIDE.sub(r"`\1`", markdown)
