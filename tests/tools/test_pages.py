"""README and docs tell what the records and the shipped weights say."""

from __future__ import annotations

from tools import pages


def test_the_pages_tell_the_records() -> None:
    """Word for word, as `make results` writes them."""
    for path, text in pages.render().items():
        assert path.read_text(encoding="utf-8") == text, "run `make results`"
