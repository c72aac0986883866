"""Adapt pages of the repository for the site."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:(?:src|tests|benchmarks)/[^)]*|[A-Z]+\.md)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace links to files outside docs by their names."""
    return _OUTSIDE.sub(r"`\1`", markdown)
