"""What models that compare with the whole table (t-closeness, beta-likeness, delta-disclosure) compare with over
several releases.

Guarantee
    A series compares with one reference: the distribution of the sensitive values in the first release that makes such
    a requirement, or the one that its policy states. It never moves. So a class that satisfies the requirement
    satisfies it in every later release, whatever records join or leave; and the union of two classes that satisfy it
    does so as well.

The adversary of this claim takes the reference for what is known of all people, in every release. An adversary who
takes the newest release as reference has a weaker bound: for t-closeness the two distances add up, t and that of the
two distributions.

Invariants
    I1  The reference of a requirement follows from the releases of the ledger alone; the policy in a release folder
        states it, so that its recipients can count the requirement without the ledger.
    I2  A policy that states another reference than the series has is refused; the audit refuses a release that compares
        with anything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.core.errors import DataError, LedgerError
from sfumato.history.published_cells import PublishedCells
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.past_releases import History

Reference = dict[str, dict[str, float]]


def reference_of_series(claim: PrivacyRequirement, bundles: PublishedCells, releases: int | None = None) -> Reference:
    """Return per sensitive column the counts that a requirement compares with, by the first of so many releases that
    makes it (I1).

    Nothing when none of them does: then the release that makes it first is its own reference.
    """
    for r, past in enumerate(bundles.history.releases[:releases] if claim.model.compares else ()):
        mine = [
            one
            for one in past.cover.policy.claims
            if one.model.name == claim.model.name and set(one.hide) & set(claim.hide)
        ]
        if mine:
            stated = {name: dict(mine[0].model.compared_with(name)) for name in mine[0].hide}
            found = {name: counts or _published_counts(bundles, r, name) for name, counts in stated.items()}
            return {name: counts for name, counts in found.items() if counts}
    return {}


def _published_counts(bundles: PublishedCells, release: int, name: str) -> dict[str, float]:
    """How often a release publishes each value of a column."""
    for sheet in bundles.sheets:
        table = sheet.only(range(release, release + 1)) if name in sheet.columns else None
        if table is not None:
            one = table.tables()[0]
            weights = None if bundles.weights is None else bundles.weights[one.here]
            counts = np.bincount(one.cells[name][one.here], weights=weights, minlength=len(one.labels[name])).astype(
                np.int64
            )
            return {label: int(count) for label, count in zip(one.labels[name], counts, strict=True) if count}
    return {}


def with_reference(claim: PrivacyRequirement, bundles: PublishedCells) -> PrivacyRequirement:
    """Return a requirement of an earlier release with the reference of its series."""
    stated = reference_of_series(claim, bundles)
    level = claim.model.model_dump(exclude_none=True) | {"reference": stated}
    return replace(claim, model=type(claim.model)(**level)) if stated else claim


def require_reference_of_series(claim: PrivacyRequirement, bundles: PublishedCells) -> None:
    """Refuse the newest release where it compares with another distribution than the releases before it (I2)."""
    for name, counts in reference_of_series(claim, bundles, bundles.newest).items():
        if dict(claim.model.compared_with(name)) != counts:
            raise DataError(f"{claim.model.name} of '{name}' compares with another distribution than the series does")


def policy_of_series(policy: Policy, history: History | None) -> Policy:
    """Return the policy in which every claim states the reference of its series; the same policy where there is
    none."""
    if not history or not any(claim.model.compares for claim in policy.claims):
        return policy
    bundles, entries = PublishedCells(history), list(policy.document.tree["protect"])
    for i, claim in enumerate(policy.claims):
        stated = reference_of_series(claim, bundles)
        own = {name: dict(counts) for name in claim.hide if (counts := claim.model.compared_with(name))}
        if any(counts != stated.get(name, counts) for name, counts in own.items()):
            what = f"{claim.model.name} states another 'reference' than the series compares with"
            hint = "leave 'reference' out: the first release of the ledger that makes this claim has set it"
            raise LedgerError(what, where=claim.where, hint=hint)
        entries[i] = _entry(claim, entries[i], {**own, **stated}) if stated else entries[i]
    return Policy.from_document(replace(policy.document, tree={**policy.document.tree, "protect": entries}))


def _entry(claim: PrivacyRequirement, written: Any, stated: Reference) -> dict[str, Any]:
    """The requirement as it is written, with its reference."""
    level = {**claim.model.required(), "reference": stated}
    if isinstance(written, str):
        return {"given": list(claim.given), "hide": list(claim.hide), "by": {claim.model.name: level}}
    return {**written, "by": {claim.model.name: level}} if "by" in written else {claim.model.name: level}


def describe_references(policy: Policy) -> tuple[str, ...]:
    """What claims compare with where that is fixed, in sentences for a certificate."""
    named = [(claim.model, name) for claim in policy.claims for name in claim.hide]
    pairs = dict.fromkeys((model.name, name) for model, name in named if model.compared_with(name))
    return tuple(
        f"{model} of '{name}' compares with the fixed distribution that policy.yaml states as 'reference': the"
        " adversary takes it for known in every release, and what a later release shows as a whole is not bounded"
        for model, name in pairs
    )
