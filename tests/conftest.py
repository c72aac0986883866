"""Which data tests run on, where their files lie, and in which order everything ran.

`shared` is the folder of public data beside the repository and, always, one of our own making (`tests/stand_in`): a test that takes
it runs on both, or on ours alone where there is no other. Figures of the public data are asserted where `is_public` says so.
"""

from __future__ import annotations

import gc
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.roomy import roomy
from tests.stand_in import make

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

gc.set_threshold(50_000, 20, 20)  # thousands of modules and tests are there to stay; to look through them often is dear
if "TMPDIR" not in os.environ and (memory := roomy()):
    os.environ["TMPDIR"] = memory  # for the processes that tests start, too
    tempfile.tempdir = None


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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests run in several processes: what is dear is made in one of them."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    return Together(config, log)


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8") if file.startswith("tests/") else ""


def together(nodeid: str) -> str:
    """What a test shares with others and is dear: the session of Spark, the sheets of the blueprint, whatever its module makes."""
    file = nodeid.partition("::")[0]
    if file.startswith("tests/engines/"):
        return "spark"
    if "from blueprint import" in _text(file):
        return "blueprint"
    return file if 'scope="module"' in _text(file) else nodeid


def pytest_report_header() -> str:
    public = "the public data in ../shared, and " if SHARED.is_dir() else ""
    return f"data: {public}our own (tests/stand_in)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tests run in random order; this repeats it."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"the order of this run: --randomly-seed={seed}")
