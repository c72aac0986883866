"""The library of compiled kernels gives the same bits as the source that it was made from."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sfumato.core.compiled import build, cache, interpreted, native
from tests.kernels.recorded import calls

ROOT = Path(__file__).parents[2]
needs_tools = pytest.mark.skipif(bool(build.missing()), reason=f"no library can be built: {build.missing()}")


def copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        inner = [copied(one) for one in value]
        return type(value)(*inner) if hasattr(value, "_fields") else tuple(inner)
    return value


def same(found: Any, expected: Any) -> bool:
    """Whether two results have the same bits; a number may be Python's or numpy's."""
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, np.ndarray):
        return found.shape == expected.shape and found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    if expected is None:
        return found is None
    return np.asarray(found).tobytes() == np.asarray(expected, dtype=np.asarray(found).dtype).tobytes()


def differences(found: tuple[Any, Any], expected: tuple[Any, Any]) -> list[str]:
    """What differs between two calls, given as (result, arguments after the call)."""
    names = ("result", "arguments")
    return [name for name, one, other in zip(names, found, expected, strict=True) if not same(one, other)]


def in_library(signature: native.Signature, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    given = copied(arguments)
    entry, words = native.entry(signature[0], signature[1], given)
    assert entry is not None
    return entry(words), given


def otherwise(way: str, signature: native.Signature, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    given, kernel = copied(arguments), getattr(import_module(signature[0]), signature[1])
    return (interpreted.call(kernel, given) if way == "interpreted" else kernel.dispatcher()(*given)), given


@needs_tools
def test_calls_of_every_entry_are_recorded() -> None:
    assert {signature for signature, _, _ in calls()} == set(native.signatures())


@needs_tools
@pytest.mark.parametrize("module", sorted({module for module, _, _ in native.signatures()}))
@pytest.mark.parametrize("way", ["interpreted", pytest.param("numba", marks=pytest.mark.slow)])
def test_every_entry_gives_the_same_bits_as_its_source(way: str, module: str) -> None:
    """On recorded calls, arguments that are changed in place included; numba takes minutes to compile all entries."""
    wrong = []
    for signature, which, arguments in calls(module):
        found = differences(in_library(signature, arguments), otherwise(way, signature, arguments))
        wrong += [f"{signature[0]}.{signature[1]} ({which} call): {one}" for one in found]
    assert wrong == []


KERNELS = """
from typing import NamedTuple
import numpy as np
from sfumato.core.compiled import jit

class Pair(NamedTuple):
    left: object
    right: object

@jit
def whole(a, b):
    return a // b, a % b, (a << 3) ^ ~b

@jit
def swapped(values):
    for i in range(len(values) // 2):
        values[i], values[-1 - i] = values[-1 - i], values[i]

@jit
def next_value(state):
    state[0] += 1
    return state[0]

@jit
def in_order(state):
    return next_value(state) - 10 * next_value(state), (state[0], (next_value(state), state[0] > 2))

@jit
def mixed(pair, narrow, single, weight, flag, bits):
    found, least = -1, np.inf
    for i in range(pair.left.shape[0]):
        each = 0.0
        for j in range(pair.left.shape[1]):
            each += single[j] * pair.left[i, j] * weight
        if each < least:
            found, least = i, each
    narrow[found] += 300
    return least if flag else -least, bits >> np.uint64(3), flag

@jit
def arrays(values, cut):
    grown = np.concatenate((values[:cut], np.full(2, 7, np.int64)))
    return grown, np.argsort(grown, kind="mergesort"), grown.reshape(1, grown.size) > 3, np.zeros((0, 3), np.float32)

@jit
def walked(records):
    at, steps = 0, 0
    while records[at].after != at:
        records[at].seen += 1
        at = records[at].after
        steps += 1
    return steps

@jit
def negative(size):
    return np.zeros(size)

@jit
def mismatched(values, width):
    values[:] = np.zeros(width)
"""


class Tricky:
    """The kernels above, translated and linked for the arguments they are called with."""

    def __init__(self, folder: Path) -> None:
        from sfumato.core.compiled.translate import object_file

        path = folder / "tricky.py"
        path.write_text(KERNELS, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("tricky", path)
        assert spec and spec.loader
        self.module: Any = importlib.util.module_from_spec(spec)
        sys.modules["tricky"] = self.module
        spec.loader.exec_module(self.module)
        self.calls = self.some_calls()
        signatures = [self.signature(name, given) for name, given in self.calls]
        (folder / "tricky.o").write_bytes(object_file(list(dict.fromkeys(signatures))))
        build.link([folder / "tricky.o"], folder / "tricky.so")
        self.library = ctypes.CDLL(str(folder / "tricky.so"))

    def some_calls(self) -> list[tuple[str, tuple[Any, ...]]]:
        rng = np.random.default_rng(5)
        chain = np.zeros(5, dtype=[("after", np.int64), ("seen", np.int64)])
        chain["after"] = [3, 1, 1, 2, 4]
        pair = self.module.Pair(rng.integers(0, 9, (4, 3)), 1)
        single = np.array([0.1, 2.7, 3.3], np.float32)
        return [
            *[("whole", (a, b)) for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5)]],
            ("swapped", (rng.integers(-9, 9, 11),)),
            ("swapped", (np.arange(12)[::3],)),
            ("in_order", (np.zeros(1, np.int64),)),
            *[
                ("mixed", (pair, np.zeros(4, np.int32), single, 0.3, flag, np.uint64(2**64 - 5)))
                for flag in (True, False)
            ],
            ("arrays", (rng.integers(-9, 9, 11), 4)),
            ("walked", (chain,)),
            ("whole", (1, 0)),
            ("negative", (-1,)),
            ("mismatched", (np.zeros(3), 2)),
        ]

    @staticmethod
    def signature(name: str, given: tuple[Any, ...]) -> native.Signature:
        return "tricky", name, " ".join(native.described(one, native.CallWords()) for one in given)

    def call(self, name: str, given: tuple[Any, ...]) -> Any:
        words = native.CallWords()
        for one in given:
            native.described(one, words)
        return native._entry(self.library, native.symbol(self.signature(name, given)))(words)


@pytest.fixture(scope="module")
def tricky(tmp_path_factory: pytest.TempPathFactory) -> Tricky:
    return Tricky(tmp_path_factory.mktemp("tricky"))


@needs_tools
def test_every_construct_means_what_it_means_in_python(tricky: Tricky) -> None:
    for name, given in tricky.calls[:-3]:
        mine, theirs = copied(given), copied(given)
        expected = interpreted.call(getattr(tricky.module, name), mine)
        assert differences((tricky.call(name, theirs), theirs), (expected, mine)) == [], name


@needs_tools
@pytest.mark.parametrize(
    ("name", "error"), [("whole", ZeroDivisionError), ("negative", ValueError), ("mismatched", ValueError)]
)
def test_an_error_in_a_kernel_is_the_same_error_in_python(tricky: Tricky, name: str, error: type[Exception]) -> None:
    (given,) = (given for called, given in tricky.calls[-3:] if called == name)
    with pytest.raises(error):
        (
            interpreted.call(getattr(tricky.module, name), given)
            if name != "whole"
            else tricky.module.whole.py_func(*given)
        )
    with pytest.raises(error):
        tricky.call(name, given)


@needs_tools
def test_memory_of_arrays_is_released(tricky: Tricky) -> None:
    import resource

    values = np.arange(200_000)
    for turn in range(60):
        tricky.call("arrays", (values, len(values)))
        if turn == 10:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KB; 50 calls make 160 MB


class Odd(NamedTuple):
    """An argument that no signature has."""

    thing: object


def test_unknown_arguments_are_left_to_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(native._Foreign):
        native.described(Odd("text"), native.CallWords())
    from sfumato.core.kernels.chacha import open_stream

    monkeypatch.setenv("SFUMATO_LOOPS", "native")
    with pytest.raises(LookupError, match=r"chacha open_stream int64\[1\] i"):
        open_stream(np.zeros(8, np.int64), 7)


def test_kept_objects_depend_on_code_and_not_on_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "sfumato.core.kernels.radix_sort"
    source = cache.kernel_modules()[name].read_text(encoding="utf-8")
    sorts = build._part_digest(name)

    def changed(text: str) -> str:
        (tmp_path / "changed.py").write_text(text, encoding="utf-8")
        monkeypatch.setattr(build, "kernel_modules", lambda: {**cache.kernel_modules(), name: tmp_path / "changed.py"})
        return build._part_digest(name)

    docstring = ast.get_docstring(ast.parse(source), clean=False)
    assert docstring
    assert changed(source.replace(docstring, "Other words.") + "# and a remark\n") == sorts
    assert changed(source + "MORE = 1\n") != sorts


def test_objects_depend_on_kernels_that_are_called() -> None:
    assert "sfumato.core.kernels.chacha" in build._reached("sfumato.kinds.baskets.methods.kernels.rings")


def test_the_pinned_numba_is_the_one_that_is_required_to_build() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert f"numba=={build.NUMBA}*" in wanted


PUBLISH = """
import sys, subprocess
subprocess.Popen.__init__ = lambda *_, **__: sys.exit("a process was started")
sys.modules["numba"] = sys.modules["llvmlite"] = None
import sfumato as sf
people = {"age": [str(20 + n % 40) for n in range(300)], "sex": ["FM"[n % 2] for n in range(300)],
          "illness": [["flu", "gout", "cold"][n % 3] for n in range(300)]}
columns = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}, "sex": "quasi-identifier",
           "illness": "sensitive"}
policy = {"columns": columns, "protect": [{"k-anonymity": {"k": 4}}, {"l-diversity": {"l": 2}}], "method": {sys.argv[1]: {}}}
release = sf.publish(sf.Policy.parse({"version": 1, **policy}), data=people)
print(release.certificate.holds)
"""


@pytest.mark.skipif(native.path_of_library() is None, reason="the library was not built")
@pytest.mark.parametrize("method", ["refined", "clustering"])
def test_a_publish_imports_no_numba_and_starts_no_compiler(method: str) -> None:
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SFUMATO_LOOPS": ""}
    done = subprocess.run(
        [sys.executable, "-c", PUBLISH, method], env=settings, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr[-2000:]) == ("True", "")


def test_the_library_is_named_after_its_sources() -> None:
    assert cache.digest() in native.file_name()
