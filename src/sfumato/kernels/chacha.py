"""Random choices inside kernels: the ChaCha20 stream, keyed by 256 bits drawn from `Randomness`.

Walks need hundreds of millions of choices; a kernel cannot call back for each. It expands a key instead, with a cipher whose
output nobody can predict without the key.

Paper
    RFC 8439, section 2.3 (the block function; here with a 64-bit block counter and a nonce of zeros).
Invariants
    I1  `below` is exactly uniform: multiply-and-shift with rejection of the few words that would favour small results.

>>> stream = open_stream(bytes(32))
>>> [int(below(stream, 6)) for _ in range(5)] == [plain_below(words, 6) for words in [plain_words(bytes(32))] for _ in range(5)]
True
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import jit

_CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")
_USED = 32
_MASK = 0xFFFFFFFF


def open_stream(key: bytes) -> NDArray[np.uint32]:
    """Sixteen words of state, sixteen of output, and how many of these are used up."""
    stream = np.zeros(33, dtype=np.uint32)
    stream[0:4] = _CONSTANTS
    stream[4:12] = struct.unpack("<8I", key)
    stream[_USED] = 16
    return stream


@jit
def _quarter(x: NDArray[np.uint32], a: int, b: int, c: int, d: int) -> None:
    x[a] += x[b]
    x[d] ^= x[a]
    x[d] = (x[d] << np.uint32(16)) | (x[d] >> np.uint32(16))
    x[c] += x[d]
    x[b] ^= x[c]
    x[b] = (x[b] << np.uint32(12)) | (x[b] >> np.uint32(20))
    x[a] += x[b]
    x[d] ^= x[a]
    x[d] = (x[d] << np.uint32(8)) | (x[d] >> np.uint32(24))
    x[c] += x[d]
    x[b] ^= x[c]
    x[b] = (x[b] << np.uint32(7)) | (x[b] >> np.uint32(25))


@jit
def _refill(stream: NDArray[np.uint32]) -> None:
    x = stream[16:32]
    x[:] = stream[0:16]
    for _ in range(10):
        _quarter(x, 0, 4, 8, 12)
        _quarter(x, 1, 5, 9, 13)
        _quarter(x, 2, 6, 10, 14)
        _quarter(x, 3, 7, 11, 15)
        _quarter(x, 0, 5, 10, 15)
        _quarter(x, 1, 6, 11, 12)
        _quarter(x, 2, 7, 8, 13)
        _quarter(x, 3, 4, 9, 14)
    for i in range(16):
        x[i] += stream[i]
    stream[12] += np.uint32(1)
    if stream[12] == 0:
        stream[13] += np.uint32(1)
    stream[32] = 0


@jit
def word(stream: NDArray[np.uint32]) -> np.uint64:
    """The next 32 random bits."""
    if stream[32] == 16:
        _refill(stream)
    stream[32] += np.uint32(1)
    return np.uint64(stream[15 + stream[32]])


@jit
def below(stream: NDArray[np.uint32], bound: int) -> int:
    """Uniform on 0 … bound − 1, bound ≤ 2³¹."""
    size = np.uint64(bound)
    product = word(stream) * size
    if (product & np.uint64(0xFFFFFFFF)) < size:
        unfair = (np.uint64(1 << 32) - size) % size
        while (product & np.uint64(0xFFFFFFFF)) < unfair:  # I1
            product = word(stream) * size
    return int(np.int64(product >> np.uint64(32)))


def plain_words(key: bytes) -> Iterator[int]:
    """The same stream in plain arithmetic."""
    counter = 0
    while True:
        yield from _plain_block([*_CONSTANTS, *struct.unpack("<8I", key), counter & _MASK, counter >> 32, 0, 0])
        counter += 1


def _plain_block(state: list[int]) -> list[int]:
    x = list(state)
    columns = [(i, i + 4, i + 8, i + 12) for i in range(4)]
    diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    for a, b, c, d in (columns + diagonals) * 10:
        for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & _MASK
            mixed = x[r] ^ x[p]
            x[r] = (mixed << turn | mixed >> 32 - turn) & _MASK
    return [(new + old) & _MASK for new, old in zip(x, state, strict=True)]


def plain_below(words: Iterator[int], bound: int) -> int:
    """`below` in plain arithmetic."""
    unfair = ((1 << 32) - bound) % bound
    while True:
        product = next(words) * bound
        if product & _MASK >= unfair:
            return product >> 32
