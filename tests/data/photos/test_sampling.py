"""The order of photographs and the parts taken of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.counting import count_calls

from reslab.data.balance import balance
from reslab.data.photos import sampling
from reslab.data.photos.sampling import PhotoSampler, resized_box, shorter_side_box
from reslab.data.randomness import Stream, numbers_for


def test_every_image_comes_once_an_epoch_and_batches_run_on() -> None:
    """In another order each time, the same for the same seed."""
    sampler = PhotoSampler(count=10, seed=3)
    keys = [key for step in range(5) for key in sampler.draw(step, 4)]
    assert [epoch for epoch, _ in keys] == [0] * 10 + [1] * 10
    first, second = ([image for _, image in keys[start : start + 10]] for start in (0, 10))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert PhotoSampler(count=10, seed=3).draw(2, 4) == keys[8:12]
    assert PhotoSampler(count=10, seed=4).draw(0, 4) != keys[:4]


def test_orders_are_drawn_once_for_trials_that_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By turns, across the ends of epochs; images are those that were taken one by one."""
    drawn = count_calls(monkeypatch, sampling, "numbers_for")
    samplers = [PhotoSampler(count=10, seed=seed) for seed in range(5)]
    batches = {(step, n): sampler.draw(step, 4) for step in range(5) for n, sampler in enumerate(samplers)}
    assert len(drawn) == 5 * 2
    for (step, seed), batch in batches.items():
        places = [divmod(position, 10) for position in range(4 * step, 4 * step + 4)]
        orders = [numbers_for(Stream.ORDER, seed=seed, epoch=epoch).permutation(10) for epoch, _ in places]
        assert batch == [(epoch, order[place]) for (epoch, place), order in zip(places, orders, strict=True)]
    assert all(type(image) is int for batch in batches.values() for _, image in batch)
    assert PhotoSampler(count=3, seed=1).draw(0, 8)[-1][0] == 2  # several epochs in one batch


def test_balanced_no_image_comes_twice_in_an_epoch_of_its_class() -> None:
    """So each time its crop is another; a batch has the classes equally often; any step is drawn by itself."""
    labels = np.repeat([0, 1], [9, 2])
    sampler = PhotoSampler(count=11, seed=3, balance=balance(labels, seed=3))
    batches = [sampler.draw(step, 4) for step in range(9)]
    assert all(sum(labels[image] for _, image in batch) == 2 for batch in batches)
    keys = [key for batch in batches for key in batch]
    assert len(set(keys)) == 36
    assert sorted(epoch for epoch, image in keys if image == 10) == list(range(9))
    assert PhotoSampler(count=11, seed=3, balance=balance(labels, seed=3)).draw(7, 4) == batches[7]


@pytest.mark.parametrize(("width", "height"), [(500, 375), (375, 500), (300, 300)])
@pytest.mark.parametrize("crop", [224, 64])
def test_the_papers_crop(width: int, height: int, crop: int) -> None:
    """The image as if its shorter side were 256 to 480, whatever it is; square, inside, everywhere."""
    random = numbers_for(Stream.CROP, seed=1)
    boxes = np.array([shorter_side_box(random, width, height, sides=(256, 480), crop=crop) for _ in range(2000)])
    sides = boxes[:, 2] - boxes[:, 0]
    assert np.allclose(sides, boxes[:, 3] - boxes[:, 1])
    assert boxes.min() >= 0
    assert boxes[:, 2].max() <= width + 1e-9
    assert boxes[:, 3].max() <= height + 1e-9
    shorter = 224 * min(width, height) / sides  # the shorter side at which the crop is one of 224
    assert 255.9 < shorter.min() < 258
    assert 478 < shorter.max() < 480.1
    assert abs(shorter.mean() - 368) < 6
    assert boxes[:, 0].max() > 0.5 * (width - sides.max())


def test_the_common_crop_is_torchvisions() -> None:
    """The same areas and aspects, in distribution."""
    import torch
    from torchvision.transforms import RandomResizedCrop

    random = numbers_for(Stream.CROP, seed=1)
    boxes = np.array([resized_box(random, 500, 375, areas=(0.08, 1.0)) for _ in range(4000)])
    across, down = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    torch.manual_seed(0)
    image = torch.empty(3, 375, 500)
    theirs = np.array([RandomResizedCrop.get_params(image, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(4000)])
    for ours, other in (
        (across * down, theirs[:, 2] * theirs[:, 3]),
        (across / down, theirs[:, 3] / theirs[:, 2]),
        (boxes[:, 0], theirs[:, 1]),
        (boxes[:, 1], theirs[:, 0]),
    ):
        quantiles = np.linspace(0.1, 0.9, 9)
        spread = np.quantile(other, 0.9) - np.quantile(other, 0.1)
        assert np.abs(np.quantile(ours, quantiles) - np.quantile(other, quantiles)).max() < 0.06 * spread


def test_where_no_part_fits_it_is_the_largest_in_the_middle() -> None:
    """A panorama cannot give nearly all of its area at a near-square aspect."""
    random = numbers_for(Stream.CROP, seed=1)
    left, top, right, bottom = resized_box(random, 1000, 100, areas=(0.99, 1.0))
    assert (top, bottom) == (0, 100)
    assert right - left == pytest.approx(400 / 3)
    assert left == pytest.approx(1000 - right)
