"""The process that Spark's Python workers are forked from, with their libraries loaded once rather than by every
worker.

Before each task a worker asks Python to forget where modules lie, and Python then reads the list of Spark's own archive
once for every package in it: a third of a second. The archive does not change while tests run. After each task it looks
through all that is loaded for garbage, as long as a small task takes; libraries are there to stay, and are not looked
through."""

import gc
from zipimport import zipimporter

import pandas  # noqa: F401
import pyarrow.dataset
import pyarrow.parquet  # noqa: F401
import pyspark.sql.pandas.serializers
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import sfumato.engines.spark.rows  # noqa: F401
import tests.engines.troubled  # noqa: F401


def _remember(archive: zipimporter) -> None:
    """What is in an archive stays known."""


if __name__ == "__main__":
    zipimporter.invalidate_caches = _remember  # type: ignore[method-assign]
    gc.freeze()
    manager()
