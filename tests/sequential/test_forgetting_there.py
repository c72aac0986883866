"""Somebody is forgotten whose releases were made where rows lie: out of lines and people files, and everything stays
judged."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.errors import LedgerError
from sfumato.engines.protocol import LINE, PERSON
from sfumato.history.ledger import Ledger, forgetting
from sfumato.history.ledger.entries import TAKEN_PLACE, head_of_certificate
from sfumato.history.ledger.forgetting import forget
from sfumato.history.ledger.person_files import PersonFilesDraft
from sfumato.io.plain_files import map_files
from tests.command_line import run

from .plain_cluster import publish_there

COLUMNS = {
    "id": "identifier",
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 20]}},
    "town": "quasi-identifier",
    "illness": "sensitive",
}
TREE = {
    "version": 1,
    "columns": COLUMNS,
    "protect": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 2}}],
    "method": "mondrian",
}
POLICY = replace(sf.Policy.parse(TREE), key=("id",))
PLACES = range(3)


def quarters() -> list[pa.Table]:
    """Three tables: people come, some leave; some are alike and have one illness, some are the only ones of their
    kind."""
    draw = np.random.default_rng(4)
    age, town = 20 + draw.geometric(0.15, 140).clip(1, 30), draw.integers(0, 2, 140)
    columns = {
        "id": [f"zz-person-{n}-zz" for n in range(140)],
        "age": [str(one) for one in age],
        "town": [["Ulm", "Bonn"][one] for one in town],
        "illness": [["flu", "gout", "cold"][one] for one in (age + town) % 3],
    }
    everybody, place = pa.table(columns), np.arange(140)
    return [everybody.filter(pa.array(there)) for there in (place < 110, place < 130, place % 40 != 5)]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that was begun here and went on there, beside the folders of its releases; left as it is."""
    place = tmp_path_factory.mktemp("begun")
    first, *later = quarters()
    made = sf.publish(POLICY, data=first, ledger=place / "l.ledger", new_ledger=True, seed=1)
    made.write(place / "out-0", report=False)
    for number, data in enumerate(later, start=1):
        publish_there(POLICY, data, place / "l.ledger").write(place / f"out-{number}", report=False)
    return place


@pytest.fixture(scope="module")
def said(begun: Path) -> list[Any]:
    """What is found before anybody is forgotten."""
    return findings(begun)


@pytest.fixture
def place(begun: Path, tmp_path: Path) -> Path:
    return shutil.copytree(begun, tmp_path / "copy")


def people_of(ledger: Path) -> list[dict[str, tuple[int, int, dict[str, str], dict[str, str]]]]:
    """Per release everybody's line, its count, what the original said and what was published."""
    found = []
    for past, people in Ledger(ledger).chronicle():
        pairs = people if isinstance(people, pa.Table) else pa.concat_tables(map(pq.read_table, people))
        values, cells = past.memory.values.frame.to_pylist(), past.exhibit.data.frame.to_pylist()
        assert past.memory.counts is not None
        counts = past.memory.counts.tolist()
        found.append(
            {
                row[PERSON]: (row[LINE], counts[row[LINE]], values[row[LINE]], cells[row[LINE]])
                for row in pairs.to_pylist()
            }
        )
    return found


def published(ledger: Path) -> list[Counter[tuple[str, ...]]]:
    """Per release how often every row was published, by what is remembered."""
    every = [(past.exhibit.data.frame.to_pylist(), past.memory.counts) for past, _ in Ledger(ledger).chronicle()]
    told = []
    for cells, counts in every:
        found: Counter[tuple[str, ...]] = Counter()
        for row, many in zip(cells, np.asarray(counts).tolist(), strict=True):
            found[tuple(row.values())] += many
        told.append(found)
    return told


def findings(place: Path) -> list[Any]:
    return [
        [one.to_json() for one in sf.verify(place / f"out-{n}", ledger=place / "l.ledger").findings] for n in PLACES
    ]


def somebody(ledger: Path, alone: bool) -> str:
    """Who is in all releases, on a line of one wherever rows lie elsewhere or in company everywhere, in coarse
    cells."""
    first, *later = people_of(ledger)
    fit = [
        key
        for key in first
        if all(key in people and (people[key][1] == 1) is alone and "-" in people[key][3]["age"] for people in later)
    ]
    return fit[0]


def folders(place: Path) -> dict[str, list[str]]:
    return {one.name: sorted(file.name for file in one.iterdir()) for one in (place / "l.ledger.people").iterdir()}


@pytest.mark.parametrize("alone", [False, True])
def test_the_person_is_gone_and_everybody_else_is_where_they_were(place: Path, said: list[Any], alone: bool) -> None:
    ledger = place / "l.ledger"
    key = somebody(ledger, alone)
    before, rows = people_of(ledger), published(ledger)
    heads = [head_of_certificate(entry.body["certificate"])[1] for entry in Ledger(ledger).entries()]
    assert forget(Ledger(ledger), key) == [1, 2, 3]
    after = people_of(ledger)
    (name,) = {one for people in after for one in people} - {one for people in before for one in people}
    assert name.startswith("forgotten")
    for old, new in zip(before, after, strict=True):
        assert new.keys() == old.keys() - {key} | {name}
        assert new[name][3] == old[key][3]
        assert {one: seat[2:] for one, seat in new.items() if one != name} == {
            o: s[2:] for o, s in old.items() if o != key
        }
    for old, new in zip(before[1:], after[1:], strict=True):  # the first is condensed anew
        assert {one: seat[0] for one, seat in new.items() if one != name} == {
            o: s[0] for o, s in old.items() if o != key
        }
        assert new[name][1] == 1
        assert (new[name][0] == old[key][0]) is alone
    values = [people[name][2] for people in after]
    assert values[0] == values[1] == values[2]
    assert published(ledger) == rows
    assert findings(place) == said
    for head in heads:
        assert Ledger(ledger).verify(head) == 4
    content = b"".join(file.read_bytes() for file in [ledger, *(place / "l.ledger.people").rglob("*.parquet")])
    assert key.encode() not in content
    assert not (place / "l.ledger.kept").exists()


def ends(cell: str) -> tuple[int, int]:
    low, _, high = ("0-999" if cell == "*" else cell).partition("-")
    return int(low), int(high or low)


def test_values_are_drawn_among_those_that_all_cells_stand_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody whose cells differ: what one release leaves open another one told."""
    ledger, asked = place / "l.ledger", []
    people = people_of(ledger)
    cells = {key: [release[key][3]["age"] for release in people if key in release] for key in people[2]}
    key = next(key for key, mine in cells.items() if len(set(mine)) > 1)
    telling = [release for release in people if key in release]
    truth = telling[0][key][2]["age"]

    def drawn(candidates: list[str]) -> str:
        asked.append(candidates)
        return next((one for one in candidates if one != truth), truth)

    monkeypatch.setattr("sfumato.history.ledger.forgetting.secrets.choice", drawn)
    forget(Ledger(ledger), key)
    values = set.intersection(*({seat[2]["age"] for seat in release.values()} for release in telling))
    spans = [ends(cell) for cell in cells[key]]
    possible = {age for age in values if all(low <= int(age) <= high for low, high in spans)}
    assert 1 < len(possible) < len(values)
    assert sorted(possible) in asked
    after = people_of(ledger)
    (name,) = after[2].keys() - people[2].keys()
    assert {release[name][2]["age"] for release in after if name in release} == {min(possible - {truth})}
    assert [release[name][2]["illness"] for release in after if name in release] == [
        one[key][3]["illness"] for one in telling
    ]


def test_the_next_release_goes_on_with_somebody_new(place: Path) -> None:
    ledger = place / "l.ledger"
    key = somebody(ledger, alone=False)
    forget(Ledger(ledger), key)
    made = publish_there(POLICY, quarters()[2], ledger)
    made.write(place / "out-3", report=False)
    assert made.certificate.holds
    assert sf.verify(place / "out-3", ledger=ledger).holds
    everybody = {one for people in people_of(ledger) for one in people}
    assert sum(one.startswith("forgotten") for one in everybody) == 1
    assert all(key not in people for people in people_of(ledger)[:3])
    assert forget(Ledger(ledger), somebody(ledger, alone=False)) == [1, 2, 3, 5]
    assert [sf.verify(place / f"out-{n}", ledger=ledger).holds for n in range(4)] == [True] * 4


def test_files_without_the_person_are_not_written_again_and_bytes_of_the_others_are_gone(place: Path) -> None:
    ledger = place / "l.ledger"
    key = somebody(ledger, alone=False)
    old = [file for files in Ledger(ledger).people_files().values() for file in files]
    theirs = [file for file in old if key in pq.read_table(file).column(PERSON).to_pylist()]
    assert 0 < len(theirs) < len(old)
    for number, file in enumerate(old):
        os.link(file, place / f"link-{number}")
    before = [file.read_bytes() for file in old]
    forget(Ledger(ledger), key)
    for number, file in enumerate(old):
        left = (place / f"link-{number}").read_bytes()
        assert left == (bytes(len(before[number])) if file in theirs else before[number])
        assert not file.exists()


# ---- the chain -------------------------------------------------------------------------------------------------------


def test_people_that_nobody_vouches_for_are_a_broken_ledger(place: Path) -> None:
    ledger = place / "l.ledger"
    key = somebody(ledger, alone=True)
    kept = shutil.copytree(place / "l.ledger.people", place / "backup")
    forget(Ledger(ledger), key)
    now = Ledger(ledger).people_files()[2][0].parent
    (old,) = (one for one in kept.iterdir() if one.name.startswith("00002"))
    shutil.copytree(old, now.with_name(old.name))  # the old folder is back: nobody names it, and it means nothing
    assert Ledger(ledger).verify() == 4
    shutil.rmtree(now)
    shutil.copytree(old, now)
    with pytest.raises(LedgerError, match="people of entry 2"):
        Ledger(ledger).verify()
    shutil.rmtree(now)
    with pytest.raises(LedgerError, match="people of entry 2"):
        forget(Ledger(ledger), "anybody")


@pytest.mark.parametrize("told", [{"1": {}}, {"7": {}}, {"second": {}}, [2], "2"])
def test_a_word_about_people_whom_no_release_has_is_a_broken_ledger(place: Path, told: Any) -> None:
    with Ledger(place / "l.ledger").writing() as base:
        forgetting._enter(base, {"memories": {}, TAKEN_PLACE: told})
    with pytest.raises(LedgerError, match="whom no release has"):
        Ledger(place / "l.ledger").verify()


@pytest.mark.parametrize(
    "told", [None, {}, {"folder": "../elsewhere", "files": {}}, {"folder": "00002-0123456789abcdef", "files": {}}]
)
def test_a_word_about_people_that_names_no_folder_is_a_broken_ledger(place: Path, told: Any) -> None:
    with Ledger(place / "l.ledger").writing() as base:
        forgetting._enter(base, {"memories": {}, TAKEN_PLACE: {"2": told}})
    with pytest.raises(LedgerError, match="people of entry 2"):
        Ledger(place / "l.ledger").verify()


# ---- killed on the way -----------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


def killed(*given: Any, **named: Any) -> None:
    raise Killed


@pytest.mark.parametrize("step", ["_enter", "_remove_exchanged", "remove_cache"])
def test_whenever_a_forgetting_is_killed_the_ledger_is_whole(
    place: Path, said: list[Any], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Before the entry that counts the person is everywhere, afterwards nowhere; what is left behind the next one
    removes."""
    ledger = place / "l.ledger"
    key, entered = somebody(ledger, alone=False), step != "_enter"
    (place / "l.ledger.kept").write_bytes(b"as a ledger that was begun here leaves it")
    with monkeypatch.context() as patched:
        patched.setattr(forgetting, step, killed)
        with pytest.raises(Killed):
            forget(Ledger(ledger), key)
    assert Ledger(ledger).verify() == 3 + entered
    assert [key in people for people in people_of(ledger)] == [not entered] * 3
    assert findings(place) == said
    strays = len(folders(place)) - 2
    assert strays == (0 if step == "remove_cache" else 2)
    if entered:
        with pytest.raises(LedgerError, match="remembers nobody"):  # it was done, and is not done again
            forget(Ledger(ledger), key)
    else:
        assert forget(Ledger(ledger), key) == [1, 2, 3]
    assert len(folders(place)) == 2
    assert not (place / "l.ledger.kept").exists()
    assert findings(place) == said


def test_publishing_removes_what_a_crash_left(place: Path) -> None:
    stray = shutil.copytree(
        Ledger(place / "l.ledger").people_files()[2][0].parent, place / "l.ledger.people" / f"00004-{'a' * 16}"
    )
    os.link(next(stray.iterdir()), place / "link")
    later = shutil.copytree(
        stray, place / "l.ledger.people" / f"00006-{'a' * 16}"
    )  # of a ledger that was longer than this one
    (place / "l.ledger.people" / "notes").mkdir()
    publish_there(POLICY, quarters()[2], place / "l.ledger").write(place / "out-3", report=False)
    assert not stray.exists()
    assert set((place / "link").read_bytes()) == {0}
    assert later.exists()
    assert (place / "l.ledger.people" / "notes").exists()
    assert Ledger(place / "l.ledger").verify() == 4


def test_a_draft_is_removed_when_nobody_makes_it_any_more(place: Path) -> None:
    ledger = place / "l.ledger"
    making = PersonFilesDraft.beside(ledger, map_files)
    dead = PersonFilesDraft.beside(ledger, map_files)
    for draft in (making, dead):
        draft.folder.mkdir()
        (draft.folder / "part-00000.parquet").write_bytes(b"somebody")
    unknown = place / "l.ledger.people" / ".making-by-another-version"
    unknown.mkdir()
    left = Path(dead.place.name)
    dead.place._finalizer.detach()  # type: ignore[attr-defined]  # a process that is killed cleans nothing up
    del dead, draft
    assert left.exists()
    forget(Ledger(ledger), somebody(ledger, alone=True))
    assert not left.exists()
    assert making.files[0].read_bytes() == b"somebody"
    assert unknown.exists()


def refused(*given: Any, **named: Any) -> None:
    raise OSError


def test_a_place_without_locks_and_second_names(place: Path, said: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be locked stays, because nobody knows whether it is made; what cannot have a second name is
    copied."""
    ledger = place / "l.ledger"
    monkeypatch.setattr("fcntl.flock", refused)
    monkeypatch.setattr("os.link", refused)
    draft = PersonFilesDraft.beside(ledger, map_files)
    draft.folder.mkdir()
    forget(Ledger(ledger), somebody(ledger, alone=False))
    monkeypatch.undo()
    assert findings(place) == said
    with pytest.raises(LedgerError, match="remembers nobody"):
        forget(Ledger(ledger), "nobody")
    assert draft.folder.exists()
    assert len(folders(place)) == 3


def test_what_the_first_release_on_a_cluster_left_is_removed_too(begun: Path, tmp_path: Path) -> None:
    sf.publish(POLICY, data=quarters()[0], ledger=tmp_path / "l.ledger", new_ledger=True).write(
        tmp_path / "out", report=False
    )
    files = Ledger(begun / "l.ledger").people_files()[2]
    stray = shutil.copytree(files[0].parent, tmp_path / "l.ledger.people" / files[0].parent.name)
    assert forget(Ledger(tmp_path / "l.ledger"), "zz-person-1-zz") == [1]
    assert not stray.exists()


def test_a_release_that_is_being_made_goes_on_when_nothing_was_forgotten(place: Path) -> None:
    ledger = place / "l.ledger"
    made = publish_there(POLICY, quarters()[2], ledger)
    with pytest.raises(LedgerError, match="remembers nobody"):
        forget(Ledger(ledger), "nobody")
    made.write(place / "out-3", report=False)
    assert sf.verify(place / "out-3", ledger=ledger).holds
    again = publish_there(POLICY, quarters()[2], ledger)
    forget(Ledger(ledger), somebody(ledger, alone=True))
    with pytest.raises(LedgerError, match="in the meantime"):
        again.write(place / "out-4", report=False)


def test_a_release_that_is_entered_in_the_meantime_is_not_overlooked(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = place / "l.ledger"
    key, made = somebody(ledger, alone=False), publish_there(POLICY, quarters()[2], ledger)
    exchange = forgetting.LinePage.changed

    def slowly(page: Any, stranger: Any) -> Any:
        if page.number == 3:
            made.write(place / "out-3", report=False)
        return exchange(page, stranger)

    monkeypatch.setattr(forgetting.LinePage, "changed", slowly)
    with pytest.raises(LedgerError, match="in the meantime"):
        forget(Ledger(ledger), key)
    monkeypatch.undo()
    assert all(key in people for people in people_of(ledger))
    assert forget(Ledger(ledger), key) == [1, 2, 3, 4]


# ---- at the command line ---------------------------------------------------------------------------------------------


def test_what_the_commands_say(place: Path) -> None:
    ledger, key = str(place / "l.ledger"), somebody(place / "l.ledger", alone=False)
    done = run("ledger", "forget", ledger, key)
    assert done.returncode == 0
    assert "Deleted from 3 releases (1, 2, 3)" in done.stdout
    assert key not in done.stdout
    again = run("ledger", "forget", ledger, key)
    assert again.returncode == 6
    assert "remembers nobody" in again.stderr
    assert "3 releases, 1 deletion" in run("ledger", "verify", ledger, "--release", str(place / "out-1")).stdout
    assert len(json.loads(run("ledger", "list", ledger, "--json").stdout)) == 4
    assert json.loads(run("ledger", "show", ledger, "2", "--json").stdout)["records"] > 0
    kept = run("ledger", "show", ledger, "2", "--out", str(place / "again"))
    assert kept.returncode == 6
    assert "keep the release folder itself" in kept.stderr
    assert (
        json.loads(run("attack", "join", "--ledger", ledger, "--json").stdout)["illness"]["full"]["people_below"] == 0
    )


def test_keys_of_several_columns(tmp_path: Path) -> None:
    table = quarters()[0].append_column("part", pa.array(["7"] * 110))
    tree = TREE | {"columns": COLUMNS | {"part": "identifier"}}
    asked = replace(sf.Policy.parse(tree), key=("id", "part"))
    publish_there(asked, table, tmp_path / "l.ledger", new=True).write(tmp_path / "out", report=False)
    assert forget(Ledger(tmp_path / "l.ledger"), "zz-person-3-zz,7") == [1]
    assert sf.verify(tmp_path / "out", ledger=tmp_path / "l.ledger").holds


def test_somebody_who_stands_twice_in_people_files_is_refused(place: Path) -> None:
    """As a defect of who wrote them would leave it, for which their entry vouches."""
    ledger = place / "l.ledger"
    first, second, *_ = Ledger(ledger).people_files()[3]
    key = pq.read_table(first).column(PERSON)[0].as_py()
    shutil.copyfile(first, second)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Ledger, "verify", lambda book: 3)
        with pytest.raises(LedgerError, match="twice"):
            forget(Ledger(ledger), key)
