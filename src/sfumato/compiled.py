"""Compiled inner loops: arrays in, arrays out; the only home of numba.

The loops themselves stand in the ``kernels`` folders beside the ideas they serve, and decorate their functions with `jit`.
Importing `sfumato` loads no compiler; importing a kernel does. Compiled code is kept between processes where a directory can be
written, and compiled anew where none can.

Invariants
    I1  Kept code belongs to these very sources: the compiler itself notices a change only in a function's own file, not in
        the files of the functions it calls.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@overload
def jit(function: Kernel) -> Kernel: ...
@overload
def jit(**options: Any) -> Callable[[Kernel], Kernel]: ...
def jit(function: Any = None, **options: Any) -> Any:
    """Compile on first call, without the interpreter lock; `options` go to the compiler (``@jit`` or ``@jit(fastmath=True)``)."""
    if function is None:
        return lambda kernel: _compiled(kernel, options)
    return _compiled(function, options)


def _compiled(kernel: Any, options: dict[str, Any]) -> Any:
    from numba import njit

    directory = _cache_directory()
    if directory:
        try:
            with _caching_in(directory):
                return njit(cache=True, nogil=True, **options)(kernel)
        except RuntimeError as refusal:  # source without a file, or a directory that has become read-only
            if "cannot cache" not in str(refusal):
                raise
    return njit(cache=False, nogil=True, **options)(kernel)


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


@cache
def _cache_directory() -> str:
    """The first directory that can be written, "" when there is none."""
    digest = hashlib.sha256()
    for source in [Path(__file__), *sorted(Path(__file__).parent.rglob("kernels/*.py"))]:
        digest.update(source.read_bytes())  # I1
    wanted = os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__"
    own = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sfumato"
    for base in (Path(wanted), own):
        directory = base / f"kernels-{digest.hexdigest()[:12]}"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=directory):
                return str(directory)
        except OSError:
            continue
    return ""
