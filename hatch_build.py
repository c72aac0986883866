"""Build the library of compiled kernels while Sfumato is being installed or packed into a wheel.

The library is kept in the user's cache: another clone of the same sources takes it from there. Where it cannot be built (no C
compiler) the package is built without it, and kernels run through numba (``sfumato[compiler]``).
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parent / "src"


class KernelsHook(BuildHookInterface):
    """Called by hatchling before it collects the files of the package."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        sys.path.insert(0, str(SOURCE))
        from sfumato.core.compiled import build

        try:
            made = build.install()
        except build.CannotBuild as problem:
            self.app.display_warning(f"kernels are left to numba at run time (pip install 'sfumato[compiler]'): {problem}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["artifacts"].append(f"src/sfumato/core/compiled/{made.name}")
