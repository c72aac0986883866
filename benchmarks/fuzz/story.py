"""One case: what is published, and everything that happens to it."""

from __future__ import annotations

import csv
import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.spoiling import Spoiling, spoilings
from benchmarks.fuzz.tally import Tally
from sfumato.release.certificate import Finding
from sfumato.release.folder import provenance_path
from tests.secret import secret

Rows = list[dict[str, str]]
NEED_THE_TRACE = ("rules left open", "rules of the policy left open", "people")
"""What is left open where nobody knows which row was which record; the trace of these forms is not kept."""
LONGEST = 60
"""Seconds of CPU time after which a case of so few records hangs."""


class Hangs(Exception):
    """Something took longer than it ever should."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails rather than works for so many seconds of CPU time, or waits ten times as long; a busy machine is no
    hang."""

    def late(*_: object) -> None:
        raise Hangs(f"no answer in {seconds:g} seconds")

    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, 10 * seconds)}
    before = {number: signal.signal(number, late) for number in clocks}
    outer = {clock: signal.setitimer(clock, limit)[0] for clock, limit in clocks.values()}
    try:
        yield
    finally:
        for number, (clock, _) in clocks.items():
            signal.setitimer(clock, outer[clock])
            signal.signal(number, before[number])


@dataclass
class Story:
    """A policy with its data; `original` is what `verify` is given, `records` what a judge looks at."""

    tree: dict[str, Any]
    data: Any
    original: Any
    records: Any
    method: str
    known: dict[str, Any] = field(default_factory=dict)
    """What a judge keeps of a release that it cannot read off the folder, such as who stands behind which row."""


class Kind:
    """A kind of release: how cases are drawn and judged."""

    name: ClassVar[str]
    weight: ClassVar[float] = 1.0
    """How much of the time it gets."""
    form: ClassVar[str]

    def draw(self, rng: random.Random, place: Path) -> Story:
        """A random case."""
        raise NotImplementedError

    def judge(self, story: Story, folder: Path) -> list[str]:
        """Everything that is wrong with the published files, by the definitions."""
        raise NotImplementedError

    def refused_falsely(self, story: Story) -> str:
        """Why a refusal as infeasible is false; empty when it is right, or nobody knows."""
        return ""

    def release_exists(self, story: Story) -> str:
        """Why it is false that no release exists, where that was said as proven; empty where nobody knows."""
        return ""

    def learn(self, story: Story, made: sf.Publication) -> None:
        """Keep what the judge needs to know."""

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        """One case from the draw to the spoilings."""
        story = self.draw(rng, place)
        made = self.published(story, tally, rng)
        if made is None:
            return
        self.learn(story, made)
        folder = made.write(place / "out", report=rng.random() < 0.01)
        said = self.judge(story, folder)
        tally.judged(self.form, story.method)
        tally.violations(said)
        self.alarms(rng, story, folder, tally)
        for spoiling in spoilings(rng, self.form, 0.1):
            self.spoil(spoiling, rng, story, folder, tally)

    def published(self, story: Story, tally: Tally, rng: random.Random) -> sf.Publication | None:
        tally.count_one("tried")
        try:
            return self.publication(sf.Policy.parse(story.tree), story, secret(rng.getrandbits(60)))
        except sf.Infeasible as error:
            tally.refused("infeasible", story.method)
            tally.false_refusal(self.refused_falsely(story), str(error))
            if type(error) is sf.Infeasible:
                tally.false_refusal(self.release_exists(story), str(error))
        except (sf.PolicyError, sf.DataError) as error:
            tally.refused(type(error).__name__, story.method)
        return None

    def publication(self, policy: sf.Policy, story: Story, seed: int | None) -> sf.Publication:
        return sf.publish(policy, data=story.data, seed=seed)

    def alarms(self, rng: random.Random, story: Story, folder: Path, tally: Tally) -> None:
        """A good release that is called bad, with or without the original; `publish` itself has looked at all of
        them."""
        if rng.random() < 0.15:
            tally.alarm("alone", told(folder, None))
        if rng.random() < 0.3:
            tally.alarm("with the original", told(folder, story.original, whole=True))

    def spoil(self, spoiling: Spoiling, rng: random.Random, story: Story, folder: Path, tally: Tally) -> None:
        """Plant a spoiling into a copy; what the judge finds wrong, or what is wrong by construction, must be found."""
        copy = folder.with_name("spoilt")
        shutil.copytree(folder, copy)
        if provenance_path(folder).exists():
            shutil.copy(provenance_path(folder), provenance_path(copy))
        try:
            said = spoiling.plant(rng, copy, story)
            if said and (spoiling.certain or self.judge_spoilt(story, copy)):
                tally.spoilt(self.form, spoiling.name, said, bool(told(copy, None)) or bool(told(copy, story.original)))
        finally:
            shutil.rmtree(copy, ignore_errors=True)
            provenance_path(copy).unlink(missing_ok=True)

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """A judge may stumble over what is no release at all; that is a finding, too."""
        try:
            return self.judge(story, folder)
        except (LookupError, ValueError, ArithmeticError, TypeError, AttributeError, AssertionError) as error:
            return [type(error).__name__]


def _needs_the_trace(finding: Finding) -> bool:
    return finding.model in NEED_THE_TRACE or "private trace" in finding.reason


def told(folder: Path, original: Any, *, whole: bool = False) -> list[str]:
    """What `verify` finds wrong; with `whole` also what it leaves open."""
    try:
        verdict = sf.verify(folder, original=original)
    except sf.SfumatoError as error:
        return [f"unreadable: {error.what}"]
    wrong = [f"{finding.model}: {finding.reason}" for finding in verdict.findings if not finding.holds]
    left = [finding for finding in verdict.findings if whole and finding.open and not _needs_the_trace(finding)]
    return wrong + [f"{finding.model} is left open: {finding.reason}" for finding in left]


def rows_of(file: Path) -> Rows:
    """The lines of a published file as a reader without the product sees them."""
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines, strict=True))


def columns_of(records: Rows) -> dict[str, list[Any]]:
    return {name: [record[name] for record in records] for name in records[0]}
