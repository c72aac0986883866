"""The orders by name: each a function from the sets and the degree of the ring to an order of the records.

All of them look at items only. An order that looks at labels can be re-run by an outsider and gives the assignment away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.methods.baskets.gray import gray_order
from sfumato.methods.baskets.segments import gray_tsp_order
from sfumato.methods.baskets.window import window_order

OrderName = Literal["window", "gray", "gray-tsp"]

ORDERS: dict[str, Callable[[Sets, int], IntArray]] = {
    "gray": lambda sets, degree: gray_order(sets),
    "gray-tsp": lambda sets, degree: gray_tsp_order(sets),
    "window": window_order,
}
