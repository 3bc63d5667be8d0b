"""Trained networks, and the images to try them on: what evaluation and analysis start from.

Weights bring their preprocessing along, and a run's bring their data; whatever would compare guesses with labels that
mean something else (other classes, other channels, other data under the old name) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reslab.data.catalogue import LOADERS, find_trained, open_data
from reslab.data.dataset import Dataset, Split
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.skipping import BadImages
from reslab.data.stored import read_images
from reslab.delivery.intake import tell_misfit
from reslab.errors import UserError
from reslab.evaluation.crops import ProtocolName, Viewing
from reslab.experiments.seen import Seen, describe_overlap, read_seen
from reslab.experiments.tasks import refuse_misfit, refuse_other_classes
from reslab.networks import Network
from reslab.networks.create import restore_model
from reslab.networks.execution import Execution
from reslab.networks.finite import tell_not_finite
from reslab.runs.directory import RunDirectory
from reslab.runs.weights import refuse_other_weights
from reslab.spec import Preprocess
from reslab.spec.codec import override
from reslab.spec.trial import DataSpec, SplitName


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A network with its weights, in evaluation mode; `data` and `run` say where they come from, where known.

    `metrics` and `provenance` are what their file says of itself.
    """

    origin: str
    network: Network
    run: RunDirectory | None = None
    data: DataSpec | None = None
    channels_last: bool = True
    metrics: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network.origin = self.origin

    @property
    def seen(self) -> Seen:
        """What it was trained on, as far as its weights say."""
        return read_seen(self.provenance)

    @property
    def held_out_seed(self) -> int:
        """What drew the test images of a folder that has none of its own: others were trained on."""
        return self.data.held_out_seed if self.data else 0

    @property
    def skipped_bad(self) -> bool:
        """Whether its training went on past bad images."""
        return self.data is not None and self.data.on_bad_image == "skip"

    @property
    def of_photographs(self) -> bool:
        """Whether it was trained on a folder of photographs: what datasets by name have is never cropped for a test."""
        return self.data is not None and self.network.preprocess is not None and bool(self.network.preprocess.crop)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Labelled images, handed out in batches as they are stored, or as a network's preprocessing wants them.

    `own` is true for all the images a network's own training tested it on, prepared as then; `side` is that of the
    crops the network was made for; `bad` takes note of photographs that cannot be read.
    """

    own: bool
    data: str
    split: SplitName
    images: Split | PhotoSplit
    class_names: tuple[str, ...]
    brightest: int
    preprocess: Preprocess
    side: int
    mean_image: Tensor | None
    execution: Execution
    device: str
    bad: BadImages | None

    def __len__(self) -> int:
        return len(self.images)

    def covered_by(self, kept: Mapping[str, Any]) -> bool:
        """Whether what was kept of an analysis is about all of these images, those included that could not be read."""
        return kept.get("data") == self.data and kept.get("images", 0) + kept.get("skipped_images", 0) == len(self)

    def viewing(self, protocol: ProtocolName) -> Viewing:
        """Return how the network is shown the images by a protocol."""
        return Viewing(
            protocol=protocol,
            preprocess=self.preprocess,
            side=self.side,
            brightest=self.brightest,
            mean_image=self.mean_image,
        )

    def stored(self, size: int) -> Iterator[tuple[list[Tensor], Tensor]]:
        """Yield images as they are stored, tensors of one size each, and labels; every image once, in order."""
        for images, labels in read_images(self.images, size, bad=self.bad):
            yield [group.to(self.device) for group in images], labels.to(self.device)

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield prepared images and labels, every image once, in order."""
        viewing = self.viewing("1-crop")
        for images, labels in self.stored(size):
            yield self.execution.prepare(torch.cat([viewing.show(group)[0][:, 0] for group in images])), labels


def load_run(run: RunDirectory) -> Trained:
    """Load the network of a finished run, by weights that are its own."""
    if run.state != "finished":
        raise UserError(f"{run.path} is not finished: it has no weights yet; train it to its end first")
    if not run.weights.exists():
        raise UserError(f"{run.path} is a record without its weights; train it again, or give weights=FILE")
    trial = run.trial()
    network, read = restore_model(run.weights, overrides={})
    refuse_other_weights(run.weights, trial)
    return Trained(
        origin=run.path.name,
        network=network.eval(),
        run=run,
        data=trial.data,
        channels_last=trial.recipe.channels_last,
        metrics=read.metrics,
        provenance=read.provenance,
    )


def load_file(path: str | Path, *, name: str | None = None, overrides: Mapping[str, Any] | None = None) -> Trained:
    """Load the network of a weight file or shipped set; `name`, with `overrides`, says which where those do not."""
    network, read = restore_model(path, name=name, overrides=overrides or {})
    if network.spec.classes != read.spec.classes:
        raise UserError(
            f"{path} was trained for {read.spec.classes} classes: with {network.spec.classes} the classifier is random"
        )
    origin = f"{name} weights={path}" if name else str(path)
    return Trained(
        origin=origin,
        network=network.eval(),
        data=next(iter(read_seen(read.provenance).data), None),
        metrics=read.metrics,
        provenance=read.provenance,
    )


def choose_inputs(
    trained: Trained,
    dataset: Dataset | PhotoDataset,
    *,
    split: SplitName | None = None,
    preprocess: Mapping[str, Any] | None = None,
    images: int | None = None,
    skip_bad: bool | None = None,
    warn: Callable[[str], None] = lambda sentence: None,
    device: str = "cpu",
) -> Inputs:
    """Put the network on `device` and pair it with the images to test it on, the first `images` of them if given.

    By default they are the test images, or what a run on the tuning split held back. `preprocess` overrides fields of
    the preprocessing that came with the weights. `skip_bad` passes over photographs that cannot be read, up to one in a
    hundred, and `warn` is told of each; by default, where the training did so on the same data.
    """
    network, data = trained.network, trained.data
    if data is not None and data.name != dataset.name:
        data = None
    if data is not None and data.fingerprint != (here := dataset.fingerprint):
        raise UserError(
            f"{dataset.name} is not here what {trained.origin} was trained on: "
            f"its fingerprint is {here[:12]}, not {data.fingerprint[:12]}; {_find_remedy(trained, dataset)}"
        )
    _refuse(trained, dataset)
    prepared = choose_preprocess(trained, preprocess or {})
    if isinstance(dataset, PhotoDataset) and prepared.crop is None:
        raise UserError(
            f"{trained.origin} does not say to what size photographs are cropped; "
            "give preprocess.resize=... and preprocess.crop=..."
        )
    if split is None:
        split = data.split if data else "full"
    if skip_bad is None:
        skip_bad = data is not None and trained.skipped_bad
    _, tested = dataset.divide(split)
    if images is not None and images > len(tested):
        raise UserError(
            f"images is {images:,}, and {dataset.name} has {len(tested):,} to test on; leave it out for all"
        )
    chosen = tested if images is None else tested.take(slice(images))
    if overlap := describe_overlap(trained.seen, dataset, chosen, weights=trained.origin):
        warn(overlap)
    execution = Execution(channels_last=trained.channels_last)
    execution.prepare_network(network.to(device))
    inputs = Inputs(
        own=data is not None and split == data.split and images is None and not preprocess,
        data=dataset.name,
        split=split,
        images=chosen,
        class_names=dataset.class_names,
        brightest=dataset.brightest,
        preprocess=prepared,
        side=prepared.crop or network.spec.input_size,
        mean_image=network.mean_image,
        execution=execution,
        device=device,
        bad=BadImages(dataset, skip=skip_bad, warn=warn) if isinstance(dataset, PhotoDataset) else None,
    )
    _try_one(trained, inputs)
    return inputs


def find_own_data(trained: Trained) -> Dataset | PhotoDataset | None:
    """Open what a network was trained on: a dataset by its name, a folder where its run last found it, unchanged."""
    if trained.data is None:
        return None
    try:
        word = trained.data.name
        if word not in LOADERS:
            word = trained.run.read("provenance")["sittings"][-1].get("data_at", "") if trained.run else ""
        dataset = open_data(word, known=trained.data)
        return dataset if dataset.fingerprint == trained.data.fingerprint else None
    except (UserError, LookupError):  # it was never fetched here, is no longer there, or was not written down
        return None


def refuse_other_draws(members: Sequence[Trained], dataset: Dataset | PhotoDataset) -> None:
    """Refuse to test networks together on images drawn by the seed of one: others were trained on some of them."""
    drawn = {trained.held_out_seed: trained.origin for trained in members if trained.of_photographs}
    if len(drawn) > 1 and isinstance(dataset, PhotoDataset) and dataset.held_out:
        said = [f"{origin} held out what data.held_out_seed={seed} draws" for seed, origin in drawn.items()]
        raise UserError(
            f"{said[0]} and {said[1]}: either was trained on some of the other's; "
            f"test them one by one, or give a folder that has a val of its own ({dataset.name} has none)"
        )


def _find_remedy(trained: Trained, dataset: Dataset | PhotoDataset) -> str:
    """Say what to give where data under the old name is other data."""
    if trained.data is not None and find_trained(dataset, trained.data) is not None:
        return "an earlier version of this package read the folder otherwise: test networks of before by themselves"
    if not isinstance(dataset, PhotoDataset):
        of_folder = f"that was a folder of photographs: write data=./{dataset.name}, or where it lies"
        return of_folder if trained.of_photographs else "fetch it again"
    if dataset.held_out:  # by another name it would be drawn anew, and some of what was trained on be tested on
        return (
            f"give that folder as it was, what data.held_out_seed={trained.held_out_seed} draws being held out, "
            "or one that has a val of its own"
        )
    return "give that folder, or these under another name"


def choose_preprocess(trained: Trained, fields: Mapping[str, Any]) -> Preprocess:
    """Return the preprocessing that came with the weights, with fields of it overridden."""
    if trained.network.preprocess is None and not fields:
        raise UserError(
            f"{trained.origin} does not say how its images are prepared; "
            "give preprocess.mean=[...] and preprocess.std=[...], on a scale where white is 1"
        )
    chosen = override(trained.network.preprocess or Preprocess(), fields, where="preprocess.")
    for name in ("pixel_range", "channel_order"):
        if chosen.per_pixel_mean and getattr(chosen, name) != getattr(trained.network.preprocess or Preprocess(), name):
            raise UserError(
                f"preprocess.{name} does not go with the mean image of {trained.origin}; leave it out, "
                "or give preprocess.mean=[...] and preprocess.per_pixel_mean=false too"
            )
    return chosen


def _refuse(trained: Trained, dataset: Dataset | PhotoDataset) -> None:
    """Refuse data whose labels or pixels mean something else to this network."""
    if trained.network.task != dataset.task:
        raise UserError(
            f"{trained.origin} was trained for {trained.network.task} and {dataset.name} is for {dataset.task}; "
            "give the data it was trained for"
        )
    refuse_misfit(trained.origin, trained.network.spec, dataset, remedy="give the data it was trained for")
    refuse_other_classes(trained.origin, trained.network, dataset)


@torch.no_grad()
def _try_one(trained: Trained, inputs: Inputs) -> None:
    """Show the network one image, so that what does not pass, or gives no numbers, is told before the work begins."""
    image, _ = next(inputs.batches(1), (None, None))
    if image is None:
        raise UserError(f"none of the {len(inputs):,} images of {inputs.data} can be read; give others")
    with tell_misfit(trained.network, image):
        logits = trained.network(image)
    if not logits.isfinite().all():
        raise tell_not_finite(trained.network, f"for the first image of {inputs.data}")
