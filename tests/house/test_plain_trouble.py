"""Full disks, folders that cannot be written, interruptions: plain words, an exit code of their own, and nothing left
behind."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path

import pytest

import sfumato as sf
from reference_pages.policy_page import EXAMPLES
from sfumato.core.errors import MissingFolder, PlaceError
from sfumato.release import folder as release_folder
from tests.command_line import run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("people.csv", "first.yaml", "baskets.csv", "baskets.yaml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_disk_without_room_is_refused_before_the_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = names(place)
    usage = type(shutil.disk_usage(place))
    monkeypatch.setattr(release_folder.shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 5000, 5000))
    monkeypatch.setattr("sfumato.workflow.publish.publish", lambda *_, **__: pytest.fail("the run began"))
    done = run("publish", "first.yaml", "--out", "out", cwd=place)
    assert done.returncode == 8
    assert "the disk has 4 kB left" in done.stderr
    assert names(place) == before


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "you may not"),
        (errno.EDQUOT, "share of the disk"),
    ],
)
def test_trouble_while_writing_is_told_plainly(
    number: int, words: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(place)

    def fails(*_: object, **__: object) -> None:
        raise OSError(number, "in the words of the system", str(place / "out"))

    monkeypatch.setattr(release_folder, "write_json", fails)
    monkeypatch.setattr("sfumato.workflow.write.write_json", fails)
    done = run("publish", "first.yaml", "--out", "out", "--no-report", cwd=place)
    assert done.returncode == 8
    assert words in done.stderr
    assert done.stderr.count(" — ") == 2
    assert names(place) == before


MOMENTS = [
    "sfumato.workflow.publish.plan",
    "sfumato.workflow.publish.certify_draft",
    "sfumato.workflow.write.write_part",
    "sfumato.release.folder._sync",
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interruption_leaves_nothing_behind(moment: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = names(place)
    monkeypatch.setattr(moment, interrupted)
    done = run("publish", "first.yaml", "--out", "out", cwd=place)
    assert done.returncode == 130
    assert done.stderr.strip() == "error: interrupted"
    assert names(place) == before


def test_a_missing_folder_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(MissingFolder):
        sf.verify(tmp_path / "nobody")
    assert run("verify", str(tmp_path / "nobody")).returncode == 8
    with pytest.raises(PlaceError, match="is no folder"):
        (tmp_path / "file").write_text("")
        release_folder.require_room(tmp_path / "file" / "out")


def test_the_bit_error_rate_is_one_figure(place: Path) -> None:
    publication = sf.publish(place / "baskets.yaml")
    publication.write(place / "out")
    measured = sf.measure(place / "out", original=place / "baskets.csv")["bit_error_rate"]
    assert publication.utility["bit_error_rate"] == pytest.approx(measured)
    assert f"{measured:.4g}" in (place / "out.private.html").read_text(encoding="utf-8")
    assert publication.utility["true_error_rate"] < measured


WEIGHED = """version: 1
data: people.csv
columns: {name: identifier, age: quasi-identifier, illness: sensitive, ward: sensitive}
protect:
  - k-anonymity: {k: 3}
  - {given: [age], hide: illness, by: {p-sensitivity: {p: 2}}}
method: {clustering: {weights: {ward: 2}}}
"""


def test_a_weight_that_no_claim_needs_is_ignored_with_a_word(place: Path) -> None:
    (place / "w.yaml").write_text(WEIGHED, encoding="utf-8")
    assert "the weight of ward is ignored" in run("check", "w.yaml", cwd=place).stdout
    assert run("publish", "w.yaml", "--out", "out", "--no-report", cwd=place).returncode == 0


def test_the_time_of_a_search_is_told_for_the_rows_that_were_read(place: Path) -> None:
    said = run("check", "first.yaml", cwd=place).stdout
    assert re.search(r"quick [0-9.]+ s, balanced (at most )?[0-9.]+ s, thorough (at most )?[0-9.]+ s", said)
    assert "Dry run: data read, nothing written." in said
