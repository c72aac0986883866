"""`verify` answers in time linear in the size of a folder, whatever the folder says: counted in calls, not in
seconds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.audit.recount import equivalence_classes
from sfumato.audit.recount import equivalence_classes as floor_subtables
from sfumato.kinds.subtables import evidence
from tests.trust.every_form import copy_of, redo, release_of, violations

SIZES = (250, 500, 1000)
DEAR = {"tables": 4, "files": 4}
"""What takes many calls each: a share of these sizes is enough."""


def calls(folder: Path) -> int:
    """How many functions run while a folder is verified."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        sf.verify(folder)
    except sf.ReleaseError:
        pass
    finally:
        sys.setprofile(None)
    return count


def columns(folder: Path, size: int) -> None:
    (folder / "data.csv").write_text(",".join(f"c{n}" for n in range(size)) + "\n" + ",".join("x" * size) + "\n")


def rows(folder: Path, size: int) -> None:
    (folder / "data.csv").write_text("age,sex,ward,illness\n" + "".join(f"{n},F,N,v{n}\n" for n in range(size)))


def findings(folder: Path, size: int) -> None:
    tree = json.loads((folder / "certificate.json").read_text())
    tree["findings"] += [{"model": f"m{n}", "holds": True} for n in range(size)]
    (folder / "certificate.json").write_text(json.dumps(tree))


def files(folder: Path, size: int) -> None:
    (folder / "hierarchies").mkdir(exist_ok=True)
    for n in range(size):
        (folder / "hierarchies" / f"{n}.csv").write_text("a\n")


def tables(folder: Path, size: int) -> None:
    for n in range(size):
        (folder / f"table-{n + 10}.csv").write_text("age\n1\n")


def mixed_buckets(folder: Path, size: int) -> None:
    """Everybody stands in both buckets, and each bucket lists as many values as there are people."""
    people = "".join(f"{n // 2},F,N,{n % 2}\n" for n in range(2 * size))
    (folder / "data.csv").write_text("age,sex,ward,bucket\n" + people)
    (folder / "sensitive.csv").write_text(
        "bucket,value,count\n" + "".join(f"{b},v{n},1\n" for b in (0, 1) for n in range(size))
    )


def mixed_table(folder: Path, size: int) -> None:
    for file in folder.glob("table*"):
        file.unlink()
    people = "".join(f"{n // 2},F,N,{n % 2}\n" for n in range(2 * size))
    (folder / "table-1.csv").write_text("age,sex,ward,bucket\n" + people)
    entries = "".join(f"{b},v{n},1,illness\n" for b in (0, 1) for n in range(size))
    (folder / "table-1-sensitive.csv").write_text("bucket,value,count,column\n" + entries)


HOSTILE: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "columns": ("recoded table", columns),
    "rows": ("recoded table", rows),
    "findings": ("recoded table", findings),
    "files": ("recoded table", files),
    "tables": ("sub-tables", tables),
    "mixed buckets": ("anatomy", mixed_buckets),
    "a mixed table": ("sub-tables", mixed_table),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_twice_the_folder_at_most_twice_the_work(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What any folder may ask for is set to nothing, so that the share that grows is seen at small sizes."""
    for module, name in ((evidence, "MOST_MIXED"), (equivalence_classes, "MOST"), (floor_subtables, "MOST")):
        monkeypatch.setattr(module, name, 0)
    form, spoil = HOSTILE[kind]
    calls(release_of(form)[0])  # whatever is made once in a process is made
    counted = []
    for size in SIZES:
        folder, _ = copy_of(form, tmp_path / str(size))
        spoil(folder, size // DEAR.get(kind, 1))
        redo(folder)
        counted.append(calls(folder))
        assert violations(folder)
    first, second, third = counted
    assert third - second <= 2.2 * (second - first) + 2_000, counted


@pytest.mark.parametrize("file", ["manifest.json", "certificate.json"])
def test_a_deep_file_is_refused(file: str, tmp_path: Path) -> None:
    folder, _ = copy_of("recoded table", tmp_path)
    text = (folder / file).read_text().rstrip()
    (folder / file).write_text(f'{text[:-1]}, "deep": {"[" * 100_000}{"]" * 100_000}}}')
    assert violations(folder) == {"unreadable"}


def test_people_whom_only_a_number_names(tmp_path: Path) -> None:
    """A manifest can say that there are 10¹⁵ people; nobody makes room for them."""
    folder, _ = copy_of("graph", tmp_path)
    public = json.loads((folder / "manifest.json").read_text())["public"]
    redo(folder, public=public | {"nodes": 10**15})
    assert {"form", "k-degree-anonymity"} <= violations(folder)


def test_more_claims_than_can_be_judged(tmp_path: Path) -> None:
    folder, _ = copy_of("recoded table", tmp_path)
    text = (folder / "policy.yaml").read_text()
    claim = text[text.index("protect:") :].splitlines()[1]
    assert claim.lstrip().startswith("- ")
    body = text[text.index(claim) :].split("\n- ", 1)[0]
    (folder / "policy.yaml").write_text(text.replace("protect:\n", "protect:\n" + (body.rstrip() + "\n") * 600))
    redo(folder)
    assert violations(folder) & {"claims", "unreadable"}
