"""Batches of crops, whoever decodes them; bad files."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
import torch
from tests.photographs import make_photos

from reslab.data.photos.crops import TrainingCrops
from reslab.data.photos.folder import read_folder
from reslab.data.photos.order import PhotoSampler
from reslab.data.workers import work_ahead
from reslab.spec.augmentation import AugmentationSpec

CROPS = AugmentationSpec(crop="resized", colour=0.1)


def take(crops: TrainingCrops, *, workers: int, first: int = 0, count: int = 3) -> list[torch.Tensor]:
    sampler = PhotoSampler(count=len(crops.split), seed=5)
    wanted = ((24 if step < 2 else 32, sampler.draw(step, 4)) for step in itertools.count(first))
    stream = work_ahead(crops, wanted, workers=workers)
    batches = [next(stream) for _ in range(count)]
    return [getattr(batch, name) for batch in batches for name in ("pixels", "targets", "shifts")]


@pytest.mark.parametrize("policy", ["none", "trivial", "rand"])
def test_batches_hang_on_seed_and_step_alone(policy: str, tmp_path: Path) -> None:
    """Begun later, or with another global generator, they are the same; another seed gives others."""
    split = read_folder(make_photos(tmp_path)).train
    augmentation = AugmentationSpec(crop="resized", policy=policy)  # pyright: ignore[reportArgumentType]
    crops = TrainingCrops(split, augmentation, seed=5)
    before = torch.random.get_rng_state()
    batches = take(crops, workers=0)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert batches[0].shape == (4, 24, 24, 3)
    torch.manual_seed(7)
    assert all(torch.equal(a, b) for a, b in zip(batches[3:], take(crops, workers=0, first=1, count=2), strict=True))
    other = TrainingCrops(split, augmentation, seed=6)
    assert not torch.equal(take(other, workers=0)[0], batches[0])


@pytest.mark.parametrize("policy", ["trivial", "rand"])
def test_threads_do_not_disturb_each_others_batches(policy: Literal["trivial", "rand"], tmp_path: Path) -> None:
    """Trials side by side, without workers: policies draw from torch's generator, which is everyone's, and is left."""
    split = read_folder(make_photos(tmp_path)).train
    augmentation = AugmentationSpec(crop="resized", policy=policy)
    both = [TrainingCrops(split, augmentation, seed=seed) for seed in (5, 6)]
    alone = [take(crops, workers=0, count=6) for crops in both]
    before = torch.random.get_rng_state()
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(partial(take, workers=0, count=6), both))
    for ours, expected in zip(together, alone, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, expected, strict=True))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.slow
def test_workers_give_the_same_batches(tmp_path: Path) -> None:
    """Two processes as well as none, crops that grow included."""
    split = read_folder(make_photos(tmp_path)).train
    crops = TrainingCrops(split, CROPS, seed=5)
    alone = take(crops, workers=0, count=5)
    assert all(torch.equal(a, b) for a, b in zip(alone, take(crops, workers=2, count=5), strict=True))


def test_names_need_not_be_text(tmp_path: Path) -> None:
    """Old archives leave names in other encodings than ours."""
    make_photos(tmp_path)
    (tmp_path / "train/blues/000.jpg").rename(tmp_path / "train/blues" / os.fsdecode(b"caf\xe9.jpg"))
    split = read_folder(tmp_path).train
    keys = [(0, index) for index in range(len(split))]
    assert not TrainingCrops(split, CROPS, seed=5)[24, keys].bad


def test_a_bad_image_is_named_or_the_next_stands_in(tmp_path: Path) -> None:
    """Stopping is the default."""
    split = read_folder(make_photos(tmp_path)).train
    split.path(2).write_bytes(b"not a photograph")
    keys = [(0, index) for index in range(4)]
    stopped = TrainingCrops(split, CROPS, seed=5)[24, keys]
    assert len(stopped.bad) == 1
    assert str(split.path(2)) == stopped.bad[0].image
    skipped = TrainingCrops(split, CROPS, seed=5, skip=True)[24, keys]
    assert [str(error) for error in skipped.bad] == [str(error) for error in stopped.bad]
    assert torch.equal(skipped.pixels[2], skipped.pixels[3])
    assert len(skipped.pixels) == 4
