"""The attacks that concern a release, played by the data holder: every figure beside what was promised.

Guarantee
    Figures are counts and rates; nothing an adversary reads off about a single person is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.attacks.base import Attack, ReleaseAttack
from sfumato.errors import SfumatoError
from sfumato.methods.base import Progress, silent
from sfumato.registry import catalogue
from sfumato.release.exhibit import Exhibit


@dataclass(frozen=True, slots=True)
class PlayedFigure:
    """One figure of one attack; `note` instead, where it was not played."""

    attack: str
    column: str = ""
    figure: str = ""
    got: Any = None
    promised: float | None = None
    above: bool = False
    """Whether it is beyond the promise, or counts people for whom something is."""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def playable(name: str, exhibit: Exhibit) -> type[ReleaseAttack] | None:
    """The attack of this name, when it can be played on this release."""
    cls = catalogue("attacks", Attack).get(name)
    return cls if cls is not None and issubclass(cls, ReleaseAttack) and isinstance(exhibit.form, cls.forms) else None


def played(name: str, exhibit: Exhibit, progress: Progress = silent) -> Iterator[PlayedFigure]:
    """The figures of one attack on the data holder's exhibit; nothing when it cannot be played on this form."""
    cls = playable(name, exhibit)
    if cls is None:
        return
    try:
        attack = cls(target=str(exhibit.folder or ""), original="")
        figures = attack.watched(progress).play(exhibit)
    except SfumatoError as error:
        yield PlayedFigure(name, note=f"not played: {error.what}")
        return
    for column, found in _by_column(figures):
        yield from (_figure(name, column, key, found, cls.headline) for key in found if key != "promised")


def _by_column(figures: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Figures of the whole, then those of single columns."""
    yield "", {key: value for key, value in figures.items() if not isinstance(value, Mapping)}
    yield from ((key, value) for key, value in figures.items() if isinstance(value, Mapping))


def _figure(name: str, column: str, key: str, figures: Mapping[str, Any], headline: str) -> PlayedFigure:
    got, promised = figures[key], figures.get("promised") if key == headline else None
    above = got > promised if promised is not None else key.endswith("_above_promise") and got > 0
    return PlayedFigure(name, column, key.replace("_", " "), got, promised, bool(above))
