"""The whole way by mouse: a German export becomes a release, and the next quarter a second one.

The test makes the file (Windows-1252, semicolons, decimal commas, 24 columns). No file is touched by hand, and clicks
are counted; choosing roles and choosing files are not clicks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.history.ledger import Ledger
from sfumato.policy.yaml_document import parse_yaml
from tests.studio.german_export import COLUMNS, write_export
from tests.studio.opened import serving
from tests.studio.test_stories import _AXE_RUN, AXE, BROWSER, Visitor, browser, playwright

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(BROWSER is None or playwright is None, reason="the browser tests need chromium")
MOST_CLICKS = 20
ROLES = dict.fromkeys(
    ("Geburtsdatum", "Wohnort", "Kostentraeger", "Entlassung", "Verweildauer", "Abteilung", "Gewicht_kg", "Groesse_cm",
     "Nebendiagnosen", "Kosten_EUR"), "drop",
)  # fmt: skip


class Mouse(Visitor):
    """A visitor who counts the clicks."""

    clicks = 0

    def click(self, what: object, address: str = "") -> None:
        self.clicks += 1
        what.click()
        if address:
            self.page.wait_for_url(address, timeout=300_000)
        self.page.wait_for_load_state()
        self.wait()

    def take(self, file: Path, address: str) -> None:
        self.page.locator("#pick").set_input_files(file)
        self.page.wait_for_url(address, timeout=120_000)
        self.wait()

    def role(self, column: str, role: str) -> None:
        field = self.page.locator(f'[id="role-{column}"]')
        field.scroll_into_view_if_needed()
        before = self.page.evaluate("scrollY")
        with self.page.expect_response(lambda answer: answer.request.method == "GET" and answer.ok):
            field.select_option(role)
        self.wait()
        assert abs(self.page.evaluate("scrollY") - before) < 2, "the page jumped"


@pytest.mark.parametrize("rows", [5_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_from_a_german_export_to_the_second_release_by_mouse(browser: object, tmp_path: Path, rows: int) -> None:
    project, files = tmp_path / "project", tmp_path / "files"
    project.mkdir()
    files.mkdir()
    first = write_export(files / "klinik_2025_q1.csv", rows)
    second = write_export(files / "klinik_2025_q2.csv", rows + 1_000)
    assert "Köln".encode("cp1252") in first.read_bytes()
    with serving(project) as (_, port):
        visitor = Mouse(browser, port)
        page = visitor.page
        visitor.take(first, "**/start**")
        page.locator("#preview").get_by_text("windows-1252").wait_for(timeout=120_000)
        assert page.get_by_role("heading", name=f"{rows:,} records, {len(COLUMNS)} columns").is_visible()
        visitor.click(page.get_by_role("button", name="Next"), "**/risk")
        page.get_by_text(f"of {rows:,} rows stand alone").wait_for(timeout=120_000)
        visitor.click(page.get_by_role("link", name="Next"), "**/data")
        for column, role in ROLES.items():
            visitor.role(column, role)
        policy = project / "klinik_2025_q1.yaml"
        columns = parse_yaml(policy.read_text(), name="policy").tree["columns"]
        assert columns["Geburtsdatum"]["role"] == "drop"
        assert page.locator("#problems .problem").count() == 0
        assert page.locator("#panel .big").inner_text().endswith("→ 0")
        assert page.locator("#panel del").count() > 3
        visitor.click(page.get_by_role("link", name="Next"), "**/promises")
        visitor.click(page.get_by_role("button", name="Promise this: Internal"))
        assert {"k-anonymity": {"k": "3"}} in parse_yaml(policy.read_text(), name="policy").tree["protect"]
        visitor.click(page.get_by_role("button", name="Undo"))
        assert {"k-anonymity": {"k": "5"}} in parse_yaml(policy.read_text(), name="policy").tree["protect"]
        visitor.click(page.get_by_role("link", name="Next"), "**/hierarchies")
        visitor.click(page.get_by_role("link", name="Next"), "**/explore")
        visitor.click(page.get_by_role("link", name="Next"), "**/publish")
        visitor.click(page.get_by_role("button", name="Yes, begin a ledger"))
        assert parse_yaml(policy.read_text(), name="policy").tree["key"] == "Patienten_ID"
        visitor.click(page.get_by_role("button", name="Publish", exact=True), "**/certificate")
        assert page.locator("#summary h2").first.inner_text().startswith("An adversary who knows Alter")
        assert page.get_by_role("heading", name="What changed").is_visible()
        changed = page.get_by_role("region", name="Rows before and after")
        assert changed.locator("del").count() > 10 and changed.locator("svg.overlay").count() >= 6
        assert page.get_by_role("heading", name="Precision given up").is_visible()
        visitor.picture("whole-way-release")
        visitor.click(page.get_by_role("link", name="Next quarter"), "**/read")
        page.locator("#pick").set_input_files(second)
        page.get_by_text(f"{rows + 1_000:,} records").wait_for(timeout=120_000)
        visitor.wait()
        visitor.click(page.get_by_role("link", name="6 Publish"), "**/publish")
        visitor.click(page.get_by_role("button", name="Publish", exact=True), "**/klinik_2025_q1-release-2/certificate")
        assert page.get_by_role("link", name="klinik_2025_q1-release-1").is_visible()  # compared with the earlier one
        assert page.evaluate(_AXE_RUN, [AXE.read_text(), False]) == []
        assert visitor.clicks <= MOST_CLICKS
        print(f"clicks: {visitor.clicks}")
        visitor.picture("whole-way-second")
        visitor.close()
    assert len(list(Ledger(project / "klinik_2025_q1.ledger").entries())) == 2
