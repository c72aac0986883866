"""Whole stories in a real browser: a steward, a tester, a graph, baskets; by keyboard, in a narrow window, reloaded,
cancelled.

The pictures of ``docs/tutorials/studio.md`` are made here with ``SFUMATO_PICTURES=folder``.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.policy.yaml_document import parse_yaml
from sfumato.ui.studio.policy_editing import edited
from tests.studio.opened import POLICY, TOKEN, fill, fill_at_length, serving

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = (
    Path(pytest.importorskip("axe_playwright_python", reason="the browser tests need axe").__file__).parent
    / "axe.min.js"
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="the browser tests need Debian's chromium (apt-get install chromium)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visitor:
    """Somebody at the screen: goes to pages, waits for work, and complains about whatever the browser complains
    about."""

    def __init__(self, browser: object, port: int, **looks: object) -> None:
        self.port, self.errors = port, []
        self.context = browser.new_context(viewport={"width": 1180, "height": 860}, **looks)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda said: self.errors.append(said.text) if said.type == "error" and "favicon" not in said.text else None,
        )
        self.page.goto(f"http://127.0.0.1:{port}/?token={TOKEN}")

    def go(self, path: str) -> None:
        self.page.goto(f"http://127.0.0.1:{self.port}{path}")
        self.wait()

    def wait(self) -> None:
        self.page.wait_for_selector(".waiting", state="detached", timeout=120_000)
        self.page.wait_for_selector("#panel[aria-busy]", state="detached", timeout=120_000)

    def press(self, what: object) -> None:
        """Send a form, and wait until what it began has ended."""
        with self.page.expect_navigation():
            what.click()
        self.wait()

    def use(self, what: object, key: str = "Enter") -> None:
        """Without a mouse: Tab until it has the focus, then press a key."""
        self.reach(what)
        self.page.keyboard.press(key)

    def reach(self, what: object) -> None:
        what.wait_for()
        for attempt in range(400):  # as many Tabs as there seem to be stops between, then a look where that led
            steps = self.page.evaluate(_STOPS, what.element_handle())  # an answer may have replaced it
            if steps == 0:
                return
            for _ in range(steps if attempt < 3 else 1):
                self.page.keyboard.press("Tab")
        raise AssertionError(f"the keyboard does not get to {what}")

    def send(self, what: object, key: str = "Enter") -> None:
        """Without a mouse: send a form or follow a link, and wait until what it began has ended."""
        self.reach(what)
        with self.page.expect_navigation():
            self.page.keyboard.press(key)
        self.wait()

    def choose(self, column: str, role: str) -> None:
        """Without a mouse: give a column a role; the focus stays in its row."""
        field = self.page.locator(f'[id="role-{column}"]')
        self.reach(field)
        before = self.page.evaluate("scrollY")
        with self.page.expect_response(lambda answer: answer.request.method == "GET" and answer.ok):
            field.select_option(role)
        self.page.wait_for_function("column => document.activeElement.id === 'role-' + column", arg=column)
        assert abs(self.page.evaluate("scrollY") - before) < 2
        self.wait()

    def write(self, what: object, text: str) -> None:
        self.reach(what)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def picture(self, name: str) -> None:
        if folder := os.environ.get("SFUMATO_PICTURES"):
            width, height = self.page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
            top = {"x": 0, "y": 0, "width": width, "height": min(height, 1100)}
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True, clip=top)

    def close(self) -> None:
        self.context.close()
        assert self.errors == []


_STOPS = """wanted => {
  const stops = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((each) => !each.disabled && each.type !== 'hidden' && each.checkVisibility() && each.tabIndex >= 0);
  const here = stops.indexOf(document.activeElement), there = stops.indexOf(wanted);
  if (document.activeElement === wanted) return 0;
  return there > here ? there - here : stops.length - here + there || 1;
}"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    fill(tmp_path, 80)
    with serving(tmp_path) as (_, port):
        yield tmp_path, port


def test_the_story_of_a_steward_by_keyboard_alone(browser: object, project: tuple[Path, int]) -> None:
    """From an unknown table to a second release that is judged with the first; the mouse is never touched."""
    folder, port = project
    (folder / "people.yaml").unlink()
    visitor = Visitor(browser, port)
    page = visitor.page
    visitor.send(page.get_by_role("link", name="Read it").first)
    visitor.picture("read")
    visitor.send(page.get_by_role("button", name="Next"))
    page.wait_for_url("**/risk")
    visitor.wait()
    visitor.picture("risk")
    visitor.send(page.get_by_role("link", name="Next"))
    for column, role in (("illness", "sensitive"), ("town", "quasi-identifier")):
        visitor.choose(column, role)
    visitor.picture("data")
    visitor.send(page.get_by_role("link", name="4 Coarsen"))
    visitor.send(page.get_by_role("navigation", name="Quasi-identifiers").get_by_role("link", name="age"))
    visitor.use(page.get_by_text("Another way"))
    visitor.write(page.get_by_label("Intervals of"), "10, 20")
    visitor.send(page.get_by_role("button", name="Use intervals"))
    visitor.use(page.get_by_text("Another way"))
    visitor.use(page.locator(".tree input[type=checkbox]").first, "Space")
    visitor.send(page.get_by_role("button", name="Never generalize above"))
    assert "boundary" in (folder / "people.yaml").read_text()
    visitor.picture("hierarchies")
    visitor.use(page.locator(".tree input[type=checkbox]:checked").first, "Space")
    visitor.send(page.get_by_role("button", name="Never generalize above"))
    visitor.send(page.get_by_role("link", name="3 Promise"))
    visitor.use(page.get_by_text("Promise something else"))
    visitor.use(page.get_by_role("group", name="must not learn").get_by_label("illness"), "Space")
    visitor.write(page.get_by_label("candidates", exact=True), "4")
    visitor.write(page.get_by_label("different values", exact=True), "")  # the draft asks for two already
    visitor.send(page.get_by_role("button", name="Promise this", exact=True))
    assert page.get_by_text("must be left with at least 4 candidates").first.is_visible()
    visitor.picture("promises")
    visitor.send(page.get_by_role("link", name="5 Compare"))
    visitor.write(page.get_by_label("Levels"), "k=3")
    visitor.write(page.get_by_label("Seconds", exact=True), "3")
    visitor.send(page.get_by_role("button", name="Explore"))
    assert page.locator("svg [data-point]").count() >= 1
    visitor.send(page.get_by_role("link", name="3 Promise"))
    visitor.use(page.get_by_text("What these clicks wrote"))
    kept = "version: 1\ndata: {kind: table, source: people.csv}\nkey: name\ncolumns:\n  name: identifier\n"
    kept += (
        "  age: {role: quasi-identifier, hierarchy: {intervals: [10, 20]}}\n  town: quasi-identifier\n  illness:"
        " sensitive\n"
    )
    visitor.write(
        page.get_by_label("The policy as YAML"),
        kept + "protect:\n  - k-linkability: {k: 2}\nmethod: {sequential: {}}\n",
    )
    page.get_by_text("Method sequential").wait_for()  # nobody pressed Save
    assert "k-linkability" in (folder / "people.yaml").read_text()
    for number in (1, 2):
        visitor.go("/p/people.yaml/publish")
        visitor.write(page.get_by_label("Release folder"), f"quarter-{number}")
        if not page.get_by_label("Ledger", exact=True).is_visible():
            visitor.use(page.get_by_text("Ledger, signature"))
        visitor.write(page.get_by_label("Ledger", exact=True), "book.ledger")
        visitor.reach(page.get_by_role("button", name="Publish", exact=True))
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/r/quarter-{number}/certificate", timeout=120_000)
        visitor.wait()
        assert page.get_by_role("heading", name=f"quarter-{number}", exact=True).is_visible()
    visitor.send(page.get_by_role("button", name="Play the attacks"))
    assert page.get_by_role("region", name="Attacks played").or_(page.get_by_text("Not played")).first.is_visible()
    visitor.picture("certificate")
    visitor.send(page.get_by_role("button", name="Verify it"))
    assert page.get_by_role("heading", name="quarter-2").is_visible()
    assert page.locator(".findings .no").count() == 0
    visitor.picture("verify")
    visitor.go("/p/people.yaml/publish?ledger=book.ledger")
    assert page.locator(".timeline li").count() == 2
    assert page.get_by_role("heading", name="Levels after each release").is_visible()
    visitor.picture("publish")
    visitor.close()


def test_the_frontier_is_explored_and_a_point_is_chosen(browser: object, project: tuple[Path, int]) -> None:
    folder, port = project
    visitor = Visitor(browser, port)
    visitor.go("/p/people.yaml/explore")
    visitor.page.get_by_label("Levels").fill("k=2,4")
    visitor.page.get_by_label("Seconds", exact=True).fill("3")
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("button", name="Explore").click()
    visitor.page.reload()  # in the middle of the run
    visitor.wait()
    assert visitor.page.locator("section.picture svg").count() >= 1
    visitor.page.locator("svg [data-point]").nth(0).click()  # a point of the picture marks its row
    boxes = visitor.page.locator("[data-compare]")
    assert boxes.nth(0).is_checked() or visitor.page.locator("[data-compare]:checked").count() == 1
    visitor.page.locator("[data-compare]:not(:checked)").first.check()
    visitor.press(visitor.page.get_by_role("button", name="Compare the marked"))
    assert visitor.page.get_by_role("heading", name="Side by side").is_visible()
    assert visitor.page.get_by_role("region", name="Candidates side by side").get_by_text("smallest class").is_visible()
    visitor.page.get_by_label("Column").select_option("age")
    visitor.page.get_by_label("Seconds for the question").fill("3")
    visitor.press(visitor.page.get_by_role("button", name="Ask"))
    assert visitor.page.get_by_text("What limits it:").is_visible()
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
    unfold(page)
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
    assert (
        "stands twice" in page.locator("#builder-problem").inner_text() and page.locator("#drawn .twice").count() == 2
    )
    page.get_by_label("Name", exact=True).fill("Coast")
    page.get_by_role("button", name="Rename").press("Enter")
    visitor.picture("tree")
    with page.expect_navigation():
        page.get_by_role("button", name="Use this tree").press("Enter")
    visitor.wait()
    tree = parse_yaml((folder / "people.yaml").read_text(), name="p").tree["columns"]["town"]["hierarchy"]
    assert tree == {"*": [{"South": [{"Coast": ["Ulm", "Kiel"]}, "Bonn"]}]}
    visitor.go("/p/people.yaml/hierarchies?column=age")
    unfold(page)
    page.locator("#cuts").scroll_into_view_if_needed()
    box = page.locator("#cuts").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + 60)
    page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + 60)
    assert page.locator("#cuts .cut").count() == 2
    before = page.get_by_role("textbox", name="Points").input_value()
    keys.press("ArrowRight")  # the line that was made last has the focus
    first, second, third, last = (
        int(part) for part in page.get_by_role("textbox", name="Points").input_value().split(", ")
    )
    assert third == int(before.split(", ")[2]) + 1
    grip = page.locator("#cuts .cut").first.locator(".grip").bounding_box()
    page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 60, steps=5)
    page.mouse.up()
    moved = [int(part) for part in page.get_by_role("textbox", name="Points").input_value().split(", ")]
    assert moved[1] < second and moved[2] == third and page.locator("#cuts .cut").count() == 2
    page.get_by_role("button", name="Add a cut").press("Enter")
    keys.press("Delete")
    assert page.locator("#cuts .cut").count() == 2
    visitor.picture("cuts")
    visitor.press(page.get_by_role("button", name="Use these cuts"))
    cuts = parse_yaml((folder / "people.yaml").read_text(), name="p").tree["columns"]["age"]["hierarchy"]["cuts"]
    assert cuts == [str(point) for point in (first, *moved[1:3], last)]
    unfold(page)
    page.get_by_label("Top, from").fill("60")
    page.get_by_label("Round to").fill("5")
    visitor.press(page.get_by_role("button", name="Use these codes"))
    assert (
        page.locator(".tree span", has_text="≥60").is_visible() and page.get_by_label("Round to").input_value() == "5"
    )
    visitor.picture("coding")
    visitor.go("/p/people.yaml/hierarchies?column=town")
    unfold(page)
    page.locator("#ordering .node", has_text="Ulm").press("Enter")
    for _ in range(2):
        page.get_by_role("button", name="Up", exact=True).press("Enter")
    visitor.press(page.get_by_role("button", name="Use this order"))
    assert (
        parse_yaml((folder / "people.yaml").read_text(), name="p").tree["columns"]["town"]["hierarchy"]["order"][0]
        == "Ulm"
    )
    towns = {
        "name": "towns.csv",
        "mimeType": "text/csv",
        "buffer": b"Ulm;South;*\nBonn;West;*\nKiel;North;*\nUlm;North;*\n",
    }
    with page.expect_navigation():
        page.locator("#pick").set_input_files(towns)
    visitor.wait()
    assert page.get_by_text("two parents").first.is_visible() and page.locator(".lines li").count() >= 2
    visitor.picture("broken")
    visitor.close()


def unfold(page: object) -> None:
    """Show the other ways to make a hierarchy."""
    if not page.locator("#other-ways").evaluate("each => each.open"):
        page.get_by_text("Another way").click()


def choose(page: object, label: str) -> None:
    """An entry of the drawn tree, by keyboard."""
    page.locator("#drawn").get_by_role("button", name=label, exact=True).press("Enter")


def test_a_release_is_cancelled(browser: object, tmp_path: Path) -> None:
    fill_at_length(tmp_path)
    with serving(tmp_path) as (opened, port):
        visitor = Visitor(browser, port)
        visitor.page.goto(f"http://127.0.0.1:{port}/p/people.yaml/publish")
        before = {path.name for path in tmp_path.iterdir()} | {".studio"}
        visitor.page.get_by_role("button", name="Publish", exact=True).click()
        visitor.page.get_by_role("button", name="Cancel").click()
        visitor.page.get_by_text("Nothing was published").wait_for()
        assert {path.name for path in tmp_path.iterdir()} <= before
        assert all(
            job.state == "cancelled" or not job.process.is_alive()
            for job in opened.desk.jobs.values()
            if job.title == "publishing"
        )
        visitor.close()


def test_both_sides_of_promises_stay_in_step(browser: object, project: tuple[Path, int]) -> None:
    """What is typed is saved and shown as sentences; what breaks is marked at its line, and nothing is saved."""
    folder, port = project
    visitor = Visitor(browser, port)
    page = visitor.page
    visitor.go("/p/people.yaml/promises")
    text = page.get_by_label("The policy as YAML")
    page.get_by_text("What these clicks wrote").click()
    text.fill(POLICY.replace("k: 3", "k: 7"))
    page.get_by_text("must be left with at least 7 candidates").first.wait_for()
    assert page.get_by_label("The policy as YAML").input_value() == POLICY.replace(
        "k: 3", "k: 7"
    )  # the cursor's field is not touched
    text.fill(POLICY.replace("k-anonymity", "k-anonimity"))
    page.locator("#gutter .wrong").wait_for()
    assert page.locator("#gutter .wrong").inner_text() == "9"
    text.fill(POLICY + "keep: [")
    page.get_by_text("not valid YAML").wait_for()
    assert "k-anonimity" in (folder / "people.yaml").read_text()
    visitor.errors.clear()  # the browser notes the answer 422
    text.fill(POLICY)
    page.get_by_text("Method mondrian").wait_for()
    page.get_by_text("Promise something else").click()
    page.get_by_role("group", name="knows").get_by_label("age").check()
    page.get_by_role("group", name="must not learn").get_by_label("illness").check()
    assert page.locator("#claim-lines path").count() == 1  # the rule that would be drawn
    visitor.press(page.get_by_role("button", name="Draw this rule"))
    assert (
        "age -> illness : 2-diversity" in (folder / "people.yaml").read_text()
        and page.locator("#claim-lines path").count() == 1
    )
    assert "age -> illness : 2-diversity" in text.input_value()
    page.get_by_role("link", name="line 10").first.click()
    assert page.evaluate("document.activeElement.id") == "yaml"
    visitor.close()


def test_the_story_of_a_tester(browser: object, gallery: tuple[Path, int]) -> None:
    """A database: the map of its tables, a column that is marked, a rule switched on, rows old and new, the load with
    its audit."""
    folder, port = gallery
    visitor = Visitor(browser, port)
    page = visitor.page
    visitor.go("/p/shop.yaml/data")
    assert page.locator("svg.map").is_visible() and page.get_by_role("heading", name="customer").is_visible()
    with page.expect_response(lambda answer: answer.request.method == "GET" and answer.ok):
        page.locator('[id="role-customer.town"]').select_option("other")
    visitor.wait()
    assert "customer.town: other" in (folder / "shop.yaml").read_text()
    visitor.go("/p/shop.yaml/promises")
    visitor.press(page.get_by_role("switch", name="off unique(customer.name)"))
    assert '\n  - "unique(customer.name)"' in (folder / "shop.yaml").read_text()
    visitor.press(page.get_by_role("button", name="Look for rules"))
    assert page.locator(".found li").count() >= 1
    visitor.picture("rules")
    visitor.go("/p/shop.yaml/publish")
    visitor.press(page.get_by_role("button", name="Show before and after"))
    assert page.locator("del").count() == 5
    page.get_by_role("button", name="Publish and load").click()
    page.wait_for_url("**/certificate", timeout=120_000)
    visitor.go("/p/shop.yaml/publish")
    assert page.get_by_role("heading", name="Target").is_visible()
    visitor.picture("load")
    with sqlite3.connect(folder / "test.sqlite") as base:
        names = [name for (name,) in base.execute("SELECT name FROM customer")]
    assert len(set(names)) == 39 and not any(name.startswith("Customer") for name in names)
    visitor.close()


def test_a_graph_and_baskets(browser: object, gallery: tuple[Path, int]) -> None:
    folder, port = gallery
    visitor = Visitor(browser, port)
    page = visitor.page
    visitor.go("/p/ties.yaml/explore")
    visitor.press(page.get_by_role("button", name="Use μ = 0.1"))
    assert "mu: 0.1" in (folder / "ties.yaml").read_text()
    visitor.go("/p/buys.yaml/explore")
    page.get_by_label("Levels").fill("k=2,4")
    page.get_by_label("Seconds", exact=True).fill("4")
    visitor.press(page.get_by_role("button", name="Explore"))
    assert page.get_by_role("heading", name="Query error").is_visible()
    visitor.picture("error-against-k")
    for name in ("ties", "buys"):
        visitor.go(f"/p/{name}.yaml/publish")
        page.get_by_role("button", name="Publish", exact=True).click()
        page.wait_for_url(f"**/r/{name}-release-1/certificate", timeout=120_000)
        visitor.wait()
    visitor.go("/r/ties-release-1/certificate")
    assert page.get_by_role("region", name="Recovered figures").is_visible()
    visitor.picture("recovered")
    visitor.close()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """One project with every kind of data, a release and a ledger in it, for tests that leave each other alone."""
    folder = tmp_path_factory.mktemp("gallery")
    fill(folder, 80)
    remembered = edited(edited(POLICY, ("key",), "name"), ("protect", 0), {"k-linkability": {"k": 2}})
    (folder / "series.yaml").write_text(edited(remembered, ("method",), {"sequential": {}}))
    sf.publish(folder / "series.yaml", ledger=folder / "book.ledger", new_ledger=True).write(folder / "first")
    rng = random.Random(5)
    pairs = {tuple(sorted(rng.sample(range(60), 2))) for _ in range(150)}
    (folder / "ties.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in sorted(pairs)))
    (folder / "ties.yaml").write_text("version: 1\ndata: {kind: graph, source: ties.csv}\nprotect: []\n")
    items = ["tea", "rice", "soap", "salt"]
    (folder / "buys.dat").write_text(
        "\n".join(" ".join(rng.sample(items, rng.randint(1, 3))) for _ in range(40)) + "\n"
    )
    (folder / "buys.yaml").write_text(
        "version: 1\ndata: {kind: baskets, source: buys.dat}\nprotect:\n  - k-anonymity: {k: 4}\n"
    )
    shop(folder)
    with serving(folder) as (_, port):
        yield folder, port


def shop(folder: Path) -> None:
    """Customers and their orders, with rules that wait in comments."""
    with sqlite3.connect(folder / "shop.sqlite") as base:
        base.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT)")
        base.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id), total INTEGER)"
        )
        base.executemany(
            "INSERT INTO customer VALUES (?, ?, ?)", [(at, f"Customer {at}", "Ulm") for at in range(1, 40)]
        )
        base.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(at, at % 39 + 1, 10 + at) for at in range(1, 60)])
    text = (
        f"version: 1\ndata: {{kind: database, source: 'sqlite:///{folder}/shop.sqlite', target:"
        f" 'sqlite:///{folder}/test.sqlite'}}\n"
    )
    text += "columns:\n  customer.name: {role: replaced, domain: {pattern: '[A-Z][a-z]{5,9}'}}\n"
    text += (
        'keep:  # rules that hold\n  - "unique(customer.id)"  # declared\n#  - "unique(customer.name)"  # found, 39'
        " rows\n"
    )
    (folder / "shop.yaml").write_text(text)


PAGES = (
    "/project",
    "/start?file=people.csv",
    "/p/people.yaml/read",
    "/p/people.yaml/risk",
    "/verify",
    "/p/people.yaml/data",
    "/p/people.yaml/hierarchies?column=age",
    "/p/people.yaml/promises",
    "/p/people.yaml/explore",
    "/p/series.yaml/publish?ledger=book.ledger",
    "/r/first/certificate",
    "/p/shop.yaml/data",
    "/p/shop.yaml/promises",
    "/p/ties.yaml/explore",
    "/p/buys.yaml/data",
)


def test_every_page_is_accessible_in_light_and_dark_wide_and_narrow(browser: object, gallery: tuple[Path, int]) -> None:
    """Every page is opened once: all that tells light from dark are rules of its style sheet."""
    _, port = gallery
    visitor = Visitor(browser, port, color_scheme="light")
    for path in PAGES:
        visitor.go(path)
        name = path.strip("/").replace("/", "-").split("?")[0]
        for scheme in ("light", "dark"):
            visitor.page.emulate_media(color_scheme=scheme)
            visitor.picture(f"{scheme}-{name}")
            serious = visitor.page.evaluate(_AXE_RUN, [AXE.read_text(), scheme == "dark"])
            assert serious == [], (path, scheme)
        visitor.page.emulate_media(color_scheme="light")
        visitor.page.set_viewport_size({"width": 400, "height": 800})
        wide = visitor.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400, f"{path} is {wide} wide in a narrow window"
        visitor.picture(f"narrow-{name}")
        visitor.page.set_viewport_size({"width": 1180, "height": 860})
    visitor.close()


_AXE_RUN = """async ([source, colours]) => {
  if (!window.axe) { (0, Function)(source)(); }
  const only = colours ? {runOnly: ['color-contrast']} : {};
  const found = await window.axe.run(document, {resultTypes: ['violations'], ...only});
  const grave = found.violations.filter(v => ['serious', 'critical'].includes(v.impact));
  return grave.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | '));
}"""
