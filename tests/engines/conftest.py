"""One Spark session for all tests of this folder, which run in one process (`tests/conftest.py`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engines.settings import SMALL

WITHOUT_JAVA = "Spark needs Java 17, which is not on this machine"


def require_java() -> None:
    pytest.importorskip("pyspark", reason="the extra sfumato[spark] is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip(WITHOUT_JAVA)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    require_java()
    from sfumato.engines.spark_session import start

    session = start("local[2,4]", **SMALL)
    yield session
    session.stop()
