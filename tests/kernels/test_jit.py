"""The guard around the compiler: lazily loaded, never stale, and working where nothing can be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
TRIPLE = """
from sfumato.core import compiled
from sfumato.core.compiled import cache
scope = {'__name__': 'somewhere'}
exec(compile('def triple(x): return 3 * x', '%s', 'exec'), scope)
print(compiled.jit(scope['triple'])(5), bool(cache.cache_directory()))
"""


def python(code, **environment):
    settings = {**os.environ, "PYTHONPATH": str(SRC), "SFUMATO_LOOPS": "", **environment}
    return subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True).stdout


def test_the_compiler_is_not_loaded_with_the_package():
    code = "import sys, sfumato.core.compiled, sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding; print('numba' in sys.modules)"  # noqa: E501
    assert python(code).strip() == "False"


@pytest.mark.parametrize("way", ["numba", "interpreted"])
def test_a_kernel_computes_what_its_source_says(way, monkeypatch):
    from sfumato.core.compiled import jit

    monkeypatch.setenv("SFUMATO_LOOPS", way)

    def double(x):
        return x + x

    assert jit(double)(21) == 42
    assert jit(fastmath=True)(double)(1.5) == 3.0


def test_a_kernel_compiles_where_no_directory_can_be_written(tmp_path):
    """A path below a file can never be made, whoever asks."""
    obstacle = tmp_path / "file"
    obstacle.write_text("")
    guarded = TRIPLE % (SRC / "sfumato/core/compiled/__init__.py")
    assert python(guarded, NUMBA_CACHE_DIR=str(obstacle), XDG_CACHE_HOME=str(obstacle)).split() == ["15", "False"]


def test_a_kernel_without_a_source_file_compiles(tmp_path):
    assert python(TRIPLE % "/nonexistent/kernel.py", NUMBA_CACHE_DIR=str(tmp_path)).split() == ["15", "True"]


def test_bounds_are_checked_on_demand_whatever_was_kept_before(tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import numpy as np\nfrom sfumato.core.compiled import jit\n"
        "@jit\ndef beyond(values, at):\n    return values[at]\n"
        "try:\n    beyond(np.zeros(3), 3)\n    print('unnoticed')\nexcept IndexError:\n    print('noticed')\n"
    )
    code = f"import runpy; runpy.run_path({str(kernel)!r}, run_name='kernel')"
    kept = {"SFUMATO_LOOPS": "numba", "SFUMATO_CACHE": str(tmp_path / "kept")}
    assert [python(code, NUMBA_BOUNDSCHECK=check, **kept).strip() for check in ("0", "1", "0")] == [
        "unnoticed",
        "noticed",
        "unnoticed",
    ]
    assert list((tmp_path / "kept").rglob("*.nbc"))


def test_kept_code_belongs_to_the_sources(tmp_path):
    """Another set of kernels gets another directory, however deep their folder lies."""
    package, kernels = tmp_path / "sfumato", tmp_path / "sfumato" / "kinds" / "family" / "kernels"
    kernels.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    shutil.copytree(SRC / "sfumato/core/compiled", package / "core" / "compiled")
    (package / "core" / "__init__.py").write_text("")
    directories = set()
    for extra in ("one = 1", "two = 2"):
        (kernels / "other.py").write_text(extra)
        code = "from sfumato.core.compiled import cache; print(cache.cache_directory())"
        directories.add(python(code, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "kept")))
    assert len(directories) == 2
    assert all(str(tmp_path / "kept") in directory for directory in directories)


def test_code_is_not_taken_from_where_others_can_write(tmp_path):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    code = "from sfumato.core.compiled import cache; print(cache.cache_directory() or 'nowhere')"
    found = python(code, SFUMATO_CACHE=str(open_to_all / "below"), XDG_CACHE_HOME=str(open_to_all))
    assert found.strip() == "nowhere"


def test_a_read_only_directory_that_was_filled_is_still_read(tmp_path):
    code = (
        "from sfumato.core.compiled import cache; from pathlib import Path; import os\n"
        "directory = Path(cache.cache_directory()); directory.chmod(0o500); cache.cache_directory.cache_clear()\n"
        "print(directory in cache.cache_directories_to_read())"
    )
    assert python(code, SFUMATO_CACHE=str(tmp_path / "kept"), XDG_CACHE_HOME=str(tmp_path / "own")).strip() == "True"


def test_warm_up_says_what_is_ready_and_what_is_missing(tmp_path):
    from click.testing import CliRunner

    from sfumato.core.compiled import build
    from sfumato.ui.cli.warm_up import command

    runner = CliRunner()
    assert runner.invoke(command, []).exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "path_of_library", lambda: None)
        patch.setattr(build, "missing", lambda: "numba is not installed (pip install 'sfumato[compiler]')")
        refused = runner.invoke(command, [])
        assert refused.exit_code == 7
        assert "sfumato[compiler]" in refused.output
        patch.setattr(build, "missing", str)
        patch.setattr(build, "cache_directory", lambda: "")
        assert "SFUMATO_CACHE" in runner.invoke(command, []).output
        patch.setattr(build, "cache_directory", lambda: str(tmp_path))
        patch.setattr(build, "build", lambda folder: folder / "no-such-library.so")
        done = runner.invoke(command, ["--json"])
        assert done.exit_code == 0
        assert str(tmp_path) in done.output
