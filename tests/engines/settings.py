"""Settings of sessions for small tables: few partitions, and a Java that begins at once rather than running fast after minutes."""

from __future__ import annotations

_AT_ONCE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.stream.error.file=/dev/null"
SMALL = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": _AT_ONCE,
    "spark.executor.extraJavaOptions": _AT_ONCE,
    "spark.python.daemon.module": "tests.engines.workers",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}
