"""Makes the library of compiled loops while Sfumato is being installed or packed into a wheel.

The compiler is the one of this machine, or, where there is none, the one that comes as a Python package. Where neither can be
had the package is built without the library, and loops run through numba (``sfumato[compiler]``).
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parent / "src"


class LoopsHook(BuildHookInterface):
    """Called by hatchling before it collects the files of the package."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _making().compiler() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        folder = SOURCE / "sfumato" / "core" / "compiled"
        making = _making()
        for old in folder.glob("loops-*.so"):
            old.unlink()
        try:
            made = making.build(folder)
        except (OSError, RuntimeError, IndexError) as problem:
            self.app.display_warning(f"inner loops are left to numba: {problem}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["artifacts"].append(f"src/sfumato/core/compiled/{made.name}")


def _making() -> Any:
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))
    from sfumato.core.compiled import build

    return build
