"""One map from old to new values for columns that change together: keys and everything that refers to them.

Guarantee
    Without a secret the map is a uniformly random one-to-one map into the domain, drawn anew for every release: equal values stay
    equal and different ones different, nothing else remains. With a secret it is a function of secret, domain and value only.

Invariants
    I1  New values are ranks without repetition, so the map is one-to-one; unique keys, composite ones too, and references through
        chains and cycles survive without a look at the rows.
    I2  With a secret, a value inside its own domain moves by a keyed permutation of ranks and cannot collide with another one
        inside; others are drawn by a keyed hash, and a collision is refused where a rule needs the values apart.

Cost: linear in the distinct values.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import IntArray
from sfumato.data.database import ColumnFacts
from sfumato.errors import Infeasible
from sfumato.methods.replacing.databases.numbering import numbering
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.methods.replacing.sampling import keyed
from sfumato.methods.replacing.sampling.engines import NewColumn, _without_repetition
from sfumato.methods.replacing.sampling.legal import legal
from sfumato.methods.replacing.sampling.levels import Levels, Listed, Spelled, Steps
from sfumato.policy.bound_policy import LinkedColumns
from sfumato.policy.rules.tree import ColumnValue, Condition, Node
from sfumato.randomness import Randomness


@dataclass(frozen=True)
class ValueMap:
    """Old texts and, in the same order, new ones."""

    old: pa.Array
    new: pa.Array

    def __call__(self, column: pa.Array) -> pa.Array:
        """The image of a column; nulls stay."""
        return self.new.take(pc.index_in(column, self.old))

    @property
    def collides(self) -> bool:
        return len(pc.unique(self.new)) < len(self.new)


def require_values(link: LinkedColumns, facts: Sequence[ColumnFacts], data: Selected, conditions: list[Condition]) -> None:
    """Refuses a link whose domain and rules leave fewer values than it has."""
    _possible(link, facts, data, conditions)


def _possible(
    link: LinkedColumns, facts: Sequence[ColumnFacts], data: Selected, conditions: list[Condition]
) -> tuple[pa.Array, Levels, Any]:
    """The old values, how the domain is numbered, and what the rules leave of it."""
    old = pc.unique(pa.concat_arrays([pc.drop_null(pc.unique(data.column(column))) for column in link.columns]))
    narrowest = min(facts, key=lambda column: column.length or 1 << 30)
    levels = numbering(link.domain, narrowest, str(link.root))
    found = legal({link.root: levels}, conditions, {})
    if found is None:
        raise Infeasible("its rules cannot be combined with its domain", where=f"column '{link.root}'", hint="use a smaller domain")
    size = found.space.size
    if size < len(old):
        what = f"only {size} different values are possible for {len(old)}"
        raise Infeasible(what, where=f"column '{link.root}'", hint="widen its domain")
    return old, levels, found


def value_map(
    link: LinkedColumns, facts: Sequence[ColumnFacts], data: Selected, conditions: list[Condition], source: Randomness | bytes
) -> ValueMap:
    """The map of a link; `conditions` are rules on its root alone, `source` is chance or a secret."""
    old, levels, found = _possible(link, facts, data, conditions)
    size = found.space.size
    if isinstance(source, bytes):
        ranks = _deterministic(link, levels if not conditions else None, size, old, source)
    else:
        ranks = _random(size, len(old), source.bytes(16))
    codes = found.space.codes(ranks)[link.root]
    return ValueMap(old, NewColumn(found.levels[link.root], codes).arrow())


def _random(size: int, count: int, key: bytes) -> IntArray:
    numbers = np.arange(count, dtype=np.int64)
    return keyed.Permutation(key, size)(numbers) if size <= keyed.LARGEST else _without_repetition(key, size, numbers)  # I1


def _deterministic(link: LinkedColumns, levels: Levels | None, size: int, old: pa.Array, secret: bytes) -> IntArray:
    """I2: ranks from secret and value alone; the domain's own words keep different domains apart."""
    words = json.dumps(link.domain.declared(), sort_keys=True, default=str).encode()
    key = hmac.new(secret, words, hashlib.sha256).digest()
    texts = old.to_pylist()
    hashed = [int.from_bytes(hmac.digest(key, text.encode(), "sha256")[:24], "big") % size for text in texts]
    ranks: IntArray = np.array(hashed, dtype=np.int64 if size <= keyed.LARGEST else object)
    if levels is None or size > keyed.LARGEST:
        return ranks
    own = [rank_of(levels, text) for text in texts]
    inside = np.array([rank is not None for rank in own], dtype=bool)
    if inside.any():
        numbers = np.array([rank for rank in own if rank is not None], dtype=np.int64)
        ranks[inside] = keyed.Permutation(key[:16], size)(numbers)
    return ranks


def rank_of(levels: Levels, text: str) -> int | None:
    """The number of a text that belongs to the domain."""
    if isinstance(levels, Steps):
        code = levels.code(text)
        return code if code is not None and levels.texts(np.array([code]))[0] == text else None
    if isinstance(levels, Listed):
        return levels.code(text)
    return levels.words.rank(text) if isinstance(levels, Spelled) else None


def single_column(condition: Condition, root: ColumnValue, columns: Sequence[ColumnValue]) -> Condition:
    """The condition with every column of the link called by its root."""
    found = _renamed(condition, dict.fromkeys(columns, root))
    assert isinstance(found, Condition)
    return found


def _renamed(node: Node, names: Mapping[ColumnValue, ColumnValue]) -> Node:
    if isinstance(node, ColumnValue):
        return names.get(node, node)
    changes: dict[str, Any] = {}
    for entry in fields(node):
        value = getattr(node, entry.name)
        if isinstance(value, Node):
            changes[entry.name] = _renamed(value, names)
        elif isinstance(value, tuple):
            changes[entry.name] = tuple(_renamed(part, names) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes)
