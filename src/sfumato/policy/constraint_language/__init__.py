"""The constraint language of `keep:`: parsed once into a tree; the audit evaluates it, the methods enforce it."""

from sfumato.policy.constraint_language.binding import (
    Inequality,
    Kind,
    LinearForm,
    bind,
    classify,
    columns_of,
    conjuncts,
    linear,
    linear_comparison,
)
from sfumato.policy.constraint_language.parser import RuleError, parse
from sfumato.policy.constraint_language.syntax_tree import IntegrityRule

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
