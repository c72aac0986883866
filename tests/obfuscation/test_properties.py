"""Random schemas and rules: every output obeys every rule by the audit's evaluator; what is refused has no legal
table."""

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from worlds import all_tables, broken, problem, texts

from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.sampler_selection import routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import fallback

NAMES = ("a", "b", "c")
ORIGINAL = {"g": ["x", "x", "y"], "n": ["0", "1", "2"]}


@st.composite
def domains(draw):
    low = draw(st.integers(-1, 1))
    return draw(
        st.sampled_from(
            [
                {"integers": [low, low + draw(st.integers(0, 2))]},
                {"decimals": ["0", "1"], "places": 0},
                {"decimals": ["0", "0.2"], "places": 1},
                {"values": ["0", "2", "1"]},
            ]
        )
    )


@st.composite
def conditions(draw, names):
    one, two = draw(st.sampled_from(names)), draw(st.sampled_from([*names, "n", "1", "0"]))
    sign = draw(st.sampled_from(["<", "<=", "=", "!=", ">", ">="]))
    simple = draw(
        st.sampled_from(
            [
                f"{one} {sign} {two}",
                f"{one} + {two} {sign} 1",
                f"2 * {one} - {two} {sign} 1",
                f"{one} in {{0, 1}}",
                f"{one} * {two} {sign} 1",
                f"not {one} = 1",
                f"{one} {sign} original.n",
            ]
        )
    )
    if draw(st.booleans()):
        return simple
    return draw(st.sampled_from([f"if g = 'x' then {simple}", f"{simple} or {one} = 0", f"{simple} and {one} >= 0"]))


@st.composite
def whole(draw, names):
    one, two = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    total = draw(st.integers(-1, 4))
    sign = draw(st.sampled_from(["=", "<=", ">="]))
    return draw(
        st.sampled_from(
            [
                f"unique({one})",
                f"unique({one}, {two})" if one != two else f"unique({one})",
                f"sum({one}) {sign} {total}",
                f"mean({one}) = 1 within 0.5",
                f"count({one} = 1) {sign} {max(total, 0)}",
                f"max({one}) = 1",
                f"min({one}) >= 0",
                f"sum({one} by g) = {total}",
                f"sum({one}) + sum({two}) {sign} {total}",
                f"g determines {one}",
                f"at_least(2, {one})",
                f"{one} determines {two}" if one != two else f"g determines {one}",
                f"{one}[1] <= {one}[3]",
            ]
        )
    )


@st.composite
def schemas(draw):
    names = NAMES[: draw(st.integers(1, 2))]
    declared = {name: draw(domains()) for name in names}
    rules = draw(st.lists(conditions(names), max_size=2)) + draw(st.lists(whole(names), max_size=2))
    return problem(declared, rules, 3, ORIGINAL)


@given(schemas(), st.integers(0, 1000))
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_outputs_obey_all_rules_and_refusals_are_right(asked, seed):
    note([str(rule) for rule in asked.rules])
    note(
        {
            name: numbering.texts(np.arange(numbering.size)).tolist()
            for name, numbering in asked.sources[None].replaced.items()
        }
    )
    try:
        table = texts(run(asked, routes(asked, fallback("IG", 3)), Randomness(seed=seed)))
    except Infeasible:
        assert not all_tables(asked)
        return
    assert broken(asked, table) == [0] * len(asked.rules)
