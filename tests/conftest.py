"""Which data tests run on, where their files lie, and in which order everything ran.

`shared` is the folder of public data beside the repository and, always, one of our own making (`tests/stand_in`): a
test that takes it runs on both, or on ours alone where there is no other. Figures of the public data are asserted where
`is_public` says so."""

from __future__ import annotations

import gc
import os
import re
import tempfile
from collections import OrderedDict
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.examples import Examples
from tests.record import Record
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
    return SHARED if request.param == "public" else _ours(tmp_path_factory.getbasetemp() / "stand-in" / "shared")


@cache
def _ours(folder: Path) -> Path:
    """Made once in a process, however often tests change between the two."""
    return make(folder)


@pytest.fixture(scope="session")
def is_public(shared: Path) -> bool:
    return shared == SHARED


@pytest.fixture(scope="session")
def public() -> Path:
    if not SHARED.is_dir():
        pytest.skip("figures of public data, which is not beside this repository (../shared)")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def few_attempts() -> None:
    """On small tables a release that continues others is searched for two dozen times, for the sake of its loss alone.

    Twice is enough to find out what else is wrong with one; `make slow` and processes of their own search as often as
    ever."""
    from sfumato.kinds.tables.methods import local_search
    from tests.slow import SLOW

    if not SLOW:
        local_search._ATTEMPTS = 1


SESSIONS = {"submitted": "a cluster", "spark": "a session", "written": "a session", "series": "a session"}
"""What tests take that need Spark, and where they run: all in one session, for a second one would have to get warm
again."""
DEAR = (
    "a cluster",
    "a session",
    "tests/studio/test_stories.py",
    "studio",
    "forms",
    "blueprint",
    "tests/databases/test_three_shops.py",
    "tests/house/test_adult.py",
    "tests/databases/test_discover_databases.py",
    "tests/house/test_contract.py",
    "tests/databases/test_target_modes.py",
    "tests/graphs/test_real_graphs.py",
    "tests/graphs/test_recovery.py",
    "tests/risk/test_by_definition.py",
    "tests/recoding/test_given.py",
    "tests/patterns/test_crossing.py",
    "tests/recoding/test_soundness.py",
    "tests/databases/test_foreign_databases.py",
    "tests/house/test_soundness.py",
    "tests/obfuscation/test_variety.py",
    "tests/optimal/test_least_loss.py",
    "tests/trust/test_infeasible.py",
    "tests/obfuscation/test_uniform.py",
    "tests/patterns/test_release.py",
    "tests/graph_degrees/test_degree_publishing.py",
    "tests/floor/test_agreement.py",
    "tests/databases/test_killed_everywhere.py",
    "tests/databases/test_interrupted.py",
    "tests/sequential/test_ledger.py",
    "tests/databases/test_cut_off.py",
    "tests/people/test_people_by_enumeration.py",
    "tests/graphs/test_attacks.py",
    "tests/optimal/test_never_worse.py",
    "tests/attacks/test_adult_attacks.py",
    "tests/sequential/test_enumeration.py",
)
"""What takes longest begins first, whatever the order of the rest: while the last one ends, the other processes are
idle.

By the processor seconds of a group of tests that run together (`tests/record.py`); those that wait for others come
before. """
WAITING = DEAR[:4]
"""What waits for the Java machine or a browser for a good part of its time: beside it one more process has something to
do."""
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
PORTIONS = 4
"""Into how many pieces a file is cut whose tests share nothing: to hand out every test alone takes longer than most of
them run."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests run in several processes: what is dear is made in one of them, and begins first."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        arranged = False

        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            if not self.arranged:
                self.workqueue = OrderedDict(sorted(self.workqueue.items(), key=lambda unit: turn(unit[0])))
                self.arranged = True
            super()._assign_work_unit(node)

        def _reschedule(self, node: Any) -> None:
            if self._one_too_many(node):
                node.shutdown()  # it ends with what it has
            else:
                super()._reschedule(node)

        def _one_too_many(self, node: Any) -> bool:
            """Whether all cores are busy without this process, and nobody waits for anything."""
            others = [one for one in self.nodes if one is not node and not one.shutting_down]
            if node.shutting_down or not self.workqueue or len(others) < CORES:
                return False
            begun = ((name, done) for one in others for name, done in self.assigned_work[one].items())
            waits = any(name in WAITING and not all(done.values()) for name, done in begun)
            return not waits and next(iter(self.workqueue)) not in WAITING

    return Together(config, log)


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8") if file.startswith("tests/") else ""


def _taken(nodeid: str) -> list[str]:
    """The names of what a test takes, as they stand in its file."""
    file, _, test = nodeid.partition("::")
    found = re.search(rf"def {re.escape(test.partition('[')[0])}\((.*?)\) -> None:", _text(file), re.S)
    return re.findall(r"(\w+):", found[1]) if found else []


@cache
def together(nodeid: str) -> str:
    """What a test shares with others and is dear: a session of Spark, the studio's workers, whatever its module
    makes."""
    file = nodeid.partition("::")[0]
    if file.startswith("tests/engines/"):
        session = next((SESSIONS[name] for name in _taken(nodeid) if name in SESSIONS), None)
        if session is not None:
            return session
    if "from tests.studio.opened import" in _text(file) and "def browser" not in _text(file):
        return "studio"
    if "from tests.trust.every_form import" in _text(file) and file.startswith("tests/trust/"):
        return "forms"
    if "from blueprint import" in _text(file):
        return "blueprint"
    once = 'scope="module"' in _text(file) or "from baselines." in _text(file)  # numba compiles those in every process
    return file if once else f"{file}#{crc32(nodeid.encode()) % PORTIONS}"


def turn(group: str) -> int:
    """The place of a group in the queue; all that are not dear come last and stay in their order."""
    name = group.partition("#")[0]
    return DEAR.index(name) if name in DEAR else len(DEAR)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow", action="store_true", help="many more cases, and tests with the marker slow (as SFUMATO_SLOW=1)"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--slow"):
        os.environ["SFUMATO_SLOW"] = "1"  # before `tests.slow` is imported, and for the processes that tests start
    _use_compiled_kernels()
    config.pluginmanager.register(Examples())
    config.pluginmanager.register(Record())


def _use_compiled_kernels() -> None:
    """Build the compiled kernels where they are missing; functions inside of them are interpreted where a test calls
    them alone.

    Where they cannot be built everything runs through numba.
    """
    from sfumato.core.compiled import build

    if not build.missing() and "SFUMATO_LOOPS" not in os.environ:
        if not (build.HERE / build.file_name()).is_file():
            build.install()
        os.environ["SFUMATO_LOOPS"] = "interpreted"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from tests.slow import SLOW

    for item in items:
        if not SLOW and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: pytest --slow"))


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests are never looked through again


def pytest_report_header() -> str:
    public = "the public data in ../shared, and " if SHARED.is_dir() else ""
    return f"data: {public}our own (tests/stand_in)"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tests run in random order; this repeats it."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"the order of this run: --randomly-seed={seed}")
