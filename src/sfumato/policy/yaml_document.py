"""Strict YAML with line numbers: the only home of the YAML library.

Every scalar stays the text that was written (``NO``, ``on``, ``01234``); the declared type of a parameter decides what
it means. Duplicate keys, aliases, tags, further documents and nesting beyond any use are refused with the line, while
reading: a text that was made to do harm is not read to its end.

>>> parse_yaml("a: 01234\\nb: [NO, 2]", name="p.yaml").tree
{'a': '01234', 'b': ['NO', '2']}
>>> parse_yaml("a: 1\\na: 2", name="p.yaml")
Traceback (most recent call last):
sfumato.core.errors.PolicyError: 'a' stands twice — p.yaml:2 — keep one of them


Declared
--------
From a declared class and the text of a policy to an instance, with errors that know the line and the nearest name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest

Key = tuple[str | int, ...]
DEEPEST = 50
"""How deep entries of a policy may be nested."""
MOST_ENTRIES = 100_000
"""How many keys and values a policy may have."""
LARGEST = 1 << 23
"""The most characters of a policy."""


@dataclass(frozen=True, slots=True)
class Document:
    """A tree of text with the line of every entry."""

    tree: dict[str, Any]
    name: str = "policy"
    base: Path = Path(".")
    lines: dict[Key, int] = field(default_factory=dict, repr=False)

    def where(self, *path: str | int) -> str:
        """``file:line`` of an entry, or of the nearest entry above it; the path itself when built in code."""
        if not self.lines:
            return ".".join(str(part) for part in path)
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines.get(path, 1)}"


def read_yaml(path: Path) -> Document:
    """The document in a file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError:
        raise PolicyError(
            f"no such file: {path.name}", where=str(path), hint="give the path of a policy file"
        ) from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name} is not UTF-8 text", where=str(path), hint="save it as UTF-8") from None
    return parse_yaml(text, name=path.name, base=path.parent)


def parse_yaml(text: str, *, name: str, base: Path = Path(".")) -> Document:
    """The document in a text."""
    if len(text) > LARGEST:
        raise PolicyError(
            f"a policy has at most {LARGEST:,} characters", where=name, hint="keep hierarchies in files of their own"
        )
    try:
        return _read(text, name, base)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PolicyError(
            f"not valid YAML: {error.problem}", where=f"{name}:{line}", hint="check indentation and quotes"
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError):
        raise PolicyError("not valid YAML", where=name, hint="check for characters that are no text") from None


_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml takes a text apart twenty times faster, where it is there."""
_ODD = re.compile("[\t\ufeff?]|[|>][-+0-9]*#")
"""Signs that libyaml allows where the plain reader does not; a text that has one is left to the plain reader."""
_NOTHING = ("", "~", "null", "Null", "NULL")
"""How nothing is written, without quotes."""


def _read(text: str, name: str, base: Path) -> Document:
    """What the fast reader does not understand is read by the plain one, which has the better words for what is
    wrong."""
    if not _ODD.search(text):
        with suppress(yaml.YAMLError, ValueError, OverflowError):
            return _Careful(_FAST(text), name).document(base)
    return _Careful(yaml.SafeLoader(text), name).document(base)


class _Careful:
    """Looks at every entry before it is read: the first one too deep, or with an alias or a tag, is the last one."""

    def __init__(self, reader: Any, name: str) -> None:
        self.reader, self.name = reader, name
        self.lines: dict[Key, int] = {}

    def document(self, base: Path) -> Document:
        try:
            self.reader.get_event()  # the beginning of the text
            first = self.reader.get_event()
            if isinstance(first, yaml.DocumentStartEvent):
                first = self.reader.get_event()
            if not isinstance(first, yaml.MappingStartEvent):
                raise PolicyError("a policy is a mapping", where=f"{self.name}:1", hint="begin with 'version: 1'")
            tree = self.plain(first, (), 1)
            self.reader.get_event()  # the end of the document
            if not isinstance(after := self.reader.get_event(), yaml.StreamEndEvent):
                raise PolicyError(
                    "not valid YAML: another document begins", where=_at(self.name, after), hint="keep one of them"
                )
            return Document(tree, self.name, base, self.lines)
        finally:
            self.reader.dispose()

    def plain(self, event: Any, path: Key, depth: int) -> Any:
        """The entry that begins with an event."""
        self.require_own(event)
        self.lines[path] = event.start_mark.line + 1
        if len(self.lines) > MOST_ENTRIES:
            what = f"a policy has at most {MOST_ENTRIES:,} entries"
            raise PolicyError(what, where=_at(self.name, event), hint="keep hierarchies in files of their own")
        if isinstance(event, yaml.ScalarEvent):
            return None if event.implicit[0] and event.value in _NOTHING else self.scalar(event)
        if depth > DEEPEST:
            raise PolicyError(f"nested more than {DEEPEST} deep", where=_at(self.name, event), hint="write it flatter")
        return self.mapping(path, depth) if isinstance(event, yaml.MappingStartEvent) else self.sequence(path, depth)

    def require_own(self, event: Any) -> None:
        """An entry says everything itself."""
        if isinstance(event, yaml.AliasEvent):
            raise PolicyError(
                "aliases (*name) are not allowed", where=_at(self.name, event), hint="write the value out"
            )
        if event.tag is not None:
            raise PolicyError(f"tag {event.tag} is not allowed", where=_at(self.name, event), hint="write plain text")

    def scalar(self, event: Any) -> str:
        text = str(event.value)
        if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
            raise PolicyError(
                "half a character (\\ud800 …) is no text",
                where=_at(self.name, event),
                hint="write the character itself",
            )
        return text

    def sequence(self, path: Key, depth: int) -> list[Any]:
        entries: list[Any] = []
        while not isinstance(event := self.reader.get_event(), yaml.SequenceEndEvent):
            entries.append(self.plain(event, (*path, len(entries)), depth + 1))
        return entries

    def mapping(self, path: Key, depth: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while not isinstance(event := self.reader.get_event(), yaml.MappingEndEvent):
            self.require_own(event)
            line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                raise PolicyError("a key must be text", where=_at(self.name, event))
            if (key := self.scalar(event)) in entries:
                raise PolicyError(f"'{key}' stands twice", where=_at(self.name, event), hint="keep one of them")
            entries[key] = self.plain(self.reader.get_event(), (*path, key), depth + 1)
            self.lines[(*path, key)] = line
        return entries


def require_shallow(tree: Any) -> None:
    """Refuses a tree built in code that no file could hold: one nested more than `DEEPEST` deep."""
    level = [tree]
    for _ in range(DEEPEST + 1):
        level = [below for each in level for below in _below(each)]
        if not level:
            return
    raise PolicyError(f"nested more than {DEEPEST} deep", hint="write it flatter")


def _below(tree: Any) -> Iterable[Any]:
    return tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list | tuple) else ()


def _at(name: str, thing: Any) -> str:
    return f"{name}:{thing.start_mark.line + 1}"


def write_yaml(tree: dict[str, Any], *, compact: bool = False) -> str:
    """YAML text that `parse_yaml` reads back as the same tree; `compact` puts the innermost mappings on one line."""
    flow = None if compact else False
    return yaml.dump(tree, sort_keys=False, allow_unicode=True, width=110, default_flow_style=flow, Dumper=_Dumper)


def write_flow(value: Any) -> str:
    """A value on one line, as it may stand behind a key.

    >>> write_flow("and so on ..."), write_flow(3)
    ('and so on ...', '3')
    """
    text = yaml.dump(value, sort_keys=False, allow_unicode=True, width=1 << 20, default_flow_style=True, Dumper=_Dumper)
    return text.removesuffix("\n...\n").strip()


_FAST_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_FAST_DUMPER):  # type: ignore[misc]
    """Writes text with signs that YAML takes for line ends between double quotes, where they are escaped."""


def _written(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if not text.isprintable() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _written)


def write_switches(key: str, entries: Iterable[tuple[str, bool, str]]) -> str:
    """A list of texts, each with a remark behind it; one that is off is a comment, and one `#` less switches it on.

    >>> print(write_switches("keep", [("a < b", True, "400 rows"), ("unique(a)", False, "9 rows")]), end="")
    keep:
      - "a < b"  # 400 rows
    #  - "unique(a)"  # 9 rows
    >>> parse_yaml(write_switches("keep", [("a < b", True, "400 rows"), ("unique(a)", False, "9 rows")]), name="p").tree
    {'keep': ['a < b']}
    """
    lines = [f"{key}:"]
    for text, on, remark in entries:
        scalar = yaml.dump(text, default_style='"', allow_unicode=True, width=1 << 20, Dumper=yaml.SafeDumper).strip()
        lines.append(f"{'  ' if on else '#  '}- {scalar}  # {' '.join(remark.split())}")
    return "\n".join(lines) + "\n"


# Declared
# --------


D = TypeVar("D", bound=BaseModel)


def instantiate(cls: type[D], values: Any, document: Document, *path: str | int) -> D:
    """`cls(**values)`, or a `PolicyError` that points into the document."""
    if values is None:
        values = {}
    if not isinstance(values, dict):
        hint = "known: " + ", ".join(cls.model_fields)
        raise PolicyError(f"'{path[-1]}' takes named parameters", where=document.where(*path), hint=hint)
    try:
        return cls(**values)
    except ValidationError as error:
        raise _pointing(error, cls, document, path) from None


def _pointing(
    error: ValidationError, cls: type[BaseModel], document: Document, path: tuple[str | int, ...]
) -> PolicyError:
    """The first thing that is wrong, with everything else that is wrong in its company."""
    found: dict[str, PolicyError] = {}
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        pointed = _one(one, cls, document, path)
        found.setdefault(str(one["loc"][:1]), pointed)  # a value of several possible types is wrong once
    first, *others = found.values()
    first.others = tuple(others)
    return first


def _one(error: Any, cls: type[BaseModel], document: Document, path: tuple[str | int, ...]) -> PolicyError:
    place = tuple(part for part in error["loc"] if isinstance(part, int) or (isinstance(part, str) and "[" not in part))
    name = str(place[-1]) if place else str(path[-1])
    where = document.where(*path, *place)
    if error["type"] == "extra_forbidden":
        return PolicyError(f"unknown key '{name}'", where=where, hint=nearest(name, list(cls.model_fields)))
    if error["type"] == "missing":
        return PolicyError(f"'{name}' is missing", where=where, hint=_describe(cls, name))
    message = error["msg"].removeprefix("Value error, ")
    return PolicyError(f"'{name}': {message[0].lower() + message[1:]}", where=where, hint=_describe(cls, name))


def _describe(cls: type[BaseModel], name: str) -> str:
    known = cls.model_fields.get(name)
    return f"{name}: {known.description}" if known is not None and known.description else ""
