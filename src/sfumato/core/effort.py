"""How long a search may take: three words for it, and a request to take the best result found so far.

A search counts its work, so the same word gives the same release on every machine and number of cores. A request to
take what there is ends every search of this process after the step it is in; the release is audited as always.

>>> with take_on_request() as request:
...     before = taking()
...     request()
...     before, taking()
(False, True)
>>> taking()
False
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Literal, get_args

Effort = Literal["quick", "balanced", "thorough"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
USUAL: Effort = "balanced"
_TAKE = Event()


def taking() -> bool:
    """Whether somebody asked for the best result so far: searches end."""
    return _TAKE.is_set()


@contextmanager
def take_on_request() -> Iterator[Callable[[], None]]:
    """Let the block be ended early: what it yields asks its searches to end with the best they have."""
    _TAKE.clear()
    try:
        yield _TAKE.set
    finally:
        _TAKE.clear()
