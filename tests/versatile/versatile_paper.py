"""The paper's Table 1 (microdata) and Table 2 (three bucketized tables), in codes."""

import numpy as np

from sfumato.kinds.subtables.joint_estimate import SubTableSheet

NAMES = ("hospital", "age", "gender", "zipcode", "race", "icd9")
TABLE_1 = [
    ("111111", "37", "F", "71000", "asian", "HIV"),
    ("111111", "71", "M", "72000", "white", "diabetes"),
    ("222222", "55", "F", "73000", "black", "diabetes"),
    ("222222", "37", "F", "74000", "white", "flu"),
    ("333333", "23", "M", "71000", "black", "alcoholism"),
    ("333333", "37", "M", "72000", "white", "HIV"),
]
LABELS = {name: sorted({row[i] for row in TABLE_1}) for i, name in enumerate(NAMES)}
CODES = {name: np.array([LABELS[name].index(row[i]) for row in TABLE_1]) for i, name in enumerate(NAMES)}
PAIRS = {
    "race": (("age", "icd9"), [0, 1, 1, 2, 2, 0]),
    "zipcode": (("gender", "icd9"), [0, 1, 1, 2, 2, 0]),
}
"""Buckets of Tables 2(a) and 2(b): HIV; diabetes; flu with alcoholism."""


def table_2() -> list[SubTableSheet]:
    """Buckets of two; 2(c) pairs 111111 asian with 222222 black, both other whites, and both of 333333."""
    buckets = {name: np.array(found) for name, (_, found) in PAIRS.items()}
    sheets = [
        SubTableSheet.of_rows(
            {name: CODES[name] for name in visible}, buckets[hidden], {hidden: CODES[hidden]}, name=hidden
        )
        for hidden, (visible, _) in PAIRS.items()
    ]
    visible = {name: CODES[name] for name in ("hospital", "race")}
    last = SubTableSheet.of_rows(visible, np.array([0, 1, 0, 1, 2, 2]), {"zipcode": CODES["zipcode"]}, name="c")
    return [*sheets, last]


def labelled(names, codes):
    return tuple(LABELS[name][code] for name, code in zip(names, codes, strict=True))
