from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.data.baskets import Baskets

SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the shared data is not at ../shared")
    return SHARED


@pytest.fixture
def sports() -> Baskets:
    """Table 3.1."""
    rows = [
        ["jogging", "swimming"],
        ["swimming", "tennis"],
        ["jogging", "swimming", "soccer"],
        ["swimming", "tennis", "soccer"],
        ["jogging", "swimming", "tennis"],
        ["jogging", "tennis", "soccer"],
    ]
    creed = ["Christian", "Christian", "Muslim", "Buddhist", "Buddhist", "Muslim"]
    return Baskets.of(rows, {"religion": creed}, names=["jogging", "swimming", "tennis", "soccer"])
