"""From the text of a rule to its words, each with the character where it begins.

A name may contain hyphens (`education-num`), so a minus between two names wants blanks around it; when the columns of the table
are known, a hyphenated word that is no column is read as a difference after all. Any other name goes between backquotes.

>>> [token.text for token in scan("a<= 2.5 * `b c`")]
['a', '<=', '2.5', '*', 'b c']
"""

from __future__ import annotations

import re
from collections.abc import Collection

from sfumato.data.token_reader import Token, tokens
from sfumato.errors import PolicyError

_WORD = re.compile(
    r"""(?P<blank>\s+)
      | (?P<date>\d{4}-\d{2}-\d{2}(?![\w-]))
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*(?:-[^\W\d]\w*)*)
      | (?P<quoted>`[^`]+`)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign><=|>=|!=|<>|==|≤|≥|≠|[-−+*×/÷%=<>(){}\[\],.])""",
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


def scan(text: str, columns: Collection[str] | None = None) -> list[Token]:
    """All words of `text`."""

    def unknown(at: int) -> RuleError:
        hint = "close the quotes" if text[at] in "\"'`" else 'quote texts with " and odd column names with `'
        return RuleError(f"'{text[at]}' has no meaning here", text, at, hint=hint)

    return [word for token in tokens(text, _WORD, unknown) for word in _words(token, columns)]


def _words(token: Token, columns: Collection[str] | None) -> list[Token]:
    if token.kind == "quoted":
        return [Token(token.kind, token.text[1:-1], token.at)]
    if token.kind == "text":
        return [Token(token.kind, _ESCAPE.sub(r"\1", token.text[1:-1]), token.at)]
    if token.kind == "name" and "-" in token.text and columns is not None:
        return _split(token.text, token.at, columns)
    return [Token(token.kind, _SAME.get(token.text, token.text), token.at)]


def _split(word: str, at: int, columns: Collection[str]) -> list[Token]:
    """The longest column first, then the rest: `education-num-age` is `education-num` minus `age`."""
    found: list[Token] = []
    parts = word.split("-")
    while parts:
        size = next((size for size in range(len(parts), 1, -1) if "-".join(parts[:size]) in columns), 1)
        head = "-".join(parts[:size])
        found.append(Token("name", head, at))
        parts, at = parts[size:], at + len(head)
        if parts:
            found.append(Token("sign", "-", at))
            at += 1
    return found
