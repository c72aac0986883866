"""The page: one self-contained HTML file that works offline and prints well."""

from __future__ import annotations

from sfumato.registry import catalogue
from sfumato.release.exhibit import Exhibit, certified
from sfumato.report.frame import style, template
from sfumato.report.section import Section


def render(exhibit: Exhibit) -> str:
    """All sections that apply, in their order, in the page's frame."""
    sections = sorted((cls() for cls in catalogue("report.sections", Section).values()), key=lambda section: section.order)
    shown = [(section.name, section.title, section.render(exhibit)) for section in sections if section.applies(exhibit)]
    return template("page.html").render(exhibit=exhibit, certificate=certified(exhibit), sections=shown, style=style())
