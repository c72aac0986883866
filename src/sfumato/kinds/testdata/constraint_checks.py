"""Rules: everything under `keep` is true in what was published.

Rules that compare records with their originals need the private provenance; those without it are counted in a finding
of their own, which is not judged. Where a release shows its columns in several parts, a rule is judged on the part that
shows all of its columns, or with the original on the original's own records, which `truthful buckets` and `agreement`
find to be the published ones.


Replacements
------------
Replacements: new values lie in their domains, other columns are as they were, and nothing echoes the original.

Without the original only the domains can be judged. With it, kept columns must have the same combinations of values;
with the private provenance also record by record, and replaced values may agree with the original ones no more often
than chance allows.

Where rows stay on a cluster their files are looked at where they lie, and kept columns were compared there with the
source.


By file
-------
What must be true of single rows, on a cluster: looked at file by file, where the files lie, and added up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial, reduce
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import NotAssessed, ReleaseError
from sfumato.core.wording import Wording
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import labels_as_texts
from sfumato.io.table_files import read_parquet
from sfumato.kinds.subtables.form import AnatomyForm, SubTables
from sfumato.kinds.tables.form import Recoded
from sfumato.kinds.testdata.evidence import part_of_column
from sfumato.kinds.testdata.form import Replaced
from sfumato.kinds.testdata.pattern_checks import KeptLocalities
from sfumato.policy.constraint_language import IntegrityRule, classify, columns_of, conjuncts
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator, Partial
from sfumato.policy.constraint_language.syntax_tree import (
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
from sfumato.policy.custom_code import OwnTexts, is_at_hand
from sfumato.policy.kept_constraints import integrity_rules, replacements_of
from sfumato.policy.value_domains import Computed, Empty, Like, ValueDomain, Values, replaces_missing
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding
from sfumato.release.evidence import Check
from sfumato.release.folder import part_files
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

FORMS: tuple[type[Form], ...] = (Replaced, Recoded, AnatomyForm, SubTables)
_ADDED = ("sum", "mean", "count", "min", "max")
"""Aggregates that are known from what each file adds."""


class RulesKept(Check):
    """Every rule under `keep` holds in the published table."""

    name: ClassVar[str] = "rules"
    words: ClassVar[Wording] = Wording(
        title="Rules",
        code="rules",
        holds=("None of {found.rules rule/rules} of the policy is violated.", "All rules of the policy hold."),
        violated="{found.broken} of {found.rules rule/rules} are violated: {reason}",
    )
    on_classes: ClassVar[bool] = True
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = FORMS

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(judged(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        broken, left = dict[str, int](), list[str]()
        for rule in judged(exhibit):
            try:
                broken[rule.text] = _broken(exhibit, rule)
            except NotAssessed as error:
                left.append(error.what)
        wrong = [f'"{text}" is broken {count} time(s)' for text, count in broken.items() if count]
        if left and not wrong:
            return Finding(self.name, True, {"broken": 0}, {}, grade=NOT_JUDGED, reason="; ".join(left))
        achieved = {"rules": len(broken), "broken": sum(count > 0 for count in broken.values())}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


class RulesLeft(Check):
    """Rules under `keep` that cannot be judged with what is at hand."""

    name: ClassVar[str] = "rules left open"
    words: ClassVar[Wording] = Wording(
        title="Rules",
        code="rules-not-assessed",
        open="{found.rules rule/rules} need the original data or the provenance file.",
    )
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = FORMS

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(left_open(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        count = left_open(exhibit)
        missing = "the private provenance" if exhibit.private else "the original or the private provenance"
        missing += "" if exhibit.policy.plugins is None else ", or the data holder's own code (SFUMATO_PLUGINS)"
        return Finding(
            self.name, True, {}, {"rules": count}, grade=NOT_JUDGED, reason=f"{count} rule(s) need {missing}"
        )


def judged(exhibit: ReleaseView) -> list[IntegrityRule]:
    """Return the constraints that can be evaluated with this view."""
    return [
        rule
        for rule in integrity_rules(exhibit.policy)
        if not isinstance(rule.body, Localities) and _ready(rule, exhibit)
    ]


def left_open(exhibit: ReleaseView) -> int:
    """How many rules nobody judges; localities have a check of their own, which needs the private provenance."""
    rules = integrity_rules(exhibit.policy)
    localities = sum(isinstance(rule.body, Localities) for rule in rules) if KeptLocalities().applies(exhibit) else 0
    return len(rules) - localities - len(judged(exhibit))


def _broken(exhibit: ReleaseView, rule: IntegrityRule) -> int:
    if exhibit.counted:
        return sum(_broken_elsewhere(exhibit, IntegrityRule(rule.text, part)) for part in conjuncts(rule.body))
    if _one_table(exhibit):
        return exhibit.once(_judge).broken(rule)
    sight = _sight(exhibit, rule)
    assert sight is not None
    return ConstraintEvaluator({None: sight}, {None: _originals(exhibit)}).broken(rule)


def _broken_elsewhere(exhibit: ReleaseView, rule: IntegrityRule) -> int:
    """Where rows stay on a cluster: what looks at one record at a time file by file, what must be unique over all
    files, and totals from what each file adds."""
    if isinstance(rule.body, Unique):
        return count_repeated_rows(exhibit, [column.name for column in rule.body.columns])
    if _adds_up(rule) and isinstance(exhibit.form, Replaced):
        return _broken_total(exhibit, rule)
    if not isinstance(exhibit.form, Replaced) or classify(rule).is_global or classify(rule).against_original:
        raise NotAssessed(f'nobody judges "{rule.text}" where only different rows with their counts are at hand')
    return count_by_file(exhibit, partial(_broken_in, rule))


def _adds_up(rule: IntegrityRule) -> bool:
    """Whether a rule compares aggregates over all published records, each of which is put together from parts, and
    nothing else."""
    if not isinstance(rule.body, Compare) or classify(rule).against_original:
        return False
    atoms = _aggregates(rule)
    inside = {id(node) for atom in atoms for node in atom.walk()}
    outside = [node for node in rule.body.walk() if id(node) not in inside]
    alone = not any(isinstance(node, ColumnValue | Cell | Running) for node in outside)
    return bool(atoms) and alone and all(not atom.by and atom.function in _ADDED for atom in atoms)


def _aggregates(rule: IntegrityRule) -> list[Aggregate]:
    return list(dict.fromkeys(node for node in rule.body.walk() if isinstance(node, Aggregate)))


def _broken_total(exhibit: ReleaseView, rule: IntegrityRule) -> int:
    atoms = _aggregates(rule)
    added = collect_by_file(exhibit, partial(_adds, atoms))
    known = {
        atom: reduce(Partial.plus, parts).value(atom.function)
        for atom, parts in zip(atoms, zip(*added, strict=True), strict=True)
    }
    return ConstraintEvaluator({None: {}}, known=known).broken(rule)


def _adds(atoms: list[Aggregate], table: Table) -> list[Partial]:
    judge = ConstraintEvaluator({None: {name: table.text(name) for name in table.names}})
    return [judge.adds(atom) for atom in atoms]


def _broken_in(rule: IntegrityRule, table: Table) -> int:
    return ConstraintEvaluator({None: {name: table.text(name) for name in table.names}}).broken(rule)


def _judge(exhibit: ReleaseView) -> ConstraintEvaluator:
    return ConstraintEvaluator({None: _texts(exhibit)}, {None: _originals(exhibit)})


def _sight(exhibit: ReleaseView, rule: IntegrityRule) -> dict[str, TextColumn] | None:
    """Of a release in several parts: the columns on which a rule can be judged, record by record."""
    if exhibit.private:
        return _originals(exhibit)
    needed = {column.name for column in columns_of(rule)}
    whole = next((table for table in exhibit.tables.values() if needed <= set(table.names)), None)
    return None if whole is None else {name: whole.text(name) for name in needed}


def _ready(rule: IntegrityRule, exhibit: ReleaseView) -> bool:
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


def _one_table(exhibit: ReleaseView) -> bool:
    """Return whether people are in one part only, so that the other parts have no columns of theirs."""
    return set(exhibit.parts) == {"data"} or isinstance(exhibit.form, Replaced)


def _only_in_aggregates(rule: IntegrityRule) -> bool:
    inside = {id(c) for n in rule.body.walk() if isinstance(n, Aggregate) for c in n.walk()}
    return all(id(n) in inside for n in rule.body.walk() if isinstance(n, ColumnValue) and n.original)


def _texts(exhibit: ReleaseView) -> dict[str, TextColumn]:
    """Published columns, in the order of the original when the provenance is at hand; columns that are not published
    come from there."""
    found = {name: exhibit.data.text(name) for name in exhibit.data.names}
    if exhibit.behind is None or exhibit.original is None:
        return found
    order = np.argsort(exhibit.behind["data"], kind="stable")
    return {name: TextColumn(text.codes[order], text.labels) for name, text in found.items()}


def _originals(exhibit: ReleaseView) -> dict[str, TextColumn]:
    if exhibit.original is None:
        return {}
    return {name: exhibit.original.text(name) for name in exhibit.original.names}


# Replacements
# ------------


_SIGMA = 7.0


class Domains(Check):
    """Replaced values lie in their domains."""

    name: ClassVar[str] = "domains"
    words: ClassVar[Wording] = Wording(
        title="Value domains",
        code="value-domains",
        holds="All new values lie in their declared domains.",
    )
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        domains = {name: _at_hand(exhibit, domain) for name, domain in replacements_of(exhibit.policy).items()}
        unlimited = sum(domain is not None and not domain.limits for domain in domains.values())
        needed = sum(domain is None for domain in domains.values())
        outside = {
            name: _outside(exhibit, name, domain)
            for name, domain in domains.items()
            if domain is not None and domain.limits
        }
        return domain_finding(self.name, outside, needed, unlimited, {})


def domain_finding(
    name: str, outside: Mapping[str, int], needed: int, unlimited: int, sizes: Mapping[str, int]
) -> Finding:
    """What was found outside of domains, by column; of columns whose domain is not at hand nothing is judged.

    `needed` columns take values of the original or of own code that is not at hand; `unlimited` ones take every text
    (``fakes``, ``computed``), so there is nothing to compare them with."""
    wrong = [f"{count} values of '{column}' are outside its domain" for column, count in outside.items() if count]
    achieved = {**sizes, "outside": sum(outside.values())}
    if not wrong and needed:
        reason = (
            f"the domains of {needed} column(s) are values of the original, or own code (SFUMATO_PLUGINS): give them to"
            " judge this"
        )
        return Finding(name, True, {"outside": 0}, {}, grade=NOT_JUDGED, reason=reason)
    told = f"{unlimited} column(s) may hold any text (fakes, computed) and were not compared" if unlimited else ""
    if not outside and unlimited:
        return Finding(name, True, {}, {"compared": 0, "not compared": unlimited}, grade=MEASURED, reason=told)
    return Finding(name, not wrong, {"outside": 0}, achieved, reason="; ".join(wrong) or told)


def _at_hand(exhibit: ReleaseView, domain: ValueDomain) -> ValueDomain | None:
    """The domain as far as it is known here: values of a source column need the original, own code must be
    installed."""
    if isinstance(domain, OwnTexts) and not is_at_hand(domain.code):
        return None
    if isinstance(domain, Like):
        return None if exhibit.original is None else Values(exhibit.original.text(domain.column).labels)
    return domain


def _outside(exhibit: ReleaseView, name: str, domain: ValueDomain) -> int:
    if exhibit.counted:
        return count_by_file(exhibit, partial(_outside_in, name, domain))
    return _outside_in(name, domain, exhibit.data)


def _outside_in(name: str, domain: ValueDomain, table: Table) -> int:
    text = table.text(name)
    outside = ~domain.contains(text.labels) & text.has_value()
    return int(
        text.counts()[outside].sum()
    )  # what is missing is no value; that it was missing before is judged with the original


class StillMissing(Check):
    """What was missing stays missing, and nothing else is, unless a column's domain fills it; without the provenance in
    number."""

    name: ClassVar[str] = "missing values"
    words: ClassVar[Wording] = Wording(
        title="Missing values",
        code="missing-values",
        holds=(
            "Exactly the originally missing values are missing ({details.compared row/rows} compared one by one).",
            "Every replaced column has as many missing values as in the original.",
        ),
        violated="{found.different value/values} are missing or filled in by mistake.",
    )
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def examine(self, exhibit: ReleaseView) -> Finding:
        wrong = {}
        for name, domain in replacements_of(exhibit.policy).items():
            if isinstance(domain, (Computed, Empty)) or replaces_missing(exhibit.policy.columns[name].domain):
                continue
            if exhibit.counted:
                wrong[name] = abs(count_by_file(exhibit, partial(_lacking, name)) - _lacking(name, exhibit.original))
                continue
            now, before = _missing(exhibit.data, name), _missing(exhibit.original, name)
            known = exhibit.behind is not None
            wrong[name] = (
                int((now != before[_behind(exhibit)]).sum()) if known else abs(int(now.sum()) - int(before.sum()))
            )
        told = [f"{count} values of '{name}' are missing or filled" for name, count in wrong.items() if count]
        details = {} if exhibit.counted or exhibit.behind is None else {"compared": exhibit.data.rows}
        return Finding(
            self.name,
            not told,
            {"different": 0},
            {"different": sum(wrong.values())},
            reason="; ".join(told),
            details=details,
        )


def _behind(exhibit: ReleaseView) -> IntArray:
    assert exhibit.behind is not None
    return exhibit.behind["data"]


def _lacking(name: str, table: Table) -> int:
    """How many values are missing; of a source that lies elsewhere none, or rows would have been brought."""
    return int(_missing(table, name).sum()) if name in table.names else 0


def _missing(table: Table, name: str) -> BoolArray:
    text = table.text(name)
    found: BoolArray = ~text.has_value()[text.codes]
    return found


class Kept(Check):
    """Columns that are not replaced are published as they were."""

    name: ClassVar[str] = "kept columns"
    words: ClassVar[Wording] = Wording(
        title="Unchanged columns",
        code="kept-columns",
        holds=(
            "All columns that are not replaced equal the original ({details.cells cell/cells} compared).",
            "The columns that are not replaced have the same combinations of values as in the original.",
        ),
        violated=(
            "In {details.wrong_cells cell/cells} the value differs from the original.",
            "In {found.changed row/rows} the combination of values differs from the original.",
        ),
    )
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and bool(_kept(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        names = _kept(exhibit)
        if exhibit.counted and exhibit.strangers is None:
            reason = "kept columns are compared where the rows lie"
            return Finding(self.name, True, {"changed": 0}, {}, grade=NOT_JUDGED, reason=reason)
        if exhibit.counted:
            changed = int(exhibit.strangers or 0)
        elif exhibit.behind is not None:
            rows = exhibit.behind["data"]
            changed = sum(_different(exhibit.data.text(n), exhibit.original.text(n), rows) for n in names)
        else:
            now, before = _combinations(exhibit.data, names), _combinations(exhibit.original, names)
            changed = max((now - before).total(), (before - now).total())
        single = not exhibit.counted and exhibit.behind is not None
        details = (
            {} if not single else {"wrong_cells": changed} if changed else {"cells": len(names) * exhibit.data.rows}
        )
        reason = f"{changed} kept {'cells' if single else 'rows'} differ from the original" if changed else ""
        return Finding(self.name, not changed, {"changed": 0}, {"changed": changed}, reason=reason, details=details)


def _kept(exhibit: ReleaseView) -> list[str]:
    return [name for name in exhibit.policy.published if exhibit.policy.columns[name].role != "replaced"]


def _different(now: TextColumn, before: TextColumn, rows: IntArray) -> int:
    return int((_places(now, before)[now.codes] != before.codes[rows]).sum())


def _places(now: TextColumn, before: TextColumn) -> IntArray:
    """Which of the labels before each label now is; −1 for a new one."""
    found = pc.index_in(labels_as_texts(now.labels), value_set=labels_as_texts(before.labels))
    places: IntArray = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    return places


def _combinations(table: Table, names: list[str]) -> Counter[tuple[str, ...]]:
    classes = equivalence_classes_of([table.text(name).codes for name in names], rows=table.rows)
    first = np.zeros(len(classes), dtype=np.int64)
    first[classes.of] = np.arange(table.rows)
    texts = [np.array(table.text(name).labels, dtype=object)[table.text(name).codes[first]].tolist() for name in names]
    return Counter(dict(zip(zip(*texts, strict=True), classes.counts.tolist(), strict=True)))


class Echo(Check):
    """Replaced values agree with the original ones no more often than chance allows."""

    name: ClassVar[str] = "echo"
    words: ClassVar[Wording] = Wording(
        title="Replaced values",
        code="fresh-values",
        group="privacy",
        holds="New values match the original ones no more often than by coincidence.",
        violated="{found.columns column/columns} repeat original values too often: {reason}",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and exhibit.behind is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        assert exhibit.behind is not None
        rows = exhibit.behind["data"]
        names = [name for name in replacements_of(exhibit.policy) if not _bound(exhibit, name)]
        skipped = len(replacements_of(exhibit.policy)) - len(names)
        tied = f"{skipped} column(s) were not tested: rules tie them to kept or original values" if skipped else ""
        if not names:
            return Finding(self.name, True, {}, {"tested": 0, "skipped": skipped}, grade=MEASURED, reason=tied)
        loud = [name for name in names if _echoes(exhibit.data.text(name), exhibit.original.text(name), rows)]
        reason = "columns that repeat the original too often: " + ", ".join(loud) if loud else tied
        details = {"tested": len(names), "skipped": skipped}
        return Finding(self.name, not loud, {"columns": 0}, {"columns": len(loud)}, reason=reason, details=details)


def _bound(exhibit: ReleaseView, name: str) -> bool:
    """Whether rules bind the column to kept or original values of its record; then agreement may be wanted."""
    replaced = tuple(replacements_of(exhibit.policy))
    part = part_of_column(name, replaced, integrity_rules(exhibit.policy))
    return bool(part.mentioned) or part.looks_back


def _echoes(now: TextColumn, before: TextColumn, rows: IntArray) -> bool:
    """More agreements than independent columns with these frequencies would have, by seven standard deviations.

    Only records that have a value before and after count: what was missing stays missing by the policy's own wish.
    """
    old = before.codes[rows]
    there = now.has_value()[now.codes] & before.has_value()[old]
    code, new, old = _places(now, before), now.codes[there], old[there]
    agreements = int((code[new] == old).sum())
    often, once = np.bincount(new, minlength=len(code)), np.bincount(old, minlength=len(before.labels))
    shared = code >= 0
    expected = float((often[shared].astype(np.float64) * once[code[shared]]).sum()) / max(len(new), 1)
    return agreements > expected + _SIGMA * math.sqrt(expected + 1)


# By file
# -------


def count_by_file(exhibit: ReleaseView, count: Callable[[Table], int]) -> int:
    """The sum of what `count` finds in every file of the main part; it is sent to where they lie."""
    return sum(collect_by_file(exhibit, count))


def collect_by_file(exhibit: ReleaseView, find: Callable[[Table], Any]) -> list[Any]:
    """What is found in every file of the main part."""
    if exhibit.folder is None:
        raise ReleaseError("the rows of this release are not at hand")
    return exhibit.over_files(partial(_in_file, find), part_files(exhibit.folder, "data"))


def count_repeated_rows(exhibit: ReleaseView, names: list[str]) -> int:
    """Rows of all files together that say in some columns what another row says."""
    if exhibit.folder is None or exhibit.repeats is None:
        raise ReleaseError("the rows of this release are not at hand")
    return exhibit.repeats(part_files(exhibit.folder, "data"), names)


def _in_file(find: Callable[[Table], Any], file: Path) -> Any:
    return find(Table(read_parquet(file)))
