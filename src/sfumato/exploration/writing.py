"""An exploration in lines, and in files; and what the command line says as a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.data.numbers import is_whole, number
from sfumato.errors import PolicyError
from sfumato.exploration.result import Exploration
from sfumato.exploration.variants import Sweep
from sfumato.release.plain_files import replace_file


def sweep_of(levels: Any, methods: Any, without: Any, depths: Any) -> Sweep:
    """``k=3,5``, method names, ``a,b`` and ``age=1,2`` as a sweep."""
    sets = [tuple(name.strip() for name in text.split(",") if name.strip()) for text in without]
    read_depths = {name: _whole_numbers(name, values) for name, values in _pairs(depths)}
    return Sweep(dict(_pairs(levels)), tuple(methods), ((), *sets), read_depths)


def _pairs(texts: Sequence[str]) -> Iterator[tuple[str, tuple[float, ...]]]:
    for text in texts:
        name, _, values = text.partition("=")
        read = [number(value.strip()) for value in values.split(",")]
        if not name.strip() or any(value is None for value in read):
            raise PolicyError(f"'{text}' is no name with numbers", where="command line", hint="write it like k=3,5,10")
        yield name.strip(), tuple(float(value) for value in read if value is not None)


def _whole_numbers(name: str, values: Sequence[float]) -> tuple[int, ...]:
    for value in values:
        if value < 0 or not is_whole(number(f"{value:g}") or number("0.5")):  # type: ignore[arg-type]
            raise PolicyError(f"a depth of '{name}' is no whole number", where="command line", hint="write it like age=1,2")
    return tuple(int(value) for value in values)


def write_exploration(found: Exploration, folder: Path, choose: int | None = None) -> dict[str, Path]:
    """The page, and the chosen point as a policy when there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {"page": replace_file(folder / "explore.html", found.page().encode(), private=True)}
    if choose is not None or found.chosen is not None:
        written["policy"] = found.write(folder / "chosen.yaml", choose)
    return written


def lines(found: Exploration) -> Iterator[str]:
    """One line per point, in order of safety, then by what it costs."""
    wide = max((len(str(point.variant)) for point in found.points), default=0)
    yield f"{'':>4}  {'':<{wide}}  {'loss':>8}  {'queries':>8}  {'left out':>8}  {'seconds':>7}"
    numbered = sorted(enumerate(found.points, 1), key=lambda pair: (found.safety(pair[1]), pair[0]))
    for place, point in numbered:
        if point.status != "published":
            yield f"{place:>4}  {point.variant!s:<{wide}}  {point.status}{': ' + point.reason if point.reason else ''}"
            continue
        figures = [f"{value:>8.4f}" if value is not None else " " * 8 for value in (point.loss, point.query_error)]
        mark = "  chosen" if place == found.chosen else "  dominated" if point.dominated else ""
        rest = f"{point.suppressed or 0:>8.2%}  {point.seconds:>7.1f}{mark}"
        yield f"{place:>4}  {point.variant!s:<{wide}}  {'  '.join(figures)}  {rest}"
