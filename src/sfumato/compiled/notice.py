"""What is said while something is compiled: one line on a terminal, nothing when nobody watches."""

from __future__ import annotations

import sys


def announce(sentence: str) -> None:
    """Say it on stderr, when that is a terminal."""
    if sys.stderr.isatty():
        print(sentence, file=sys.stderr, flush=True)
