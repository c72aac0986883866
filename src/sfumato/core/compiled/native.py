"""The library of translated loops: found, made, and called.

It lies beside this file when it was made at installation, or in the user's own directory when it was made later
(`kept`). A call takes its arguments as words (numbers, addresses and shapes); a signature that the library does not know, or an
array that is no single stretch of memory, is left to numba.
"""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from array import array
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.compiled.build import build, compiler, file_name, signatures
from sfumato.core.compiled.cache import announce, cache_directories_to_read, cache_directory

HERE = Path(__file__).parent
_KINDS = [np.bool_, np.int64, np.uint64, np.int32, np.uint32, np.float64, np.float32]
_ROOM = 256
"""CallWords that the result of a loop may take."""
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
        return f"{type(value).__module__}:{type(value).__name__}({inner})" if hasattr(value, "_fields") else f"({inner})"
    raise _Foreign


def entry(module: str, function: str, arguments: tuple[Any, ...], *, make: bool = False) -> tuple[Entry | None, Any]:
    """The way into the library for these arguments, and their words; None where there is none."""
    found = library(make)
    if found is None and "SFUMATO_RECORD" not in os.environ:
        return None, None
    words = CallWords()
    try:
        types = " ".join([described(one, words) for one in arguments])
        number = _numbers().get((module, function, types))
        _record(module, function, types, number)
        return (None, None) if found is None or number is None else (_called(found, number), words)
    except (_Foreign, OverflowError):
        return None, None


def _record(module: str, function: str, types: str, number: int | None) -> None:
    """For whoever adds a kernel: signatures that are not in the list are appended to the file that SFUMATO_RECORD names."""
    if number is None and (target := os.environ.get("SFUMATO_RECORD")):
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(f"{module} {function} {types}\n")


@cache
def _numbers() -> dict[tuple[str, str, str], int]:
    return {signature: number for number, signature in enumerate(signatures())}


@cache
def _called(found: ctypes.CDLL, number: int) -> Entry | None:
    try:
        function = getattr(found, f"entry_{number}")
    except AttributeError:
        return None

    def call(words: CallWords) -> Any:
        given, out = array("q", words), array("q", bytes(8 * _ROOM))
        problem = function(ctypes.c_void_p(given.buffer_info()[0]), ctypes.c_void_p(out.buffer_info()[0]))
        words.write_back()
        if problem:
            raise ZeroDivisionError("division by zero in a compiled loop") if problem == 1 else MemoryError("in a compiled loop")
        return _result(found, iter(out))

    return call


def _result(found: ctypes.CDLL, words: Any) -> Any:
    kind = next(words)
    if kind == 0:
        return None
    if kind == 6:
        return tuple([_result(found, words) for _ in range(next(words))])
    if kind == 5:
        code, dimensions, address = next(words), next(words), next(words)
        shape = tuple(next(words) for _ in range(dimensions))
        made = np.empty(shape, _KINDS[code])
        ctypes.memmove(made.ctypes.data, address, made.nbytes)
        found.sfumato_free(ctypes.c_void_p(address))
        return made
    word = next(words)
    if kind == 3:
        return struct.unpack("d", struct.pack("q", word))[0]
    if kind == 4:
        return bool(word)
    return np.uint64(word & 0xFFFFFFFFFFFFFFFF) if kind == 2 else word


# ---- finding and making ---------------------------------------------------------------------------------------------


@cache
def library(make: bool = False) -> ctypes.CDLL | None:
    """The library of these very sources; made now when nothing else can run the loops, or when `make` asks for it."""
    for directory in (HERE, *cache_directories_to_read()):
        path = directory / file_name()
        if path.is_file():
            return ctypes.CDLL(str(path))
    if (make or find_spec("numba") is None) and compiler():
        announce("compiling inner loops, once, about 10 s")
        kept = cache_directory()
        if kept:
            return ctypes.CDLL(str(build(Path(kept))))
        with tempfile.TemporaryDirectory() as folder:  # loaded code stays when its file goes
            return ctypes.CDLL(str(build(Path(folder))))
    return None


@cache
def ready() -> bool:
    """Whether the library is there already: for what has another way, and is not worth a compiler."""
    return any((directory / file_name()).is_file() for directory in (HERE, *cache_directories_to_read()))


def warm_up() -> tuple[bool, str]:
    """Make the library where it is missing; whether loops are ready now, and a sentence about it."""
    for directory in (HERE, *cache_directories_to_read()):
        if (directory / file_name()).is_file():
            return True, f"the compiled loops are ready, in {directory}"
    if not compiler():
        return False, "there is no C++ compiler here: install one (c++ or clang), or numba: pip install 'sfumato[compiler]'"
    kept = cache_directory()
    if not kept:
        return False, "no directory of yours can be written: set SFUMATO_CACHE to one that nobody else can write"
    return True, f"the compiled loops are ready, in {build(Path(kept)).parent}"
