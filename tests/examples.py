"""Examples in docstrings are looked for only in files that have some.

Otherwise every process imports every file of the house before its first test, and looks through all names in it.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule


class Examples:
    """Whatever pytest finds in a file, without examples that cannot be there."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        return [
            one for one in found if not isinstance(one, DoctestModule) or ">>>" in file_path.read_text(encoding="utf-8")
        ]
