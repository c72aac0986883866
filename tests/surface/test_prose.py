"""Help, messages, docstrings and documentation are plain: short sentences, and no coined words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.ui.cli import all_help

ROOT = Path(__file__).resolve().parents[2]
LONG = 25
"""Words of a sentence above which it is long."""
COINED = re.compile(
    r"\b(whoever|of whom|to whom|of which nobody|nobody else|withheld|stands? in|stood in|newcomers?"
    r"|exhibits?|the floor"
    r"|the spine|house|room|corridor|deals?|dealt|laid beside|beside others|misfits?|untold|alibi|kept apart"
    r"|what is lost|still good for|is told|are told|was told|says nothing|goes by|by chance)\b",
    re.IGNORECASE,
)
GONE = (
    "misfits 0", "misfits 9", "disagreements 0", "damaged 0", "rows 0 (", "miscounted 0", "contradictions 0",
    "columns 0 (",     "thresholds 0", "untied 0", "(asked", "records with refined", "stood in for",
    "because it gives the least loss", "at most half a second for every", "the source was read to say this;",
    "no other row has, published as it is", "nothing speaks against", "rather keep to themselves",
    "has a text of its own in", "if it numbers people", "look at every line before", "says the same in every row",
    "without a '#' they are on", "chance 10^", "chance below 10^", "by names and looks", ": right about",
    "are unique in few values", "Of larger tables", "How many work at once", "Make now what would be compiled",
    "the files are not what they should be", "imports no method and reads only", "one that the form can serve",
    "can take them away", "what it is still good for", "keys that stand twice", "stands beside somebody who left",
    "is not told where rows lie", "words for nothing", "whoever",
)  # fmt: skip
"""What the 42 examples of the newcomer's review said, and what must stand in no output and no page any more."""


def sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Sentences with their words, as ``prose`` counts them."""
    for block in re.split(r"\n\s*\n|\n(?=\n)", text):
        for one in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(*`])", " ".join(block.split())):
            words = re.findall(r"[A-Za-zÀ-ÿ'’-]+|\d[\d.,%]*", one)
            if len(words) >= 3:
                yield one, words


def count(text: str) -> tuple[float, float, float]:
    """Mean words of a sentence, share of long ones, and coined words in 1,000."""
    found = list(sentences(text))
    words = sum(len(each) for _, each in found)
    coined = sum(len(COINED.findall(one)) for one, _ in found)
    return words / len(found), sum(len(each) > LONG for _, each in found) / len(found), 1000 * coined / words


def plain(markdown: str) -> str:
    """The prose of a page: no code, no tables, no headings."""
    text = re.sub(r"^```.*?^```", " ", markdown, flags=re.DOTALL | re.MULTILINE)
    lines = ["" if re.match(r"\s*(<|!\[|#|:::|---|\|)", line) else line for line in text.splitlines()]
    text = "\n".join(re.sub(r"^\s*([-*]|\d+\.)\s+", "\n", line) for line in lines)
    return re.sub(r"`[^`]*`", "code", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def code_text(path: Path) -> str:
    """Docstrings and messages of a module."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (said := ast.get_docstring(node)):
            found.append(re.split(r"\n\s*(?:Parameters|>>> |Returns)\b", said)[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 4:
            found += [] if "\n" in node.value else [node.value]
    return "\n\n".join(re.sub(r"`[^`]*`", "code", one) for one in found)


PACKAGES = {
    folder.name: "\n\n".join(code_text(file) for file in sorted(folder.rglob("*.py")))
    for folder in sorted((ROOT / "src" / "sfumato").iterdir())
    if folder.is_dir() and folder.name != "__pycache__"
}
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")]


def test_docstrings_and_messages_are_plain() -> None:
    _, long, coined = count("\n\n".join(PACKAGES.values()))
    assert long < 0.055, "rounded, at most 5 % of the sentences are long"
    assert coined <= 0.3


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_no_package_is_hard_to_read(package: str) -> None:
    mean, long, coined = count(PACKAGES[package])
    assert (mean <= 18, long <= 0.1, coined <= 1.0) == (True, True, True), (mean, long, coined)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_plain(page: Path) -> None:
    text = plain(page.read_text(encoding="utf-8"))
    if len(list(sentences(text))) < 5:
        return
    mean, long, _ = count(text)
    assert mean <= 18 and long <= 0.18, (mean, long)


def test_help_is_plain_and_has_no_coined_word() -> None:
    for name, text in all_help():
        about = " ".join(text.split())
        assert not COINED.search(about), (name, COINED.search(about))


def test_what_the_review_named_is_gone() -> None:
    """`asked:` is looked for with its mark, since a sentence may end with the word."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES} | PACKAGES | dict(all_help())
    found = [(name, gone) for name, text in texts.items() for gone in GONE if gone in text]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "Whoever stands beside somebody who left, of whom a new column was never told, shows a star in it.",
        "This sentence " + "and more of it " * 9 + "is far too long to be read once.",
    ],
)
def test_the_count_finds_what_is_not_plain(text: str) -> None:
    _, long, coined = count(text)
    assert long > 0.18 or coined > 1
