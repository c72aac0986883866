"""Settings of sessions for small tables: few partitions, and a Java that begins at once rather than running fast after
minutes."""

from __future__ import annotations

import sys
from pathlib import Path

ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
"""Java's classes as they are after loading, where somebody has made it (`class_archive.py`)."""
_AS_IT_IS = "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0"
"""The archive where it was written for; else Java moves all of it to another place first."""
_MAPPED = f" -XX:SharedArchiveFile={ARCHIVE} -Xshare:auto -Xlog:disable {_AS_IT_IS}" if ARCHIVE.exists() else ""
_ROOM = "-XX:NewSize=300m -XX:MetaspaceSize=256m -XX:ReservedCodeCacheSize=256m"
"""For what comes and goes, for classes, and for compiled code, of which Java else throws away what a long session needs
again."""
_AT_ONCE = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {_ROOM} -Dderby.stream.error.file=/dev/null{_MAPPED}"
SMALL = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": _AT_ONCE,
    "spark.executor.extraJavaOptions": _AT_ONCE,
    "spark.python.daemon.module": "tests.engines.workers",
    # every task is sent in blocks of this size, and every sort begins with a page of that one
    "spark.broadcast.blockSize": "64k",
    "spark.buffer.pageSize": "1m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.lightweightPlanChangeValidation": "false",
}
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Without compiling every query first, which takes longer than running it once; the cluster of real processes compiles
them."""
HIVE = {
    "spark.sql.catalogImplementation": "hive",
    "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
}
"""Tables with a metastore, which begins when somebody asks for a table."""
MASTER = "local-cluster[2,1,1024]"
TROUBLED = {
    "spark.executor.memory": "1g",
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.3",
}
