"""Roles in seven languages: column names with values, labelled by hand before the detector was run."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from sfumato.data.check_digits import iban_digits, luhn_digit, spanish_letter
from sfumato.data.personal_columns.roles import InferredColumn, infer_column_roles
from sfumato.data.table import Table

FOLDER = Path(__file__).parent / "languages"
LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.csv"))
ROWS = 300
STREETS = ("Elm Street", "Rosenweg", "rue du Lac", "Calle Mayor", "Via Roma")
NAMES = {
    "en": ("Oliver Emma Noah Grace Adaeze Kofi Liam Chloe Priya Hugh",
           "Smith Okafor Taylor Nguyen Brown Ito Patel Walker Mbeki Young"),
    "de": ("Jürgen Sabine Lukas Anja Ottilie Uwe Heike Florian Petra Knut",
           "Müller Schröder Meyer Zabel Fischer Krug Hoffmann Weiß Lüders Koch"),
    "fr": ("Émile Camille Julien Océane Thierry Manon Hugo Solène Pascal Inès",
           "Dubois Lefèvre Moreau Petit Quéré Laurent Bezos Roux Fournier Giraud"),
    "es": ("José Lucía Álvaro Carmen Iker Rocío Pablo Nuria Javier Elena",
           "García Muñoz Etxeberria López Ruiz Castro Vidal Soler Moreno Ibáñez"),
    "it": ("Giulia Marco Chiara Luca Fiorenza Paolo Elisa Davide Ivo Sara",
           "Rossi Bianchi Ferrari Esposito Zanetti Greco Bruno Costa Lupi Conti"),
    "nl": ("Daan Sanne Bram Lotte Jeroen Femke Joris Anouk Thijs Roos",
           "Jansen Bakker Visser Smit Zonneveld Mulder Dekker Bos Kuipers Vos"),
    "pt": ("João Beatriz Tiago Leonor Nuno Inês Rafael Catarina Rui Marta",
           "Silva Santos Ferreira Quaresma Costa Alves Pinto Nunes Moreira Rocha"),
}  # fmt: skip
PROSE = {
    "en": (
        "the patient called about pain and wants a letter; daughter will visit on monday near the old bridge with her"
        " dog again"
    ),
    "de": (
        "der Patient rief wegen Schmerzen an und will einen Brief; Tochter kommt am Montag zur alten Brücke mit dem"
        " Hund wieder"
    ),
    "fr": (
        "le patient appelle pour une douleur et veut une lettre; sa fille vient lundi près du vieux pont avec le chien"
        " encore"
    ),
    "es": (
        "el paciente llama por dolor y quiere una carta; su hija viene el lunes cerca del viejo puente con el perro"
        " otra vez"
    ),
    "it": (
        "il paziente chiama per un dolore e vuole una lettera; la figlia viene lunedì vicino al vecchio ponte con il"
        " cane ancora"
    ),
    "nl": (
        "de patient belt over pijn en wil een brief; zijn dochter komt maandag bij de oude brug met de hond weer terug"
    ),
    "pt": "o paciente liga por dor e quer uma carta; a filha vem na segunda perto da velha ponte com o cão outra vez",
}


def makers(language: str, rng: random.Random) -> dict[str, Callable[[int], str]]:
    """Ways to make the value of a row."""
    given, family = (names.split() for names in NAMES[language])
    words = PROSE[language].split()

    def digits(count: int) -> str:
        return "".join(rng.choice("0123456789") for _ in range(count))

    def iban(_: int) -> str:
        account = digits(18)
        return f"DE{iban_digits('DE', account)}{account}"

    def card(_: int) -> str:
        body = "4" + digits(14)
        return body + luhn_digit(body)

    def bsn(row: int) -> str:
        while True:
            body = digits(8)
            check = sum(int(digit) * (9 - place) for place, digit in enumerate(body)) % 11
            if check < 10 and body[0] != "0":
                return f"{body}{check}"

    def date(_: int) -> str:
        day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1940, 2005)
        return f"{year}-{month:02}-{day:02}" if language == "en" else f"{day:02}.{month:02}.{year}"

    def money(_: int) -> str:
        whole, part = rng.randint(800, 90_000), rng.randint(0, 99)
        return f"{whole}.{part:02}" if language == "en" else f"{whole:,}".replace(",", ".") + f",{part:02}"

    body = "ABCDEFGHJKLMNPRSTUVWXYZ"
    return {
        "given": lambda row: rng.choice(given),
        "family": lambda row: rng.choice(family),
        "full": lambda row: f"{rng.choice(given)} {rng.choice(family)}",
        "email": lambda row: f"p{row}@example.org",
        "phone": lambda row: f"+49 30 {digits(3)} {digits(4)}",
        "street": lambda row: f"{rng.choice(STREETS)} {rng.randint(1, 99)}",
        "ssn": lambda row: f"{rng.randint(100, 799)}-{rng.randint(10, 99)}-{digits(4)}",
        "code": lambda row: rng.choice(body) + digits(8),
        "iban": iban,
        "card": card,
        "bsn": bsn,
        "dni": lambda row: (number := digits(8)) + spanish_letter(number),
        "fiscal": lambda row: "RSSMRA" + digits(2) + "A" + f"{rng.randint(1, 31):02}" + "H501" + rng.choice(body),
        "key": lambda row: str(100_000 + row // 2),
        "login": lambda row: f"{fold(rng.choice(given))}{row}",
        "ip": lambda row: ".".join(str(rng.randint(1, 254)) for _ in range(4)),
        "plate": lambda row: f"K-{rng.choice(body)}{rng.choice(body)} {rng.randint(100, 9999)}",
        "hash": lambda row: "".join(rng.choice("0123456789abcdef") for _ in range(40)),
        "file": lambda row: f"img{row}.jpg",
        "date": date,
        "age": lambda row: str(rng.randint(18, 95)),
        "postcode": lambda row: f"{rng.randint(10_000, 99_999)}",
        "nlpostcode": lambda row: f"{rng.randint(1000, 9999)} {rng.choice(body)}{rng.choice(body)}",
        "icd": lambda row: f"{rng.choice('ABCDEFGIJ')}{digits(2)}.{digits(1)}",
        "money": money,
        "prose": lambda row: " ".join(rng.choice(words) for _ in range(rng.randint(4, 14))),
    }


def fold(text: str) -> str:
    from sfumato.data.personal_columns.vocabulary import fold

    return fold(text)


def labelled(language: str) -> list[tuple[str, str, list[str]]]:
    rng = random.Random(language)
    ways = makers(language, rng)
    with (FOLDER / f"{language}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    found = []
    for row in rows:
        options = row["values"].split("|")
        make = ways.get(row["values"], lambda _, options=options: rng.choice(options))
        found.append((row["column"], row["role"], [make(number) for number in range(ROWS)]))
    return found


def looks(language: str) -> list[tuple[InferredColumn, str]]:
    """Every labelled column in a table of its own, so that no other one helps."""
    return [(infer_column_roles(Table(pa.table({name: values})))[0], role) for name, role, values in labelled(language)]


def found_role(look: InferredColumn) -> str:
    return look.role if look.decided else "review"


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_forty_labels(language: str) -> None:
    assert len(labelled(language)) >= 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_roles_are_those_of_the_labels(language: str) -> None:
    wrong = {
        look.name: (found_role(look), role, look.reason) for look, role in looks(language) if found_role(look) != role
    }
    assert len(wrong) <= 0.05 * len(labelled(language)), wrong


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_dangerous_is_published_without_a_question(language: str) -> None:
    """Identifiers and free text are left out; sensitive columns are never called quasi-identifiers, nor unknown ones
    harmless."""
    allowed = {
        "identifier": {"identifier", "drop", "review"},
        "drop": {"identifier", "drop", "review"},
        "sensitive": {"sensitive", "identifier", "drop", "review"},
        "quasi-identifier": {"quasi-identifier", "identifier", "drop", "review"},
        "review": {"review", "identifier", "drop"},
    }
    assert {
        look.name: found_role(look) for look, role in looks(language) if found_role(look) not in allowed[role]
    } == {}
