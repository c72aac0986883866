"""Run the code blocks of a documentation page, and compare or rewrite the output that it shows.

    python -m tests.pages.page_runner docs/tutorials/first-table.md            # run and compare python -m
    tests.pages.page_runner --update docs/tutorials docs/how-to      # run and write the real output into the pages

A page is run from top to bottom in an empty folder that has the files of ``docs/examples``.

- A block with ``title="NAME"`` is written to that file.
- A ``sh`` block is run line by line. ``sfumato`` runs in this process; a few plain tools run as programs; set-up lines
  are skipped. Environment variables like ``$SHOP_SOURCE`` are replaced.
- A ``python`` block without a title is executed; all such blocks of a page share their names.
- ``<!-- exit 1 -->`` before a block: its last command ends with this exit code. Otherwise every command must end with
  0.
- ``<!-- output -->`` before a ``text`` block: it shows what the last block printed. ``<!-- output: first 5 -->`` shows
  the first five lines, ``<!-- output: with WORD -->`` the lines that contain the word. ``random output`` is shown and
  updated, but not compared.
- ``<!-- not run: REASON -->`` before a block: it is skipped.

Numbers are compared as numbers of any value, because releases are random.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from tests.command_line import run

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
SET_UP = ("pip ", "make ", "git ", "cd ", "pre-commit ", "docker ", "sfumato studio")
TOOLS = ("cat", "cp", "head", "ls", "mkdir", "mv", "openssl", "psql", "python", "rm", "wc")
FENCE = re.compile(r"^( *)```(\w*)(.*)$")


class PageFailed(AssertionError):
    """A block of a page does not do what the page says."""


@dataclass
class Block:
    """A fenced block: its lines in the page, its language, title and the directive before it."""

    first: int
    last: int
    language: str
    title: str
    directive: str
    text: str


def blocks(lines: list[str]) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    start: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(lines):
        match = FENCE.match(line)
        if match is None:
            continue
        if start is None:
            start = number, match
            continue
        first, opening = start
        before = next((text.strip() for text in reversed(lines[:first]) if text.strip()), "")
        directive = before.removeprefix("<!--").removesuffix("-->").strip() if before.startswith("<!--") else ""
        title = re.search(r'title="([^"]+)"', opening[3])
        text = "\n".join(line.removeprefix(opening[1]) for line in lines[first + 1 : number])
        yield Block(first, number, opening[2], title[1] if title else "", directive, text)
        start = None


def run_page(page: Path, folder: Path, update: bool = False) -> list[str]:
    """Run a page in a folder; return its lines, with the real output if `update` is set."""
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.executescript((folder / "shop.sql").read_text(encoding="utf-8"))
    lines = page.read_text(encoding="utf-8").splitlines()
    names: dict[str, object] = {"__name__": "page"}
    printed, shown = "", list(lines)
    moved = 0
    for block in blocks(lines):
        where = f"{page.name}:{block.first + 1}"
        if block.directive.startswith("not run:"):
            continue
        if block.directive.startswith(("output", "random output")):
            real = _selected(printed, block.directive)
            if not real:
                raise PageFailed(f"{where}: no line of the output is chosen by <!-- {block.directive} -->")
            if update:
                shown[block.first + 1 + moved : block.last + moved] = real.splitlines()
                moved += len(real.splitlines()) - (block.last - block.first - 1)
            elif block.directive.startswith("output") and _alike(real) != _alike(block.text):
                raise PageFailed(
                    f"{where} shows\n{block.text}\n\nreal output:\n{real}\n\n(python -m tests.pages.page_runner"
                    " --update)"
                )
        elif block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text + "\n", encoding="utf-8")
        elif block.language in ("sh", "bash"):
            printed = _shell(block, folder, where)
        elif block.language == "python":
            printed = _python(block.text, names, folder, where)
    return shown


def _shell(block: Block, folder: Path, where: str) -> str:
    code = re.match(r"exit (\d+)", block.directive)
    commands = [re.sub(r"\s+#\s.*$", "", line).strip() for line in block.text.replace("\\\n", " ").splitlines()]
    commands = [line for line in commands if line and not line.startswith("#")]
    printed = []
    for number, command in enumerate(commands, start=1):
        expected = int(code[1]) if code and number == len(commands) else 0
        if not command.startswith(SET_UP):
            printed.append(_command(command, folder, expected, where))
    return "".join(printed)


def _command(command: str, folder: Path, expected: int, where: str) -> str:
    line, _, target = command.partition(" > ")
    words = [os.path.expandvars(word) for word in shlex.split(line)]
    if words[0] == "sfumato":
        done = run(*words[1:], cwd=folder)
    elif words[0] in TOOLS:
        words[0] = sys.executable if words[0] == "python" else words[0]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    else:
        raise PageFailed(f"{where}: a page may not run {words[0]!r}")
    if done.returncode != expected:
        raise PageFailed(
            f"{where}: {command!r} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    if target:
        (folder / target.strip()).write_text(done.stdout, encoding="utf-8")
        return done.stderr
    return (done.stdout + done.stderr).replace(f"{folder}{os.sep}", "").replace(str(folder), ".")


def _python(text: str, names: dict[str, object], folder: Path, where: str) -> str:
    out = io.StringIO()
    try:
        with chdir(folder), redirect_stdout(out):
            exec(compile(text, where, "exec"), names)
    except Exception as error:
        raise PageFailed(f"{where}: {type(error).__name__}: {error}") from error
    return out.getvalue().replace(f"{folder}{os.sep}", "")


def _selected(printed: str, directive: str) -> str:
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    if first := re.search(r"output: first (\d+)$", directive):
        lines = lines[: int(first[1])]
    elif containing := re.search(r"output: with (.+)$", directive):
        lines = [line for line in lines if re.search(containing[1], line)]
    return "\n".join(lines)


def _alike(text: str) -> list[str]:
    """The words of a text, numbers and digests as a sign each."""
    plain = re.sub(r"\b[0-9a-f]{16,}\b", "#", text)
    plain = re.sub(r"\d[\d.,:e+-]*", "#", plain)
    return re.sub(r"[#–—-]+", "#", re.sub(r"#\s*%", "#%", plain)).split()


def pages(places: list[Path]) -> list[Path]:
    """All pages in the given files and folders."""
    return [page for place in places for page in (sorted(place.rglob("*.md")) if place.is_dir() else [place])]


def main() -> None:
    """Run pages from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the real output into the pages")
    parser.add_argument("places", nargs="*", type=Path, default=[ROOT / "docs" / "tutorials", ROOT / "docs" / "how-to"])
    given = parser.parse_args()
    failed = 0
    for page in pages(given.places):
        with tempfile.TemporaryDirectory() as folder:
            try:
                lines = run_page(page, Path(folder).resolve(), given.update)
            except PageFailed as failure:
                print(f"{page}: FAILED\n{failure}\n")
                failed += 1
                continue
        if given.update:
            page.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{page}: ran")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
