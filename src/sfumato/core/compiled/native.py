"""The library of compiled kernels: find it, call it.

It lies beside this file when it was built at installation, or in the user's cache when it was built later (`cache`).
Nothing is built here (`build`). A call takes its arguments as words: numbers, addresses and shapes. A signature that
the library does not have is left to numba."""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import re
import struct
import sysconfig
from array import array
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.compiled.cache import HERE, cache_directories_to_read, digest

SIGNATURES = HERE / "signatures.txt"
KINDS = [np.bool_, np.int64, np.uint64, np.int32, np.uint32, np.float64, np.float32]
_ROOM = 256
"""How many words the result of a kernel may take."""
Entry = Callable[["CallWords"], Any]


class _Foreign(Exception):
    """An argument that the library does not take."""


class CallWords(list[int]):
    """The arguments of a call; `copies` stand for arrays that are no single stretch of memory."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[tuple[Any, Any]] = []

    def straight(self, value: Any) -> Any:
        """The array itself, or a copy in one stretch, which is written back after the call."""
        if value.flags.c_contiguous:
            return value
        self.copies.append((value, np.ascontiguousarray(value)))
        return self.copies[-1][1]

    def write_back(self) -> None:
        for value, copy in self.copies:
            if value.flags.writeable:
                value[...] = copy


@cache
def _kind(dtype: np.dtype[Any]) -> str:
    """The type of an array's elements as signatures write it; numpy takes its time to name one."""
    return "{" + " ".join(dtype.names) + "}" if dtype.names else dtype.name


def described(value: Any, words: CallWords) -> str:
    """The type of an argument as signatures write it; its words are appended."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            raise _Foreign
        value = words.straight(value)
        words.append(value.__array_interface__["data"][0])
        words.extend(value.shape)
        return f"{_kind(value.dtype)}[{value.ndim}]"
    if isinstance(value, bool | np.bool_):
        words.append(int(value))
        return "b"
    if isinstance(value, np.uint64):
        words.append(struct.unpack("q", struct.pack("Q", int(value)))[0])
        return "u"
    if isinstance(value, int | np.integer):
        words.append(int(value))
        return "i"
    if isinstance(value, float | np.floating):
        words.append(struct.unpack("q", struct.pack("d", float(value)))[0])
        return "f"
    if isinstance(value, tuple):
        inner = " ".join([described(one, words) for one in value])
        return (
            f"{type(value).__module__}:{type(value).__name__}({inner})" if hasattr(value, "_fields") else f"({inner})"
        )
    raise _Foreign


Signature = tuple[str, str, str]
"""(module, function, types of the arguments)"""


@cache
def signatures() -> list[Signature]:
    """Return the signature of every entry of the library."""
    lines = [line for line in SIGNATURES.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(module, function, types) for module, function, types in (line.split(" ", 2) for line in lines)]


def symbol(signature: Signature) -> str:
    """Return the name of an entry in the library."""
    return f"{signature[1]}_{hashlib.sha256(' '.join(signature).encode()).hexdigest()[:12]}"


def entry(module: str, function: str, arguments: tuple[Any, ...]) -> tuple[Entry | None, Any]:
    """Return the entry of the library for these arguments, and their words; None where there is none."""
    if library() is None:
        return None, None
    words = CallWords()
    try:
        types = " ".join([described(one, words) for one in arguments])
        return _entries().get((module, function, types)), words
    except (_Foreign, OverflowError):
        return None, None


def no_entry(function: Any, arguments: tuple[Any, ...]) -> LookupError:
    """Return the error for a call that the library has no entry for; it names the line that signatures.txt lacks."""
    try:
        types = " ".join([described(one, CallWords()) for one in arguments])
    except (_Foreign, OverflowError):
        types = "(an argument that no entry can take)"
    return LookupError(
        f"the library of compiled kernels has no entry for: {function.__module__} {function.__name__} {types}"
    )


@cache
def _entries() -> dict[Signature, Entry]:
    """Return every entry of the library by its signature."""
    found = library()
    return {} if found is None else {one: _entry(found, symbol(one)) for one in signatures()}


def _entry(found: ctypes.CDLL, name: str) -> Entry:
    def call(words: CallWords) -> Any:
        function = getattr(found, name)  # looked up on the first call, kept by ctypes
        given, out, problem = array("q", words), array("q", bytes(8 * _ROOM)), _Problem()
        status = function(
            ctypes.byref(ctypes.c_int64()),
            ctypes.byref(problem),
            ctypes.c_void_p(given.buffer_info()[0]),
            ctypes.c_void_p(out.buffer_info()[0]),
        )
        words.write_back()
        if status not in _SUCCESS:
            raise _exception(problem)
        return _result(found, iter(out))

    return call


_SUCCESS = (0, -2)
"""Numba's status of a call that returned a value, or None."""


class _Exception(ctypes.Structure):
    """Numba's description of an exception: the serialized class and message."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_int32))


_Problem = ctypes.POINTER(_Exception)


def _exception(problem: Any) -> Exception:
    """Return the exception that a kernel raised, known by the name of its class (nothing is deserialized)."""
    data = ctypes.string_at(problem.contents.data, problem.contents.size) if problem else b""
    named = re.search(rb"[A-Z][a-zA-Z]+Error", data)
    kind: type[Exception] = getattr(builtins, named[0].decode(), RuntimeError) if named else RuntimeError
    return kind("in a compiled kernel")


def _result(found: ctypes.CDLL, words: Any) -> Any:
    kind = next(words)
    if kind == 0:
        return None
    if kind == 6:
        return tuple([_result(found, words) for _ in range(next(words))])
    if kind == 5:
        code, dimensions, address = next(words), next(words), next(words)
        shape = tuple(next(words) for _ in range(dimensions))
        made = np.empty(shape, KINDS[code])
        ctypes.memmove(made.ctypes.data, address, made.nbytes)
        found.sfumato_free(ctypes.c_void_p(address))
        return made
    word = next(words)
    if kind == 3:
        return struct.unpack("d", struct.pack("q", word))[0]
    if kind == 4:
        return bool(word)
    return np.uint64(word & 0xFFFFFFFFFFFFFFFF) if kind == 2 else word


def file_name() -> str:
    """Return the name of the library for this kind of machine and these sources."""
    return f"loops-{sysconfig.get_platform()}-{digest()}.so"


def path_of_library() -> Path | None:
    """Return where the library of these very sources lies, None if it was not built."""
    directories = (HERE, *cache_directories_to_read())
    return next((path for directory in directories if (path := directory / file_name()).is_file()), None)


@cache
def library() -> ctypes.CDLL | None:
    """Load the library of these very sources, None if it was not built."""
    path = path_of_library()
    return None if path is None else ctypes.CDLL(str(path))


@cache
def ready() -> bool:
    """Return whether the library is there: for callers that are fast enough without a compiled kernel."""
    return path_of_library() is not None
