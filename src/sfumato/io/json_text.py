"""JSON from files that anybody may have written: strict, and refused as a `ValueError` whatever is wrong with it.

>>> parse_json('{"a": [1, 2]}')
{'a': [1, 2]}
>>> parse_json("[" * 200_000)
Traceback (most recent call last):
ValueError: nested too deep
>>> parse_json('{"holds": false, "holds": true}')
Traceback (most recent call last):
ValueError: 'holds' stands twice
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn


def parse_json(text: str) -> Any:
    """The tree in a text; refuses repeated keys, which readers settle differently, numbers that are none, and endless nesting."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"'{key}' stands twice")
        found[key] = value
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
