r"""Texts as somebody would read them: without case and accents, out of bytes, out of addresses and marked-up text.

A name that is replaced in one column must be found in another whatever that column does to it: `Zoë Öztürk` is `zoe ozturk` in a
login, `Zo%C3%AB` in an address, `Zo&euml;` in a page, and bytes in a file.

>>> folded("Łucja Ångström"), unescaped("Zo%C3%AB&nbsp;&Ouml;zt"), read_bytes("\\x5a6fc3ab")
('lucja angstrom', 'Zoë\xa0Özt', 'Zoë')
"""

from __future__ import annotations

import html
import unicodedata
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

_WRITTEN_APART = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
_APART = str.maketrans(_WRITTEN_APART)
ESCAPED = r"%[0-9A-Fa-f]{2}|&#?[0-9A-Za-z]{2,8};"
"""What stands for another sign in addresses and in marked-up text."""


def folded(text: str) -> str:
    """In lower case and without accents."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.lower())
    return "".join(sign for sign in apart if not unicodedata.combining(sign)).translate(_APART)


def folded_all(texts: pa.Array) -> pa.Array:
    """The same of many texts."""
    texts = pc.utf8_lower(texts)
    if not pc.any(pc.invert(pc.string_is_ascii(texts))).as_py():
        return texts
    texts = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKD"), r"\p{Mn}", "")
    for sign, written in _WRITTEN_APART.items():
        texts = pc.replace_substring(texts, sign, written)
    return texts


def unescaped(text: str) -> str:
    """Signs instead of what stands for them in an address or in marked-up text."""
    return html.unescape(unquote(text, errors="replace"))


def read_bytes(cell: str) -> str:
    """The text in bytes that a server writes as hexadecimal digits; what is no text gives signs that are no words."""
    try:
        held = bytes.fromhex(cell.removeprefix("\\x"))
    except ValueError:
        return cell
    if held[:2] in (b"\xff\xfe", b"\xfe\xff") or held[1::2].count(0) * 4 > len(held):
        return held.decode("utf-16" if held[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-16-le", errors="replace")
    try:
        return held.decode()
    except UnicodeDecodeError:
        return held.decode("latin-1")
