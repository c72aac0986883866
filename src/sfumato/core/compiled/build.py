"""The whole C++ text of all kernels and of the ways into them, from their sources and ``signatures.txt``.

A signature is a line ``module function type type …``; types are ``i`` (a whole number), ``u``, ``f``, ``b``, ``int64[2]`` (an
array and its dimensions), ``{begin end}[1]`` (records of whole numbers), ``(type type)`` (a tuple) and ``module:Name(type type)``
(a named tuple). The number of a line is the number of its entry in the library.


Making
------
Making the library of loops: translate the kernels, hand the text to the C++ compiler that is there, keep what comes out.

Only the standard library is needed, because this also runs while Sfumato is being installed.


Signatures
----------
The ways into the library of loops: one line of ``signatures.txt`` each, its number the number of the entry.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sfumato.core.compiled.cache import digest
from sfumato.core.compiled.translator import TYPES, Module, Untranslatable, Writer, read, tuples

SOURCE = Path(__file__).parents[2]
RUNTIME = Path(__file__).parent / "loops.hpp"
_WORD = re.compile(r"\{[^}]*\}\[\d\]|[\w.:]+\(|[\w]+\[\d\]|[\w]+|[()]")


def modules() -> dict[str, Module]:
    """Every file of kernels, by module name."""
    found = {}
    for path in sorted(SOURCE.rglob("kernels/*.py")):
        name = "sfumato." + path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
        if path.stem != "__init__":
            found[name] = read(path, name)
    return found


def library_text(
    every: dict[str, Module] | None = None, listed: Sequence[tuple[str, str, str]] | None = None
) -> tuple[str, list[int]]:
    """The C++ text of these modules with these ways in, and the numbers of the signatures that are in it; else of all."""
    every = modules() if every is None else every
    heads, bodies = {}, {}
    for name, module in every.items():
        writer = Writer(module, every)
        try:
            heads[name] = [writer.head(one) + ";" for one in module.functions.values()]
            bodies[name] = [writer.function(one) for one in module.functions.values()]
        except Untranslatable:
            continue
    usable = _closed(every, set(bodies))
    parts = [RUNTIME.read_text(encoding="utf-8")]
    for name in sorted(usable):
        parts += [f"namespace {every[name].space} {{", *tuples(every[name]), *heads[name], "}"]
    for name in sorted(usable):
        parts += [f"namespace {every[name].space} {{", *bodies[name], "}"]
    entries, numbers = _entries(every, usable, signatures() if listed is None else listed)
    return "\n".join([*parts, *entries]) + "\n", numbers


def _closed(every: dict[str, Module], usable: set[str]) -> set[str]:
    """Without modules that use one which is not usable."""
    while True:
        broken = {
            name
            for name in usable
            for place, own in every[name].imported.values()
            if place in every and place not in usable and (own in every[place].functions or own in every[place].tuples)
        }
        if not broken:
            return usable
        usable = usable - broken


def _entries(every: dict[str, Module], usable: set[str], listed: Sequence[tuple[str, str, str]]) -> tuple[list[str], list[int]]:
    records: dict[str, str] = {}
    lines, numbers = [], []
    for number, (module, function, types) in enumerate(listed):
        named = set(re.findall(r"([\w.]+):", types)) | {module}
        if not named <= usable or function not in every[module].functions:
            continue
        reader = _Reader(types, every, records)
        given = ", ".join(reader.values())
        call = f"{every[module].space}::f_{function}({given})"
        void = Writer(every[module], every).returned(every[module].functions[function]) == "void"
        work = f"{call}; (out++)->whole = 0;" if void else f"give(out, {call});"
        lines.append(f'extern "C" int entry_{number}(const Word* in, Word* out) {{ return guarded([&] {{ {work} }}); }}')
        numbers.append(number)
    structs = [f"struct {name} {{ {fields} }};" for fields, name in records.items()]
    return [*structs, *lines], numbers


class _Reader:
    """C++ expressions that take the arguments of a signature from the words they come in."""

    def __init__(self, types: str, every: dict[str, Module], records: dict[str, str]) -> None:
        self.written: Iterator[str] = iter(_WORD.findall(types))
        self.every, self.records, self.place = every, records, 0

    def values(self) -> list[str]:
        found = []
        for word in self.written:
            if word == ")":
                break
            found.append(self.value(word))
        return found

    def value(self, word: str) -> str:
        if word == "(" or word.endswith("("):
            inner = ", ".join(self.values())
            if word == "(":
                return f"tup({inner})"
            module, _, name = word[:-1].partition(":")
            return f"{self.every[module].space}::make_{name}({inner})"
        at = self.place
        if word in ("i", "u", "f", "b"):
            self.place += 1
            return {"i": f"in[{at}].whole", "u": f"u64(in[{at}].whole)", "f": f"in[{at}].real", "b": f"bool(in[{at}].whole)"}[word]
        kind, _, dimensions = word.rpartition("[")
        many = int(dimensions[:-1])
        self.place += 1 + many
        if kind.startswith("{"):
            fields = " ".join(f"i64 m_{name};" for name in kind[1:-1].split())
            element = self.records.setdefault(fields, f"Record{len(self.records)}")
        else:
            element = TYPES[kind]
        return f"view<{element}, {many}>(in + {at})"


# Making
# ------


def file_name() -> str:
    """The name of the library for this machine and these sources."""
    return f"loops-{sysconfig.get_platform()}-{digest()}.so"


def compiler() -> list[str]:
    """The command of a C++ compiler, empty when there is none."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        if name and shutil.which(name):
            return [name]
    return [sys.executable, "-m", "ziglang", "c++"] if find_spec("ziglang") else []


def build(folder: Path) -> Path:
    """Translate all kernels, compile them, and leave the library in `folder`; its path."""
    pass

    target = folder / file_name()
    compile_text(library_text()[0], target)
    return target


def compile_text(cpp: str, target: Path) -> None:
    """Compile a translation; the library appears complete or not at all."""
    command = compiler()
    machine = ["-march=x86-64-v2"] if platform.machine() == "x86_64" else []
    static = ["-static-libstdc++", "-static-libgcc"] if sys.platform == "linux" and "ziglang" not in command else []
    flags = ["-std=c++20", "-O3", "-fPIC", "-shared", "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-w", *machine, *static]
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        source, made = Path(work) / "loops.cpp", Path(work) / "loops.so"
        source.write_text(cpp, encoding="utf-8")
        whole = [*command, *flags, str(source), "-o", str(made)]
        done = subprocess.run(whole, capture_output=True, text=True, check=False)  # noqa: S603 - our own text and flags
        if done.returncode:
            raise RuntimeError(f"the loops cannot be compiled: {done.stderr[:2000]}")
        made.chmod(0o755)
        made.replace(target)


# Signatures
# ----------


SIGNATURES = Path(__file__).parent / "signatures.txt"


@cache
def signatures() -> list[tuple[str, str, str]]:
    """(module, function, types) of every entry."""
    found = []
    for line in SIGNATURES.read_text(encoding="utf-8").splitlines() if SIGNATURES.exists() else []:
        if line and not line.startswith("#"):
            module, function, types = line.split(" ", 2)
            found.append((module, function, types))
    return found
