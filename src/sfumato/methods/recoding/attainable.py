"""The level that can be had where what was asked cannot: the strongest one of a single claim with which a release exists.

Guarantee
    With the level that is named, the other claims being what they are, at least one record can be published, and as many as the
    policy wants. It is found by trying: a claim that is weakened is asked once more of the whole problem.

Invariants
    I1  A weaker level never makes a policy infeasible, so levels are searched by halving.
    I2  Every claim of the policy takes part, also one that followed from the claim that is weakened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sfumato.methods.recoding.problem import RecodingProblem, Requirement
from sfumato.models.base import Model

_STEPS = 12
Enough = Callable[[RecodingProblem], bool]


def attainable(problem: RecodingProblem, stated: Sequence[Requirement], enough: Enough) -> Model | None:
    """The first claim that needs to be weakened in one level only, as far as it must be; None when no single level helps."""
    for place, requirement in enumerate(stated):
        for key in requirement.model.levels:

            def holds(model: Model, place: int = place, requirement: Requirement = requirement) -> bool:
                claims = (*stated[:place], replace(requirement, model=model), *stated[place + 1 :])  # I2
                return enough(problem.asking(claims))

            found = strongest(requirement.model, key, holds)
            if found is not None:
                return found
    return None


def strongest(model: Model, key: str, holds: Callable[[Model], bool]) -> Model | None:
    """The model with the safest level of one parameter that holds, at most as safe as it is now; None when none holds."""
    asked = getattr(model, key)
    weakest = type(asked)(1)  # one candidate, one value, every share: what any group satisfies

    def at(level: float) -> Model:
        return type(model)(**model.model_dump() | {key: level})

    if asked == weakest or not holds(at(weakest)):
        return None
    if isinstance(asked, int):
        low, high = weakest, asked  # I1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(at(middle)) else (low, middle)
        return at(low)
    good, bad = weakest, asked
    for _ in range(_STEPS):
        middle = round((good + bad) / 2, 3)
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if holds(at(middle)) else (good, middle)
    return at(good)
