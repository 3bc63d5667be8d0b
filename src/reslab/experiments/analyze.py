"""Instruments on trained networks: each turns a subject into plain data, kept in the run's `analysis/`.

A new instrument is an entry of `INSTRUMENTS`; what it found is measured once and then read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reslab.analysis.responses import measure_responses, which_layers
from reslab.data.dataset import Dataset
from reslab.experiments.trained import choose_inputs, load_run
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import DEAF, Listener
from reslab.tasks.subject import Subject

# Small enough for the activations of a layer to stay in a processor's cache.
BATCH = 100


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """`measure` takes a subject, who listens, and the `settings`, which are stored with what it returns.

    It also returns on how many `images`, and how many were skipped.
    """

    measure: Callable[..., dict[str, Any]]
    settings: Mapping[str, float | int]


def _responses(subject: Subject, listener: Listener, *, confidence: float, resamples: int) -> dict[str, Any]:
    done = 0

    def images():
        nonlocal done
        for batch, _ in subject.batches(BATCH):
            yield batch
            done += len(batch)
            listener.progress(done, {})

    layers = measure_responses(subject.network, images(), confidence=confidence, resamples=resamples)
    found = {"counted": which_layers(subject.network.spec), "layers": [asdict(layer) for layer in layers]}
    return {"images": done, "skipped_images": len(subject) - done} | found


INSTRUMENTS = {
    "responses": Instrument(measure=_responses, settings={"confidence": 0.95, "resamples": 1000}),
}


def analyze(
    subject: Subject, instrument: str, *, run: RunDirectory | None = None, listener: Listener = DEAF
) -> dict[str, Any]:
    """Point an instrument at a subject; return what it found, on how many images and with which settings.

    What is found out about a `run` on all of its own data is kept in its `analysis/`, and not measured again.
    """
    tool, keeper = INSTRUMENTS[instrument], run if subject.own else None
    kept = keeper.kept(instrument) if keeper else {}
    if subject.covered_by(kept) and tool.settings.items() <= kept.items():
        return kept
    measured = tool.measure(subject, listener, **tool.settings)
    counts = {name: measured.pop(name) for name in ("images", "skipped_images")}
    found = {"data": subject.data, **counts, **tool.settings, **measured}
    if keeper:
        keeper.keep(instrument, found)
    return found


def responses_of(run: RunDirectory, dataset: Dataset, *, device: str = "cpu") -> dict[str, Any]:
    """Return the layer responses of a run over its whole test set, measured now if they were not before."""
    trained = load_run(run)
    return analyze(choose_inputs(trained, dataset, device=device), "responses", run=run)
