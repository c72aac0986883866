"""Check constraints as rules: the part of SQL that the rule language can say, else nothing.

Comparisons, arithmetic, `and`, `or`, `not`, `in`, `between`, `= ANY (ARRAY[…])`, casts and brackets are read. `x IS NULL OR c`
is `c` when every comparison in `c` mentions `x`: with a null neither says anything. Everything else is left to the server, which
enforces it anyway.

Departures: a check is satisfied when it is not false, and so is a rule; the two agree also on nulls.

>>> rule_text("((qty > (0)::numeric) AND (status)::text = ANY ((ARRAY['a'::text, 'b'::text])))", "t", ["qty", "status"])
't.qty > 0 and t.status in {"a", "b"}'
>>> rule_text("length(name) > 2", "t", ["name"]) is None
True
"""

from __future__ import annotations

import re
from collections.abc import Collection

_WORD = re.compile(
    r"""(?P<blank>\s+)
      | (?P<cast>::\s*(?:"[^"]+"|[a-z_]\w*(?:\s+(?:varying|precision|without\s+time\s+zone|with\s+time\s+zone))?)
          (?:\s*\(\d+(?:,\s*\d+)?\))?(?:\[\])*)
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"[^"]+"|\[[^\[\]'",]+\]|`[^`]+`)
      | (?P<name>[^\W\d]\w*)
      | (?P<sign><=|>=|<>|!=|=|<|>|\(|\)|,|\+|-|\*|\[|\])""",
    re.VERBOSE | re.IGNORECASE,
)


class _Unknown(Exception):
    """Something the rule language cannot say."""


def rule_text(sql: str, table: str, columns: Collection[str]) -> str | None:
    """The rule that says the same, or None."""
    try:
        reader = _CheckReader(_words(sql), table, {name.lower(): name for name in columns})
        found = reader.either()
        return found if reader.at == len(reader.words) and "∅" not in found else None
    except (_Unknown, IndexError):
        return None


def named(table: str, column: str) -> str:
    """`table.column` as rules write it."""
    return f"{_name(table)}.{_name(column)}"


def _name(name: str) -> str:
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name not in _RESERVED
    return name if plain else f"`{name}`"


_RESERVED = {
    *("and", "or", "not", "if", "then", "in", "within", "of", "determines", "references", "by", "where", "original", "match"),
    *("unique", "same_multiset", "at_least", "localities", "sum", "mean", "min", "max", "count"),
}


def _words(sql: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(sql):
        word = _WORD.match(sql, at)
        if word is None:
            raise _Unknown
        at = word.end()
        kind = str(word.lastgroup)
        if kind not in ("blank", "cast"):
            found.append((kind, word.group()))
    return found


class _CheckReader:
    """Recursive descent over the words; each method returns rule text."""

    def __init__(self, words: list[tuple[str, str]], table: str, columns: dict[str, str]) -> None:
        self.words, self.table, self.columns = words, table, columns
        self.at = 0

    def is_word(self, *wanted: str) -> bool:
        here = self.words[self.at : self.at + len(wanted)]
        return [text.lower() for kind, text in here if kind in ("name", "sign")] == list(wanted)

    def accept(self, *wanted: str) -> bool:
        found = self.is_word(*wanted)
        self.at += len(wanted) if found else 0
        return found

    def expect(self, *wanted: str) -> None:
        if not self.accept(*wanted):
            raise _Unknown

    def either(self) -> str:
        parts = [self.both()]
        while self.accept("or"):
            parts.append(self.both())
        parts = _without_nulls(parts)
        return parts[0] if len(parts) == 1 else " or ".join(_bracketed(part, " and ") for part in parts)

    def both(self) -> str:
        parts = [self.negation()]
        while self.accept("and"):
            parts.append(self.negation())
        if len(parts) > 1 and any(part.startswith("∅ ") for part in parts):
            raise _Unknown
        return parts[0] if len(parts) == 1 else " and ".join(_bracketed(part, " or ") for part in parts)

    def negation(self) -> str:
        if self.accept("not"):
            inner = self.negation()
            if inner.startswith("∅ "):
                raise _Unknown
            return f"not ({inner})"
        return self.comparison()

    def comparison(self) -> str:
        start = self.at
        if self.accept("("):
            try:
                inner = self.either()
                self.expect(")")
                if not self._goes_on():
                    return inner
            except _Unknown:
                pass
            self.at = start
        left = self.sum()
        if self.accept("is", "null"):
            return f"∅ {left}"
        refused = self.accept("not")
        if self.accept("in", "("):
            options = self.options(")")
            return f"{left}{' not' if refused else ''} in {{{options}}}"
        if self.accept("between"):
            low = self.sum()
            self.expect("and")
            inside = f"{left} >= {low} and {left} <= {self.sum()}"
            return f"not ({inside})" if refused else inside
        for sign in ("<=", ">=", "<>", "!=", "=", "<", ">"):
            if not refused and self.accept(sign):
                return self._compared(left, sign)
        raise _Unknown

    def _goes_on(self) -> bool:
        """Whether a closing bracket ended a value, not a condition."""
        return any(self.is_word(sign) for sign in ("<=", ">=", "<>", "!=", "=", "<", ">", "+", "-", "*", "is", "in", "between"))

    def _compared(self, left: str, sign: str) -> str:
        if self.accept("any", "("):
            depth = 1
            while self.accept("("):
                depth += 1
            self.expect("array", "[")
            if sign != "=":
                raise _Unknown
            options = self.options("]")
            for _ in range(depth):
                self.expect(")")
            return f"{left} in {{{options}}}"
        return f"{left} {'!=' if sign == '<>' else sign} {self.sum()}"

    def options(self, closing: str) -> str:
        found = [self.constant()]
        while self.accept(","):
            found.append(self.constant())
        self.expect(closing)
        return ", ".join(found)

    def sum(self) -> str:
        found = self.product()
        while self.is_word("+") or self.is_word("-"):
            sign = self.words[self.at][1]
            self.at += 1
            found = f"{found} {sign} {self.product()}"
        return found

    def product(self) -> str:
        found = self.value()
        while self.accept("*"):
            found = f"{found} * {self.value()}"
        return found

    def value(self) -> str:
        if self.accept("("):
            inner = self.sum()
            self.expect(")")
            return inner if re.fullmatch(r"[\w.`\" ]+", inner) and " " not in inner else f"({inner})"
        kind, text = self.words[self.at]
        if kind == "name" or kind == "quoted":
            name = self.columns.get(text.strip('"[]`').lower())
            following = self.words[self.at + 1][1] if self.at + 1 < len(self.words) else ""
            if name is None or following == "(":
                raise _Unknown
            self.at += 1
            return named(self.table, name)
        return self.constant()

    def constant(self) -> str:
        if self.accept("("):
            inner = self.constant()
            self.expect(")")
            return inner
        sign = "-" if self.accept("-") else ""
        kind, text = self.words[self.at]
        if kind == "text" and not sign:
            self.at += 1
            return _quoted(text[1:-1].replace("''", "'"))
        if kind != "number":
            raise _Unknown
        self.at += 1
        return sign + text


def _quoted(text: str) -> str:
    if "\\" in text or ('"' in text and "'" in text):
        raise _Unknown
    return f"'{text}'" if '"' in text else f'"{text}"'


def _bracketed(part: str, sign: str) -> str:
    return f"({part})" if sign in part else part


def _without_nulls(parts: list[str]) -> list[str]:
    """`x is null or c`: only `c`, when every comparison of `c` mentions x."""
    nulls = [part.removeprefix("∅ ") for part in parts if part.startswith("∅ ")]
    rest = [part for part in parts if not part.startswith("∅ ")]
    if not nulls:
        return rest
    if not rest:
        if len(parts) == 1:
            return parts
        raise _Unknown
    for column in nulls:
        mention = re.compile(rf"{re.escape(column)}(?![\w`])")
        if not all(mention.search(piece) for part in rest for piece in re.split(r" and | or ", part)):
            raise _Unknown
    return rest
