"""Release folders changed on purpose, by somebody who redoes every checksum.

A *certain* spoiling is wrong whatever stands in the folder. Of any other the judge of its kind says whether the
published files are wrong now; only then it must be found."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.trust.every_form import FORMS, read, redo, write

Plant = Callable[[random.Random, Path, Any], str]
"""Changes a folder; in words what was done, nothing when it could not be done here."""
NEVER = "never seen"


@dataclass(frozen=True)
class Spoiling:
    """One way to spoil a folder."""

    name: str
    plant: Plant
    certain: bool = False


def spoilings(rng: random.Random, form: str, often: float, *, certain: bool = False) -> Iterator[Spoiling]:
    """A few spoilings for one folder: mostly of its rows, where the judge decides, and of everything around them."""
    if not certain:
        yield from (one for one in rng.sample(_ROWS, 2) if rng.random() < 2 * often)
    yield from (one for one in rng.sample(_AROUND, 2) if rng.random() < often)


# ---- rows ------------------------------------------------------------------------------------------------------------


def _part(rng: random.Random, folder: Path) -> tuple[Path, list[dict[str, str]]] | None:
    file = rng.choice(sorted(folder.glob("*.csv")))
    rows = read(file)
    return (file, rows) if rows else None


def _save(folder: Path, file: Path, rows: list[dict[str, str]]) -> None:
    names = file.read_text(encoding="utf-8").split("\n")[0]
    if rows:
        write(file, rows)
    else:
        file.write_text(names + "\n", encoding="utf-8")
    redo(folder)


def _cell(rng: random.Random, folder: Path, story: Any) -> str:
    found = _part(rng, folder)
    if found is None:
        return ""
    file, rows = found
    row, name = rng.choice(rows), rng.choice(list(rows[0]))
    others = sorted({each[name] for each in rows} - {row[name]})
    new = rng.choice([*others, *others, NEVER, "", "*", "0", "999"])
    if new == row[name]:
        return ""
    row[name] = new
    _save(folder, file, rows)
    return f"{name} of {file.name} is {new!r}"


def _swap(rng: random.Random, folder: Path, story: Any) -> str:
    found = _part(rng, folder)
    if found is None:
        return ""
    file, rows = found
    name = rng.choice(list(rows[0]))
    one, two = rng.choice(rows), rng.choice(rows)
    if one[name] == two[name]:
        return ""
    one[name], two[name] = two[name], one[name]
    _save(folder, file, rows)
    return f"{name} of two rows of {file.name} swapped"


def _removed(rng: random.Random, folder: Path, story: Any) -> str:
    found = _part(rng, folder)
    if found is None:
        return ""
    file, rows = found
    del rows[rng.randrange(len(rows))]
    _save(folder, file, rows)
    return f"a row of {file.name} is gone"


def _twice(rng: random.Random, folder: Path, story: Any) -> str:
    found = _part(rng, folder)
    if found is None:
        return ""
    file, rows = found
    _save(folder, file, [*rows, dict(rng.choice(rows))])
    return f"a row of {file.name} stands twice"


def _raw(rng: random.Random, folder: Path, story: Any) -> str:
    """A row becomes what somebody's original record says, as far as it has such columns."""
    found = _part(rng, folder)
    records = story.records if isinstance(story.records, list) else []
    if found is None or not records or not isinstance(records[0], dict):
        return ""
    file, rows = found
    row, record = rng.choice(rows), rng.choice(records)
    new = row | {name: record[name] for name in row if name in record}
    if new == row:
        return ""
    row.update(new)
    _save(folder, file, rows)
    return f"a raw record in {file.name}"


def _all_raw(rng: random.Random, folder: Path, story: Any) -> str:
    """The original rows, whole."""
    found = _part(rng, folder)
    records = story.records if isinstance(story.records, list) else []
    if found is None or not records or not isinstance(records[0], dict):
        return ""
    file, rows = found
    if not set(rows[0]) <= set(records[0]):
        return ""
    _save(folder, file, [{name: record[name] for name in rows[0]} for record in records])
    return f"{file.name} holds the original"


_ROWS = [
    Spoiling("cell", _cell), Spoiling("cell", _cell), Spoiling("cells swapped", _swap), Spoiling("row removed",
    _removed),
    Spoiling("row twice", _twice), Spoiling("raw row", _raw), Spoiling("raw rows", _all_raw),
]  # fmt: skip


# ---- certificates ----------------------------------------------------------------------------------------------------

Tree = dict[str, Any]


def _certificate(change: Callable[[random.Random, Tree], str]) -> Plant:
    def plant(rng: random.Random, folder: Path, story: Any) -> str:
        tree = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
        said = change(rng, tree)
        if said:
            (folder / "certificate.json").write_text(json.dumps(tree), encoding="utf-8")
            redo(folder)
        return said

    return plant


def _claims(tree: Tree) -> list[Tree]:
    return [finding for finding in tree["findings"] if finding["model"] in _LEVELS and finding["achieved"]]


_LEVELS = {"k-anonymity": "k", "p-sensitivity": "p", "l-diversity": "l", "k-linkability": "k", "k-diversity": "k",
           "k-degree-anonymity": "k", "km-anonymity": "k"}  # fmt: skip


def _boast(rng: random.Random, tree: Tree) -> str:
    claims = [claim for claim in _claims(tree) if _LEVELS[claim["model"]] in claim["achieved"]]
    if not claims:
        return ""
    claim = rng.choice(claims)
    claim["achieved"][_LEVELS[claim["model"]]] = 5000
    return f"{claim['model']} of 5000"


def _stranger(rng: random.Random, tree: Tree) -> str:
    tree["findings"].append(
        {"model": "differential privacy", "holds": True, "achieved": {"epsilon": 0.1}, "grade": "exact"}
    )
    return "a finding about differential privacy"


def _denied(rng: random.Random, tree: Tree) -> str:
    judged = [finding for finding in tree["findings"] if finding["holds"] and finding["grade"] == "exact"]
    if not judged:
        return ""
    rng.choice(judged)["holds"] = False
    return "a finding is denied"


def _silent(rng: random.Random, tree: Tree) -> str:
    claims = _claims(tree)
    if not claims:
        return ""
    tree["findings"].remove(claims[0])
    return "a claim has no finding"


def _records(rng: random.Random, tree: Tree) -> str:
    key = rng.choice(["input", "published", "suppressed"])
    tree["records"][key] += rng.choice([1, 1000])
    return f"other records: {key}"


def _method(rng: random.Random, tree: Tree) -> str:
    tree["method"] = "magic"
    return "another method"


def _figure(rng: random.Random, tree: Tree) -> str:
    tree["utility"]["usefulness"] = 1.0
    return "a figure that nobody measures"


def _better(rng: random.Random, tree: Tree) -> str:
    names = [name for name, value in tree["utility"].items() if isinstance(value, int | float) and value]
    if not names:
        return ""
    name = rng.choice(names)
    tree["utility"][name] = tree["utility"][name] / 2
    return f"{name} is halved"


def _harmless(rng: random.Random, tree: Tree) -> str:
    if not tree["attacks"]:
        return ""
    tree["attacks"].remove(rng.choice(tree["attacks"]))
    return "an attack is left out"


def _soothing(rng: random.Random, tree: Tree) -> str:
    if not tree["attacks"]:
        return ""
    rng.choice(tree["attacks"])["applies"] = "not worth a thought"
    return "an attack is talked down"


def _carefree(rng: random.Random, tree: Tree) -> str:
    if not any(sentence.startswith("outsiders know at most") for sentence in tree["assumptions"]):
        return ""
    tree["assumptions"] = []
    return "no assumption is left"


# ---- everything else -------------------------------------------------------------------------------------------------


def _other_form(rng: random.Random, folder: Path, story: Any) -> str:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    form = rng.choice([form for form in FORMS if form != manifest["form"]])
    redo(folder, form=form, public=rng.choice([{}, manifest["public"]]))
    return f"the manifest says {form}"


def _manifest(rng: random.Random, folder: Path, story: Any) -> str:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    entry = manifest["files"][rng.choice([name for name in manifest["files"] if name.endswith(".csv")])]
    way = rng.choice(["sha256", "rows", "gone"])
    if way == "gone":
        del manifest["files"][rng.choice(list(manifest["files"]))]
    elif way == "rows":
        entry["rows"] = entry.get("rows", 0) + 1
    else:
        entry["sha256"] = "0" * 64
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return f"the manifest has another {way}"


def _left(rng: random.Random, folder: Path, story: Any) -> str:
    file = rng.choice([file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "manifest.json"])
    content = file.read_bytes()
    file.write_bytes(content + rng.choice([b" ", b"\n", b"x,y\n"]))
    return f"{file.name} is longer than its checksum says"


def _further(rng: random.Random, folder: Path, story: Any) -> str:
    name = rng.choice(["people.csv", "notes.txt", "hierarchies/people.csv", "data-2.csv", ".hidden"])
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("name,age\nBob,30\n", encoding="utf-8")
    if rng.random() < 0.7:
        redo(folder)
    return f"a further file {name}"


def _missing(rng: random.Random, folder: Path, story: Any) -> str:
    file = rng.choice([file for file in sorted(folder.rglob("*")) if file.is_file()])
    file.unlink()
    if file.name != "manifest.json" and rng.random() < 0.5:
        redo(folder)
        if file.name == "report.html":
            return ""
    return f"{file.name} is missing"


def _odd(rng: random.Random, folder: Path, story: Any) -> str:
    """A link, a folder or a pipe in the place of a file."""
    file = rng.choice([file for file in sorted(folder.rglob("*")) if file.is_file()])
    content = file.read_bytes()
    file.unlink()
    way = rng.choice(["link", "folder", "pipe", "nowhere"])
    if way == "link":
        outside = folder.parent / f"outside-{file.name}"
        outside.write_bytes(content)
        file.symlink_to(outside)
    elif way == "folder":
        file.mkdir()
    elif way == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("nowhere")
    return f"{file.name} is a {way}"


def _policy(change: Callable[[random.Random, Tree], str]) -> Plant:
    def plant(rng: random.Random, folder: Path, story: Any) -> str:
        tree = yaml.safe_load((folder / "policy.yaml").read_text(encoding="utf-8"))
        said = change(rng, tree)
        if said:
            (folder / "policy.yaml").write_text(
                yaml.safe_dump(tree, sort_keys=False, allow_unicode=True), encoding="utf-8"
            )
            redo(folder)
        return said

    return plant


def _promised(rng: random.Random, tree: Tree) -> str:
    tree["protect"] = [*(tree.get("protect") or []), *(tree.get("protect") or [{"k-anonymity": {"k": 1}}])[:1]]
    return "a claim is promised once more"


def _dropped(rng: random.Random, tree: Tree) -> str:
    if not tree.get("protect"):
        return ""
    del tree["protect"][rng.randrange(len(tree["protect"]))]
    return "a claim is dropped"


def _raised(rng: random.Random, tree: Tree) -> str:
    for claim in tree.get("protect") or []:
        if isinstance(claim, dict):
            ((model, level),) = claim.get("by", claim).items()
            key = _LEVELS.get(model)
            if key:
                level[key] = 5000
                return f"{model} of 5000 is promised"
    return ""


def _made_otherwise(rng: random.Random, tree: Tree) -> str:
    (name,) = tree["method"] if isinstance(tree["method"], dict) else [tree["method"]]
    tree["method"] = {
        rng.choice(
            [other for other in ("mondrian", "anatomy", "guardian", "obfuscation", "magic") if other != name]
        ): {}
    }
    return "the policy names another method"


_AROUND = [
    *(Spoiling(f"certificate: {change.__name__.strip('_')}", _certificate(change), certain=True)
      for change in (_boast, _stranger, _denied, _silent, _records, _method, _figure, _better, _harmless, _soothing,
      _carefree)),
    *(Spoiling(f"policy: {change.__name__.strip('_')}", _policy(change), certain=True)
      for change in (_promised, _dropped, _raised, _made_otherwise)),
    *(Spoiling(name, plant, certain=True) for name, plant in (
        ("another form", _other_form), ("manifest", _manifest), ("checksum left", _left), ("further file", _further),
        ("missing file", _missing), ("no plain file", _odd))),
]  # fmt: skip
