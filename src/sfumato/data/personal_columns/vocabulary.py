"""Words and kinds by which personal columns are recognized, read once from the files in ``words/``.

One file per language has a line per kind with its phrases, and lines that begin with ``@`` with groups of words:

    @person   words for people                    @number   words for a number or code of something
    @name     words for "name"                    @thing    things that have names and are no people
    @about    words for facts about a value (``email_count``), which make a name that of no personal value
    @record   words after a person in the name of a table whose rows are still people
    @talk     tables in which people write         @place    tables of places
    @party    whole names of tables of the partners of a company
    @trace    tables that say what people did
    @fault    words that make a message one of the program
    @link     words without meaning of their own   @yes      words for yes and no

>>> KINDS["email"].role, KINDS["email"].hipaa, KINDS["income"].title if "income" in KINDS else KINDS["money"].title
('identifier', 'F', 'financial information')
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Literal

ProposedRole = Literal["identifier", "quasi-identifier", "sensitive", "other", "drop"]
Treatment = Literal["replace", "ask", "beside", "keep"]
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
_HEAD_LAST = ("en", "de", "nl")
"""Languages whose compounds end with what they are."""
_COMPOUNDS = ("de", "nl")
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "'": " "})
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"})


@dataclass(frozen=True, slots=True)
class PersonalKind:
    """One kind of column."""

    name: str
    role: ProposedRole
    hipaa: str
    """The letter of HIPAA's safe harbor; empty for kinds that it does not list."""
    treatment: Treatment
    """What a draft for a database does: replace, ask, replace beside other personal columns, or keep."""
    title: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that name a kind."""

    words: tuple[str, ...]
    kind: str
    exact: bool
    """Whether the words must be the whole name."""
    head_last: bool
    written: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All phrases and groups of words."""

    phrases: tuple[Phrase, ...]
    groups: dict[str, frozenset[str]]
    spelled: dict[str, str]
    """Every word, and the same word spelled otherwise (ae for ä), with the spelling that phrases use."""
    compounds: frozenset[str]
    """Words that may end a compound whose beginning is unknown."""
    by_word: dict[str, tuple[Phrase, ...]] = field(default_factory=dict)

    def group(self, name: str) -> frozenset[str]:
        return self.groups.get(name, frozenset())


def fold(text: str) -> str:
    """Return a text in lower case without accents.

    >>> fold("Straße"), fold("Prénom"), fold("Größe")
    ('strasse', 'prenom', 'grosse')
    """
    if text.isascii():
        return text.lower().replace("'", " ")
    plain = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


def _lines(file: str) -> Iterator[str]:
    text = resources.files(__package__).joinpath("words", file).read_text(encoding="utf-8")
    return (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _entries(file: str) -> Iterator[tuple[str, list[str]]]:
    for line in _lines(file):
        key, _, rest = line.partition(":")
        yield key.strip(), [entry.strip() for entry in rest.split(",") if entry.strip()]


def _kinds() -> dict[str, PersonalKind]:
    rows = csv.reader(_lines("kinds.csv"), delimiter=";")
    next(rows)
    return {name: PersonalKind(name, role, hipaa, treatment, title) for name, role, hipaa, treatment, title in rows}  # type: ignore[arg-type]


KINDS: dict[str, PersonalKind] = _kinds()
"""Every kind by its name, identifying ones first."""


@cache
def vocabulary() -> Vocabulary:
    """Return the words of all languages."""
    phrases: list[Phrase] = []
    groups: dict[str, set[str]] = {}
    spelled: dict[str, str] = {}
    compounds: set[str] = set()
    for language in LANGUAGES:
        lines = dict(_entries(f"{language}.txt"))
        links = {word for entry in lines["@link"] for word in _spell(entry, spelled)}
        for key, entries in lines.items():
            for entry in entries:
                words = _spell(entry.removeprefix("="), spelled)
                if key.startswith("@"):
                    groups.setdefault(key[1:], set()).update(words)
                else:
                    own, exact = _without(tuple(words), links), entry.startswith("=")
                    phrases.append(Phrase(own, key, exact, language in _HEAD_LAST, entry.removeprefix("=")))
                if language in _COMPOUNDS:
                    compounds |= {word for word in words if len(word) > 5 or word == "datum"}
    for line in _lines("common.txt"):
        for word in line.split():
            spelled.setdefault(word, word)
    by_word: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        by_word.setdefault(phrase.words[0], []).append(phrase)
    frozen = {name: frozenset(words) for name, words in groups.items()}
    return Vocabulary(
        tuple(phrases), frozen, spelled, frozenset(compounds), {word: tuple(own) for word, own in by_word.items()}
    )


def _spell(entry: str, spelled: dict[str, str]) -> list[str]:
    words = fold(entry).split()
    for word, other in zip(words, fold(entry.lower().translate(_UMLAUTS)).split(), strict=True):
        spelled[word] = word
        spelled.setdefault(other, word)
    return words


def _without(words: tuple[str, ...], links: set[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in links) or words


@cache
def value_words(kind: str) -> frozenset[str]:
    """Return the words that values of a kind consist of."""
    return frozenset(fold(word) for key, entries in _entries("values.txt") if key == kind for word in entries)


@cache
def people_names(which: Literal["given", "family"]) -> frozenset[str]:
    """Return common given or family names."""
    return frozenset(name for line in _lines(f"{which}_names.txt") for name in line.split())
