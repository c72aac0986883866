"""The Python surface: what there is, how it shows itself, policies built in code, one-liners, a transformer for
pipelines."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import DataError, PolicyError

RNG = random.Random(4)
PEOPLE = pd.DataFrame(
    {
        "name": [f"p{n}" for n in range(200)],
        "age": [RNG.randint(18, 80) for _ in range(200)],
        "town": [RNG.choice(["a", "b", "c"]) for _ in range(200)],
        "illness": [RNG.choice(["flu", "gout", "cold"]) for _ in range(200)],
    }
)
DRAFT = (
    sf.Policy.table(PEOPLE)
    .identifier("name")
    .quasi("age", sf.intervals(5, 10))
    .quasi("town")
    .sensitive("illness")
    .protect(sf.k_anonymity(4))
    .method("mondrian")
)


def smallest(table: pa.Table, names: list[str]) -> int:
    return min(Counter(zip(*(table[name].to_pylist() for name in names), strict=True)).values())


def test_dir_lists_what_there_is_and_everything_is_there() -> None:
    code = (
        "import sfumato as sf, sys; print(dir(sf)); print([n for n in ('numpy', 'pyarrow', 'pydantic') if n in"
        " sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[1] == "[]"
    for name in dir(sf):
        assert f"'{name}'" in out
        assert getattr(sf, name) is not None


def test_a_policy_built_in_code_is_the_policy_of_a_file(tmp_path: Path) -> None:
    path = DRAFT.write(tmp_path / "policy.yaml")
    written, built = sf.Policy.read(path), DRAFT.policy()
    assert list(map(str, written.claims)) == list(map(str, built.claims))
    assert (written.quasi_identifiers, written.sensitive) == (built.quasi_identifiers, built.sensitive)
    assert str(written.columns["age"].hierarchy) == "{'intervals': ['5', '10']}"
    assert sf.Policy.parse(path.read_text()).quasi_identifiers == ("age", "town")


def test_everything_that_is_a_policy_is_published() -> None:
    mapping = dict(DRAFT.tree)
    for policy in (DRAFT, DRAFT.policy(), mapping, DRAFT.text()):
        table = sf.publish(policy, None if policy is DRAFT else PEOPLE).release.parts["data"].table
        assert smallest(table, ["age", "town"]) >= 4
        assert "name" not in table.column_names


def test_a_draft_is_checked_like_a_file_and_never_changed() -> None:
    with pytest.raises(PolicyError, match="did you mean 'k-anonymity'"):
        DRAFT.protect({"k-anonimity": {"k": 2}}).policy()
    with pytest.raises(PolicyError, match="no multiple"):
        DRAFT.quasi("age", sf.intervals(5, 7)).policy()
    assert len(DRAFT.policy().claims) == 1


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (sf.k_anonymity(3, given=["age"]), "k-anonymity"),
        (sf.l_diversity(2, kind="entropy"), "l-diversity"),
        (sf.t_closeness(0.4, hide="illness"), "t-closeness"),
        (sf.p_sensitivity(2), "p-sensitivity"),
        (sf.claim("alpha-k-anonymity", alpha=0.9, k=2), "alpha-k-anonymity"),
        ("age -> illness : 2-diversity", "l-diversity"),
    ],
)
def test_claims_by_word(entry: object, expected: str) -> None:
    assert DRAFT.protect(entry).policy().claims[-1].model.name == expected  # type: ignore[arg-type]


def test_hierarchies_by_word() -> None:
    for spec in (
        sf.prefix(3),
        sf.dates("month", "year"),
        sf.order("a", "b"),
        sf.known_list("countries"),
        "ranges",
        None,
    ):
        assert DRAFT.quasi("x", hierarchy=spec).policy().columns["x"].hierarchy == spec


def test_things_show_themselves_in_one_line_and_as_html(tmp_path: Path) -> None:
    publication = sf.publish(DRAFT)
    shown = [
        DRAFT,
        DRAFT.policy(),
        publication,
        publication.certificate,
        sf.risk(PEOPLE, ["age"]),
        sf.check(PEOPLE, ["age"]),
    ]
    shown.append(sf.explore(DRAFT, sweep=sf.Sweep({"k": (2, 4)}, ("mondrian",))))
    for thing in shown:
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 160
        html = thing._repr_html_()
        assert html.startswith('<div class="sfumato">')
        assert "<script" not in html
    assert repr(publication).startswith("Publication(200 of 200 records with mondrian, holds, loss 0.")


def test_names_and_values_are_escaped() -> None:
    data = {"<b>": ["<i>x</i>"] * 4, "s": ["1", "2", "1", "2"]}
    policy = sf.Policy.table(data).quasi("<b>").sensitive("s").protect(sf.k_anonymity(2)).method("mondrian")
    for thing in (policy, sf.publish(policy), sf.risk(data, ["<b>"]), sf.check(data, ["<b>"], sensitive=["s"])):
        assert '<b>"' not in thing._repr_html_()
        assert "<i>x" not in thing._repr_html_()
        assert "<th><b></th>" not in thing._repr_html_()


@pytest.mark.parametrize(
    "convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_dict("list")]
)
def test_one_line_gives_a_frame_of_the_same_kind(convert: object) -> None:
    data = convert(PEOPLE)  # type: ignore[operator]
    safe = sf.k_anonymize(data, k=5, qi=["age", "town"], sensitive=["illness"], l=2, identifiers=["name"])
    assert type(safe) is (pa.Table if isinstance(data, dict) else type(data))
    assert sf.check(safe, ["age", "town"], sensitive=["illness"], k=5, l=2).holds
    assert "name" not in (safe.column_names if isinstance(safe, pa.Table) else safe.columns)


def test_one_line_with_mistakes() -> None:
    with pytest.raises(DataError, match="did you mean 'age'"):
        sf.k_anonymize(PEOPLE, k=5, qi=["agee"])
    with pytest.raises(DataError, match="no quasi-identifier"):
        sf.k_anonymize(PEOPLE, k=5)
    with pytest.raises(DataError, match="two roles"):
        sf.k_anonymize(PEOPLE, k=5, qi=["age"], sensitive=["age"])
    with pytest.raises(sf.Infeasible):
        sf.k_anonymize(PEOPLE, k=500, qi=["age"])


def test_check_by_counting() -> None:
    rows = list(zip(PEOPLE["town"], PEOPLE["illness"], strict=True))
    found = sf.check(PEOPLE, ["town"], sensitive=["illness"])
    towns = Counter(town for town, _ in rows)
    assert found.k == min(towns.values())
    assert found.sensitive[0].l_distinct == min(len({i for t, i in rows if t == town}) for town in towns)
    overall = Counter(i for _, i in rows)
    far = max(
        sum(abs(sum(r == (town, i) for r in rows) / towns[town] - overall[i] / len(rows)) for i in overall) / 2
        for town in towns
    )
    assert found.sensitive[0].t == pytest.approx(far, abs=1e-5)
    assert not sf.check(PEOPLE, ["town"], k=found.k + 1)
    assert sf.check(PEOPLE, ["town"], sensitive=["illness"], k=found.k, t=far + 1e-4)
    assert not sf.check(PEOPLE, ["town"], sensitive=["illness"], t=far / 2)
    with pytest.raises(DataError, match="sensitive"):
        sf.check(PEOPLE, ["town"], l=2)


def test_measure_a_publication_and_its_folder(tmp_path: Path) -> None:
    publication = sf.publish(DRAFT)
    folder = publication.write(tmp_path / "out")
    assert sf.measure(publication) == sf.measure(folder, original=PEOPLE) == publication.utility
    few = sf.measure(publication, parameters={"queries": 3})
    assert few == sf.measure(folder, original=PEOPLE, parameters={"queries": 3})
    assert few["query_error"] != publication.utility["query_error"]
    with pytest.raises(DataError, match="original"):
        sf.measure(folder)


def test_a_transformer_in_a_pipeline() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    X = PEOPLE[["age"]].assign(height=[150 + n % 40 for n in range(200)])
    y = PEOPLE["illness"]
    tool = sf.Anonymizer(k=6, qi=["age", "height"], numbers="middle")
    assert clone(tool).get_params() == tool.get_params()
    made = tool.fit_transform(X)
    assert list(made.columns) == ["age", "height"]
    assert smallest(pa.Table.from_pandas(made), ["age", "height"]) >= 6
    assert (made["age"] - X["age"]).abs().max() < 62  # the same row, and a range around it
    scores = cross_val_score(make_pipeline(tool, DecisionTreeClassifier(max_depth=3)), X, y, cv=3)
    assert len(scores) == 3


def test_the_transformer_keeps_rows_in_their_order() -> None:
    made = sf.Anonymizer(k=3, qi=["age"]).fit_transform(PEOPLE[["age", "name"]])
    assert list(made["name"]) == list(PEOPLE["name"])
    for original, label in zip(PEOPLE["age"], made["age"], strict=True):
        low, _, high = str(label).partition("-")
        assert int(low) <= original <= int(high or low)
    with pytest.raises(DataError, match="not those that were fitted"):
        sf.Anonymizer(qi=["age"]).fit(PEOPLE[["age"]]).transform(PEOPLE[["town"]])


def test_arrays_have_columns_without_names() -> None:
    array = PEOPLE[["age"]].to_numpy()
    made = sf.Anonymizer(k=4).fit_transform(array)
    assert made.column_names == ["x0"]
    assert smallest(made, ["x0"]) >= 4
