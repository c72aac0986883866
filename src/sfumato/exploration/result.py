"""An exploration: points, the frontier of those that nothing dominates, and the one to choose; as JSON, as a page, as a policy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError
from sfumato.exploration.points import Point
from sfumato.exploration.variants import levels_of
from sfumato.models.base import Safer
from sfumato.policy.policy import Policy
from sfumato.policy.read import write_yaml


@dataclass(frozen=True, slots=True, repr=False)
class Exploration:
    """Privacy against what it costs, on one table."""

    policy: Policy = field(repr=False)
    points: tuple[Point, ...]
    safer: Mapping[str, Safer]
    records: int
    stopped: bool = False
    """Whether somebody interrupted it; what was finished is here."""

    def __repr__(self) -> str:
        done = sum(point.status == "published" for point in self.points)
        return f"Exploration({done} of {len(self.points)} points published, {len(self.frontier)} on the frontier)"

    @property
    def frontier(self) -> tuple[Point, ...]:
        """Published points that no other one dominates, the safest last."""
        found = [point for point in self.points if point.status == "published" and not point.dominated]
        return tuple(sorted(found, key=self.safety))

    def safety(self, point: Point) -> tuple[float, ...]:
        """What points are ordered by: more is safer."""
        return tuple(value if self.safer[name] == "more" else -value for name, value in point.variant.levels.items())

    @property
    def chosen(self) -> int | None:
        """The number (from 1) of the least costly point that keeps everything the policy asks for; None when there is none."""
        asked = levels_of(self.policy)
        kept = [
            (self._cost(point), number)
            for number, point in enumerate(self.points, 1)
            if point.status == "published" and not point.variant.without and self._reaches(point, asked)
        ]
        return min(kept)[1] if kept else None

    def _reaches(self, point: Point, asked: Mapping[str, float]) -> bool:
        return all(
            point.variant.levels[name] >= value if self.safer[name] == "more" else point.variant.levels[name] <= value
            for name, value in asked.items()
        )

    @staticmethod
    def _cost(point: Point) -> tuple[float, float]:
        worst = float("inf")
        return worst if point.loss is None else point.loss, worst if point.query_error is None else point.query_error

    def text(self, number: int | None = None, folder: str | Path | None = None) -> str:
        """A point as the text of a policy, by its number (from 1); paths as they are found from `folder`."""
        number = self.chosen if number is None else number
        if number is None or not 1 <= number <= len(self.points):
            hint = f"choose a point from 1 to {len(self.points)}" if number is not None else "no point keeps what the policy asks"
            raise PolicyError("there is no such point", where="choose", hint=hint)
        tree = self.points[number - 1].variant.tree(self.policy)
        return write_yaml(_texts(moved(tree, self.policy.base, Path(folder)) if folder is not None else tree))

    def write(self, path: str | Path, number: int | None = None) -> Path:
        """Write a point as a policy file."""
        path = Path(path)
        path.write_text(self.text(number, path.parent), encoding="utf-8")
        return path

    def to_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "stopped": self.stopped,
            "safer": dict(self.safer),
            "chosen": self.chosen,
            "points": [{"number": number, **point.to_json()} for number, point in enumerate(self.points, 1)],
        }

    def page(self) -> str:
        """The exploration as one page that works offline."""
        from sfumato.exploration.page import render_exploration

        return render_exploration(self)

    def _repr_html_(self) -> str:
        from sfumato.exploration.page import exploration_card

        return exploration_card(self)


def moved(tree: dict[str, Any], base: Path, folder: Path) -> dict[str, Any]:
    """The tree with its relative paths as they are found from another folder."""

    def path(text: Any) -> Any:
        file = base / str(text)
        return (
            os.path.relpath(file, folder)
            if isinstance(text, str | Path) and not Path(text).is_absolute() and file.exists()
            else text
        )

    moved_tree = dict(tree)
    data = moved_tree.get("data")
    if isinstance(data, Mapping) and "source" in data:
        moved_tree["data"] = {**data, "source": path(data["source"])}
    elif isinstance(data, str):
        moved_tree["data"] = path(data)
    columns = dict(moved_tree.get("columns") or {})
    for name, entry in columns.items():
        if isinstance(entry, Mapping) and isinstance(entry.get("hierarchy"), str | Path):
            columns[name] = {**entry, "hierarchy": path(entry["hierarchy"])}
    return moved_tree | {"columns": columns}


def _texts(value: Any) -> Any:
    """Plain mappings, lists and scalars only."""
    if isinstance(value, Mapping):
        return {str(key): _texts(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
