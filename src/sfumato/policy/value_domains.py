"""What a replaced column may hold: integers, decimals, dates, moments, a pattern, a list, a column's values, or
realistic fakes.

Notation
    kind     number, date or text: how rules compare the values
    unit     a number x is kept as the integer x · unit, so decimals are exact (unit 100 for two places); a date as its
             day number

>>> read({"integers": [80, 100]}).contains(["80", "101", "x"]).tolist()
[True, False, False]
>>> read({"decimals": [0, 1], "places": 2}).size
101
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray
from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest
from sfumato.data.check_digits import NUMBERS, countries_of, is_valid, of_country
from sfumato.data.document_paths import steps_of_path, values_in_document
from sfumato.data.regular_expressions import matches_pattern, require_regular
from sfumato.data.text_values import (
    EXACT,
    format_timestamp,
    is_whole,
    labels_as_texts,
    parse_integer,
    parse_number,
    timestamp_steps,
)

FAKES = ("name", "first_name", "last_name", "email", "city", "street", "address", "company", "job", "country")
FORMED = {
    "uuid": "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "ipv4": r"10(\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}",
    "mac": "02(:[0-9a-f]{2}){5}",
}
"""Fakes that a pattern describes: random identifiers, addresses of private networks, locally administered devices."""


_MANY = 100
_EPOCH = datetime.date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class ValueDomain:
    """The common face of all domains."""

    kind: ClassVar[str] = "text"
    limits: ClassVar[bool] = True
    """Whether it tells texts that belong to it from others; one that takes every text cannot be judged."""
    by_column: ClassVar[bool] = False
    """Whether `contains` looks at an arrow array of many texts at once."""

    def contains(self, texts: Sequence[str]) -> BoolArray:
        """Which of the texts belong to the domain."""
        return np.fromiter((self.holds(text) for text in texts), dtype=bool, count=len(texts))

    def holds(self, text: str) -> bool:
        raise NotImplementedError

    def declared(self) -> dict[str, Any]:
        """Return the domain as a policy declares it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Ordered(ValueDomain):
    """Equally spaced values low … high, in units."""

    by_column: ClassVar[bool] = True

    low: int
    high: int
    unit: int = 1

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    usual: ClassVar[str] = ""
    """The form in which values are usually written; such texts are read many at a time."""

    def contains(self, texts: Sequence[str]) -> BoolArray:
        if not self.usual or len(texts) < _MANY:
            return super().contains(texts.to_pylist() if isinstance(texts, pa.Array) else texts)
        values: Any = labels_as_texts(texts)
        plain = np.asarray(pc.match_substring_regex(values, self._form()))
        found = np.zeros(len(values), dtype=bool)
        levels = self._levels(values.filter(pa.array(plain)))
        if levels is None:  # one of them is no value
            return super().contains(values.to_pylist())
        found[plain] = (levels >= self.low) & (levels <= self.high)
        other = np.flatnonzero(~plain)
        found[other] = super().contains(values.take(pa.array(other)).to_pylist())
        return found

    def _form(self) -> str:
        return self.usual

    def _levels(self, values: pa.Array) -> NDArray[np.int64] | None:
        """The levels of texts of the usual form; None where one of them has none."""
        raise NotImplementedError

    def holds(self, text: str) -> bool:
        level = self.level(text)
        return level is not None and self.low <= level <= self.high

    def level(self, text: str) -> int | None:
        """The integer that stands for `text`, or None when it has none."""
        raise NotImplementedError

    def text(self, level: int) -> str:
        raise NotImplementedError

    def texts(self, levels: NDArray[np.int64]) -> NDArray[np.str_]:
        """The text of every level."""
        used, inverse = np.unique(levels, return_inverse=True)
        return np.array([self.text(int(level)) for level in used], dtype=np.str_)[inverse]


@dataclass(frozen=True)
class Integers(Ordered):
    """Whole numbers from low to high."""

    kind: ClassVar[str] = "number"
    usual: ClassVar[str] = "^-?[0-9]{1,17}$"

    def _levels(self, values: pa.Array) -> NDArray[np.int64]:
        return np.asarray(values.cast(pa.int64()))

    def level(self, text: str) -> int | None:
        return parse_integer(text)

    def text(self, level: int) -> str:
        return str(level)

    def declared(self) -> dict[str, Any]:
        return {"integers": [self.low, self.high]}


@dataclass(frozen=True)
class Decimals(Ordered):
    """Numbers with a fixed count of decimal places."""

    kind: ClassVar[str] = "number"
    places: int = 2
    usual: ClassVar[str] = r"^-?[0-9]{{1,8}}\.[0-9]{{{0}}}$"

    def _form(self) -> str:
        return self.usual.format(self.places) if 0 < self.places < 9 and self.unit == 10**self.places else "^$"

    def _levels(self, values: pa.Array) -> NDArray[np.int64]:
        return np.asarray(pc.replace_substring(values, ".", "").cast(pa.int64()))

    def level(self, text: str) -> int | None:
        value = parse_number(text)
        if value is None:
            return None
        scaled = EXACT.multiply(value, self.unit)
        return int(scaled) if is_whole(scaled) else None

    def text(self, level: int) -> str:
        return f"{Decimal(level).scaleb(-self.places):.{self.places}f}"

    def declared(self) -> dict[str, Any]:
        return {"decimals": [self.text(self.low), self.text(self.high)], "places": self.places}


@dataclass(frozen=True)
class Dates(Ordered):
    """Days from the first to the last, as 2012-12-31."""

    kind: ClassVar[str] = "date"
    usual: ClassVar[str] = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

    def _levels(self, values: pa.Array) -> NDArray[np.int64] | None:
        try:
            days = values.cast(pa.date32()).cast(pa.int32())
        except pa.ArrowInvalid:
            return None
        return np.asarray(days).astype(np.int64) + _EPOCH

    def level(self, text: str) -> int | None:
        try:
            return datetime.date.fromisoformat(text).toordinal()
        except ValueError:
            return None

    def text(self, level: int) -> str:
        return datetime.date.fromordinal(level).isoformat()

    def declared(self) -> dict[str, Any]:
        return {"dates": [self.text(self.low), self.text(self.high)]}


STEPS = {"second": 86_400, "minute": 1_440, "hour": 24, "day": 1}


@dataclass(frozen=True)
class Timestamps(Ordered):
    """Moments from the first to the last, as 2012-12-31 23:59:00; a level is a number of steps, `unit` of them a
    day."""

    kind: ClassVar[str] = "date"
    zone: str = ""
    """Written behind every moment, for columns with a time zone; moments are then in that zone, which is UTC."""

    def level(self, text: str) -> int | None:
        return timestamp_steps(text, self.unit)

    def text(self, level: int) -> str:
        return format_timestamp(Fraction(level, self.unit)) + self.zone

    def texts(self, levels: NDArray[np.int64]) -> NDArray[np.str_]:
        seconds = (levels - _EPOCH * self.unit) * (86_400 // self.unit)
        found = np.char.replace(seconds.astype("datetime64[s]").astype(np.str_), "T", " ")
        return np.char.add(found, self.zone) if self.zone else found

    def declared(self) -> dict[str, Any]:
        step = next(name for name, many in STEPS.items() if many == self.unit)
        return {"timestamps": [self.text(self.low), self.text(self.high)], "step": step}


@dataclass(frozen=True)
class PatternDomain(ValueDomain):
    """Texts of a regular form; `longest` bounds patterns without an end of their own."""

    by_column: ClassVar[bool] = True

    pattern: str
    longest: int = 64

    def contains(self, texts: Sequence[str]) -> BoolArray:
        return matches_pattern(self.pattern, texts, longest=self.longest)

    def holds(self, text: str) -> bool:
        return bool(self.contains([text])[0])

    def declared(self) -> dict[str, Any]:
        return {"pattern": self.pattern, "longest": self.longest}


@dataclass(frozen=True)
class FormedFakes(PatternDomain):
    """Realistic invented values of a fixed form: identifiers and addresses of machines."""

    fake: str = ""

    def declared(self) -> dict[str, Any]:
        return {"fakes": self.fake}


@dataclass(frozen=True)
class Values(ValueDomain):
    """A list, in the order given."""

    values: tuple[str, ...]

    def holds(self, text: str) -> bool:
        return text in self.values

    def declared(self) -> dict[str, Any]:
        return {"values": list(self.values)}


@dataclass(frozen=True)
class Like(ValueDomain):
    """The values that occur in a column of the source; the list itself is then published information."""

    column: str

    def holds(self, text: str) -> bool:
        return True  # the list is known only with the data; `Values` takes its place there

    def declared(self) -> dict[str, Any]:
        return {"like": self.column}


@dataclass(frozen=True)
class Fakes(ValueDomain):
    """Realistic invented values: every combination of the pieces a maintained library lists for a language."""

    limits: ClassVar[bool] = False
    fake: str
    locale: str = "en_US"
    case: str = ""
    """upper or lower, where all letters are written so."""

    def holds(self, text: str) -> bool:
        return bool(text)

    def declared(self) -> dict[str, Any]:
        return {"fakes": self.fake, "locale": self.locale} | ({"case": self.case} if self.case else {})


@dataclass(frozen=True)
class Empty(ValueDomain):
    """Nothing: a null where the column allows one, else the empty value of its type."""

    stands: str | None = None
    """What is written: known when the column is."""

    def contains(self, texts: Sequence[str]) -> BoolArray:
        return np.fromiter((text == self.stands for text in texts), dtype=bool, count=len(texts))

    def holds(self, text: str) -> bool:
        return text == self.stands

    def declared(self) -> dict[str, Any]:
        return {"empty": True}


@dataclass(frozen=True)
class CheckedNumbers(ValueDomain):
    """Numbers of a public system with their check digits: bank accounts, cards, books, citizens."""

    system: str
    country: str = ""

    def contains(self, texts: Sequence[str]) -> BoolArray:
        if self.system != "phone":
            return super().contains(texts)
        from sfumato.data.phone_numbers import (
            mobile_pattern,
        )  # plans of all countries, read when a person asks for them

        return matches_pattern(mobile_pattern(self.country), texts)

    def holds(self, text: str) -> bool:
        return of_country(self.system, text, self.country) and (self.system == "phone" or is_valid(self.system, text))

    def declared(self) -> dict[str, Any]:
        return {"numbers": self.system} | ({"country": self.country} if self.country else {})


@dataclass(frozen=True)
class Computed(ValueDomain):
    """Whatever an equation under `keep` gives."""

    limits: ClassVar[bool] = False

    def contains(self, texts: Sequence[str]) -> BoolArray:
        return np.ones(len(texts), dtype=bool)

    def holds(self, text: str) -> bool:
        return True

    def declared(self) -> dict[str, Any]:
        return {"computed": True}


@dataclass(frozen=True)
class Paths(ValueDomain):
    """Single values inside a json or xml document; the rest of the document stays."""

    paths: tuple[tuple[str, ValueDomain], ...]

    def holds(self, text: str) -> bool:
        return all(
            isinstance(domain, Empty) or not domain.limits or domain.contains(found).all()
            for path, domain in self.paths
            if (found := values_in_document(text, path))
        )

    def declared(self) -> dict[str, Any]:
        return {"paths": {path: domain.declared() for path, domain in self.paths}}


_OPTIONS = {
    "decimals": {"places"}, "timestamps": {"step"}, "pattern": {"longest"}, "fakes": {"locale", "case"},
    "numbers": {"country"},
    "plugin": {"size"},
}  # fmt: skip
_WEIGHED = ("integers", "decimals", "dates", "values", "like")
_NAMES = (
    "integers", "decimals", "dates", "timestamps", "pattern", "values", "like", "fakes", "numbers", "empty", "computed",
    "plugin", "paths",
)  # fmt: skip


def read(declared: Mapping[str, Any], where: str = "") -> ValueDomain:
    """The domain a policy declares, e.g. `{integers: [80, 100]}`."""
    if not isinstance(declared, Mapping):
        raise PolicyError("a domain is a mapping", where=where, hint="for example {integers: [80, 100]}")
    named = [key for key in declared if key in _NAMES]
    if len(named) != 1:
        unknown = [str(key) for key in declared if key not in _NAMES]
        hint = nearest(unknown[0], list(_NAMES)) if unknown else "name one of " + ", ".join(_NAMES)
        raise PolicyError("a domain names exactly one kind of values", where=where, hint=hint)
    name = named[0]
    for key in declared:
        if key not in (name, "weights", "nulls") and key not in _OPTIONS.get(name, set()):
            raise PolicyError(f"unknown key '{key}' in a domain of {name}", where=where)
    draws_by_frequency(declared, where)
    if declared.get("nulls", "keep") not in ("keep", "drawn"):
        raise PolicyError("'nulls' is keep or drawn", where=where)
    return _READERS[name](declared, where)


def draws_by_frequency(declared: Mapping[str, Any], where: str = "") -> bool:
    """Whether values are to be drawn as often as they occur in the original (`weights: original`) instead of
    uniformly."""
    weights = declared.get("weights", "uniform")
    if weights not in ("uniform", "original"):
        raise PolicyError(f"unknown weights '{weights}'", where=where, hint="uniform (the default) or original")
    if weights == "original" and not any(name in declared for name in _WEIGHED):
        raise PolicyError("weights can be learned for listed, numeric and date domains only", where=where)
    return bool(weights == "original")


def replaces_missing(declared: Any) -> bool:
    """Whether missing values are drawn as well (`nulls: drawn`); they stay missing otherwise."""
    return isinstance(declared, Mapping) and declared.get("nulls", "keep") == "drawn"


def _pair(value: Any, where: str) -> tuple[str, str]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise PolicyError("expected two bounds", where=where, hint="for example [80, 100]")
    return str(value[0]), str(value[1])


def _integers(declared: Mapping[str, Any], where: str) -> ValueDomain:
    return _ordered(Integers(0, 0), _pair(declared["integers"], where), where)


def _decimals(declared: Mapping[str, Any], where: str) -> ValueDomain:
    places = bounded(declared, "places", 2, 0, 12, where)
    return _ordered(Decimals(0, 0, 10**places, places), _pair(declared["decimals"], where), where)


def _dates(declared: Mapping[str, Any], where: str) -> ValueDomain:
    return _ordered(Dates(1, 1), _pair(declared["dates"], where), where)


def _timestamps(declared: Mapping[str, Any], where: str) -> ValueDomain:
    step = str(declared.get("step", "second"))
    if step not in STEPS:
        raise PolicyError(f"unknown step '{step}'", where=where, hint="second, minute, hour or day")
    return _ordered(Timestamps(0, 0, STEPS[step]), _pair(declared["timestamps"], where), where)


def _ordered(empty: Integers | Decimals | Dates | Timestamps, bounds: tuple[str, str], where: str) -> ValueDomain:
    low, high = empty.level(bounds[0]), empty.level(bounds[1])
    if low is None or high is None:
        raise PolicyError(f"'{bounds[low is not None]}' is no bound of this kind", where=where)
    if low > high:
        raise PolicyError("the lower bound is above the upper one", where=where)
    if isinstance(empty, Decimals):
        return Decimals(low, high, empty.unit, empty.places)
    return type(empty)(low, high, empty.unit)


def _pattern(declared: Mapping[str, Any], where: str) -> ValueDomain:
    pattern = str(declared["pattern"])
    require_regular(pattern, where=where)
    return PatternDomain(pattern, bounded(declared, "longest", 64, 1, 10_000, where))


def bounded(declared: Mapping[str, Any], name: str, usual: int, least: int, most: int, where: str) -> int:
    """A whole number of the domain, within limits."""
    found = parse_integer(str(declared.get(name, usual)))
    if found is None or not least <= found <= most:
        raise PolicyError(
            f"'{name}' is a whole number from {least} to {most}", where=where, hint=f"for example {name}: {usual}"
        )
    return found


def _values(declared: Mapping[str, Any], where: str) -> ValueDomain:
    values = declared["values"]
    if not isinstance(values, (list, tuple)) or not values:
        raise PolicyError("expected a list of values", where=where)
    found = tuple(str(value) for value in values)
    if len(set(found)) != len(found):
        raise PolicyError("the list of values repeats one", where=where)
    return Values(found)


def _like(declared: Mapping[str, Any], where: str) -> ValueDomain:
    return Like(str(declared["like"]))


def _fakes(declared: Mapping[str, Any], where: str) -> ValueDomain:
    fake = str(declared["fakes"])
    if fake in FORMED:
        return FormedFakes(FORMED[fake], fake=fake)
    if fake not in FAKES:
        raise PolicyError(f"unknown fakes '{fake}'", where=where, hint=nearest(fake, [*FAKES, *FORMED]))
    case = str(declared.get("case", ""))
    if case not in ("", "upper", "lower"):
        raise PolicyError(
            f"unknown case '{case}'", where=where, hint="upper or lower; without it names are written as usual"
        )
    return Fakes(fake, str(declared.get("locale", "en_US")), case)


def _empty(declared: Mapping[str, Any], where: str) -> ValueDomain:
    if str(declared["empty"]).lower() != "true":
        raise PolicyError("'empty' takes the word true", where=where, hint="{empty: true}")
    return Empty()


def _computed(declared: Mapping[str, Any], where: str) -> ValueDomain:
    if str(declared["computed"]).lower() != "true":
        raise PolicyError(
            "'computed' takes the word true", where=where, hint="{computed: true}, with an equation under 'keep'"
        )
    return Computed()


def _own(declared: Mapping[str, Any], where: str) -> ValueDomain:
    from sfumato.policy.custom_code import read_own

    return read_own(declared, where)


def _checked(declared: Mapping[str, Any], where: str) -> ValueDomain:
    if not isinstance(declared["numbers"], str):
        hint = "{numbers: iban}; for a range {integers: [1, 99]}"
        raise PolicyError("'numbers' takes the name of one numbering system", where=where, hint=hint)
    system = declared["numbers"]
    if system not in NUMBERS:
        raise PolicyError(f"there is no numbering system '{system}'", where=where, hint="known: " + ", ".join(NUMBERS))
    known, country = countries_of(system), str(declared.get("country", "DE" if system == "iban" else ""))
    if (known or country) and country not in known:
        what = f"there is no '{system}' of country '{country}'" if country else f"'{system}' needs a country"
        raise PolicyError(what, where=where, hint=f"known for {system}: {', '.join(known) or 'none'}")
    return CheckedNumbers(system, country)


def _paths(declared: Mapping[str, Any], where: str) -> ValueDomain:
    said = declared["paths"]
    if not isinstance(said, Mapping) or not said:
        raise PolicyError(
            "'paths' names values inside a document", where=where, hint='{paths: {"$.email": {fakes: email}}}'
        )
    found = []
    for path, inside in said.items():
        if not steps_of_path(str(path)):
            raise PolicyError(f"'{path}' is no path", where=where, hint="for example $.user.email or $.friends.name")
        domain = read(inside, where)
        if isinstance(domain, (Like, Computed, Paths)):
            raise PolicyError(
                f"values at '{path}' cannot be drawn so", where=where, hint="give fakes, a pattern, values or a range"
            )
        found.append((str(path), domain))
    return Paths(tuple(found))


_READERS = {
    "paths": _paths,
    "integers": _integers,
    "decimals": _decimals,
    "dates": _dates,
    "timestamps": _timestamps,
    "pattern": _pattern,
    "values": _values,
    "like": _like,
    "fakes": _fakes,
    "empty": _empty,
    "numbers": _checked,
    "computed": _computed,
    "plugin": _own,
}
