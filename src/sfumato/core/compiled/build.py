"""Build the library of compiled kernels ahead of time: numba translates, LLVM optimizes, the C compiler links.

A signature is a line ``module function type type …`` of ``signatures.txt``. Types are ``i`` (integer), ``u``
(unsigned), ``f`` (float), ``b`` (boolean), ``int64[2]`` (an array and its dimensions), ``{begin end}[1]`` (records of
integers), ``(type type)`` (a tuple) and ``module:Name(type type)`` (a named tuple).

Steps
    1. Each kernel module is compiled to an object file in a process of its own, two at a time (`translate`).
    2. Object files are kept in the user's cache under a digest of the code they were made from. Comments and docstrings
       do not count, so that only what has changed is compiled again.
    3. ``cc`` links them with ``runtime.c``. The library needs the C library alone: no numba, no Python.

Invariants
    I1  A library, or an object file, appears complete or not at all.
    I2  Only one process of a user builds at a time; the others wait and take what it made.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from sfumato.core.compiled.cache import HERE, SOURCE, announce, cache_directory, kernel_modules
from sfumato.core.compiled.native import file_name, path_of_library, signatures

NUMBA = "0.68."
"""The version of numba that libraries are made with, as ``build-system.requires`` in pyproject.toml says."""
PROCESSES = 2
CPU = {"x86_64": "x86-64-v2", "AMD64": "x86-64-v2"}.get(platform.machine(), "generic")


class CannotBuild(RuntimeError):
    """The library cannot be built here; the message says what is missing."""


def missing() -> str:
    """Return what this machine lacks to build the library, "" if nothing."""
    from importlib.metadata import version

    if not find_spec("numba"):
        return f"numba {NUMBA}* is not installed (pip install 'sfumato[compiler]')"
    if not version("numba").startswith(NUMBA):
        return f"numba {version('numba')} is installed, and numba {NUMBA}* is needed (pip install 'numba=={NUMBA}*')"
    return "" if _linker() else "there is no C compiler (cc, gcc or clang)"


def _linker() -> str:
    names = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    return next((found for name in names if name and (found := shutil.which(name))), "")


def build(folder: Path) -> Path:
    """Build the library of these sources into `folder` and return its path."""
    if lacking := missing():
        raise CannotBuild(lacking)
    modules = sorted({module for module, _, _ in signatures()})
    with tempfile.TemporaryDirectory(dir=folder) as work:
        parts = Path(cache_directory("kernel-objects") or work)
        wanted = {module: parts / f"{_part_digest(module)}.o" for module in modules}
        todo = [module for module in modules if not wanted[module].is_file()]
        todo.sort(
            key=lambda module: kernel_modules()[module].stat().st_size, reverse=True
        )  # what takes longest begins first
        with ThreadPoolExecutor(PROCESSES) as pool:
            list(pool.map(lambda module: _compile_apart(module, wanted[module]), todo))
        made = Path(work) / "loops.so"
        link([*wanted.values()], made)
        return made.replace(folder / file_name())  # I1


def link(objects: list[Path], target: Path) -> None:
    """Link object files with what numba's code asks for at run time."""
    flags = ["-O2", "-fPIC", "-shared", "-s", *(["-Wl,-z,defs"] if sys.platform == "linux" else [])]
    _run([_linker(), *flags, str(HERE / "runtime.c"), *map(str, objects), "-lm", "-o", str(target)], "linked")
    target.chmod(0o755)


def _compile_apart(module: str, target: Path) -> None:
    """Compile one kernel module in a process of its own, for every processor of this kind."""
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")},
        "NUMBA_CPU_NAME": CPU,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    made = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        _run(
            [sys.executable, "-m", "sfumato.core.compiled.translate", module, str(made)],
            f"compiled: {module}",
            settings,
        )
        made.replace(target)  # I1
    finally:
        made.unlink(missing_ok=True)


def _run(command: list[str], done: str, settings: dict[str, str] | None = None) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)  # noqa: S603 - our own command
    if ran.returncode:
        raise CannotBuild(f"the kernels cannot be {done}: {ran.stderr[-2000:]}")


def _part_digest(module: str) -> str:
    """Return the digest of all code that determines the object file of a kernel module."""
    from importlib.metadata import version

    files = [kernel_modules()[one] for one in sorted(_reached(module))]
    code = [
        ast.dump(_without_docstrings(ast.parse(file.read_bytes())))
        for file in (*files, HERE / "__init__.py", HERE / "translate.py")
    ]
    entries = [one for one in signatures() if one[0] == module]
    tools = (CPU, sysconfig.get_platform(), sys.version_info[:2], version("numba"), version("llvmlite"))
    return hashlib.sha256(repr((code, entries, tools)).encode()).hexdigest()[:24]


def _reached(module: str) -> set[str]:
    """Return the kernel module and every kernel module that it imports, directly or not."""
    found, todo = set(), [module]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            imports = [
                node
                for node in ast.walk(ast.parse(kernel_modules()[one].read_bytes()))
                if isinstance(node, ast.ImportFrom)
            ]
            todo += [str(node.module) for node in imports if node.module in kernel_modules()]
    return found


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if hasattr(node, "body") and isinstance(node.body, list):
            node.body = [
                one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
    return tree


def warm_up() -> tuple[bool, str]:
    """Build the library where it is missing; return whether it is there now, and a sentence about it."""
    if found := path_of_library():
        return True, f"The compiled kernels are ready, in {found.parent}."
    if lacking := missing():
        return (
            False,
            f"The compiled kernels cannot be built: {lacking}. Kernels run through numba where it is installed.",
        )
    kept = cache_directory()
    if not kept:
        return False, "No private directory is writable: set SFUMATO_CACHE to a directory that only you can write."
    with (Path(kept) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # I2
        if not path_of_library():
            announce("compiling kernels, once, one to two minutes")
            build(Path(kept))
    return True, f"The compiled kernels are ready, in {kept}."


def install() -> Path:
    """Put the library beside the sources, from the user's cache where it is there or can be kept there; return its
    path."""
    warm_up()
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        made = Path(shutil.copy2(path_of_library() or build(Path(folder)), Path(folder) / "copy.so"))
        made.replace(HERE / file_name())  # I1
    for old in set(HERE.glob("loops-*.so")) - {HERE / file_name()}:
        old.unlink(missing_ok=True)
    return HERE / file_name()
