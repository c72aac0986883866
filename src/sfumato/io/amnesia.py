"""Hierarchies as Amnesia writes them: a few lines about the file, then ``parent has child child …``, one level after the other.

    distinct                          range
    name towns                        name ages
    type string                       type int
    height 3                          height 2

    South has Ulm Augsburg            0,99 has 0,17 18,64 65,99
    North has Kiel

    World has South North

Names are words without blanks, as in Amnesia itself. A *distinct* hierarchy is a tree over values. In a *range* hierarchy the
smallest entries are ranges of numbers rather than values; it becomes the rule ``{cuts: …}``, whose bins begin where the ranges do.

>>> rows_of_amnesia("distinct\\nname t\\n\\nSouth has Ulm Augsburg\\n\\nWorld has South Kiel\\n", "t.txt")
[['Ulm', 'South', 'World'], ['Augsburg', 'South', 'World'], ['Kiel', 'World']]
>>> cuts_of_amnesia("range\\ntype int\\n\\n0,64 has 0,17 18,64\\n65,99 has 65,79 80,99\\n\\n0,99 has 0,64 65,99\\n", "a.txt")
[['0', '18', '65', '80', '100'], ['0', '65', '100']]
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from sfumato.data.numbers import number, plain
from sfumato.errors import DataError

_ABOUT = ("distinct", "range", "name", "type", "height")
_HAS = "has"


def is_amnesia(text: str) -> bool:
    """Whether a text begins like a hierarchy of Amnesia: with a line of one word, which no file of rows does."""
    return text.lstrip("\ufeff \t\r\n").split("\n", 1)[0].strip() in ("distinct", "range")


def is_range(text: str) -> bool:
    """Whether its entries are ranges of numbers."""
    return text.lstrip("\ufeff \t\r\n").split("\n", 1)[0].strip() == "range"


def rows_of_amnesia(text: str, name: str) -> list[list[str]]:
    """Rows ``leaf, …, root``, in the order of the file."""
    parents: dict[str, str] = {}
    children: list[str] = []
    inner: set[str] = set()
    for line, parent, below in _families(text, name):
        inner.add(parent)
        for child in below:
            if child in parents:
                what = f"hierarchy {name} is not a tree: '{child}' has two parents, '{parents[child]}' and '{parent}'"
                raise DataError(what, where=f"{name}:{line}", hint="give each entry one parent")
            parents[child] = parent
            children.append(child)
    return [_climbed(child, parents, name) for child in children if child not in inner]


def _climbed(leaf: str, parents: dict[str, str], name: str) -> list[str]:
    row = [leaf]
    while row[-1] in parents:
        row.append(parents[row[-1]])
        if row[-1] in row[:-1]:
            raise DataError(f"hierarchy {name} is not a tree: '{row[-1]}' stands above itself", hint="break the circle")
    return row


def cuts_of_amnesia(text: str, name: str) -> list[list[str]]:
    """The points of ``{cuts: …}``, level by level from fine to coarse."""
    ends: dict[str, tuple[Decimal, Decimal]] = {}
    depth: dict[str, int] = {}
    families = list(_families(text, name))
    for line, parent, below in families:
        for entry in (parent, *below):
            ends[entry] = _range(entry, f"{name}:{line}")
    above = {child: parent for _, parent, below in families for child in below}
    for entry in ends:
        depth[entry] = _steps(entry, above, name)
    deepest = max(depth.values(), default=0)
    last = max(high for _, high in ends.values()) if ends else Decimal(0)
    levels = []
    for level in range(deepest, 0, -1):
        shown = {entry for entry in ends if depth[entry] == level or (depth[entry] < level and entry not in above.values())}
        levels.append(sorted({ends[entry][0] for entry in shown} | {_after(last)}))
    return [[plain(point) for point in level] for level in levels]


def _steps(entry: str, above: dict[str, str], name: str) -> int:
    steps = 0
    while entry in above:
        entry, steps = above[entry], steps + 1
        if steps > len(above):
            raise DataError(f"hierarchy {name} is not a tree: an entry stands above itself", hint="break the circle")
    return steps


def _range(entry: str, where: str) -> tuple[Decimal, Decimal]:
    low, comma, high = entry.partition(",")
    ends = number(low), number(high)
    if not comma or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        raise DataError(f"'{entry}' is no range", where=where, hint="ranges are written low,high")
    return _plain(ends[0]), _plain(ends[1])


def _plain(value: Decimal) -> Decimal:
    """Without zeros that nobody needs: 18.0 is 18."""
    whole = value.to_integral_value()
    return whole if whole == value else value.normalize()


def _after(last: Decimal) -> Decimal:
    """The upper end belongs to the last range: the next number of as many places is the first outside."""
    return last + Decimal(1).scaleb(min(int(last.as_tuple().exponent), 0))


def _families(text: str, name: str) -> Iterator[tuple[int, str, list[str]]]:
    """Number of the line, parent, children."""
    begun = False
    for line, content in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        words = content.split()
        if not words or (not begun and words[0] in _ABOUT and _HAS not in words[1:2]):
            continue
        begun = True
        if len(words) < 3 or words[1] != _HAS:
            raise DataError(
                f"line {line} is not 'parent has child …'", where=f"{name}:{line}", hint="names are words without blanks"
            )
        yield line, words[0], words[2:]
