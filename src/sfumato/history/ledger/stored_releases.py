"""Reading an entry's files as a release: only its cover, form and policy, or everything with what is remembered of it.


Kept
----
What a ledger keeps beside itself so that the next release need not read all earlier ones: each person's cells, put
together.

The file lies next to the ledger, is as private, and carries no trust of its own. The newest entry has its digest under
the chain; only the file with that digest is used, and only by who publishes. Whatever else lies there, a file that is
missing, older, cut off or changed, is as good as none: then all releases are read, as `verify` always does.

Invariants
    I1  Readable by its owner only, from its first byte on; it takes its name when it is complete.
    I2  Forgetting a person removes it, and nothing kept before the last forgetting is used again.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.history.ledger.entries import MEMORY, WAS
from sfumato.history.ledger.person_files import overwrite_and_remove
from sfumato.io.file_contents import parse_json
from sfumato.io.plain_files import is_inner, is_part_file
from sfumato.policy.generalizations import keep_generalizations
from sfumato.policy.policy import Policy
from sfumato.release.folder import CERTIFICATE, MANIFEST, folder_cover, read_folder
from sfumato.release.past_releases import Memory, PastRelease, text_of
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView

_CELL = "cell:"
KEY, _ROW, _COUNT = "key", "row", "count"
"""What `Memory.to_arrow` calls them."""


def extract_files(files: Mapping[str, bytes], folder: Path) -> None:
    """The published files of an entry into a folder of our own; `Ledger.files` has seen to it that they stay there."""
    for name, content in files.items():
        if name not in (MEMORY, WAS):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def read_release(files: Mapping[str, bytes], number: int, when: str) -> PastRelease:
    """Everything of an entry."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        extract_files(files, folder)
        exhibit = read_folder(folder)
        exhibit = replace(exhibit, policy=keep_generalizations(exhibit.policy), folder=None)
    return PastRelease(exhibit, Memory.from_arrow(unpack_memory(files[MEMORY])), number, when)


def parts_listed(manifest: bytes) -> dict[str, str]:
    """The digests of the files of parts that are folders, by the word of a manifest."""
    listed = parse_json(manifest.decode())["files"]
    return {name: str(said["sha256"]) for name, said in listed.items() if is_part_file(name) and "rows" in said}


def lines_table(past: PastRelease) -> pa.Table:
    """A release that is remembered as lines, as one table: what is remembered, and what was published of it."""
    memory, shown = past.memory, past.exhibit.data
    cells = {f"{_CELL}{name}": text_of(shown, name).take(pa.array(memory.rows)) for name in shown.names}
    numbered = replace(memory, keys=tuple(map(str, range(len(memory.keys)))), rows=np.arange(len(memory.keys)))
    table = numbered.to_arrow()
    for name, column in cells.items():
        table = table.append_column(name, column)
    return table


def replace_cell(table: pa.Table, column: str, at: int, value: object) -> pa.Table:
    """The table with another value at one place of a column."""
    place, kind, whole = table.column_names.index(column), table.schema.field(column), table.column(column)
    pieces = [*whole.slice(0, at).chunks, pa.array([value], kind.type), *whole.slice(at + 1).chunks]
    return table.set_column(place, kind, pa.chunked_array(pieces, kind.type))


def split_line(lines: pa.Table, line: int) -> tuple[pa.Table, int]:
    """The same lines (`lines_table`), in which one of the people of a line has a line of their own; and which one that
    is.

    A line of one person is that. Else it counts one less, and one more line says the same of one person; all others
    keep their numbers, because a number is a place."""
    many = int(lines.column(_COUNT)[line].as_py())
    if many < 2:
        return lines, line
    new = lines.num_rows
    own = lines.slice(line, 1)
    for column, value in ((KEY, str(new)), (_ROW, new), (_COUNT, 1)):
        own = replace_cell(own, column, 0, value)
    return pa.concat_tables([replace_cell(lines, _COUNT, line, many - 1), own]), new


def read_lines(files: Mapping[str, bytes], number: int, when: str) -> PastRelease:
    """A release that is remembered as lines: its part is what they say was published, each with a count."""
    cover = read_cover(files.__getitem__, {})
    table = unpack_memory(files[MEMORY])
    memory = Memory.from_arrow(table)
    cells = {name.removeprefix(_CELL): table.column(name) for name in table.column_names if name.startswith(_CELL)}
    return PastRelease(replace(cover, parts={"data": Part(pa.table(cells), memory.counts)}), memory, number, when)


def read_cover(read: Callable[[str], bytes], policies: dict[str, Policy]) -> ReleaseView:
    """Form and policy of an entry, whose files `read` gives; a policy that several entries have is read once."""
    manifest = read(MANIFEST)
    listed = parse_json(manifest.decode())["files"]
    inner = [name for name in listed if "rows" not in listed[name] and name != CERTIFICATE and is_inner(name)]
    files = {name: read(name) for name in inner}
    said = hashlib.sha256(
        b"".join(hashlib.sha256(files[name]).digest() + name.encode() for name in sorted(files))
    ).hexdigest()
    with tempfile.TemporaryDirectory() as name:
        extract_files(files | {MANIFEST: manifest}, Path(name))
        cover = folder_cover(Path(name), policies.get(said))
        policies[said] = cover.policy if said in policies else keep_generalizations(cover.policy)
    return replace(cover, policy=policies[said])


def pack_memory(memory: pa.Table) -> bytes:
    """A memory as the bytes that an entry keeps."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, memory.schema, options=options) as writer:
        writer.write_table(memory)
    return sink.getvalue()


def unpack_memory(memory: bytes) -> pa.Table:
    """What `pack_memory` packed."""
    with pa.ipc.open_file(io.BytesIO(memory)) as reader:
        return reader.read_all()


# Kept
# ----


KEPT = "kept"
"""What an entry calls the digest of the file."""


def cache_path(ledger: Path) -> Path:
    """Where the file of a ledger lies."""
    return ledger.with_name(f"{ledger.name}.kept")


def cache_digest(content: bytes) -> str:
    """What the newest entry says of the file."""
    return hashlib.sha256(content).hexdigest()


def read_cache(ledger: Path, newest: Mapping[str, Any]) -> pa.Table | None:
    """What was kept with the newest entry; nothing where the file is not the one that the entry names (I2)."""
    path, wanted = cache_path(ledger), newest.get(KEPT)
    try:
        if not isinstance(wanted, str) or not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    if cache_digest(content) != wanted:
        return None
    with pa.ipc.open_file(io.BytesIO(content)) as reader:
        return reader.read_all()


def write_cache(ledger: Path, content: bytes) -> None:
    """Put the file in the place of the one before (I1)."""
    handle, draft = tempfile.mkstemp(prefix=f".{ledger.name}.", dir=ledger.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, cache_path(ledger))
    except BaseException:
        os.unlink(draft)
        raise


def remove_cache(ledger: Path) -> None:
    """Overwrite and remove the file (I2)."""
    path = cache_path(ledger)
    if path.is_file() and not path.is_symlink():
        overwrite_and_remove(path)
