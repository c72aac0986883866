"""Kernels through numba at run time, and where numba keeps its code: for machines without the library.

Invariants
    I1  Kept code belongs to these very sources: the compiler itself notices a change only in a function's own file, not
        in the files of the functions it calls.
    I2  Code with bounds checks has its own cache: numba takes whichever it finds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.core.compiled.cache import announce, cache_directory, digest
from sfumato.core.errors import MissingExtra


def compiled(function: Any, options: dict[str, Any]) -> Any:
    """Return the function as numba compiles it on its first call, without the interpreter lock."""
    try:
        from numba import njit
    except ImportError:
        raise MissingExtra(
            "this computation needs compiled kernels, and this installation has none",
            hint="install a wheel for this platform, or numba: pip install 'sfumato[compiler]'",
        ) from None
    directory = _directory()
    if directory:
        try:
            with _caching_in(directory):
                return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError as refusal:  # source without a file, or a directory that has become read-only
            if "cannot cache" not in str(refusal):
                raise
    return njit(cache=False, nogil=True, **options)(function)


@cache
def _directory() -> str:
    """Where numba keeps its code, "" when nowhere; said once when everything is still to be compiled."""
    checked = os.environ.get("NUMBA_BOUNDSCHECK", "0") != "0"
    directory = cache_directory(f"loops-{digest()}-bounds" if checked else "")  # I1, I2
    if not directory:
        announce(
            "compiling kernels, about a minute, in every run: no directory of yours can be written (sfumato warm-up)"
        )
    elif not any(Path(directory).rglob("*.nbc")):
        announce("compiling kernels with numba, once, about a minute (sfumato warm-up builds them ahead of time)")
    return directory


@contextmanager
def _caching_in(directory: str) -> Iterator[None]:
    """The compiler asks for its directory when a function is decorated; other packages keep theirs."""
    import numba

    settings: Any = numba.config
    usual, settings.CACHE_DIR = settings.CACHE_DIR, directory
    try:
        yield
    finally:
        settings.CACHE_DIR = usual
