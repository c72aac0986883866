"""Limits on what an untrusted file may unpack to, and on the memory that a library may take to read it.

A small file can unpack to far more than this machine holds: by compression, by a dictionary that many rows refer to, by
texts that share their beginning. Every reader asks `require_unpacked_size` with the figures it knows, and runs the
library that unpacks the file inside `memory_limit`, for what the figures do not say.

Invariants
    I1  A file of n bytes unpacks to at most ``unpacked_limit(n)`` bytes, or reading it fails with `UnpacksTooFar`.
    I2  The limit of the process is the same after `memory_limit` as before.

>>> unpacked_limit(1_000) >> 20, unpacked_limit(10_000_000) >> 20
(64, 953)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

MOST_TIMES = 100
"""How many times its own size a packed file may unpack to, once it is larger than `HARMLESS`."""
HARMLESS = 1 << 26
"""Bytes that a file may unpack to whatever its size."""
MOST_BYTES = 1 << 34
"""The most bytes that a packed file may unpack to."""
_SLACK = 1 << 27
"""Bytes that a library may take beside what it unpacks: stacks of threads, buffers."""
_STATUS = Path("/proc/self/status")
_LOCK = RLock()


class UnpacksTooFar(ValueError):
    """A file unpacks to more than `unpacked_limit` allows."""


def unpacked_limit(packed: int) -> int:
    """Return how many bytes a file of this size may unpack to."""
    return min(max(HARMLESS, MOST_TIMES * packed), MOST_BYTES)


def require_unpacked_size(unpacked: int, packed: int) -> None:
    """Raise `UnpacksTooFar` if this many bytes are more than a file of this size may unpack to."""
    if unpacked > unpacked_limit(packed):  # I1
        raise UnpacksTooFar


@contextmanager
def memory_limit(packed: int) -> Iterator[None]:
    """Raise `UnpacksTooFar` if the block takes far more memory than a file of this size may unpack to.

    The limit is one of the whole process, so blocks of several threads run one after the other. It is enforced on Linux
    alone; elsewhere the figures that readers check beforehand are the only limit."""
    if sys.platform != "linux":
        yield
        return
    import resource

    with _LOCK, system_allocator():
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = _data_bytes() + 2 * unpacked_limit(packed) + _SLACK
        bounds = [limit for limit in (soft, hard, wanted) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))
        try:
            yield
        except MemoryError:  # also Arrow's
            raise UnpacksTooFar from None
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))  # I2


@contextmanager
def system_allocator() -> Iterator[None]:
    """Let Arrow ask the system for every block: its own allocator keeps address space for later, which is counted
    before it is used, so that a limit set afterwards would not be noticed. What a reader of Arrow allocates is decided
    when it opens its file."""
    if "pyarrow" not in sys.modules:
        yield
        return
    import pyarrow as pa

    usual = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(usual)


def _data_bytes() -> int:
    """Return the private writable memory of this process."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmData:"))
    return int(line.split()[1]) << 10
