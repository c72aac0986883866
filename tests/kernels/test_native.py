"""Loops as translated to C++: the same answers as the Python they were written in, for every construct a kernel uses."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sfumato.core.compiled import build, cache, native
from sfumato.core.compiled.build import library_text, modules, signatures
from sfumato.core.compiled.translator import Untranslatable, Writer, read

SRC = Path(__file__).parents[2] / "src"
needs_compiler = pytest.mark.skipif(not build.compiler(), reason="no C++ compiler on this machine")

KERNELS = """
from typing import NamedTuple
import numpy as np
from sfumato.core.compiled import jit
LIMIT = 1 << 4

class Pair(NamedTuple):
    left: object
    right: object

@jit
def whole(a: int, b: int) -> tuple[int, int, int]:
    return a // b, a % b, (a << 3) ^ ~b

@jit
def swapped(values) -> None:
    for i in range(len(values) // 2):
        values[i], values[-1 - i] = values[-1 - i], values[i]

@jit
def hoisted(values) -> int:
    total = 0
    for v in values:
        if 0 < v <= LIMIT:
            part = 2 * v
        elif v < 0:
            part = -v
        else:
            part = 0
        total += part
    i = 0
    while True:
        i += 1
        if i * i > total or (i > 7 and not i % 5 == 3):
            break
    return total * 100 + i

@jit
def mixed(pair: Pair, narrow, single) -> float:
    found, least = -1, np.inf
    for i in range(pair.left.shape[0]):
        each = 0.0
        for j in range(pair.left.shape[1]):
            each += single[j] * pair.left[i, j] + (single[j] - single[0])
        if each < least:
            found, least = i, each
    narrow[found] += 300
    return least + narrow[found] / 4

@jit
def words(x) -> object:
    out = np.zeros(len(x), np.uint64)
    for i in range(len(x)):
        y = x[i]
        y ^= y << np.uint64(13)
        y ^= y >> np.uint64(7)
        out[i] = y * np.uint64(0x9E3779B97F4A7C15)
    return out

@jit
def stretches(values, cut: int) -> object:
    head, tail = values[:cut].copy(), values[cut:]
    tail[:] = tail[::-1].copy()
    grown = np.concatenate((head, np.full(2, 7, np.int64)))
    order = np.argsort(grown, kind="mergesort")
    return grown, order, grown[order[0]], len(tail)

@jit
def walked(records) -> int:
    at, steps = 0, 0
    while records[at].after != at:
        step = records[at]
        at = step.after
        step.seen += 1
        steps += 1
    return steps
"""


class Native:
    """Kernels of a text, translated and compiled for the arguments they are called with."""

    def __init__(self, folder: Path, source: str) -> None:
        path = folder / "tricky.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("tricky", path)
        assert spec and spec.loader
        self.plain: Any = importlib.util.module_from_spec(spec)
        sys.modules["tricky"] = self.plain
        spec.loader.exec_module(self.plain)
        self.folder, self.module = folder, read(path, "tricky")

    def compile(self, calls: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        listed = [("tricky", name, " ".join(native.described(one, native.CallWords()) for one in given)) for name, given in calls]
        cpp, numbers = library_text({"tricky": self.module}, listed)
        assert numbers == list(range(len(calls)))
        build.compile_text(cpp, self.folder / "tricky.so")
        library = ctypes.CDLL(str(self.folder / "tricky.so"))
        return [native._called(library, number) for number in numbers]


def copied(given: tuple[Any, ...]) -> tuple[Any, ...]:
    def fresh(one: Any) -> Any:
        if isinstance(one, np.ndarray):
            return one.copy() if one.flags.c_contiguous else one.copy(order="K")
        return type(one)(*map(fresh, one)) if hasattr(one, "_fields") else one

    return tuple(map(fresh, given))


@needs_compiler
def test_every_construct_means_what_it_means_in_python(tmp_path: Path) -> None:
    here = Native(tmp_path, KERNELS)
    rng = np.random.default_rng(5)
    chain = np.zeros(5, dtype=[("after", np.int64), ("seen", np.int64)])
    chain["after"] = [3, 1, 1, 2, 4]
    small = rng.integers(-9, 9, 11)
    pair = here.plain.Pair(rng.integers(0, 9, (4, 3)), 1)
    single = np.array([0.1, 2.7, 3.3], np.float32)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        *[("whole", (a, b)) for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5)]],
        ("swapped", (small,)),
        ("swapped", (np.arange(12)[::3],)),
        ("hoisted", (small,)),
        ("mixed", (pair, np.zeros(4, np.int32), single)),
        ("words", (rng.integers(0, 2**63, 6).astype(np.uint64),)),
        ("stretches", (small, 4)),
        ("walked", (chain.view(np.recarray),)),
    ]
    compiled = here.compile([(name, (given[0].view(np.ndarray),) if name == "walked" else given) for name, given in calls])
    for (name, given), entry in zip(calls, compiled, strict=True):
        mine, theirs, words = copied(given), copied(given), native.CallWords()
        with np.errstate(over="ignore"):
            expected = getattr(here.plain, name).py_func(*mine)
        for one in theirs:
            native.described(one.view(np.ndarray) if isinstance(one, np.recarray) else one, words)
        found = entry(words)
        assert _same(found, expected), name
        for one, other in zip(theirs, mine, strict=True):
            assert _same(one, other), f"{name} changes its arguments differently"


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(_same, found, expected))
    if isinstance(expected, np.ndarray):
        return bool(np.array_equal(np.asarray(found), np.asarray(expected)))
    return bool(found == expected)


@needs_compiler
def test_division_by_zero_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    (entry,) = Native(tmp_path, KERNELS).compile([("whole", (1, 0))])
    words = native.CallWords()
    words.extend([1, 0])
    with pytest.raises(ZeroDivisionError):
        entry(words)


@pytest.mark.parametrize("line", ["x = {1: 2}", "x = [i for i in range(n)]", "x = np.linalg.norm(n)", "with n: pass", "raise n"])
def test_what_is_not_known_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_text(f"from sfumato.core.compiled import jit\n@jit\ndef odd(n) -> None:\n    {line}\n", encoding="utf-8")
    module = read(path, "odd")
    with pytest.raises(Untranslatable):
        Writer(module, {"odd": module}).function(module.functions["odd"])


def test_every_kernel_can_be_translated() -> None:
    every = modules()
    for module in every.values():
        for function in module.functions.values():
            Writer(module, every).function(function)


def test_signatures_speak_of_kernels_that_exist() -> None:
    every, listed = modules(), signatures()
    assert len(set(listed)) == len(listed)
    assert library_text(every, listed)[1] == list(range(len(listed)))


class Odd(NamedTuple):
    """An argument that no signature has."""

    thing: object


def test_unknown_arguments_are_left_to_the_other_compiler(tmp_path: Path) -> None:
    with pytest.raises(native._Foreign):
        native.described(Odd("text"), native.CallWords())


SHIPPED = (native.HERE / native.file_name()).is_file()


@pytest.mark.skipif(not SHIPPED, reason="the package was not installed here with its library")
def test_the_library_of_this_installation_runs_the_loops_without_numba() -> None:
    code = (
        "import numpy as np, sys\n"
        "from sfumato.core.kernels.chacha import open_stream\n"
        "print(open_stream(np.zeros(8, np.uint32), 7)[0], 'numba' in sys.modules)"
    )
    settings = {**os.environ, "PYTHONPATH": str(SRC), "SFUMATO_LOOPS": ""}
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1634760805", "False"]


def test_the_library_is_named_after_its_sources() -> None:
    assert cache.digest() in native.file_name()
