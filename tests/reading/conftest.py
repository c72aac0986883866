"""A place for files that hundreds of examples write, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def one_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples: to make a new one, pytest looks through all that were made before."""
    return tmp_path_factory.mktemp("examples")
