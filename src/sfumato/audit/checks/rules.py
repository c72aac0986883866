"""Rules: everything under `keep` is true in what was published.

Rules that compare records with their originals need the private trace; those without it are counted in a finding of their own,
which is not judged. Where a release shows its columns in several parts, a rule is judged on the part that shows all of its columns,
or with the original on the original's own records, which `truthful buckets` and `agreement` find to be the published ones.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.by_file import counted_by_file, gathered_by_file, repeated
from sfumato.audit.checks.localities import KeptLocalities
from sfumato.audit.partial_aggregates import Partial
from sfumato.audit.rules import Judge
from sfumato.data.table import Table, TextColumn
from sfumato.errors import ReleaseError
from sfumato.forms.anatomy import AnatomyForm
from sfumato.forms.recoded import Recoded
from sfumato.forms.replaced import Replaced
from sfumato.forms.subtables import SubTables
from sfumato.policy.keep import integrity_rules
from sfumato.policy.plugins import is_at_hand
from sfumato.policy.rules import IntegrityRule, classify, columns_of, conjuncts
from sfumato.policy.rules.tree import (
    Aggregate,
    Cell,
    ColumnValue,
    Compare,
    Histogram,
    Localities,
    Own,
    Running,
    SameMultiset,
    Unique,
)
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

FORMS: tuple[type[Form], ...] = (Replaced, Recoded, AnatomyForm, SubTables)
_ADDED = ("sum", "mean", "count", "min", "max")
"""Aggregates that are known from what each file adds."""


class RulesKept(Check):
    """Every rule under `keep` holds in the published table."""

    name: ClassVar[str] = "rules"
    on_classes: ClassVar[bool] = True
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = FORMS

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(judged(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        rules = judged(exhibit)
        broken = {rule.text: _broken(exhibit, rule) for rule in rules}
        wrong = [f'"{text}" is broken {count} time(s)' for text, count in broken.items() if count]
        achieved = {"rules": len(rules), "broken": sum(count > 0 for count in broken.values())}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


class RulesLeft(Check):
    """Rules under `keep` that cannot be judged with what is at hand."""

    name: ClassVar[str] = "rules left open"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = FORMS

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(left_open(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        count = left_open(exhibit)
        missing = "the private trace" if exhibit.private else "the original or the private trace"
        missing += "" if exhibit.policy.plugins is None else ", or the data holder's own code (SFUMATO_PLUGINS)"
        return Finding(self.name, True, {}, {"rules": count}, grade=NOT_JUDGED, reason=f"{count} rule(s) need {missing}")


def judged(exhibit: Exhibit) -> list[IntegrityRule]:
    """The rules that can be judged with this exhibit."""
    return [rule for rule in integrity_rules(exhibit.policy) if not isinstance(rule.body, Localities) and _ready(rule, exhibit)]


def left_open(exhibit: Exhibit) -> int:
    """How many rules nobody judges; localities have a check of their own, which needs the private trace."""
    rules = integrity_rules(exhibit.policy)
    localities = sum(isinstance(rule.body, Localities) for rule in rules) if KeptLocalities().applies(exhibit) else 0
    return len(rules) - localities - len(judged(exhibit))


def _broken(exhibit: Exhibit, rule: IntegrityRule) -> int:
    if exhibit.counted:
        return sum(_broken_elsewhere(exhibit, IntegrityRule(rule.text, part)) for part in conjuncts(rule.body))
    if _one_table(exhibit):
        return exhibit.once(_judge).broken(rule)
    sight = _sight(exhibit, rule)
    assert sight is not None
    return Judge({None: sight}, {None: _originals(exhibit)}).broken(rule)


def _broken_elsewhere(exhibit: Exhibit, rule: IntegrityRule) -> int:
    """Where rows lie elsewhere: what looks at one record at a time file by file, what must be unique over all files, and totals
    from what each file adds."""
    if isinstance(rule.body, Unique):
        return repeated(exhibit, [column.name for column in rule.body.columns])
    if _adds_up(rule) and isinstance(exhibit.form, Replaced):
        return _broken_total(exhibit, rule)
    if not isinstance(exhibit.form, Replaced) or classify(rule).is_global or classify(rule).against_original:
        raise ReleaseError(f'nobody judges "{rule.text}" where only different rows with their counts are at hand')
    return counted_by_file(exhibit, partial(_broken_in, rule))


def _adds_up(rule: IntegrityRule) -> bool:
    """Whether a rule compares aggregates over all published records, each of which is put together from parts, and nothing else."""
    if not isinstance(rule.body, Compare) or classify(rule).against_original:
        return False
    atoms = _aggregates(rule)
    inside = {id(node) for atom in atoms for node in atom.walk()}
    outside = [node for node in rule.body.walk() if id(node) not in inside]
    alone = not any(isinstance(node, ColumnValue | Cell | Running) for node in outside)
    return bool(atoms) and alone and all(not atom.by and atom.function in _ADDED for atom in atoms)


def _aggregates(rule: IntegrityRule) -> list[Aggregate]:
    return list(dict.fromkeys(node for node in rule.body.walk() if isinstance(node, Aggregate)))


def _broken_total(exhibit: Exhibit, rule: IntegrityRule) -> int:
    atoms = _aggregates(rule)
    added = gathered_by_file(exhibit, partial(_adds, atoms))
    known = {
        atom: reduce(Partial.plus, parts).value(atom.function) for atom, parts in zip(atoms, zip(*added, strict=True), strict=True)
    }
    return Judge({None: {}}, known=known).broken(rule)


def _adds(atoms: list[Aggregate], table: Table) -> list[Partial]:
    judge = Judge({None: {name: table.text(name) for name in table.names}})
    return [judge.adds(atom) for atom in atoms]


def _broken_in(rule: IntegrityRule, table: Table) -> int:
    return Judge({None: {name: table.text(name) for name in table.names}}).broken(rule)


def _judge(exhibit: Exhibit) -> Judge:
    return Judge({None: _texts(exhibit)}, {None: _originals(exhibit)})


def _sight(exhibit: Exhibit, rule: IntegrityRule) -> dict[str, TextColumn] | None:
    """Of a release in several parts: the columns on which a rule can be judged, record by record."""
    if exhibit.private:
        return _originals(exhibit)
    needed = {column.name for column in columns_of(rule)}
    whole = next((table for table in exhibit.tables.values() if needed <= set(table.names)), None)
    return None if whole is None else {name: whole.text(name) for name in needed}


def _ready(rule: IntegrityRule, exhibit: Exhibit) -> bool:
    if any(isinstance(node, Own) and not is_at_hand(node.code) for node in rule.body.walk()):
        return False
    if not _one_table(exhibit):
        return _sight(exhibit, rule) is not None
    if any(isinstance(node, Cell) for node in rule.body.walk()):
        ordered = isinstance(exhibit.form, Replaced) and exhibit.form.ordered and not classify(rule).against_original
        return exhibit.behind is not None or ordered
    if not classify(rule).against_original:
        return True
    whole = isinstance(rule.body, SameMultiset | Histogram) or _only_in_aggregates(rule)
    return exhibit.original is not None and (whole or exhibit.behind is not None)


def _one_table(exhibit: Exhibit) -> bool:
    """Whether people stand in one part only; what is told of it beside holds no columns of theirs."""
    return set(exhibit.parts) == {"data"} or isinstance(exhibit.form, Replaced)


def _only_in_aggregates(rule: IntegrityRule) -> bool:
    inside = {id(c) for n in rule.body.walk() if isinstance(n, Aggregate) for c in n.walk()}
    return all(id(n) in inside for n in rule.body.walk() if isinstance(n, ColumnValue) and n.original)


def _texts(exhibit: Exhibit) -> dict[str, TextColumn]:
    """Published columns, in the order of the original when the trace is at hand; columns that are not published come from there."""
    found = {name: exhibit.data.text(name) for name in exhibit.data.names}
    if exhibit.behind is None or exhibit.original is None:
        return found
    order = np.argsort(exhibit.behind["data"], kind="stable")
    return {name: TextColumn(text.codes[order], text.labels) for name, text in found.items()}


def _originals(exhibit: Exhibit) -> dict[str, TextColumn]:
    if exhibit.original is None:
        return {}
    return {name: exhibit.original.text(name) for name in exhibit.original.names}
