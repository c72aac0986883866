"""The rule language of `keep:`: parsed once into a tree; the audit evaluates it, the methods post it."""

from sfumato.policy.rules.bind import bind
from sfumato.policy.rules.kinds import Inequality, Kind, LinearForm, classify, columns_of, conjuncts, linear, linear_comparison
from sfumato.policy.rules.parse import parse
from sfumato.policy.rules.scan import RuleError
from sfumato.policy.rules.tree import IntegrityRule

__all__ = [
    "Inequality",
    "IntegrityRule",
    "Kind",
    "LinearForm",
    "RuleError",
    "bind",
    "classify",
    "columns_of",
    "conjuncts",
    "linear",
    "linear_comparison",
    "parse",
]
