"""Rules that hide a combination of columns: what a certificate says is true in all possible worlds, for every
registered model."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.data.linkage import Linkage
from sfumato.models.base import Model
from sfumato.workflow.plan import able_methods
from tests.judges.subtables import DEFINITIONS, Unjudged, beliefs, read_release, satisfied
from tests.secret import secret
from tests.slow import SLOW

ON_VALUES = {
    name: model
    for name, model in catalogue("models", Model).items()
    if model.judges is Linkage and model.needs_sensitive
}
METHODS = ("guardian", "utility-aware", "single-attribute", "multi-sensitive")
KINDS = tuple(product("01", repeat=3))
LEVELS = {
    "l-diversity": [{"l": 2}, {"l": 3}, {"l": 1.5, "kind": "frequency"}, {"l": 2, "kind": "frequency"},
                    {"l": 2, "kind": "recursive"}, {"l": 1.8, "kind": "entropy"}, {"l": 3, "kind": "entropy"}],
    "p-sensitivity": [{"p": 2}, {"p": 3}],
    "k-linkability": [{"k": 2}, {"k": 3}],
    "k-diversity": [{"k": 2}, {"k": 3}],
    "t-closeness": [{"t": 0.1}, {"t": 0.3}],
    "beta-likeness": [{"beta": 0.2}, {"beta": 1.0, "kind": "enhanced"}],
    "delta-disclosure": [{"delta": 0.5}, {"delta": 1.5}],
}  # fmt: skip


def tables() -> Iterator[tuple[tuple[str, ...], ...]]:
    """All tables of three columns with two values each and up to six rows, in some order of rows."""
    return (rows for many in range(1, 7) for rows in combinations_with_replacement(KINDS, many))


def linkages(rows: tuple[tuple[str, ...], ...]) -> tuple[Linkage, Linkage]:
    """The second column, and the combination of the second and the third, among rows with the same first."""
    _, group = np.unique([row[0] for row in rows], return_inverse=True)
    one = np.array([int(row[1]) for row in rows])
    both = np.array([2 * int(row[1]) + int(row[2]) for row in rows])
    return Linkage.of_groups(group, {"a": (one, ("0", "1"))}), Linkage.of_groups(
        group, {"a, c": (both, ("0", "1", "2", "3"))}
    )


def parameters(model: type[Model]) -> list[Model]:
    return [model(**example.level) for example in model.examples] + [
        model(**level) for level in LEVELS.get(model.name, [])
    ]


@pytest.mark.parametrize("name", sorted(ON_VALUES))
def test_a_model_hides_combinations_exactly_where_it_says_so(name):
    """Over all small tables: declared, one column that satisfies the model is enough; not declared, a table shows it is
    not."""
    broken = Counter()
    asked = [model for model in parameters(ON_VALUES[name]) if not model.orders_values]
    for rows in tables():
        one, both = linkages(rows)
        for model in asked:
            held, kept = model.satisfied(one).all(), model.satisfied(both).all()
            broken[str(model)] += bool(held and not kept)
    if ON_VALUES[name].hides_combinations:
        assert not broken.total(), broken
    elif name != "entropy-diversity":  # its shannon kind would hide them, and nothing is proved of the other
        assert all(broken.values()), broken


def test_every_model_that_sub_tables_keep_has_a_definition_here():
    kept = set()
    for name, model in ON_VALUES.items():
        asked = {"given": ["b"], "hide": "a", "by": {name: dict(model.examples[0].level)}}
        try:
            kept |= {name for method in able_methods(policy(asked)) if method.name in METHODS}
        except sf.PolicyError:
            continue
    assert kept == set(DEFINITIONS) == set(LEVELS)


def policy(*claims, method=None, **more):
    columns = dict.fromkeys("bac", "other")
    chosen = {} if method is None else {"method": method}
    return sf.Policy.parse(
        {"version": 1, "data": {"source": "x.csv"}, "columns": columns, "protect": list(claims), **chosen, **more}
    )


def cases() -> list[tuple[tuple[tuple[str, ...], ...], str, str, dict]]:
    """Tables with a rule on a combination: a sample, or all of them."""
    chance = random.Random(20)
    everything = [
        (rows, method, model, level)
        for rows in tables()
        for model, levels in LEVELS.items()
        for level in levels
        for method in METHODS
        if len(rows) > 3
    ]
    return everything if SLOW else chance.sample(everything, 220)


def test_a_certified_combination_is_hidden_in_all_possible_worlds(tmp_path):
    seen = Counter()
    for place, (rows, method, model, level) in enumerate(cases()):
        data = pa.table({name: [row[at] for row in rows] for at, name in enumerate("bac")})
        asked = {"given": ["b"], "hide": ["a", "c"], "by": {model: level}}
        try:
            made = sf.publish(policy(asked, method=method), data=data, seed=secret(place))
        except (sf.Infeasible, sf.PolicyError) as error:
            seen[f"{model}: {type(error).__name__}"] += 1
            continue
        folder = made.write(tmp_path / str(place))
        try:
            belief = beliefs(read_release(folder), ["b"], ["a", "c"])
        except Unjudged:
            seen["unjudged"] += 1
            continue
        assert satisfied(model, level, belief), (rows, method, model, level, belief)
        seen[model] += 1
    assert all(seen[model] > 3 for model in LEVELS), seen


ROWS = [
    ("b0", "a0", "c1"),
    ("b0", "a1", "c1"),
    ("b0", "a0", "c0"),
    ("b0", "a1", "c1"),
    ("b1", "a0", "c0"),
    ("b1", "a1", "c0"),
]


@pytest.mark.parametrize(
    "by", [{"t-closeness": {"t": 0.1}}, {"beta-likeness": {"beta": 0.2}}, {"delta-disclosure": {"delta": 0.1}}]
)
def test_a_column_told_outright_is_not_certified_as_a_hidden_combination(by, tmp_path, monkeypatch):
    """The tables that were once published for this rule: c beside b, and a behind buckets. Audit and recount both
    refuse them."""
    data = pa.table({name: [row[at] for row in ROWS] for at, name in enumerate("bac")})
    asked = {"given": ["b"], "hide": ["a", "c"], "by": by}
    assert sf.publish(policy(asked, method="guardian"), data=data).certificate.holds
    from sfumato.kinds.subtables.methods import subtable_method

    def hide_one(rules, table, **_):
        chosen = [each.with_sides(each.given, {"a"}) for each in rules]
        return subtable_method.Separation(chosen, [])

    monkeypatch.setattr(subtable_method, "one_sided", hide_one)
    with pytest.raises(sf.AuditRefused) as refused:
        sf.publish(policy(asked, method="guardian"), data=data)
    assert "leave of the combination of a, c" in str(refused.value)


def test_the_recount_finds_a_combination_by_itself(tmp_path, monkeypatch):
    """Without the audit's word the recount says what the pair is at: 1/2 away from everybody's."""
    from sfumato.audit.recount.recount import recount
    from sfumato.kinds.subtables import evidence
    from sfumato.kinds.subtables.methods import subtable_method

    data = pa.table({name: [row[at] for row in ROWS] for at, name in enumerate("bac")})
    asked = {"given": ["b"], "hide": ["a", "c"], "by": {"t-closeness": {"t": 0.1}}}
    separation = subtable_method.Separation
    one = lambda rules, table, **_: separation([each.with_sides(each.given, {"a"}) for each in rules], [])  # noqa: E731
    monkeypatch.setattr(subtable_method, "one_sided", one)
    trusting = evidence._by_column

    def ways(tables, rule, knowledge, model):
        yield trusting(tables, rule.with_sides(rule.given, {"a"}), knowledge, model)

    monkeypatch.setattr(evidence, "_ways", ways)
    with pytest.raises(sf.AuditRefused, match="floor"):
        sf.publish(policy(asked, method="guardian"), data=data)
    monkeypatch.undo()
    folder = sf.publish(policy(asked, method="single-attribute"), data=data).write(tmp_path / "apart")
    (counted,) = recount(folder)
    assert counted.achieved["t"] == 0


@pytest.mark.parametrize("method", ["mondrian", "optimal", "clustering", "global", "refined"])
def test_a_recoded_table_hides_the_combination_not_each_column(method, tmp_path):
    """Each column is distributed alike in both halves, and the pair is not: only the joint distribution tells."""
    pairs = {"20": ["00", "11"], "40": ["01", "10"]}
    rows = [(age, *pair) for age, found in pairs.items() for pair in found * 10]
    data = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("age", "s", "t"))})
    asked = [{"given": ["age"], "hide": ["s", "t"], "by": {"t-closeness": {"t": 0.2}}}]
    written = {
        "version": 1, "data": {"source": "x.csv"}, "columns": {"age": "quasi-identifier", "s": "sensitive",
        "t": "sensitive"},
        "protect": asked, "method": method,
    }  # fmt: skip
    made = sf.publish(sf.Policy.parse(written), data=data)
    (age,) = set(made.release.parts["data"].table.column("age").to_pylist())
    assert age not in pairs
    assert made.certificate.findings[0].achieved["t"] == 0
    assert sf.verify(made.write(tmp_path / method), original=data).holds


def test_a_combination_without_an_order_is_refused_before_any_method_runs():
    asked = {"given": ["b"], "hide": ["a", "c"], "by": {"t-closeness": {"t": 0.1, "distance": "ordered"}}}
    with pytest.raises(sf.PolicyError, match="have no order"):
        sf.publish(policy(asked, method="guardian"), data=pa.table({"a": ["1"], "b": ["1"], "c": ["1"]}))
    with pytest.raises(sf.PolicyError):
        sf.publish(policy(asked), data=pa.table({"a": ["1"], "b": ["1"], "c": ["1"]}))


def test_a_combination_is_kept_where_no_column_is_safe_by_itself(tmp_path):
    """Two columns of two values have four combinations: three different ones can be had, by tables that part them from
    c."""
    rows = [("a0", "b0", "c0"), ("a0", "b1", "c1"), ("a0", "b0", "c1"), ("a1", "b1", "c0")]
    data = pa.table({name: [row[at] for row in rows] for at, name in enumerate("abc")})
    for by in ({"l-diversity": {"l": 3}}, {"l-diversity": {"l": 2, "kind": "frequency"}}):
        asked = {"given": ["c"], "hide": ["a", "b"], "by": by}
        for method in METHODS[:3]:
            made = sf.publish(policy(asked, method=method), data=data)
            belief = beliefs(
                read_release(made.write(tmp_path / f"{method}-{len(list(tmp_path.iterdir()))}")), ["c"], ["a", "b"]
            )
            assert satisfied("l-diversity", by["l-diversity"], belief)


def test_the_judge_finds_a_planted_defect():
    """A bucket split by value tells every hidden value."""
    from tests.judges.subtables import Sheet

    lists = ((("a",), {"1": Counter({("x",): 2}), "2": Counter({("y",): 2})}),)
    told = Sheet(("b",), (("0",), ("1",), ("0",), ("1",)), ("1", "1", "2", "2"), lists)
    mixed = (((("a",)), {"1": Counter({("x",): 1, ("y",): 1}), "2": Counter({("x",): 1, ("y",): 1})}),)
    assert satisfied("l-diversity", {"l": 2}, beliefs([told], ["b"], ["a"]))  # b is in both buckets
    alone = Sheet(("b",), (("0",), ("0",), ("1",), ("1",)), ("1", "1", "2", "2"), lists)
    assert not satisfied("l-diversity", {"l": 2}, beliefs([alone], ["b"], ["a"]))
    kept = Sheet(("b",), (("0",), ("0",), ("1",), ("1",)), ("1", "1", "2", "2"), mixed)
    assert satisfied("l-diversity", {"l": 2, "kind": "frequency"}, beliefs([kept], ["b"], ["a"]))
