"""The session in which everything on a cluster runs: the one that is there, that `spark-submit` brings, or one of our
own.


Spark plainly
-------------
Errors of the cluster in our own words.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from sfumato.core.errors import PlaceError, SfumatoError
from sfumato.core.extras import require

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where spark-submit started this process."""
_MAPPED_FROM, _TRIMMED_FROM, _ARENAS = -3, -1, -8
"""Options of glibc's mallopt: sizes from which memory is mapped by itself, and from which free memory is given back;
and how many heaps there are, of which every thread that waits for the cluster would else have one of its own."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.debug.maxToStringFields": "0",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.log.level": "ERROR",
}


def start(master: str | None = None, **settings: str) -> Any:
    """A session: the one that is there already or that `spark-submit` brings, else one of our own."""
    require("pyspark", "the Spark engine")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise PlaceError("the Spark engine needs Java", hint="install Java 17 and set JAVA_HOME, or use --engine local")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    give_back()
    builder = SparkSession.builder.appName("sfumato")
    if master is not None or _SUBMITTED not in os.environ:
        builder = builder.master(master or "local[*]")
    for name, value in (_SETTINGS | settings).items():
        builder = builder.config(name, value)
    try:
        return remembering(builder.getOrCreate())
    except Exception as error:
        where = master or "local[*]"
        raise PlaceError(
            f"no Spark session can be had ({type(error).__name__})", where=where, hint="look at --master"
        ) from None


def remembering(session: Any) -> Any:
    """A session that knows the classes of Java behind every column; else Java looks through all its archives each
    time."""
    for name in ("PythonUtils", "functions", "org.apache.spark.sql.functions"):
        setattr(session._jvm, name, getattr(session._jvm, name))
    return session


def give_back() -> None:
    """From now on this process gives the memory of large arrays back when it is done with them: it holds little beside
    classes.

    Where the C library is not glibc it may keep more.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError, TypeError):
        # what a method cuts into parts is mostly smaller than a megabyte, and would lie idle between arrays that are in
        # use
        for option, value in ((_MAPPED_FROM, 1 << 16), (_TRIMMED_FROM, 1 << 17), (_ARENAS, 1)):
            ctypes.CDLL(None).mallopt(option, value)


# Spark plainly
# -------------


@contextmanager
def plain_cluster_errors(what: str) -> Iterator[None]:
    """Errors of the cluster in our own words: theirs may carry values of people."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        hint = "the log of the driver says more; it may hold values of people"
        raise SfumatoError(f"the cluster could not {what} ({type(error).__name__})", hint=hint) from None
