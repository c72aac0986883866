"""What is read many values at a time says the same as what is read one by one."""

from __future__ import annotations

import datetime
import random

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.memory_map import memory_bound
from sfumato.kinds.testdata.database_view import count_differing_rows, count_distinct, repeated
from sfumato.kinds.testdata.leaked_values import first_words, has_letters, words_of_text
from sfumato.kinds.testdata.methods.sampling.record_samplers import texts_of_bytes
from sfumato.policy.value_domains import Dates, Decimals, Integers, Ordered

CHANCE = random.Random(46)
NEW_YEAR = datetime.date(2000, 1, 1).toordinal()
ODD = ["", "x", "1e2", "-0.00", "+5.00", "0700.00", ".50", "007", "9" * 30, "20050101", "2005-02-31", "2005-1-1"]
DOMAINS = [Decimals(-500, 70_000, 100, 2), Integers(-5, 700), Dates(NEW_YEAR, NEW_YEAR + 3000)]


@pytest.mark.parametrize("odd", [True, False])
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: type(domain).__name__)
def test_a_domain_judges_many_texts_like_single_ones(domain: Ordered, odd: bool) -> None:
    texts = [domain.text(CHANCE.randint(domain.low - 900, domain.high + 900)) for _ in range(400)] + ODD * odd
    alone = [domain.holds(text) for text in texts]
    assert 0 < sum(alone) < len(texts)
    assert domain.contains(texts).tolist() == alone
    assert domain.contains(pa.array(texts)).tolist() == alone


def texts() -> list[str]:
    signs = ["a", "Z", "é", "ß", "0", "7", " ", "-", "@", ".", "_", "東"]
    return ["".join(CHANCE.choices(signs, k=CHANCE.randint(0, 9))) for _ in range(2_000)]


@pytest.mark.parametrize("sliced", [0, 700])
def test_first_words_and_letters_of_many_texts(sliced: int) -> None:
    values = texts()
    column = pa.array(values).slice(sliced)
    plain = [value for value in column.to_pylist() if value.isascii()]
    assert first_words(pa.array(plain)).to_pylist() == [(words_of_text(one) or ("",))[0] for one in plain]
    found = dict(zip(column.to_pylist(), first_words(column).to_pylist(), strict=True))
    assert all(found[one] == (words_of_text(one) or ("",))[0] for one in plain)  # among others, in their order
    assert has_letters(column).tolist() == [any(sign.isalpha() for sign in one) for one in column.to_pylist()]


@pytest.mark.parametrize("bound", [2 << 30, 2048 * 50])
def test_rows_are_counted_alike_in_one_piece_and_in_many(bound: int) -> None:
    draw = np.random.default_rng(46)
    left = [[CHANCE.choice(["a", "b", None, ""]) for _ in range(900)], draw.integers(0, 40, 900).astype(str).tolist()]
    right = [column[:-7] for column in left]
    rows = [list(zip(*side, strict=True)) for side in (left, right)]
    more = {row: rows[0].count(row) - rows[1].count(row) for row in {*rows[0], *rows[1]}}
    sides = [[pa.chunked_array([column[:300], column[300:]], pa.string()) for column in side] for side in (left, right)]
    full = [row for row in rows[0] if None not in row]
    with memory_bound(bound):
        assert count_differing_rows(*sides) == (sum(n for n in more.values() if n > 0), 0)
        assert count_distinct(sides[0]) == len(set(rows[0]))
        assert repeated(sides[0]) == len(full) - len(set(full))
        assert repeated(sides[0][:1]) == sum(one is not None for one in left[0]) - 3


def test_texts_of_fixed_width_become_a_column() -> None:
    assert texts_of_bytes(np.array([b"abc", b"", b"d"])).to_pylist() == ["abc", "", "d"]
