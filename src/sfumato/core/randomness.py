"""The one source of chance: cryptographic by default, repeatable when a seed is given.

Everything that decides what is published (row order, new labels, noise, random choices) draws from here. Without a seed
the bytes come from the operating system. With a seed they come from SHAKE-256 over the seed and a stream name, so a
test can repeat a run; the seed then opens the release and belongs to the private provenance, never to the release
folder. A seed that a person could try out (below 2¹²⁷, that is with fewer than 128 bits) makes a release that says so:
not for publication.

Invariants
    I1  `reduce_to_bounds` is exactly uniform: a word above the last whole round of the bound is drawn again, and no
        other.
    All draws
        below a bound go through it.
    I2  `child(name)` gives an independent stream that depends only on the seed and the names, so parallel work does
        not depend on the number of workers.

>>> a, b = Randomness(seed=7), Randomness(seed=7)
>>> bool((a.permutation(10) == b.permutation(10)).all())
True
"""

from __future__ import annotations

import builtins
import hashlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_BLOCK, _FIRST, _GROWTH = 1 << 16, 1 << 9, 8
"""Bytes of a block, how many of them are made at first, and how many times as many when these do not last."""

SECRET_BITS = 128
"""Bits of a seed that nobody can try out."""

Again = Callable[[NDArray[np.bool_], int], NDArray[Any]]
"""New words for the marked places; the second argument counts the turns from 1."""


def reduce_to_bounds(words: NDArray[Any], bounds: ArrayLike, again: Again) -> NDArray[np.int64]:
    """Uniform words of any unsigned type as uniform integers 0 … bound − 1, with one bound for all or one for each.

    >>> reduce_to_bounds(np.array([7, 250, 255], np.uint8), 10, lambda late, turn: np.array([13], np.uint8)).tolist()
    [7, 3, 3]
    """
    kept, most = words.copy(), int(np.iinfo(words.dtype).max)
    below = np.asarray(bounds)
    if ((below < 1) | (below > most)).any():
        raise ValueError("a bound is a positive number that a word can hold")
    below = below.astype(words.dtype)
    left_over = (most % below + 1) % below  # the number of different words, modulo the bound
    turn = 1
    while (late := kept > most - left_over).any():  # I1
        kept[late] = again(late, turn)
        turn += 1
    return np.asarray(kept % below, dtype=np.int64)


def is_guessable(seed: int | None) -> bool:
    """Whether all seeds up to this one could be tried out; no seed at all means that chance comes from the operating
    system.

    >>> is_guessable(42), is_guessable(2**127), is_guessable(None)
    (True, False, False)
    """
    return seed is not None and abs(seed).bit_length() < SECRET_BITS


def read_seed(text: str) -> int:
    """A seed as people write it: a whole number, or at least 32 hexadecimal digits, each of which counts, leading zeros
    too.

    >>> read_seed("42"), is_guessable(read_seed("0x" + "00" * 16)), is_guessable(read_seed("0xff"))
    (42, False, True)
    """
    plain = text.strip().lower()
    digits = plain.removeprefix("0x")
    if (
        len(digits) * 4 >= SECRET_BITS
        and set(digits) <= set("0123456789abcdef")
        and (plain != digits or not plain.isdecimal())
    ):
        return int("1" + digits, 16)
    return int(plain, 16 if plain != digits else 10)


class Randomness:
    """A stream of unpredictable bytes with the few draws the methods need."""

    def __init__(self, seed: int | None = None, *, _path: tuple[str, ...] = ()) -> None:
        self.seed = seed
        self._path = _path
        self._counter = 0
        self._rest = b""
        """What is left of the blocks before the open one."""
        self._open = hashlib.shake_256()
        self._size = self._at = 0
        """Bytes of the open block, and how many of them are drawn."""
        self._made = b""
        """A beginning of the open block; most streams end before it does."""

    def child(self, name: str | int) -> Randomness:
        """An independent stream named `name`."""
        return Randomness(self.seed, _path=(*self._path, str(name)))  # I2

    def under(self, seed: int) -> Randomness:
        """The stream of this name under another seed."""
        return Randomness(seed, _path=self._path)

    def bytes(self, count: int) -> bytes:
        if self.seed is None:
            return os.urandom(count)
        while (left := len(self._rest) + self._size - self._at) < count:
            self._rest = self._draw(left)
            self._begin(max(_BLOCK, count - left))
        return self._draw(count)

    def _begin(self, size: int) -> None:
        """The next block of the stream."""
        name = repr((self.seed, self._path, self._counter)).encode()
        self._counter += 1
        self._open, self._size, self._at, self._made = hashlib.shake_256(b"sfumato\0" + name), size, 0, b""

    def _draw(self, count: int) -> builtins.bytes:
        """The next bytes, all of which are in the rest and the open block; a longer digest begins with the shorter
        one."""
        drawn, self._rest = self._rest[:count], self._rest[count:]
        begin, end = self._at, self._at + count - len(drawn)
        if end > len(self._made):
            self._made = self._open.digest(min(self._size, max(end, _FIRST, _GROWTH * len(self._made))))
        self._at = end
        return drawn + self._made[begin:end]

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` uniform 64-bit words."""
        return np.frombuffer(self.bytes(8 * count), dtype="<u8").astype(np.uint64)

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Uniform floats in [0, 1) with 53 random bits."""
        return (self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, bound: int, count: int) -> NDArray[np.int64]:
        """`count` integers, each uniform on 0 … bound − 1 (bound ≤ 2⁶²)."""
        if not 1 <= bound <= 1 << 62:
            raise ValueError("bound must lie in 1 … 2**62")
        return reduce_to_bounds(self.words(count), bound, self._again)

    def below(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """An integer for each bound, uniform on 0 … bound − 1."""
        return reduce_to_bounds(self.words(len(bounds)), bounds, self._again)

    def _again(self, late: NDArray[np.bool_], _turn: int) -> NDArray[np.uint64]:
        return self.words(int(late.sum()))

    def integer(self, bound: int) -> int:
        return int(self.integers(bound, 1)[0])

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A uniform permutation of 0 … count − 1: sort by random words, again where two words agree."""
        while True:
            keys = self.words(count)
            order = np.argsort(keys)
            keys = keys[order]
            if not (keys[1:] == keys[:-1]).any():
                return order.astype(np.int64, copy=False)

    def generator(self) -> np.random.Generator:
        """A fast generator for *search* (tie-breaks, restarts, test workloads), never for what is published."""
        return np.random.default_rng(np.frombuffer(self.bytes(32), dtype="<u4").copy())

    def __reduce__(self) -> Any:
        raise TypeError("randomness is not pickled; send a child seed instead")
