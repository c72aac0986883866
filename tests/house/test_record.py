"""The record of a run adds up: by folder, by file, and nothing is lost."""

from collections import Counter

import pytest

from tests.record import BEFORE, Record, summed, used

SPENT = Counter(
    {
        "tests/a/test_x.py::one": 1.0,
        "tests/a/test_x.py::two[a/b]": 2.0,
        "tests/a/test_y.py::one": 4.0,
        "src/b/c.py::c": 8.0,
    }
)


def test_seconds_and_tests_by_folder_and_by_file() -> None:
    assert summed(SPENT, 2) == (Counter({"tests/a": 3, "src/b": 1}), Counter({"tests/a": 7.0, "src/b": 8.0}))
    tests, seconds = summed(SPENT, None)
    assert (tests["tests/a/test_x.py"], seconds["tests/a/test_x.py"]) == (2, 3.0)


def test_what_was_spent_before_the_first_test_is_told_apart_and_only_once() -> None:
    record = Record()
    record.pytest_collection_finish()
    before = record.before
    for when in ("setup", "call"):
        report = pytest.TestReport("tests/a/test_x.py::one", ("", 0, ""), {}, "passed", None, when)
        measuring = record.pytest_runtest_makereport()
        next(measuring)
        with pytest.raises(StopIteration) as end:
            measuring.send(report)
        record.pytest_runtest_logreport(end.value.value)
    assert record.seconds[BEFORE] == before <= used()
    assert record.seconds["tests/a/test_x.py::one"] == pytest.approx(record.before - before)
