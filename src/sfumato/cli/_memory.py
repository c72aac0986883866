"""Memory that a command keeps while it runs, instead of giving it back and asking for it again.

The C library hands every large array back to the system at once, and so do Arrow's own allocators; the system clears each page
before it gives it out anew: of a million published rows that was a fifth of the time. A command ends soon, so what it has freed
it keeps for its next arrays, and Arrow asks the same place. Nothing is asked of other C libraries, and a program that uses
Sfumato as a library decides for itself. For the same reason Python looks for objects that hold each other only after half a million
new ones: while modules are loaded it looks 190 times and finds next to nothing, for a tenth of a short command's time. At the end
of a process it would look three times more, at objects that vanish with it: another tenth. Where DuckDB was used it does look, or
DuckDB complains of everything that is still there.
"""

from __future__ import annotations

from contextlib import suppress

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
"""Names of mallopt's settings (malloc.h)."""
_OBJECTS = 500_000
"""New objects after which Python looks for those that hold each other and that nobody else holds."""
_KEPT, _STEP, _LARGEST = 1 << 29, 1 << 26, 1 << 27
"""Free bytes at the end of the heap that are kept, bytes by which it grows, and arrays that are not the heap's."""


def keep_memory() -> None:
    """Let freed memory serve the next arrays, where the C library can be told so."""
    import atexit
    import ctypes
    import gc

    import pyarrow as pa

    gc.set_threshold(_OBJECTS, 5, 5)
    atexit.unregister(_look_no_more)  # once, however many commands one process runs
    atexit.register(_look_no_more)
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError, TypeError):
        tell = ctypes.CDLL(None).mallopt
        for setting, value in ((_MMAP_THRESHOLD, _LARGEST), (_TRIM_THRESHOLD, _KEPT), (_TOP_PAD, _STEP), (_ARENA_MAX, 1)):
            tell(setting, value)


def _look_no_more() -> None:
    """At the end of a process: what is there is not looked through."""
    import gc
    import sys

    if "_duckdb" not in sys.modules:
        gc.freeze()
