"""What an earlier release promised stands until it is promised anew: that nobody's row is known, too, and every kind of
diversity.

Whose a row is can be told later, by a column that nobody is known by and that both releases show. The judge here pairs
the rows of two releases by their hidden values and counts which rows of the first somebody is left with."""

import pytest

from sfumato.core.errors import Infeasible
from sfumato.history import standing_requirements
from sfumato.history.constrain import constraints
from sfumato.kinds.tables.methods import recoding
from sfumato.workflow.publish import publish
from tests.secret import SEED

PEOPLE = [{"who": f"p{i}", "a": f"a{i % 4}", "b": f"b{i // 4}", "s": f"s{i}", "t": f"t{i % 3}"} for i in range(8)]
KNOWN = {"who": "identifier", "a": "quasi-identifier", "b": "quasi-identifier"}
SHARED = {"k-anonymity": {"k": 2}}
OF_ALL = {"l-diversity": {"l": 2}}
OF_T = {"given": ["b"], "hide": "t", "by": {"l-diversity": {"l": 2}}}


def released(folder, *policies, people=PEOPLE):
    made = []
    for r, (columns, protect, method) in enumerate(policies):
        tree = {"version": 1, "columns": columns, "protect": protect, "key": "who", "method": method}
        data = {name: [row[name] for row in people] for name in columns}
        made.append(publish(tree, data, seed=SEED + r, ledger=folder / "book", new_ledger=not r))
        made[-1].write(folder / f"r{r}", report=False)
    return made


def rows_left(first, second):
    """The fewest rows of the first release that somebody could have who is known by everything but s."""
    fits = [
        [row["s"] for row in rows if all(row[n] in ("*", p[n]) for n in "ab")]
        for rows in (first, second)
        for p in PEOPLE
    ]
    return min(len(set(one) & set(two)) for one, two in zip(fits[: len(PEOPLE)], fits[len(PEOPLE) :], strict=True))


def rows_of(publication):
    return publication.release.parts["data"].table.to_pylist()


LATER = [({**KNOWN, "s": "other", "t": "sensitive"}, [OF_T], "mondrian")]
LATER += [({**KNOWN, "s": "sensitive"}, [{"given": ["b"], "hide": "s", "by": {"l-diversity": {"l": 2}}}], "clustering")]


@pytest.mark.parametrize("later", LATER)
def test_rows_stay_shared_where_a_later_release_does_not_say_so(tmp_path, later):
    first, second = released(tmp_path, ({**KNOWN, "s": "sensitive"}, [SHARED], "mondrian"), later)
    assert rows_left(rows_of(first), rows_of(second)) >= 2
    assert any(finding.model == "earlier promises" and finding.holds for finding in second.certificate.findings)


def test_the_audit_finds_rows_that_a_later_release_tells(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.workflow.publication.records_to_leave_out", lambda *_: frozenset())  # nobody waits
    monkeypatch.setattr(recoding, "with_standing_requirements", lambda task: (task.policy, task))
    monkeypatch.setattr(constraints, "standing_requirements", lambda policy, history: policy.claims)
    with pytest.raises(
        Infeasible,
        match=(
            "earlier promises: k-anonymity: 8 people do not reach the required level in their joint equivalence classes"
        ),
    ):
        released(tmp_path, ({**KNOWN, "s": "sensitive"}, [SHARED], "mondrian"), LATER[0])


def test_a_release_that_nothing_ties_to_it_leaves_rows_as_they_were(tmp_path):
    _, second = released(tmp_path, (KNOWN, [SHARED], "mondrian"), ({**KNOWN, "t": "sensitive"}, [OF_ALL], "anatomy"))
    assert not any(finding.model == "earlier promises" for finding in second.certificate.findings)


def test_a_tie_through_a_third_release_is_one(tmp_path):
    """The second shows s and t, so that the third, which shows t, is tied to the first."""
    first = ({**KNOWN, "s": "sensitive"}, [SHARED], "mondrian")
    second = ({"who": "identifier", "b": "quasi-identifier", "s": "other", "t": "sensitive"}, [OF_T], "mondrian")
    third = ({**KNOWN, "t": "sensitive"}, [OF_T], "mondrian")
    *_, last = released(tmp_path, first, second, third)
    assert any(finding.model == "earlier promises" and finding.holds for finding in last.certificate.findings)


def test_another_kind_of_diversity_does_not_replace_one(tmp_path):
    def asked(**level):
        return [{"given": ["a", "b"], "hide": "s", "by": {"l-diversity": level}}]

    people = [{**row, "s": f"s{place % 3}"} for place, row in enumerate(PEOPLE)]
    columns = {**KNOWN, "s": "sensitive"}
    first = columns, asked(l=2, kind="frequency"), "mondrian"
    _, second = released(tmp_path, first, (columns, asked(l=2), "mondrian"), people=people)
    (claim,) = standing_requirements.earlier_requirements(second.policy, second.history)
    assert claim.model.required() == {"l": 2, "kind": "frequency"}


def test_columns_that_come_and_go_are_generalized_in_lineages(tmp_path):
    """Outsiders do not know who is where; the second release shows b for the first time, later ones neither a nor b."""
    everybody = [
        {"who": f"p{i}", "a": f"a{i % 3}", "b": f"b{i}", "c": f"c{i % 2}", "s": f"s{i % 3}"} for i in range(24)
    ]
    shown = [("a", everybody[:18]), ("ab", everybody[:21]), ("c", everybody[:21]), ("c", everybody)]
    for r, (names, rows) in enumerate(shown):
        columns = {"who": "identifier", **dict.fromkeys(names, "quasi-identifier"), "s": "sensitive"}
        tree = {
            "version": 1,
            "columns": columns,
            "key": "who",
            "protect": [{"l-diversity": {"l": 2}}],
            "method": "mondrian",
        }
        data = {name: [row[name] for row in rows] for name in columns}
        made = publish(
            {**tree, "series": {"cohorts": "unknown"}}, data, seed=SEED + r, ledger=tmp_path / "book", new_ledger=not r
        )
        made.write(tmp_path / f"r{r}", report=False)
        assert made.certificate.holds
        assert all(row.get("b", "*") == "*" for row in rows_of(made))
