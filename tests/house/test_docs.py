"""Docs that lag behind the code fail here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from blueprint import ROOT, SOURCE, nodes, sheets

from reference_pages import DOCS, PAGES
from sfumato.ui.cli import SETTINGS, SUMMARIES, root

CITED = re.compile(r"\[([a-z][a-z-]*)\s+(?=§|\d|ch\.|[A-Z])")
"""A key and a place inside the paper: ``[sequential Def. 4.2]``."""
BY_YEAR = re.compile(r"\b(1[89]\d\d|20\d\d)\)")
"""The year that ends a citation: ``Samarati (2001)``, or ``(Goldberger, Tassa 2010)``."""
WHERE_PAGES_LOOK = (ROOT, SOURCE, SOURCE / "kinds", ROOT / "tests" / "house")
PAGE_NAMES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run: python -m reference_pages"


def test_links_lead_somewhere() -> None:
    lost = []
    for page in PAGE_NAMES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                lost.append(f"{page.name} links to {target}")
    assert lost == []


def test_files_and_rooms_that_pages_name_exist() -> None:
    lost = []
    for page in PAGE_NAMES:
        for name in re.findall(r"`([\w./-]+(?:\.py|/))`", page.read_text(encoding="utf-8")):
            within_a_family = list((SOURCE / "kinds").glob(f"*/{name}"))
            if not within_a_family and not any((place / name).exists() for place in WHERE_PAGES_LOOK):
                lost.append(f"{page.name} names {name}")
    assert lost == []


def entries() -> dict[str, str]:
    """key → text of the entry."""
    pieces = re.split(r"^@\w+\{", (DOCS / "papers.bib").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {piece.split(",", 1)[0]: piece for piece in pieces}


@cache
def written() -> list[tuple[str, str]]:
    """(file, text) of every docstring of the product, and of the ``paper`` a class declares, in brackets like a
    citation."""
    found = []
    for sheet in sheets():
        for node in nodes(sheet.tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                found.append((sheet.place, ast.get_docstring(node) or ""))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "paper":
                said = ast.literal_eval(node.value) if node.value else ""
                found.append((sheet.place, " ".join(f"[{part.strip()}]" for part in said.split(";"))))
    return found


@cache
def authors(entry: str) -> set[str]:
    return set(re.findall(r"(\w+), [A-Z]", entry))


def missing_keys(text: str, known: set[str]) -> set[str]:
    return set(CITED.findall(text)) - known


def missing_years(text: str, known: dict[str, str]) -> list[str]:
    """Years whose authors, named shortly before, have no entry of that year."""
    found = []
    for year in BY_YEAR.finditer(text):
        before = text[max(0, year.start() - 220) : year.start()]
        named = set(re.findall(r"\w+", before))
        if not any(named & authors(entry) for entry in known.values() if year[1] in entry):
            found.append(before[-40:] + year[0])
    return found


def test_papers_that_are_cited_have_an_entry() -> None:
    known, texts = entries(), written()
    by_key = {place: missing for place, text in texts if (missing := missing_keys(text, set(known)))}
    by_year = {place: missing for place, text in texts if (missing := missing_years(text, known))}
    assert by_key | by_year == {}


def test_entries_are_cited() -> None:
    """Bibliographies grow only by what is used, here or in the baselines."""
    everything = " ".join(text for _, text in written())
    everything += " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").rglob("*.py"))
    surname = {key: re.findall(r"(\w+), [A-Z]", entry)[0] for key, entry in entries().items()}
    words = set(re.findall(r"\w+", everything))
    unused = [key for key, name in surname.items() if f"[{key}" not in everything and name not in words]
    assert unused == []


def test_a_citation_without_an_entry_is_found() -> None:
    assert missing_keys("as in [nobody §3] and [versatile §2]", {"versatile"}) == {"nobody"}
    assert missing_years("Nobody and Else (1999)", entries())
    assert not missing_years("Samarati (2001)", entries())


def commands(command: click.Command = root, name: str = "sfumato") -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand with its full name."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in command.list_commands(context):
            child = command.get_command(context, below)
            assert child is not None
            yield from commands(child, f"{name} {below}")


def test_every_command_has_a_summary_and_every_summary_a_command() -> None:
    assert set(SUMMARIES) == set(root.list_commands(click.Context(root)))  # type: ignore[attr-defined]


def test_every_command_carries_the_settings_of_the_house() -> None:
    """Else the first call of a command, alone or under the root, decides what its help option is called."""
    assert [name for name, command in commands() if not SETTINGS.items() <= command.context_settings.items()] == []


def test_every_choice_of_an_option_is_known_beyond_the_command_line() -> None:
    """An option that offers a word which no other room has ever heard of is a phantom."""
    heard = {
        node.value
        for sheet in sheets()
        if sheet.room != "cli"
        for node in nodes(sheet.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    offered = [
        (name, choice)
        for name, command in commands()
        for option in command.params
        if isinstance(option.type, click.Choice)
        for choice in option.type.choices
    ]
    assert offered
    assert [pair for pair in offered if pair[1] not in heard] == []


def test_help_is_the_same_whoever_called_the_command_first() -> None:
    for name, command in commands():
        for parent in (None, click.Context(root, info_name="sfumato", **SETTINGS)):
            context = command.make_context(Path(name).name, [], parent=parent, resilient_parsing=True)
            assert "-h, --help" in command.get_help(context), name
