"""The guard around the compiler: lazily loaded, never stale, and working where nothing can be written."""

import os
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
TRIPLE = """
from sfumato import compiled
scope = {}
exec(compile('def triple(x): return 3 * x', '%s', 'exec'), scope)
print(compiled.jit(scope['triple'])(5), bool(compiled._cache_directory()))
"""


def python(code, **environment):
    settings = {**os.environ, "PYTHONPATH": str(SRC), **environment}
    return subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True).stdout


def test_the_compiler_is_not_loaded_with_the_package():
    assert python("import sys, sfumato, sfumato.compiled; print('numba' in sys.modules)").strip() == "False"


def test_a_kernel_computes_what_its_source_says():
    from sfumato.compiled import jit

    def double(x):
        return x + x

    assert jit(double)(21) == 42
    assert jit(fastmath=True)(double)(1.5) == 3.0


def test_a_kernel_compiles_where_no_directory_can_be_written(tmp_path):
    """A path below a file can never be made, whoever asks."""
    obstacle = tmp_path / "file"
    obstacle.write_text("")
    guarded = TRIPLE % (SRC / "sfumato/compiled.py")
    assert python(guarded, NUMBA_CACHE_DIR=str(obstacle), XDG_CACHE_HOME=str(obstacle)).split() == ["15", "False"]


def test_a_kernel_without_a_source_file_compiles(tmp_path):
    assert python(TRIPLE % "/nonexistent/kernel.py", NUMBA_CACHE_DIR=str(tmp_path)).split() == ["15", "True"]


def test_kept_code_belongs_to_the_sources(tmp_path):
    """Another set of sources gets another directory."""
    package = tmp_path / "sfumato" / "kernels"
    package.mkdir(parents=True)
    (tmp_path / "sfumato" / "__init__.py").write_text("")
    (tmp_path / "sfumato" / "compiled.py").write_text((SRC / "sfumato/compiled.py").read_text())
    directories = set()
    for extra in ("one = 1", "two = 2"):
        (package / "other.py").write_text(extra)
        code = "from sfumato import compiled; print(compiled._cache_directory())"
        directories.add(python(code, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "kept")))
    assert len(directories) == 2
