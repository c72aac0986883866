"""The paper's own examples of rules, dependencies and Guardian Normal Form, and the laws they must obey."""

import pytest
from baselines.short_rules import Diversity, rule
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import Infeasible, PolicyError
from sfumato.kinds.subtables.guardian_normal_form import SubTable, explain, in_normal_form, reachable_columns
from sfumato.policy.privacy_rules import (
    PrivacyRule,
    closure,
    dependency_units,
    expand_rules,
    parse_dependency,
    remove_implied_rules,
    rules_on_units,
    split_arrow,
)

RULES = [
    rule("age, icd9 -> race : 2-diversity"),
    rule("gender, icd9 -> zipcode : 2-diversity"),
    rule("hospital, race -> zipcode : 2-diversity"),
]
TABLE_3 = [
    SubTable(frozenset({"hospital", "age", "gender", "icd9"})),
    SubTable(frozenset({"race", "zipcode"}), (rule("race -> zipcode : 2-diversity"),)),
]
TABLE_4 = [
    SubTable(frozenset({"gender", "icd9", "hospital"}), (rule("icd9, gender -> hospital : 2-diversity"),)),
    SubTable(frozenset({"age", "hospital", "zipcode"}), (rule("hospital -> zipcode : 2-diversity"),)),
    SubTable(frozenset({"age", "hospital", "gender", "race"}), (rule("age, hospital, gender -> race : 2-diversity"),)),
    SubTable(frozenset({"age", "zipcode"})),
]

names = st.sampled_from("abcde")
rules = st.builds(
    lambda given, hide, level: PrivacyRule(frozenset(given) - {hide}, frozenset({hide}), Diversity(level)),
    st.sets(names, min_size=1, max_size=3),
    names,
    st.integers(2, 4),
)
tables = st.lists(st.sets(names, min_size=1, max_size=4).map(frozenset), min_size=1, max_size=4)


def test_table_3_is_in_normal_form_with_the_papers_reasons():
    first, second, third = explain(TABLE_3, RULES)
    assert first.kept and not first.candidates
    assert second.kept and not second.candidates
    assert third.guardian is not None
    assert third.guardian.table == 1
    assert third.guardian.needed.given == {"race"}


def test_table_4_guards_rule_1_and_fails_rule_2_by_condition_iii():
    first, second, _ = explain(TABLE_4, RULES)
    assert first.guardian is not None
    assert first.guardian.table == 2
    assert first.guardian.needed.given == {"age", "hospital", "gender"}
    assert not second.kept
    assert [(each.table, each.cuts) for each in second.candidates] == [(1, False), (3, False)]
    assert "condition (iii)" in second.reason()
    assert not in_normal_form(TABLE_4, RULES)


def test_a_table_that_enforces_too_little_fails_condition_ii():
    weak = [SubTable(frozenset({"age", "icd9", "race"}), (rule("age -> race : 2-diversity"),))]
    (verdict,) = explain(weak, RULES[:1])
    assert not verdict.kept
    assert "condition (ii)" in verdict.reason()
    lax = [SubTable(frozenset({"age", "icd9", "race"}), (rule("age, icd9 -> race : 2-diversity"),))]
    assert not in_normal_form(lax, [rule("age -> race : 3-diversity")])


def test_irreducible_says_which_rule_implies_the_dropped_one():
    small, large = rule("A1 -> A3 : 2-diversity"), rule("A1, A2 -> A3 : 2-diversity")
    reduction = remove_implied_rules([small, large])
    assert reduction.kept == (large,)
    assert reduction.implied == ((small, large),)


def test_a_composite_right_side_is_weaker_than_one_of_its_columns():
    single, composite = rule("a -> b : 2-diversity"), rule("a -> b, c : 2-diversity")
    assert single.implies(composite)
    assert not composite.implies(single)
    assert in_normal_form([SubTable(frozenset("ac")), SubTable(frozenset("b"))], [composite])
    assert not in_normal_form([SubTable(frozenset("abc"))], [composite])


def test_a_stronger_level_is_not_implied_by_a_weaker_one():
    weak, strong = rule("a, b -> c : 2-diversity"), rule("a -> c : 5-diversity")
    assert remove_implied_rules([weak, strong]).kept == (weak, strong)


@given(st.lists(rules, max_size=6))
def test_the_irreducible_form_implies_all_and_nothing_in_it_implies_another(some):
    some = [each for each in some if each.given]
    kept = remove_implied_rules(some).kept
    assert all(any(one.implies(each) for one in kept) for each in some)
    assert not any(one.implies(other) for i, one in enumerate(kept) for j, other in enumerate(kept) if i != j)


def test_theorem_3_2_demands_that_the_determining_columns_are_hidden_too():
    every, added = expand_rules(
        [rule("age -> county : 2-diversity")],
        [parse_dependency("zip, street -> county"), parse_dependency("block -> zip")],
    )
    assert {str(each) for each in added} == {"age → street, zip : 2-diversity", "age → block, street : 2-diversity"}
    assert len(every) == 3


def test_left_sides_are_closed_under_what_is_known():
    known = [parse_dependency("zip -> county"), parse_dependency("county -> state")]
    (closed,), _ = expand_rules([rule("zip -> income : 2-diversity")], known)
    assert closed.given == {"zip", "county", "state"} == closure({"zip"}, known)


@pytest.mark.parametrize("known", ["A1 -> A2", "A1, A3 -> A2"])
def test_a_rule_that_is_a_dependency_is_refused_with_the_reason(known):
    with pytest.raises(Infeasible, match="can compute A2") as refused:
        expand_rules([rule("A1, A3 -> A2 : 2-diversity")], [parse_dependency(known)])
    assert refused.value.hint


def test_known_dependencies_join_tables():
    split = [SubTable(frozenset({"age", "zip"})), SubTable(frozenset({"county", "income"}))]
    asked = [rule("age -> income : 2-diversity")]
    assert in_normal_form(split, asked)
    assert not in_normal_form(split, asked, [frozenset({"zip", "county"})])


def test_units_tie_columns_and_refuse_rules_inside_one():
    tied = dependency_units(
        ["age", "zip", "county", "state"], [parse_dependency("zip -> county"), parse_dependency("county -> state")]
    )
    assert tied == {"age": ("age",), "zip": ("zip", "county", "state")}
    unit = {column: name for name, columns in tied.items() for column in columns}
    assert str(rules_on_units([rule("age -> state : 2-diversity")], unit)[0]) == "age → zip : 2-diversity"
    with pytest.raises(Infeasible, match="no release can hide one"):
        rules_on_units([rule("county -> zip : 2-diversity")], unit)


@given(tables, names, names)
def test_reachability_is_an_equivalence(sets, one, other):
    assert (other in reachable_columns({one}, sets)) == (one in reachable_columns({other}, sets))
    assert reachable_columns(reachable_columns({one}, sets), sets) == reachable_columns({one}, sets)


@given(tables, st.lists(rules, max_size=3))
def test_taking_a_column_out_everywhere_never_breaks_a_rule_about_others(sets, some):
    """The step on which the termination of guardian decomposition rests."""
    some = [each for each in some if each.given]
    guards = {min(columns): columns for columns in sets}
    built = [
        SubTable(
            columns, (PrivacyRule(columns - {hidden}, frozenset({hidden}), Diversity(4)),) if columns - {hidden} else ()
        )
        for hidden, columns in guards.items()
    ]
    for gone in "abcde":
        after = [table.without({gone}) for table in built]
        for each in some:
            if gone not in each.hide and in_normal_form(built, [each]):
                assert in_normal_form(after, [each])


@pytest.mark.parametrize("text", ["a", "a -> b -> c", ", -> b", "a ->", "-> b"])
def test_misspelt_rules_are_refused_with_a_hint(text):
    with pytest.raises(PolicyError) as refused:
        split_arrow(text)
    assert refused.value.hint


def test_a_column_on_both_sides_is_refused():
    with pytest.raises(PolicyError, match="both gives and hides"):
        rule("a, b -> b : 2-diversity")
