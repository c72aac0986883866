"""From the text of a rule to its words, each with the character where it begins.

A name may contain hyphens (`education-num`), so a minus between two names wants blanks around it; when the columns of the table
are known, a hyphenated word that is no column is read as a difference after all. Any other name goes between backquotes.

>>> [token.text for token in scan("a<= 2.5 * `b c`")]
['a', '<=', '2.5', '*', 'b c', '']
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from sfumato.errors import PolicyError

_WORD = re.compile(
    r"""(?P<blank>\s+)
      | (?P<date>\d{4}-\d{2}-\d{2}(?![\w-]))
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*(?:-[^\W\d]\w*)*)
      | (?P<quoted>`[^`]+`)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign><=|>=|!=|<>|==|≤|≥|≠|[-−+*×/÷=<>(){}\[\],.])""",
    re.VERBOSE,
)
_SAME = {"−": "-", "×": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "="}
_ESCAPE = re.compile(r"\\([\"'])")


class RuleError(PolicyError):
    """A rule that cannot be understood; `position` is the offending character, counted from 0."""

    def __init__(self, what: str, text: str, position: int, *, hint: str = "") -> None:
        marked = f"{text[:position]}⟨{text[position : position + 1] or 'end'}⟩{text[position + 1 :]}"
        super().__init__(what, where=f"character {position + 1} of the rule: {marked}", hint=hint)
        self.rule = text
        self.position = position

    def pointer(self) -> str:
        """The rule with a caret under the offending character."""
        return f"{self.rule}\n{' ' * self.position}^"


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the rule; `kind` is date, number, name, quoted, text, sign or end."""

    kind: str
    text: str
    at: int


def scan(text: str, columns: Collection[str] | None = None) -> list[Token]:
    """All words of `text`, closed by an empty one of kind `end`."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            hint = "close the quotes" if text[at] in "\"'`" else 'quote texts with " and odd column names with `'
            raise RuleError(f"'{text[at]}' has no meaning here", text, at, hint=hint)
        tokens.extend(_tokens(str(found.lastgroup), found.group(), at, columns))
        at = found.end()
    return [*tokens, Token("end", "", len(text))]


def _tokens(kind: str, word: str, at: int, columns: Collection[str] | None) -> list[Token]:
    if kind == "blank":
        return []
    if kind == "quoted":
        return [Token(kind, word[1:-1], at)]
    if kind == "text":
        return [Token(kind, _ESCAPE.sub(r"\1", word[1:-1]), at)]
    if kind == "name" and "-" in word and columns is not None:
        return _split(word, at, columns)
    return [Token(kind, _SAME.get(word, word), at)]


def _split(word: str, at: int, columns: Collection[str]) -> list[Token]:
    """The longest column first, then the rest: `education-num-age` is `education-num` minus `age`."""
    parts = word.split("-")
    for size in range(len(parts), 0, -1):
        head = "-".join(parts[:size])
        if size == 1 or head in columns:
            break
    tokens = [Token("name", head, at)]
    if size < len(parts):
        rest = at + len(head)
        tokens += [Token("sign", "-", rest), *_split(word[len(head) + 1 :], rest + 1, columns)]
    return tokens
