"""Compiled kernels: arrays in, arrays out.

Kernels are in the ``kernels`` folders next to the code that calls them, and decorate their functions with `jit`. A
kernel runs as machine code that numba made when Sfumato was installed (`native`), else through numba where that is
installed. Importing a kernel loads neither. Both run the same source and give the same bits.

``SFUMATO_LOOPS`` chooses for tests and for work on a kernel:

    native       the library alone: what it does not have is an error
    numba        numba alone, also with bounds checks (``NUMBA_BOUNDSCHECK=1``)
    interpreted  the library, and Python's interpreter for functions that the library does not have
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
    """Return a function that runs as machine code; `options` go to numba (``@jit`` or ``@jit(fastmath=True)``)."""
    if function is None:
        return lambda kernel: Loop(kernel, options)
    return Loop(function, options)


class Loop:
    """A compiled function; `py_func` is its source, as a plain function."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.py_func, self._options = function, options
        self._linked: dict[Any, Any] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if named:
            bound = inspect.signature(self.py_func).bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        way = os.environ.get("SFUMATO_LOOPS", "")
        if way != "numba":
            from sfumato.core.compiled import native

            entry, words = native.entry(self.py_func.__module__, self.py_func.__name__, arguments)
            if entry is not None:
                return entry(words)
            if way == "native":
                raise native.no_entry(self.py_func, arguments)
        if way == "interpreted":
            from sfumato.core.compiled import interpreted

            return interpreted.call(self, arguments)
        return self.dispatcher()(*arguments)

    def dispatcher(self) -> Any:
        """Return the function as numba compiles it on its first call."""
        from sfumato.core.compiled import numba_fallback

        return self.linked(numba_fallback.compiled)

    def linked(self, make: Callable[[Any, dict[str, Any]], Any]) -> Any:
        """Return what `make` makes of the source and the options, where the kernels that it calls are made the same
        way."""
        if make not in self._linked:
            source = self.py_func
            scope = source.__globals__
            called = {
                name: scope[name].linked(make) for name in _names(source.__code__) if isinstance(scope.get(name), Loop)
            }
            twin = FunctionType(
                source.__code__, {**scope, **called}, source.__name__, source.__defaults__, source.__closure__
            )
            twin.__module__, twin.__qualname__ = source.__module__, source.__qualname__
            self._linked[make] = make(twin, self._options)
        return self._linked[make]


def _names(code: Any) -> set[str]:
    """Every name a function looks up, inner functions included."""
    inner = [_names(constant) for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*inner)


__all__ = ["Loop", "jit"]
