"""The rules of a policy: its requirements as Q → S, widened by what adversaries know, reduced to what does not follow
anyway.

Guarantee
    A release that satisfies the rules in `wanted` satisfies every requirement, also against adversaries who know the
    dependencies under ``knows:``.

Paper
    [versatile §2.2, §3]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest
from sfumato.policy.policy import Policy
from sfumato.policy.privacy_rules import (
    Dependency,
    PrivacyRule,
    dependency_units,
    expand_rules,
    join_names,
    parse_dependency,
    partly_known_dependency,
    remove_implied_rules,
    rules_on_units,
)
from sfumato.policy.requirements import PrivacyRequirement


@dataclass(frozen=True, slots=True)
class RuleSet:
    """What a policy's claims come to."""

    wanted: tuple[PrivacyRule, ...]
    """Irreducible, over columns."""
    added: tuple[PrivacyRule, ...]
    """Demanded by what adversaries know."""
    implied: tuple[tuple[PrivacyRule, PrivacyRule], ...]
    """Rules that need no keeping, each with the one it follows from."""
    knows: tuple[Dependency, ...]
    members: dict[str, tuple[str, ...]]
    """Published columns tied together by outside knowledge, as units."""
    unit: dict[str, str]
    """The unit of every column, published or not, whose unit has published columns."""

    @property
    def knowledge(self) -> list[frozenset[str]]:
        return [each.columns for each in self.knows]

    @property
    def guardable(self) -> set[str]:
        """Units of one column; larger units are never hidden behind buckets."""
        return {name for name, columns in self.members.items() if len(columns) == 1}

    def over_units(self, rules: Sequence[PrivacyRule] | None = None) -> list[PrivacyRule]:
        """The rules (all wanted ones when not said) over published units."""
        return list(remove_implied_rules(rules_on_units(self.wanted if rules is None else rules, self.unit)).kept)

    def _hiding_each_other(self) -> list[tuple[str, str]]:
        arcs = {
            (given, hidden)
            for each in self.wanted
            if len(each.hide) == 1
            for given in each.given
            for hidden in each.hide
        }
        return sorted((one, other) for one, other in arcs if one < other and (other, one) in arcs)

    def sentences(self) -> list[str]:
        """The reasoning, for people."""
        said = [
            f"outsiders know {each}: columns {join_names(each.columns)} are published in the same table"
            for each in self.knows
        ]
        said += [f"because of what outsiders know, also kept: {each}" for each in self.added]
        said += [
            f"{one} and {other} are hidden from each other, so no table shows both"
            for one, other in self._hiding_each_other()
        ]
        said += [
            f"needs no keeping of its own: {rule}, because it follows from {stronger}"
            for rule, stronger in self.implied
        ]
        return said


def rules_of_claim(claim: PrivacyRequirement) -> list[PrivacyRule]:
    """A requirement as rules: one for each sensitive column, or one for the combination when the requirement was
    written so."""
    sides = [claim.hide] if claim.composite else [(name,) for name in claim.hide]
    try:
        return [PrivacyRule(frozenset(claim.given), frozenset(hide), claim.model) for hide in sides]
    except PolicyError as error:
        raise PolicyError(error.what, where=claim.where or error.where, hint=error.hint) from None


def dependencies_of(policy: Policy) -> tuple[Dependency, ...]:
    """What ``knows:`` says, checked against the columns."""
    found = []
    for place, text in enumerate(policy.knows):
        try:
            each = parse_dependency(text)
        except PolicyError as error:
            raise PolicyError(
                error.what, where=policy.document.where("knows", place), hint="write 'zip -> county'"
            ) from None
        for name in sorted(each.columns - set(policy.columns)):
            what = f"'knows' names an unknown column '{name}'"
            raise PolicyError(
                what, where=policy.document.where("knows", place), hint=nearest(name, list(policy.columns))
            )
        found.append(each)
    return tuple(found)


def identifying_columns(policy: Policy) -> frozenset[str]:
    """Columns by which everybody is known anyway."""
    return frozenset(name for name, column in policy.columns.items() if column.role == "identifier")


def revealing_dependency(policy: Policy, claim: PrivacyRequirement) -> str:
    """Why a dependency that adversaries know may tell candidates apart who trade what a requirement does not give;
    empty when none does."""
    tie = partly_known_dependency(
        {*claim.given, *identifying_columns(policy)}, policy.published, dependencies_of(policy)
    )
    return (
        f"outsiders know {tie}, which ties what {claim} gives to what it does not: candidates could be told apart"
        if tie
        else ""
    )


def privacy_rules(policy: Policy) -> RuleSet:
    """All rules of a policy; raises `Infeasible` when what adversaries know breaks one by itself."""
    knows = dependencies_of(policy)
    stated = [each for claim in policy.claims for each in rules_of_claim(claim)]
    expanded, added = expand_rules(stated, knows)
    reduction = remove_implied_rules(expanded)
    return RuleSet(reduction.kept, tuple(added), reduction.implied, knows, *_published_units(policy, knows))


def _published_units(
    policy: Policy, knows: tuple[Dependency, ...]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Units named after their first published column; columns that are not published may tie others together."""
    members: dict[str, tuple[str, ...]] = {}
    unit: dict[str, str] = {}
    for tied in dependency_units(list(policy.columns), knows).values():
        shown = tuple(column for column in tied if column in policy.published)
        if shown:
            members[shown[0]] = shown
            unit |= dict.fromkeys(tied, shown[0])
    return members, unit
