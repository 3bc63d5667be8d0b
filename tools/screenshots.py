"""Retake the pictures of the report in docs/pictures: `python -m tools.screenshots REPORT`, a folder with index.html.

For the pictures as committed: `reslab demo`, `reslab report`, then this. Needs playwright and Debian's chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Literal, TypeAlias

from playwright.sync_api import Browser, Page, sync_playwright

from tools import REPOSITORY

Scheme: TypeAlias = Literal["light", "dark"]
PICTURES = REPOSITORY / "docs" / "pictures"
DESK, TALL, PHONE = (1280, 1160), (1280, 1500), (390, 844)


def main(report: Path) -> None:
    """Take the index in light, its charts in dark, a run's page, and the index on a phone."""
    index = report.resolve() / "index.html"
    run = sorted((index.parent / "runs").glob("*56*.html"))[-1]
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium on the PATH; install it first: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        take(open_page(browser, index, DESK), "report-index")
        take(open_page(browser, index, DESK, scheme="dark"), "report-dark", section="#responses")
        take(open_page(browser, run, TALL), "report-run")
        take(open_page(browser, index, PHONE), "report-phone")
        browser.close()


def open_page(browser: Browser, path: Path, size: tuple[int, int], *, scheme: Scheme = "light") -> Page:
    """Open a page and wait for every chart."""
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme).new_page()
    page.goto(path.as_uri())
    for canvas in page.locator(".canvas").all():
        canvas.scroll_into_view_if_needed()
        canvas.locator(".main-svg").first.wait_for()
    return page


def take(page: Page, name: str, *, section: str = "body") -> None:
    """Write a page to docs/pictures as it looks from the top of a section on."""
    page.locator(section).evaluate("part => part.scrollIntoView({behavior: 'instant'})")
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path)
    print(f"wrote {path} ({path.stat().st_size / 1024:.0f} KiB)")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
