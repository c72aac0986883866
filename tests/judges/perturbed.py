"""A judge of perturbed tables: what each perturbation leaves as it was, and how far it may move a value.

From the words of the documentation; nothing of `sfumato` is imported. `behind[i]` is the record of published row i.

    swapping    every column keeps its values; a value moves by at most a share of the ranks of its column
    shuffling   every column keeps its values; columns that do not change keep them with their rows
    pram        a category is one of its column; the matrix and the shares are those that are published
    noise       the published covariance is the declared share of the column's own; noise is as large as it says

>>> ranks(["3", "1", "2", "2"])
{'1': (0, 0), '2': (1, 2), '3': (3, 3)}
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, str]]
FAR = 7.0
"""Standard errors that chance does not reach."""


def violations(how: str, asked: Mapping[str, Any], public: Mapping[str, Any], rows: Rows, behind: Sequence[int],
               records: Rows, changed: Sequence[str]) -> list[str]:  # fmt: skip
    """Everything that is wrong with a perturbed table."""
    if sorted(behind) != list(range(len(records))) or len(rows) != len(records):
        return ["other records"]
    pairs = [(row, records[record]) for row, record in zip(rows, behind, strict=True)]
    wrong = [
        f"{name} changed" for name in rows[0] if name not in changed for new, old in pairs if new[name] != old[name]
    ]
    for name in changed:
        new, old = [row[name] for row, _ in pairs], [record[name] for _, record in pairs]
        wrong += [f"{name}: {said}" for said in JUDGES[how](new, old, name, asked, public)]
    return wrong


def ranks(values: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The first and the last rank of every value; numbers by size, words by the alphabet."""
    numbers = all(_number(value) is not None for value in values)
    ordered = sorted(values, key=lambda value: (float(value) if numbers else 0.0, value))
    found: dict[str, tuple[int, int]] = {}
    for rank, value in enumerate(ordered):
        found[value] = (found.get(value, (rank, rank))[0], rank)
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _swapped(new: list[str], old: list[str], name: str, asked: Any, public: Any) -> Iterator[str]:
    yield from _same_values(new, old)
    window, place = max(1, int(asked.get("window", 0.05) * len(old))), ranks(old)
    for now, before in zip(new, old, strict=True):
        if now in place:
            (low, high), (first, last) = place[now], place[before]
            if max(low - last, first - high) > window:
                yield f"{before} changed places with {now}, more than {window} ranks away"


def _same_values(new: list[str], old: list[str]) -> Iterator[str]:
    if Counter(new) != Counter(old):
        yield "other values"


def _shuffled(new: list[str], old: list[str], name: str, asked: Any, public: Any) -> Iterator[str]:
    yield from _same_values(new, old)


def _randomized(new: list[str], old: list[str], name: str, asked: Any, public: Any) -> Iterator[str]:
    shares, many = {value: count / len(old) for value, count in Counter(old).items()}, len(old)
    if not set(new) <= set(old):
        yield "a category that nobody has"
    stated = public["shares"][name]
    if set(stated) != set(shares) or any(abs(stated[value] - share) > 1e-9 for value, share in shares.items()):
        yield "the matrix has other shares"
    keep = asked.get("keep", 0.8)
    if public["keep"][name] != keep:
        yield "the matrix keeps with another probability"
    chances = [keep + (1 - keep) * shares[value] for value in old]
    kept = sum(now == before for now, before in zip(new, old, strict=True))
    spread = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    if abs(kept - sum(chances)) > FAR * spread + 1 + many * 1e-9:
        yield f"{kept} of {many} values stayed where {sum(chances):.1f} were expected"


def _noisy(new: list[str], old: list[str], name: str, asked: Any, public: Any) -> Iterator[str]:
    values, changed = [float(value) for value in old], [float(value) for value in new]
    mean = sum(values) / len(values)
    variance = asked.get("amount", 0.1) * sum((value - mean) ** 2 for value in values) / len(values)
    if abs(public["covariance"][name][name] - variance) > 1e-6 * max(variance, 1):
        yield "another covariance is published"
    moved = [now - before for now, before in zip(changed, values, strict=True)]
    if max(map(abs, moved)) > FAR * math.sqrt(variance) + 0.06:
        yield "more noise than the covariance says"
    if variance > 1 and len(values) > 5 and not any(moved):
        yield "no noise"


JUDGES = {"swapping": _swapped, "shuffling": _shuffled, "pram": _randomized, "noise": _noisy}
