"""The sub-tables of a release: the columns of each, what each hides, and why every rule holds."""

from __future__ import annotations

from typing import ClassVar

from markupsafe import Markup

from sfumato.core.html.charts import Box, box_map
from sfumato.kinds.subtables.form import SubTables, sub_tables
from sfumato.kinds.subtables.joint_estimate import Published
from sfumato.policy.privacy_rules import join_names
from sfumato.release.form import Form
from sfumato.release.report_section import Section, paragraph, table
from sfumato.release.view import ReleaseView, certificate_of


class SubTableSection(Section):
    """Which columns stand together, which are hidden behind buckets, and what guards each rule."""

    name: ClassVar[str] = "sub-tables"
    title: ClassVar[str] = "The tables and what guards each rule"
    order: ClassVar[int] = 25
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)
    on_classes: ClassVar[bool] = True

    def render(self, exhibit: ReleaseView) -> Markup:
        tables = exhibit.once(sub_tables).tables
        intro = paragraph(
            "The data is published as several tables. Each has a different random row order, "
            "and only columns with the same name connect them. A hidden column is listed per "
            "bucket: any row of a bucket may have any of its values."
        )
        shown = table(["table", "columns", "hidden behind buckets", "buckets", "rows"], [_row(each) for each in tables])
        drawing = box_map(
            [Box(each.name, tuple(each.visible), tuple(each.hidden)) for each in tables],
            [
                (f"{join_names(finding.given)} → {join_names(finding.hide)}", finding.state)
                for finding in certificate_of(exhibit).findings
                if finding.given and finding.hide
            ],
            title="The published tables and the rules between columns",
        )
        rules = [
            (
                f"{join_names(finding.given)} → {join_names(finding.hide)}",
                "kept" if finding.holds else "not kept",
                finding.reason,
            )
            for finding in certificate_of(exhibit).findings
            if finding.given and finding.hide
        ]
        return intro + drawing + shown + table(["rule", "", "why"], rules)


def _row(each: Published) -> tuple[object, ...]:
    buckets = len(set(each.bucket.tolist()) - {-1}) if each.bucket is not None else 0
    kinds = f"{buckets} kinds" if buckets and each.weights is not None else buckets
    return each.name, join_names(each.visible), join_names(each.hidden) or "—", kinds or "—", each.people
