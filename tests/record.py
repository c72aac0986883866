"""Where the time of a run goes: processor seconds of every folder and of the dearest files.

Counted are the process that ran a test and the children it waited for; servers, browsers and the Java machine run
beside it. Unlike durations these seconds hardly depend on what else the machine does, and they add up to what a run
costs.

Cost: one system call for every phase of a test.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest

FILES = 20
"""How many of the dearest files are named."""
BEFORE = "(every process starts and collects)"
"""What is spent before the first test."""


class Record:
    """What tests have cost; in a run of several processes every one measures, and the first one adds up."""

    def __init__(self) -> None:
        self.before = self.collecting = 0.0
        self.seconds: Counter[str] = Counter()

    def pytest_collection_finish(self) -> None:
        self.before = self.collecting = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """All since the last report belongs to this one, what lies between tests included."""
        report = yield
        now = used()
        report.seconds = now - self.before  # type: ignore[attr-defined]  # travels with the report
        report.collecting = self.collecting  # type: ignore[attr-defined]
        self.before, self.collecting = now, 0.0
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += getattr(report, "seconds", 0.0)
        self.seconds[BEFORE] += getattr(report, "collecting", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Whoever asks for durations is told where the work was, too."""
        if config.getoption("durations") is None:
            return
        terminalreporter.section(f"{sum(self.seconds.values()):.0f} processor seconds, without servers and browsers")
        for depth, most in ((2, None), (None, FILES)):
            tests, seconds = summed(self.seconds, depth)
            for name, spent in seconds.most_common(most):
                terminalreporter.write_line(f"{spent:7.1f} s {tests[name]:5d} tests  {name}")
            terminalreporter.write_line("")


def summed(seconds: Counter[str], depth: int | None) -> tuple[Counter[str], Counter[str]]:
    """How many tests there are in every file or, with a depth, folder, and how many seconds they took."""
    names = {test: "/".join(test.partition("::")[0].split("/")[:depth]) for test in seconds}
    spent: Counter[str] = Counter()
    for test, name in names.items():
        spent[name] += seconds[test]
    return Counter(names.values()), spent


def used() -> float:
    """Processor seconds of this process and of all children it has waited for."""
    return sum(os.times()[:4])
