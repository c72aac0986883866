"""Whether the rules of a policy hold in the original data, before anything is made."""

from __future__ import annotations

from sfumato.audit.rules import Judge
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Like
from sfumato.policy.rules.tree import Localities, References


def in_original(policy: Policy, data: Table) -> list[str]:
    """One sentence per rule, and one per replaced column with values outside its domain."""
    columns = {name: data.text(name) for name in data.names}
    judge = Judge({None: columns}, {None: columns})
    found = []
    for rule in integrity_rules(policy):
        if isinstance(rule.body, (Localities, References)):
            continue
        try:
            broken = judge.broken(rule)
        except DataError as error:
            found.append(f'rule "{rule}" cannot be judged in the original: {error.what}')
            continue
        found.append(f'rule "{rule}" ' + (f"is broken {broken} time(s) in the original" if broken else "holds in the original"))
    for name, domain in replacements_of(policy).items():
        if not isinstance(domain, Like):
            outside = int(data.text(name).counts()[~domain.contains(data.text(name).labels)].sum())
            if outside:
                found.append(f"column '{name}' has {outside} original value(s) outside its domain")
    return found
