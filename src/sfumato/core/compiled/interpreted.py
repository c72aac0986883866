"""Run a kernel in Python's interpreter: slow, without a compiler, and by another implementation of the language than
numba's.

Records are given as `numpy.recarray`, for kernels name their fields like attributes. Integers are given as 64-bit
numbers, and wrap around silently as they do in machine code."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import Loop


def call(kernel: Loop, arguments: tuple[Any, ...]) -> Any:
    """Return what the kernel returns; arrays are changed in place."""
    with np.errstate(over="ignore"):
        return kernel.linked(_unchanged)(*[_as_compiled(one) for one in arguments])


def _unchanged(function: Any, options: dict[str, Any]) -> Any:
    return function


def _as_compiled(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    if type(value) is int:
        return np.int64(value)
    if isinstance(value, tuple):
        inner = [_as_compiled(one) for one in value]
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return value
