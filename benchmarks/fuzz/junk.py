"""Junk: texts, bytes and trees of the kind that break readers, and ways to put them into what was good."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

SECRET = "Mrs Zwxyq"
"""A value of a person; no error may repeat it."""
WORDS = [
    "",
    " ",
    "*",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "1_0",
    "1000000000000",
    "NO",
    "null",
    "~",
    "\u0085",
    "\u2028",
    "\ufeff",
    "\x00",
    "a\nb",
    "é",
    "😀",
    "=1+1",
    "-",
    "--",
    "9" * 400,
    "x" * 3000,
    "../../etc",
    "/etc/passwd",
    "a,b",
    'a"b',
    "(a|a)*b",
    "[",
    "{}",
    "%",
    "\\",
    "1.5",
    "1,5",
]
LEAVES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    10**7,
    10**12,
    10**30,
    1e-12,
    1e300,
    1.5,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    {"": ""},
    [None],
    {"a": {"a": {}}},
]


def word(rng: random.Random) -> str:
    return (
        rng.choice(WORDS)
        if rng.random() < 0.7
        else "".join(rng.choices("ab1 ,;\"'\n\r\t.:-*()[]{}|&!%#@\\/é\0", k=rng.randint(1, 12)))
    )


def leaf(rng: random.Random) -> Any:
    return word(rng) if rng.random() < 0.5 else rng.choice(LEAVES)


def deep(rng: random.Random, depth: int) -> Any:
    """A tree that goes down a long way."""
    tree: Any = leaf(rng)
    for _ in range(depth):
        tree = [tree] if rng.random() < 0.5 else {"a": tree}
    return tree


def spoilt_tree(rng: random.Random, tree: Any, times: int = 1) -> Any:
    """The tree with one place (or a few) replaced, taken away, doubled or renamed."""
    for _ in range(times):
        tree = _once(rng, tree)
    return tree


def _once(rng: random.Random, tree: Any) -> Any:
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        key = rng.choice(list(tree))
        way = rng.random()
        if way < 0.7:
            return tree | {key: _once(rng, tree[key])}
        if way < 0.8:
            return {other: value for other, value in tree.items() if other != key}
        if way < 0.9:
            return tree | {word(rng): tree[key]}
        return {(word(rng) if other == key else other): value for other, value in tree.items()}
    if isinstance(tree, list) and tree and rng.random() < 0.85:
        place = rng.randrange(len(tree))
        way = rng.random()
        if way < 0.8:
            return [*tree[:place], _once(rng, tree[place]), *tree[place + 1 :]]
        return [*tree, tree[place]] if way < 0.9 else tree[:place] + tree[place + 1 :]
    return deep(rng, rng.choice([3, 60, 400])) if rng.random() < 0.05 else leaf(rng)


def spoilt_bytes(rng: random.Random, content: bytes) -> bytes:
    """The same bytes, cut, flipped, doubled, or with something in them."""
    ways: list[Callable[[], bytes]] = [
        lambda: content[: rng.randint(0, len(content))],
        lambda: content + content,
        lambda: _inserted(rng, content, word(rng).encode()),
        lambda: _inserted(rng, content, bytes([rng.randrange(256)])),
        lambda: _inserted(rng, content, b'"'),
        lambda: bytes(byte ^ (1 << rng.randrange(8)) if rng.random() < 0.02 else byte for byte in content),
        lambda: content.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\n", b"", b"\0"])),
        lambda: content.decode("utf-8", "replace").encode(rng.choice(["utf-16", "latin-1", "utf-32"]), "replace"),
        lambda: rng.randbytes(rng.randint(0, 200)),
    ]
    return rng.choice(ways)()


def _inserted(rng: random.Random, content: bytes, new: bytes) -> bytes:
    place = rng.randint(0, len(content))
    return content[:place] + new + content[place + rng.randint(0, 3) :]
