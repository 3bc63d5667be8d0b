"""README and docs tell what the records and the shipped weights say."""

from __future__ import annotations

from tools import pages


def test_the_pages_tell_the_records() -> None:
    """Word for word, as `make results` writes them."""
    for path, text in pages.render().items():
        assert path.read_text(encoding="utf-8") == text, "run `make results`"


def test_commands_name_the_images_that_a_table_was_run_on() -> None:
    """Without data= the tables of ImageNet are judged by runs on ImageNet, of which there are none."""
    told = (pages.PAPER / "results.md").read_text(encoding="utf-8")
    for command in ("table-2 data=tiny-imagenet", "fig-4 data=tiny-imagenet", "table-6", "shortcuts"):
        assert f"`reslab reproduce {command} --from results`" in told
