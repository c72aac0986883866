"""The values a database column may get, numbered: the domain, cut to what the column can hold."""

from __future__ import annotations

from sfumato.data.database import ColumnFacts
from sfumato.errors import Infeasible, PolicyError
from sfumato.methods.replacing.sampling.levels import Composed, Levels, levels
from sfumato.policy.replacements import ValueDomain


def numbering(domain: ValueDomain, column: ColumnFacts, where: str) -> Levels:
    """The numbering of a domain for a column of this type."""
    try:
        found = levels(domain)
    except PolicyError as error:
        raise PolicyError(error.what, where=error.where or f"domain of '{where}'", hint=error.hint) from None
    except Infeasible as error:
        raise Infeasible(error.what, where=f"domain of '{where}'", hint=error.hint) from None
    if isinstance(found, Composed) and column.length is not None:
        return _shortened(found, column.length, where)
    return found


def _shortened(found: Composed, length: int, where: str) -> Composed:
    """Only pieces so short that every combination fits."""
    joints = len(found.join(*("" for _ in found.pieces)))
    limits = [max(map(len, piece)) for piece in found.pieces]
    while sum(limits) + joints > length:
        widest = limits.index(max(limits))
        limits[widest] -= 1
        if limits[widest] < 1:
            raise PolicyError(f"no fake value fits into {length} characters", where=f"domain of '{where}'", hint="use a pattern")
    pieces = [[text for text in piece if len(text) <= limit] for piece, limit in zip(found.pieces, limits, strict=True)]
    if not all(pieces):
        raise PolicyError(f"no fake value fits into {length} characters", where=f"domain of '{where}'", hint="use a pattern")
    return Composed(pieces, found.join)
