"""Regular patterns as finite automata over printable characters, with conditions on the same text folded in.

The patterns are the finite part of regular expressions that people write for codes: characters, classes `[0-9A-F]`,
`[^…]`, `.`, `\\d \\w \\s`, groups, alternatives, `?`, `{m}`, `{m,n}`. `*` and `+` have no end, so they are accepted up
to a stated length only.

Notation
    state    a tuple with one set of positions for each pattern that is followed at the same time; a set of positions
             stands for everything that can still be read (its derivative by the characters read so far)

>>> sorted("".join(word) for word in words(automaton(["a[bc]?"]), 2))
['a', 'ab', 'ac']


Words
-----
All texts of a pattern, numbered: how many there are, and the text of any number, for a million numbers at once.

Notation
    count[i][s]   the number of accepted texts that can still be read in exactly i more characters from state s
    rank          position of a text when texts are ordered by length, then by the order of edges, then of characters

Invariants
    I1  The characters on one edge lead to the same state, so they have equal counts and a division finds the character.
    I2  rank ↦ text is a bijection from 0 … size − 1 onto the accepted texts: deterministic automaton, one path per
        text.

Cost: one division per character; about a second per million texts of ten characters.

>>> texts = NumberedTexts(automaton(["0[12]x?"]))
>>> texts.size, texts.texts(np.arange(4)).tolist()
(4, ['01', '02', '01x', '02x'])
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.errors import PolicyError
from sfumato.core.token_reader import Token, TokenReader

ALPHABET = "".join(chr(code) for code in range(32, 127))
_CLASSES = {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": " "}
_SPECIAL = "()[]{}|?*+."
_COUNT = re.compile("[0-9]{1,6}")
UNBOUNDED = 1 << 30
LONGEST = 400
"""Characters of a pattern or a text: what follows them is found by recursion."""


# ---- syntax: a pattern is nested tuples ------------------------------------------------------------------------------

Syntax = tuple[object, ...]
EMPTY: Syntax = ("empty",)


def _chars(chars: str) -> Syntax:
    return ("chars", frozenset(chars))


def _then(first: Syntax, second: Syntax) -> Syntax:
    return second if first == EMPTY else first if second == EMPTY else ("then", first, second)


def _in_turn(parts: list[Syntax]) -> Syntax:
    """One after the other, nested to the right: what follows a character is then at hand and not deep inside."""
    return reduce(lambda rest, part: _then(part, rest), reversed(parts), EMPTY)


class _PatternReader(TokenReader):
    """Recursive descent over the pattern's characters."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern, [Token("sign", sign, at) for at, sign in enumerate(pattern)])

    def wrong(self, what: str, at: int | None = None, *, hint: str = "") -> PolicyError:
        place = self.next if at is None else at
        return PolicyError(f"{what} at character {place + 1} of the pattern", where=f"pattern {self.text}", hint=hint)

    def peek(self) -> str:
        return self.token.text

    def sign(self) -> str:
        if self.token.kind == "end":
            raise self.wrong("the pattern ends too early")
        return self.take().text

    def read(self, longest: int = LONGEST) -> Syntax:
        if len(self.text) > longest:
            raise self.wrong(f"patterns of more than {longest} characters are not supported", longest)
        strange = next((at for at, sign in enumerate(self.text) if not sign.isascii()), None)
        if strange is not None:
            raise self.wrong("only ASCII characters can be drawn", strange, hint="list other texts with 'values: […]'")
        found = self.alternatives()
        if self.peek():
            raise self.wrong(f"'{self.peek()}' was not expected")
        return found

    def alternatives(self) -> Syntax:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.sign()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else ("either", *parts)

    def sequence(self) -> Syntax:
        parts = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated())
        return _in_turn(parts)

    def repeated(self) -> Syntax:
        atom = self.atom()
        while self.peek() and self.peek() in "?*+{":
            least, most = self.bounds()
            atom = ("repeat", atom, least, most)
        return atom

    def bounds(self) -> tuple[int, int]:
        sign = self.sign()
        if sign != "{":
            return {"?": (0, 1), "*": (0, UNBOUNDED), "+": (1, UNBOUNDED)}[sign]
        end = self.text.find("}", self.next)
        first, comma, last = self.text[self.next : end].partition(",")
        if end < 0 or not _COUNT.fullmatch(first) or (last and not _COUNT.fullmatch(last)):
            raise self.wrong("expected a repetition like {3} or {2,5}")
        self.next = end + 1
        return int(first), int(last) if last else (UNBOUNDED if comma else int(first))

    def atom(self) -> Syntax:
        sign = self.sign()
        if sign == "(":
            return self.group()
        if sign == "[":
            return self.char_class()
        if sign == ".":
            return _chars(ALPHABET)
        if sign == "\\":
            return _chars(self.escaped())
        if sign in "^$" and (self.next == 1 or self.next == len(self.text)):
            return EMPTY
        if sign in _SPECIAL:
            self.next -= 1
            raise self.wrong(f"'{sign}' was not expected")
        return _chars(sign)

    def group(self) -> Syntax:
        if self.text.startswith("?:", self.next):
            self.next += 2
        elif self.peek() == "?":
            raise self.wrong("look-around and named groups are not supported")
        with self.deeper(self.next - 1):
            found = self.alternatives()
        if self.peek() != ")":
            raise self.wrong("expected ')'")
        self.sign()
        return found

    def escaped(self) -> str:
        sign = self.sign()
        if sign.lower() in _CLASSES:
            inside = _CLASSES[sign.lower()]
            return inside if sign.islower() else "".join(c for c in ALPHABET if c not in inside)
        if sign.isalnum():
            raise self.wrong(f"'\\{sign}' is not supported")
        return sign

    def char_class(self) -> Syntax:
        negated = self.peek() == "^"
        if negated:
            self.sign()
        found: set[str] = set()
        while self.peek() != "]" or not found:
            found |= self.class_item()
        self.sign()
        return ("chars", frozenset(ALPHABET) - found) if negated else ("chars", frozenset(found))

    def class_item(self) -> set[str]:
        sign = self.sign()
        first = self.escaped() if sign == "\\" else sign
        if len(first) > 1 or self.peek() != "-" or self.text[self.next + 1 : self.next + 2] in ("]", ""):
            return set(first)
        self.sign()
        sign = self.sign()
        last = self.escaped() if sign == "\\" else sign
        if len(last) != 1 or last < first:
            raise self.wrong("a range of characters goes upwards")
        return {chr(code) for code in range(ord(first), ord(last) + 1)}


def literal(text: str) -> Syntax:
    """The pattern that matches exactly this text."""
    if len(text) > LONGEST:
        raise PolicyError(f"a text of more than {LONGEST} characters cannot be compared with a pattern")
    return _in_turn([_chars(sign) for sign in text])


# ---- derivatives: what can follow after one character ----------------------------------------------------------------


def _can_end(syntax: Syntax) -> bool:
    head = syntax[0]
    if head == "chars":
        return False
    if head == "then":
        return _can_end(_part(syntax, 1)) and _can_end(_part(syntax, 2))
    if head == "either":
        return any(_can_end(_part(syntax, place)) for place in range(1, len(syntax)))
    if head == "repeat":
        return _count(syntax, 2) == 0 or _can_end(_part(syntax, 1))
    return True


def _part(syntax: Syntax, place: int) -> Syntax:
    found = syntax[place]
    assert isinstance(found, tuple)
    return found


def _count(syntax: Syntax, place: int) -> int:
    found = syntax[place]
    assert isinstance(found, int)
    return found


def _firsts(syntax: Syntax) -> Iterator[tuple[frozenset[str], Syntax]]:
    """Pairs (characters, what follows them); together they are everything the pattern can begin with."""
    head = syntax[0]
    if head == "chars":
        chars = syntax[1]
        assert isinstance(chars, frozenset)
        yield chars, EMPTY
    elif head == "either":
        for place in range(1, len(syntax)):
            yield from _firsts(_part(syntax, place))
    elif head == "then":
        first, second = _part(syntax, 1), _part(syntax, 2)
        for chars, rest in _firsts(first):
            yield chars, _then(rest, second)
        if _can_end(first):
            yield from _firsts(second)
    elif head == "repeat":
        yield from _repeats(_part(syntax, 1), _count(syntax, 2), _count(syntax, 3))


def _repeats(inner: Syntax, least: int, most: int) -> Iterator[tuple[frozenset[str], Syntax]]:
    if most == 0:
        return
    left = most if most >= UNBOUNDED else most - 1
    rest: Syntax = EMPTY if left == 0 else ("repeat", inner, max(least - 1, 0), left)
    for chars, after in _firsts(inner):
        yield chars, _then(after, rest)


# ---- the automaton ---------------------------------------------------------------------------------------------------

State = tuple[frozenset[Syntax], ...]
Accept = Callable[[tuple[bool, ...]], bool]


@dataclass(frozen=True)
class Automaton:
    """Follows several patterns at once; `accept` decides from which of them match the text read so far."""

    start: State
    accept: Accept

    def accepts(self, state: State) -> bool:
        return self.accept(tuple(any(_can_end(item) for item in items) for items in state))

    def edges(self, state: State) -> dict[State, str]:
        """Next state → the characters that lead there, sorted."""
        found: dict[State, list[str]] = {}
        steps = [[pair for item in items for pair in _firsts(item)] for items in state]
        for sign in sorted({c for step in steps for chars, _ in step for c in chars}):
            after = tuple(frozenset(rest for chars, rest in step if sign in chars) for step in steps)
            found.setdefault(after, []).append(sign)
        return {after: "".join(signs) for after, signs in found.items()}


def read_pattern(pattern: str, longest: int = LONGEST) -> Syntax:
    """The syntax of a pattern; one of many short alternatives may be longer than what people write."""
    return _PatternReader(pattern).read(longest)


def automaton(patterns: Sequence[str | Syntax], accept: Accept = all) -> Automaton:
    """All texts for which `accept` holds of the list of patterns that match; the first pattern must be among them."""
    start = tuple(frozenset([_PatternReader(item).read() if isinstance(item, str) else item]) for item in patterns)
    return Automaton(start, lambda matched: matched[0] and accept(matched))


def words(machine: Automaton, longest: int, state: State | None = None) -> Iterator[str]:
    """Every accepted text of at most `longest` characters, by plain search; for tests and tiny languages."""
    state = machine.start if state is None else state
    if machine.accepts(state):
        yield ""
    if longest > 0 and state[0]:
        for after, signs in machine.edges(state).items():
            for rest in words(machine, longest - 1, after):
                yield from (sign + rest for sign in signs)


# Words
# -----


_MOST_STATES = 20_000


@dataclass(frozen=True)
class _Edge:
    signs: NDArray[np.uint8]
    after: int


class NumberedTexts:
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
        """Choose the edge and the character of every text that is in `state`."""
        edges = [edge for edge in self._edges[state] if self._count[left][edge.after]]
        starts = [0]
        for edge in edges:
            starts.append(starts[-1] + len(edge.signs) * self._count[left][edge.after])
        chosen = (
            None
            if len(edges) == 1
            else np.searchsorted(np.array(starts[1:], dtype=numbers.dtype), numbers, side="right")
        )
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
