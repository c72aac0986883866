"""The frame of every page: one style, no scripts, nothing to load; and the small cards that notebooks show.


Cards
-----
Cards: how things show themselves in a notebook. Plain HTML with a style of its own; every text is escaped.

>>> print(card_html("k < 5", "a lead", (("3", "classes"),))[-102:])
<h4>k &lt; 5</h4><p>a lead</p><div class="figures"><div><b>3</b><span>classes</span></div></div></div>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources

from jinja2 import Environment, Template
from markupsafe import Markup


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
    return Markup(resources.files("sfumato.core.html").joinpath("style.css").read_text(encoding="utf-8"))  # noqa: S704


@cache
def template(name: str) -> Template:
    """Return a template of this folder; it is parsed once, since parsing takes as long as filling it in."""
    source = resources.files("sfumato.core.html").joinpath(name).read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)


def render_page(headline: Headline, passages: Sequence[Passage]) -> str:
    """A whole page that works offline."""
    return template("frame.html").render(headline=headline, passages=passages, style=style())


def card(headline: Headline, *body: Markup) -> str:
    """A small piece of HTML for a notebook."""
    return card_html(headline.title, headline.lead, headline.figures, "".join(body))


# Cards
# -----


_LIGHT = (
    "--bg:#fff;--card:#fff;--ink:#1c2530;--soft:#56626f;--line:#dcdfe3;--hold:#12715e;--hold-bg:#e5f3ef;--warn:#8a5200;"
    "--warn-bg:#fdf1dc;--bad:#a3261c;--bad-bg:#fbe6e3;--before:#7d8995;--after:#0b62a8;--accent:#0b4f86"
)
_DARK = (
    "--bg:#12161b;--card:#1b2128;--ink:#e9edf1;--soft:#a7b2bd;--line:#343d47;--hold:#6fd3b8;--hold-bg:#14302a;"
    "--warn:#f0bd66;--warn-bg:#35280f;--bad:#ff9d90;--bad-bg:#3b1a17;--before:#8d98a4;--after:#6db6f2;--accent:#6db6f2"
)
_STYLE = (
    f"<style>.sfumato{{{_LIGHT};font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--card);"
    "max-width:960px;border:1px solid var(--line);border-radius:10px;padding:14px 18px}"
    f"@media(prefers-color-scheme:dark){{.sfumato{{{_DARK}}}}}"
    ".sfumato h1,.sfumato h2,.sfumato h4{margin:0 0 4px;font-size:17px;color:var(--ink)}"
    ".sfumato p{margin:0 0 8px;color:var(--ink)}"
    ".sfumato .figures{display:flex;gap:8px 26px;flex-wrap:wrap;margin:8px 0 12px}"
    ".sfumato .figures b{display:block;font-size:19px}.sfumato .figures span{color:var(--soft);font-size:12px}"
    ".sfumato table{border-collapse:collapse;font-size:13px;margin:0 0 10px}"
    ".sfumato th,.sfumato td{text-align:left;padding:3px 12px 3px 0;border-bottom:1px solid var(--line);"
    "color:var(--ink);background:var(--card);vertical-align:top}.sfumato thead th{color:var(--soft)}"
    ".sfumato figure{margin:0}.sfumato svg{width:100%;max-width:480px;height:auto}"
    ".sfumato svg .l{font-size:12px;fill:var(--ink)}.sfumato svg .v{font-size:11px;fill:var(--soft)}"
    ".sfumato details summary{color:var(--accent);font-size:13px;cursor:pointer}.sfumato .hidden{display:none}"
    ".sfumato .yes{color:var(--hold);font-weight:600}.sfumato .no{color:var(--bad);font-weight:600}"
    ".sfumato .open{color:var(--warn);font-weight:600}"
    ".sfumato .chip{display:inline-block;border-radius:99px;padding:1px 10px;font-size:13px;font-weight:600}"
    ".sfumato .hold{background:var(--hold-bg);color:var(--hold)}.sfumato .warn{background:var(--warn-bg);"
    "color:var(--warn)}.sfumato .bad{background:var(--bad-bg);color:var(--bad)}"
    ".sfumato .plain{border:1px solid var(--line);color:var(--soft)}"
    ".sfumato .q{font-size:12px;letter-spacing:.04em;text-transform:uppercase;color:var(--soft);margin:8px 0 2px}"
    ".sfumato .five{display:flex;flex-wrap:wrap;gap:4px 22px}.sfumato .col{flex:1 1 340px;min-width:0}"
    ".sfumato .points{list-style:none;padding:0;margin:0}.sfumato .points li{margin:0 0 6px}"
    ".sfumato .soft{color:var(--soft);font-size:13px}</style>"
)


def card_html(title: str, lead: str, figures: Sequence[tuple[str, str]] = (), body: str = "") -> str:
    """A title, a sentence, figures with their names, and a body that is HTML already."""
    shown = "".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in figures)
    top = f'<h4>{escape(title)}</h4><p>{escape(lead)}</p><div class="figures">{shown}</div>'
    return f'<div class="sfumato">{_STYLE}{top}{body}</div>'


def block_html(*parts: str) -> str:
    """Pieces that are HTML already, in the frame and style of a card."""
    return f'<div class="sfumato">{_STYLE}{"".join(parts)}</div>'


def table_html(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table.

    >>> table_html(("a",), [("<b>",)])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{lines}</table>"
