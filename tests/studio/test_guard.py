"""A hostile page in the same browser, another user of the machine, a hostile file: none of them gets or changes
anything."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from sfumato.core.errors import DataError
from sfumato.ui.studio.app import COOKIE
from sfumato.ui.studio.project import Project, is_plain
from sfumato.ui.studio.work.releasing import unpacked
from tests.studio.opened import TOKEN, client, fill, fill_at_length, serving, settled


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("project")
    fill(folder)
    (folder.parent / "secret.txt").write_text("nobody reads this")
    (folder / "link.yaml").symlink_to(folder.parent / "secret.txt")
    (folder / "<script>alert(1)<.yaml").write_text("version: 1\n")
    with serving(folder) as (_, taken):
        yield taken


def test_without_the_token_nothing_is_answered(port: int) -> None:
    for token in ("", "wrong", TOKEN[:-1]):
        for path in ("/project", "/project.json", "/static/studio.css", "/files/people.yaml", "/p/people.yaml/data"):
            answer = client(port, token=token).get(path)
            assert (answer.status_code, "people" in answer.text) == (403, False)


def test_the_token_leaves_the_address_at_once(port: int) -> None:
    answer = httpx.get(f"http://127.0.0.1:{port}/?token={TOKEN}", verify=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert httpx.get(f"http://127.0.0.1:{port}/?token=guess", verify=False).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""])
def test_another_name_of_this_machine_is_refused(port: int, host: str) -> None:
    """DNS rebinding: the browser believes it talks to somebody else."""
    answer = client(port).get("/project.json", headers={"Host": host})
    assert (answer.status_code, "people" in answer.text) == (403, False)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "https://127.0.0.1", "http://localhost:1"])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/p/people.yaml/promises"), ("PUT", "/files/new.csv"), ("POST", "/jobs/x/cancel")]
)
def test_a_page_of_another_site_changes_nothing(port: int, method: str, path: str, origin: str) -> None:
    answer = client(port).request(method, path, headers={"Origin": origin}, content=b"act=yaml&yaml=gone")
    assert answer.status_code == 403
    without = httpx.Client(base_url=f"http://127.0.0.1:{port}", cookies=client(port).cookies, verify=False)
    assert without.request(method, path, content=b"act=yaml&yaml=gone").status_code == 403
    assert "visits of last year" in client(port).get("/files/people.yaml").text


def test_the_cookie_is_not_the_token_and_the_token_no_cookie(port: int) -> None:
    given = client(port).cookies[COOKIE]
    assert TOKEN not in given
    assert httpx.get(f"http://127.0.0.1:{port}/project", cookies={COOKIE: TOKEN}, verify=False).status_code == 403
    assert httpx.get(f"http://127.0.0.1:{port}/project", cookies={COOKIE: given}, verify=False).status_code == 200


ROUTES = [
    ("GET", "/"), ("GET", "/project"), ("GET", "/project.json"), ("POST", "/project"), ("GET", "/p/people.yaml/data"),
    ("GET", "/p/people.yaml/data.json"), ("POST", "/p/people.yaml/data"), ("PUT", "/files/x.csv"),
    ("GET", "/p/people.yaml/publish"),
    ("GET", "/files/people.yaml"), ("GET", "/jobs/x.json"), ("POST", "/jobs/x/cancel"), ("GET", "/r/out/report.html"),
    ("GET", "/r/out/private.html"), ("GET", "/r/out.zip"), ("GET", "/static/studio.css"), ("GET", "/nothing"),
]  # fmt: skip
STRANGERS = {
    "no token": {},
    "10,000 fields": {"params": [("f", "1")] * 10_000},
    "60 fields": {"params": [(f"f{n}", "1") for n in range(60)]},
    "a foreign host": {"headers": {"Host": "evil.example"}},
    "a long cookie": {"cookies": {COOKIE: "x" * 5_000}},
    "deep JSON": {"content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}},
}


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_refuses_strangers_with_all_headers(port: int, method: str, path: str, name: str) -> None:
    asked = dict(STRANGERS[name])
    cookies = asked.pop("cookies", {})
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", cookies=cookies, verify=False) as stranger:
        answer = stranger.request(method, path, **asked)
    assert 400 <= answer.status_code < 500
    assert "people" not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_many_fields_of_a_friend_are_refused_plainly(port: int) -> None:
    answer = client(port).get("/project", params=[(f"f{n}", "1") for n in range(60)])
    assert answer.status_code == 400
    assert answer.headers["x-content-type-options"] == "nosniff"


OUTSIDE_KEYS = {
    "source": "version: 1\ndata: {{source: '{0}'}}\ncolumns: {{age: quasi-identifier}}\n",
    "relative": "version: 1\ndata: {{source: ../{1}/secret.csv}}\ncolumns: {{age: quasi-identifier}}\n",
    "people": (
        "version: 1\ndata: {{source: people.csv, people: '{0}'}}\ncolumns: {{age: quasi-identifier}}\nperson: age\n"
    ),
    "hierarchy": "version: 1\ndata: people.csv\ncolumns: {{age: {{role: quasi-identifier, hierarchy: '{0}'}}}}\n",
    "sqlite": "version: 1\ndata: {{kind: database, source: 'sqlite:///{0}'}}\n",
}


@pytest.mark.parametrize("key", OUTSIDE_KEYS)
def test_a_policy_reads_no_file_outside_the_project(tmp_path: Path, key: str) -> None:
    folder, other = tmp_path / "project", tmp_path / "elsewhere"
    folder.mkdir()
    other.mkdir()
    fill(folder)
    (other / "secret.csv").write_text("age,zzsecret\n1,zzsecret\n2,zzsecret\n")
    (folder / "bad.yaml").write_text(OUTSIDE_KEYS[key].format(other / "secret.csv", "elsewhere"))
    with serving(folder) as (_, port):
        asking = client(port)
        for page in ("data", "hierarchies", "promises", "publish"):
            try:
                found = settled(asking, f"/p/bad.yaml/{page}.json")
            except (KeyError, TypeError, AssertionError):
                found = asking.get(f"/p/bad.yaml/{page}.json").text
            assert "zzsecret" not in str(found)
            assert "zzsecret" not in asking.get(f"/p/bad.yaml/{page}").text


def test_every_answer_carries_the_headers(port: int) -> None:
    for answer in (
        client(port).get("/project"),
        client(port, token="no").get("/project"),
        client(port).get("/nothing"),
    ):
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


OUTSIDE = [
    "../secret.txt",
    "..%2fsecret.txt",
    "%2fetc%2fpasswd",
    "link.yaml",
    ".hidden",
    "a%00b",
    "people.csv",
    "sub%2fx.yaml",
    "..%5csecret.txt",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_path_leads_out_of_the_folder(port: int, name: str) -> None:
    """Nor to anything but policies: data is never handed out."""
    for path in (
        f"/files/{name}",
        f"/p/{name}/promises",
        f"/p/{name}/promises.json",
        f"/r/{name}/certificate",
        f"/r/{name}/report.html",
    ):
        answer = client(port).get(path)
        assert answer.status_code in (404, 422) or (name == "people.csv" and "/p/" in path)
        assert "nobody reads this" not in answer.text and "root:" not in answer.text


@pytest.mark.parametrize("name", ["..%2fnew.csv", "%2ftmp%2fnew.csv", ".new.csv", "link.yaml", "people.csv"])
def test_nothing_is_written_elsewhere_or_over_something(port: int, name: str) -> None:
    answer = client(port).put(f"/files/{name}", content=b"a,b\n")
    assert answer.status_code in (404, 405, 422)


def test_a_huge_file_is_refused_while_it_arrives(tmp_path: Path) -> None:
    import anyio

    async def endless() -> object:
        while True:
            yield b"x" * 1000

    with pytest.raises(DataError, match="larger"):
        anyio.run(lambda: Project.open(tmp_path).receive("big.csv", endless(), most=10_000))
    assert list(tmp_path.iterdir()) == []


def test_names_are_text_and_never_script(port: int) -> None:
    page = client(port).get("/project").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;" in page


@pytest.mark.parametrize("name", ["../out.txt", "/abs.txt", "a/../../out.txt", "..\\out.txt", "C:\\out.txt"])
def test_an_archive_writes_nothing_outside(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as pack:
        pack.writestr("r/manifest.json", "{}")
        pack.writestr(name, "out")
    target = tmp_path / "in" / "deep"
    target.mkdir(parents=True)
    with pytest.raises(DataError, match="leads out"):
        unpacked(tmp_path / "r.zip", target)
    assert not list(tmp_path.rglob("out.txt"))


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as pack:
        entry = zipfile.ZipInfo("r/manifest.json")
        entry.external_attr = 0o120777 << 16
        pack.writestr(entry, "/etc/passwd")
    with pytest.raises(DataError, match="link"):
        unpacked(tmp_path / "r.zip", tmp_path)


def test_an_archive_that_holds_more_than_its_size_allows(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.zip", "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("r/manifest.json", b"0" * 70_000_000)
    with pytest.raises(DataError, match="more than"):
        unpacked(tmp_path / "r.zip", tmp_path)


def test_what_is_no_zip_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(b"PK\x03\x04nothing")
    with pytest.raises(DataError, match="not a zip file"):
        unpacked(tmp_path / "r.zip", tmp_path)


def test_a_name_is_one_visible_file_name() -> None:
    good = ["people.csv", "ä ö.yaml", "a-b_c.1", "x" * 200]
    bad = ["", ".", "..", ".x", "a/b", "/a", "a\\b", "a\nb", "a\x1b[0m", "x" * 201, "a/"]
    assert [is_plain(name) for name in good] == [True] * len(good)
    assert [is_plain(name) for name in bad] == [False] * len(bad)


def test_an_unforeseen_error_names_its_kind_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the page nor the log repeats words that may hold somebody's values."""

    def overview(self: Project) -> None:
        raise ValueError("Alice has the flu")

    fill(tmp_path)
    monkeypatch.setattr(Project, "overview", overview)
    with serving(tmp_path) as (_, port):
        answer = client(port).get("/project")
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")
    logged = capfd.readouterr()
    assert "Alice" not in answer.text + logged.err + logged.out and "ValueError" in logged.err


HOSTILE = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"


def test_script_in_column_names_values_and_tables_stays_text(tmp_path: Path) -> None:
    """Every page of a project whose data was made by somebody who wants to run something in the browser."""
    rows = "".join(f"{IMAGE}{at % 2},{20 + at % 4},{HOSTILE}{at % 2}\n" for at in range(24))
    (tmp_path / "evil.csv").write_text(f'{HOSTILE}town,age,"{IMAGE}ill"\n{rows}')
    columns = (
        f'  "{HOSTILE}town": {{role: quasi-identifier, hierarchy: flat}}\n  age: quasi-identifier\n  "{IMAGE}ill":'
        " sensitive\n"
    )
    rest = "protect:\n  - k-anonymity: {k: 3}\n  - l-diversity: {l: 2}\nmethod: {mondrian: {}}\n"
    (tmp_path / "evil.yaml").write_text(
        f'version: 1\ndata: evil.csv\ncolumns:\n{columns}{rest}keep:\n#  - "{HOSTILE}"  # {IMAGE}\n'
    )
    with sqlite3.connect(tmp_path / "shop.sqlite") as base:
        base.execute(f'CREATE TABLE "{HOSTILE}" (id INTEGER PRIMARY KEY, "{IMAGE}" TEXT)')
        base.execute(f'INSERT INTO "{HOSTILE}" VALUES (1, ?)', (HOSTILE,))
    (tmp_path / "shop.yaml").write_text(
        f"version: 1\ndata: {{kind: database, source: 'sqlite:///{tmp_path}/shop.sqlite'}}\n"
    )
    with serving(tmp_path) as (_, port):
        asking = client(port)
        asking.post("/p/evil.yaml/publish", data={"act": "publish", "out": "out"})
        asking.post("/p/evil.yaml/explore", data={"act": "why", "column": f"{HOSTILE}town", "budget": "5"})
        pages = [
            "/p/evil.yaml/data",
            "/p/evil.yaml/promises",
            "/p/evil.yaml/explore",
            "/p/evil.yaml/publish",
            "/p/shop.yaml/data",
        ]
        pages += [f"/p/evil.yaml/hierarchies?column={quote(HOSTILE)}town", "/r/out/certificate", "/project", "/verify"]
        for path in pages:
            while 'class="waiting"' in (answer := asking.get(path)).text:
                time.sleep(0.1)
            assert answer.status_code == 200, path
            assert "<script>alert" not in answer.text and "<img" not in answer.text, path
        assert "&lt;script&gt;alert(1)" in asking.get("/p/evil.yaml/data").text
        assert "&lt;script&gt;" in asking.get("/p/shop.yaml/data").text


def test_a_form_without_end_is_refused(port: int) -> None:
    def endless() -> Iterator[bytes]:
        yield b"act=yaml&yaml="
        for _ in range(50):
            yield b"x" * 1_000_000

    assert client(port).post("/p/people.yaml/promises", content=endless()).status_code == 413
    head = f"POST /p/people.yaml/promises HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(
            f"{head}Cookie: {COOKIE}={client(port).cookies[COOKIE]}\r\nContent-Length: {1 << 40}\r\n\r\n".encode()
        )
        assert b" 413 " in line.recv(100)


def test_a_login_stays_in_memory(tmp_path: Path) -> None:
    """The policy, which may be taken away, names a variable; neither a page nor a file holds the password."""
    fill(tmp_path)
    with serving(tmp_path) as (opened, port):
        asking = client(port)
        asking.post("/project", data={"url": "postgresql://me:hunter2@127.0.0.1:1/shop", "name": "shop"})
        assert settled(asking, "/project.json")["job"]["error"] is not None  # nobody listens there
        assert opened.desk.secrets == {"SFUMATO_SHOP": "postgresql://me:hunter2@127.0.0.1:1/shop"}
        (tmp_path / "shop.yaml").write_text("version: 1\ndata: {kind: database, source: '${SFUMATO_DB}'}\n")
        assert "SFUMATO_DB" in settled(asking, "/p/shop.yaml/data.json")["job"]["error"]["what"]
        with sqlite3.connect(tmp_path / "shop.sqlite") as base:
            base.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        assert asking.post("/p/shop.yaml/data", data={"address": "../x"}).status_code == 422
        assert (
            asking.post("/p/shop.yaml/data", data={"address": f"sqlite:///{tmp_path}/shop.sqlite"}).status_code == 303
        )
        assert settled(asking, "/p/shop.yaml/data.json")["job"]["result"]["kind"] == "database"
        assert "hunter2" not in asking.get("/project").text + asking.get("/project.json").text
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def test_the_server_stops_cleanly(tmp_path: Path) -> None:
    """Interrupted in the middle of a release: it ends, its workers end, and nothing is left in the folder."""
    fill_at_length(tmp_path)
    command = [sys.executable, "-m", "sfumato", "studio", str(tmp_path), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        here, token = server.stdout.readline().strip().split("/?token=")
        asking = client(int(here.rpartition(":")[2]), token=token)
        asking.post("/p/people.yaml/publish", data={"act": "publish", "out": "out"})
        while (job := asking.get("/p/people.yaml/publish.json").json()["job"])["stage"] in (
            "starting",
            "waiting for its turn",
        ):
            assert job["state"] == "running", job["error"]
            time.sleep(0.1)
        server.send_signal(signal.SIGINT)
        assert server.wait(60) in (0, 130, -signal.SIGINT)
    finally:
        server.kill()
        server.stdout.close()
        server.wait()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "people.yaml"]
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in running
