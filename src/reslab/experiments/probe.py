"""Frozen features of a trained network, and how much of a task they know."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reslab.delivery.embedding import Embedding, embed, main_layers, refuse_no_layer
from reslab.delivery.intake import Intake, make_intake, refuse_detector
from reslab.delivery.pictures import LabelledData, Picture
from reslab.delivery.probing import Probe, probe
from reslab.experiments.trained import Trained, choose_preprocess
from reslab.runtime.execution import Execution
from reslab.runtime.listener import DEAF, Listener


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """A trained network on a device, ready to give features."""

    trained: Trained
    intake: Intake

    def embed(
        self,
        pictures: Iterable[Picture],
        layers: Sequence[str],
        *,
        class_names: tuple[str, ...] | None = None,
        listener: Listener = DEAF,
    ) -> list[Embedding]:
        """Return the features of pictures at layers."""
        network = self.trained.network
        for layer in layers:
            refuse_no_layer(network, layer)
        return embed(network, self.intake, pictures, layers=layers, class_names=class_names, listener=listener)


def open_extractor(trained: Trained, preprocess: Mapping[str, Any], *, device: str = "cpu") -> Extractor:
    """Put a trained network on `device`, with fields of its preprocessing overridden."""
    refuse_detector(trained.network)
    execution = Execution(channels_last=trained.channels_last)
    execution.prepare_network(trained.network.to(device))
    chosen = choose_preprocess(trained, preprocess)
    intake = make_intake(trained.network, preprocess=chosen, execution=execution, device=device)
    return Extractor(trained=trained, intake=intake)


def probe_layers(
    extractor: Extractor, data: LabelledData, *, layer: str | None = None, seed: int = 0, listener: Listener = DEAF
) -> dict[str, Probe]:
    """Probe one layer, or the stem and every stage: learn on the training images, test on the test images."""
    layers = [layer] if layer else main_layers(extractor.trained.network)
    train = extractor.embed(data.train, layers, listener=listener)
    moved = listener.moved_by(lambda done, metrics: listener.progress(len(data.train) + done, metrics))
    test = extractor.embed(data.test, layers, listener=moved)
    found = {}
    for learned, tested in zip(train, test, strict=True):
        assert learned.labels is not None and tested.labels is not None
        found[learned.layer] = probe(
            learned.features, learned.labels, test=tested.features, test_labels=tested.labels, seed=seed
        )
    return found
