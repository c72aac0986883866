"""Patterns that people write are matched in linear time, everywhere they are matched, and mean what Python says they
mean."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import PolicyError
from sfumato.data import regular_expressions
from sfumato.data.regular_expressions import LONGEST_PATTERN, matches_pattern, require_regular
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from tests.slow import SLOW

CATASTROPHIC = [
    "(a|a)*b",
    "(a+)+b",
    "(a*)*b",
    "([a-z]+)*b",
    "(a|aa)+b",
    "(.*)*b",
    "(a?){30}a{30}b",
    r"(\w+\s?)+b",
    "a*a*a*a*a*b",
]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_no_pattern_takes_forever(pattern: str) -> None:
    texts = ["a" * 34 + "!", "a" * 50_000, "b", "a" * 34 + "b"]
    started = time.process_time()
    found = matches_pattern(pattern, texts)
    domain = value_domains.read({"pattern": pattern})
    held = domain.contains(["a" * 60, "a" * 34 + "b"])
    broken = ConstraintEvaluator({None: {"a": texts}}).broken(parse(f'match(a, "{pattern}")'.replace("\\", "\\")))
    assert time.process_time() - started < 20
    assert not found[0] and not found[1]
    assert not held[0]
    assert broken == int((~found).sum())


def test_a_policy_with_such_a_rule_is_judged_at_once() -> None:
    policy = sf.Policy.parse(
        {
            "version": 1,
            "columns": {"age": "quasi-identifier", "code": "other", "illness": "sensitive"},
            "protect": [{"k-anonymity": {"k": 2}}],
            "keep": ['match(code, "(a|a)*b")'],
        }
    )
    started = time.process_time()
    data = {"age": list("1122"), "code": ["a" * 34 + "b"] * 4, "illness": list("abab")}
    assert sf.publish(policy, data=data).certificate.holds
    with pytest.raises(sf.errors.DataError if hasattr(sf, "errors") else Exception, match="is broken 4 time"):
        sf.publish(policy, data=data | {"code": ["a" * 34 + "!"] * 4})
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?=a)a", "linear time"),
        ("(?<!a)b", "linear time"),
        (r"(a)\1", "linear time"),
        ("(?P<x>a)(?P=x)", "linear time"),
        ("a++", "linear time"),
        ("(?>a)b", "linear time"),
        (r"a\Z", "linear time"),
        ("a{5000}", "linear time"),
        ("((a{100}){100}){100}", "linear time"),
        ("a{,3}", "differently"),
        ("[[:alpha:]]", "differently"),
        ("(a", "cannot be read"),
        ("*", "cannot be read"),
        ("a{99999999999999999999}", "too often"),
        ("(" * 60 + ")" * 60, "too deep"),
        ("(" * 100_000, "longer than"),
        ("a" * (LONGEST_PATTERN + 1), "longer than"),
    ],
    ids=lambda text: text[:20],
)
def test_a_pattern_that_is_not_regular_is_a_policy_error(pattern: str, what: str) -> None:
    with pytest.raises(PolicyError, match=what) as caught:
        require_regular(pattern, where="policy.yaml:7")
    assert caught.value.where == "policy.yaml:7"
    assert caught.value.hint
    with pytest.raises(PolicyError, match=what):
        value_domains.read({"pattern": pattern}, "policy.yaml:7")


def test_a_rule_that_is_not_regular_is_found_before_data_moves() -> None:
    with pytest.raises(PolicyError, match="linear time"):
        policy = sf.Policy.parse(
            {
                "version": 1,
                "columns": {"age": "quasi-identifier", "code": "other", "illness": "sensitive"},
                "protect": [{"k-anonymity": {"k": 2}}],
                "keep": ['match(code, "(?=a)a")'],
            }
        )
        from sfumato.workflow.plan import plan

        plan(policy)


atoms = st.sampled_from(["a", "b", ".", r"\d", r"\w", "[ab]", "[^a]", "0", r"\.", "(?:ab)", "^", "$", "é"])
suffix = st.sampled_from(["", "", "?", "*", "+", "{2}", "{1,3}", "{2,}"])
pieces = st.lists(st.tuples(atoms, suffix).map("".join), min_size=1, max_size=4).map("".join)
patterns = st.lists(pieces, min_size=1, max_size=3).map("|".join) | st.lists(pieces, min_size=1, max_size=2).map(
    "|".join
).map("({})*".format)


@settings(max_examples=400 if SLOW else 160, deadline=None)
@given(patterns, st.lists(st.text(st.sampled_from("ab0.é_ "), max_size=6), min_size=1, max_size=6))
def test_a_pattern_means_what_python_says(pattern: str, texts: list[str]) -> None:
    """The class: two engines, one meaning; what they would read differently is refused."""
    try:
        require_regular(pattern)
    except PolicyError:
        return
    wanted = [re.fullmatch(pattern, text, re.ASCII) is not None for text in texts]
    assert matches_pattern(pattern, texts).tolist() == wanted


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab()[]{}|?*+.\\^$,:!=<P0123dwsAZzQE-"), max_size=14))
def test_any_text_is_a_pattern_or_a_policy_error(pattern: str) -> None:
    try:
        require_regular(pattern)
    except PolicyError:
        return
    wanted = [re.fullmatch(pattern, text, re.ASCII) is not None for text in ("", "a", "ab", "b0", "A-Z", "(", "{,3")]
    assert matches_pattern(pattern, ["", "a", "ab", "b0", "A-Z", "(", "{,3"]).tolist() == wanted


def test_no_other_engine_matches_what_people_write() -> None:
    """Whoever compiles a pattern of a policy goes through `regular_expressions`; the rule language only looks at its
    spelling."""
    from pathlib import Path

    source = Path(sf.__file__).parent
    for name in (
        "policy/constraint_language/evaluation.py",
        "kinds/testdata/methods/sampling/constraint_vectors.py",
        "policy/value_domains.py",
    ):
        assert "import re\n" not in (source / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("pattern", ["é", "[é]b", "a|é", "[a-é]", "😀", "é{2}"])
def test_a_pattern_to_draw_from_has_signs_that_can_be_drawn(pattern: str) -> None:
    tree = {
        "version": 1,
        "columns": {"a": {"role": "replaced", "domain": {"pattern": pattern}}},
        "method": {"obfuscation": {}},
    }
    with pytest.raises(PolicyError, match="ASCII"):
        sf.publish(sf.Policy.parse(tree), data={"a": ["x", "y"]})


def test_a_rule_is_not_compiled_before_its_size_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_expressions, "re", None)  # the module that would compile is not at hand
    with pytest.raises(PolicyError, match="longer than"):
        parse(f'match(a, "{"(" * 3000}")')
