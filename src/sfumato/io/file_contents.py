"""Read the bytes of a text file within limits: a file that is small on disk must not fill the memory.

An honest table packs to a tenth or a twentieth of its size. A file that unpacks to `core.limits.MOST_TIMES` its size
was made to do harm, or holds nearly nothing. Its owner can unpack it and give the unpacked file.


Readers
-------
Bytes for Arrow's readers, in memory of its own.

A buffer that belongs to Python is given back under the interpreter's lock. Arrow reads ahead in threads of its own; one
that lets go of the last piece of such a buffer while the process ends waits for a lock that is no longer there, and the
process is aborted after it had said everything (exit code 134, seen once on a busy machine). A copy costs one more
reading of the bytes.

>>> reader_of(b"a,b").read()
b'a,b'


Json text
---------
JSON from files that any person may have written: strict, and refused as a `ValueError` whatever is wrong with it.

>>> parse_json('{"a": [1, 2]}')
{'a': [1, 2]}
>>> parse_json("[" * 200_000)
Traceback (most recent call last):
ValueError: nested too deep
>>> parse_json('{"holds": false, "holds": true}')
Traceback (most recent call last):
ValueError: 'holds' stands twice
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from sfumato.core.errors import DataError
from sfumato.core.limits import UnpacksTooFar, require_unpacked_size, unpacked_limit

LONGEST_RECORD = 1 << 24
"""The most bytes of one record of a text file."""
_PIECE = 1 << 22
_STEP = 1 << 20
ENCODE = (
    "save it as UTF-8, or name its encoding, like 'encoding: windows-1252' under data or --read encoding=windows-1252"
)
_ENCODINGS = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "shift_jis", "gb18030", "euc_kr", "mac_roman", "cp850")
"""What a text that is not UTF-8 may be written in, without being named."""
_USUAL_FIRST = 0.08
"""How much more coherent a text must be in another encoding than in windows-1252, which is by far the most frequent
one."""
_SAMPLE = 1 << 16


def is_there(path: Path) -> bool:
    """Whether there is a file of this name; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder of this name; a name that no folder can have is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, *, encoding: str = "") -> bytes:
    """Everything in the file, unpacked when its name ends with ``.gz``, as UTF-8 without the mark that some editors put
    first."""
    try:
        if not path.name.lower().endswith(".gz"):
            _require_lines_of(path)
        content = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            content = _unpacked(content, path)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path.name}: {type(error).__name__}", where=str(path)) from None
    if encoding or (encoding := encoding_of(content)):
        content = _recoded(content, encoding, path)
    nul = content.find(b"\0")
    if nul >= 0:
        line = content.count(b"\n", 0, nul) + 1
        raise DataError(
            f"{path.name} is not UTF-8 text: it holds NUL bytes", where=f"{path}:{line}", hint="save it as UTF-8"
        )
    return content.removeprefix(b"\xef\xbb\xbf")


def encoding_of(content: bytes) -> str:
    """Return the encoding in which a text most likely is written; nothing for UTF-8, and where nothing fits.

    >>> encoding_of("Größe".encode()), encoding_of("Größe;Straße".encode("cp1252")), encoding_of("ä".encode("utf-16"))
    ('', 'windows-1252', 'utf-16')
    """
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if is_utf8(content) or b"\0" in content[:_SAMPLE] or _mostly_utf8(content):
        return ""
    from charset_normalizer import from_bytes

    lines = [line for line in content[: 64 * _SAMPLE].splitlines() if not line.isascii()]
    sample = b"\n".join(lines)[:_SAMPLE].rpartition(b"\n")[0] or b"\n".join(lines)[:_SAMPLE]
    found = {match.encoding: match.coherence for match in from_bytes(sample, cp_isolation=list(_ENCODINGS))}
    usual = sample.decode("cp1252", errors="replace")
    if any(sample.decode(name, errors="replace") == usual for name in found):
        found["cp1252"] = max(found.values())
    if "\ufffd" not in usual and "cp1252" in found:
        found["cp1252"] += _USUAL_FIRST - _signs_in_words(usual)
    best = max(found, key=lambda name: (found[name], name == "cp1252"), default="")
    return best.replace("cp125", "windows-125")


def _mostly_utf8(content: bytes) -> bool:
    """Whether a text looks like UTF-8 that was damaged: read otherwise, all of it would be wrong."""
    with suppress(UnicodeDecodeError):
        return bool(content.decode("utf-8", errors="surrogatepass"))  # halves of characters
    text = content.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    return sum(not sign.isascii() for sign in text[: 16 * _SAMPLE]) > 2 * broken


def _signs_in_words(text: str) -> float:
    """Return the share of unusual characters that are no letters and stand beside letters: a sign of a wrong
    encoding."""
    odd = [place for place, sign in enumerate(text) if not sign.isascii()]
    wrong = [place for place in odd if not text[place].isalpha() and text[place - 1 : place].isalpha()]
    return len(wrong) / max(len(odd), 1)


def is_utf8(content: bytes) -> bool:
    """Whether the bytes are UTF-8 text."""
    if content.isascii():
        return True
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(content), _STEP):
            decode(content[start : start + _STEP])
        decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True


def _require_lines_of(path: Path) -> None:
    """Refuse a file in which a line is longer than `LONGEST_RECORD`, before it is in memory."""
    if path.stat().st_size <= LONGEST_RECORD:
        return
    line, long = 1, 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
            long = len(piece) - 1 - end if end >= 0 else long + len(piece)
            line += piece.count(b"\n")
            if long > LONGEST_RECORD:
                what = f"a line is longer than {LONGEST_RECORD >> 20} MB"
                raise DataError(what, where=f"{path}:{line}", hint="check separators, quotes and line ends")


def _recoded(content: bytes, encoding: str, path: Path) -> bytes:
    """Text of another encoding as UTF-8."""
    try:
        return codecs.decode(content, encoding).encode() if codecs.lookup(encoding)._is_text_encoding else b"\0"
    except LookupError:
        raise DataError(
            f"there is no encoding '{encoding}'", where=str(path), hint="for example windows-1252, latin-1, utf-16"
        ) from None
    except UnicodeError:
        raise DataError(
            f"{path.name} is not written in {encoding}", where=str(path), hint="try another encoding"
        ) from None


def _unpacked(packed: bytes, path: Path) -> bytes:
    """Unpack a gzip file; what came out so far may not be far more than what went in so far."""
    content, source = bytearray(), io.BytesIO(packed)
    with unpacking(path), gzip.GzipFile(fileobj=source) as file:
        while piece := file.read(_PIECE):
            content += piece
            require_unpacked_size(len(content), source.tell())
    return bytes(content)


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Turn `UnpacksTooFar` of the block into an error that names the file."""
    try:
        yield
    except UnpacksTooFar:
        packed = path.stat().st_size
        what = f"{path.name} unpacks to more than {unpacked_limit(packed) >> 20:,} MB from {packed / (1 << 20):,.1f} MB"
        raise DataError(
            what, where=str(path), hint="if the file is yours, unpack it and give the unpacked file"
        ) from None


# Readers
# -------


def reader_of(content: bytes | bytearray) -> pa.BufferReader:
    """A reader of a copy that no Python object owns."""
    memory = pa.allocate_buffer(len(content))
    if len(content):
        pa.FixedSizeBufferWriter(memory).write(content)
    return pa.BufferReader(memory)


# Json text
# ---------


def parse_json(text: str) -> Any:
    """The tree in a text; refuses repeated keys, which readers settle differently, numbers that are none, and endless
    nesting."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"'{key}' stands twice")
        found[key] = value
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
