"""The page: one self-contained HTML file that works offline and prints well."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment

from sfumato.registry import catalogue
from sfumato.release.exhibit import Exhibit, certified
from sfumato.report.frame import style
from sfumato.report.section import Section


def render(exhibit: Exhibit) -> str:
    """All sections that apply, in their order, in the page's frame."""
    sections = sorted((cls() for cls in catalogue("report.sections", Section).values()), key=lambda section: section.order)
    shown = [(section.name, section.title, section.render(exhibit)) for section in sections if section.applies(exhibit)]
    source = resources.files("sfumato.report").joinpath("page.html").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
    return template.render(exhibit=exhibit, certificate=certified(exhibit), sections=shown, style=style())
