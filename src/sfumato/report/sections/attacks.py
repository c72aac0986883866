"""What the release does not protect against, and on the data holder's side what these adversaries get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from markupsafe import Markup

from sfumato.attacks.playing import PlayedFigure, playable, played
from sfumato.release.exhibit import Exhibit, certified
from sfumato.report.section import Section, paragraph, table

_MOST = 50_000
"""Records beyond which playing takes longer than a report should."""


class KnownAttacks(Section):
    """The attacks that the certificate names; the private report plays them."""

    name: ClassVar[str] = "attacks"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "What this does not protect against"
    order: ClassVar[int] = 85

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(certified(exhibit).attacks)

    def render(self, exhibit: Exhibit) -> Markup:
        named = certified(exhibit).attacks or ()
        parts = [table(("attack", "why it applies"), [(attack.name, attack.applies) for attack in named])]
        if exhibit.private:
            rows = [row for attack in named for row in _played(attack.name, exhibit)]
            if rows:
                parts += [Markup("<h3>Played against the original</h3>"), table(("attack", "figure", "got", "promised"), rows)]
                parts.append(paragraph(_explained(rows)))
        return Markup("").join(parts)


def _played(name: str, exhibit: Exhibit) -> Iterator[tuple[object, ...]]:
    """The figures of one attack, when it can be played on this exhibit."""
    cls = playable(name, exhibit)
    if cls is None:
        return
    if exhibit.counted:
        yield name, "not played where rows lie elsewhere", "—", "—"
        return
    if not cls.quick or certified(exhibit).records.input > _MOST:
        yield name, f"not played here, it takes its time: sfumato attack {name}", "—", "—"
        return
    yield from map(_row, played(name, exhibit))


def _row(found: PlayedFigure) -> tuple[object, ...]:
    """One figure; in red when it is beyond the promise, or counts the people for whom something is."""
    if found.note:
        return found.attack, found.note, "—", "—"
    got = found.got
    shown = f"{got:.4g}" if isinstance(got, float) else f"{got:,}" if isinstance(got, int) else str(got)
    if found.above:
        shown = Markup('<span class="above">{} — above the promise</span>').format(shown)
    label = f"{found.attack} ({found.column})" if found.column else found.attack
    return label, found.figure, shown, "—" if found.promised is None else f"{found.promised:.4g}"


def _explained(rows: list[tuple[object, ...]]) -> str:
    above = sorted({str(row[0]) for row in rows if isinstance(row[2], Markup)})
    words = "These adversaries know more than the claims assume; each has a paragraph in docs/limits.md."
    if above:
        words += (
            f" Above what was promised: {', '.join(above)}. The claims hold for outsiders who have no opinion beforehand and do "
            "not reason about the method."
        )
    return words
