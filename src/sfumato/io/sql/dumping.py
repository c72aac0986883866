"""A database's schema as PostgreSQL's own `pg_dump` writes it, carried out in a session; no shell, no password in a command."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

from sfumato.errors import DataError
from sfumato.io.sql.address import address_of
from sfumato.io.sql.link import SPELLING, Session
from sfumato.io.sql.programs import environment_of, program

_LIMIT = 64 << 20
"""Largest text of a schema."""


@dataclass(frozen=True)
class Dump:
    """The schema of a source, in two sections: what is needed before rows come, and what is made of them."""

    source: str
    grants: bool = False

    def run(self, link: Session, section: str) -> None:
        """All statements of a section, inside the session's transaction; the session speaks as before afterwards."""
        path = link.rows("SELECT current_setting('search_path')")[0][0]
        link.run(self.text(section))
        link.run("SELECT set_config('search_path', %s, false)", path)
        for setting, value in SPELLING.items():
            link.run("SELECT set_config(%s, %s, false)", setting, value)
        link.run("SET statement_timeout = 0")

    def text(self, section: str) -> str:
        """The statements; lines for the terminal program are left out."""
        given = ["--schema-only", f"--section={section}", "--no-owner", *([] if self.grants else ["--no-privileges"])]
        text = dumped([program("pg_dump"), *given], self.source)
        lines = (line for line in text.splitlines() if not line.startswith("\\"))
        return "\n".join(line for line in lines if line != "CREATE SCHEMA public;")


def dumped(command: list[str], source: str) -> str:
    """What a program writes about a database; its complaints may hold addresses and are not repeated."""
    address = address_of(source)
    environment = {**os.environ, **environment_of(address)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=600, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        raise DataError("the schema of the source could not be dumped", hint="check that pg_dump runs") from None
    if done.returncode != 0 or len(done.stdout) > _LIMIT:
        newer = b"server version" in done.stderr
        hint = "install the client programs of the server's version" if newer else "check the rights of the user on the source"
        raise DataError("the schema of the source could not be dumped", hint=hint)
    return done.stdout.decode("utf-8")
