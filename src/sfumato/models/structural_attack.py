"""structural-attack: whoever planted accounts before publication finds them again with at most a given probability.

Guarantee
    `against: any` (the default) holds two bounds at once. Attacks that follow a path through the planted accounts, knowing
    degrees and anything else: (1 − q)^(k − 1). Attacks of any kind on the ties among the planted accounts, with unlimited
    computing power: the power of the best test between tied and not tied (`models._planted.any_bound`). `paths` and `ties`
    hold one each. Neither covers an account that is recognized by its number of ties to others; see `models._planted`.

Paper
    [multitype §4.4.5, §4.5]

>>> model = StructuralAttack(planted=20, success_at_most=0.05)
>>> model.needed_mu(7115)
0.2082
>>> bounds = model.bounds(EdgeChannel.symmetric(0.1459), 7115)
>>> bounds["paths"] <= 0.05, bounds["ties"] <= 0.05
(True, False)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from sfumato.data.edge_channel import EdgeChannel
from sfumato.errors import Infeasible
from sfumato.models._planted import any_bound, needed_flip, path_bound
from sfumato.models.base import Example, Safer, rounded
from sfumato.models.channel import ChannelModel, PublishedChannel

COVERED = {
    "paths": "attacks that follow a path through the planted accounts (walk-based, interval-walk), whatever else they know",
    "ties": "attacks of any kind and any computing power on the ties among the planted accounts",
}


class StructuralAttack(ChannelModel):
    """Whoever planted accounts before publication finds them again with at most this probability."""

    name: ClassVar[str] = "structural-attack"
    sentence: ClassVar[str] = (
        "and has planted {planted} accounts may find them all again with a chance of at most {success_at_most} (along {against})"
    )
    paper: ClassVar[str] = "multitype §4.4.5, §4.5"
    levels: ClassVar[Mapping[str, Safer]] = {"success_at_most": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            {"planted": 20, "success_at_most": 0.05},
            holds=PublishedChannel(EdgeChannel.symmetric(0.2082), 7115),
            fails=PublishedChannel(EdgeChannel.symmetric(0.1459), 7115),
        ),
    )

    planted: int = Field(ge=2, description="accounts the adversary controls")
    success_at_most: float = Field(gt=0, lt=1, description="largest probability of finding all of them again")
    against: Literal["any", "paths", "ties"] = Field(
        default="any", description="paths: attacks that need a path of planted accounts; ties: any attack on the ties among them"
    )

    def required(self) -> dict[str, Any]:
        return self.model_dump()

    def bounds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, float]:
        """The bounds that apply, by the attacks they cover."""
        found = {}
        if "paths" in self.covered():
            found["paths"] = path_bound(flip, self.planted, beside)
        if "ties" in self.covered():
            found["ties"] = any_bound(flip, self.planted, nodes, beside) if nodes >= self.planted else 1.0
        return found

    def covered(self) -> Mapping[str, str]:
        return {kind: words for kind, words in COVERED.items() if self.against in ("any", kind)}

    @property
    def needs_new_ties(self) -> bool:
        """Attacks along paths are stopped by lost edges alone."""
        return "ties" in self.covered()

    def holds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> bool:
        return max(self.bounds(flip, nodes, beside).values()) <= self.success_at_most

    def level(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, Any]:
        """What is achieved, under the name of the parameter, with each bound beside it."""
        bounds = self.bounds(flip, nodes, beside)
        each = {f"by_{name}": rounded(value) for name, value in bounds.items()}
        return {"planted": self.planted, "success_at_most": rounded(max(bounds.values())), **each}

    def needed_mu(self, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        """The smallest symmetric flip that holds; 0.5 when none does."""
        if self.planted > nodes:
            what = f"{self.planted} planted accounts are more than the {nodes} people of the graph"
            raise Infeasible(what, where=self.name, hint="plant fewer, or leave the claim out for a graph this small")
        return needed_flip(self.planted, self.success_at_most, nodes, against=self.against, beside=beside)
