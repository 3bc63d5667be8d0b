"""Instruments pointed at trained networks; what one finds of a run is measured once, and kept in its `analysis/`."""

from typing import Any

from reslab.analysis.catalogue import find_instrument
from reslab.data.dataset import Dataset
from reslab.delivery.intake import refuse_detector
from reslab.experiments.trained import choose_inputs, load_run
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import DEAF, Listener
from reslab.tasks.subject import Subject


def analyze(
    subject: Subject, instrument: str, *, run: RunDirectory | None = None, listener: Listener = DEAF
) -> dict[str, Any]:
    """Point an instrument at a subject; return what it found, kept for a `run` if it is on all of its own data."""
    refuse_detector(subject.network)
    tool, keeper = find_instrument(instrument), run if subject.own else None
    kept = keeper.kept(instrument) if keeper else {}
    if subject.covered_by(kept) and tool.settings.items() <= kept.items():
        return kept
    measured = tool.measure(subject, listener, **tool.settings)
    counts = {name: measured.pop(name) for name in ("images", "skipped_images")}
    found = {"data": subject.data, **counts, **tool.settings, **measured}
    if keeper:
        keeper.keep(instrument, found)
    return found


def analyze_run(run: RunDirectory, dataset: Dataset, instrument: str, *, device: str = "cpu") -> dict[str, Any]:
    """Return what an instrument finds of a run over its whole test set, measured now if it was not before."""
    return analyze(choose_inputs(load_run(run), dataset, device=device), instrument, run=run)
