"""Threats that need no playing: what a release cannot protect against, by what its policy claims and publishes.

Each says in one sentence when it applies; `docs/limits.md` has a paragraph on every one.

Paper
    Machanavajjhala et al. (2006) for homogeneity; Li, Li and Venkatasubramanian (2007) for skewness.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.attacks.base import Threat
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit


class Homogeneity(Threat):
    """Candidates that share one sensitive value give it away, however many they are."""

    name: ClassVar[str] = "homogeneity"
    paper: ClassVar[str] = "Machanavajjhala et al. 2006"

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        open_ = [name for name in exhibit.policy.sensitive if not _on_values(exhibit.policy, name)]
        if not exhibit.form.shows_columns or not open_:
            return ""
        return f"no claim speaks of the values of {_listed(open_)}: where all candidates of a person share one, it is known"


class Skewness(Threat):
    """Candidates whose sensitive values are spread quite differently than everybody's give an opinion away."""

    name: ClassVar[str] = "skewness"
    paper: ClassVar[str] = "Li, Li, Venkatasubramanian 2007"

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        policy = exhibit.policy
        claims = {name: _on_values(policy, name) for name in policy.sensitive}
        open_ = [name for name, made in claims.items() if made and not any(claim.model.compares for claim in made)]
        if not exhibit.form.shows_columns or not open_:
            return ""
        return (
            f"the claims on {_listed(open_)} do not compare a person's candidates with the whole table: a value that is rare "
            "elsewhere may be likely there, and different values may mean the same"
        )


class OtherColumnsKnown(Threat):
    """Columns that are published as they are tell candidates apart, and may tell what was generalized."""

    name: ClassVar[str] = "other-columns"

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        other = exhibit.policy.with_role("other")
        if not exhibit.form.shows_columns or not other:
            return ""
        return (
            f"{_listed(other)} {'is' if len(other) == 1 else 'are'} published unchanged and no claim takes them for known: whoever "
            "knows them too is left with fewer candidates, and they may say what a generalized cell does not"
        )


class Insiders(Threat):
    """Somebody who already knows sensitive values of people in the table can rule candidates out."""

    name: ClassVar[str] = "insiders"

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        if not exhibit.policy.claims:
            return ""
        return (
            "claims hold for outsiders who know no more than the policy grants: whoever knows records of the table (the own one, "
            "a colleague's, a neighbour's) can take them away and is left with fewer candidates for everybody else"
        )


def _on_values(policy: Policy, column: str) -> list[Claim]:
    """The claims that ask something of the values of a sensitive column."""
    return [claim for claim in policy.claims if column in claim.hide and claim.model.needs_sensitive]


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = [f"'{name}'" for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
