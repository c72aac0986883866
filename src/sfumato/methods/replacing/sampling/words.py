"""All texts of a pattern, numbered: how many there are, and the text of any number, for a million numbers at once.

Notation
    count[i][s]   the number of accepted texts that can still be read in exactly i more characters from state s
    rank          position of a text when texts are ordered by length, then by the order of edges, then of characters

Invariants
    I1  The characters on one edge lead to the same state, so they have equal counts and a division finds the character.
    I2  rank ↦ text is a bijection from 0 … size − 1 onto the accepted texts: deterministic automaton, one path per text.

Cost: one division per character; about a second per million texts of ten characters.

>>> texts = Words(automaton(["0[12]x?"]))
>>> texts.size, texts.texts(np.arange(4)).tolist()
(4, ['01', '02', '01x', '02x'])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.errors import PolicyError
from sfumato.methods.replacing.sampling.patterns import Automaton, State, automaton

_MOST_STATES = 20_000
__all__ = ["Words", "automaton"]


@dataclass(frozen=True)
class _Edge:
    signs: NDArray[np.uint8]
    after: int


class Words:
    """The texts of a pattern with at most `longest` characters."""

    def __init__(self, machine: Automaton, longest: int = 64) -> None:
        self.longest = longest
        self._edges: list[list[_Edge]] = []
        self._accepting: list[bool] = []
        self._explore(machine)
        self._count = self._counts()
        self._by_length = [self._count[length][0] for length in range(longest + 1)]
        self.size = sum(self._by_length)

    def _explore(self, machine: Automaton) -> None:
        """Breadth first; states from which the first pattern cannot go on are dead ends and cost nothing."""
        known: dict[State, int] = {machine.start: 0}
        queue = [machine.start]
        for state in queue:
            edges = []
            for after, signs in machine.edges(state).items():  # I2: no sign is on two edges
                if not after[0]:
                    continue
                if after not in known:
                    known[after] = len(known)
                    queue.append(after)
                edges.append(_Edge(np.frombuffer(signs.encode("latin-1"), np.uint8), known[after]))
            self._edges.append(edges)
            self._accepting.append(machine.accepts(state))
            if len(known) > _MOST_STATES:
                raise PolicyError("the pattern is too involved", hint="simplify it or split the column")

    def _counts(self) -> list[list[int]]:
        counts = [[int(accepts) for accepts in self._accepting]]
        for _ in range(self.longest):
            before = counts[-1]
            counts.append([sum(len(edge.signs) * before[edge.after] for edge in edges) for edges in self._edges])
        return counts

    def texts(self, ranks: IntArray) -> NDArray[np.str_]:
        """The texts as numpy strings."""
        return self.bytes(ranks).astype(np.str_)

    def bytes(self, ranks: IntArray) -> NDArray[np.bytes_]:
        """The texts of the given ranks, as fixed-width bytes (padded with zeros at the end)."""
        lengths, rest = self._lengths(ranks)
        width = max((length for length, many in enumerate(self._by_length) if many), default=0)
        letters = np.zeros((len(ranks), max(width, 1)), dtype=np.uint8)
        for length in np.unique(lengths).tolist():
            chosen = np.flatnonzero(lengths == length)
            block = np.empty((length, len(chosen)), dtype=np.uint8)
            self._spell(rest[chosen], block)
            letters[chosen, :length] = block.T
        return letters.view(f"S{letters.shape[1]}").ravel()

    def rank(self, text: str) -> int | None:
        """The rank of a text, or None when it is not of the pattern."""
        if len(text) > self.longest or not text.isascii():
            return None
        number = sum(self._by_length[: len(text)])
        state = 0
        for place, sign in enumerate(text.encode()):
            left = len(text) - place - 1
            for edge in self._edges[state]:
                size = self._count[left][edge.after]
                hit = np.flatnonzero(edge.signs == sign)
                if len(hit) and size:
                    number += int(hit[0]) * size
                    state = edge.after
                    break
                number += len(edge.signs) * size
            else:
                return None
        return number if self._accepting[state] else None

    def _lengths(self, ranks: IntArray) -> tuple[IntArray, IntArray]:
        starts = [0]
        for many in self._by_length:
            starts.append(starts[-1] + many)
        used = [length for length, many in enumerate(self._by_length) if many]
        if len(used) == 1:
            return np.full(len(ranks), used[0], dtype=np.int64), ranks
        edges = np.array(starts[1:], dtype=ranks.dtype)
        lengths = np.searchsorted(edges, ranks, side="right")
        return lengths.astype(np.int64), ranks - np.array(starts, dtype=ranks.dtype)[lengths]

    def _spell(self, ranks: IntArray, block: NDArray[np.uint8]) -> None:
        """Fill block[i] with character i of every text; all texts have len(block) characters."""
        groups: dict[int, tuple[IntArray | None, IntArray]] = {0: (None, ranks)}
        for place in range(len(block)):
            left = len(block) - place - 1
            following: dict[int, list[tuple[IntArray | None, IntArray]]] = {}
            for state, (rows, numbers) in groups.items():
                for after, chosen, rest in self._step(state, numbers, left, block[place], rows):
                    inside = chosen if rows is None else rows if chosen is None else rows[chosen]
                    following.setdefault(after, []).append((inside, rest))
            groups = {state: _merge(parts) for state, parts in following.items()}

    def _step(
        self, state: int, numbers: IntArray, left: int, line: NDArray[np.uint8], rows: IntArray | None
    ) -> list[tuple[int, IntArray | None, IntArray]]:
        """Choose the edge and the character of every text that stands in `state`."""
        edges = [edge for edge in self._edges[state] if self._count[left][edge.after]]
        starts = [0]
        for edge in edges:
            starts.append(starts[-1] + len(edge.signs) * self._count[left][edge.after])
        chosen = None if len(edges) == 1 else np.searchsorted(np.array(starts[1:], dtype=numbers.dtype), numbers, side="right")
        found = []
        for index, edge in enumerate(edges):
            inside = None if chosen is None else np.flatnonzero(chosen == index)
            if inside is not None and not len(inside):
                continue
            here = numbers if inside is None else numbers[inside]
            size = self._count[left][edge.after]
            offset = here - starts[index]
            sign = offset // size  # I1
            place = inside if rows is None else rows if inside is None else rows[inside]
            line[slice(None) if place is None else place] = edge.signs[sign.astype(np.int64)]
            found.append((edge.after, inside, offset - sign * size))
        return found


def _merge(parts: list[tuple[IntArray | None, IntArray]]) -> tuple[IntArray | None, IntArray]:
    if len(parts) == 1:
        return parts[0]
    rows = [rows for rows, _ in parts if rows is not None]
    return np.concatenate(rows), np.concatenate([numbers for _, numbers in parts])
