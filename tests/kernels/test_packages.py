"""The wheel and the sdist: built, installed without numba and without a compiler, and used."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest

from sfumato.core.compiled import build, native

ROOT = Path(__file__).parents[2]
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")
pytestmark = pytest.mark.slow


def run(*command: object, **settings: str) -> str:
    done = subprocess.run(
        [str(one) for one in command],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was built from an sdist that was built from a copy of what the repository tracks."""
    folder = tmp_path_factory.mktemp("packages")
    tracked = run("git", "-C", ROOT, "ls-files", "-z").split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, folder / "source")
    return folder


@pytest.mark.skipif(bool(build.missing()), reason="no library can be built")
def test_the_wheel_is_for_every_python_of_this_platform_and_has_the_library(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.endswith(f"-py3-none-{PLATFORM}.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert f"sfumato/core/compiled/{native.file_name()}" in packed.namelist()


def test_the_sdist_has_what_a_build_needs_and_no_library(folder: Path) -> None:
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {
        "hatch_build.py",
        "src/sfumato/core/compiled/runtime.c",
        "src/sfumato/core/compiled/signatures.txt",
    } <= names
    assert not [name for name in names if name.endswith(".so")]


@pytest.mark.skipif(bool(build.missing()), reason="no library can be built")
def test_an_installed_wheel_needs_neither_numba_nor_a_compiler(folder: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel)
    site = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    (site / "libraries.pth").write_text(f"{distribution('numpy').locate_file('')}\n")
    code = (
        "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None; import sfumato; print(sfumato.__file__)\n"
    )
    code += "from sfumato.ui.cli import main; sys.argv[1:1] = ['demo', '--out']; main()"
    nowhere = str(folder / "source" / "README.md")
    settings = {
        "PATH": str(folder),
        "PYTHONPATH": "",
        "SFUMATO_LOOPS": "native",
        "SFUMATO_CACHE": nowhere,
        "XDG_CACHE_HOME": nowhere,
    }
    said = run(python, "-I", "-c", code, folder / "out", **settings)
    assert said.startswith(str(site))
    assert (folder / "out").is_dir()


def test_numba_is_no_requirement_of_an_ordinary_installation() -> None:
    assert not [
        one for one in requires("sfumato") or [] if one.startswith(("numba", "llvmlite")) and "extra" not in one
    ]
