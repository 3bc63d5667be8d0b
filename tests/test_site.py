"""The documentation as a site: six groups that hold every page once, and lines that fit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NAV = tomllib.loads((REPOSITORY / "zensical.toml").read_text())["project"]["nav"]
CODE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
WIDEST_CODE = 108  # what docs/stylesheets/site.css leaves room for at 1280 pixels
WIDEST_PROSE = 130
FINDINGS = DOCS / "inside" / "log.md"  # which keeps its entries as they were written


def list_paths(entry: Any) -> Iterator[str]:
    """Yield the pages an entry of the navigation leads to."""
    if isinstance(entry, str):
        yield entry
    for inner in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from list_paths(inner)


def test_six_groups_hold_every_page_once() -> None:
    """A new page has its place, and no entry leads nowhere."""
    assert [name for group in NAV for name in group] == [
        "Start",
        "Tutorials",
        "How-to",
        "Reference",
        "The paper",
        "Inside",
    ]
    assert sorted(list_paths(NAV)) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_lines_fit(page: Path) -> None:
    """No code is cut off at desktop width, patches aside; no line of prose is longer than an editor shows."""
    text = page.read_text(encoding="utf-8")
    for kind, block in CODE.findall(text):
        wide = [line for line in block.splitlines() if len(line) > WIDEST_CODE]
        assert kind == "diff" or not wide, wide[0]
    if page != FINDINGS:
        prose = [line for line in CODE.sub("", text).splitlines() if not line.startswith(("|", "!["))]
        assert [line for line in prose if len(line) > WIDEST_PROSE] == []
