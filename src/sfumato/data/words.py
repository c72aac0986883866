"""The words of a name: what a column is called, in lower case and in the singular.

>>> words("SupportRepId"), words("order_details"), words("Categories")
(('support', 'rep', 'id'), ('order', 'detail'), ('category',))
>>> says("date_of_birth", "birth date"), says("birthdate", "birth date"), says("gate", "date")
(True, True, False)
"""

from __future__ import annotations

import re
from functools import lru_cache

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "media": "medium", "data": "datum"}


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case and in the singular."""
    return tuple(_singular(piece.lower()) for piece in _PIECE.findall(name))


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def says(name: str, phrase: str) -> bool:
    """Whether a name contains all words of a phrase in any order, or the phrase written as one word."""
    found, asked = words(name), phrase.split()
    return set(asked) <= set(found) or "".join(asked) in found
