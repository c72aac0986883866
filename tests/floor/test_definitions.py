"""Folders made by hand, with answers worked out from the definitions; tables of the papers where they print them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from sfumato.audit import recount
from sfumato.core.errors import ReleaseError

Rows = list[list[str]]


def folder(
    path: Path, policy: str, form: str = "recoded table", public: dict[str, Any] | None = None, **parts: Rows
) -> Path:
    """A release folder with the parts given as header and rows; ``table_1`` is written as ``table-1.csv``."""
    files = {}
    for name, rows in parts.items():
        file = f"{name.replace('_', '-')}.csv"
        with (path / file).open("w", newline="", encoding="utf-8") as lines:
            csv.writer(lines, lineterminator="\n").writerows(rows)
        files[file] = {"rows": len(rows) - 1}
    (path / "policy.yaml").write_text("version: 1\n" + policy, encoding="utf-8")
    (path / "manifest.json").write_text(
        json.dumps({"form": form, "files": files, "public": public or {}}), encoding="utf-8"
    )
    return path


def achieved(path: Path) -> list[dict[str, Any]]:
    return [each.achieved for each in recount.recount(path)]


# -- recoded tables ----------------------------------------------------------------------------------------------------

HEAD = ["zip", "age", "condition"]
FOUR_ANONYMOUS = [  # Machanavajjhala et al. 2006, figure 2: the third group has cancer, all of it
    *[["130**", "<30", value] for value in ("Heart", "Heart", "Viral", "Viral")],
    *[["1485*", "≥40", value] for value in ("Cancer", "Heart", "Viral", "Viral")],
    *[["130**", "3*", "Cancer"]] * 4,
]
THREE_DIVERSE = [  # figure 3
    *[["1305*", "≤40", value] for value in ("Heart", "Viral", "Cancer", "Cancer")],
    *[["1485*", ">40", value] for value in ("Cancer", "Heart", "Viral", "Viral")],
    *[["1306*", "≤40", value] for value in ("Heart", "Viral", "Cancer", "Cancer")],
]
COLUMNS = "columns: {zip: quasi-identifier, age: quasi-identifier, condition: sensitive}\n"
LADDER = """
protect:
  - k-anonymity: {k: 4}
  - p-sensitivity: {p: 2}
  - l-diversity: {l: 3}
  - l-diversity: {l: 2, kind: frequency}
  - l-diversity: {l: 2.8, kind: entropy}
  - l-diversity: {l: 2, kind: recursive, c: 1.5}
  - alpha-k-anonymity: {alpha: 0.5, k: 4}
"""


def test_the_homogeneity_attack_is_seen(tmp_path: Path) -> None:
    """Figure 2 is 4-anonymous and nothing else."""
    counts = recount.recount(folder(tmp_path, COLUMNS + LADDER, data=[HEAD, *FOUR_ANONYMOUS]))
    assert [each.reaches for each in counts] == [True, False, False, False, False, False, False]
    assert achieved(tmp_path)[:4] == [{"k": 4}, {"p": 1}, {"l": 1, "kind": "distinct"}, {"l": 1.0, "kind": "frequency"}]


def test_the_three_diverse_table(tmp_path: Path) -> None:
    """Figure 3 is 3-diverse and, as the paper says, entropy 2.8-diverse; (2, 1, 1) has 2 < 1.5 · 2 but not 2 < 1.5 ·
    1."""
    counts = recount.recount(folder(tmp_path, COLUMNS + LADDER, data=[HEAD, *THREE_DIVERSE]))
    assert all(each.reaches for each in counts)
    found = achieved(tmp_path)
    assert found[:4] == [{"k": 4}, {"p": 3}, {"l": 3, "kind": "distinct"}, {"l": 2.0, "kind": "frequency"}]
    assert found[4]["l"] == pytest.approx(2 * math.sqrt(2))
    assert found[5:] == [{"l": 2, "kind": "recursive", "c": 1.5}, {"alpha": 0.5, "k": 4}]


def test_the_salaries_of_the_t_closeness_paper(tmp_path: Path) -> None:
    """Li et al. 2007, tables 4 and 5: salaries 3k, 4k, 5k are at 0.375; the second table is 0.167-close."""
    policy = (
        "columns: {zip: quasi-identifier, pay: sensitive}\nprotect: [{t-closeness: {t: 0.167, distance: ordered}}]\n"
    )
    diverse = {"476**": "345", "4790*": ["6", "11", "8"], "476*7": ["7", "9", "10"]}
    close = {"4767*": "359", "4790*": ["6", "11", "8"], "4760*": ["4", "7", "10"]}
    for number, (table, distance) in enumerate([(diverse, 0.375), (close, 1 / 6)]):
        (tmp_path / str(number)).mkdir()
        rows = [[zip_code, f"{pay}000"] for zip_code, group in table.items() for pay in group]
        (each,) = recount.recount(folder(tmp_path / str(number), policy, data=[["zip", "pay"], *rows]))
        assert each.achieved == {"t": pytest.approx(distance), "distance": "ordered"}
        assert each.reaches == (distance < 0.2)


def test_recursive_diversity_is_strict_and_exact(tmp_path: Path) -> None:
    """r = (3, 2, 1): 3 < 1.5 · 3 holds for l = 2; with c = 1 it is 3 < 3, which is no less."""
    rows = [["a", value] for value in "xxxyyz"]
    policy = "columns: {q: quasi-identifier, s: sensitive}\nprotect:\n"
    policy += "".join(f"  - l-diversity: {{l: 2, kind: recursive, c: {c}}}\n" for c in ("1", "1.5", "3", "3.1", "0.4"))
    folder(tmp_path, policy, data=[["q", "s"], *rows])
    assert [each["l"] for each in achieved(tmp_path)] == [1, 2, 2, 3, 0]


def test_equal_distance(tmp_path: Path) -> None:
    """Half of |1 − ½| + |0 − ½|."""
    policy = (
        "columns: {q: quasi-identifier, s: sensitive}\nprotect: [{t-closeness: {t: 0.5}}, {t-closeness: {t: 0.49}}]\n"
    )
    counts = recount.recount(folder(tmp_path, policy, data=[["q", "s"], ["a", "x"], ["b", "y"]]))
    assert [(each.achieved["t"], each.reaches) for each in counts] == [(0.5, True), (0.5, False)]


def test_cells_are_compared_as_they_are_written(tmp_path: Path) -> None:
    """Blanks, case, quotes and line breaks make different values, and an empty cell is one."""
    values = ["flu", "Flu", " flu", "flu ", "", 'a "cold"', "a, b", "two\nlines"]
    policy = "columns: {q: quasi-identifier, s: sensitive}\nprotect: [{p-sensitivity: {p: 8}}, {k-anonymity: {k: 8}}]\n"
    folder(tmp_path, policy, data=[["q", "s"], *[["", value] for value in values]])
    assert achieved(tmp_path) == [{"p": 8}, {"k": 8}]


def test_one_column_of_nothing(tmp_path: Path) -> None:
    folder(tmp_path, "columns: {q: quasi-identifier}\nprotect: [{k-anonymity: {k: 2}}]\n", data=[["q"], ["a"]])
    (tmp_path / "data.csv").write_text('q\n\n""\na\n')
    assert achieved(tmp_path) == [{"k": 1}]
    assert "data.csv has 3 rows, the manifest says 1" in recount.disagreements(tmp_path, [])


# -- claims ------------------------------------------------------------------------------------------------------------

WAYS = """
columns:
  name: identifier
  age: quasi-identifier
  zip: {role: quasi-identifier, publish: false}
  'no': {role: quasi-identifier, publish: true}
  ill: sensitive
  pay: {role: sensitive}
  cost: {role: sensitive, publish: false}
  ward: other
protect:
  - k-anonymity: {k: 2}
  - p-sensitivity: {p: 1}
  - {given: [age, ward], hide: ill, by: {l-diversity: {l: 2}}}
  - {given: age, by: {k-anonymity: {k: 3}}}
  - {hide: [ill, pay], by: {t-closeness: {t: 1}}}
  - "age, ward -> ill : 1.5-diversity"
  - " -> pay : 2-sensitivity"
  - {k-linkability: {k: 2}}
  - {given: null, hide: [], by: {k-diversity: {k: 1.5}}}
"""
WAYS_HEAD = ["age", "no", "ill", "pay", "ward"]
WAYS_ROWS = [["1", "x", "a", "5", "u"], ["1", "x", "b", "5", "u"], ["2", "x", "a", "6", "v"], ["2", "x", "b", "6", "v"]]


def test_claims_in_all_ways_to_write_them(tmp_path: Path) -> None:
    counts = recount.recount(folder(tmp_path, WAYS, data=[WAYS_HEAD, *WAYS_ROWS]))
    assert [(each.given, each.hide) for each in counts] == [
        (("age", "no"), ()),
        (("age", "no"), ("ill", "pay")),
        (("age", "ward"), ("ill",)),
        (("age",), ("ill", "pay")),
        (("age", "no"), ("ill", "pay")),
        (("age", "ward"), ("ill",)),
        ((), ("pay",)),
        (("age", "no"), ("ill", "pay")),
        (("age", "no"), ("ill", "pay", "cost")),
    ]
    assert [each.required for each in counts] == [
        {"k": 2},
        {"p": 1},
        {"l": 2, "kind": "distinct"},
        {"k": 3},
        {"t": 1, "distance": "equal"},
        {"l": 1.5, "kind": "frequency"},
        {"p": 2},
        {"k": 2},
        {"k": 1.5},
    ]
    assert [each.reaches for each in counts] == [True, True, True, False, True, True, True, None, None]
    assert counts[-2].achieved == {"k": 1}
    assert "several groups" in counts[-2].why


def test_a_policy_that_says_two_things_is_not_read(tmp_path: Path) -> None:
    folder(tmp_path, WAYS + "protect: [{k-anonymity: {k: 1}}]\n", data=[WAYS_HEAD, *WAYS_ROWS])
    with pytest.raises(ReleaseError, match=r"policy\.yaml cannot be read"):
        recount.recount(tmp_path)
    assert recount.disagreements(tmp_path, []) == [
        "the independent recount cannot read the folder: policy.yaml cannot be read"
    ]


# -- anatomy -----------------------------------------------------------------------------------------------------------

ANATOMY = "columns: {age: quasi-identifier, ill: sensitive}\nprotect:\n"


def test_anatomy_is_the_bucket_and_mixtures_of_buckets(tmp_path: Path) -> None:
    """Somebody of 30 stands in bucket 1 (a, b) or 2 (a, a, c): a has ½ + ⅔, b ½ and c ⅓ of two."""
    data = [["age", "bucket"], ["30", "1"], ["31", "1"], ["30", "2"], ["40", "2"], ["41", "2"]]
    listed = [["bucket", "value", "count"], ["1", "a", "1"], ["1", "b", "1"], ["2", "a", "2"], ["2", "c", "1"]]
    policy = (
        ANATOMY + "  - l-diversity: {l: 1.5, kind: frequency}\n  - p-sensitivity: {p: 2}\n  - k-anonymity: {k: 2}\n"
    )
    policy += "  - l-diversity: {l: 1, kind: recursive, c: 2}\n  - t-closeness: {t: 0.3}\n"
    counts = recount.recount(folder(tmp_path, policy, "anatomy", data=data, sensitive=listed))
    assert [each.achieved for each in counts[:4]] == [
        {"l": 1.5, "kind": "frequency"},
        {"p": 2},
        {"k": 1},
        {"l": 1, "kind": "recursive", "c": 2},
    ]
    assert counts[4].achieved["t"] == pytest.approx(0.3)
    assert [each.reaches for each in counts] == [True, True, False, True, True]


def test_a_mixture_that_is_equal_is_not_less(tmp_path: Path) -> None:
    """Nine rows of value a, and three rows that are b, c or d with ⅓ each: 9 < 3 · 3 fails, whatever thirds are in
    binary."""
    data = [["age", "bucket"], *[["30", str(bucket)] for bucket in (1, 2, 3)], *[["30", "4"]] * 9]
    data += [[f"9{bucket}{other}", str(bucket)] for bucket in (1, 2, 3) for other in (1, 2)]
    listed = [["bucket", "value", "count"], ["4", "a", "9"]]
    listed += [[str(bucket), value, "1"] for bucket in (1, 2, 3) for value in ("b", "c", "d")]
    claims = [
        f"  - {{given: age, hide: ill, by: {{l-diversity: {{l: 1, kind: recursive, c: {c}}}}}}}\n"
        for c in ("3", "3.001")
    ]
    folder(tmp_path, ANATOMY + "".join(claims), "anatomy", data=data, sensitive=listed)
    assert [each["l"] for each in achieved(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    ("entry", "why"),
    [(["1", "a", "2"], "add"), (["3", "a", "1"], "list"), (["1", "a", "0"], "positive"), (["1", "a", "x"], "positive")],
)
def test_buckets_that_do_not_add_up_reach_nothing(entry: list[str], why: str, tmp_path: Path) -> None:
    data = [["age", "bucket"], ["30", "1"], ["31", "1"]]
    listed = [["bucket", "value", "count"], ["1", "a", "1"], ["1", "b", "1"], entry]
    (each,) = recount.recount(
        folder(tmp_path, ANATOMY + "  - p-sensitivity: {p: 1}\n", "anatomy", data=data, sensitive=listed)
    )
    assert each.reaches is False
    assert each.achieved == {}
    assert why in each.why or "bucket" in each.why


# -- sub-tables --------------------------------------------------------------------------------------------------------

TABLES = "columns: {a: other, b: other, c: other, d: {role: other, publish: false}}\n"


def test_a_guardian_shows_its_buckets(tmp_path: Path) -> None:
    """a = 1 stands in bucket 1 only, where x has two of three; whoever gets from a to b gets on to c, where b = x tells
    all."""
    first = [["a", "bucket"], ["1", "1"], ["1", "1"], ["2", "1"], ["2", "2"]]
    hidden = [["bucket", "value", "count", "column"], ["1", "x", "2", "b"], ["1", "y", "1", "b"], ["2", "z", "1", "b"]]
    second = [["c", "b"], ["u", "x"], ["u", "x"], ["v", "y"], ["v", "z"]]
    policy = TABLES + 'protect: ["a -> b : 1.5-diversity", "a -> d : 9-diversity", "a -> c : 1.2-diversity"]\n'
    counts = recount.recount(
        folder(tmp_path, policy, "sub-tables", table_1=first, table_1_sensitive=hidden, table_2=second)
    )
    assert [each.achieved for each in counts] == [{"l": 1.5, "kind": "frequency"}, {"published": 0}, {}]
    assert [each.reaches for each in counts] == [True, True, False]


def test_one_guardian_alone(tmp_path: Path) -> None:
    first = [["a", "bucket"], ["1", "1"], ["1", "1"], ["2", "1"], ["2", "2"], ["2", "*"]]
    hidden = [["bucket", "value", "count", "column"], ["1", "x", "2", "b"], ["1", "y", "1", "b"], ["2", "z", "1", "b"]]
    second = [["c"], *[[value] for value in "uuvvv"]]
    policy = TABLES + 'protect: ["a -> b : 1.5-diversity", "a, b -> c : 1.6-diversity"]\n'
    counts = recount.recount(
        folder(tmp_path, policy, "sub-tables", table_1=first, table_1_sensitive=hidden, table_2=second)
    )
    assert counts[0].achieved == {
        "l": 1.5,
        "kind": "frequency",
    }  # a = 2 has ⅔ + ½ of x, ⅓ + ¼ of y, 1 + ¼ of z: 3 / 1¼ is more
    assert counts[1].achieved["l"] == pytest.approx(5 / 3)
    assert [each.reaches for each in counts] == [True, True]


def test_what_outsiders_know_joins_tables(tmp_path: Path) -> None:
    first, second = [["a"], ["1"], ["2"]], [["b", "c"], ["x", "u"], ["y", "v"]]
    policy = TABLES + 'protect: ["a -> c : 2-diversity"]\n'
    (apart,) = recount.recount(folder(tmp_path, policy, "sub-tables", table_1=first, table_2=second))
    assert apart.achieved == {"l": 2.0, "kind": "frequency"}
    (joined,) = recount.recount(
        folder(tmp_path, policy + 'knows: ["a -> b"]\n', "sub-tables", table_1=first, table_2=second)
    )
    assert joined.reaches is False
    (given_away,) = recount.recount(
        folder(tmp_path, policy + 'knows: ["a -> c"]\n', "sub-tables", table_1=first, table_2=second)
    )
    assert given_away.reaches is False


# -- other forms -------------------------------------------------------------------------------------------------------


def test_people_with_the_same_number_of_ties(tmp_path: Path) -> None:
    """A path of four and one alone: two have one tie, two have two, one has none."""
    edges = [["source", "target"], ["0", "1"], ["1", "2"], ["2", "3"]]
    policy = (
        "data: {kind: graph}\nprotect: [{k-degree-anonymity: {k: 2}}, {structural-attack: {planted: 2, success_at_most:"
        " 0.1}}]\n"
    )
    ties, attack = recount.recount(folder(tmp_path, policy, "graph", {"nodes": 5}, edges=edges))
    assert (ties.achieved, ties.reaches) == ({"k": 1}, False)
    assert str(attack) == "structural-attack: not counted: it is a bound on what planted accounts can do, no count"
    ties, _ = recount.recount(folder(tmp_path, policy, "graph", {"nodes": 4}, edges=edges))
    assert (ties.achieved, ties.reaches) == ({"k": 2}, True)


def test_replaced_columns_are_not_counted_and_kept_ones_are(tmp_path: Path) -> None:
    policy = "columns: {age: quasi-identifier, pay: {role: replaced, domain: {integers: [0, 9]}}, ill: sensitive}\n"
    policy += (
        "protect: [{k-anonymity: {k: 2}}, {given: [age, pay], hide: ill, by: {l-diversity: {l: 2}}}, 'age -> pay :"
        " 2-diversity']\n"
    )
    rows = [["age", "pay", "ill"], ["30", "1", "a"], ["30", "2", "b"]]
    k, kept, replaced = recount.recount(folder(tmp_path, policy, "replaced table", data=rows))
    assert (k.achieved, kept.achieved) == ({"k": 2}, {"l": 2, "kind": "distinct"})
    assert not replaced.counted
    assert "rules" in replaced.why


@pytest.mark.parametrize(
    ("policy", "form", "why"),
    [
        ("protect: [{km-anonymity: {k: 2, m: 2}}]", "baskets", "people, who are not in the folder"),
        ("protect: [{p-sensitivity: {p: 2}}]", "baskets", "people, who are not in the folder"),
        ("protect: [{gamma-disclosure: {gamma: 1}}]", "recoded table", "unknown here"),
        ("protect: [{k-anonymity: {k: 2, of: people}}]", "recoded table", "does not have"),
        ("protect: [{k-anonymity: {}}]", "recoded table", "lacks a parameter"),
        ("protect: ['q -> s : 1.2-disclosure']", "recoded table", "unknown here"),
        ("protect: [{l-diversity: {l: 2, kind: positive}}]", "recoded table", "kind of diversity"),
    ],
)
def test_what_is_not_counted_says_why(policy: str, form: str, why: str, tmp_path: Path) -> None:
    rows = [["q", "s"], ["a", "x"]]
    (each,) = recount.recount(
        folder(tmp_path, "columns: {q: quasi-identifier, s: sensitive}\n" + policy, form, data=rows)
    )
    assert not each.counted
    assert why in each.why
    assert str(each).startswith(f"{each.model}: not counted: ")


# -- a certificate beside the count ------------------------------------------------------------------------------------

SIMPLE = (
    "columns: {q: quasi-identifier, s: sensitive}\nprotect: [{k-anonymity: {k: 2}}, {l-diversity: {l: 1.5, kind:"
    " entropy}}]\n"
)
SIMPLE_ROWS = [["q", "s"], *[["a", value] for value in "xxy"]]
K = {"model": "k-anonymity", "given": ["q"], "hide": [], "required": {"k": 2}, "achieved": {"k": 3}, "holds": True}
ENTROPY = {
    "model": "l-diversity",
    "given": ["q"],
    "hide": ["s"],
    "required": {"l": 1.5, "kind": "entropy"},
    "achieved": {"l": 1.88988, "kind": "entropy"},
    "holds": True,
}
FILES = {
    "model": "files",
    "given": [],
    "hide": [],
    "required": {"damaged": 0},
    "achieved": {"damaged": 0},
    "holds": True,
}


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([K, ENTROPY, FILES], []),
        ([K], ["claim 2, l-diversity: the certificate has no finding for it"]),
        (
            [ENTROPY, K],
            [
                "claim 1, k-anonymity: the certificate has no finding",
                "claim 2, l-diversity: the certificate has no finding",
            ],
        ),
        ([K, ENTROPY, FILES, K], ["speaks about k-anonymity, which the policy does not claim"]),
        ([K | {"achieved": {"k": 4}}, ENTROPY], ["k is 4 in the certificate and 3 in the files"]),
        ([K | {"achieved": {}}, ENTROPY], ["k is missing in the certificate and 3 in the files"]),
        ([K | {"required": {"k": 1}}, ENTROPY], ["not the one in the policy (k)"]),
        ([K | {"required": {"k": 2, "p": 2}}, ENTROPY], ["not the one in the policy (p)"]),
        ([K | {"given": []}, ENTROPY], ["same columns as given"]),
        ([K, ENTROPY | {"hide": ["s", "t"]}], ["same columns as hide"]),
        (
            [K, ENTROPY | {"achieved": {"l": 1.8899, "kind": "entropy"}}],
            ["l is 1.8899 in the certificate and 1.88988 in the files"],
        ),
        ([K, ENTROPY | {"achieved": {"l": 1.88988, "kind": "distinct"}}], ["kind is distinct"]),
        ([K | {"holds": False, "achieved": {}}, ENTROPY], []),
        ([K, ENTROPY | {"holds": None, "achieved": {}, "grade": "not judged"}], []),
    ],
)
def test_what_a_certificate_may_not_say(findings: list[dict[str, Any]], said: list[str], tmp_path: Path) -> None:
    found = recount.disagreements(folder(tmp_path, SIMPLE, data=SIMPLE_ROWS), findings)
    assert len(found) == len(said), found
    assert all(part in sentence for part, sentence in zip(said, found, strict=True)), found


def test_a_finding_that_holds_beside_files_that_do_not(tmp_path: Path) -> None:
    folder(tmp_path, SIMPLE.replace("k: 2", "k: 9"), data=SIMPLE_ROWS)
    said = recount.disagreements(tmp_path, [K | {"required": {"k": 9}}, ENTROPY])
    assert said == ["claim 1, k-anonymity: said to hold, but the files do not reach k 9"]


@pytest.mark.parametrize("content", ["q,s\na,x\na\n", "q,q\na,x\n", 'q,s\n"a,x\n', "", "q,s\n\na,x\n"])
def test_files_that_cannot_be_read_reach_nothing(content: str, tmp_path: Path) -> None:
    folder(tmp_path, SIMPLE, data=SIMPLE_ROWS)
    (tmp_path / "data.csv").write_text(content)
    assert [each.reaches for each in recount.recount(tmp_path)] == [False, False]
    assert recount.disagreements(tmp_path, [K, ENTROPY])


def test_a_table_without_rows_and_columns_without_a_role_reach_nothing(tmp_path: Path) -> None:
    folder(tmp_path, SIMPLE, data=SIMPLE_ROWS[:1])
    assert [each.reaches for each in recount.recount(tmp_path)] == [False, False]
    folder(tmp_path, SIMPLE.replace("{l-d", "'z -> y : 2-diversity', {l-d"), "replaced table", data=SIMPLE_ROWS)
    assert recount.recount(tmp_path)[1].reaches is False


@pytest.mark.parametrize("name", ["manifest.json", "policy.yaml", "data.csv"])
def test_a_folder_without_a_file_is_refused(name: str, tmp_path: Path) -> None:
    folder(tmp_path, SIMPLE, data=SIMPLE_ROWS)
    (tmp_path / name).unlink()
    assert recount.disagreements(tmp_path, [K, ENTROPY])


def test_text_has_no_order(tmp_path: Path) -> None:
    policy = "columns: {q: quasi-identifier, s: sensitive}\nprotect: [{t-closeness: {t: 1, distance: ordered}}]\n"
    (each,) = recount.recount(folder(tmp_path, policy, data=SIMPLE_ROWS))
    assert (each.reaches, each.why) == (False, "values without an order have no ordered distance")
    (each,) = recount.recount(folder(tmp_path, policy.replace("ordered}", "ordered, order: [y, x]}"), data=SIMPLE_ROWS))
    assert each.reaches
