"""The modules that stand beside the tests, and the Adult tables of the benchmarks."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

_spec = importlib.util.spec_from_file_location("benchmarks_adult", HERE.parents[1] / "benchmarks" / "adult.py")
assert _spec
assert _spec.loader
_module = importlib.util.module_from_spec(_spec)
sys.modules["benchmarks_adult"] = _module
_spec.loader.exec_module(_module)
