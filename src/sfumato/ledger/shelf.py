"""Reading an entry's files as a release: only its cover, form and policy, or everything with what is remembered of it."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.io.json_text import parse_json
from sfumato.ledger.exchanged import WAS
from sfumato.policy.generalizations import keep_generalizations
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import CERTIFICATE, MANIFEST, folder_cover, read_folder
from sfumato.release.head import MEMORY
from sfumato.release.past import Memory, PastRelease, text_of
from sfumato.release.plain_files import in_folder, is_inner
from sfumato.release.release import Part

_CELL = "cell:"
KEY, _ROW, _COUNT = "key", "row", "count"
"""What `Memory.to_arrow` calls them."""


def lay_out(files: Mapping[str, bytes], folder: Path) -> None:
    """The published files of an entry into a folder of our own; `Ledger.files` has seen to it that they stay there."""
    for name, content in files.items():
        if name not in (MEMORY, WAS):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def read_release(files: Mapping[str, bytes], number: int, when: str) -> PastRelease:
    """Everything of an entry."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(files, folder)
        exhibit = read_folder(folder)
        exhibit = replace(exhibit, policy=keep_generalizations(exhibit.policy), folder=None)
    return PastRelease(exhibit, Memory.from_arrow(unpacked(files[MEMORY])), number, when)


def parts_listed(manifest: bytes) -> dict[str, str]:
    """The digests of the files of parts that are folders, by the word of a manifest."""
    listed = parse_json(manifest.decode())["files"]
    return {name: str(said["sha256"]) for name, said in listed.items() if in_folder(name) and "rows" in said}


def lines_table(past: PastRelease) -> pa.Table:
    """A release that is remembered as lines, as one table: what is remembered, and what was published of it."""
    memory, shown = past.memory, past.exhibit.data
    cells = {f"{_CELL}{name}": text_of(shown, name).take(pa.array(memory.rows)) for name in shown.names}
    numbered = replace(memory, keys=tuple(map(str, range(len(memory.keys)))), rows=np.arange(len(memory.keys)))
    table = numbered.to_arrow()
    for name, column in cells.items():
        table = table.append_column(name, column)
    return table


def put(table: pa.Table, column: str, at: int, value: object) -> pa.Table:
    """The table with another value at one place of a column."""
    place, kind, whole = table.column_names.index(column), table.schema.field(column), table.column(column)
    pieces = [*whole.slice(0, at).chunks, pa.array([value], kind.type), *whole.slice(at + 1).chunks]
    return table.set_column(place, kind, pa.chunked_array(pieces, kind.type))


def line_apart(lines: pa.Table, line: int) -> tuple[pa.Table, int]:
    """The same lines (`lines_table`), in which one of the people of a line has a line of their own; and which one that is.

    A line of one person is that. Else it counts one less, and one more line says the same of one person; all others keep their
    numbers, because a number is a place.
    """
    many = int(lines.column(_COUNT)[line].as_py())
    if many < 2:
        return lines, line
    new = lines.num_rows
    own = lines.slice(line, 1)
    for column, value in ((KEY, str(new)), (_ROW, new), (_COUNT, 1)):
        own = put(own, column, 0, value)
    return pa.concat_tables([put(lines, _COUNT, line, many - 1), own]), new


def read_lines(files: Mapping[str, bytes], number: int, when: str) -> PastRelease:
    """A release that is remembered as lines: its part is what they say was published, each with a count."""
    cover = read_cover(files.__getitem__, {})
    table = unpacked(files[MEMORY])
    memory = Memory.from_arrow(table)
    cells = {name.removeprefix(_CELL): table.column(name) for name in table.column_names if name.startswith(_CELL)}
    return PastRelease(replace(cover, parts={"data": Part(pa.table(cells), memory.counts)}), memory, number, when)


def read_cover(read: Callable[[str], bytes], policies: dict[str, Policy]) -> Exhibit:
    """Form and policy of an entry, whose files `read` gives; a policy that several entries have is read once."""
    manifest = read(MANIFEST)
    listed = parse_json(manifest.decode())["files"]
    inner = [name for name in listed if "rows" not in listed[name] and name != CERTIFICATE and is_inner(name)]
    files = {name: read(name) for name in inner}
    said = hashlib.sha256(b"".join(hashlib.sha256(files[name]).digest() + name.encode() for name in sorted(files))).hexdigest()
    with tempfile.TemporaryDirectory() as name:
        lay_out(files | {MANIFEST: manifest}, Path(name))
        cover = folder_cover(Path(name), policies.get(said))
        policies[said] = cover.policy if said in policies else keep_generalizations(cover.policy)
    return replace(cover, policy=policies[said])


def packed(memory: pa.Table) -> bytes:
    """A memory as the bytes that an entry keeps."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, memory.schema, options=options) as writer:
        writer.write_table(memory)
    return sink.getvalue()


def unpacked(memory: bytes) -> pa.Table:
    """What `packed` packed."""
    with pa.ipc.open_file(io.BytesIO(memory)) as reader:
        return reader.read_all()
