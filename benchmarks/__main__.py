"""Run a benchmark by its name: ``python -m benchmarks effort``; without a name, list them."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent

if __name__ == "__main__":
    names = sorted(file.stem for file in HERE.glob("*.py") if not file.stem.startswith("_"))
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        sys.exit("usage: python -m benchmarks NAME …\n" + "\n".join(f"  {name}" for name in names))
    sys.path.insert(0, str(HERE))
    del sys.argv[0]
    runpy.run_module(f"benchmarks.{sys.argv[0]}", run_name="__main__", alter_sys=True)
