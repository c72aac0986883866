"""Check conditions and defaults in the other dialect, word by word; what the target does not understand it says itself.

>>> for_postgres("[Unit Price]>=(0) AND qty > 0", ("Unit Price", "Qty"))
'"Unit Price">=(0) AND "Qty" > 0'
>>> for_sqlite("state::text = ANY (ARRAY['a'::character varying, 'b'::character varying]::text[])", ("state",))
"state IN ('a', 'b')"
>>> [default_for(text, "TEXT", "sqlite") for text in ("'x'::character varying", "now()", "f(1)")]
["'x'", 'CURRENT_TIMESTAMP', None]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.io.sql.names import quoted
from sfumato.io.sql.tokens import bare, tokens

_CAST = re.compile(
    r"""::\s*(?:"[^"]+"|double\ precision|character\ varying|bit\ varying
        |(?:timestamp|time)(?:\(\d+\))?\ with(?:out)?\ time\ zone|\w+)(?:\(\d+(?:,\s*\d+)?\))?(?:\[\])*""",
    re.VERBOSE,
)
_ANY = re.compile(r"=\s*ANY\s*\(\s*\(?ARRAY\[([^\]]*)\]\)?\s*\)")
_LITERAL = re.compile(r"^\(*\s*(-?\d+(?:\.\d+)?|'(?:[^']|'')*'|NULL|TRUE|FALSE)\s*\)*$", re.IGNORECASE)
_NOW = {"CURRENT_TIMESTAMP", "NOW()", "CURRENT_DATE", "CURRENT_TIME"}
_TEXTS = ("text", "varchar", "TEXT", "VARCHAR")


def for_postgres(sql: str, columns: Sequence[str]) -> str:
    """Names of columns as they are spelt, in double quotes."""
    spelt = {name.lower(): quoted(name) for name in columns}
    parts = []
    for kind, text, _, _ in tokens(sql):
        name = bare(text) if kind in ("name", "word") else ""
        parts.append(spelt.get(name.lower(), quoted(name) if kind == "name" else text) if name else text)
    return "".join(parts)


def for_sqlite(sql: str, _columns: Sequence[str]) -> str:
    """Without casts, and lists as SQLite writes them."""
    return _ANY.sub(r"IN (\1)", _uncast(sql))


def _uncast(sql: str) -> str:
    """Casts leave, but not from inside a text."""
    held: list[str] = []

    def hide(found: re.Match[str]) -> str:
        held.append(found[0])
        return f"\x00{len(held) - 1}\x00"

    bared = _CAST.sub("", re.sub(r"'(?:[^']|'')*'", hide, sql))
    return re.sub("\x00(\\d+)\x00", lambda found: held[int(found[1])], bared)


def default_for(default: str | None, native: str, dialect: str) -> str | None:
    """A default that is a constant or the present moment, or nothing."""
    if default is None:
        return None
    plain = _uncast(default).strip()
    if plain.strip("()").upper() in {one.strip("()") for one in _NOW}:
        moment = "CURRENT_TIMESTAMP" if plain.strip("()").upper() == "NOW" else plain.strip("()").upper()
        return f"({moment}::text)" if dialect == "postgresql" and native.startswith(_TEXTS) else moment
    found = _LITERAL.match(plain)
    if not found or found[1].upper() == "NULL":
        return None
    if native.upper() == "BOOLEAN":
        truth = found[1].strip("'").lower() in ("1", "true", "t")
        return str(truth).lower() if dialect == "postgresql" else str(int(truth))
    return found[1]
