"""Sets are recognized in files and tables, and what is proposed can be published."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.workflow.discover.discover import discover, policy_text
from tests.secret import secret

GOODS = ["milk", "bread", "eggs", "tea", "rice", "soap", "salt", "fish", "figs", "corn"]


def baskets(count=120, seed=4):
    rng = np.random.default_rng(seed)
    return [sorted(rng.choice(GOODS, rng.integers(1, 6), replace=False).tolist()) for _ in range(count)]


def written(shape, folder):
    rows = baskets()
    if shape == "fimi":
        path = folder / "shop.dat"
        path.write_text("\n".join(" ".join(str(GOODS.index(item)) for item in row) for row in rows) + "\n")
        return path
    path = folder / "shop.csv"
    if shape == "wide":
        frame = {good: [int(good in row) for row in rows] for good in GOODS}
    elif shape == "long":
        frame = {
            "visit": [i for i, row in enumerate(rows) for _ in row],
            "article": [item for row in rows for item in row],
        }
    else:
        illness = np.random.default_rng(5).choice(["flu", "cold", "gout", "none"], len(rows)).tolist()
        frame = {"bought": [shape.join(row) for row in rows], "illness": illness}
    pl.DataFrame(frame).write_csv(path)
    return path


@pytest.mark.parametrize("shape", ["fimi", "wide", "long", ";", " "])
def test_proposal_reads_the_sets_and_is_published(shape, tmp_path):
    found = discover(str(written(shape, tmp_path)))
    policy = Policy.parse(dict(found.policy))
    assert policy.data.name == "baskets"
    read = policy.data.read()
    sets = [
        sorted(GOODS[int(item)] if shape == "fimi" else item for item in read.set_of(row)) for row in range(len(read))
    ]
    assert sets == baskets()
    if shape == ";":
        assert sf.publish(policy, seed=secret(3)).certificate.holds
    (tmp_path / "policy.yaml").write_text(policy_text(found))
    assert Policy.read(tmp_path / "policy.yaml").data.name == "baskets"


@pytest.mark.parametrize(
    "frame",
    [
        {"name": ["Ann Lee", "Bo Lee", "Cy Poe", "Di Ray", "Ed Fox", "Flo Kay"], "age": [1, 2, 3, 4, 5, 6]},
        {"age": [30, 40, 30, 50, 40, 20] * 4, "illness": ["flu", "cold", "flu", "gout", "cold", "flu"] * 4},
        {
            "one": [a for a in range(30) for _ in range(3)],
            "other": [(a * b) % 20 for a in range(30) for b in (1, 7, 9)],
        },
        {
            "note": ["came late today", "was ill", "no shoes on", "asked for more time off", "all well", "left early"],
            "n": range(6),
        },
    ],
)
def test_ordinary_tables_stay_tables(frame):
    assert discover(pl.DataFrame(frame)).policy["data"]["kind"] == "table"


def test_a_table_with_sets_and_other_columns_stays_a_table_and_says_so():
    rows = baskets()
    frame = pl.DataFrame({"age": range(len(rows)), "zip": ["1"] * len(rows), "bought": [";".join(row) for row in rows]})
    found = discover(frame)
    assert found.policy["data"]["kind"] == "table"
    assert any("'bought' holds sets" in reason for reason in found.reasons)
