"""Diagnoses: which chapter of the International Classification of Diseases a code belongs to, in its ninth and tenth revision.

Source: the block headings of ICD-10 (WHO) and ICD-9-CM (CDC), which are free to use.

>>> chapter_of("I21.4"), chapter_of("250.83"), chapter_of("V58"), chapter_of("hello")
(('I00-I99 circulatory', 'I21'), ('240-279 endocrine and metabolic', '250'), ('V01-V91 supplementary', 'V58'), None)
"""

from __future__ import annotations

import re

TENTH = (
    ("A00", "B99", "infections"), ("C00", "D49", "neoplasms"), ("D50", "D89", "blood and immunity"),
    ("E00", "E90", "endocrine and metabolic"),
    ("F00", "F99", "mental"), ("G00", "G99", "nervous system"), ("H00", "H59", "eye"), ("H60", "H95", "ear"),
    ("I00", "I99", "circulatory"),
    ("J00", "J99", "respiratory"), ("K00", "K95", "digestive"), ("L00", "L99", "skin"), ("M00", "M99", "musculoskeletal"),
    ("N00", "N99", "genitourinary"), ("O00", "O99", "pregnancy"), ("P00", "P96", "perinatal"), ("Q00", "Q99", "congenital"),
    ("R00", "R99", "symptoms"), ("S00", "T98", "injuries"), ("U00", "U99", "special purposes"), ("V00", "Y99", "external causes"),
    ("Z00", "Z99", "health services"),
)  # fmt: skip
NINTH = (
    (1, 139, "infections"), (140, 239, "neoplasms"), (240, 279, "endocrine and metabolic"), (280, 289, "blood"),
    (290, 319, "mental"),
    (320, 389, "nervous system and senses"), (390, 459, "circulatory"), (460, 519, "respiratory"), (520, 579, "digestive"),
    (580, 629, "genitourinary"), (630, 679, "pregnancy"), (680, 709, "skin"), (710, 739, "musculoskeletal"),
    (740, 759, "congenital"),
    (760, 779, "perinatal"), (780, 799, "symptoms"), (800, 999, "injuries"),
)  # fmt: skip
_CODE = re.compile(r"([A-Z]\d[0-9A-Z])\.?[0-9A-Z]{0,4}")
_NUMBER = re.compile(r"(\d{1,3})(?:\.\d{1,2})?")
_SUPPLEMENT = re.compile(r"([VE]\d{2,3})(?:\.\d{1,2})?")


def chapter_of(code: str) -> tuple[str, str] | None:
    """(chapter, category of three characters), or None when it is no code."""
    text = code.strip().upper()
    if found := _CODE.fullmatch(text):
        for first, last, what in TENTH:
            if first <= found[1] <= last and not (found[1][0] in "VE" and _SUPPLEMENT.fullmatch(text) and found[1][0] == "V"):
                return f"{first}-{last} {what}", found[1]
    if found := _SUPPLEMENT.fullmatch(text):
        return ("V01-V91 supplementary" if text[0] == "V" else "E800-E999 external causes"), found[1]
    if found := _NUMBER.fullmatch(text):
        for low, high, what in NINTH:
            if low <= int(found[1]) <= high:
                return f"{low:03}-{high} {what}", found[1]
    return None
