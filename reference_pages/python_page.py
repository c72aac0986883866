"""Generate ``docs/reference/python.md``: all public names, grouped, rendered from their docstrings by mkdocstrings."""

from __future__ import annotations

from collections.abc import Mapping

import sfumato
from sfumato import __all__ as names
from sfumato.core.wording import summary_of

GROUPS: Mapping[str, tuple[str, ...]] = {
    "One call": ("anonymize", "k_anonymize", "check", "risk", "discover", "Anonymizer"),
    "Publish and verify": ("publish", "verify", "measure", "judge", "Publication"),
    "Policy": (
        "Policy",
        "PolicyDraft",
        "k_anonymity",
        "l_diversity",
        "p_sensitivity",
        "t_closeness",
        "claim",
        "requirement",
    ),
    "Hierarchies": ("Hierarchy", "intervals", "cuts", "prefix", "dates", "order", "known_list"),
    "Explore": ("explore", "Sweep", "Exploration"),
    "Use a release": ("estimate", "recover", "recover_table"),
    "Data": ("Graph", "Baskets"),
    "Results": ("TableCheck", "RiskReport"),
    "Errors": ("SfumatoError", "PolicyError", "DataError", "Infeasible", "AuditRefused"),
}
"""Heading → names; a public name in no group is shown under *More*."""


def python_page() -> str:
    """Return the whole page."""
    lines = [
        "# Python",
        "",
        "`import sfumato as sf` offers these names. Everything else may change between versions.",
        "",
    ]
    grouped = {heading: [name for name in group if name in names] for heading, group in GROUPS.items()}
    known = {name for group in grouped.values() for name in group}
    grouped["More"] = [name for name in names if name not in known]
    lines += ["| name | purpose |", "| --- | --- |"]
    for group in grouped.values():
        lines += [f"| [`{name}`](#{_home(name)}) | {_summary(name)} |" for name in group]
    for heading, group in grouped.items():
        if group:
            lines += ["", f"## {heading}"]
        for name in group:
            lines += ["", f"::: {_home(name)}"]
    return "\n".join(lines) + "\n"


def _home(name: str) -> str:
    value = getattr(sfumato, name)
    return f"{value.__module__}.{value.__qualname__}"


def _summary(name: str) -> str:
    return summary_of(getattr(sfumato, name))
