"""Compiled inner loops: arrays in, arrays out; the only home of numba.

The loops themselves stand in the ``kernels`` folders beside the ideas they serve, and decorate their functions with `jit`.
Importing `sfumato` loads no compiler; importing a kernel does. Compiled code is kept between processes where a directory can be
written by this user alone, and compiled anew where there is none.

Invariants
    I1  Kept code belongs to these very sources: the compiler itself notices a change only in a function's own file, not in
        the files of the functions it calls.
    I2  Kept code is run as it is found, so it is taken only from where nobody else can put it: the directory, what lies in it
        and every directory above it belong to this user or to root, and neither group nor others may write there. Of the
        directories above, one may be open to all when only owners can rename what lies in it (the sticky bit, as on ``/tmp``).
"""

from __future__ import annotations

import hashlib
import os
import stat
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
    """The first directory that this user alone can write, "" when there is none."""
    digest = hashlib.sha256()
    for source in [Path(__file__), *sorted(Path(__file__).parent.rglob("kernels/*.py"))]:
        digest.update(source.read_bytes())  # I1
    wanted = os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__"
    own = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sfumato"
    for base in (Path(wanted), own):
        directory = base / f"kernels-{digest.hexdigest()[:12]}"
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_ours_alone(directory):  # I2
                continue
            with tempfile.TemporaryFile(dir=directory):
                return str(directory)
        except OSError:
            continue
    return ""


def is_ours_alone(directory: Path) -> bool:
    """Whether nobody but this user and root can put or change anything in the directory (I2)."""
    directory = directory.resolve(strict=True)
    inside = (directory, *directory.rglob("*"))
    return all(_is_closed(path.lstat()) for path in inside) and all(_guards(path.lstat()) for path in directory.parents)


def _is_closed(status: os.stat_result) -> bool:
    return status.st_uid in (0, os.getuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _guards(status: os.stat_result) -> bool:
    """Whether what lies in this directory, and belongs to this user or to root, stays what it is."""
    return _is_closed(status) or (status.st_uid in (0, os.getuid()) and bool(status.st_mode & stat.S_ISVTX))
