r"""A dump of `pg_dump` as a source: it is restored into an empty database that the URL names, once, and read from
there.

    postgresql://user@host/scratch?restore=/path/to/shop.dump

A plain dump is carried out statement by statement and COPY by COPY in one transaction; everything else goes through
`pg_restore`, in one transaction, too. A digest of the file is stored in the scratch database, so that the next command
reads without restoring. Another file, or a database with other content, is refused.

A plain dump is a program. Lines for the terminal program (``\!`` would start a shell) are refused, but its statements
run with the rights of the user of the URL: restore what you do not trust into a server that holds nothing else.


Programs
--------
The client programs of PostgreSQL, and the parts of a URL as they take them: no password in a command.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.core.errors import DataError
from sfumato.io.sql.addresses import address_of
from sfumato.io.sql.server_errors import plain_server_errors

RESTORED = "_sfumato_restored"
_SECTION = 64 << 20
"""Most bytes of statements between two COPYs."""
_COPY = re.compile(rb"COPY .* FROM stdin;\s*\Z")
_HARMLESS = (b"\\restrict ", b"\\unrestrict ", b"\\connect ")
_HELD = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"""


def dump_of(url: str) -> Path | None:
    """The file behind `?restore=`, if the URL has one."""
    found = address_of(url).query.get("restore")
    return Path(found if isinstance(found, str) else found[-1]) if found else None


def restore(raw: Any, url: str, path: Path) -> None:
    """Fills an empty database from a dump, unless it holds that very dump already; `raw` is a writing connection."""
    if not path.exists():
        raise DataError("the dump does not exist", where=path.name, hint="check the path after restore=")
    digest = _digest(path)
    if raw.execute("SELECT to_regclass(%s)", (f"public.{RESTORED}",)).fetchone()[0] is not None:
        if raw.execute(f"SELECT sha256 FROM public.{RESTORED}").fetchone() != (digest,):
            raise DataError("the scratch database holds another dump", where=path.name, hint="give an empty database")
        return
    if raw.execute(_HELD).fetchone()[0]:
        raise DataError(
            "the scratch database is not empty", where=path.name, hint="a dump is restored into an empty database only"
        )
    with plain_server_errors("restoring the dump"):
        if _is_plain(path):
            _carry_out(raw, path, digest)
        else:
            _through_program(url, path)
            _mark(raw, digest)


def _mark(raw: Any, digest: str) -> None:
    raw.execute(f"CREATE TABLE public.{RESTORED} (sha256 text)")
    raw.execute(f"INSERT INTO public.{RESTORED} VALUES (%s)", (digest,))


def _digest(path: Path) -> str:
    """Of the file as it is now."""
    stands = path.stat()
    return _digest_of(path, stands.st_mtime_ns, stands.st_size)


@lru_cache(maxsize=8)
def _digest_of(path: Path, _changed: int, _size: int) -> str:
    """Of a file, or of all files of a folder with their names."""
    found = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            found.update(file.name.encode() + b"\0")
            with file.open("rb") as source:
                found.update(hashlib.file_digest(source, "sha256").digest())
    return found.hexdigest()


def _is_plain(path: Path) -> bool:
    if path.is_dir():
        return False
    with path.open("rb") as source:
        head = source.read(2048)
    if head.startswith(b"PGDMP") or head[257:262] == b"ustar":
        return False
    if b"PostgreSQL database dump" not in head:
        raise DataError(
            "the file is no dump of pg_dump", where=path.name, hint="make one with: pg_dump --format=custom"
        )
    return True


def _carry_out(raw: Any, path: Path, digest: str) -> None:
    """Statements and COPYs of a plain dump, with the mark, all or nothing."""
    with path.open("rb") as source, raw.transaction():
        for statements in _sections(source, path.name):
            if not _COPY.search(statements):
                raw.execute(statements)
                continue
            with raw.cursor().copy(statements) as copy:
                for line in _rows(source, path.name):
                    copy.write(line)
        raw.execute("SET LOCAL search_path = pg_catalog, public")
        _mark(raw, digest)


def _sections(source: BinaryIO, name: str) -> Iterator[bytes]:
    """What stands between COPYs, and each COPY by itself."""
    held = bytearray()
    for line in iter(source.readline, b""):
        if line.startswith(b"\\"):
            if not line.startswith(_HARMLESS):
                raise DataError(
                    "the dump holds a command for the terminal program", where=name, hint="make it with pg_dump"
                )
            continue
        if _COPY.match(line):
            if held.strip():
                yield bytes(held)
            held = bytearray()
            yield line.rstrip()
            continue
        held += line
        if len(held) > _SECTION:
            raise DataError(
                "the dump has too many statements in one piece", where=name, hint="dump rows with COPY, not as INSERT"
            )
    if held.strip():
        yield bytes(held)


def _rows(source: BinaryIO, name: str) -> Iterator[bytes]:
    for line in iter(source.readline, b""):
        if line.rstrip(b"\r\n") == b"\\.":
            return
        yield line
    raise DataError("the dump ends in the middle of a table", where=name, hint="make it again")


def _through_program(url: str, path: Path) -> None:
    """`pg_restore` into the database of the URL; its complaints may hold values and are not repeated."""
    address = address_of(url)
    options = [
        "--no-owner",
        "--no-privileges",
        "--exit-on-error",
        "--single-transaction",
        f"--dbname={address.database}",
    ]
    command = [program("pg_restore"), *options, "--", os.fspath(path)]
    try:
        done = subprocess.run(command, env={**os.environ, **environment_of(address)}, capture_output=True, check=False)  # noqa: S603
    except OSError:
        raise DataError("the dump could not be restored", where=path.name, hint="check that pg_restore runs") from None
    if done.returncode != 0:
        newer = b"unsupported version" in done.stderr
        hint = (
            "install the client programs of the version that made it"
            if newer
            else "check the dump and the extensions it needs"
        )
        raise DataError("the dump could not be restored", where=path.name, hint=hint)


# Programs
# --------


def program(name: str) -> str:
    """The newest installed program of PostgreSQL with this name."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True):
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    if found is None:
        raise DataError(f"the program {name} is not installed", hint="install the client programs of PostgreSQL")
    return found


def _version(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdigit() else 0


def environment_of(address: Any) -> dict[str, str]:
    """The parts of a URL as the programs of PostgreSQL take them."""
    query = {key: value if isinstance(value, str) else value[-1] for key, value in address.query.items()}
    found = {"PGDATABASE": address.database, "PGHOST": address.host or query.get("host"), "PGUSER": address.username}
    found |= {"PGPORT": str(address.port) if address.port else query.get("port"), "PGPASSWORD": address.password}
    found |= {"PGSSLMODE": query.get("sslmode"), "PGOPTIONS": "-c row_security=off", "PGCLIENTENCODING": "UTF8"}
    return {key: str(value) for key, value in found.items() if value}
