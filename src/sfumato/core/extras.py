"""What is installed only when it is asked for: which extra brings which package, and the sentence that says so.

The core makes and checks releases of tables, baskets and graphs. What only some need (a solver, database drivers,
frames of other libraries) is an extra; a command that needs one that is not there ends with one line that names the
command to install it.

>>> EXTRAS["ortools"]
'rules'
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sfumato.core.errors import MissingExtra

EXTRAS = {
    "ortools": "rules",
    "sqlalchemy": "sql",
    "psycopg": "sql",
    "sqlglot": "sql",
    "duckdb": "duckdb",
    "pymysql": "mariadb",
    "numba": "compiler",
    "faker": "fakes",
    "sklearn": "sklearn",
    "starlette": "studio",
    "uvicorn": "studio",
    "python_calamine": "excel",
    "pyreadstat": "statistics",
    "pyspark": "spark",
    "networkx": "",
    "polars": "",
    "pandas": "",
}
"""Package → the extra of `pyproject.toml` that brings it; "" for libraries whose objects are made where they are
installed."""


def available(package: str) -> bool:
    """Whether a package can be imported, without importing it."""
    return find_spec(package) is not None


def require(package: str, purpose: str) -> None:
    """Refuse in one line when the package of an extra is missing.

    >>> require("json", "reading JSON")
    """
    if not available(package):
        raise missing(package, purpose)


def missing(package: str, purpose: str) -> MissingExtra:
    """The error that names the command which installs what is missing."""
    extra = EXTRAS.get(package, package)
    command = f"pip install 'sfumato[{extra}]'" if extra else f"pip install {package}"
    return MissingExtra(f"{purpose} needs the package {package}", hint=f"install it with: {command}")


def bring(package: str, purpose: str) -> Any:
    """The package, imported, or the refusal that names its extra."""
    require(package, purpose)
    return import_module(package)
