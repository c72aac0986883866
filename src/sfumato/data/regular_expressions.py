"""Whether texts have a regular form, in time linear in the text: patterns of people are never run by a backtracking engine.

A pattern must mean the same to Python and to the linear engine (RE2, as it comes with Arrow): no look-around, no
references to groups, no possessive or atomic groups. ``\\d``, ``\\w`` and ``\\s`` are ASCII; the whole text must match.

>>> matches_pattern("(a|a)*b", ["a" * 5000, "aab"]).tolist()
[False, True]
>>> require_regular("(?=a)a")
Traceback (most recent call last):
sfumato.core.errors.PolicyError: the pattern has something that cannot be matched in linear time — use no look-around and no references
"""  # noqa: E501

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray
from sfumato.core.errors import PolicyError
from sfumato.data.text_values import labels_as_texts

LONGEST_PATTERN = 2000
"""The most characters of a pattern."""
DEEPEST_PATTERN = 50
"""How deep its brackets may be nested."""
_TWO_MEANINGS = re.compile(r"(?<!\\)\{,\d|\[\[:")
"""What the two engines read differently: ``{,n}`` and named classes."""


def require_regular(pattern: str, *, where: str = "") -> None:
    """Refuses a pattern that is no pattern, or that only a backtracking engine could match."""
    error = pattern_problem(pattern)
    if error is not None:
        raise PolicyError(error[0], where=where, hint=error[1])


@lru_cache(maxsize=256)
def pattern_problem(pattern: str) -> tuple[str, str, int] | None:
    """What is wrong with a pattern, what to try, at which character (-1: as a whole); nothing is tried before its size
    is known."""
    if len(pattern) > LONGEST_PATTERN:
        return f"the pattern is longer than {LONGEST_PATTERN} characters", "shorten it, or list the values", -1
    if max(accumulate((sign == "(") - (sign == ")") for sign in pattern), default=0) > DEEPEST_PATTERN:
        return "the pattern is nested too deep", "write it with fewer brackets", -1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern, re.ASCII)
    except re.error as error:
        return (
            f"the pattern cannot be read: {error.msg}",
            "check its brackets and signs",
            -1 if error.pos is None else error.pos,
        )
    except OverflowError:
        return "the pattern repeats something too often", "repeat it at most 1000 times", -1
    except FutureWarning:
        return (
            "the pattern has something that engines read differently",
            "write '{0,n}' and plain classes like [a-z]",
            -1,
        )
    if _TWO_MEANINGS.search(pattern):
        return (
            "the pattern has something that engines read differently",
            "write '{0,n}' and plain classes like [a-z]",
            -1,
        )
    try:
        pc.match_substring_regex(pa.array([""]), _whole(pattern))
    except pa.ArrowInvalid:
        return (
            "the pattern has something that cannot be matched in linear time",
            "use no look-around and no references",
            -1,
        )
    return None


def _whole(pattern: str) -> str:
    return rf"\A(?:{pattern})\z"


def matches_pattern(pattern: str, texts: Sequence[str] | NDArray[Any], *, longest: int | None = None) -> BoolArray:
    """Which of the texts match the pattern as a whole, and have at most `longest` characters."""
    require_regular(pattern)
    values = labels_as_texts(texts)
    found = pc.match_substring_regex(values, _whole(pattern))
    if longest is not None:
        found = pc.and_(found, pc.less_equal(pc.utf8_length(values), longest))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)
