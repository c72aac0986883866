"""Measure the size and the structure of the source, and what one release runs through.

python -m benchmarks codebase            # the figures of the source
python -m benchmarks codebase update     # store them as limits, where they have shrunk
python -m benchmarks codebase walks      # files, functions and folder changes of a release of 300 rows

`tests/house/test_ratchets.py` compares the figures with the stored limits, which may only shrink. A limit is raised by
hand, in the commit that needs it, with the reason.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import tempfile
import tokenize
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "sfumato"
LIMITS = ROOT / "tests" / "house" / "ratchets.json"
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_STATES = ("ed", "en", "own", "old", "ept", "ade", "ought", "elt", "ent", "aid", "oken", "ing")
"""How names end that state a result ('counted', 'taken', 'told') instead of an act ('count')."""


def figures(source: Path = SOURCE) -> dict[str, int]:
    """Return the figures of a source tree."""
    trees = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    parsed = {place: ast.parse(text) for place, text in trees.items()}
    functions = [node for tree in parsed.values() for node in ast.walk(tree) if _is_function(node)]
    return {
        "files": len(trees),
        "code lines": sum(code_lines(text, parsed[place]) for place, text in trees.items()),
        "top folders": len({place.split("/")[0] for place in trees if "/" in place}),
        "modules with a single importer": len(single_importers(parsed)),
        "functions named by a participle": sum(_states_a_result(node.name) for node in functions),
        "lines of the largest module": max(len(text.splitlines()) for text in trees.values()),
        "modules above 700 lines": sum(len(text.splitlines()) > 700 for text in trees.values()),
    }


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _states_a_result(name: str) -> bool:
    """Whether a name is a participle alone, such as 'counted': nothing says what is counted or returned."""
    word = name.strip("_")
    return "_" not in word and word.endswith(_STATES)


def code_lines(text: str, tree: ast.Module) -> int:
    """Return the number of lines with code: no docstrings, imports, comments or blanks."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            skipped.update(range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            skipped.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    full: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            full.update(range(token.start[0], token.end[0] + 1))
    return len(full - skipped)


def single_importers(parsed: dict[str, ast.Module]) -> list[str]:
    """Return the modules that exactly one other module imports."""
    names = {place.removesuffix(".py").removesuffix("/__init__").replace("/", "."): place for place in parsed}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, place in names.items():
        for node in ast.walk(parsed[place]):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sfumato":
                module = str(node.module).removeprefix("sfumato").lstrip(".")
                for alias in node.names:
                    whole = f"{module}.{alias.name}".lstrip(".")
                    importers[whole if whole in names else module].add(name)
    folders = {name.rpartition(".")[0] for name in names}
    return sorted(name for name in names if len(importers[name] - {name}) == 1 and name not in folders)


class Walk:
    """Count what runs of the product between two moments: files, functions, calls, changes of the folder."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.functions: set[tuple[str, str]] = set()
        self.calls = self.changes = 0
        self._before = ""

    def __enter__(self) -> Walk:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, what: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(str(SOURCE)):
            return
        if frame.f_code.co_name in ("<module>", "<genexpr>", "<listcomp>", "<lambda>", "<dictcomp>", "<setcomp>"):
            return
        place = frame.f_code.co_filename
        folder = Path(place[len(str(SOURCE)) + 1 :]).parts[0]
        self.files.add(place)
        self.functions.add((place, frame.f_code.co_qualname))
        self.calls += 1
        self.changes += folder != self._before
        self._before = folder

    def __str__(self) -> str:
        return (
            f"{len(self.files):4} files {len(self.functions):6} functions {self.calls:8} calls"
            f" {self.changes:6} folder changes"
        )


def walks() -> None:
    """Publish 300 rows, verify them, and publish them again with a ledger; everything once before, so that it is
    warm."""
    import sfumato as sf

    data = {
        "age": [str(20 + index % 40) for index in range(300)],
        "sex": ["m" if index % 3 else "f" for index in range(300)],
        "town": [f"t{index % 7}" for index in range(300)],
        "illness": [f"i{index % 6}" for index in range(300)],
        "name": [f"n{index}" for index in range(300)],
    }
    policy = sf.Policy.parse({
        "version": 1,
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
            "sex": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive", "name": "identifier",
        },
        "key": "name", "protect": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 2}}], "method": {"mondrian": {}},
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for turn in ("warm", "told"):
            place = Path(folder) / turn
            place.mkdir()
            with Walk() as published:
                publication = sf.publish(policy, data)
            with Walk() as written:
                publication.write(place / "release")
            with Walk() as verified:
                sf.verify(place / "release", original=data)
            ledger = place / "book.ledger"
            with Walk() as first:
                sf.publish(policy, data, ledger=ledger, new_ledger=True).write(place / "first")
            with Walk() as second:
                sf.publish(policy, data, ledger=ledger).write(place / "second")
        for name, walk in {
            "publish": published,
            "write with reports": written,
            "verify with the original": verified,
            "first release with a ledger": first,
            "second release with a ledger": second,
        }.items():
            print(f"{name:30}{walk}")


def main() -> None:
    """Run what the command line names."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    if asked == "walks":
        walks()
        return
    found = figures()
    limits = json.loads(LIMITS.read_text(encoding="utf-8")) if LIMITS.is_file() else {}
    for name, value in found.items():
        print(f"{name:40}{value:8,}   limit {limits.get(name, value):8,}")
    if asked == "update":
        kept = {name: min(value, limits.get(name, value)) for name, value in found.items()}
        LIMITS.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
