"""How a replaced table was made: its parts, their rules and engines, and new values beside the original ones."""

from __future__ import annotations

from typing import Any, ClassVar

from markupsafe import Markup

from sfumato.forms.replaced import MadePart, Replaced
from sfumato.policy.keep import integrity_rules
from sfumato.policy.rules import classify, columns_of
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.charts import paired_bars
from sfumato.report.section import Section, paragraph, table

_MOST = 12


class ReplacedSection(Section):
    """Parts, rules and engines of a replaced table."""

    name: ClassVar[str] = "replaced"
    title: ClassVar[str] = "New values under rules"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(exhibit.of(Replaced).parts)

    def render(self, exhibit: Exhibit) -> Markup:
        parts = exhibit.of(Replaced).parts
        blind = sum(not part.reads_original for part in parts)
        words = (
            f"The rules join the replaced columns into {len(parts)} independent part(s). {blind} of them were made without looking "
            f"at the values they replace: whatever was there before, the result is as likely."
        )
        made = table(("columns", "made by", "all legal tables equally likely", "original read"), [_row(part) for part in parts])
        rules = [(f"{rule}", str(classify(rule)), _part(_named(rule), parts)) for rule in integrity_rules(exhibit.policy)]
        listed = table(("rule, true in every line above", "kind", "part"), rules) if rules else Markup("")
        return Markup("").join([paragraph(words), made, Markup("<h3>Rules</h3>"), listed, _beside(exhibit)])


def _named(rule: Any) -> set[str]:
    """The published columns that a rule speaks about."""
    return {column.name for column in columns_of(rule) if not column.original}


def _row(part: MadePart) -> tuple[object, ...]:
    how = f"{part.heuristic} with a solver, blocks of {part.block}" if part.heuristic else part.engine
    return ", ".join(part.columns), how, "yes" if part.uniform else "no", "yes" if part.reads_original else "no"


def _part(columns: set[str], parts: tuple[MadePart, ...]) -> str:
    found = [str(number) for number, part in enumerate(parts, start=1) if columns & set(part.columns)]
    return ", ".join(found) or "—"


def _beside(exhibit: Exhibit) -> Markup:
    """For the data holder: old and new frequencies of columns with few values."""
    if not exhibit.private:
        return Markup("")
    pieces = [Markup("<h3>Original and new values</h3>")]
    for name in exhibit.policy.with_role("replaced"):
        before, after = exhibit.original.text(name), exhibit.data.text(name)
        if max(len(before.labels), len(after.labels)) > 3 * _MOST:
            continue  # before millions of texts are sorted
        labels = sorted({*before.labels, *after.labels}, key=lambda label: (len(label), label))
        if len(labels) > 3 * _MOST:
            continue
        old = dict(zip(before.labels, (before.counts() / max(exhibit.original.rows, 1)).tolist(), strict=True))
        new = dict(zip(after.labels, (after.counts() / max(exhibit.data.rows, 1)).tolist(), strict=True))
        rows = [(label, old.get(label, 0.0), new.get(label, 0.0)) for label in labels]
        shown = sorted(rows, key=lambda row: -max(row[1], row[2]))[: 2 * _MOST]
        pieces.append(paired_bars([row for row in rows if row in shown], title=name, names=(f"{name}, original", "new")))
    return Markup("").join(pieces) if len(pieces) > 1 else Markup("")
