"""A point: one variant of a policy that was made into a certified release, and what it costs.

Definitions
    loss          as in `metrics.loss`, over the quasi-identifiers of the policy that is explored: a column that is left out
                  counts as lost
    query error   the median relative error of COUNT queries (`metrics.query_error`)
    dominated     another point is at least as safe in every level, publishes at least the same columns and is nowhere worse, and
                  somewhere better

>>> good = Point(Variant({"k": 10}, "a"), "published", loss=0.1, query_error=0.2, suppressed=0.0)
>>> poor = Point(Variant({"k": 5}, "b"), "published", loss=0.3, query_error=0.2, suppressed=0.0)
>>> dominates(good, poor, {"k": "more"}), dominates(poor, good, {"k": "more"})
(True, False)
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from sfumato.errors import AuditRefused, Infeasible, PolicyError
from sfumato.exploration.variants import Variant
from sfumato.models.base import Safer
from sfumato.policy.policy import Policy
from sfumato.spine.publish import publish

Status = Literal["published", "infeasible", "refused", "not run"]
_EPS = 1e-9


@dataclass(frozen=True, slots=True)
class Point:
    """What became of one variant."""

    variant: Variant
    status: Status
    reason: str = ""
    achieved: Mapping[str, Any] = field(default_factory=dict)
    """The levels that the audit found."""
    loss: float | None = None
    query_error: float | None = None
    suppressed: float | None = None
    """Share of the records that are not published."""
    seconds: float = 0.0
    """Of the processor."""
    dominated: bool = False

    def to_json(self) -> dict[str, Any]:
        tree = asdict(self)
        variant = tree.pop("variant")
        return {**variant, "without": list(variant["without"]), **tree}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Point:
        values = dict(tree)
        depths = {name: int(depth) for name, depth in values.pop("depths").items()}
        variant = Variant(dict(values.pop("levels")), values.pop("method"), tuple(values.pop("without")), depths)
        return cls(variant, **values)


def tried(policy: Policy, variant: Variant, data: Any) -> Point:
    """Publish one variant: certified like every release, kept nowhere."""
    started = time.process_time()
    try:
        publication = publish(variant.policy(policy), data)
    except (Infeasible, PolicyError) as error:
        return Point(variant, "infeasible", str(error), seconds=_since(started))
    except AuditRefused as error:
        return Point(variant, "refused", str(error), seconds=_since(started))
    figures, records = publication.utility, publication.certificate.records
    achieved = {
        name: value for finding in publication.findings for name, value in finding.achieved.items() if name in variant.levels
    }
    return Point(
        variant,
        "published",
        achieved=achieved,
        loss=_whole_loss(figures.get("loss"), policy, variant),
        query_error=_number(figures.get("query_error")),
        suppressed=records.suppressed / max(records.input, 1),
        seconds=_since(started),
    )


def _since(started: float) -> float:
    return round(time.process_time() - started, 3)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _whole_loss(loss: Any, policy: Policy, variant: Variant) -> float | None:
    """Over all quasi-identifiers of the policy; those left out are lost entirely."""
    if _number(loss) is None:
        return None
    gone = len(set(variant.without) & set(policy.quasi_identifiers))
    every = len(policy.quasi_identifiers)
    return (float(loss) * (every - gone) + gone) / max(every, 1)


def judged(points: Sequence[Point], safer: Mapping[str, Safer]) -> tuple[Point, ...]:
    """The points, each knowing whether another one dominates it."""
    return tuple(replace(one, dominated=any(dominates(two, one, safer) for two in points)) for one in points)


def dominates(better: Point, worse: Point, safer: Mapping[str, Safer]) -> bool:
    """Whether nobody who has the first would want the second."""
    if better.status != "published" or worse.status != "published" or not set(better.variant.without) <= set(worse.variant.without):
        return False
    gains = [_gain(better.variant.levels[name], worse.variant.levels[name], safer[name]) for name in worse.variant.levels]
    for one, two in ((better.loss, worse.loss), (better.query_error, worse.query_error), (better.suppressed, worse.suppressed)):
        if (one is None) != (two is None):
            return False  # what was not measured on both cannot be compared
        gains.append(0.0 if one is None or two is None else two - one)
    return min(gains) >= -_EPS and max(gains) > _EPS


def _gain(one: float, two: float, safer: Safer) -> float:
    return one - two if safer == "more" else two - one
