"""What the name of a column says: its words, and the kind of personal data that they stand for.

A name is divided at underscores, blanks, digits and capital letters, and a word that is no known one is divided by a
dictionary (`passwordhash`, `geburtsdatum`, `nomdefamille`).

>>> words_of_name("SupportRepId"), words_of_name("order_details"), words_of_name("Categories")
(('support', 'rep', 'id'), ('order', 'detail'), ('category',))
>>> words_of_name("nationalidnumber"), words_of_name("addressline1"), words_of_name("Hauptdiagnose")
(('national', 'id', 'number'), ('address', 'line', '1'), ('haupt', 'diagnose'))
>>> name_contains("date_of_birth", "birth date"), name_contains("birthdate", "birth date"), name_contains("gate",
...     "date")
(True, True, False)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sfumato.data.personal_columns.vocabulary import KINDS, Phrase, Vocabulary, fold, vocabulary

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "media": "medium"} | {
    "datetime": "date",
    "timestamp": "date",
}
_ENDINGS = (
    ("s", ""),
    ("es", ""),
    ("en", ""),
    ("n", ""),
    ("e", ""),
    ("er", ""),
    ("oes", "ao"),
    ("i", "o"),
    ("i", "e"),
    ("e", "a"),
)
_LINKING = ("s", "es", "n", "en", "e", "er")
_SHORT = frozenset(
    (
        "id",
        "ip",
        "no",
        "nr",
        "nb",
        "cc",
        "at",
        "by",
        "on",
        "to",
        "of",
        "de",
        "di",
        "du",
        "da",
        "do",
        "la",
        "le",
        "is",
        "cv",
    )
)
_LONGEST, _LEAST = 60, 3
_BEGINNING = 5
"""Letters of a shortened word that is recognized by its beginning, at least."""
DATED = frozenset(("birth", "death", "event date"))
_NUMBERED = frozenset(("national id", "paper", "health plan"))
_NUMBERS_FIRST = frozenset(("numero", "num", "code", "codigo", "codice", "matricule", "nr", "no", "fk", "id"))
_CALLED = frozenset(("display", "alias"))


@dataclass(frozen=True, slots=True)
class NamedKind:
    """A kind of personal data and the words of the name that say so."""

    kind: str
    matched: str

    @property
    def reason(self) -> str:
        return f'matched "{self.matched}" ({KINDS[self.kind].title})'


# Words
# -----


@lru_cache(maxsize=8192)
def words_of_name(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case and in the singular."""
    plain = (
        name if name.isascii() else "".join(fold(sign).capitalize() if sign.isupper() else fold(sign) for sign in name)
    )
    return tuple(word for piece in _PIECE.findall(plain) for word in _divide(piece.lower()))


def name_contains(name: str, phrase: str) -> bool:
    """Return whether a name contains all words of a phrase in any order, or the phrase written as one word."""
    found, asked = words_of_name(name), phrase.split()
    return set(asked) <= set(found) or "".join(asked) in found


@lru_cache(maxsize=8192)
def _divide(word: str) -> tuple[str, ...]:
    """Return a word as it is known, or the known words that it consists of."""
    known = vocabulary()
    if (found := _known(word, known)) is not None:
        return (found,)
    return _joined(word, known) or (_singular(word),)


def _known(word: str, known: Vocabulary) -> str | None:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in known.spelled:
        return known.spelled[word]
    if len(word) > 4 and word.endswith("ies") and word[:-3] + "y" in known.spelled:
        return word[:-3] + "y"
    for ending, instead in _ENDINGS:
        stem = word[: -len(ending)] + instead
        if word.endswith(ending) and len(stem) >= _LEAST and stem in known.spelled:
            return known.spelled[stem]
    return None


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _joined(word: str, known: Vocabulary) -> tuple[str, ...]:
    """Divide a word into as few known words as possible; empty where that cannot be done."""
    size = len(word)
    if not 5 <= size <= _LONGEST or not word.isalpha():
        return ()
    best: list[tuple[float, tuple[str, ...]] | None] = [None] * (size + 1)
    best[size] = (0.0, ())
    for start in range(size - 2, -1, -1):
        for end in range(start + 2, size + 1):
            rest = best[end]
            found = (
                _part(word[start:end], known, inside=start > 0 and end < size, last=end == size)
                if rest is not None
                else None
            )
            if rest is None or found is None:
                continue
            cost = rest[0] + 1.0 + 0.5 * (end - start < 4)
            own = best[start]
            if own is None or cost < own[0] or (cost == own[0] and end - start > len(own[1][0])):
                best[start] = (cost, (found, *rest[1]))
    whole = best[0]
    if whole is not None and len(whole[1]) > 1:
        return tuple(part for part in whole[1] if part)
    return _compound(word, known)


def _part(part: str, known: Vocabulary, *, inside: bool, last: bool) -> str | None:
    """Return a known word that may stand there; short words only from a list, and links only between two others."""
    if part in known.group("link") and len(part) < 4:
        return part if inside and part in _SHORT | {"del", "des", "der", "van", "von", "the", "und"} else None
    if len(part) < _LEAST:
        return known.spelled.get(part, part) if part in _SHORT else None
    if part in known.spelled:
        return known.spelled[part]
    if len(part) > 3 and part.endswith("s") and part[:-1] in known.spelled and len(part) > _LEAST + 1:
        return known.spelled[part[:-1]]
    if not last:
        for link in _LINKING:
            stem = part.removesuffix(link)
            if stem != part and len(stem) > _LEAST and stem in known.compounds | known.group("person"):
                return known.spelled[stem]
    return None


def _compound(word: str, known: Vocabulary) -> tuple[str, ...]:
    """Divide a compound that ends with a known word after an unknown beginning."""
    for start in range(2, len(word) - 4):
        if (end := _known(word[start:], known)) is not None and end in known.compounds:
            return (word[:start], end)
    return ()


# Kinds
# -----


def is_about_persons(table: str) -> bool:
    """Return whether the rows of a table of this name are people.

    >>> [is_about_persons(name) for name in ("users", "user_profiles", "schools", "user_groups", "Person")]
    [True, True, False, False, True]
    """
    groups = vocabulary()
    said = [word for word in words_of_name(table) if not word.isdigit()]
    while len(said) > 1 and said[-1] in groups.group("record"):
        if said[-1] in groups.group("person"):
            return True
        said = said[:-1]
    return bool(said) and (said[-1] in groups.group("person") | groups.group("account") or _is_party(said))


def mentions_persons(table: str) -> bool:
    """Return whether a table is named after people or what belongs to them, as `customer_tokens` is."""
    words = words_of_name(table)
    return bool(set(words) & vocabulary().group("person")) or _is_party(list(words[:1]))


def _is_party(words: list[str]) -> bool:
    """Return whether a word stands alone for the partners of a company, as in `party` and `entity`."""
    return len(words) == 1 and words[0] in vocabulary().group("party")


def kinds_by_name(column: str, table: str = "") -> list[NamedKind]:
    """Return the kinds that a name is about, the likeliest first.

    >>> kinds_by_name("phonenumber")[0].kind, kinds_by_name("email_verified_at")
    ('phone', [])
    >>> kinds_by_name("name", "schools"), kinds_by_name("name", "pupils")[0].kind, kinds_by_name("file_name", "users")
    ([], 'name', [])
    """
    known = vocabulary()
    words = [word for word in words_of_name(column) if not word.isdigit()]
    own = [word for word in words if word not in known.group("link")] or words
    found = {
        phrase: _rank(phrase, own)
        for word in dict.fromkeys(own)
        for phrase in known.by_word.get(word, ())
        if _matches(phrase, own)
    }
    ranked = sorted(found, key=lambda phrase: found[phrase])
    kinds = [NamedKind(phrase.kind, phrase.written) for phrase in ranked if _speaks(phrase, own, table)]
    if not kinds or (KINDS[kinds[0].kind].role not in ("identifier", "drop") and len(ranked[0].words) == 1):
        kinds = [*_of_person(own, table), *kinds]
    first: dict[str, NamedKind] = {}
    for one in kinds or _shortened(own):
        first.setdefault(one.kind, one)
    return list(first.values())


def _shortened(own: list[str]) -> list[NamedKind]:
    """Return the kind of the only known words that a word of the name begins, where it points at nobody by itself.

    >>> _shortened(["relig"]), _shortened(["stat"])
    ([NamedKind(kind='religion', matched='religie')], [])
    """
    known, found = vocabulary(), []
    for short in (word for word in own if len(word) >= _BEGINNING and word not in known.spelled):
        longer = [phrase for phrase in known.phrases if phrase.words[0].startswith(short) and len(phrase.words) == 1]
        kinds = {phrase.kind for phrase in longer}
        if len(kinds) == 1 and KINDS[longer[0].kind].role not in ("identifier", "drop"):
            found.append(NamedKind(longer[0].kind, min((phrase.written for phrase in longer), key=len)))
    return found


def _matches(phrase: Phrase, own: list[str]) -> bool:
    """Return whether all words of a phrase occur in the name, next to each other in any order."""
    if phrase.exact or not set(phrase.words) <= set(own):
        return set(phrase.words) == set(own)
    places = [own.index(word) for word in phrase.words]
    return max(places) - min(places) < len(places)


def _rank(phrase: Phrase, own: list[str]) -> tuple[int, int, int, int, int]:
    """Order phrases: more words first, then whole names, then nearer to the word that says what the column is, then
    longer."""
    places = [own.index(word) for word in phrase.words]
    distance = len(own) - 1 - max(places) if phrase.head_last else min(places)
    return (-len(phrase.words), phrase.kind == "event date", not phrase.exact, distance, -len(phrase.written))


def _speaks(phrase: Phrase, own: list[str], table: str) -> bool:
    """Return whether the phrase is about the value: the number or type of a telephone, or the name of a thing, is
    none."""
    kind, groups = KINDS[phrase.kind], vocabulary()
    if kind.role not in ("identifier", "drop") and kind.treatment != "replace":
        return True
    ends = {own[-1]} | ({own[0]} & {"is", "has", "type", "tipo", "nb", "num"})
    if phrase.kind == "free text" and own[0] in groups.group("fault"):
        return False
    if ends & groups.group("about") - set(phrase.words) and not (own[-1] == "id" and phrase.kind in _NUMBERED):
        return False
    if phrase.kind in ("photo", "link", "name") and is_about_things(table):
        return bool(set(own) & groups.group("person"))
    if phrase.kind == "name" and table and not is_about_persons(table):
        return not (phrase.exact and phrase.words[0] in groups.group("name")) and not _CALLED & set(own)
    return phrase.kind not in ("name", "last name", "first name") or not _names_thing(own, table)


def is_about_things(table: str) -> bool:
    """Return whether the rows of a table of this name are things that nobody belongs to."""
    words = set(words_of_name(table))
    return bool(words & vocabulary().group("thing")) and not words & vocabulary().group("person")


def _names_thing(own: list[str], table: str) -> bool:
    """Return whether the word before "name" is a thing."""
    groups = vocabulary()
    names = [place for place, word in enumerate(own) if word in groups.group("name")]
    return any(place and own[place - 1] in groups.group("thing") - _CALLED for place in names)


def _of_person(own: list[str], table: str) -> list[NamedKind]:
    """Return names and numbers of people: a word for a person beside a word for a name or a number."""
    groups = vocabulary()
    person = [word for word in own if word in groups.group("person")]
    above = {"parent", "child"} & set(own[:-2])  # parent_phase_name is the name of a phase
    if not person or (above and own[-1] in groups.group("name") and not set(own[1:]) & groups.group("person")):
        return []
    if groups.group("name") & set(own) and own[-1] not in groups.group("about") and not _names_thing(own, table):
        return [NamedKind("name", " ".join(own))]
    numbered = own[-1] if own[-1] in groups.group("number") else own[0] if own[0] in _NUMBERS_FIRST else ""
    beside = own[-2:-1] if numbered == own[-1] else own[1:2]
    counted = {word for word in person if any(phrase.kind == "family" for phrase in groups.by_word.get(word, ()))}
    return [NamedKind("person number", " ".join(own))] if numbered and set(beside) & (set(person) - counted) else []


def kind_by_name(column: str, table: str = "", *, dated: bool = False) -> NamedKind | None:
    """Return the likeliest kind of a name; of a column of dates only kinds of dates."""
    return next((one for one in kinds_by_name(column, table) if not dated or one.kind in DATED), None)
