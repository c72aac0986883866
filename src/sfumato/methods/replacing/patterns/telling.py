"""What a recipient is told about the kept properties: which of them hold between which published rows.

A locality is told by the published rows of its three values, lowest first, and the gap that is at least as wide. A rule of the
policy that names records (`v[1] + v[2] <= v[3]`) is told with the rows that stand for these records, numbered from 1, as in rules.
Other rules speak of every record or of totals and stand in the policy already; those that mention the original are of no use here.

Invariants
    I1  Lines are sorted by what they say, so their order tells nothing else.

>>> import numpy as np
>>> told = kept_part([], {"v": np.array([[2, 0, 1, 1]])}, np.array([1, 2, 0]))       # record 2 is published in row 2
>>> told.to_pylist()
[{'rule': '', 'column': 'v', 'low': '2', 'middle': '3', 'high': '1', 'wider': 'low'}]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.token_reader import exact_number
from sfumato.forms.replaced import KEPT_COLUMNS
from sfumato.policy.rules import IntegrityRule, columns_of
from sfumato.policy.rules.scan import scan
from sfumato.policy.rules.tree import Cell


def kept_part(rules: Iterable[IntegrityRule], localities: Mapping[str, IntArray], rows: IntArray) -> pa.Table:
    """The lines of kept.csv; `rows` are the records behind the published rows."""
    from sfumato.methods.replacing.kernels.localities import WIDE

    row = np.empty(rows.size, np.int64)
    row[rows] = np.arange(1, rows.size + 1)
    lines = [(renamed(rule.text, lambda record: int(row[record - 1])), "", "", "", "", "") for rule in rules if _names(rule)]
    for name, triples in localities.items():
        told = sorted(zip(*row[triples[:, :3]].T.tolist(), (triples[:, 3] == WIDE).tolist(), strict=True))  # I1
        lines += [("", name, str(a), str(b), str(c), "low" if wide else "high") for a, b, c, wide in told]
    columns = zip(*lines, strict=True) if lines else [()] * len(KEPT_COLUMNS)
    return pa.table({name: pa.array(list(column), pa.string()) for name, column in zip(KEPT_COLUMNS, columns, strict=True)})


def _names(rule: IntegrityRule) -> bool:
    """Whether a rule names records, and nothing that recipients cannot see."""
    nodes = list(rule.body.walk())
    return any(isinstance(node, Cell) for node in nodes) and not any(column.original for column in columns_of(rule))


def renamed(text: str, row: Callable[[int], int]) -> str:
    """A rule with other records.

    >>> renamed("v[1] + `a[2]`[2] <= 3", lambda record: 10 * record)
    'v[10] + `a[2]`[20] <= 3'
    """
    words = scan(text)
    for before, number, after in reversed(list(zip(words, words[1:], words[2:], strict=False))):
        signs = [(word.kind, word.text) for word in (before, after)] == [("sign", "["), ("sign", "]")]
        if signs and number.kind == "number":
            text = f"{text[: number.at]}{row(int(exact_number(number.text) or 0))}{text[number.at + len(number.text) :]}"
    return text
