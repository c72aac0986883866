"""Folders of Parquet files that were made to do harm: as a source and as a part of a release folder."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.audit.recount.recount import recount
from sfumato.core.errors import DataError, ReleaseError
from sfumato.io.table_files import read_file
from tests.command_line import run
from tests.sequential.plain_cluster import publish_there

TABLE = pa.table({"age": ["1", "2", "1", "2"], "illness": ["flu", "gout", "flu", "gout"]})
POLICY = {
    "version": 1,
    "columns": {"id": "identifier", "age": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 2}}],
    "method": "mondrian",
}


def other_columns(folder: Path) -> None:
    file = next(folder.glob("*.parquet"))
    pq.write_table(pa.table({"age": ["1"], "name": ["Ann"]}), file)


def other_types(folder: Path) -> None:
    file = next(folder.glob("*.parquet"))
    table = pq.read_table(file)
    pq.write_table(table.set_column(0, table.column_names[0], pa.array(range(table.num_rows))), file)


def linked(folder: Path) -> None:
    """The file itself is elsewhere, with the same content."""
    file = next(folder.glob("*.parquet"))
    away = file.rename(folder.parent.parent / "elsewhere.parquet")
    file.symlink_to(away)


def link_beside(folder: Path) -> None:
    pq.write_table(TABLE, folder.parent.parent / "elsewhere.parquet")
    (folder / "part-00099.parquet").symlink_to(folder.parent.parent / "elsewhere.parquet")


def linked_folder(folder: Path) -> None:
    away = folder.parent.parent / "elsewhere"
    shutil.move(folder, away)
    folder.symlink_to(away)


def nested(folder: Path) -> None:
    (folder / "y=1").mkdir()
    pq.write_table(TABLE, folder / "y=1" / "part-00000.parquet")


def empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "part-00099.parquet")


def damaged(folder: Path) -> None:
    next(folder.glob("*.parquet")).write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")


def large_metadata(folder: Path) -> None:
    file = next(folder.glob("*.parquet"))
    table = pq.read_table(file)
    pq.write_table(table.replace_schema_metadata({b"x": b"y" * 80_000_000}), file)


HOSTILE: dict[str, Callable[[Path], None]] = {
    each.__name__: each
    for each in (
        other_columns, other_types, linked, link_beside, linked_folder, nested, empty, pipe, damaged, large_metadata,
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release whose rows are in a folder of Parquet files, as a cluster writes it."""
    place = tmp_path_factory.mktemp("there")
    many = 60
    data = {"id": [f"p{i}" for i in range(many)], "age": [str(20 + i % 6) for i in range(many)]}
    table = pa.table(data | {"illness": [["flu", "gout", "cold"][i % 3] for i in range(many)]})
    policy = replace(sf.Policy.parse(POLICY), key=("id",))
    folder = publish_there(policy, table, place / "book", new=True).write(place / "out", report=False)
    assert all(finding.holds for finding in sf.verify(folder).findings)
    assert all(each.reaches for each in recount(folder))
    return Path(folder)


def part_of(folder: Path) -> Path:
    return next(folder.rglob("part-*.parquet")).parent


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_part_of_a_release_is_never_accepted(name: str, release: Path, tmp_path: Path) -> None:
    """What differs from the manifest is a violation or an error, soon; links and pipes are not followed."""
    folder = tmp_path / "out"
    shutil.copytree(release, folder)
    HOSTILE[name](part_of(folder))
    started = time.process_time()
    try:
        found = sf.verify(folder)
    except ReleaseError as error:
        said = str(error)
    else:
        assert found.violated
        said = "; ".join(f"{finding.reason}" for finding in found.findings if not finding.holds)
    assert said
    assert time.process_time() - started < 5
    ended = run("verify", str(folder))
    assert ended.returncode in (1, 2, 3, 4)
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "unexpected" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("name", ["other_columns", "damaged", "empty"])
def test_the_recount_by_itself_does_not_count_what_it_cannot_read(name: str, release: Path, tmp_path: Path) -> None:
    """Also where the digests of the manifest were made to fit: the independent recount reads the files by itself."""
    folder = tmp_path / "out"
    shutil.copytree(release, folder)
    HOSTILE[name](part_of(folder))
    assert not any(each.reaches for each in recount(folder))


@pytest.mark.parametrize("name", [None, *HOSTILE])
def test_a_folder_is_no_source_for_this_machine(name: str | None, tmp_path: Path) -> None:
    """Folders of files are read on a cluster; here the error says that it is a folder."""
    folder = tmp_path / "data" / "people.parquet"
    folder.mkdir(parents=True)
    pq.write_table(TABLE, folder / "part-00000.parquet")
    if name is not None:
        HOSTILE[name](folder)
    with pytest.raises(DataError, match="is a folder"):
        read_file(folder)
    tree = {**POLICY, "data": "data/people.parquet"}
    (tmp_path / "policy.yaml").write_text(json.dumps(tree))
    ended = run("publish", str(tmp_path / "policy.yaml"), "--out", str(tmp_path / "out"))
    assert ended.returncode == 3
    assert "is a folder" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_parquet_file_with_large_metadata_is_refused_soon(tmp_path: Path) -> None:
    pq.write_table(TABLE.replace_schema_metadata({b"x": b"y" * 80_000_000}), tmp_path / "people.parquet")
    started = time.process_time()
    with pytest.raises(DataError, match="no readable Parquet file"):
        read_file(tmp_path / "people.parquet")
    assert time.process_time() - started < 3
