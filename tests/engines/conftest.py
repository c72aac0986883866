"""One Spark session for all tests of this folder, in one process, and the tables that they publish."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WITHOUT_JAVA = "Spark needs Java 17, which is not on this machine"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A session is dear: whoever runs tests in several processes runs these in one (``--dist loadgroup``)."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


def require_java() -> None:
    pytest.importorskip("pyspark", reason="the extra sfumato[spark] is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip(WITHOUT_JAVA)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    require_java()
    from sfumato.engines.spark import start

    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
    session = start("local[2,4]", **settings)
    yield session
    session.stop()
