"""A method: arranges the data so that its reading will be good. It returns a `Release` or raises `Infeasible`, and
never certifies itself.

A new method is one file in this folder with one class. Its declared fields are what may stand under ``method:`` in a
policy.


Methods
-------
Methods: arrange the data so that its reading will be good. A street of families, each a folder with a page of its own.

====================  ============================================================
`methods`            one table, its quasi-identifiers written more coarsely
`methods`           several tables, each exact, that keep rules between columns
`methods`           new values that obey rules, for tables and whole databases
`baskets`             set-valued records
`methods`              who knows whom
`methods`           the same people again
====================  ============================================================

`method` is what a method is; `constraint_solver` is the only home of the constraint solver.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from sfumato.core.effort import EFFORTS, Effort, SearchCourse
from sfumato.core.randomness import Randomness
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.past_releases import History
from sfumato.release.release import Release

Progress = Callable[[float, str], None]


def no_progress(done: float, what: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a method: the policy, the data, a random generator, and a working directory."""

    policy: Policy
    data: Any
    randomness: Randomness = field(default_factory=Randomness)
    jobs: int = 1
    progress: Progress = no_progress
    history: History | None = None
    """Earlier releases of the same data, when there is a ledger."""
    unfinished: Path | None = None
    """A private file in which long work may keep what it has, to go on after it was stopped."""
    refreshed: Any = None
    """The view of the last release, when unchanged rows are to keep what was published for them."""
    waiting: int = 0
    """How many of those who were never published may be left for a later release."""
    withheld: int = 0
    """How many records are left out already, because of earlier releases."""


class Method(BaseModel):
    """How a release is made."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: ClassVar[str]
    form: ClassVar[type[Form]]
    """The form of release it makes; the audit has a reading for it."""
    paper: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    """The kinds of data it works on."""

    keeps_rules: ClassVar[bool] = False
    """Whether it makes the rules under ``keep:`` true in what it publishes."""
    remembers: ClassVar[bool] = False
    """Whether it takes earlier releases into account, as every claim needs once there is a ledger."""

    counts_people: ClassVar[bool] = False
    """Whether it protects persons with several rows; other methods refuse a policy with `person:`."""
    links_rows: ClassVar[bool] = False
    """Whether it publishes something that ties the rows of a person together."""

    reads: ClassVar[frozenset[str]] = frozenset()
    """Keys of a policy that have an effect because of this method, as `Source.reads` names them; others do not read
    them."""

    hides_combinations: ClassVar[bool] = False
    """Whether it keeps requirements on the joint distribution of several sensitive columns
    (`PrivacyRequirement.needs_joint`)."""

    codes: ClassVar[bool] = False
    """Whether it writes quasi-identifiers by the leaves of their hierarchies, so that coded values are never shown as
    they are."""
    for_series: ClassVar[bool] = False
    """Whether it is made for one more release of what was published before; then the planner takes it when there is a
    ledger."""

    on_classes: ClassVar[bool] = False
    """Whether it works on classes with counts, so that rows may lie elsewhere; others must have the rows."""
    by_region: ClassVar[bool] = False
    """Whether regions of a table may be solved apart from each other, each by this method."""
    cuts_as_regions: ClassVar[bool] = False
    """Whether it would itself begin with the cuts that make regions, so that even the smallest are best solved
    apart."""

    minimal: ClassVar[bool] = False
    """Whether it writes values no more coarsely than it must; then what is published also says what would not have been
    safe."""

    shares: ClassVar[Mapping[Effort, float]] = {"quick": 0.1, "balanced": 1.0, "thorough": 3.0}
    """How much of the usual time a search takes under each effort, where the policy does not state seconds."""

    @abstractmethod
    def refusal(self, policy: Policy) -> str:
        """Why this method cannot serve the policy, told before any data is read; empty when it can."""

    def unremembered(self, policy: Policy) -> str:
        """Why a ledger cannot keep what it would publish under this policy, or it cannot go on with one; empty when it
        can."""
        if not self.form.remembered:
            return (
                f"a ledger cannot keep a {self.form.name}, so the next release could not be judged with it; publish"
                " without one"
            )
        if not self.remembers:
            return "it does not look at earlier releases, and every claim is about all of them together"
        return ""

    def after(self, policy: Policy, history: History, data: Any = None) -> list[str]:
        """What earlier releases mean for what it would do, in sentences; `Infeasible` when they leave nothing to
        publish."""
        return []

    def read_keys(self) -> frozenset[str]:
        """The keys of `reads` that have an effect with these parameters."""
        return self.reads

    def rows_for(self, policy: Policy) -> str:
        """Why it must have rows, on a cluster and only classes with counts come here; empty when classes will do."""
        return "" if self.on_classes else f"{self.name} needs rows, not classes with counts"

    @abstractmethod
    def run(self, task: Task) -> Release:
        """The release, or `Infeasible` with the reason."""

    def preference(self, records: int | None) -> tuple[int, str]:
        """How much this method wants to be the default for so many records (0: never asked for by itself), and why."""
        return 0, "it is the only one that can"

    def seconds_of_search(self, policy: Policy, thorough: float) -> float:
        """Return how long a search may take: what the policy says of this method, or the share of `thorough` for its
        effort."""
        said: float | None = getattr(self, "seconds", None) if "seconds" in self.model_fields_set else None
        return said if said is not None else self.shares[policy.effort] * thorough

    def search_told(self, policy: Policy, usual: float) -> list[str]:
        """Return in a sentence how long a search takes under each effort, given what is usual."""
        said: float | None = getattr(self, "seconds", None) if "seconds" in self.model_fields_set else None
        if said is not None:
            return [f"search time: at most {said:g} s of one core"]
        told = ", ".join(f"{effort} {self.shares[effort] * usual:.2g} s" for effort in EFFORTS)
        return [f"effort: {policy.effort} (search time on one core, at most: {told})"]

    def effort_of_trial(self, policy: Policy) -> Effort:
        """Return the effort with which a trial run takes little time."""
        return "quick"

    def seconds_of_trial(self, policy: Policy, records: int) -> float:
        """Return the most work that a trial of watched searches may do, so that it shows what the policy asks for."""
        return float("inf")

    def expected_cost(self, course: SearchCourse, effort: Effort) -> tuple[float, bool]:
        """Return what a watched search costs with an effort, and whether that was reached rather than estimated."""
        return course.steps[-1][1], False

    def usual_jobs(self) -> int:
        """How many jobs it takes when nobody says: one, unless it shares memory and more of them cost nothing."""
        return 1

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        """What this method would do, in sentences; more can be said when the data is at hand."""
        return []

    def finds_out(self) -> bool:
        """Whether requirements are not made true but found to be true, or not, of what it made: one that fails is then
        no defect."""
        return False

    def doubts(self, policy: Policy, data: Any) -> list[str]:
        """What the rules may come to be broken by, in sentences that `describe` says, too; then a refusal is no
        defect."""
        return []

    def picture(self, policy: Policy) -> str:
        """What can be had, as an SVG, for methods whose choice is a curve; empty for others."""
        return ""

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        """Whether the method can make this claim true; the contract suite holds it to that."""
        return False

    def groups_by_sensitive(self, policy: Policy) -> bool:
        """Whether it looks at sensitive values beside quasi-identifiers when it decides who stands with whom."""
        return False
