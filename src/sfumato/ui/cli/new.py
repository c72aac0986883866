"""``sfumato new``: write the file of a new model, method or metric, and its test."""

from __future__ import annotations

import re
from pathlib import Path

import click

from sfumato.core.errors import PolicyError
from sfumato.ui.cli import SETTINGS

_HEAD = '''"""{title}: say here what it promises or measures, its source, and what it costs."""

from __future__ import annotations

'''

_TEST = '''"""{title}: what every {kind} owes, and what this one is for."""

from __future__ import annotations

from {module} import {name}
from sfumato.testing import check_{kind}


def test_{file}_keeps_its_part() -> None:
    check_{kind}({name})
'''

_MODEL = '''from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, example_classes


class {name}(Model):
    """Every person shares the published quasi-identifiers with at least n - 1 others."""

    name: ClassVar[str] = "{entry}"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="{title}",
        holds="The smallest equivalence class has {{found.n record/records}} (required: {{asked.n}}).",
        violated="The smallest equivalence class has only {{found.n record/records}} (required: {{asked.n}}).",
        headline="An adversary who knows {{given}} is left with at least {{found.n}} {{unit}}.",
        limit="The records may all share one sensitive value.",
    )
    needs_sensitive: ClassVar[bool] = False
    levels: ClassVar[Mapping[str, Safer]] = {{"n": "more"}}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({{"n": 4}}, holds=example_classes("aaaa", "aabbb"), fails=example_classes("aaaa", "abc")),
    )

    n: int = Field(ge=1, description="smallest number of records that any person may be")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return linkage.candidates >= self.n

    def demand(self) -> Demand:
        return Demand(candidates=self.n, sufficient=True)

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {{"n": int(linkage.candidates.min()) if len(linkage.candidates) else 0}}
'''

_METHOD = '''from typing import ClassVar

from sfumato.kinds.tables.methods.mondrian import Mondrian
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem
from sfumato.release.method import Task


class {name}(Mondrian):
    """Group records; this draft groups as mondrian does."""

    name: ClassVar[str] = "{entry}"

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return super().group(problem, task)
'''

_METRIC = '''from typing import ClassVar

from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView


class {name}(Metric):
    """Records per equivalence class."""

    name: ClassVar[str] = "{entry}"
    goal: ClassVar = "lower"
    range: ClassVar[str] = "1 …"

    def measure(self, exhibit: ReleaseView) -> float:
        return exhibit.data.records / max(len(exhibit.classes), 1)
'''

TEMPLATES = {
    "model": ("models", "models", _MODEL),
    "method": ("kinds/tables/methods", "recoding", _METHOD),
    "metric": ("kinds/tables", "utility", _METRIC),
}
"""Kind → folder of the package, folder of the tests, text of the file."""


@click.command("new", context_settings=SETTINGS)
@click.argument("kind", type=click.Choice(list(TEMPLATES)))
@click.argument("name")
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Folder of a clone of Sfumato.")
def command(kind: str, name: str, root: Path) -> None:
    """Write the file of a new model, method or metric, and its test.

    NAME is the name in policies, like average-age. Both files work at once: change what they do, then run the test."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise PolicyError(f"'{name}' is no name of a {kind}", hint="use small letters, digits, hyphens: mean-age")
    place, tests, text = TEMPLATES[kind]
    if not (root / "src" / "sfumato" / place).is_dir():
        raise PolicyError(f"'{root}' is no clone of Sfumato", hint="run it in the folder of a clone, or give --root")
    file = name.replace("-", "_")
    words = {
        "kind": kind,
        "entry": name,
        "file": file,
        "title": name.replace("-", " ").capitalize(),
        "name": "".join(part.capitalize() for part in name.split("-")),
        "module": f"sfumato.{place.replace('/', '.')}.{file}",
    }
    made = {
        root / "src" / "sfumato" / place / f"{file}.py": (_HEAD + text).format(**words),
        root / "tests" / tests / f"test_{file}.py": _TEST.format(**words),
    }
    if there := [path for path in made if path.exists()]:
        raise PolicyError(f"{there[0]} is there already", hint="choose another name")
    for path, content in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        click.echo(f"wrote {path}")
    click.echo(f"Next: pytest {path}")
