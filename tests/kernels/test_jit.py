"""The guard around the compiler: lazily loaded, and working where nothing can be written."""

import os
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"


def python(code, **environment):
    settings = {**os.environ, "PYTHONPATH": str(SRC), **environment}
    return subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True).stdout


def test_the_compiler_is_not_loaded_with_the_package():
    assert python("import sys, sfumato, sfumato.kernels; print('numba' in sys.modules)").strip() == "False"


def test_a_kernel_computes_what_its_source_says():
    from sfumato.kernels import jit

    def double(x):
        return x + x

    assert jit(double)(21) == 42
    assert jit(fastmath=True)(double)(1.5) == 3.0


def test_a_kernel_compiles_where_no_cache_can_be_kept():
    """Source without a file has no place for a cache; the guard compiles all the same."""
    code = (
        "from sfumato.kernels import jit\n"
        "scope = {}\n"
        "exec(compile('def triple(x): return 3 * x', '/nonexistent/kernel.py', 'exec'), scope)\n"
        "print(jit(scope['triple'])(5))\n"
        "from numba import njit\n"
        "try: njit(cache=True)(scope['triple'])\n"
        "except RuntimeError: print('refused')"
    )
    assert python(code).split() == ["15", "refused"]

