"""Dependencies found in data are exactly those that hold, minimal on the left."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.workflow.discover.dependencies import dependencies

tables = st.integers(2, 12).flatmap(
    lambda rows: st.fixed_dictionaries(
        {name: st.lists(st.integers(0, 2), min_size=rows, max_size=rows) for name in "abcd"}
    )
)


@given(tables)
def test_what_is_found_is_what_a_dictionary_finds(table):
    columns = {name: np.array(values) for name, values in table.items()}
    found = {(each.given, *each.determines) for each in dependencies(columns, width=2, keys_above=1.0)}
    varied = [name for name in "abcd" if len(set(table[name])) > 1]
    expected = set()
    for size in (1, 2):
        for left in combinations(varied, size):
            for right in set(varied) - set(left):
                seen = {}
                rows = zip(zip(*(table[name] for name in left), strict=True), table[right], strict=True)
                holds = all(seen.setdefault(key, value) == value for key, value in rows)
                if holds and not any(smaller < set(left) and right == one for smaller, one in expected):
                    expected.add((frozenset(left), right))
    assert found == expected
