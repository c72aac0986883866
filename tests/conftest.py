"""Which data tests run on, and in which order everything ran.

`shared` is the folder of public data beside the repository and, always, one of our own making (`tests/stand_in`): a test that takes
it runs on both, or on ours alone where there is no other. Figures of the public data are asserted where `is_public` says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stand_in import make

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session", params=["public", "ours"] if SHARED.is_dir() else ["ours"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SHARED if request.param == "public" else make(tmp_path_factory.mktemp("stand-in") / "shared")


@pytest.fixture(scope="session")
def is_public(shared: Path) -> bool:
    return shared == SHARED


@pytest.fixture(scope="session")
def public() -> Path:
    if not SHARED.is_dir():
        pytest.skip("figures of public data, which is not beside this repository (../shared)")
    return SHARED


def pytest_report_header() -> str:
    public = "the public data in ../shared, and " if SHARED.is_dir() else ""
    return f"data: {public}our own (tests/stand_in)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tests run in random order; this repeats it."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"the order of this run: --randomly-seed={seed}")
