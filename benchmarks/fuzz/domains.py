"""Whether a value lies in the domain that a policy declares, from its words."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import Any


def inside(value: str, domain: dict[str, Any]) -> bool:
    """A value of a replaced column."""
    if "integers" in domain:
        low, high = domain["integers"]
        return bool(re.fullmatch(r"-?\d+", value)) and low <= int(value) <= high
    if "decimals" in domain:
        low, high = (Fraction(str(end)) for end in domain["decimals"])
        form = r"-?\d+" if not domain["places"] else rf"-?\d+\.\d{{{domain['places']}}}"
        return bool(re.fullmatch(form, value)) and low <= Fraction(value) <= high
    if "dates" in domain:
        low, high = (date.fromisoformat(str(end)) for end in domain["dates"])
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value)) and low <= date.fromisoformat(value) <= high
    if "pattern" in domain:
        return bool(re.fullmatch(domain["pattern"], value))
    return value in domain["values"]
