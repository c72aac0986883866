"""A real MariaDB for tests, started by the tests themselves; tests of this folder ask for `mariadb` or `fresh_mariadb`.

In this order: the URL in SFUMATO_TEST_MARIADB; `mariadbd` of this machine (Debian's mariadb-server-core, which `make
mariadb` installs where it can), as an unprivileged user when we are root. With neither the tests skip, and say so."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import pytest
import sqlalchemy as sa
from postgres_server import _free_port, _own, _unprivileged

from tests.roomy import roomy

NUMBER = itertools.count()
SHARE = Path("/usr/share/mysql")
SYSTEM = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
USER = (
    "CREATE USER sfumato@'127.0.0.1' IDENTIFIED BY 'sesame';\nGRANT ALL ON *.* TO sfumato@'127.0.0.1' WITH GRANT"
    " OPTION;\n"
)


@dataclass
class MariaServer:
    """An address with rights to create databases and users."""

    url: str
    made: list[str] = field(default_factory=list)

    def database(self) -> str:
        """The URL of a new empty database."""
        name = f"sfumato_{os.getpid()}_{next(NUMBER)}"
        with maria_session(self.url) as cursor:
            cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        self.made.append(name)
        return sa.make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def drop_all(self) -> None:
        with maria_session(self.url) as cursor:
            while self.made:
                cursor.execute(f"DROP DATABASE IF EXISTS `{self.made.pop()}`")


@contextlib.contextmanager
def maria_session(url: str, script: str = "") -> Iterator[Any]:
    """A cursor of a plain connection, not through Sfumato; the statements of a script are carried out first."""
    at = sa.make_url(url)
    multi = pymysql.constants.CLIENT.MULTI_STATEMENTS
    raw = pymysql.connect(
        host=at.host,
        port=at.port,
        user=at.username,
        password=at.password,
        database=at.database,
        autocommit=True,
        client_flag=multi,
    )
    try:
        with raw.cursor() as cursor:
            if script:
                cursor.execute(script)
                while cursor.nextset():
                    pass
            yield cursor
    finally:
        raw.close()


def program() -> str | None:
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")


@contextlib.contextmanager
def local_mariadb(binary: str) -> Iterator[MariaServer]:
    """A server in a fresh folder with a user and a password; gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="sfumato-maria-", dir=roomy()))
    data, port = home / "data", _free_port()
    home.chmod(0o755)
    (data / "mysql").mkdir(parents=True)
    for one in (home, data, data / "mysql"):
        _own(one)
    common = [*_unprivileged(), binary, "--no-defaults", f"--datadir={data}", "--innodb-buffer-pool-size=64M"]
    common += [
        "--innodb-log-file-size=16M",
        "--innodb-flush-log-at-trx-commit=0",
        "--skip-name-resolve",
        f"--tmpdir={home}",
    ]
    system = "USE mysql;\nSET @auth_root_socket = NULL;\n" + "".join((SHARE / name).read_text() for name in SYSTEM)
    text = f"{system}\nFLUSH PRIVILEGES;\n{USER}"
    done = subprocess.run([*common, "--bootstrap"], input=text, text=True, check=False, capture_output=True, cwd=home)
    assert done.returncode == 0, done.stderr[-2000:]
    log = (home / "log").open("wb")
    listening = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={home}/socket", f"--pid-file={home}/pid"]
    process = subprocess.Popen([*common, *listening], stdout=log, stderr=log, cwd=home)
    server = MariaServer(f"mariadb://sfumato:sesame@127.0.0.1:{port}/mysql")
    try:
        _wait(server, process)
        yield server
    finally:
        process.kill()
        process.wait(30)
        shutil.rmtree(home, ignore_errors=True)


def _wait(server: MariaServer, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert process.poll() is None, "the MariaDB server stopped while starting"
        with contextlib.suppress(pymysql.Error), maria_session(server.url):
            return
        time.sleep(0.1)
    raise AssertionError("the MariaDB server does not answer")


@pytest.fixture(scope="session")
def without_certificates() -> Iterator[None]:
    """The driver reads all authorities that the machine trusts for every connection, and asks none of them: 50 ms each
    time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", os.devnull)
        patch.setenv("SSL_CERT_DIR", os.devnull)
        yield


@pytest.fixture(scope="session")
def mariadb(without_certificates: None) -> Iterator[MariaServer]:
    """One server for the tests of this process."""
    given, binary = os.environ.get("SFUMATO_TEST_MARIADB"), program()
    if given:
        server = MariaServer(given)
        yield server
        server.drop_all()
        return
    if binary is None:
        missing = "no MariaDB on this machine: set SFUMATO_TEST_MARIADB or install mariadb-server-core"
        pytest.skip(missing)
    with local_mariadb(str(binary)) as server:
        yield server


@pytest.fixture
def fresh_mariadb(mariadb: MariaServer) -> Iterator[Callable[[], str]]:
    """Makes new empty databases, gone after the test."""
    yield mariadb.database
    mariadb.drop_all()
