r"""Read and replace single values inside json and xml documents, by path.

Notation
    path    `$.user.email`: a key of an object or an element of an xml document per step; lists are passed through, so
            `$.friends.name` is the name of every friend. A step `*` is any key, `@id` an attribute of an xml element
    value   a text or number of a json document; the text of an xml element without elements inside, or an attribute

What stands at a path and is no single value (an object, a text between elements) is emptied: it may hold anything.

>>> rewrite_document('{"a": 1.50, "u": [{"mail": "x@y.org"}, {"mail": null}]}', {"$.u.mail": lambda old: "new"})
'{"a": 1.50, "u": [{"mail": "new"}, {"mail": null}]}'
>>> rewrite_document('<p a="1"><n>Ann &amp; Bo</n><m/></p>', {"$.p.n": lambda old: old.lower() + "<"})
'<p a="1"><n>ann &amp; bo&lt;</n><m/></p>'
>>> values_in_document('{"u": {"mail": "x@y.org"}}', "$.u.mail"), values_in_document('<p id="7"/>', "$.p.@id")
(['x@y.org'], ['7'])
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, unescape

from sfumato.core.errors import DataError

_STEP = re.compile(r"\.(\*|@?[^.\[\]@*]+)|\[\*\]")
_MARK = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(?P<data>.*?)\]\]>|<!(?:[^<>\[]|\[.*?\])*>"
    r"|</(?P<end>[^\s<>]+)\s*>|<(?P<begin>[^\s<>/!?]+)(?P<more>(?:\s+[^\s=<>/]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(?P<alone>/?)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"(\s+)([^\s=<>/]+)(\s*=\s*)(\"[^\"]*\"|'[^']*')")
_QUOTES = {"&quot;": '"', "&apos;": "'"}

Change = Callable[[str], str | None]
"""A new value for an old one; None empties."""


def steps_of_path(path: str) -> tuple[str, ...]:
    """Return the steps of a path; empty where it is none.

    >>> steps_of_path("$.a.b"), steps_of_path("$.list[*].*"), steps_of_path("a.b"), steps_of_path("$")
    (('a', 'b'), ('list', '*'), (), ())
    """
    rest, found, place = path[1:], [], 0
    if not path.startswith("$"):
        return ()
    while place < len(rest):
        step = _STEP.match(rest, place)
        if step is None:
            return ()
        found += [step[1]] if step[1] else []
        place = step.end()
    return tuple(found)


def rewrite_document(text: str, changes: Mapping[str, Change]) -> str:
    """Return a document with the values at some paths replaced; a text without such values comes back as it was."""
    steps = {steps_of_path(path): change for path, change in changes.items()}
    plain = text.lstrip()
    if plain.startswith("<"):
        return _rewrite_xml(text, steps)
    if not plain:
        return text
    try:
        read = json.loads(text, parse_float=_Spelled, parse_int=_Spelled)
    except (ValueError, RecursionError) as error:
        raise DataError(
            "a value is neither a json nor an xml document", hint="replace the whole column instead"
        ) from error
    met: list[bool] = []
    made = _rewrite_json(read, (), steps, met)
    return _spell(made) if met else text


def values_in_document(text: str, path: str) -> list[str]:
    """Return the single values at a path, in the order of the document."""
    found: list[str] = []

    def keep(old: str) -> str | None:
        found.append(old)
        return old

    rewrite_document(text, {path: keep})
    return found


def leaves_of_document(text: str) -> list[tuple[str, str]]:
    """Return path and value of everything in a document that is text or number.

    >>> leaves_of_document('{"a": {"b": ["x", 2, true]}}'), leaves_of_document('<p a="1"><n>Ann</n></p>')
    ([('$.a.b', 'x'), ('$.a.b', '2')], [('$.p.@a', '1'), ('$.p.n', 'Ann')])
    """
    if not text.lstrip().startswith("<"):
        return (
            list(_json_leaves(json.loads(text, parse_float=_Spelled, parse_int=_Spelled), "$")) if text.strip() else []
        )
    found: list[tuple[str, str]] = []
    place, last = ["$"], 0
    for mark in _MARK.finditer(text):
        if text[last : mark.start()].strip():
            found.append((".".join(place), unescape(text[last : mark.start()].strip(), _QUOTES)))
        last = mark.end()
        if mark["end"] is not None:
            place = place[:-1] if len(place) > 1 else place
        elif mark["begin"] is not None:
            own = [*place, mark["begin"].rpartition(":")[2]]
            for _, name, _, quoted in _ATTRIBUTE.findall(mark["more"] or ""):
                if not name.startswith("xmlns"):
                    found.append((".".join([*own, "@" + name.rpartition(":")[2]]), unescape(quoted[1:-1], _QUOTES)))
            place = place if mark["alone"] else own
        elif mark["data"]:
            found.append((".".join(place), mark["data"]))
    return found


def without_values(text: str, paths: Iterator[str] | tuple[str, ...]) -> str:
    """Return what is left of a document when the values at some paths are taken away."""
    return rewrite_document(text, dict.fromkeys(paths, lambda old: None))


# json
# ----


class _Spelled(str):
    """A number as the document spells it."""


def _json_leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _json_leaves(one, f"{path}.{key}")
    elif isinstance(value, list):
        for one in value:
            yield from _json_leaves(one, path)
    elif isinstance(value, str):
        yield path, str(value)


def _reaches(place: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    return len(place) == len(steps) and all(step in ("*", key) for step, key in zip(steps, place, strict=True))


def _rewrite_json(value: Any, place: tuple[str, ...], steps: Mapping[tuple[str, ...], Change], met: list[bool]) -> Any:
    if isinstance(value, list):
        return [_rewrite_json(one, place, steps, met) for one in value]
    change = next((change for wanted, change in steps.items() if _reaches(place, wanted)), None)
    if change is None:
        if isinstance(value, dict):
            return {key: _rewrite_json(one, (*place, key), steps, met) for key, one in value.items()}
        return value
    if value is None:
        return None
    met.append(True)
    if isinstance(value, dict | bool):
        return None
    new = change(str(value))
    if isinstance(value, _Spelled) and new is not None and re.fullmatch(r"-?\d+(\.\d+)?", new):
        return _Spelled(new)
    return None if new is None else str(new)


def _spell(value: Any) -> str:
    """Write a document as PostgreSQL writes jsonb."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {_spell(one)}" for key, one in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_spell, value)) + "]"
    return str(value) if isinstance(value, _Spelled) else json.dumps(value, ensure_ascii=False)


# xml
# ---


def _rewrite_xml(text: str, steps: Mapping[tuple[str, ...], Change]) -> str:
    """Return the document with texts and attributes replaced; everything else stays sign by sign.

    Names are compared without their prefix. Texts below a path are emptied."""
    made: list[str] = []
    open_elements: list[str] = []
    inner: list[bool] = []  # whether an open element has elements inside
    last = 0
    for mark in _MARK.finditer(text):
        if mark.start() > last:
            made.append(_text_piece(text[last : mark.start()], open_elements, inner, steps))
        last = mark.end()
        if mark["data"] is not None:
            change = _change_at(tuple(open_elements), steps)
            made.append(mark[0] if change is None else escape(change(mark["data"]) or ""))
        elif mark["end"] is not None:
            if open_elements:
                open_elements.pop()
                inner.pop()
            made.append(mark[0])
        elif mark["begin"] is not None:
            name = mark["begin"].rpartition(":")[2]
            place = (*open_elements, name)
            if inner:
                inner[-1] = True
            made.append(_with_attributes(mark, place, steps))
            if not mark["alone"]:
                open_elements.append(name)
                inner.append(False)
        else:
            made.append(mark[0])
    if last < len(text):
        made.append(_text_piece(text[last:], open_elements, inner, steps))
    return "".join(made)


def _change_at(place: tuple[str, ...], steps: Mapping[tuple[str, ...], Change]) -> Change | None:
    for wanted, change in steps.items():
        if _reaches(place, wanted):
            return change
        if len(place) > len(wanted) and _reaches(place[: len(wanted)], wanted):
            return lambda old: None
    return None


def _text_piece(text: str, place: list[str], inner: list[bool], steps: Mapping[tuple[str, ...], Change]) -> str:
    change = _change_at(tuple(place), steps)
    if change is None or not text.strip():
        return text
    return "" if inner and inner[-1] else escape(change(unescape(text, _QUOTES)) or "")


def _with_attributes(mark: re.Match[str], place: tuple[str, ...], steps: Mapping[tuple[str, ...], Change]) -> str:
    def renewed(found: re.Match[str]) -> str:
        change = _change_at((*place, "@" + found[2].rpartition(":")[2]), steps)
        if change is None:
            return found[0]
        new = change(unescape(found[4][1:-1], _QUOTES)) or ""
        return f'{found[1]}{found[2]}{found[3]}"{escape(new, {chr(34): "&quot;"})}"'

    more = mark["more"] or ""
    return mark[0].replace(more, _ATTRIBUTE.sub(renewed, more), 1) if more else mark[0]
