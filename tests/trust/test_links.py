"""A release folder from a stranger: no link in it is followed, nothing waits at a pipe, and what is written is a new
file."""

from __future__ import annotations

import contextlib
import csv
import json
import multiprocessing
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import DataError, SfumatoError
from sfumato.io.plain_files import digest, open_plain, replace_file
from sfumato.release.folder import open_release, provenance_path, read_folder, read_provenance
from sfumato.ui.demos.tables import discharges
from tests.command_line import run

NAMES = ["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"]
POLICY = {
    "version": 1,
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": "ages.csv"},
        "sex": "quasi-identifier",
        "diagnosis": "sensitive",
    },
    "protect": [{"k-anonymity": {"k": 4}}],
    "method": {"mondrian": {}},
}
SECRET = "the reader's own file\n"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a hierarchy of its own, its original beside it."""
    folder = tmp_path_factory.mktemp("release")
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *discharges(120)])
    (folder / "ages.csv").write_text("".join(f"{age};{age // 20 * 20}+;*\n" for age in range(120)))
    sf.publish(sf.Policy.parse(POLICY, base=folder), data=folder / "people.csv", seed=5).write(folder / "out")
    assert sf.verify(folder / "out").holds
    return folder / "out"


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    (tmp_path / "mine.txt").write_text(SECRET)
    return Path(shutil.copytree(release, tmp_path / "out"))


def links(place: Path) -> None:
    place.symlink_to(place.parent.parent / "mine.txt")


def links_a_folder(place: Path) -> None:
    place.symlink_to(place.parent.parent)


def dangles(place: Path) -> None:
    place.symlink_to("nowhere")


def loops(place: Path) -> None:
    place.symlink_to(place.name)


def pipe(place: Path) -> None:
    os.mkfifo(place)


def plug(place: Path) -> None:
    with contextlib.chdir(place.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(place.name)


def device(place: Path) -> None:
    try:
        os.mknod(place, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero: has no end
    except PermissionError:
        pytest.skip("only root makes devices")


ODD = [links, links_a_folder, dangles, loops, pipe, plug, device]
INSIDE = ["report.html", "manifest.json", "certificate.json", "policy.yaml", "data.csv", "hierarchies/2-age.csv",
"target.json",
          "statement.dsse.json", "hierarchies", "readme.txt", "hierarchies/more.csv"]  # fmt: skip


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fails rather than waits: a pipe that is opened waits for a writer who never comes."""
    import signal

    def late(*_: object) -> None:
        raise TimeoutError("waited at a pipe")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_report_is_never_written_through_a_link(copy: Path) -> None:
    (copy / "report.html").unlink()
    links(copy / "report.html")
    done = run("report", str(copy))
    assert done.returncode == 1
    assert "report.html in the folder is a link" in done.stderr
    assert (copy.parent / "mine.txt").read_text() == SECRET


@pytest.mark.parametrize("make", ODD)
@pytest.mark.parametrize("name", INSIDE)
def test_whatever_is_no_plain_file_is_refused_by_every_reader(copy: Path, name: str, make: Callable) -> None:
    place = copy / name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    make(place)
    with within(20):
        for command in (["verify"], ["report"], ["query"]):
            more = ["SELECT COUNT(*) FROM data"] if command == ["query"] else []
            done = run(*command, str(copy), *more)
            assert done.returncode == 1, (command, done.stdout)
            assert "in the folder is a" in done.stderr
            assert "unexpected" not in done.stderr
        with pytest.raises(SfumatoError, match="in the folder is a"):
            open_release(copy, original=copy.parent / "people.csv")
    assert (copy.parent / "mine.txt").read_text() == SECRET
    assert os.path.lexists(place)


def test_a_part_behind_a_link_is_not_read_even_when_its_digest_is_right(copy: Path) -> None:
    (copy / "data.csv").rename(copy.parent / "elsewhere.csv")
    (copy / "data.csv").symlink_to(copy.parent / "elsewhere.csv")
    assert run("verify", str(copy)).returncode == 1


def test_a_folder_behind_a_link_is_the_readers_own_choice(copy: Path) -> None:
    (copy.parent / "latest").symlink_to(copy)
    assert sf.verify(copy.parent / "latest").holds
    assert run("report", str(copy.parent / "latest")).returncode == 0


def test_a_file_that_is_written_is_a_new_one(copy: Path) -> None:
    """A hard link is no link to anything: both names are the file. Writing leaves the other name as it was."""
    for name in ("report.html", "manifest.json"):
        shutil.copyfile(copy / name, copy.parent / f"kept-{name}")
        (copy / name).unlink()
        os.link(copy.parent / f"kept-{name}", copy / name)
    before = {name: digest(copy.parent / f"kept-{name}") for name in ("report.html", "manifest.json")}
    assert sf.verify(copy).holds
    assert run("report", str(copy)).returncode == 0
    assert {name: digest(copy.parent / f"kept-{name}") for name in before} == before
    assert (copy / "report.html").stat().st_nlink == 1
    assert sf.verify(copy).holds


# ---- what a policy in the folder names -------------------------------------------------------------------------------


def renamed(folder: Path, change: Callable[[dict], None]) -> None:
    """Another policy, and a manifest that fits it, as a forger would leave them."""
    tree = sf.Policy.read(folder / "policy.yaml").document.tree
    change(tree)
    (folder / "policy.yaml").write_text(json.dumps(tree))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["policy.yaml"]["sha256"] = digest(folder / "policy.yaml")
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../mine.txt", "../../etc/passwd", "hierarchies/../../mine.txt", "mine.txt", "."]
)
def test_a_hierarchy_outside_the_folder_is_not_read(copy: Path, name: str) -> None:
    renamed(copy, lambda tree: tree["columns"]["age"].update(hierarchy=name))
    done = run("verify", str(copy))
    assert done.returncode == 1
    assert "the hierarchy of 'age' is no file of the folder" in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"data": {"kind": "table", "source": "/etc/passwd"}},
        {"data": {"kind": "table", "source": "sqlite:///x.db", "table": "t"}},
        {"ledger": "../book.ledger"},
        {"key": "name"},
    ],
)
def test_a_policy_in_a_folder_names_nothing_private(copy: Path, change: dict) -> None:
    renamed(copy, lambda tree: tree.update(change))
    done = run("verify", str(copy))
    assert done.returncode == 1
    assert "which is private" in done.stderr


@pytest.mark.parametrize("name", ["/etc/passwd", "../mine.txt", "a/../../mine.txt"])
def test_a_manifest_that_lists_a_file_outside_is_damage_and_the_file_stays_unread(copy: Path, name: str) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    outside = copy / name
    manifest["files"][name] = {"sha256": digest(outside) if outside.is_file() else "", "rows": 1}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert read_folder(copy).damage == (f"{name} points outside the folder",)
    assert not sf.verify(copy).holds


def test_a_name_that_a_terminal_would_obey_is_shown_as_text(copy: Path) -> None:
    (copy / "\x1b[2Jgone").write_text("")
    done = run("verify", str(copy))
    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr
    assert "\\x1b[2Jgone" in done.stdout


BROKEN = ["", "[]", "3", "{", "[" * 200_000, '{"files": {}, "files": {}}', '{"files": 3}', '{"files": {"a": 3}}',
"\x00", "NaN",
          '{"form": "recoded table", "public": {}, "files": {"data.csv": []}}',
          '{"records": {"input": 1e400}}']  # fmt: skip


@pytest.mark.parametrize("name", ["manifest.json", "certificate.json"])
@pytest.mark.parametrize("text", BROKEN)
def test_json_that_is_not_what_it_should_be_is_one_line_of_error(copy: Path, name: str, text: str) -> None:
    (copy / name).write_text(text)
    done = run("verify", str(copy))
    assert done.returncode == 1
    assert "unexpected" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_figures_beyond_numbers_in_a_certificate_do_not_crash(copy: Path) -> None:
    tree = json.loads((copy / "certificate.json").read_text())
    text = json.dumps(tree).replace(f'"input": {tree["records"]["input"]}', '"input": 1e400')
    (copy / "certificate.json").write_text(text)
    done = run("verify", str(copy))
    assert done.returncode == 1
    assert "unexpected" not in done.stderr


# ---- beside the folder -----------------------------------------------------------------------------------------------


def original(release: Path) -> str:
    return str(release.parent / "people.csv")


@pytest.mark.parametrize("make", [links, dangles, pipe, device])
@pytest.mark.parametrize("beside", ["fresh.private.html", "fresh.private.trace", "fresh"])
def test_publishing_writes_through_nothing_and_refuses_before_it_begins(
    release: Path, tmp_path: Path, beside: str, make: Callable
) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()
    (tmp_path / "mine.txt").write_text(SECRET)
    make(desk / beside)
    publication = sf.publish(sf.Policy.parse(POLICY, base=release.parent), data=original(release))
    with within(20), pytest.raises(DataError):
        publication.write(desk / "fresh")
    assert (tmp_path / "mine.txt").read_text() == SECRET
    assert not (desk / "fresh" / "manifest.json").exists()
    assert not os.path.lexists(desk / "nowhere")
    assert os.listdir(desk) == [beside]


@pytest.mark.parametrize("make", [links, dangles, pipe, device])
def test_the_private_report_is_written_through_nothing(release: Path, copy: Path, make: Callable) -> None:
    (copy.parent / "sub").mkdir()
    make(copy.parent / "sub" / "page.html")
    with within(20):
        done = run(
            "report", str(copy), "--original", original(release), "--out", str(copy.parent / "sub" / "page.html")
        )
    assert done.returncode == 3
    assert "nothing is written there" in done.stderr
    assert (copy.parent / "mine.txt").read_text() == SECRET


def test_the_private_report_is_private_also_where_a_public_file_stood(release: Path, copy: Path) -> None:
    page = copy.parent / "page.html"
    page.write_text("old")
    page.chmod(0o644)
    assert run("report", str(copy), "--original", original(release), "--out", str(page)).returncode == 0
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


@pytest.mark.parametrize("make", [links, loops, pipe, device])
def test_a_trace_beside_the_folder_is_a_plain_file(release: Path, copy: Path, make: Callable) -> None:
    (copy.parent / "sub").mkdir()
    shutil.copytree(copy, copy.parent / "sub" / "out")
    make(provenance_path(copy.parent / "sub" / "out"))
    with within(20):
        done = run("verify", str(copy.parent / "sub" / "out"), "--original", original(release))
    assert done.returncode == 1
    assert "private.trace is a" in done.stderr


def test_no_trace_is_an_empty_trace_and_a_strange_one_an_error(release: Path, tmp_path: Path) -> None:
    form = read_folder(release).form
    assert not read_provenance(tmp_path / "none", form).rows
    for content in (b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"text"):
        provenance_path(tmp_path / "odd").write_bytes(content)
        with pytest.raises(SfumatoError, match="provenance cannot be read"):
            read_provenance(tmp_path / "odd", form)


# ---- the two verbs themselves ----------------------------------------------------------------------------------------


def _swap(path: str, other: str, stop: object) -> None:
    while not stop.is_set():  # type: ignore[attr-defined]
        os.replace(f"{path}.link", path)
        os.replace(f"{path}.file", path)
        os.symlink(other, f"{path}.link")
        shutil.copyfile(f"{path}.kept", f"{path}.file")


def test_opening_looks_at_what_was_opened_not_at_what_stood_there(tmp_path: Path) -> None:
    """Somebody exchanges a file and a link while it is read; the file behind the link is never seen."""
    path = tmp_path / "data.csv"
    (tmp_path / "mine.txt").write_text(SECRET)
    for name in ("data.csv", "data.csv.kept", "data.csv.file"):
        (tmp_path / name).write_text("plain")
    (tmp_path / "data.csv.link").symlink_to(tmp_path / "mine.txt")
    stop = multiprocessing.get_context("fork").Event()
    other = multiprocessing.get_context("fork").Process(
        target=_swap, args=(str(path), str(tmp_path / "mine.txt"), stop)
    )
    other.start()
    try:
        seen = set()
        for _ in range(3000):
            with contextlib.suppress(SfumatoError, OSError), open_plain(path) as file:
                seen.add(file.read())
    finally:
        stop.set()
        other.join()
    assert seen == {b"plain"}


def test_a_draft_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.html").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):
        replace_file(tmp_path / "page.html", b"new")
    assert (tmp_path / "page.html").read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]
