"""The client programs of PostgreSQL, and the parts of a URL as they take them: no password in a command."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sfumato.errors import DataError


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
