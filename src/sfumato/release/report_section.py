"""A section of a report. A new one is one file in ``report/sections`` with one class.


Sections
--------
The sections of a report: one per file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from markupsafe import Markup

from sfumato.release.view import Applicable, ReleaseView


class Section(Applicable):
    """One part of the page: a heading, a sentence, a picture; `exhibit.private` tells the two reports apart."""

    title: ClassVar[str]
    order: ClassVar[int] = 50
    """Sections are shown on the page in this order."""

    @abstractmethod
    def render(self, exhibit: ReleaseView) -> Markup:
        """The section's HTML, without its heading."""


def paragraph(text: str) -> Markup:
    """A paragraph of plain text."""
    return Markup("<p>{}</p>").format(text)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """A plain table."""
    head = Markup("").join(Markup("<{tag}>{}</{tag}>").format(cell, tag="th" if cell else "td") for cell in header)
    about = "Table: " + ", ".join(cell for cell in header if cell)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    )
    return Markup(
        '<div class="scroll" tabindex="0" role="group" aria-label="{}">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(about, head, body)


def bullets(entries: Iterable[str]) -> Markup:
    """A list of sentences."""
    return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(entry) for entry in entries))


def level(values: object) -> str:
    """A level like {'k': 5} as words: k = 5."""
    return ", ".join(f"{key} = {value}" for key, value in dict(values).items()) if values else "—"  # type: ignore[call-overload]
