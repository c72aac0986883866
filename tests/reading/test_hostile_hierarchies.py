"""Hierarchy files that were made to do harm end soon, with a clear error and without control characters in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.core.errors import SfumatoError
from sfumato.io.hierarchy_files import MOST_LEVELS, load_hierarchy
from tests.command_line import run

ROWS = "v0;*\nv1;*\n"
POLICY = """\
version: 1
data: people.csv
columns: {age: {role: quasi-identifier, hierarchy: h.csv}, illness: sensitive}
protect: [{k-anonymity: {k: 2}}]
method: mondrian
"""


def text(written: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(written, encoding="utf-8")


def chain(levels: int, below: str) -> str:
    """Parents and children as Amnesia writes them: one below the other, and the values below the last."""
    return "distinct\n\n" + "".join(f"n{i} has n{i + 1}\n" for i in range(levels)) + f"n{levels} has {below}\n"


def link_to_itself(file: Path) -> None:
    file.symlink_to(file.name)


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "long line": (text("v0;" + "x" * 80_000_000 + ";*\n"), "a line is longer than"),
    "deep row": (text("v0;" + ";".join(f"g{i}" for i in range(200_000)) + ";*\n"), "more than 1,000 levels"),
    "many deep rows": (
        text("".join(f"v{i};" + ";".join(f"g{j}" for j in range(2_000)) + ";*\n" for i in range(300))),
        "more than 1,000 levels",
    ),
    "deep chain": (
        text("distinct\n\n" + "".join(f"n{i} has n{i + 1} x{i}\n" for i in range(20_000))),
        "more than 1,000 levels",
    ),
    "many values below a chain": (text(chain(900, " ".join(f"x{i}" for i in range(50_000)))), "more than 2,000,000"),
    "deep chain of ranges": (
        text("range\n\n" + "".join(f"0,{i + 1} has 0,{i} {i + 1},{i + 1}\n" for i in range(20_000))),
        "more than 1,000 levels",
    ),
    "circle in rows": (text("v0;v1;*\nv1;v0;*\n"), "two parents"),
    "circle of parents": (text("distinct\n\nA has v0 B\nB has A v1\n"), "above itself"),
    "long circle": (text(chain(500, "n0 x")), "above itself"),
    "two groups for a value": (text("v0;a;*\nv0;b;*\nv1;b;*\n"), "two parents"),
    "two roots": (text("v0;a\nv1;b\n"), "has 2 roots"),
    "control characters": (text("v0;\x1b[31ma\x07;*\nv0;\x1b[2J;*\n"), "two parents"),
    "NUL": (text("v0\0;*\n"), "NUL"),
    "folder": (Path.mkdir, "no such hierarchy file"),
    "pipe": (os.mkfifo, "no such hierarchy file"),
    "link to nothing": (lambda file: file.symlink_to("nowhere"), "no such hierarchy file"),
    "link to itself": (link_to_itself, "no such hierarchy file"),
    "link to a device": (lambda file: file.symlink_to("/dev/zero"), "no such hierarchy file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_hierarchy_file_is_refused_soon(name: str, tmp_path: Path) -> None:
    make, what = HOSTILE[name]
    make(tmp_path / "h.csv")
    started = time.process_time()
    with pytest.raises(SfumatoError, match=what):
        load_hierarchy(tmp_path / "h.csv")
    assert time.process_time() - started < 3


@pytest.mark.parametrize("name", ["control characters", "deep chain", "pipe", "circle of parents", "link to itself"])
def test_the_command_says_so_in_one_line(name: str, tmp_path: Path) -> None:
    make, what = HOSTILE[name]
    make(tmp_path / "h.csv")
    (tmp_path / "people.csv").write_text("age,illness\nv0,flu\nv1,gout\n")
    (tmp_path / "policy.yaml").write_text(POLICY)
    ended = run("check", str(tmp_path / "policy.yaml"))
    said = ended.stdout + ended.stderr
    assert ended.returncode in (2, 3)
    assert what in said
    assert not {character for character in said if ord(character) < 32} - {"\n"}
    assert "Traceback" not in said


def test_honest_files_stay_readable(tmp_path: Path) -> None:
    """The same row twice, a link to a file beside it, a file that is deep but not too deep, and one of many values."""
    (tmp_path / "h.csv").write_text(ROWS + "v0;*\n")
    (tmp_path / "link.csv").symlink_to("h.csv")
    assert load_hierarchy(tmp_path / "link.csv").leaves == load_hierarchy(tmp_path / "h.csv").leaves == ("v0", "v1")
    (tmp_path / "deep.txt").write_text(chain(MOST_LEVELS - 2, "v0 v1"))
    assert len(load_hierarchy(tmp_path / "deep.txt").paths()[0]) == MOST_LEVELS
    (tmp_path / "wide.csv").write_text("".join(f"v{i};g{i // 10};*\n" for i in range(50_000)))
    assert load_hierarchy(tmp_path / "wide.csv").size == 50_000
