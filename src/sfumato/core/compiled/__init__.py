"""Compiled inner loops: arrays in, arrays out.

Compiled inner loops: arrays in, arrays out.

The loops themselves stand in the ``kernels`` folders beside the ideas they serve, and decorate their functions with `jit`. A loop
runs, in this order, as the machine code that was made from it when Sfumato was installed (`native`), through numba where that is
installed, or as machine code that is made now, once, with the compiler of this machine. Importing a kernel loads none of them.

``SFUMATO_LOOPS=native`` or ``numba`` asks for one of the ways; tests compare them.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@overload
def jit(function: Kernel) -> Kernel: ...
@overload
def jit(**options: Any) -> Callable[[Kernel], Kernel]: ...
def jit(function: Any = None, **options: Any) -> Any:
    """A function that runs as machine code; `options` go to numba (``@jit`` or ``@jit(fastmath=True)``)."""
    if function is None:
        return lambda kernel: Loop(kernel, options)
    return Loop(function, options)


class Loop:
    """A compiled function; `py_func` is its source, as a plain function."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.py_func, self._options = function, options
        self._dispatcher: Any = None
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if named:
            bound = inspect.signature(self.py_func).bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        way = os.environ.get("SFUMATO_LOOPS", "")
        if way != "numba":
            from sfumato.core.compiled import native

            entry, words = native.entry(self.py_func.__module__, self.py_func.__name__, arguments, make=way == "native")
            if entry is not None:
                return entry(words)
        return self.dispatcher()(*arguments)

    def dispatcher(self) -> Any:
        """The function as numba knows it; the loops that it calls are handed to numba the same way."""
        if self._dispatcher is None:
            from sfumato.core.compiled import numba_fallback

            source = self.py_func
            scope = source.__globals__
            called = {name: scope[name].dispatcher() for name in _names(source.__code__) if isinstance(scope.get(name), Loop)}
            twin = FunctionType(source.__code__, {**scope, **called}, source.__name__, source.__defaults__, source.__closure__)
            twin.__module__, twin.__qualname__ = source.__module__, source.__qualname__
            self._dispatcher = numba_fallback.compiled(twin, self._options)
        return self._dispatcher


def _names(code: Any) -> set[str]:
    """Every name a function looks up, inner functions included."""
    inner = [_names(constant) for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*inner)


__all__ = ["Loop", "jit"]
