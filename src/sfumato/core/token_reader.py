"""What the readers of small languages share: cutting a text into words, and looking at one word after the other.

A language brings a pattern whose named groups are the kinds of its words (`blank` is dropped; `name` and `sign` are
those that grammars ask for), an error that points into its texts, and a reader derived from `TokenReader` whose methods
follow its grammar.

Invariants
    I1  Bounded: brackets and negations stand at most DEEPEST deep and a text has at most MOST_OPERATIONS of them, so
        neither reading nor any walk over the tree can exhaust the stack; numbers are short enough to be exact at once.

>>> words = re.compile(r"(?P<blank> +)|(?P<name>[a-z]+)|(?P<sign>[()])")
>>> [(token.kind, token.text, token.at) for token in tokens("(ab )", words, lambda at: ValueError(at))]
[('sign', '(', 0), ('name', 'ab', 1), ('sign', ')', 4)]
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

DEEPEST = 50
MOST_OPERATIONS = 300
MOST_DIGITS = 300
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE]([+-]?\d{1,3}))?")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, its kind, and the character where it begins, counted from 0."""

    kind: str
    text: str
    at: int


def tokens(text: str, words: re.Pattern[str], wrong: Callable[[int], Exception]) -> Iterator[Token]:
    """All words of a text; `wrong` makes the error about a character that begins none."""
    at = 0
    while at < len(text):
        found = words.match(text, at)
        if found is None:
            raise wrong(at)
        if found.lastgroup != "blank":
            yield Token(str(found.lastgroup), found.group(), at)
        at = found.end()


def exact_number(text: str) -> Fraction | None:
    """The value of a number of reasonable length, else None.

    >>> exact_number("2.50"), exact_number("1e999"), exact_number("1e999999999")
    (Fraction(5, 2), None, None)
    """
    found = _NUMBER.fullmatch(text) if len(text) <= MOST_DIGITS else None
    return Fraction(text) if found and abs(int(found[1] or 0)) <= MOST_DIGITS else None


class TokenReader:
    """A place among the words of a text; the last of them is an empty one of kind `end`."""

    any_case = False
    """Whether words are the same in small letters and in capitals."""

    def __init__(self, text: str, words: Sequence[Token]) -> None:
        self.text = text
        self.tokens = (*words, Token("end", "", len(text)))
        self.next = 0
        self.depth = 0
        self.operations = 0

    def wrong(self, what: str, at: int | None = None, *, hint: str = "") -> Exception:
        """The language's own error; without `at` it points at the word at hand."""
        raise NotImplementedError

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        """The word at hand, left behind; the end stays."""
        token = self.token
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def is_word(self, word: str, ahead: int = 0) -> bool:
        token = self.tokens[min(self.next + ahead, len(self.tokens) - 1)]
        return token.kind in ("name", "sign") and (token.text.lower() if self.any_case else token.text) == word

    def accept(self, *words: str) -> Token | None:
        return self.take() if any(self.is_word(word) for word in words) else None

    def expect(self, word: str, where: str) -> Token:
        token = self.accept(word)
        if token is None:
            raise self.wrong(f"expected '{word}' {where}")
        return token

    @contextlib.contextmanager
    def deeper(self, at: int) -> Iterator[None]:
        """Around everything that a grammar reads inside itself (I1)."""
        self.operation(at)
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(
                f"more than {DEEPEST} brackets or negations inside each other", at, hint="say it more simply"
            )
        yield
        self.depth -= 1

    def operation(self, at: int) -> None:
        """One more operation in this text (I1)."""
        self.operations += 1
        if self.operations > MOST_OPERATIONS:
            raise self.wrong(f"more than {MOST_OPERATIONS} operations", at, hint="say it in several sentences")
