"""One table of a database, through SQLAlchemy. The source is only read.

Any dialect that SQLAlchemy finds a driver for will do here: one table needs no more than its columns and its rows. Whole databases
need much that `sqlalchemy.inspect` does not see or not inside our snapshot (sequences, domains, keys that were never validated,
conditions as they are written), and ask the servers themselves.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.extras import require
from sfumato.io.sql.address import address_of
from sfumato.io.sql.trouble import connecting

_URL = re.compile(r"^[a-z][a-z0-9+_]*://", re.IGNORECASE)


def is_url(source: str) -> bool:
    """Whether the text is an SQLAlchemy URL rather than a path.

    >>> is_url("sqlite:///people.db"), is_url("people.csv")
    (True, False)
    """
    return bool(_URL.match(source))


def read_sql(url: str, table: str) -> pa.Table:
    """All rows of one table; the message of an error never carries the URL, which may hold a password."""
    require("sqlalchemy", "reading databases")
    import sqlalchemy as sa

    if not table:
        raise DataError("an SQL source needs the name of a table", hint="add 'table: NAME' under data")
    try:
        engine = sa.create_engine(_with_driver(url), poolclass=sa.NullPool)
        with engine.connect() as connection:
            columns = [column["name"] for column in sa.inspect(connection).get_columns(table)]
            query: Any = sa.select(*(sa.column(name) for name in columns)).select_from(sa.table(table))
            rows = connection.execute(query).fetchall()
    except sa.exc.NoSuchTableError:
        raise DataError(f"the database has no table '{table}'", hint="check the name under data.table") from None
    except sa.exc.OperationalError as error:
        raise connecting(error) from None
    except (sa.exc.SQLAlchemyError, ImportError) as error:
        raise DataError(f"cannot read the database: {type(error).__name__}", hint="check the URL and the rights") from None
    if not rows:
        raise DataError(f"table '{table}' has no rows", hint="give a table with at least one record")
    return _columns(columns, list(zip(*rows, strict=True)))


def _with_driver(url: str) -> Any:
    """PostgreSQL through the driver we bring; a SQLite file that is not there is not made."""
    address = address_of(url)
    if address.get_backend_name() in ("postgresql", "postgres"):
        return address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite" and address.database and not Path(address.database).exists():
        raise DataError("the file of the SQLite database does not exist", hint="check the path after sqlite:///")
    return address


def _columns(names: list[str], values: list[tuple[object, ...]]) -> pa.Table:
    arrays = []
    for column in values:
        try:
            arrays.append(pa.array(column))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays.append(pa.array([None if value is None else str(value) for value in column], pa.string()))
    return pa.table(dict(zip(names, arrays, strict=True)))
