"""The Adult tables of the benchmarks, for tests."""

import runpy
from pathlib import Path

_tables = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "adult.py"))
QUASI, TABLE_6, WEIGHTS = (_tables[name] for name in ("QUASI", "TABLE_6", "WEIGHTS"))
adult, ntil, problem = (_tables[name] for name in ("adult", "ntil", "problem"))
