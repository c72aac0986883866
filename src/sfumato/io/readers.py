"""Bytes for Arrow's readers, in memory of its own.

A buffer that belongs to Python is given back under the interpreter's lock. Arrow reads ahead in threads of its own; one that lets
go of the last piece of such a buffer while the process ends waits for a lock that is no longer there, and the process is aborted
after it had said everything (exit code 134, seen once on a busy machine). A copy costs one more reading of the bytes.

>>> reader_of(b"a,b").read()
b'a,b'
"""

from __future__ import annotations

import pyarrow as pa


def reader_of(content: bytes | bytearray) -> pa.BufferReader:
    """A reader of a copy that no Python object owns."""
    memory = pa.allocate_buffer(len(content))
    if len(content):
        pa.FixedSizeBufferWriter(memory).write(content)
    return pa.BufferReader(memory)
