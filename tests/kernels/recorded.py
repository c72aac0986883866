"""Small calls of every entry of the library of compiled kernels, recorded while tests ran on data of our own making.

``python -m tests.kernels.recorded tests/… tests/…`` records them anew into ``calls.npz``: of every entry the smallest
call and the largest one that is still small. Entries that those tests do not call keep the calls that are there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.core.compiled import Loop, native
from sfumato.core.compiled.native import Signature, signatures, symbol

CALLS = Path(__file__).parent / "calls.npz"
MOST = 8_000
"""Bytes of the arguments of a call that is still small."""


def leaves(value: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of nested tuples."""
    if isinstance(value, tuple):
        for one in value:
            yield from leaves(one)
    else:
        yield value


def rebuilt(form: Any, given: Iterator[Any]) -> Any:
    """Return the arguments of a type as numba writes it from their leaves."""
    if hasattr(form, "types"):
        inner = [rebuilt(one, given) for one in form.types]
        return form.instance_class(*inner) if hasattr(form, "instance_class") else tuple(inner)
    value = next(given)
    return value if value.ndim else value if value.dtype == np.uint64 else value.item()


def calls(module: str = "") -> Iterator[tuple[Signature, str, tuple[Any, ...]]]:
    """Yield (signature, name of the call, arguments) of every recorded call, or of those of one module."""
    from sfumato.core.compiled.translate import argument_types

    with np.load(CALLS) as stored:
        for signature in [one for one in signatures() if module in ("", one[0])]:
            for which in ("smallest", "largest"):
                name = f"{symbol(signature)}-{which}"
                parts = [
                    stored[f"{name}-{number}"]
                    for number in range(sum(key.startswith(f"{name}-") for key in stored.files))
                ]
                if parts:
                    yield signature, which, rebuilt(argument_types(signature[2]), iter(parts))


class Recorder:
    """Keeps the arguments of small calls."""

    def __init__(self) -> None:
        self.kept: dict[str, list[np.ndarray]] = {}
        usual = Loop.__call__

        def call(kernel: Loop, *arguments: Any, **named: Any) -> Any:
            self.keep(kernel, arguments)
            return usual(kernel, *arguments, **named)

        Loop.__call__ = call  # type: ignore[method-assign]

    def keep(self, loop: Any, arguments: tuple[Any, ...]) -> None:
        parts = [np.asarray(one) for one in leaves(arguments)]
        size = sum(part.nbytes for part in parts)
        try:
            types = " ".join([native.described(one, native.CallWords()) for one in arguments])
        except native._Foreign:
            return
        signature = (loop.py_func.__module__, loop.py_func.__name__, types)
        if signature not in signatures():
            return
        for which, better in (("smallest", lambda new, old: new < old), ("largest", lambda new, old: new > old)):
            name = f"{symbol(signature)}-{which}"
            if which == "largest" and size > MOST:
                continue
            if name not in self.kept or better(size, sum(part.nbytes for part in self.kept[name])):
                self.kept[name] = [part.copy() for part in parts]


def main(tests: list[str]) -> int:
    """Run tests and store the calls."""
    recorder = Recorder()
    code = pytest.main(["-q", "-n", "0", "-p", "no:randomly", "-k", "not public", *tests])
    found = {f"{name}-{number}": part for name, parts in recorder.kept.items() for number, part in enumerate(parts)}
    if CALLS.exists():
        with np.load(CALLS) as stored:
            wanted = {symbol(signature) for signature in signatures()}
            old = {key: stored[key] for key in stored.files if key.split("-")[0] in wanted}
            found = {**{key: part for key, part in old.items() if key.rsplit("-", 1)[0] not in recorder.kept}, **found}
    np.savez_compressed(CALLS, **found)
    print(len({key.split("-")[0] for key in found}), "of", len(signatures()), "entries,", CALLS.stat().st_size, "bytes")
    print(*[symbol(one) for one in signatures() if f"{symbol(one)}-smallest-0" not in found], sep="\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
