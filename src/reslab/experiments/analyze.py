"""Instruments on trained networks: each turns a network and images into plain data, kept in the run's `analysis/`.

A new instrument is an entry of `INSTRUMENTS`; what it found is measured once and then read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from reslab.analysis.responses import measure_responses, which_layers
from reslab.data.dataset import Dataset
from reslab.experiments.trained import Inputs, Trained, choose_inputs, load_run
from reslab.networks import Network
from reslab.runs.directory import RunDirectory

# Small enough for the activations of a layer to stay in a processor's cache.
BATCH = 100


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """`measure` takes a network, batches of images and the `settings`, which are stored with what it returns."""

    measure: Callable[..., dict[str, Any]]
    settings: Mapping[str, float | int]


def _responses(network: Network, batches: Iterable[Tensor], *, confidence: float, resamples: int) -> dict[str, Any]:
    layers = measure_responses(network, batches, confidence=confidence, resamples=resamples)
    return {"counted": which_layers(network.spec), "layers": [asdict(layer) for layer in layers]}


INSTRUMENTS = {
    "responses": Instrument(measure=_responses, settings={"confidence": 0.95, "resamples": 1000}),
}


def analyze(
    trained: Trained, inputs: Inputs, instrument: str, *, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Point an instrument at a network; return what it found, on how many images and with which settings.

    What is found out about a run on all of its own data is kept in its `analysis/`, and not measured again.
    """
    done = 0

    def batches() -> Iterator[Tensor]:
        nonlocal done
        for images, _ in inputs.batches(BATCH):
            yield images
            done += len(images)
            progress(done)

    tool, keeper = INSTRUMENTS[instrument], trained.run if inputs.own else None
    kept = keeper.kept(instrument) if keeper else {}
    if inputs.covered_by(kept) and tool.settings.items() <= kept.items():
        return kept
    measured = tool.measure(trained.network, batches(), **tool.settings)
    counts = {"images": done, "skipped_images": len(inputs) - done}
    found = {"data": inputs.data, **counts, **tool.settings, **measured}
    if keeper:
        keeper.keep(instrument, found)
    return found


def responses_of(run: RunDirectory, dataset: Dataset, *, device: str = "cpu") -> dict[str, Any]:
    """Return the layer responses of a run over its whole test set, measured now if they were not before."""
    trained = load_run(run)
    return analyze(trained, choose_inputs(trained, dataset, device=device), "responses")
