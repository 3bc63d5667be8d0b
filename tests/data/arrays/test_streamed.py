"""Streamed batches beside resident ones: the same to the bit, from arrays and from files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from reslab.data.arrays import streamed as streaming
from reslab.data.arrays.order import Sampler
from reslab.data.arrays.resident import Preparation, ResidentBatches, per_pixel_mean
from reslab.data.arrays.split import ArraySplit
from reslab.data.arrays.streamed import StreamedBatches, is_resident, make_batches
from reslab.errors import UserError
from reslab.spec.augmentation import Edges

generator = np.random.default_rng(0)
SPLIT = ArraySplit(
    generator.integers(0, 256, (40, 3, 8, 8), dtype=np.uint8), generator.integers(0, 10, 40, dtype=np.uint8)
)
PREPARATION = Preparation(mean=per_pixel_mean(SPLIT, brightest=255), brightest=255, padding=2)
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mean_first", [True, False])
@pytest.mark.parametrize(("edges", "cutout"), [("zero", 0), ("reflect", 3)])
@pytest.mark.parametrize("padding", [0, 1, 4])
def test_a_batch_is_the_same_to_the_bit(padding: int, edges: Edges, cutout: int, mean_first: bool, device: str) -> None:
    """Crops, flips, edges, holes, mean, labels and type; drawn and plain."""
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    preparation = replace(PREPARATION, padding=padding, mean_first=mean_first, edges=edges, cutout=cutout)
    resident, streamed = (kind(SPLIT, preparation, device=device) for kind in (ResidentBatches, StreamedBatches))
    assert len(streamed) == len(resident) == 40
    sampler = Sampler(count=40, seed=5, padding=padding, flip=True, hole_places=9 - cutout)
    for step in range(3):
        draw = sampler.draw(step, 24)
        for ours, theirs in zip(streamed.augmented(draw), resident.augmented(draw), strict=True):
            assert ours.dtype == theirs.dtype
            assert torch.equal(ours, theirs)
    for ours, theirs in zip(streamed.plain(30, 45), resident.plain(30, 45), strict=True):
        assert torch.equal(ours, theirs)


def test_either_kind_offers_the_same() -> None:
    """Whoever is given batches need not know which; nothing of one kind is asked for ahead of the other."""
    resident, streamed = (
        {name for name in vars(kind) if not name.startswith("_")} for kind in (ResidentBatches, StreamedBatches)
    )
    assert resident == streamed == {"augmented", "plain", "is_resident"}


def test_a_mapped_file_does(tmp_path: Path) -> None:
    """Read-only, and left as it was."""
    np.save(tmp_path / "images.npy", SPLIT.images)
    mapped = ArraySplit(np.load(tmp_path / "images.npy", mmap_mode="r"), SPLIT.targets)
    streamed = StreamedBatches(mapped, PREPARATION, device="cpu")
    whole = StreamedBatches(SPLIT, PREPARATION, device="cpu")
    draw = Sampler(count=40, seed=5, padding=2, flip=True).draw(0, 24)
    assert torch.equal(streamed.augmented(draw)[0], whole.augmented(draw)[0])
    assert torch.equal(streamed.plain(0, 9)[0], whole.plain(0, 9)[0])
    assert np.array_equal(np.load(tmp_path / "images.npy"), SPLIT.images)


def test_what_does_not_fit_is_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the device's free memory is the line, the CPU has it all already; the environment overrules both."""
    padded = 40 * 3 * 12 * 12
    for free, fits in ((2 * padded + 1, True), (2 * padded, False)):
        monkeypatch.setattr(streaming, "free_memory", lambda device, free=free: free)
        assert is_resident(SPLIT, 2, "cuda") is fits
        assert not is_resident(SPLIT, 2, "cpu")
    assert isinstance(make_batches(SPLIT, PREPARATION, device="cpu"), StreamedBatches)
    monkeypatch.setenv("RESLAB_BATCHES", "resident")
    assert isinstance(make_batches(SPLIT, PREPARATION, device="cpu"), ResidentBatches)
    monkeypatch.setenv("RESLAB_BATCHES", "floating")
    with pytest.raises(UserError, match="choose resident or streamed"):
        make_batches(SPLIT, PREPARATION, device="cpu")


@pytest.mark.parametrize("shape", [(2, 12), (1, 4, 5, 6)])
@pytest.mark.parametrize("kind", ["resident", "streamed"])
def test_sequences_and_volumes_come_as_they_are(
    shape: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn and in order, floats too, the mean subtracted."""
    monkeypatch.setenv("RESLAB_BATCHES", kind)
    values = generator.normal(size=(40, *shape)).astype(np.float32)
    split = ArraySplit(values, SPLIT.targets)  # pyright: ignore[reportArgumentType]
    mean = per_pixel_mean(split, brightest=1)
    batches = make_batches(split, Preparation(mean=mean, brightest=1), device="cpu")
    assert batches.is_resident == (kind == "resident")
    draw = Sampler(count=40, seed=5).draw(0, 24)
    images, targets = batches.augmented(draw)
    assert np.allclose(images.numpy(), values[draw.indices] - mean)
    assert targets.tolist() == SPLIT.targets[draw.indices].tolist()
    images, targets = batches.plain(30, 45)
    assert np.allclose(images.numpy(), values[30:] - mean)
    assert targets.tolist() == SPLIT.targets[30:].tolist()
