"""Sentences about findings: templates with figures in them, and the small language they are written in.

A template holds fields in braces. A field names a figure and, after a blank, how it is written::

    {found.k}                      the figure `k` that was found
    {asked.k record/records}       a number with the right noun: 1 record, 3 records
    {found.share %}                a share as a percentage with at most one decimal
    {1+found.beta}                 the figure plus one
    {exp found.epsilon}            e to the figure
    {given}, {hide}, {unit}        names and words, as they are given

Sources of figures are `found`, `asked` and `details`. A template whose figures are not all there is not used: where
several templates are given, the first one that can be filled in is.

>>> values = {"found": {"k": 1, "share": 0.3333, "rows": 2500}, "asked": {"k": 5}, "given": "age and zip"}
>>> fill("The smallest class has only {found.k record/records} (required: {asked.k}).", values)
'The smallest class has only 1 record (required: 5).'
>>> fill(("{details.rows row/rows} were compared.", "{found.rows row/rows}, {found.share %}."), values)
'2,500 rows, 33.3 %.'
>>> fill("{details.rows}", values) is None
True
>>> join_names(["age", "sex", "zip"])
'age, sex and zip'
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Group = Literal["privacy", "truth", "integrity", "measured"]
Template = str | tuple[str, ...]
_FIELD = re.compile(r"\{([^{}]+)\}")
_LONG, _UNBOUNDED = 1e15, 1e9


@dataclass(frozen=True, slots=True)
class Wording:
    """What findings of one model or check are called, and what they say in each state."""

    title: str
    code: str = ""
    """A stable name for programs, in kebab-case; the key of the finding where it is empty."""
    group: Group = "truth"
    holds: Template = ""
    violated: Template = "{reason}"
    open: Template = ""
    """What is said where it was not assessed and the reason alone would not do."""
    measured: Template = ""
    warns: Callable[[Mapping[str, Any]], bool] | None = None
    """Whether a measured figure, given what was found, is one to act on."""
    advice: str = ""
    """What the user can do about a warning or a violation."""
    headline: str = ""
    """What a model guarantees, as one sentence for the top of a page."""
    limit: str = ""
    """What a model does not promise."""


class Worded:
    """A model or check that makes findings under a name and describes them in words."""

    name: ClassVar[str]
    words: ClassVar[Wording]
    variants: ClassVar[tuple[str, Mapping[str, Wording]]] = ("", {})
    """A parameter, and for some of its values other words."""

    @classmethod
    def wording(cls, asked: Mapping[str, Any]) -> Wording:
        """The words for a finding that asks for this; kinds of one model may differ."""
        parameter, others = cls.variants
        own = getattr(cls, "words", None) or Wording(
            title=cls.name[:1].upper() + cls.name[1:]
        )  # own code may have none
        return others.get(str(asked.get(parameter)), own)


def fill(template: Template, values: Mapping[str, Any]) -> str | None:
    """The first of the templates with its figures in it; None where figures are missing."""
    for one in (template,) if isinstance(template, str) else template:
        try:
            return _FIELD.sub(lambda found: _field(found[1], values), one)
        except KeyError:
            continue
    return None


def _field(text: str, values: Mapping[str, Any]) -> str:
    path, _, style = text.partition(" ")
    if path == "exp":
        return number_text(math.exp(_bounded(_value(style, values))))
    value = _value(path.removeprefix("1+"), values)
    if path.startswith("1+"):
        value = 1 + _bounded(value)
    if style == "%":
        return percent_text(float(value))
    if style:
        one, _, many = style.partition("/")
        return f"{number_text(value)} {one if value == 1 else many}"
    return number_text(value)


def _bounded(value: Any) -> float:
    """A factor that has a bound; models write a billion where there is none, which no sentence says as a number."""
    if float(value) >= _UNBOUNDED:
        raise KeyError(value)
    return float(value)


def _value(path: str, values: Mapping[str, Any]) -> Any:
    found: Any = values
    for part in path.split("."):
        if not isinstance(found, Mapping) or part not in found:
            raise KeyError(path)
        found = found[part]
    return found


def number_text(value: Any) -> str:
    """A figure for people: thousands separated, four digits behind a point at most; a text as it is.

    >>> [number_text(value) for value in (2500, 0.123456, 33.33333, 4.0, True, "distinct")]
    ['2,500', '0.1235', '33.33', '4', 'yes', 'distinct']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isfinite(value) and value == int(value) and abs(value) < _LONG:
            return f"{int(value):,}"
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def percent_text(share: float) -> str:
    """A share as a percentage.

    >>> [percent_text(share) for share in (0.05, 1 / 3, 1.0, 0.0, 0.00012)]
    ['5 %', '33.3 %', '100 %', '0 %', '0.012 %']
    """
    percent = 100 * share
    if percent and abs(percent) < 0.1:
        return f"{percent:.2g} %"
    return f"{percent:,.1f}".removesuffix(".0") + " %"


def count_text(number: int, one: str, many: str = "") -> str:
    """A number with the right noun.

    >>> count_text(1, "check"), count_text(2500, "person", "people")
    ('1 check', '2,500 people')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def join_names(names: Sequence[str], word: str = "and") -> str:
    """Names as a sentence lists them."""
    return ", ".join(names[:-1]) + f" {word} " + names[-1] if len(names) > 1 else "".join(names)


def as_sentences(text: str) -> str:
    """Parts that are joined by semicolons as sentences of their own.

    >>> as_sentences("table-1 is missing; two parts have the same name")
    'table-1 is missing. Two parts have the same name.'
    """
    parts = [part.strip() for part in text.split("; ") if part.strip()]
    return " ".join(capitalized(part) + ("" if part.endswith((".", "!", "?")) else ".") for part in parts)


def capitalized(text: str) -> str:
    """A sentence with a capital letter in front, unless it begins with the name of a file, a column or a command.

    >>> capitalized("all files are there"), capitalized("data.csv was changed"), capitalized("k-map is not reached")
    ('All files are there', 'data.csv was changed', 'k-map is not reached')
    """
    first = text.partition(" ")[0]
    plain = first.rstrip(",:").isalpha() or not first[:1].isalpha()
    return text[:1].upper() + text[1:] if plain else text


def summary_of(thing: object) -> str:
    """Return the first paragraph of a docstring as one line.

    >>> summary_of(summary_of)
    'Return the first paragraph of a docstring as one line.'
    """
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
