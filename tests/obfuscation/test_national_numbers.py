"""Numbers with check digits, country by country: what is drawn is valid to libraries that share no code with us."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable

import numpy as np
import phonenumbers
import pytest
import stdnum.de.idnr
import stdnum.de.vat
import stdnum.ean
import stdnum.es.dni
import stdnum.iban
import stdnum.isbn
import stdnum.luhn
import stdnum.nl.bsn
import stdnum.pl.pesel
from schwifty import IBAN

from sfumato.core.errors import PolicyError
from sfumato.data.check_digits import countries_of, is_valid, of_country
from sfumato.data.phone_numbers import mobile_countries
from sfumato.kinds.testdata.methods.sampling.column_values import levels
from sfumato.policy.value_domains import read

DRAWN = 1_000
ORACLES: dict[str, Callable[[str], bool]] = {
    "luhn": stdnum.luhn.is_valid,
    "card": stdnum.luhn.is_valid,
    "visa": stdnum.luhn.is_valid,
    "mastercard": stdnum.luhn.is_valid,
    "amex": stdnum.luhn.is_valid,
    "ean": stdnum.ean.is_valid,
    "isbn": stdnum.isbn.is_valid,
    "german_tax": stdnum.de.idnr.is_valid,
    "german_vat": stdnum.de.vat.is_valid,
    "bsn": stdnum.nl.bsn.is_valid,
    "pesel": stdnum.pl.pesel.is_valid,
    "dni": stdnum.es.dni.is_valid,
}


def drawn(**domain: str) -> list[str]:
    """Some numbers of a domain, the first and the last among them, all different."""
    numbering = levels(read(domain))
    chance = random.Random(str(domain))
    chosen = {0, numbering.size - 1, *(chance.randrange(numbering.size) for _ in range(DRAWN - 2))}
    codes = sorted(chosen)
    found = numbering.texts(np.array(codes, dtype=np.int64 if codes[-1] < 1 << 63 else object))
    texts = [one.decode() if isinstance(one, bytes) else str(one) for one in found]
    assert len(set(texts)) == len(codes)
    return texts


def is_iban(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some countries have no digits of their own
            return bool(IBAN(text, validate_bban=True))
    except ValueError:
        return False


def is_mobile(text: str, country: str) -> bool:
    number = phonenumbers.parse(text)
    mobile = (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE_OR_MOBILE)
    return phonenumbers.is_valid_number(number) and phonenumbers.number_type(number) in mobile


def test_every_system_has_an_oracle() -> None:
    from sfumato.data.check_digits import NUMBERS

    assert set(NUMBERS) == {*ORACLES, "iban", "phone"}


@pytest.mark.parametrize("system", ORACLES)
def test_numbers_are_valid(system: str) -> None:
    texts = drawn(numbers=system)
    assert [text for text in texts if not ORACLES[system](text)] == []
    assert all(is_valid(system, text) for text in texts)


@pytest.mark.parametrize("system", ["german_tax", "german_vat", "bsn", "pesel", "dni", "ean"])
def test_random_digits_are_judged_alike(system: str) -> None:
    """A valid number with digits changed: ours and the oracle agree on every one."""
    chance = random.Random(7)
    agreed = 0
    for text in drawn(numbers=system):
        signs = list(text)
        for place in chance.sample(range(len(signs)), 2):
            signs[place] = chance.choice("0123456789") if signs[place].isdigit() else signs[place]
        changed = "".join(signs)
        if system == "german_tax" and any(digit * 3 in changed for digit in "0123456789"):
            continue  # three equal digits side by side are not given out, which the library does not say
        assert is_valid(system, changed) == ORACLES[system](changed), system
        agreed += is_valid(system, changed)
    assert agreed < DRAWN


@pytest.mark.parametrize("country", countries_of("iban"))
def test_ibans_carry_the_digits_of_their_country(country: str) -> None:
    texts = drawn(numbers="iban", country=country)
    known = country != "BE"  # there the library asks for a bank that exists, too
    assert [text for text in texts if not (is_iban(text) and stdnum.iban.is_valid(text, check_country=known))] == []
    assert all(is_valid("iban", text) and of_country("iban", text, country) for text in texts)


@pytest.mark.parametrize("country", sorted({"BE", "CZ", "ES", "FI", "FR", "IT", "NO", "PL", "PT"}))
def test_wrong_digits_of_a_bank_are_refused(country: str) -> None:
    from sfumato.data.check_digits import iban_digits

    wrong = 0
    for text in drawn(numbers="iban", country=country):
        body = f"{text[4:10]}{(int(text[10]) + 1) % 10}{text[11:]}"
        changed = country + iban_digits(country, body) + body
        assert is_valid("iban", changed) == is_iban(changed)
        wrong += not is_valid("iban", changed)
    assert wrong > DRAWN / 2


@pytest.mark.parametrize("country", mobile_countries())
def test_mobile_numbers_are_valid_in_every_country(country: str) -> None:
    texts = drawn(numbers="phone", country=country)
    assert [text for text in texts if not is_mobile(text, country)] == []
    assert all(is_valid("phone", text) and of_country("phone", text, country) for text in texts)


def test_the_official_example_of_every_country_is_a_mobile_number() -> None:
    for country in mobile_countries():
        example = phonenumbers.PhoneMetadata.metadata_for_region(country)
        text = f"+{example.country_code}{example.mobile.example_number}"
        assert is_valid("phone", text), country
        assert of_country("phone", text, country)
        assert not is_valid("phone", text[1:])


def test_unknown_countries_are_named() -> None:
    with pytest.raises(PolicyError, match="no 'phone' of country 'XX'"):
        read({"numbers": "phone", "country": "XX"})
