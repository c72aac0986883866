"""The documentation as a whole: links, anchors, reachability, sizes and prose."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

import sfumato
from reference_pages import DOCS, PAGES
from reference_pages.folder_pages import FINDING, KEYS, MANIFEST, folder_example
from sfumato.core.registry import catalogue
from sfumato.data.linkage import Linkage
from sfumato.models.base import Model
from sfumato.models.neighbourhood_attack import EdgeChannel, PublishedChannel
from tests.pages.page_runner import ROOT

PROSE = ROOT.parent / "shared" / "tools" / "prose"
WRITTEN = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *sorted(DOCS.rglob("*.md"))]


class _Loader(yaml.SafeLoader):
    """A reader of mkdocs.yml, whose tags mean nothing here."""


_Loader.add_multi_constructor("", lambda loader, suffix, node: None)


@cache
def site() -> dict[str, object]:
    tree: dict[str, object] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Loader)
    return tree


def named(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for part in nav.values():
            yield from named(part)
    elif isinstance(nav, list):
        for part in nav:
            yield from named(part)


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Strict: no broken link, no missing anchor, no page outside the navigation."""
    pytest.importorskip("mkdocs", reason="the site needs mkdocs")
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    page = (tmp_path / "site" / "how-to" / "effort.html").read_text(encoding="utf-8")
    for selector in re.findall(r"\.(language-\w+)", (DOCS / "site.css").read_text(encoding="utf-8")):
        assert f'class="{selector} highlight"' in page  # or the style of shown output is without effect


def test_every_page_is_in_the_navigation() -> None:
    assert set(named(site()["nav"])) == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def links(page: Path) -> set[Path]:
    targets = re.findall(r"\]\(([^)#:\s]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets}


def test_every_page_is_two_clicks_from_the_home_page() -> None:
    first = links(DOCS / "index.md")
    second = {target for page in first if page.is_file() for target in links(page)}
    far = {page.resolve() for page in DOCS.rglob("*.md")} - first - second - {(DOCS / "index.md").resolve()}
    assert sorted(page.name for page in far) == []


def test_links_of_files_outside_the_site_lead_somewhere() -> None:
    lost = []
    for page in (*WRITTEN, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                lost.append(f"{page.name}: {target}")
    assert lost == []


def test_sizes() -> None:
    """Generated pages are no prose, nor is shown output.

    Nobody writes or edits the output: `page_runner --update` takes it from the commands, and it grows with what they
    say (14.6 KB in November 2026, half of it in the first tutorial). Readers skim it; what they read is counted.
    """
    written = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).as_posix() not in PAGES]
    shown = re.compile(r"^<!-- (?:random )?output[^\n]*-->\n```text\n.*?^```$", re.DOTALL | re.MULTILINE)
    prose = sum(len(shown.sub("", page.read_text(encoding="utf-8")).encode()) for page in written)
    assert prose <= 180_000
    assert (DOCS / "explanation" / "limits.md").stat().st_size <= 15_000
    assert (ROOT / "benchmarks" / "README.md").stat().st_size <= 12_000
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    newest = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    assert len(newest.encode()) <= 10_000
    assert len(newest.splitlines()) <= 120


def test_the_prose_is_plain() -> None:
    if not PROSE.exists():
        pytest.skip("the prose count is not beside this repository (../shared/tools/prose)")
    places = ("README.md", "docs", "CHANGELOG.md", "benchmarks/README.md")
    done = subprocess.run([sys.executable, str(PROSE), *places], cwd=ROOT, capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=6) for line in done.stdout.splitlines()[1:]]
    figures = {row[5]: (float(row[1]), float(row[2].rstrip("%")), float(row[4])) for row in rows}
    mean, long, coined = figures.pop("ALL")
    assert (mean <= 15, long <= 10, coined <= 0.2) == (True, True, True), (mean, long, coined)
    assert {page: figure for page, figure in figures.items() if figure[0] > 18 or figure[1] > 18} == {}


def test_every_key_of_a_folder_is_described() -> None:
    certificate, manifest = folder_example()
    assert set(certificate) <= set(KEYS)
    assert {key for finding in certificate["findings"] for key in finding} <= set(FINDING)
    assert set(manifest) <= set(MANIFEST)


def test_every_public_name_has_an_example() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in sfumato.__all__ if f"[`{name}`]" not in page] == []
    plain = [name for name in sfumato.__all__ if ">>>" not in (getattr(sfumato, name).__doc__ or "")]
    assert plain == []


def test_messages_name_pages_that_exist() -> None:
    lost = [
        (path.name, page)
        for path in (ROOT / "src").rglob("*.py")
        for page in re.findall(r"docs/[a-z_/-]+\.md", path.read_text(encoding="utf-8"))
        if not (ROOT / page).is_file()
    ]
    assert lost == []


def tables(page: Path) -> list[dict[str, list[str]]]:
    """The Markdown tables of a page as columns."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        found.append({name: [row[i] for row in rows if len(row) == len(head)] for i, name in enumerate(head)})
    return found


def test_the_worked_tables_of_other_models_have_the_levels_that_the_page_states() -> None:
    page = DOCS / "explanation" / "models.md"
    text, found = page.read_text(encoding="utf-8"), {tuple(table): table for table in tables(page)}
    shares = found["class", "flu", "gout"]
    counts = np.array([shares["flu"], shares["gout"]], dtype=int).T
    group, value = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    linkage = Linkage.of_groups(group, {"illness": (value, ("flu", "gout"))})
    beta, delta = (
        catalogue("models", Model)[name](**{key: 1}).achieved(linkage)[key]
        for name, key in (("beta-likeness", "beta"), ("delta-disclosure", "delta"))
    )
    assert f"β = {beta:.3f}." in text
    assert f"= {delta:.3f}." in text
    risk = catalogue("models", Model)["average-risk"](risk=1)
    for classes, average in zip(*(found[RISKS][name] for name in ("classes", "average risk")), strict=True):
        sizes = [int(size) for size in classes.split(" and ")]
        linkage = Linkage.of_groups(np.repeat(np.arange(len(sizes)), sizes), {})
        assert risk.achieved(linkage)["risk"] == pytest.approx(float(Fraction(average)), abs=1e-5)
    told = found["recognized people", "probability at most"]
    channel = PublishedChannel(EdgeChannel.symmetric(0.27), 100)
    for known, success in list(zip(*told.values(), strict=True))[1:]:
        model = catalogue("models", Model)["neighbourhood"](known=int(known), success_at_most=0.99)
        assert f"{model.achieved(channel)['success_at_most']:.2f}" == success
    planted = found["planted accounts", "along a path at most", "by all edges at most"]
    for number, *bounds in zip(*planted.values(), strict=True):
        model = catalogue("models", Model)["structural-attack"](planted=int(number), success_at_most=0.99)
        assert [f"{bound:.2f}" for bound in model.bounds(EdgeChannel.symmetric(0.27), 100).values()] == bounds
    graphs = found["graph of four people", "numbers of ties", "k"]
    for ties, k in zip(graphs["numbers of ties"], graphs["k"], strict=True):
        assert min(ties.split(", ").count(tie) for tie in ties.split(", ")) == int(k)
    releases = found["release", "values in Ben's class"]["values in Ben's class"]
    *single, both = ({*values.split(", ")} for values in releases)
    assert single[0] & single[1] == both


RISKS = ("classes", "largest risk", "average risk", "expected gain of an attack on the smallest class")


def test_the_worked_tables_have_the_levels_that_the_page_states() -> None:
    releases = [
        table for table in tables(DOCS / "explanation" / "models.md") if list(table) == ["age", "city", "illness"]
    ]
    found = [sfumato.check(table, qi=["age", "city"], sensitive=["illness"]) for table in releases]
    assert [(one.k, one.sensitive[0].l_distinct, round(one.sensitive[0].t, 6)) for one in found] == [
        (3, 1, 0.5),
        (6, 3, 0.0),
    ]
    (baskets,) = (
        table["items"] for table in tables(DOCS / "explanation" / "models.md") if list(table) == ["basket", "items"]
    )
    sets = [set(items.split(", ")) for items in baskets]
    items = sorted(set().union(*sets))
    pairs = [{a, b} for i, a in enumerate(items) for b in items[i + 1 :]]
    assert min(sum(item in one for one in sets) for item in items) == 2
    assert min(sum(pair <= one for one in sets) for pair in pairs if any(pair <= one for one in sets)) == 1
