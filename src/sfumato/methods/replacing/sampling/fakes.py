"""Realistic invented names and addresses: every combination of the pieces that the Faker library lists for a language.

The pieces are taken as lists and combined here, not drawn one by one from the library: so the number of possible values is known
before the run, every combination is equally likely and uniqueness is a matter of numbering, not of retrying.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from sfumato.errors import PolicyError
from sfumato.extras import require
from sfumato.policy.replacements import Fakes

_LISTS = {
    "first_name": ("person", "first_names"),
    "last_name": ("person", "last_names"),
    "country": ("address", "countries"),
    "job": ("job", "jobs"),
}


@cache
def pieces(domain: Fakes) -> tuple[list[list[str]], Callable[..., str]]:
    """The lists behind a kind of fakes and how an element of each makes one value."""
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
