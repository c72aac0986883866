"""Take the pictures of the documentation from real pages (`python -m tests.pages.pictures`).

The studio's tests take its pictures: ``SFUMATO_PICTURES=docs/pictures python -m pytest tests/studio/test_stories.py``.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.pages.page_runner import ROOT, run_page

PICTURES = ROOT / "docs" / "pictures"
TUTORIALS = ROOT / "docs" / "tutorials"
WIDTH = 960


def main() -> None:
    """Run the tutorials in temporary folders and photograph what they leave behind."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        folder = Path(place)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": WIDTH, "height": 900}).new_page()
        run_page(TUTORIALS / "first-table.md", folder / "first")
        _shot(page, folder / "first" / "release" / "report.html", "report", 900)
        run_page(TUTORIALS / "quarters.md", folder / "quarters")
        _shot(page, folder / "quarters" / "release-q2.private.html", "timeline", 600, "All releases together")
        run_page(TUTORIALS / "test-database.md", folder / "database")
        _shot(page, folder / "database" / "shop-release" / "report.html", "database", 700)
        browser.close()


def _shot(page: Any, file: Path, name: str, height: int, heading: str = "") -> None:
    """Photograph the top of a page, or the part that begins with a heading."""
    page.goto(file.as_uri())
    top = 0.0
    if heading:
        box = page.locator(f"h2:has-text('{heading}'), h3:has-text('{heading}')").first.bounding_box()
        top = max(box["y"] - 20, 0) if box else 0.0
    clip = {"x": 0, "y": top, "width": WIDTH, "height": height}
    page.screenshot(path=PICTURES / f"{name}.png", clip=clip, full_page=True)


if __name__ == "__main__":
    main()
