"""The private trace on disk, for releases whose later audits need it: beside the folder, never in it, readable by its owner only.

A replaced table whose rows are shuffled can be compared with its original record by record only by somebody who has the trace.
``DIR.private.trace`` holds the rows and what the method wants the audit to know; whoever has it can undo the shuffling.

Invariants
    I1  Written with mode 0600 from the first byte on, outside the release folder, and never through a link.
    I2  Plain arrays and texts only; nothing in the file is executed when it is read. The seed is not in it.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from sfumato.errors import ReleaseError
from sfumato.release.form import Form
from sfumato.release.plain_files import open_plain, replace_file
from sfumato.release.release import Trace

_COMMON = {"rows", "lasting"}


def trace_path(folder: Path) -> Path:
    """``DIR.private.trace`` beside the folder."""
    return folder.with_name(folder.name + ".private.trace")


def save_trace(trace: Trace, path: Path) -> Path:
    """Rows of the trace, and what its form adds to them."""
    packed = io.BytesIO()
    np.savez_compressed(packed, **dict(_flat({"rows": trace.rows, "extra": _extra(trace)})))
    return replace_file(path, packed.getvalue(), private=True)  # I1


def _extra(trace: Trace) -> dict[str, Any]:
    """What the trace of a form has beyond rows; what is not known is left out."""
    own = {field.name: getattr(trace, field.name) for field in fields(trace) if field.name not in _COMMON}
    plain = {name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in own.items()}
    return {name: value for name, value in plain.items() if value is not None}


def read_trace(path: Path, form: Form) -> Trace:
    """The trace beside a folder of this form; an empty one when there is none."""
    tree: dict[str, Any] = {"rows": {}, "extra": {}}
    try:
        with open_plain(path) as file, np.load(file, allow_pickle=False) as stored:  # I2
            for name in stored.files:
                _put(tree, name.split("/"), stored[name])
    except FileNotFoundError:
        return form.trace_type()()
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
        raise ReleaseError("the private trace cannot be read", where=str(path), hint="remove it to audit without it") from None
    kind = form.trace_type()
    known = {field.name for field in fields(kind)} - _COMMON
    if not set(tree["extra"]) <= known:
        raise ReleaseError("the private trace belongs to another form", where=str(path), hint="remove it to audit without it")
    return kind(tree["rows"], **tree["extra"], lasting=True)


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        path = prefix + str(name).replace("%", "%25").replace("/", "%2F")
        if isinstance(value, Mapping):
            yield from _flat(value, path + "/")
        else:
            yield path, np.asarray(sorted(value) if isinstance(value, frozenset) else value)


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name.replace("%2F", "/").replace("%25", "%"), {})
    last = path[-1].replace("%2F", "/").replace("%25", "%")
    tree[last] = value if value.ndim else value.item()
