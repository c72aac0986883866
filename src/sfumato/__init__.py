"""Sfumato: publish data about people without giving anyone away.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

_HOMES = {
    "Policy": "sfumato.policy.policy",
    "publish": "sfumato.spine.publish",
    "verify": "sfumato.spine.verify",
    "measure": "sfumato.spine.measure",
    "Publication": "sfumato.spine.judging",
    "recover": "sfumato.metrics.recovery",
    "recover_table": "sfumato.estimation.recovered_table",
    "risk": "sfumato.risks.report",
    "RiskReport": "sfumato.risks.report",
    "Graph": "sfumato.data.graph",
    "Baskets": "sfumato.data.baskets",
    "estimate": "sfumato.estimation",
    "explore": "sfumato.exploration.explore",
    "Exploration": "sfumato.exploration.result",
    "Sweep": "sfumato.exploration.variants",
    "Hierarchy": "sfumato.data.hierarchy",
    "intervals": "sfumato.policy.vocabulary",
    "cuts": "sfumato.policy.vocabulary",
    "prefix": "sfumato.policy.vocabulary",
    "dates": "sfumato.policy.vocabulary",
    "order": "sfumato.policy.vocabulary",
    "known_list": "sfumato.policy.vocabulary",
    "k_anonymity": "sfumato.policy.vocabulary",
    "p_sensitivity": "sfumato.policy.vocabulary",
    "l_diversity": "sfumato.policy.vocabulary",
    "t_closeness": "sfumato.policy.vocabulary",
    "claim": "sfumato.policy.vocabulary",
    "PolicyDraft": "sfumato.policy.draft",
    "k_anonymize": "sfumato.spine.anonymize",
    "check": "sfumato.risks.check",
    "TableCheck": "sfumato.risks.check",
    "Anonymizer": "sfumato.spine.estimator",
    "SfumatoError": "sfumato.errors",
    "PolicyError": "sfumato.errors",
    "DataError": "sfumato.errors",
    "Infeasible": "sfumato.errors",
    "AuditRefused": "sfumato.errors",
}

if TYPE_CHECKING:
    from sfumato.data.baskets import Baskets
    from sfumato.data.graph import Graph
    from sfumato.data.hierarchy import Hierarchy
    from sfumato.errors import AuditRefused, DataError, Infeasible, PolicyError, SfumatoError
    from sfumato.estimation import estimate
    from sfumato.estimation.recovered_table import recover_table
    from sfumato.exploration.explore import explore
    from sfumato.exploration.result import Exploration
    from sfumato.exploration.variants import Sweep
    from sfumato.metrics.recovery import recover
    from sfumato.policy.draft import PolicyDraft
    from sfumato.policy.policy import Policy
    from sfumato.policy.vocabulary import (
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
    from sfumato.risks.check import TableCheck, check
    from sfumato.risks.report import RiskReport, risk
    from sfumato.spine.anonymize import k_anonymize
    from sfumato.spine.estimator import Anonymizer
    from sfumato.spine.judging import Publication
    from sfumato.spine.measure import measure
    from sfumato.spine.publish import publish
    from sfumato.spine.verify import verify

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
    "Sweep",
    "TableCheck",
    "check",
    "claim",
    "cuts",
    "dates",
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
