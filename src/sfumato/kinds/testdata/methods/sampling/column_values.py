"""A column's possible values numbered from 0, for sampling and solving, and back to text for publishing.

Notation
    code     0 … size − 1
    level    what rules calculate with: the number times its unit, the day number, or (texts) nothing

>>> marks = levels(value_domains.read({"integers": [80, 100]}))
>>> marks.size, marks.vector(np.array([0, 20])).levels.tolist(), marks.texts(np.array([0, 20])).tolist()
(21, [80, 100], ['80', '100'])


Checked
-------
Numbers of public systems, numbered: every body in turn, with the check digits it must carry.

A code is the number of a body, so that uniqueness and exact sampling work as with any other domain. A new system is one
entry in `SYSTEMS`: how many bodies there are, and the text of body n.

>>> levels = Checked("iban", "DE")
>>> levels.size, levels.texts(np.array([370400440532013000])).tolist()
(1000000000000000000, ['DE89370400440532013000'])


Fakes
-----
Realistic invented names and addresses: every combination of the pieces that the Faker library lists for a language.

The pieces are taken as lists and combined here, not drawn one by one from the library: so the number of possible values
is known before the run, every combination is equally likely and uniqueness is a matter of numbering, not of retrying.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.core.extras import require
from sfumato.data.check_digits import (
    BANKS,
    CZECH_ACCOUNT,
    CZECH_PREFIX,
    NORWEGIAN,
    belgian_account_digits,
    dutch_digit_holds,
    ean_digit,
    french_account_digits,
    german_tax_digit,
    iban_digits,
    italian_account_letter,
    luhn_digit,
    pesel_digit,
    polish_bank_digit,
    portuguese_account_digits,
    spanish_account_digits,
    spanish_letter,
    weighted,
)
from sfumato.data.text_values import EXACT, parse_number, parse_timestamp
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Vector, texts
from sfumato.kinds.testdata.methods.sampling.text_patterns import NumberedTexts, automaton, read_pattern
from sfumato.policy import value_domains
from sfumato.policy.custom_code import OwnTexts, own_text
from sfumato.policy.value_domains import Fakes


class Levels(Protocol):
    """What every numbering offers."""

    kind: str
    size: int

    def vector(self, codes: IntArray) -> Vector: ...
    def texts(self, codes: IntArray) -> NDArray[Any]: ...


class Steps:
    """Equally spaced numbers or days."""

    def __init__(self, domain: value_domains.Ordered) -> None:
        self.domain = domain
        self.kind = domain.kind
        self.size = domain.size
        self.low = domain.low
        self.unit = domain.unit

    def vector(self, codes: IntArray) -> Vector:
        return Vector(codes + self.low, self.unit)

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return self.domain.texts(codes + self.low)

    def code(self, text: str) -> int | None:
        level = self.domain.level(text)
        return None if level is None or not self.domain.holds(text) else level - self.low


class Listed:
    """A list of texts; they count as numbers when all of them are."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = np.array(list(values), dtype=np.str_)
        self.size = len(self.values)
        self._numbers = _numbers(values)
        self.kind = "text" if self._numbers is None else "number"
        self._codes = {text: code for code, text in enumerate(values)}

    def vector(self, codes: IntArray) -> Vector:
        if self._numbers is None:
            return texts(self.values[codes])
        return Vector(self._numbers.levels[codes], self._numbers.unit, self.values[codes])

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return self.values[codes]

    def code(self, text: str) -> int | None:
        return self._codes.get(text)


class Spelled:
    """The texts of a pattern, or of it together with conditions on the same column."""

    kind = "text"

    def __init__(self, words: NumberedTexts, pattern: str) -> None:
        self.words = words
        self.pattern = pattern
        self.size = words.size

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return self.words.bytes(codes)


class Composed:
    """Combinations of listed pieces, joined by a function: realistic fakes."""

    kind = "text"

    def __init__(self, pieces: list[list[str]], join: Callable[..., str]) -> None:
        self.pieces = pieces
        self.join = join
        self.size = int(np.prod([len(piece) for piece in pieces], dtype=object))

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        parts = []
        rest = codes
        for piece in reversed(self.pieces):
            rest, place = np.divmod(rest, len(piece))
            parts.append([piece[at] for at in place])
        return np.array([self.join(*row) for row in zip(*reversed(parts), strict=True)], dtype=np.str_)


def levels(domain: value_domains.ValueDomain) -> Levels:
    """The numbering of a domain; the values of a column must already be in place of `like`."""
    if isinstance(domain, value_domains.Ordered):
        return Steps(domain)
    if isinstance(domain, value_domains.Values):
        return Listed(domain.values)
    if isinstance(domain, value_domains.PatternDomain):
        words = NumberedTexts(automaton([domain.pattern]), domain.longest)
        if words.size == 0:
            what = f"no text of at most {domain.longest} characters has the form {domain.pattern}"
            raise Infeasible(
                what, where=f"pattern {domain.pattern}", hint="shorten the pattern to what the column can hold"
            )
        return Spelled(words, domain.pattern)
    if isinstance(domain, value_domains.Fakes):
        pass

        return Composed(*pieces(domain))
    if isinstance(domain, value_domains.CheckedNumbers):
        pass

        return _phones(domain.country) if domain.system == "phone" else Checked(domain.system, domain.country)
    if isinstance(domain, OwnTexts):
        pass

        return OwnNumbering(domain)
    raise TypeError(f"no numbering for {type(domain).__name__}")


def facts(values: Sequence[str]) -> Vector:
    """Given texts as what they are: numbers when all are numbers, days when all are days, else texts."""
    distinct, inverse = np.unique(np.asarray(values, dtype=np.str_), return_inverse=True)
    found = _numbers(distinct.tolist()) or _days(distinct.tolist())
    return texts(distinct[inverse]) if found is None else Vector(found.levels[inverse], found.unit, distinct[inverse])


def _days(values: Sequence[str]) -> Vector | None:
    found = [parse_timestamp(value) for value in values]
    if any(days is None for days in found):
        return None
    unit = math.lcm(1, *(days.denominator for days in found if days is not None))
    return Vector(np.array([int(days * unit) for days in found if days is not None], dtype=np.int64), unit)


def _numbers(values: Sequence[str]) -> Vector | None:
    found = [value for value in map(parse_number, values) if value is not None]
    if len(found) < len(values):
        return None
    places = max(max(-int(value.as_tuple().exponent), 0) for value in found)
    levels = [int(value.scaleb(places, context=EXACT)) for value in found]
    if max(map(abs, levels)) >= 1 << 62:
        hint = "shorten the numbers, or leave the column out of the rule"
        raise DataError("a rule is about a column whose numbers have too many digits", hint=hint)
    return Vector(np.array(levels, dtype=np.int64), 10**places)


# Checked
# -------


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST_PLAN = 4_000
"""Characters of a pattern of telephone numbers."""
_FIRST_DAY, _LAST_DAY = date(1940, 1, 1).toordinal(), date(1999, 12, 31).toordinal()
Body = Callable[[int], str]


class Checked:
    """All numbers of one system."""

    kind = "text"

    def __init__(self, system: str, country: str = "") -> None:
        self.size, self.body = _iban(country) if system == "iban" else SYSTEMS[system]

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return np.array([self.body(int(code)) for code in codes], dtype=np.str_)


class OwnNumbering:
    """Texts that the data holder's own code numbers; that no two are alike is judged where they must differ."""

    kind = "text"

    def __init__(self, domain: OwnTexts) -> None:
        self.domain, self.size = domain, domain.size

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return np.array([own_text(self.domain.code, self.domain.name, int(code)) for code in codes], dtype=np.str_)


@cache
def _phones(country: str) -> Spelled:
    """All mobile numbers of a country."""
    from sfumato.data.phone_numbers import LONGEST_NUMBER, mobile_pattern

    pattern = mobile_pattern(country)
    return Spelled(NumberedTexts(automaton([read_pattern(pattern, _LONGEST_PLAN)]), LONGEST_NUMBER), pattern)


def _digits_before(count: int, behind: Callable[[str], str]) -> tuple[int, Body]:
    """So many free digits, which decide about the rest."""
    return 10**count, lambda code: behind(f"{code:0{count}d}")


def _to_eleven(head: str, place: int, weights: Sequence[int]) -> str:
    """The head and two digits more that make the weighted sum a multiple of eleven: one of the first nine such pairs.

    The last weight is 1 and the one before it 2, so of ten digits at most one asks for a last digit that does not
    exist."""
    sums = [(one, -weighted(f"{head}{one}", weights[:-1]) % 11) for one in range(10)]
    return head + [f"{one}{last}" for one, last in sums if last < 10][place]


def _czech(code: int) -> str:
    code, last = divmod(code, 9 * 10**8)
    bank, first = divmod(code, 9 * 10**4)
    prefix = _to_eleven(f"{first // 9:04d}", first % 9, CZECH_PREFIX)
    return f"{bank:04d}{prefix}{_to_eleven(f'{last // 9:08d}', last % 9, CZECH_ACCOUNT)}"


def _norwegian(code: int) -> str:
    """Without accounts that begin with two zeros, which have a sum of their own."""
    head, place = divmod(code, 9)
    bank, rest = divmod(head, 99 * 10**3)
    return _to_eleven(f"{bank + 10**3:04d}{rest // 10**3 + 1:02d}{rest % 10**3:03d}", place, NORWEGIAN)


_NATIONAL: dict[str, tuple[int, Body]] = {
    "BE": _digits_before(10, lambda free: free + belgian_account_digits(free)),
    "CZ": (10**4 * 9 * 10**4 * 9 * 10**8, _czech),
    "ES": _digits_before(18, lambda free: free[:8] + spanish_account_digits(free[:8], free[8:]) + free[8:]),
    "FI": _digits_before(13, lambda free: free + luhn_digit(free)),
    "FR": _digits_before(21, lambda free: free + french_account_digits(free)),
    "IT": _digits_before(22, lambda free: italian_account_letter(free) + free),
    "NO": (9 * 10**3 * 99 * 10**3 * 9, _norwegian),
    "PL": _digits_before(23, lambda free: free[:7] + polish_bank_digit(free[:7]) + free[7:]),
    "PT": _digits_before(19, lambda free: free + portuguese_account_digits(free)),
}
"""How many accounts there are in a country with check digits of its own, and the account of a number."""


def _iban(country: str) -> tuple[int, Body]:
    """All IBANs of a country, with the check digits of its banks where they have some."""
    size, account = _NATIONAL[country] if country in _NATIONAL else _account(BANKS[country])

    def body(code: int) -> str:
        own = account(code)
        return country + iban_digits(country, own) + own

    return size, body


def _account(form: tuple[tuple[str, int], ...]) -> tuple[int, Body]:
    """The bank's part by its form, as in `a4n10`: letters, then digits."""
    size = 1
    for kind, length in form:
        size *= (26 if kind == "a" else 10) ** length

    def body(code: int) -> str:
        signs: list[str] = []
        for kind, length in reversed(form):
            for _ in range(length):
                code, place = divmod(code, 26 if kind == "a" else 10)
                signs.append(_LETTERS[place] if kind == "a" else str(place))
        return "".join(reversed(signs))

    return size, body


def _card(prefixes: tuple[str, ...], length: int) -> tuple[int, Body]:
    free = length - 1 - len(prefixes[0])

    def body(code: int) -> str:
        place, rest = divmod(code, 10**free)
        text = f"{prefixes[place]}{rest:0{free}d}"
        return text + luhn_digit(text)

    return len(prefixes) * 10**free, body


def _dutch(code: int) -> str:
    """Seven digits and the place among the nine next ones that allow a check digit."""
    start, place = divmod(code, 9)
    found = [
        f"{start + 10**6:07d}{eighth}{last}"
        for eighth in range(10)
        for last in range(10)
        if _is_dutch(start, eighth, last)
    ]
    return found[place]


def _is_dutch(start: int, eighth: int, last: int) -> bool:
    return dutch_digit_holds(f"{start + 10**6:07d}{eighth}{last}")


def _polish(code: int) -> str:
    days, serial = divmod(code, 10_000)
    text = f"{date.fromordinal(_FIRST_DAY + days):%y%m%d}{serial:04d}"
    return text + pesel_digit(text)


def _german_tax(code: int) -> str:
    """Ten digits, the first no zero, of which one occurs twice, one never and the others once; then the check digit."""
    for twice in range(10):
        for never in (digit for digit in range(10) if digit != twice):
            left = [2 if digit == twice else 0 if digit == never else 1 for digit in range(10)]
            count = _arrangements(left) - (_arrangements([left[0] - 1, *left[1:]]) if left[0] else 0)
            if code < count:
                text = _arranged(left, code)
                return text + german_tax_digit(text)
            code -= count
    raise IndexError("there are fewer numbers")


def _arrangements(left: Sequence[int]) -> int:
    """How many texts have so many of each digit."""
    return math.factorial(sum(left)) // math.prod(map(math.factorial, left))


def _arranged(left: list[int], code: int) -> str:
    """The text of a number among those with so many of each digit, the first of them no zero."""
    text = ""
    while any(left):
        for digit in range(0 if text else 1, 10):
            if not left[digit]:
                continue
            left[digit] -= 1
            count = _arrangements(left)
            if code < count:
                text += str(digit)
                break
            left[digit] += 1
            code -= count
    return text


_GERMAN_TAX = 9 * 1_814_400 + 9 * 1_451_520 + 72 * 1_632_960
"""Pairs of digits without a zero among those that stand there, with two, and with one; each with its arrangements."""


def _german_vat(code: int) -> str:
    text = str(code + 10**7)
    return f"DE{text}{german_tax_digit(text)}"


def _ean(code: int) -> str:
    return f"{code:012d}{ean_digit(f'{code:012d}')}"


def _isbn(code: int) -> str:
    return _ean(978 * 10**9 + code if code < 10**9 else 979 * 10**9 + code - 10**9)


def _luhn(code: int) -> str:
    text = str(code + 10**8)
    return text + luhn_digit(text)


SYSTEMS: dict[str, tuple[int, Body]] = {
    "visa": _card(("4",), 16),
    "card": _card(("4",), 16),
    "mastercard": _card(("51", "52", "53", "54", "55"), 16),
    "amex": _card(("34", "37"), 15),
    "luhn": (9 * 10**8, _luhn),
    "ean": (10**12, _ean),
    "isbn": (2 * 10**9, _isbn),
    "german_tax": (_GERMAN_TAX, _german_tax),
    "german_vat": (9 * 10**7, _german_vat),
    "bsn": (9 * 10**6 * 9, _dutch),
    "pesel": ((_LAST_DAY - _FIRST_DAY + 1) * 10_000, _polish),
    "dni": (10**8, lambda code: f"{code:08d}{spanish_letter(f'{code:08d}')}"),
}


# Fakes
# -----


_LISTS = {
    "first_name": ("person", "first_names"),
    "last_name": ("person", "last_names"),
    "country": ("address", "countries"),
    "job": ("job", "jobs"),
}


@cache
def pieces(domain: Fakes) -> tuple[list[list[str]], Callable[..., str]]:
    """The lists behind a kind of fakes and how an element of each makes one value."""
    if domain.case:
        lists, join = pieces(replace(domain, case=""))
        written = str.upper if domain.case == "upper" else str.lower
        return [sorted(set(map(written, one))) for one in lists], lambda *parts: written(join(*parts))
    first, last = _single(_listed(domain, "first_name")), _single(_listed(domain, "last_name"))
    plain_first, plain_last = sorted(set(map(_plain, first))), sorted(set(map(_plain, last)))
    numbers = [str(number) for number in range(1, 1000)]
    fakes: dict[str, tuple[list[list[str]], Callable[..., str]]] = {
        "name": ([first, last], lambda one, two: f"{one} {two}"),
        "first_name": ([first], lambda one: one),
        "last_name": ([last], lambda one: one),
        "email": ([plain_first, plain_last, numbers], lambda one, two, n: f"{one}.{two}{n}@example.org"),
        "company": ([last, last], lambda one, two: f"{one} & {two}"),
    }
    if domain.fake in fakes:
        return fakes[domain.fake]
    if domain.fake in ("job", "country"):
        return [_listed(domain, domain.fake)], lambda one: one
    streets, towns = [f"{name} Street" for name in last], [f"{name}ville" for name in last]
    places: dict[str, tuple[list[list[str]], Callable[..., str]]] = {
        "street": ([numbers, streets], lambda n, street: f"{n} {street}"),
        "city": ([towns], lambda town: town),
        "address": ([numbers, streets, towns], lambda n, street, town: f"{n} {street}, {town}"),
    }
    return places[domain.fake]


def _listed(domain: Fakes, name: str) -> list[str]:
    group, attribute = _LISTS[name]
    provider = _provider(group, domain.locale)
    values: Any = getattr(provider, attribute, None)
    if not values:
        raise PolicyError(f"there are no fakes of kind {name} for {domain.locale}", hint="use en_US or another domain")
    return sorted(set(_texts(values)))


def _single(names: list[str]) -> list[str]:
    """Names of one word, so that different pairs never read the same."""
    return [name for name in names if " " not in name and "&" not in name]


def _texts(values: Iterable[Any]) -> list[str]:
    return [str(value) for value in values]


def _provider(group: str, locale: str) -> Any:
    import importlib
    import importlib.util

    require("faker", "a column of realistic fakes")
    for module in (f"faker.providers.{group}.{locale}", f"faker.providers.{group}"):
        if importlib.util.find_spec(module) is not None:
            return importlib.import_module(module).Provider
    raise PolicyError(f"Faker knows no locale {locale}", hint="for example en_US, de_DE, fr_FR")


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "".join(sign for sign in folded.lower() if sign.isalnum()) or "x"
