"""What a click on a requirement writes: nothing marked means every column of its role, and nothing is written twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError
from sfumato.policy.yaml_document import parse_yaml
from sfumato.ui.studio.work.releasing import release
from sfumato.workflow.forecast import forecast_publish
from sfumato.workflow.plan import plan
from tests.studio.opened import POLICY, client, fill, serving

PAGE = "/p/people.yaml/promises"
TREE = {
    "version": 1,
    "data": {"kind": "table"},
    "columns": {"age": "quasi-identifier", "illness": "sensitive", "pay": "sensitive"},
    "method": {"mondrian": {}},
}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[Path, httpx.Client]]:
    fill(tmp_path)
    (tmp_path / "people.yaml").write_text(POLICY.replace("protect:\n  - k-anonymity: {k: 3}\n", ""))
    with serving(tmp_path) as (_, port):
        yield tmp_path, client(port)


def _press(asking: httpx.Client, **form: str) -> httpx.Response:
    return asking.post(PAGE, data={"seen": asking.get(f"{PAGE}.json").json()["seen"], **form})


def _protect(folder: Path) -> list[object]:
    return list(parse_yaml((folder / "people.yaml").read_text(), name="p").tree.get("protect", []))


def test_nothing_marked_means_all_sensitive_columns(project: tuple[Path, httpx.Client]) -> None:
    folder, asking = project
    assert _press(asking, act="usual", k="5", l="2").status_code == 303
    assert _protect(folder) == [{"k-anonymity": {"k": "5"}}, {"l-diversity": {"l": "2"}}]
    claims = sf.Policy.read(folder / "people.yaml").claims
    assert [claim.hide for claim in claims] == [(), ("illness",)]


def test_without_a_sensitive_column_only_candidates_are_asked_for(project: tuple[Path, httpx.Client]) -> None:
    folder, asking = project
    plain = (folder / "people.yaml").read_text().replace("illness: sensitive", "illness: other")
    (folder / "people.yaml").write_text(plain.split("accept:")[0])
    assert _press(asking, act="usual", k="5", l="2").status_code == 303
    assert _protect(folder) == [{"k-anonymity": {"k": "5"}}]


def test_the_same_click_twice_is_refused(project: tuple[Path, httpx.Client]) -> None:
    folder, asking = project
    assert _press(asking, act="usual", k="5", l="2").status_code == 303
    again = _press(asking, act="usual", k="5", l="2")
    assert again.status_code == 422
    assert "promised already" in again.text
    assert len(_protect(folder)) == 2
    assert _press(asking, act="usual", k="", l="2", hide="illness").status_code == 422  # the same in other words
    assert _press(asking, act="usual", k="6", l="3").status_code == 303
    assert len(_protect(folder)) == 4


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ({"k-anonymity": {"k": 5}}, {"k-anonymity": {"k": 5}}, True),
        ({"k-anonymity": {"k": 5}}, {"given": ["age"], "by": {"k-anonymity": {"k": 5}}}, True),
        ({"l-diversity": {"l": 2}}, {"hide": ["pay", "illness"], "by": {"l-diversity": {"l": 2}}}, False),
        ({"l-diversity": {"l": 2}}, {"l-diversity": {"l": 2, "kind": "distinct"}}, True),
        ({"l-diversity": {"l": 2}}, {"l-diversity": {"l": 3}}, False),
        ({"l-diversity": {"l": 2}}, {"l-diversity": {"l": 2, "kind": "entropy"}}, False),
    ],
)
def test_equal_requirements_are_refused_however_they_are_written(first: object, second: object, equal: bool) -> None:
    policy = sf.Policy.parse({**TREE, "protect": [first, second]})
    if not equal:
        assert plan(policy).method.name == "mondrian"
        return
    with pytest.raises(PolicyError, match="written twice"):
        plan(policy)


def test_a_sensitive_column_that_no_requirement_names_is_a_warning_until_somebody_says_why() -> None:
    protect = [{"hide": "illness", "by": {"l-diversity": {"l": 2}}}]
    policy = sf.Policy.parse({**TREE, "protect": protect})
    assert policy.unexplained == ("pay",)
    crowds = {"given": ["age"], "hide": ["pay"], "by": {"k-anonymity": {"k": 5}}}
    assert sf.Policy.parse({**TREE, "protect": [*protect, crowds]}).unexplained == (
        "pay",
    )  # crowds may share one value
    assert "unprotected:pay" in {warning.identifier for warning in forecast_publish(policy).warnings}
    trivial = {"hide": ["pay"], "by": {"l-diversity": {"l": 1}}}
    assert sf.Policy.parse({**TREE, "protect": [*protect, trivial]}).unexplained == (
        "pay",
    )  # every release has one value
    said = sf.Policy.parse({**TREE, "protect": protect, "accept": [{"unprotected:pay": "public by law"}]})
    assert said.unexplained == ()
    assert said.accept_reasons == {"unprotected:pay": "public by law"}
    assert "unprotected:pay" not in {warning.identifier for warning in forecast_publish(said).warnings}
    for empty in ("unprotected:pay", {"unprotected:pay": " "}):
        with pytest.raises(PolicyError, match="without a reason"):
            sf.Policy.parse({**TREE, "protect": protect, "accept": [empty]})


def test_labels_of_baskets_are_asked_about_too() -> None:
    tree = {
        "version": 1,
        "data": {"kind": "baskets", "source": "b.csv", "items": "i"},
        "columns": {"faith": "sensitive"},
        "protect": [{"k-anonymity": {"k": 3}}],
    }
    assert sf.Policy.parse(tree).unexplained == ("faith",)
    assert sf.Policy.parse({**tree, "accept": [{"unprotected:faith": "only counts"}]}).unexplained == ()


def test_the_studio_publishes_no_unprotected_column_without_a_reason(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "people.yaml").write_text(POLICY.split("accept:")[0])
    with pytest.raises(PolicyError, match="no requirement limits what can be learned"):
        release(lambda share, what: None, str(tmp_path / "people.yaml"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    (tmp_path / "people.yaml").write_text(POLICY)
    release(lambda share, what: None, str(tmp_path / "people.yaml"), str(tmp_path / "out"))
    assert "only counts of illnesses" in (tmp_path / "out" / "policy.yaml").read_text()
