"""Laws drawn over the curves that they were fitted to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.convergence.test_fitting import make_log
from tests.analysis.convergence.test_measure import make_run

from reslab.analysis.convergence.laws import fit_law
from reslab.analysis.convergence.measure import INSTRUMENT
from reslab.analysis.convergence.panel import PANEL, POINTS
from reslab.analysis.convergence.phases import find_phases
from reslab.analysis.convergence.settings import Convergence
from reslab.analysis.workbench import Workbench
from reslab.spec.codec import encode
from reslab.tasks.display import Section

SETTINGS = Convergence(resamples=20)


def show(folder: Path, **settings: Any) -> tuple[Section, Section]:
    """What is shown of a made-up training."""
    run = make_run(folder, "cifar-plain-8", make_log())
    found = INSTRUMENT.measure(run, SETTINGS, Workbench(place=folder / "convergence"))
    with np.load(folder / "convergence.npz") as arrays:
        stored = {"data": "digits", "settings": encode(SETTINGS), **found, **settings}
        error, loss = PANEL.read(stored).sections(dict(arrays), key="convergence")
    return error, loss


def test_laws_lie_over_the_points_they_were_fitted_to(tmp_path: Path) -> None:
    """Both in each phase, as the fit itself has them, without what was left out; the worse one is dashed."""
    error, loss = show(tmp_path)
    (plot,) = loss.plots
    assert plot.kind == "profile" and plot.content["mode"] == "markers"
    assert plot.content["x"] == [1000 * n + 500 for n in range(48)]
    assert plot.content["y"] == pytest.approx([entry["train_loss"] for entry in make_log()], rel=1e-4)
    lines = plot.content["lines"]
    assert [(line["name"], line["dashed"], line["again"]) for line in lines] == [
        ("exponential", False, False), ("power", True, False), ("exponential", False, True), ("power", True, True),
    ]  # fmt: skip
    phases = find_phases(make_log(), least=8)
    for phase, line in zip([phases[0], phases[0], phases[1], phases[1]], lines, strict=True):
        times, values = phase.curve("train_loss", skip=SETTINGS.skip)
        at = np.array(line["x"]) - phase.start
        fit = fit_law(line["name"], times, values[None])
        assert len(at) == POINTS and at[0] == pytest.approx(SETTINGS.skip * times[-1]) and at[-1] == times[-1]
        assert line["y"] == pytest.approx(fit.values(at)[0], rel=1e-3)
    assert error.plots[0].content["words"].endswith("%") and error.plots[0].key != plot.key


def test_a_table_has_floors_and_rates_with_their_intervals(tmp_path: Path) -> None:
    """A row for each law in each phase; a rate that the curve does not tell is left out."""
    _, loss = show(tmp_path)
    assert [name for name, _ in loss.rows][1::2] == ["rate 0.1 from 0, power", "rate 0.01 from 32,000, power"]
    floor, rate, last = loss.rows[0][1]
    assert floor.value == pytest.approx(5, abs=0.3) and rate.value == pytest.approx(0.2, rel=0.05)
    assert "[" in floor.written and last.written.startswith("5.")


def test_without_points_the_laws_are_drawn_alone(tmp_path: Path) -> None:
    """As early versions stored them."""
    run = make_run(tmp_path, "cifar-plain-8", make_log())
    found = INSTRUMENT.measure(run, SETTINGS, Workbench())
    stored = {"data": "digits", "settings": encode(SETTINGS), **found}
    (error, _) = PANEL.read(stored).sections({}, key="convergence")
    assert error.plots[0].content["x"] == [] and len(error.plots[0].content["lines"]) == 4
