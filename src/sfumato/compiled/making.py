"""Making the library of loops: translate the kernels, hand the text to the C++ compiler that is there, keep what comes out.

Only the standard library is needed, because this also runs while Sfumato is being installed.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

from sfumato.compiled.kept import digest


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
    from sfumato.compiled.library import text

    target = folder / file_name()
    compile_text(text()[0], target)
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
