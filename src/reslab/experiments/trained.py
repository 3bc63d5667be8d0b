"""Trained networks, and the images to try them on: what evaluation and analysis start from.

Weights bring their preprocessing along, and a run's bring their data; whatever would compare guesses with labels that
mean something else (other classes, other channels, other data under the old name) is refused.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from reslab.data.catalogue import LOADERS, open_data
from reslab.data.dataset import Dataset
from reslab.data.photos.bad_images import BadImages
from reslab.data.validation import hold_back
from reslab.delivery.intake import tell_misfit
from reslab.errors import UserError
from reslab.experiments.changed_data import describe_change
from reslab.experiments.preflight import refuse_misfit, refuse_other_classes
from reslab.experiments.seen import Seen, describe_overlap, describe_tuned, read_seen
from reslab.files import is_folder
from reslab.networks import Network
from reslab.networks.create import restore_model
from reslab.networks.finite import tell_not_finite
from reslab.runs.directory import RunDirectory
from reslab.runs.weights import refuse_other_weights
from reslab.runtime.execution import Execution
from reslab.runtime.listener import DEAF, Listener
from reslab.spec import Preprocess
from reslab.spec.codec import override
from reslab.spec.task import tasks_for
from reslab.spec.trial import DataSpec, SplitName
from reslab.tasks.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A network with its weights, in evaluation mode; `data` and `run` say where they come from, where known.

    `step` says that they are not a run's last ones. `metrics` and `provenance` are what their file says of itself.
    """

    origin: str
    network: Network
    run: RunDirectory | None = None
    step: int | None = None
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
        """The seed that drew the test images of a folder without its own; the rest were trained on."""
        return self.data.held_out_seed if self.data else 0

    @property
    def skipped_bad(self) -> bool:
        """Whether its training went on past bad images."""
        return self.data is not None and self.data.on_bad_image == "skip"

    @property
    def of_photographs(self) -> bool:
        """Whether it was trained on a folder of photographs: what datasets by name have is never cropped for a test."""
        return self.data is not None and self.network.preprocess is not None and bool(self.network.preprocess.crop)


def load_run(run: RunDirectory, *, step: int | None = None) -> Trained:
    """Load the network of a finished run, or of any run at the step of a snapshot, by weights that are its own."""
    path, trial = _find_weights(run, step), run.trial()
    try:
        network, read = restore_model(path, overrides={})
    except UserError as error:
        raise UserError(
            f"{str(error).partition('; ')[0]}; the command that trained the run restores its weights: "
            f"`reslab runs show {run.path.name}` prints it"
        ) from error
    refuse_other_weights(path, trial)
    return Trained(
        origin=run.path.name if step is None else f"{run.path.name}@{step}",
        network=network.eval(),
        run=run,
        step=step,
        data=trial.data,
        channels_last=trial.recipe.channels_last,
        metrics=read.metrics,
        provenance=read.provenance,
    )


def _find_weights(run: RunDirectory, step: int | None) -> Path:
    """Return the file of a run's weights; a snapshot is there before the run is finished."""
    if step is not None:
        known = run.snapshots
        if step not in known:
            steps = f"those of steps {', '.join(map(str, known))}" if known else "none; train it with --snapshots"
            raise UserError(f"{run.path.name} has no snapshot of step {step}; it has {steps}")
        return known[step]
    if run.state != "finished":
        raise UserError(f"{run.path} is not finished, so it has no weights yet; train it to the end first")
    if not run.weights.exists():
        raise UserError(f"{run.path} is a record without weights; train it again, or give weights=FILE")
    return run.weights


def load_file(path: str | Path, *, name: str | None = None, overrides: Mapping[str, Any] | None = None) -> Trained:
    """Load the network of a weight file or shipped set; `name`, with `overrides`, says which where those do not."""
    network, read = restore_model(path, name=name, overrides=overrides or {})
    if network.spec.classes != read.spec.classes:
        raise UserError(
            f"{path} was trained for {read.spec.classes} classes, so the classifier would be random with "
            f"classes={network.spec.classes}; leave out classes="
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
    dataset: Dataset,
    *,
    split: SplitName | None = None,
    preprocess: Mapping[str, Any] | None = None,
    skip_bad: bool | None = None,
    listener: Listener = DEAF,
    device: str = "cpu",
) -> Subject:
    """Put the network on `device` and pair it with the images to test it on.

    By default they are the test images, or what a run on the tuning split held back. `preprocess` overrides fields of
    the preprocessing that came with the weights. `skip_bad` skips photographs that cannot be read, up to 1 %,
    and the listener is warned of each; the default is what the training did, on the same data.
    """
    network, data = trained.network, trained.data
    if data is not None and data.name != dataset.name:
        data = None
    if data is not None and data.fingerprint != (here := dataset.fingerprint):
        other = f"{dataset.name} is not the data that {trained.origin} was trained on"
        if trained.run is not None and dataset.has_files:
            other = describe_change(trained.run, dataset)
        if remedy := _find_remedy(trained, dataset):
            prints = f"its fingerprint is {here[:12]}, not {data.fingerprint[:12]}"
            raise UserError(f"{other}: {prints}; {remedy}")
        listener.warn(f"{other}; testing on the current test images of {dataset.name}")
        data = None
    _refuse(trained, dataset)
    prepared = choose_preprocess(trained, preprocess or {})
    if dataset.side is None and prepared.crop is None and network.task.sides is None:
        raise UserError(
            f"{trained.origin} does not say how large its crops are; give preprocess.resize=... and preprocess.crop=..."
        )
    if split is None:
        split = data.split if data else "full"
    if skip_bad is None:
        skip_bad = data is not None and trained.skipped_bad
    trained_on, tested = dataset.divide(split)
    if overlap := describe_overlap(trained.seen, dataset, tested, weights=trained.origin):
        listener.warn(overlap)
    if tuned := describe_tuned(trained.provenance, dataset.name, tested, weights=trained.origin):
        listener.warn(tuned)
    execution = Execution(channels_last=trained.channels_last)
    execution.prepare_network(network.to(device))
    subject = Subject(
        origin=trained.origin,
        network=network,
        own=data is not None and split == data.split and not preprocess,
        data=dataset.name,
        split=split,
        images=tested,
        trained_on=hold_back(trained_on, data)[0] if data else trained_on,
        class_names=network.task.name_outputs(dataset.class_names),
        brightest=dataset.brightest,
        spread=dataset.has_files,
        preprocess=prepared,
        side=prepared.crop or network.spec.input_size,
        execution=execution,
        device=device,
        bad=BadImages(dataset, skip=skip_bad, listener=listener) if dataset.has_files else None,
        trial=trained.run.trial() if trained.run else None,
        step=trained.step,
        snapshots=trained.run.snapshots if trained.run else {},
    )
    _try_one(subject)
    return subject


def find_own_data(trained: Trained) -> Dataset | None:
    """Open what a network was trained on: a dataset by its name, a folder where its run last found it, unchanged."""
    if trained.data is None:
        return None
    try:
        word = trained.data.name if trained.data.name in LOADERS else _last_place(trained)
        dataset = open_data(word, known=trained.data)
        return dataset if dataset.fingerprint == trained.data.fingerprint else None
    except UserError:  # it was never fetched here, is no longer there, or was not written down
        return None


def explain_lost_data(trained: Trained) -> str:
    """Say why `find_own_data` finds no folder: it has changed, it is gone, or its place was never noted."""
    assert trained.data is not None
    name, place = trained.data.name, _last_place(trained)
    with contextlib.suppress(UserError):
        if trained.run is not None and place and is_folder(Path(place)):
            changed = describe_change(trained.run, open_data(place, known=trained.data))
            return f"{changed}; restore the images, or write data=FOLDER to test on other images"
    if place:
        return (
            f"{trained.origin} was trained on the folder {place}, which no longer exists; "
            "if it was moved, write data=FOLDER"
        )
    return f"{trained.origin} was trained on a folder named {name}, but its path is not recorded; write data=FOLDER"


def _last_place(trained: Trained) -> str:
    """Return where a run last found its photographs; nothing where that was not written down."""
    with contextlib.suppress(UserError, LookupError):
        return trained.run.read("provenance")["sittings"][-1]["data_at"] if trained.run else ""
    return ""


def refuse_other_draws(members: Sequence[Trained], dataset: Dataset) -> None:
    """Refuse to test networks together on images drawn by the seed of one: the others were trained on some of these."""
    drawn = {trained.held_out_seed: trained.origin for trained in members if trained.of_photographs}
    if len(drawn) > 1 and dataset.held_out:
        said = [f"{origin} was trained with data.held_out_seed={seed}" for seed, origin in drawn.items()]
        raise UserError(
            f"{said[0]} and {said[1]}, so each was trained on test images of the other; "
            f"test them in separate commands, or give a folder that has a val folder ({dataset.name} has none)"
        )


def _find_remedy(trained: Trained, dataset: Dataset) -> str:
    """Say what to give if data with the same name has changed; an empty string if it can be tested on anyway."""
    if trained.data is not None and dataset.find_trained(trained.data) is not None:
        return "an earlier version of reslab read this folder differently; test networks of both versions separately"
    if not dataset.has_files:
        of_folder = f"it was trained on a folder of photographs; write data=./{dataset.name} or the path of that folder"
        return of_folder if trained.of_photographs else "fetch the dataset again"
    if dataset.held_out:  # a renamed folder would draw new test images, some of which were trained on
        return (
            f"restore the folder (data.held_out_seed={trained.held_out_seed} selects its test images), "
            "or give a folder that has a val folder"
        )
    return ""


def choose_preprocess(trained: Trained, fields: Mapping[str, Any]) -> Preprocess:
    """Return the preprocessing that came with the weights, with fields of it overridden."""
    if trained.network.preprocess is None and not fields:
        raise UserError(
            f"{trained.origin} does not say how to prepare images; give the mean and standard deviation of each "
            "channel for pixels from 0 to 1, "
            "such as preprocess.mean=[0.485,0.456,0.406] preprocess.std=[0.229,0.224,0.225]"
        )
    chosen = override(trained.network.preprocess or Preprocess(), fields, where="preprocess.")
    for name in ("pixel_range", "channel_order"):
        if chosen.per_pixel_mean and getattr(chosen, name) != getattr(trained.network.preprocess or Preprocess(), name):
            raise UserError(
                f"preprocess.{name} contradicts the mean image of {trained.origin}; leave out preprocess.{name}, "
                "or also give preprocess.mean=[...] and preprocess.per_pixel_mean=false"
            )
    return chosen


def refuse_other_task(origin: str, network: Network, dataset: Dataset) -> None:
    """Refuse data whose targets are for another task than a network's."""
    served = tasks_for(dataset.target)
    if network.task.name not in served:
        raise UserError(
            f"{origin} was trained for {network.task.name}, but {dataset.name} is for {served[0]}; "
            "give the data it was trained for"
        )


def _refuse(trained: Trained, dataset: Dataset) -> None:
    """Refuse data whose targets or pixels mean something else to this network."""
    refuse_other_task(trained.origin, trained.network, dataset)
    names = trained.network.task.name_outputs(dataset.class_names)
    refuse_misfit(trained.origin, trained.network.spec, dataset, names, remedy="give the data it was trained for")
    refuse_other_classes(trained.origin, trained.network, dataset, names)


@torch.no_grad()
def _try_one(subject: Subject) -> None:
    """Show the network one image, so that errors, and outputs that are not finite, are found before the work begins.

    A task's own layers have no outputs to look at before they are judged.
    """
    if subject.network.task.own_layers:
        return
    image, _ = next(subject.batches(1), (None, None))
    if image is None:
        raise UserError(f"none of the {len(subject):,} images of {subject.data} can be read; give other images")
    with tell_misfit(subject.network, image):
        logits = subject.network(image)
    if not logits.isfinite().all():
        raise tell_not_finite(subject.network, f"for the first image of {subject.data}")
