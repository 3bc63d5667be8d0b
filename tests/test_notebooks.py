"""The notebooks run from top to bottom, with few iterations, and were committed without what they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
LEFT_BY = {  # what a reader finds beside a notebook that ran
    "own-photographs": {"photos", "runs", "guesses.csv", "guesses.html", "shapes.onnx"},
    "degradation": {"runs"},
}


def read_cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells with code."""
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def test_every_notebook_is_known() -> None:
    """And none brings outputs along, which would change with every run."""
    assert {path.stem for path in NOTEBOOKS} == set(LEFT_BY)
    for path in NOTEBOOKS:
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in read_cells(path)), path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder of its own; every cell after the other, as a kernel would run them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOTEBOOK_ITERATIONS", "2")
    monkeypatch.setenv("NOTEBOOK_DEPTHS", "8 14")
    monkeypatch.delenv("RESLAB_RUNS", raising=False)
    mpl.use("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for number, cell in enumerate(read_cells(path)):
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
        assert plt.get_fignums(), "it draws nothing"
    finally:
        plt.close("all")
    assert {place.name for place in tmp_path.iterdir()} == LEFT_BY[path.stem]
    assert "%" in capsys.readouterr().out
