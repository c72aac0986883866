"""The frame of every page: one style, no scripts, nothing to load; and the small cards that notebooks show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment
from markupsafe import Markup

_CARD = (
    "<style>.sfumato{font:14px/1.5 system-ui,sans-serif;color:#2b333b;background:#fff;max-width:860px;border:1px solid #e3ddd3;"
    "border-radius:10px;padding:14px 18px}.sfumato h4{margin:0 0 2px;font-size:16px;color:#2b333b}"
    ".sfumato p{margin:0 0 10px;color:#66737f}"
    ".sfumato .figures{display:flex;gap:26px;flex-wrap:wrap;margin:8px 0 12px}.sfumato .figures b{display:block;font-size:19px}"
    ".sfumato .figures span{color:#66737f;font-size:12px}.sfumato table{border-collapse:collapse;font-size:13px;margin:0 0 10px}"
    ".sfumato th,.sfumato td{text-align:left;padding:3px 12px 3px 0;border-bottom:1px solid #f0ebe3;color:#2b333b;background:#fff}"
    ".sfumato th{color:#66737f}.sfumato svg{width:100%;max-width:640px;height:auto}"
    ".sfumato svg .l{font-size:12px;fill:#2b333b}.sfumato svg .v{font-size:11px;fill:#66737f}"
    ".sfumato .yes{color:#3c7a57;font-weight:600}.sfumato .no{color:#b3402f;font-weight:600}"
    ".sfumato .open{color:#a8701a;font-weight:600}</style>"
)


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


def framed(headline: Headline, passages: Sequence[Passage]) -> str:
    """A whole page that works offline."""
    source = resources.files("sfumato.report").joinpath("frame.html").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
    return template.render(headline=headline, passages=passages, style=style())


def card(headline: Headline, *body: Markup) -> str:
    """A small piece of HTML for a notebook."""
    figures = Markup("").join(Markup("<div><b>{}</b><span>{}</span></div>").format(value, name) for value, name in headline.figures)
    top = Markup('<h4>{}</h4><p>{}</p><div class="figures">{}</div>').format(headline.title, headline.lead, figures)
    return str(Markup('<div class="sfumato">{}{}{}</div>').format(Markup(_CARD), top, Markup("").join(body)))  # noqa: S704
