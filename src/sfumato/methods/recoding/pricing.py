"""What publishing an interval costs, as integers, so that equal losses compare as equal.

Notation
    price    height of the subtree over the height of the hierarchy ([boundaries Def. 10]), or the share of the domain it covers
    unit     the common denominator of all prices where it is small, else a fine grid

Invariants
    I1  Prices are multiples of 1/unit; with hierarchies of moderate height, and ranges of whole numbers, they are exact.
    I2  A sum of prices over all columns and records fits a machine word.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.problem import RecodingProblem

if TYPE_CHECKING:
    from sfumato.methods.recoding.kernels.boxes import Columns

Price = Literal["height", "width"]


def columns_of(problem: RecodingProblem, price: Price) -> Columns:
    """The columns of a problem as the kernels read them."""
    from sfumato.methods.recoding.kernels.boxes import COLUMN, NODE, Columns

    unit = _unit(problem, price)
    parts = [_column(domain, price, unit) for domain in problem.domains]
    size = np.array([len(part[0]) for part in parts], dtype=np.int64)
    heads = np.zeros(len(parts), dtype=COLUMN)
    heads["tree"] = [isinstance(domain, Hierarchy) for domain in problem.domains]
    heads["offset"] = np.cumsum(size) - size
    nodes = np.zeros(int(size.sum()), dtype=NODE)
    for field, name in enumerate(NODE.names or ()):
        nodes[name] = np.concatenate([part[field] for part in parts])
    return Columns(heads, nodes)


def _column(domain: Generalization, price: Price, unit: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Price, parent, lo and hi of every node; of a line, the position of every leaf and three columns that are not read."""
    if isinstance(domain, Hierarchy):
        last = domain.size - 1 if price == "width" else int(domain.heights[-1])
        paid = domain.hi - domain.lo - 1 if price == "width" else domain.heights
        return np.rint(paid / max(last, 1) * unit).astype(np.int64), domain.parent, domain.lo, domain.hi
    if isinstance(domain, Ranges):
        start = np.zeros(domain.size, dtype=np.int64)
        position = domain.width(start, np.arange(1, domain.size + 1))
        return np.rint(position * unit).astype(np.int64), start, start, start
    raise TypeError(f"no prices are known for a domain of type {type(domain).__name__}")


def _unit(problem: RecodingProblem, price: Price) -> int:
    widest = (1 << 61) // (len(problem.domains) * (problem.records + 1))  # I2
    common = math.lcm(*(_denominator(domain, price) for domain in problem.domains))  # I1
    return common if 0 < common <= widest else min(widest, 1 << 40)


def _denominator(domain: Generalization, price: Price) -> int:
    """The common denominator of all prices of a column; 0 when there is none."""
    if isinstance(domain, Hierarchy):
        return max(domain.size - 1 if price == "width" else int(domain.heights[-1]), 1)
    if isinstance(domain, Ranges) and bool((domain.numbers == np.rint(domain.numbers)).all()):
        return max(int(domain.numbers[-1] - domain.numbers[0]), 1)
    return 0
