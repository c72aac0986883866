"""Two originals with the same published rows have the same folder: nothing in it says more about the original than they
do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.kinds.tables.information_loss import declared_domains
from sfumato.release.folder import read_folder
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView
from tests.secret import SEED
from tests.trust.twins import FORMS, certified_for, files

NEED_THE_ORIGINAL = {"entropy_loss", "query_error", "range_query_error", "distortion", "clustering_error",
"kl_divergence",
                     "bit_error_rate", "added_edges", "optimality_gap", "lower_bound", "graph_change"}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_two_originals_with_the_same_rows_have_the_same_folder(form: str, tmp_path: Path) -> None:
    publication, other = FORMS[form](tmp_path)
    twin = certified_for(publication, other)
    one, two = (files(made.write(tmp_path / name)) for made, name in ((publication, "one"), (twin, "two")))
    assert one == two
    assert {"manifest.json", "certificate.json", "policy.yaml", "report.html"} <= set(one)


@pytest.mark.parametrize("form", FORMS)
def test_the_data_holder_is_told_them_apart(form: str, tmp_path: Path) -> None:
    """Else the test above would compare a thing with itself."""
    publication, other = FORMS[form](tmp_path)
    twin = certified_for(publication, other)
    pages = [
        made.write(tmp_path / name).with_name(f"{name}.private.html")
        for made, name in ((publication, "a"), (twin, "b"))
    ]
    told = [
        (made.findings, made.utility, page.read_text()) for made, page in zip((publication, twin), pages, strict=True)
    ]
    assert form in ("subtables", "flipped", "database") or told[0] != told[1]


@pytest.mark.parametrize("form", FORMS)
def test_every_figure_of_a_certificate_can_be_computed_from_the_folder(form: str, tmp_path: Path) -> None:
    publication, _ = FORMS[form](tmp_path)
    folder = publication.write(tmp_path / "out")
    certificate = json.loads((folder / "certificate.json").read_text())
    from sfumato.release.metric import figures

    assert certificate["utility"] == json.loads(json.dumps(figures(read_folder(folder))))
    assert not NEED_THE_ORIGINAL & set(certificate["utility"])
    assert NEED_THE_ORIGINAL & set(publication.utility) or form in ("flipped", "database")


@pytest.mark.parametrize("form", FORMS)
def test_findings_that_need_the_original_say_only_that_they_hold(form: str, tmp_path: Path) -> None:
    publication, _ = FORMS[form](tmp_path)
    outside = {finding.model: finding for finding in sf.verify(publication.write(tmp_path / "out")).findings}
    shown = {finding.model for finding in publication.certificate.findings}
    assert not {"neighbours", "pinned", "optimality"} & shown
    for finding in publication.certificate.findings:
        if finding.model not in outside or outside[finding.model].open:
            assert dict(finding.achieved) in (dict(finding.required), {})
            assert finding.reason == ""


def test_the_mean_of_a_replaced_column_cannot_be_solved_for(tmp_path: Path) -> None:
    """`range_query_error` and `distortion` gave the mean salary, and one record's, of people whose values nobody
    read."""
    publication, _ = FORMS["replaced"](tmp_path)
    assert set(publication.certificate.utility) == set()
    assert {"range_query_error", "distortion", "clustering_error", "query_error"} <= set(publication.utility)


def test_a_suppressed_value_does_not_move_the_published_loss() -> None:
    """Domain sizes counted the values of suppressed records."""
    tree = {
        "version": 1,
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 1}}
        },
        "protect": [{"k-anonymity": {"k": 3}}],
        "method": {"mondrian": {}},
    }
    seen = [str(20 + i % 10) for i in range(30)] + ["35", "36", "37", "38"]
    made = [sf.publish(sf.Policy.parse(tree), data={"age": [*seen, rare]}, seed=SEED) for rare in ("61", "97")]
    assert [one.certificate.records.suppressed for one in made] == [1, 1]
    assert made[0].release.parts["data"] == made[1].release.parts["data"]
    assert made[0].certificate == made[1].certificate


def test_contract_keys_stand_in_the_folder_where_it_gives_them(tmp_path: Path) -> None:
    publication, _ = FORMS["recoded"](tmp_path)
    assert {"loss", "ntil", "average_class_size", "discernibility", "loss_by_column"} == set(
        publication.certificate.utility
    )
    assert {"recovered"} == set(FORMS["flipped"](tmp_path)[0].certificate.utility)


def test_declared_loss_agrees_with_the_data_holders_where_the_domain_is_declared(tmp_path: Path) -> None:
    publication, _ = FORMS["recoded"](tmp_path)
    mine, theirs = (made["loss_by_column"] for made in (publication.utility, publication.certificate.utility))
    assert theirs["land"] == pytest.approx(mine["land"])
    assert theirs["sex"] == pytest.approx(mine["sex"])
    assert all(0 < theirs[name] <= 1 for name in theirs)


def test_declared_domains_say_everything_between_nothing_and_all(tmp_path: Path) -> None:
    publication, _ = FORMS["recoded"](tmp_path)
    exhibit = publication.exhibit.as_published()
    for name, domain in declared_domains(exhibit).items():
        labels = [*exhibit.data.text(name).labels, "*", ""]
        for share in (domain.widths(labels), domain.heights(labels)):
            assert ((share >= 0) & (share <= 1)).all()
            assert share[-2:].tolist() == [1.0, 0.0]
        assert np.all(domain.widths(["no such label of anything"]) <= 1)


def test_a_metric_that_says_nothing_about_the_original_stays_out_of_folders() -> None:
    class Careless(Metric):
        """Somebody's new metric."""

        name: ClassVar[str] = "careless"

        def measure(self, exhibit: Any) -> float:
            return float(exhibit.original.rows)

    publication, _ = FORMS["anatomy"](Path("."))
    assert Careless.needs_original
    assert not Careless().applies(publication.exhibit.as_published())


@pytest.fixture(scope="module")
def exhibits(tmp_path_factory: pytest.TempPathFactory) -> list[ReleaseView]:
    """A release of every form."""
    return [make(tmp_path_factory.mktemp("exhibit"))[0].exhibit for make in FORMS.values()]


@pytest.mark.parametrize(
    "metric", sorted(name for name, cls in catalogue("metrics", Metric).items() if not cls.needs_original)
)
def test_what_needs_no_original_is_measured_without_it(metric: str, exhibits: list[ReleaseView]) -> None:
    kind = catalogue("metrics", Metric)[metric]
    met = 0
    for exhibit in exhibits:
        if kind().applies(exhibit):
            assert kind().applies(exhibit.as_published())
            kind().measure(exhibit.as_published())
            met += 1
    assert met
