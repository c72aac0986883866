"""Trial runs: what a policy would publish, found within a few seconds and kept nowhere.

A trial is a certified release like any other. Its search ends after `SECONDS` of work, and a table of more than `ROWS`
records is tried on a random sample. What every effort would come to is read off the course of the search, and estimated
where the trial ended before. A sample loses more than the whole table, since its equivalence classes are sparser.

>>> people = Table(pa.table({"age": ["30", "31", "40", "41"] * 5, "illness": ["flu", "gout", "flu", "cold"] * 5}))
>>> policy = Policy.parse({"version": 1, "columns": {"age": "quasi-identifier", "illness": "sensitive"},
...     "protect": [{"k-anonymity": {"k": 5}}]})
>>> found = try_policy(policy, people)
>>> found.records, [round(loss, 2) for loss in found.losses.values()]
(20, [0.0, 0.0, 0.0])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.effort import EFFORTS, Effort, SearchWatch, watch_searches
from sfumato.core.wording import join_names, number_text
from sfumato.data.table import Table
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.policy import Policy
from sfumato.release.method import Method
from sfumato.release.summary import Summary
from sfumato.workflow.plan import Plan, plan
from sfumato.workflow.publication import Publication
from sfumato.workflow.publish import publish

SECONDS = 2.0
"""Work of the search of a trial, in seconds of one core."""
ROWS = 50_000
"""Records of a trial: of larger tables so many are drawn."""
_DRAW = 20_06


@dataclass(frozen=True, slots=True)
class Trial:
    """A release that was made to see what a policy leads to."""

    publication: Publication
    records: int
    """Records of the table."""
    sampled: int | None
    """Records that were tried, where that are fewer."""
    losses: Mapping[Effort, float]
    """The loss that each effort leads to; only that of this trial where the method does not say more."""
    measured: frozenset[Effort]
    """Efforts whose loss was reached, not estimated."""

    @property
    def summary(self) -> Summary:
        return self.publication.summary()

    def sentence(self) -> str:
        """The expected loss of every effort in words."""
        about = {effort: "" if effort in self.measured else "about " for effort in EFFORTS}
        told = [f"{effort} {about[effort]}{number_text(loss)}" for effort, loss in self.losses.items()]
        least = "at most " if self.sampled else ""
        which = f", on a sample of {self.sampled:,} of {self.records:,} records" if self.sampled else ""
        return f"expected loss: {least}{join_names(told)} (trial run{which}; 0 is exact, 1 says nothing)"

    def to_json(self) -> dict[str, Any]:
        told = self.summary.to_json()
        return {
            "loss": dict(self.losses),
            "measured": sorted(self.measured),
            "records": self.records,
            "sampled": self.sampled,
            "columns": told["columns"],
            "lost": told["lost"],
        }


def can_try(planned: Plan, data: Any) -> bool:
    """Whether a trial says something: generalized tables that lie here, without earlier releases."""
    if data is None or not issubclass(planned.form, Recoded):
        return False
    return data.counts is None and data.rows > 0 and bool(planned.policy.quasi_identifiers)


def try_policy(policy: Policy, table: Table, *, seconds: float = SECONDS) -> Trial:
    """Publish under a policy, with so many seconds of search; `Infeasible` when there is no release."""
    rows = table.rows
    method = plan(policy, records=rows).method
    if rows > ROWS:
        drawn = np.sort(np.random.default_rng(_DRAW).choice(rows, ROWS, replace=False))
        table = Table(table.frame.take(pa.array(drawn)))
    tried = policy.with_effort(method.effort_of_trial(policy))
    with watch_searches(min(seconds, method.seconds_of_trial(policy, table.records))) as watch:
        made = publish(tried, table)
    loss = made.utility.get("loss")
    losses, measured = _losses(policy, method, float(loss) if isinstance(loss, float) else 0.0, watch)
    return Trial(made, rows, table.rows if table.rows < rows else None, losses, measured)


def _losses(
    policy: Policy, method: Method, loss: float, watch: SearchWatch
) -> tuple[dict[Effort, float], frozenset[Effort]]:
    """The loss of every effort, by what the courses of all searches cost then; and which of them were reached."""
    here = sum(course.steps[-1][1] for course in watch.courses)
    if policy.utility.minimize != "loss" or here <= 0:
        everywhere = bool(watch.courses) and here <= 0
        return dict.fromkeys(EFFORTS if everywhere else (policy.effort,), loss), frozenset(EFFORTS)
    costs = {effort: [method.expected_cost(course, effort) for course in watch.courses] for effort in EFFORTS}
    losses = {effort: loss * sum(cost for cost, _ in found) / here for effort, found in costs.items()}
    for one, other in pairwise(EFFORTS):
        losses[other] = min(losses[one], losses[other])
    return losses, frozenset(effort for effort, found in costs.items() if all(reached for _, reached in found))
