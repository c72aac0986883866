"""Compiled inner loops: arrays in, arrays out; the only home of numba. Each kernel has a plain twin that tests it.

A kernel module decorates its functions with `jit`. Importing `sfumato` or this package loads no compiler; importing a kernel
module does. Compiled code is kept between processes where a cache directory can be written, and compiled anew where none can.
"""

from __future__ import annotations

from collections.abc import Callable
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

    try:
        return njit(cache=True, nogil=True, **options)(kernel)
    except RuntimeError as refusal:  # the compiler finds no directory it may write its cache to
        if "cannot cache" not in str(refusal):
            raise
        return njit(cache=False, nogil=True, **options)(kernel)
