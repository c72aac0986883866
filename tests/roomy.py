"""Where tests put their files: into memory where there is plenty of it, for nothing of theirs has to last."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ENOUGH = 4 << 30
"""Free bytes that make memory plenty."""


def roomy() -> str | None:
    """The folder that lies in memory, if it has room; files are then safe on it as soon as they are written."""
    memory = Path("/dev/shm")
    plenty = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ENOUGH
    return str(memory) if plenty else None
