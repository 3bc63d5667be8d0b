"""The figures of the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import figures


def test_both_figures_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As README and docs/paper/results.md show them: lines of five residual networks, and the same bytes each time."""
    monkeypatch.setattr(figures, "REPOSITORY", tmp_path)
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    drawings = []
    for _ in range(2):
        figures.main()
        drawings.append([(tmp_path / "docs" / "pictures" / f"fig-{number}.svg").read_text() for number in (6, 7)])
    assert drawings[0] == drawings[1]
    for drawing in drawings[0]:
        assert drawing.startswith("<?xml")
        assert drawing.count('<g id="line2d_') > 5
