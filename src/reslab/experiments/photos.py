"""The classification task on a folder of photographs.

Tested on the central crop, the shorter side being 256 for crops of 224 and in proportion for others; centred by the
mean image of the training images (the paper's way) or by ImageNet's mean and deviation (the common one).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from reslab.data.photos.batches import PhotoBatches, mean_photo
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.loading import count_workers
from reslab.data.photos.sampling import REFERENCE_SIDE, Share
from reslab.data.photos.skipping import BadImages, Skipped
from reslab.errors import UserError
from reslab.experiments.labelled import LabelledTask, prepare_weights
from reslab.networks.execution import Execution
from reslab.networks.weights.container import read_tensors
from reslab.networks.weights.sealed import unseal, write_sealed
from reslab.runs.directory import RunDirectory
from reslab.spec import Preprocess
from reslab.spec.codec import decode, encode
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD
from reslab.spec.trial import Trial
from reslab.training.processes import ALONE, Processes
from reslab.training.schedule import crop_side

TEST_SIDE = 256  # for crops of REFERENCE_SIDE
EVALUATION_BATCH = 50
MEAN, SKIPPED = "mean_image", "skipped"


@dataclass(frozen=True, kw_only=True)
class PhotoTask(LabelledTask):
    """A trial on a folder of photographs."""

    batches: PhotoBatches

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batches of `count` iterations from `step` on, or of those whose crops are as large as its."""
        alike = itertools.takewhile(
            lambda number: self.batches.side(number) == self.batches.side(step), range(step, step + count)
        )
        loaded = [self.batches.load(number) for number in alike]
        images, *rest = zip(*loaded, strict=True)
        prepared = torch.stack([self.execution.prepare(image) for image in images])
        return prepared, *[torch.stack(part) for part in rest]

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given: channels, height, width."""
        return self.trial.network.input_shape

    @property
    def preprocess(self) -> Preprocess:
        """What happens to an image before the network."""
        return self.batches.preprocess

    @property
    def mean_image(self) -> Tensor | None:
        """The mean of the training images, where the recipe asks for it."""
        return self.batches.mean_image

    @property
    def num_training_images(self) -> int:
        """How many images there are to train on."""
        return len(self.batches.dataset.train)

    def test_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield every test image of this process's share once, with its label."""
        tested = self.batches.dataset.test
        for images, labels in self.batches.tests(tested.take(self.processes.share(len(tested))), EVALUATION_BATCH):
            yield self.execution.prepare(images), labels

    def share_skipped(self) -> int:
        """Let all processes know what images any has skipped; return how many of those were to be trained on."""
        bad = self.batches.bad
        if bad.skip:
            for skipped in self.processes.ask_all(list(bad.skipped.values())):
                bad.add(skipped)
        return bad.count("train")

    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""
        keys = self.batches.sampler.draw(step, self.trial.recipe.batch)
        names = [self.batches.dataset.train.files[image] for _, image in keys[:4]]
        return ", ".join(names) + (", ..." if len(keys) > len(names) else "")


def _read_skipped(run: RunDirectory) -> list[Skipped]:
    if not (run.path / f"{SKIPPED}.json").exists():
        return []
    try:
        return [decode(Skipped, one) for one in run.read(SKIPPED)["images"]]
    except (UserError, LookupError, TypeError) as error:
        raise UserError(f"{run.path / SKIPPED}.json is damaged ({error}); remove it to go on") from error


def _write_skipped(run: RunDirectory, skipped: Sequence[Skipped]) -> None:
    run.write(SKIPPED, {"images": encode(skipped)})


def _read_mean(path: Path) -> Tensor:
    tensors, metadata = read_tensors(path)
    unseal(path, tensors, metadata)
    return tensors[MEAN]


def make_photo_task(
    trial: Trial,
    dataset: PhotoDataset,
    *,
    device: torch.device | str,
    processes: Processes = ALONE,
    kind: type[PhotoTask] = PhotoTask,
    run: RunDirectory | None = None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> PhotoTask:
    """Pair a trial with a folder of photographs; `warn` is told of those that are skipped.

    Its run has what was skipped in earlier sittings, and the mean image where one is subtracted: it is computed once,
    by the first of several processes, and handed on.
    """
    recipe, mean_at = trial.recipe, run.path / "mean.safetensors" if run else None
    bad = BadImages(dataset, warn=warn)
    if trial.data.on_bad_image == "skip":
        known = processes.ask_first(_read_skipped(run) if run and processes.first else [])
        keep = partial(_write_skipped, run) if run and processes.first else lambda skipped: None
        bad = BadImages(dataset, skip=True, warn=warn, known=known, keep=keep)
    crop = trial.network.input_shape[-1]
    resize = round(TEST_SIDE * crop / REFERENCE_SIDE)
    mean_image, preprocess = None, Preprocess(resize=resize, crop=crop, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    if recipe.centring == "mean-image":
        if not processes.first:
            mean_image = torch.empty(3, crop, crop)
        elif mean_at is not None and mean_at.exists():
            mean_image = _read_mean(mean_at)
        else:
            mean_image = mean_photo(dataset.train, resize=resize, crop=crop, workers=count_workers(device), bad=bad)
            if mean_at is not None:
                write_sealed(mean_at, {MEAN: mean_image}, {})
        processes.take_from_first([mean_image])
        preprocess = Preprocess(resize=resize, crop=crop, per_pixel_mean=True)
    batches = PhotoBatches(
        dataset,
        augmentation=recipe.augmentation,
        preprocess=preprocess,
        mean_image=mean_image,
        seed=trial.seed,
        batch=recipe.batch,
        bad=bad,
        device=device,
        share=Share(processes.rank, processes.count, recipe.accumulate),
        balanced=recipe.sampling == "balanced",
        side=partial(crop_side, recipe, whole=crop),
    )
    return kind(
        trial=trial,
        execution=Execution(channels_last=recipe.channels_last, precision=recipe.precision),
        processes=processes,
        class_weights=prepare_weights(trial, dataset.train.labels, device=device),
        batches=batches,
    )
