"""Whole stories in a real browser: a steward, a tester, a graph, baskets; by keyboard, in a narrow window, reloaded, cancelled.

The pictures of ``docs/studio.md`` are made here with ``SFUMATO_PICTURES=folder``.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.policy.read import parse_yaml
from tests.studio.opened import TOKEN, fill, serving

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(pytest.importorskip("axe_playwright_python", reason="the browser tests need axe").__file__).parent / "axe.min.js"
pytestmark = pytest.mark.skipif(BROWSER is None, reason="the browser tests need Debian's chromium (apt-get install chromium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visitor:
    """Somebody at the screen: goes to pages, waits for work, and complains about whatever the browser complains about."""

    def __init__(self, browser: object, port: int, **looks: object) -> None:
        self.port, self.errors = port, []
        self.context = browser.new_context(viewport={"width": 1180, "height": 860}, **looks)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console", lambda said: self.errors.append(said.text) if said.type == "error" and "favicon" not in said.text else None
        )
        self.page.goto(f"http://127.0.0.1:{port}/?token={TOKEN}")

    def go(self, path: str) -> None:
        self.page.goto(f"http://127.0.0.1:{self.port}{path}")
        self.wait()

    def wait(self) -> None:
        self.page.wait_for_selector(".waiting", state="detached", timeout=120_000)

    def press(self, what: object) -> None:
        """Send a form, and wait until what it began has ended."""
        with self.page.expect_navigation():
            what.click()
        self.wait()

    def picture(self, name: str) -> None:
        if folder := os.environ.get("SFUMATO_PICTURES"):
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    def close(self) -> None:
        self.context.close()
        assert self.errors == []


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    fill(tmp_path, 80)
    with serving(tmp_path) as (_, port):
        yield tmp_path, port


def test_the_story_of_a_steward(browser: object, project: tuple[Path, int]) -> None:
    """From an unknown table to a second release that is judged with the first."""
    folder, port = project
    (folder / "people.yaml").unlink()
    visitor = Visitor(browser, port)
    page = visitor.page
    visitor.press(page.get_by_role("button", name="Draft a policy").first)
    visitor.press(page.get_by_role("link", name="people.yaml").first)
    visitor.press(page.locator("tr", has_text="illness").get_by_role("button", name="sensitive", exact=True))
    visitor.press(page.locator("tr", has_text="town").get_by_role("button", name="quasi-identifier"))
    visitor.picture("data")
    page.get_by_role("link", name="Hierarchies").click()
    visitor.press(page.get_by_role("navigation", name="Quasi-identifiers").get_by_role("link", name="age"))
    page.get_by_label("Intervals of").fill("10, 20")
    visitor.press(page.get_by_role("button", name="Use intervals"))
    page.locator(".tree input[type=checkbox]").first.check()
    visitor.press(page.get_by_role("button", name="Never generalize above"))
    assert "boundary" in (folder / "people.yaml").read_text()
    visitor.picture("hierarchies")
    page.locator(".tree input[type=checkbox]:checked").first.uncheck()
    visitor.press(page.get_by_role("button", name="Never generalize above"))
    visitor.press(page.get_by_role("link", name="Promises"))
    yaml = page.get_by_label("The policy as YAML")
    kept = "version: 1\ndata: {kind: table, source: people.csv}\nkey: name\ncolumns:\n  name: identifier\n"
    kept += "  age: {role: quasi-identifier, hierarchy: {intervals: [10, 20]}}\n  town: quasi-identifier\n  illness: sensitive\n"
    yaml.fill(kept + "protect:\n  - k-linkability: {k: 2}\nmethod: {sequential: {}}\n")
    visitor.press(page.get_by_role("button", name="Save"))
    assert page.get_by_text("Method sequential").is_visible()
    visitor.picture("promises")
    for number in (1, 2):
        visitor.press(page.get_by_role("link", name="Publish"))
        page.get_by_label("Release folder").fill(f"quarter-{number}")
        page.get_by_label("Ledger").fill("book.ledger")
        visitor.press(page.get_by_role("button", name="Publish"))
        assert page.get_by_role("heading", name=f"Published: quarter-{number}").is_visible()
    visitor.picture("publish")
    page.get_by_role("link", name="quarter-2").click()
    visitor.picture("certificate")
    visitor.press(page.get_by_role("button", name="Verify it"))
    assert page.get_by_role("heading", name="quarter-2").is_visible()
    assert page.locator(".findings .no").count() == 0
    visitor.picture("verify")
    visitor.go("/p/people.yaml/publish?ledger=book.ledger")
    assert page.locator(".timeline li").count() == 2
    visitor.close()


def test_the_frontier_is_explored_and_a_point_is_chosen(browser: object, project: tuple[Path, int]) -> None:
    folder, port = project
    visitor = Visitor(browser, port)
    visitor.go("/p/people.yaml/explore")
    visitor.page.get_by_label("Levels").fill("k=2,4")
    visitor.page.get_by_label("Seconds").fill("6")
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("button", name="Explore").click()
    visitor.page.reload()  # in the middle of the run
    visitor.wait()
    assert visitor.page.locator("section.picture svg").count() >= 1
    boxes = visitor.page.locator("[data-compare]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    visitor.press(visitor.page.get_by_role("button", name="Compare"))
    assert visitor.page.get_by_role("heading", name="Side by side").is_visible()
    visitor.picture("explore")
    visitor.press(visitor.page.get_by_role("button", name="as a policy"))
    assert list(folder.glob("people-point-*.yaml"))
    visitor.close()


def test_hierarchies_are_built_by_hand(browser: object, project: tuple[Path, int]) -> None:
    """A tree by keyboard and by dragging, cut points by mouse and by keyboard, an order, a file that is dropped."""
    folder, port = project
    visitor = Visitor(browser, port)
    visitor.go("/p/people.yaml/hierarchies?column=town")
    page, keys = visitor.page, visitor.page.keyboard
    choose(page, "Ulm")
    page.get_by_label("Name", exact=True).fill("South")
    page.get_by_role("button", name="New group around").press("Enter")
    choose(page, "Kiel")
    page.get_by_label("Move to").select_option("South")
    page.locator("#drawn .node", has_text="Bonn").drag_to(page.locator("#drawn .node", has_text="South"))
    choose(page, "South")
    page.get_by_role("button", name="Add a level below").press("Enter")
    assert page.locator("#drawn .node", has_text="Ulm to Kiel").is_visible()
    assert "3 values, 4 levels" in page.locator("#drawn-said").inner_text()
    choose(page, "Ulm to Kiel")
    page.get_by_label("Name", exact=True).fill("South")  # a name that is there already
    page.get_by_role("button", name="Rename").press("Enter")
    assert "stands twice" in page.locator("#builder-problem").inner_text() and page.locator("#drawn .twice").count() == 2
    page.get_by_label("Name", exact=True).fill("Coast")
    page.get_by_role("button", name="Rename").press("Enter")
    visitor.picture("tree")
    with page.expect_navigation():
        page.get_by_role("button", name="Use this tree").press("Enter")
    visitor.wait()
    tree = parse_yaml((folder / "people.yaml").read_text(), name="p").tree["columns"]["town"]["hierarchy"]
    assert tree == {"*": [{"South": [{"Coast": ["Ulm", "Kiel"]}, "Bonn"]}]}
    visitor.go("/p/people.yaml/hierarchies?column=age")
    box = page.locator("#cuts").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + 60)
    page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + 60)
    assert page.locator("#cuts .cut").count() == 2
    before = page.get_by_label("Points").input_value()
    keys.press("ArrowRight")  # the line that was made last has the focus
    first, second, third, last = (int(part) for part in page.get_by_label("Points").input_value().split(", "))
    assert third == int(before.split(", ")[2]) + 1
    grip = page.locator("#cuts .cut").first.locator(".grip").bounding_box()
    page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 60, steps=5)
    page.mouse.up()
    moved = [int(part) for part in page.get_by_label("Points").input_value().split(", ")]
    assert moved[1] < second and moved[2] == third and page.locator("#cuts .cut").count() == 2
    page.get_by_role("button", name="Add a cut").press("Enter")
    keys.press("Delete")
    assert page.locator("#cuts .cut").count() == 2
    visitor.picture("cuts")
    visitor.press(page.get_by_role("button", name="Use these cuts"))
    cuts = parse_yaml((folder / "people.yaml").read_text(), name="p").tree["columns"]["age"]["hierarchy"]["cuts"]
    assert cuts == [str(point) for point in (first, *moved[1:3], last)]
    visitor.go("/p/people.yaml/hierarchies?column=town")
    page.locator("#ordering .node", has_text="Ulm").press("Enter")
    for _ in range(2):
        page.get_by_role("button", name="Up", exact=True).press("Enter")
    visitor.press(page.get_by_role("button", name="Use this order"))
    assert parse_yaml((folder / "people.yaml").read_text(), name="p").tree["columns"]["town"]["hierarchy"]["order"][0] == "Ulm"
    towns = {"name": "towns.csv", "mimeType": "text/csv", "buffer": b"Ulm;South;*\nBonn;West;*\nKiel;North;*\nUlm;North;*\n"}
    with page.expect_navigation():
        page.locator("#pick").set_input_files(towns)
    visitor.wait()
    assert page.get_by_text("two parents").is_visible() and page.locator(".lines li").count() >= 2
    visitor.picture("broken")
    visitor.close()


def choose(page: object, label: str) -> None:
    """An entry of the drawn tree, by keyboard."""
    page.locator("#drawn").get_by_role("button", name=label, exact=True).press("Enter")


def test_a_release_is_cancelled(browser: object, tmp_path: Path) -> None:
    fill(tmp_path, 4_000)
    text = (tmp_path / "people.yaml").read_text().replace("{mondrian: {}}", "{refined: {seconds: 120}}")
    (tmp_path / "people.yaml").write_text(text)
    with serving(tmp_path) as (opened, port):
        visitor = Visitor(browser, port)
        visitor.page.goto(f"http://127.0.0.1:{port}/p/people.yaml/publish")
        before = {path.name for path in tmp_path.iterdir()} | {".studio"}
        visitor.page.get_by_role("button", name="Publish").click()
        visitor.page.get_by_role("button", name="Cancel").click()
        visitor.page.get_by_text("Nothing was published").wait_for()
        assert {path.name for path in tmp_path.iterdir()} <= before
        assert all(
            job.state == "cancelled" or not job.process.is_alive() for job in opened.desk.jobs.values() if job.title == "publishing"
        )
        visitor.close()


def test_the_story_of_a_tester(browser: object, tmp_path: Path) -> None:
    """A database: what is in it, a preview of rows, the load with its audit."""
    with sqlite3.connect(tmp_path / "shop.sqlite") as base:
        base.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT)")
        base.executemany("INSERT INTO customer VALUES (?, ?, ?)", [(at, f"Customer {at}", "Ulm") for at in range(1, 40)])
    tree = f"version: 1\ndata: {{kind: database, source: 'sqlite:///{tmp_path}/shop.sqlite', target: 'sqlite:///{tmp_path}/test.sqlite'}}\n"
    tree += "columns:\n  customer.name: {role: replaced, domain: {pattern: '[A-Z][a-z]{5,9}'}}\n"
    (tmp_path / "shop.yaml").write_text(tree)
    with serving(tmp_path) as (_, port):
        visitor = Visitor(browser, port)
        visitor.go("/p/shop.yaml/data")
        assert visitor.page.get_by_role("heading", name="customer").is_visible()
        visitor.picture("database")
        visitor.go("/p/shop.yaml/publish")
        visitor.press(visitor.page.get_by_role("button", name="Show before and after"))
        assert visitor.page.locator("del").count() == 5
        visitor.press(visitor.page.get_by_role("button", name="Publish"))
        assert visitor.page.get_by_role("heading", name="Target").is_visible()
        visitor.picture("load")
        with sqlite3.connect(tmp_path / "test.sqlite") as base:
            names = [name for (name,) in base.execute("SELECT name FROM customer")]
        assert len(names) == 39 and not any(name.startswith("Customer") for name in names)
        visitor.close()


def test_a_graph_and_baskets(browser: object, tmp_path: Path) -> None:
    rng = random.Random(5)
    pairs = {tuple(sorted(rng.sample(range(60), 2))) for _ in range(150)}
    (tmp_path / "ties.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in sorted(pairs)))
    (tmp_path / "ties.yaml").write_text(
        "version: 1\ndata: {kind: graph, source: ties.csv}\nprotect:\n  - k-degree-anonymity: {k: 2}\n"
    )
    items = ["tea", "rice", "soap", "salt"]
    rows = [" ".join(rng.sample(items, rng.randint(1, 3))) for _ in range(40)]
    (tmp_path / "buys.dat").write_text("\n".join(rows) + "\n")
    (tmp_path / "buys.yaml").write_text("version: 1\ndata: {kind: baskets, source: buys.dat}\nprotect:\n  - k-anonymity: {k: 4}\n")
    with serving(tmp_path) as (_, port):
        visitor = Visitor(browser, port)
        for name in ("ties", "buys"):
            visitor.go(f"/p/{name}.yaml/data")
            visitor.picture(name)
            visitor.go(f"/p/{name}.yaml/promises")
            assert visitor.page.get_by_text("Method").first.is_visible()
            assert visitor.page.locator(".problem").count() == 0
            visitor.go(f"/p/{name}.yaml/publish")
            visitor.press(visitor.page.get_by_role("button", name="Publish"))
            assert visitor.page.get_by_role("heading", name=f"Published: {name}-release-1").is_visible()
        visitor.close()


PAGES = (
    "/project",
    "/verify",
    "/p/people.yaml/data",
    "/p/people.yaml/hierarchies?column=town",
    "/p/people.yaml/promises",
    "/p/people.yaml/explore",
    "/p/people.yaml/publish",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_in_light_and_dark_wide_and_narrow_is_accessible(
    browser: object, project: tuple[Path, int], scheme: str
) -> None:
    _, port = project
    visitor = Visitor(browser, port, color_scheme=scheme)
    for path in PAGES:
        visitor.go(path)
        name = path.strip("/").replace("/", "-").split("?")[0]
        visitor.picture(f"{scheme}-{name}")
        serious = visitor.page.evaluate(_AXE_RUN, AXE.read_text())
        assert serious == [], path
        visitor.page.set_viewport_size({"width": 400, "height": 800})
        wide = visitor.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400, f"{path} is {wide} wide in a narrow window"
        visitor.picture(f"{scheme}-narrow-{name}")
        visitor.page.set_viewport_size({"width": 1180, "height": 860})
    visitor.close()


_AXE_RUN = """async (source) => {
  if (!window.axe) { (0, Function)(source)(); }
  const found = await window.axe.run(document, {resultTypes: ['violations']});
  const grave = found.violations.filter(v => ['serious', 'critical'].includes(v.impact));
  return grave.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | '));
}"""
