"""Reports in a real browser: the five answers on the first screen, no finding of axe, and every text in good contrast,
light and dark, wide and narrow."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.html.charts import figures_of_page
from tests.command_line import run

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="the browser tests need Debian's chromium")

ENOUGH = 4.5
QUESTIONS = ("What is promised, does it hold", "What was lost", "What is not covered", "What next")
ROWS = [
    f"{20 + n % 40},{'FM'[n % 2]},{71000 + n % 9},2024-{1 + n % 12:02}-{1 + n % 27:02},{'ABC'[n % 3]},"
    f"{('flu', 'gout', 'cold', 'cough', 'stroke')[n % 5]}"
    for n in range(240)
]
POLICY = """version: 1
title: Discharges 2025
publisher: City Hospital
data: stays.csv
columns:
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  sex: quasi-identifier
  zip: {role: quasi-identifier, hierarchy: {prefix: 5}}
  day: {role: quasi-identifier, hierarchy: {dates: [month, quarter, year]}}
  ward: other
  illness: sensitive
protect: [k-anonymity: {k: 5}, l-diversity: {l: 2}]
method: {mondrian: {}}
"""
CONTRAST = """() => {
  const parse = text => {
    const found = text.match(/[\\d.]+/g).map(Number); return found.length < 4 ? [...found, 1] : found };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = node => { for (let at = node; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor); if (colour[3] === 1) return colour }
    return [255, 255, 255, 1] };
  const low = [];
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some(c => c.nodeType === 3 && c.textContent.trim());
    if (!own || node.tagName === 'title' || !node.getClientRects().length) continue;
    const style = getComputedStyle(node), drawn = node.namespaceURI.includes('svg');
    const front = parse(drawn ? style.fill : style.color), back = behind(node);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < ENOUGH) low.push([node.textContent.trim().slice(0, 40), Math.round(100 * ratio) / 100]);
  }
  return low;
}""".replace("ENOUGH", str(ENOUGH))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    (folder / "stays.csv").write_text("\n".join(["age,sex,zip,day,ward,illness", *ROWS]) + "\n", encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    out = sf.publish(sf.Policy.read(folder / "policy.yaml"), seed=2**128 + 5).write(folder / "out")
    return {"public": out / "report.html", "private": folder / "out.private.html"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("kind", ["public", "private"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_is_read_at_once(browser: Any, reports: dict[str, Path], kind: str, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    height = 900 if width == 1280 else 844
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(reports[kind].as_uri())
    places = {
        title.strip().lower(): top
        for title, top in page.evaluate(
            "() => [...document.querySelectorAll('.five .card')].map(c => [c.querySelector('h2').textContent,"
            " (c.querySelector('ol li, ul li, svg, td, p') || c).getBoundingClientRect().top])"
        )
    }
    screens = 1 if width == 1280 else 2
    for question in QUESTIONS:
        assert places[question.lower()] < screens * height - 30, (question, places)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    found = Axe().run(page).response["violations"]
    page.close()
    assert [(each["id"], each["nodes"][0]["html"][:100]) for each in found] == []


def test_low_contrast_is_found(browser: Any) -> None:
    page = browser.new_page()
    page.set_content(
        '<body style="background:#fff"><p style="color:#999">grey</p><svg><text fill="#bbb">drawn</text></svg>'
    )
    assert [text for text, _ in page.evaluate(CONTRAST)] == ["grey", "drawn"]
    page.close()


@pytest.mark.parametrize("kind", ["public", "private"])
def test_a_report_says_whose_it_is_and_has_neither_script_nor_gradient(reports: dict[str, Path], kind: str) -> None:
    text = reports[kind].read_text(encoding="utf-8")
    head = text.partition('<div class="id">')[2].partition("</div>")[0]
    parts = (
        "Discharges 2025",
        "City Hospital",
        "release 1 of 1",
        " 20",
        "240 of 240 records",
        "policy sha256",
        "data sha256",
    )
    for part in (*parts, "not signed"):
        assert part in head, part
    assert text.partition('<div class="running"')[2].startswith(' aria-hidden="true">Discharges 2025 · City Hospital')
    assert "<script" not in text and "gradient" not in text
    assert 'href="#words"' in text and 'id="words"' in text and 'href="#attacks"' in text
    charts = figures_of_page(text)
    assert len(charts) >= 4 and all(chart["rows"] and chart["title"] for chart in charts)


def test_the_figures_of_a_report_are_printed_as_json(reports: dict[str, Path]) -> None:
    import json

    done = run("report", str(reports["public"].parent), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["charts"] == figures_of_page(reports["public"].read_text(encoding="utf-8"))


def test_words_of_a_report_are_those_of_the_glossary() -> None:
    from sfumato.audit.report_sections import GLOSSARY

    page = (Path(__file__).resolve().parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
    entries = dict(block.split("\n", 2)[:2] for block in page.split("\n### ")[1:])
    assert {term: entries.get(term) for term in GLOSSARY} == GLOSSARY
