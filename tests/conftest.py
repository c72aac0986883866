"""Where the shared data is, and how tests that need it skip when it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the shared data (../shared) is not on this machine")
    return SHARED
