"""A seed on the command line: a whole number, or hexadecimal digits."""

from __future__ import annotations

import click

SEED_RULE = "Below 2^127, or with fewer than 32 hexadecimal digits, the release is marked as not for publication."


class Seed(click.ParamType[int]):
    """A whole number, or a text of hexadecimal digits."""

    name = "seed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from sfumato.randomness import read_seed

        try:
            return value if isinstance(value, int) else read_seed(str(value))
        except ValueError:
            self.fail("a seed is a whole number or a text of hexadecimal digits", param, ctx)


SEED = Seed()
