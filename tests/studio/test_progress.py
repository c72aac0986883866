"""Time that is left: it never grows, a limit is kept, and nothing is said before it can be known."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

from sfumato.core.effort import taking
from sfumato.core.remaining_time import RemainingTime
from sfumato.ui.studio.background_jobs import Desk, Job
from sfumato.ui.studio.project import Project
from tests.studio import work_for_the_desk as work

RECORDED = {
    # (seconds, share) as a publication of 50,000 rows with 18 quasi-identifiers told them: it crawls, then leaps
    "publish": [
        (0.5, 0.0),
        (3, 0.02),
        (9, 0.03),
        (30, 0.09),
        (34, 0.11),
        (60, 0.14),
        (120, 0.21),
        (336, 0.5),
        (340, 0.97),
    ],
    "explore": [(2, 0.0), (36, 0.05), (40, 0.1), (41, 0.15), (55, 0.2), (90, 0.25), (104, 0.5)],
    "why": [(1, 0.0), (76, 0.0), (80, 0.2), (130, 0.4), (131, 0.6), (190, 0.8)],
}


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("limit", [None, 60.0])
def test_recorded_work_is_never_told_to_take_longer(name: str, limit: float | None) -> None:
    clock, last = RemainingTime(limit), None
    for spent, share in RECORDED[name]:
        left = clock.left(share, spent)
        if last is not None:
            assert left is not None and left <= last
        if limit is not None:
            assert left is not None and left <= max(limit - spent, 0) + 1e-9
        last = left
    assert last is not None  # something was said in the end


def test_whatever_the_shares_are_the_time_left_shrinks_with_the_clock() -> None:
    rng = random.Random(3)
    for _ in range(300):
        clock, spent, share, ends = RemainingTime(), 0.0, 0.0, []
        for _ in range(40):
            spent += rng.expovariate(1)
            share = min(1.0, share + rng.choice((0, 0.001, 0.05, 0.3)) * rng.random())
            left = clock.left(share, spent)
            if left:
                ends.append(spent + left)
        assert all(later <= earlier + 1e-6 for earlier, later in itertools.pairwise(ends))


def test_even_work_is_estimated_as_it_is() -> None:
    clock = RemainingTime()
    for spent in range(2, 20):
        assert clock.left(spent / 20, spent) == pytest.approx(20 - spent, rel=0.1) or spent < 2


def test_a_job_that_began_before_its_share_is_known_says_nothing() -> None:
    assert Job("publishing", "people.yaml").to_json()["left"] is None


def test_a_limit_takes_the_best_result_so_far(tmp_path: Path) -> None:
    desk = Desk(Project.open(tmp_path))
    job = desk.start(work.until_taken, "publishing", "people.yaml", limit=1.0)
    end = time.monotonic() + 60
    while job.state == "running":
        assert time.monotonic() < end
        assert (job.to_json()["left"] or 0) <= 1
        time.sleep(0.05)
    desk.close()
    assert job.state == "done" and job.result == "taken"
    assert not taking()
