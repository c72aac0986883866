"""What a policy wants kept: its rules, parsed and bound to the columns, and the domains of its replaced columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest
from sfumato.data.regular_expressions import require_regular
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import IntegrityRule, RuleError, bind, classify, columns_of, parse
from sfumato.policy.constraint_language.syntax_tree import Match, Own
from sfumato.policy.custom_code import require_at_hand, with_code, with_code_digest
from sfumato.policy.policy import Policy


def replacements_of(policy: Policy) -> dict[str, value_domains.ValueDomain]:
    """The domain of every replaced column, in the order of the policy."""
    found = {}
    for name in policy.with_role("replaced"):
        column, where = policy.columns[name], policy.document.where("columns", name, "domain")
        if column.domain is None:
            raise PolicyError(
                f"column '{name}' is replaced but has no domain", where=where, hint="for example {integers: [0, 9]}"
            )
        domain = with_code(value_domains.read(column.domain, where), policy.plugins, where)
        if isinstance(domain, value_domains.Like) and domain.column not in policy.columns:
            hint = nearest(domain.column, list(policy.columns))
            raise PolicyError(f"the domain is like an unknown column '{domain.column}'", where=where, hint=hint)
        found[name] = domain
    return found


def integrity_rules(policy: Policy) -> list[IntegrityRule]:
    """The rules under `keep`, bound to the columns; errors point into the policy's file."""
    return [_rule(policy, place, text) for place, text in enumerate(policy.keep)]


def require_own_code(policy: Policy) -> None:
    """Refuses, before data is read, functions of own code that are off or not there."""
    rules = [
        node.name
        for place, text in enumerate(policy.keep)
        for node in _located(policy, place, partial(parse, text)).body.walk()
        if isinstance(node, Own)
    ]
    domains = [column.domain for column in policy.columns.values() if isinstance(column.domain, Mapping)]
    require_at_hand(policy.plugins, [*rules, *(str(domain["plugin"]) for domain in domains if "plugin" in domain)])


def first_disturbed_rule(policy: Policy) -> str:
    """The first rule that recoding or suppressing records could break, empty when there is none.

    A rule about single records, over columns that are published as they are, stays as true as it was.
    """
    for rule in integrity_rules(policy):
        kind = classify(rule)
        as_it_is = all(policy.columns[column.name].role in ("sensitive", "other") for column in columns_of(rule))
        if kind.is_global or kind.against_original or not as_it_is:
            return rule.text
    return ""


def _rule(policy: Policy, place: int, text: str) -> IntegrityRule:
    kinds: dict[str, str | None] = dict.fromkeys(policy.columns)
    kinds |= {name: _kind(domain) for name, domain in replacements_of(policy).items()}
    line = policy.document.where("keep", place)
    rule = _located(policy, place, lambda: with_code_digest(_parsed(text, tuple(kinds.items())), policy.plugins, line))
    require_linear(rule, line)
    return rule


def _located(policy: Policy, place: int, read: Callable[[], IntegrityRule]) -> IntegrityRule:
    """Return a rule; an error in its text points into the policy's file."""
    line = policy.document.where("keep", place)
    try:
        return read()
    except RuleError as error:
        raise PolicyError(
            error.what, where=", ".join(part for part in (line, error.where) if part), hint=error.hint
        ) from None


def require_linear(rule: IntegrityRule, where: str) -> None:
    """Refuses a rule with a pattern that could not be matched in linear time."""
    for node in rule.body.walk():
        if isinstance(node, Match):
            require_regular(node.pattern, where=where)


@lru_cache(maxsize=256)
def _parsed(text: str, kinds: tuple[tuple[str, str | None], ...]) -> IntegrityRule:
    return bind(parse(text, [name for name, _ in kinds]), dict(kinds))


def _kind(domain: value_domains.ValueDomain) -> str | None:
    """Lists may hold anything; what they hold is settled with the values."""
    open_ = (value_domains.Values, value_domains.Like, value_domains.Computed, value_domains.Empty)
    return None if isinstance(domain, open_) else domain.kind
