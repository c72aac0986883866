"""The frame of every page: one style, no scripts, nothing to load; and the small cards that notebooks show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, Template
from markupsafe import Markup

from sfumato.data.cards import card_html


@dataclass(frozen=True, slots=True)
class Headline:
    """What stands on top of a page: a verdict, a sentence, and figures with their names."""

    title: str
    lead: str
    figures: tuple[tuple[str, str], ...] = ()
    private: bool = False
    footer: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """One part of a page."""

    name: str
    title: str
    body: Markup


@cache
def style() -> Markup:
    """The style sheet of all pages."""
    return Markup(resources.files("sfumato.report").joinpath("style.css").read_text(encoding="utf-8"))  # noqa: S704


@cache
def template(name: str) -> Template:
    """A file of this room that pages are written with; understood once, since that takes as long as to fill it in."""
    source = resources.files("sfumato.report").joinpath(name).read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)


def framed(headline: Headline, passages: Sequence[Passage]) -> str:
    """A whole page that works offline."""
    return template("frame.html").render(headline=headline, passages=passages, style=style())


def card(headline: Headline, *body: Markup) -> str:
    """A small piece of HTML for a notebook."""
    return card_html(headline.title, headline.lead, headline.figures, "".join(body))
