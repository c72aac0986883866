"""A cryptographic stream inside compiled loops: ChaCha20, keyed by `Randomness`.

Walks draw hundreds of millions of numbers, and a kernel cannot call back for each. What is published must still be
unpredictable, so the loop carries its own stream cipher: 32 secret bytes from `Randomness` are the key, the number of
the independent part is the nonce, and nobody without the key can tell the draws from chance.

Paper
    D. J. Bernstein, "ChaCha, a variant of Salsa20" (2008); the words of the block function as in RFC 8439.

Notation
    A stream is an array of 33 words: 16 of state, 16 of the current block, 1 position in the block.

Invariants
    I1  A stream depends only on key and nonce, so the answer does not depend on how parts are spread over workers.
    I2  No block is used twice: the counter has 64 bits and moves on with every block.
    I3  `below` is exactly uniform: multiply-and-shift with rejection of the few words that would favour small results.

Cost
    About 10 ns a draw.

>>> import numpy as np
>>> stream = open_stream(np.zeros(8, np.uint32), 7)
>>> 0.0 <= next_uniform(stream) < 1.0
True
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.core.compiled import jit

Words = NDArray[np.uint32]

ROUNDS = 20
_POSITION = 32


@jit
def _rotate(word: np.uint32, count: int) -> np.uint32:
    return np.uint32(np.uint32(word << np.uint32(count)) | np.uint32(word >> np.uint32(32 - count)))


@jit
def _quarter(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    a = np.uint32(a + b)
    d = _rotate(d ^ a, 16)
    c = np.uint32(c + d)
    b = _rotate(b ^ c, 12)
    a = np.uint32(a + b)
    d = _rotate(d ^ a, 8)
    c = np.uint32(c + d)
    b = _rotate(b ^ c, 7)
    return a, b, c, d


@jit
def next_block(stream: Words, rounds: int) -> None:
    """Fill the block from the state and move the counter on."""
    x0, x1, x2, x3 = stream[0], stream[1], stream[2], stream[3]
    x4, x5, x6, x7 = stream[4], stream[5], stream[6], stream[7]
    x8, x9, x10, x11 = stream[8], stream[9], stream[10], stream[11]
    x12, x13, x14, x15 = stream[12], stream[13], stream[14], stream[15]
    for _ in range(rounds // 2):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    mixed = (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15)
    for index in range(16):
        stream[16 + index] = np.uint32(mixed[index] + stream[index])
    stream[12] = np.uint32(stream[12] + np.uint32(1))  # I2
    if stream[12] == 0:
        stream[13] = np.uint32(stream[13] + np.uint32(1))
    stream[_POSITION] = 0


@jit
def open_stream(key: Words, nonce: int) -> Words:
    """The stream of `key` (eight words) that belongs to `nonce`."""
    stream = np.zeros(33, np.uint32)
    stream[0], stream[1], stream[2], stream[3] = 0x61707865, 0x3320646E, 0x79622D32, 0x6B206574
    stream[4:12] = key
    stream[14] = np.uint32(nonce & 0xFFFFFFFF)  # I1
    stream[15] = np.uint32((nonce >> 32) & 0xFFFFFFFF)
    stream[_POSITION] = 16
    return stream


@jit
def next_word(stream: Words) -> np.uint64:
    """The next 32 random bits."""
    if stream[_POSITION] >= 16:
        next_block(stream, ROUNDS)
    stream[_POSITION] += np.uint32(1)
    return np.uint64(stream[15 + stream[_POSITION]])


@jit
def next_uniform(stream: Words) -> float:
    """A uniform number in [0, 1) with 53 random bits."""
    high, low = next_word(stream), next_word(stream)
    return float(((high << np.uint64(21)) | (low >> np.uint64(11))) * 2.0**-53)


@jit
def below(stream: Words, bound: int) -> int:
    """Uniform on 0 … bound − 1, bound ≤ 2³¹."""
    size = np.uint64(bound)
    product = next_word(stream) * size
    if (product & np.uint64(0xFFFFFFFF)) < size:
        unfair = (np.uint64(1 << 32) - size) % size
        while (product & np.uint64(0xFFFFFFFF)) < unfair:  # I3
            product = next_word(stream) * size
    return int(np.int64(product >> np.uint64(32)))


def key_words(key: bytes) -> Words:
    """Thirty-two secret bytes as the eight words of a key."""
    return np.frombuffer(key, dtype="<u4").astype(np.uint32)


def plain_words(key: bytes, nonce: int = 0) -> Iterator[int]:
    """The stream in plain integers, the twin that tests compare with."""
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *(int(word) for word in key_words(key))]
    for counter in itertools.count():
        place = [counter % 2**32, counter >> 32, nonce % 2**32, nonce >> 32]
        yield from plain_block([*start, *place])


def plain_below(words: Iterator[int], bound: int) -> int:
    """`below` in plain integers."""
    unfair = (2**32 - bound) % bound
    while True:
        product = next(words) * bound
        if product % 2**32 >= unfair:
            return product >> 32


def plain_block(state: list[int], rounds: int = ROUNDS) -> list[int]:
    """The block function in plain integers, the twin that tests compare with."""
    x = list(state)
    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(rounds // 2):
        for where in columns + diagonals:
            _plain_quarter(x, *where)
    return [(mixed + start) % 2**32 for mixed, start in zip(x, state, strict=True)]


def _plain_quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for first, second, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[first] = (x[first] + x[second]) % 2**32
        turned = x[third] ^ x[first]
        x[third] = ((turned << turn) | (turned >> (32 - turn))) % 2**32
