"""Reading SQL word by word: enough to find check constraints, and to carry conditions from one dialect to the other.

>>> checks("CREATE TABLE t (a INT CONSTRAINT few CHECK (a < 5), [b c] TEXT DEFAULT 'CHECK (', CHECK (a IN (1, 2)))")
[('few', 'a < 5'), ('', 'a IN (1, 2)')]
>>> "AUTOINCREMENT" in words("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)")
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:[^']|'')*')
      | (?P<name>"(?:[^"]|"")*"|\[[^\]]*\]|`(?:[^`]|``)*`)
      | (?P<word>[^\W\d]\w*)
      | (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)
      | (?P<sign>::|<=|>=|<>|!=|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)


def tokens(sql: str) -> Iterator[tuple[str, str, int, int]]:
    """Kind, text, begin and end of every token."""
    for found in _TOKEN.finditer(sql):
        yield str(found.lastgroup), found[0], found.start(), found.end()


def words(sql: str) -> set[str]:
    """All bare words, in capitals."""
    return {text.upper() for kind, text, _, _ in tokens(sql) if kind == "word"}


def bare(name: str) -> str:
    """A name without its quotes, whichever kind they are."""
    if name[0] == "[":
        return name[1:-1]
    return name[1:-1].replace(name[0] * 2, name[0]) if name[0] in '"`' else name


def checks(sql: str) -> list[tuple[str, str]]:
    """Name (or nothing) and condition of every CHECK in a CREATE TABLE."""
    read = [token for token in tokens(sql) if token[0] != "space"]
    found = []
    for at, (kind, text, _, _) in enumerate(read):
        if kind != "word" or text.upper() != "CHECK" or at + 1 >= len(read) or read[at + 1][1] != "(":
            continue
        named = at >= 2 and read[at - 2][1].upper() == "CONSTRAINT"
        begin, end = _inside(read, at + 1)
        found.append((bare(read[at - 1][1]) if named else "", sql[begin:end].strip()))
    return found


def computed(sql: str) -> dict[str, str]:
    """Expression of every computed column in a CREATE TABLE, by the name of the column in small letters.

    >>> computed("CREATE TABLE t (a INT, [b] INT GENERATED ALWAYS AS (a * (2)) STORED, c AS (a || ','), PRIMARY KEY (a))")
    {'b': 'a * (2)', 'c': "a || ','"}
    """
    read = [token for token in tokens(sql) if token[0] != "space"]
    found, depth, name = {}, 0, ""
    for at, (_, text, _, _) in enumerate(read):
        if depth == 1 and read[at - 1][1] in ("(", ","):
            name = bare(text).lower()
        if depth == 1 and text.upper() == "AS" and at + 1 < len(read) and read[at + 1][1] == "(":
            begin, end = _inside(read, at + 1)
            found[name] = sql[begin:end].strip()
        depth += (text == "(") - (text == ")")
    return found


def _inside(read: list[tuple[str, str, int, int]], opening: int) -> tuple[int, int]:
    """What lies between an opening parenthesis and its partner."""
    depth = 0
    for _, text, begin, _ in read[opening:]:
        depth += (text == "(") - (text == ")")
        if depth == 0:
            return read[opening][3], begin
    return read[opening][3], read[-1][3]
