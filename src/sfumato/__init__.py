"""Sfumato: publish data about people without giving anyone away.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

_HOMES = {
    "Policy": "sfumato.policy.policy",
    "publish": "sfumato.workflow.publish",
    "verify": "sfumato.workflow.verify",
    "measure": "sfumato.workflow.measure",
    "Publication": "sfumato.workflow.publication",
    "recover": "sfumato.kinds.graphs.recovery",
    "recover_table": "sfumato.kinds.tables.recovery",
    "risk": "sfumato.workflow.risk.report",
    "RiskReport": "sfumato.workflow.risk.report",
    "Graph": "sfumato.data.graph",
    "Baskets": "sfumato.data.baskets",
    "estimate": "sfumato.workflow.estimate",
    "explore": "sfumato.workflow.explore.explore",
    "Exploration": "sfumato.workflow.explore.exploration",
    "Sweep": "sfumato.workflow.explore.variants",
    "Hierarchy": "sfumato.data.hierarchy",
    "intervals": "sfumato.policy.builder",
    "cuts": "sfumato.policy.builder",
    "prefix": "sfumato.policy.builder",
    "dates": "sfumato.policy.builder",
    "order": "sfumato.policy.builder",
    "known_list": "sfumato.policy.builder",
    "k_anonymity": "sfumato.policy.builder",
    "p_sensitivity": "sfumato.policy.builder",
    "l_diversity": "sfumato.policy.builder",
    "t_closeness": "sfumato.policy.builder",
    "claim": "sfumato.policy.builder",
    "PolicyDraft": "sfumato.policy.builder",
    "anonymize": "sfumato.workflow.anonymize",
    "k_anonymize": "sfumato.workflow.anonymize",
    "discover": "sfumato.workflow.discover.discover",
    "Suggestion": "sfumato.workflow.discover.discover",
    "check": "sfumato.workflow.risk.check",
    "TableCheck": "sfumato.workflow.risk.check",
    "Anonymizer": "sfumato.workflow.sklearn_transformer",
    "SfumatoError": "sfumato.core.errors",
    "PolicyError": "sfumato.core.errors",
    "DataError": "sfumato.core.errors",
    "Infeasible": "sfumato.core.errors",
    "AuditRefused": "sfumato.core.errors",
}

if TYPE_CHECKING:
    from sfumato.core.errors import AuditRefused, DataError, Infeasible, PolicyError, SfumatoError
    from sfumato.data.baskets import Baskets
    from sfumato.data.graph import Graph
    from sfumato.data.hierarchy import Hierarchy
    from sfumato.kinds.graphs.recovery import recover
    from sfumato.kinds.tables.recovery import recover_table
    from sfumato.policy.builder import (
        PolicyDraft,
        claim,
        cuts,
        dates,
        intervals,
        k_anonymity,
        known_list,
        l_diversity,
        order,
        p_sensitivity,
        prefix,
        t_closeness,
    )
    from sfumato.policy.policy import Policy
    from sfumato.workflow.anonymize import anonymize, k_anonymize
    from sfumato.workflow.discover.discover import Suggestion, discover
    from sfumato.workflow.estimate import estimate
    from sfumato.workflow.explore.exploration import Exploration
    from sfumato.workflow.explore.explore import explore
    from sfumato.workflow.explore.variants import Sweep
    from sfumato.workflow.measure import measure
    from sfumato.workflow.publication import Publication
    from sfumato.workflow.publish import publish
    from sfumato.workflow.risk.check import TableCheck, check
    from sfumato.workflow.risk.report import RiskReport, risk
    from sfumato.workflow.sklearn_transformer import Anonymizer
    from sfumato.workflow.verify import verify

__all__ = [
    "Anonymizer",
    "AuditRefused",
    "Baskets",
    "DataError",
    "Exploration",
    "Graph",
    "Hierarchy",
    "Infeasible",
    "Policy",
    "PolicyDraft",
    "PolicyError",
    "Publication",
    "RiskReport",
    "SfumatoError",
    "Suggestion",
    "Sweep",
    "TableCheck",
    "anonymize",
    "check",
    "claim",
    "cuts",
    "dates",
    "discover",
    "estimate",
    "explore",
    "intervals",
    "k_anonymity",
    "k_anonymize",
    "known_list",
    "l_diversity",
    "measure",
    "order",
    "p_sensitivity",
    "prefix",
    "publish",
    "recover",
    "recover_table",
    "risk",
    "t_closeness",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
