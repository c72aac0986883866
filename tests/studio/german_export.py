"""A German hospital export as offices write them: Windows-1252, semicolons, decimal commas, names and free text."""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path

COLUMNS = (
    "Fallnr", "Patienten_ID", "Nachname", "Vorname", "Geburtsdatum", "Alter", "Geschlecht", "PLZ", "Wohnort",
    "Familienstand", "Beruf", "Kostentraeger", "Aufnahme", "Entlassung", "Verweildauer", "Abteilung", "Hauptdiagnose",
    "Nebendiagnosen", "Gewicht_kg", "Groesse_cm", "Kosten_EUR", "Einkommen_netto", "verstorben", "Bemerkung",
)  # fmt: skip
_SURNAMES = (
    "Müller", "Schmidt", "Schneider", "Fischer", "Weber", "Meyer", "Wagner", "Becker", "Schulz", "Hoffmann",
    "Schäfer", "Koch", "Bauer", "Richter", "Klein", "Wolf", "Schröder", "Neumann", "Schwarz", "Zimmermann", "Braun",
    "Krüger", "Hofmann", "Hartmann", "Lange", "Schmitt", "Werner", "Krause", "Lehmann", "Köhler",
)  # fmt: skip
_WOMEN = ["Mia", "Sabine", "Ursula", "Heike", "Anna", "Petra", "Monika", "Julia", "Karin", "Lea"]
_MEN = ["Jürgen", "Thomas", "Klaus", "Hans", "Peter", "Lukas", "Jörg", "Stefan", "Wolfgang", "Tim"]
_TOWNS = (
    "50667 Köln", "50674 Köln", "50733 Köln", "50737 Köln", "51109 Köln", "53111 Bonn", "53113 Bonn", "53119 Bonn",
    "40210 Düsseldorf", "40213 Düsseldorf", "40589 Düsseldorf", "45127 Essen", "45130 Essen", "44135 Dortmund",
    "44137 Dortmund", "48143 Münster", "48149 Münster", "52062 Aachen", "52064 Aachen", "04109 Leipzig",
)  # fmt: skip
_WARDS = {
    "Kardiologie": ("I50.1", "I21.4", "I48.0", "I25.1"), "Orthopädie": ("M16.1", "M17.1", "M54.5", "S72.0"),
    "Onkologie": ("C34.1", "C50.9", "C18.7"), "Psychiatrie": ("F10.2", "F20.0", "F32.1"),
    "Innere Medizin": ("E11.9", "K35.8", "J18.9", "B20"), "Neurologie": ("G40.9", "I63.9", "G35.1"),
}  # fmt: skip
_NOTES = (
    "", "", "", "", "Sturz zu Hause, Tochter {name} hat angerufen", "Patient wünscht Rückruf unter der alten Nummer",
    "Befund an Hausarzt Dr. {name} geschickt", "kommt in Begleitung von Frau {name}",
)  # fmt: skip


def write_export(place: Path, rows: int = 50_000, *, first: int = 1, seed: int = 4, quarter: int = 1) -> Path:
    """Write the cases of one quarter; people are numbered from `first`, and who has the same number is the same."""
    lines = [";".join(COLUMNS)]
    lines += [_case(number, seed, quarter) for number in range(first, first + rows)]
    place.write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252"))
    return place


def _case(number: int, seed: int, quarter: int) -> str:
    own = random.Random(f"{seed} {number}")  # what stays of a person
    now = random.Random(f"{seed} {number} {quarter}")
    woman = own.random() < 0.52
    age = min(101, max(0, int(own.gauss(55, 21))))
    born = date(2025 - age, 1, 1) + timedelta(days=own.randrange(365))
    code, town = own.choice(_TOWNS).split(" ", 1)
    sex = ("w" if woman else "m") if own.random() < 0.998 else "d"
    family = own.choice(("ledig", "verheiratet", "geschieden", "verwitwet"))
    work = "Rentner/in" if age > 66 else own.choice(("Angestellte/r", "Arbeiter/in", "Beamter/in", "Landwirt/in"))
    ward = own.choice(tuple(_WARDS))
    came = date(2025, 3 * quarter - 2, 1) + timedelta(days=now.randrange(90))
    stay = max(1, int(now.expovariate(1 / 6)))
    name = own.choice(_SURNAMES)
    note = now.choice(_NOTES).format(name=now.choice(_SURNAMES))
    fields = (
        f"F{quarter}{number:07d}", f"P{number:07d}", name, own.choice(_WOMEN if woman else _MEN),
        f"{born:%d.%m.%Y}", str(age), sex, code, town, family, work,
        own.choice(("AOK", "TK", "Barmer", "DAK", "privat")), f"{came:%d.%m.%Y}",
        f"{came + timedelta(days=stay):%d.%m.%Y}", str(stay), ward, own.choice(_WARDS[ward]),
        ", ".join(now.sample(("E78.0", "I10.0", "N18.3", "F17.2", "E66.0"), now.randrange(3))),
        _comma(own.gauss(78, 14), 1), str(int(own.gauss(171, 9))), _comma(now.lognormvariate(8, 0.6), 2),
        _comma(own.lognormvariate(7.6, 0.4), 2), "ja" if now.random() < 0.03 else "nein", note,
    )  # fmt: skip
    return ";".join(
        f'"{field}"' if "," in field and not field.replace(",", "").isdigit() else field for field in fields
    )


def _comma(value: float, places: int) -> str:
    return f"{value:.{places}f}".replace(".", ",")
