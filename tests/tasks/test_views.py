"""What a test shows of an image, against torchvision's crops."""

from __future__ import annotations

import pytest
import torch
import torchvision.transforms.v2.functional as theirs

from reslab.spec import Preprocess
from reslab.spec.preprocess import AUTHORS, TORCHVISION
from reslab.tasks.views import PROTOCOLS, Viewing, five_crops

ODD = torch.randint(0, 256, (2, 3, 75, 51), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def view(preprocess: Preprocess, protocol: str, **options: object) -> Viewing:
    """A protocol on bytes."""
    return Viewing(protocol=protocol, preprocess=preprocess, brightest=255, **options)  # pyright: ignore[reportArgumentType]


def show(viewing: Viewing, images: torch.Tensor) -> list[torch.Tensor]:
    """What there is to see at each size."""
    return [viewing.show(images, shorter) for shorter in viewing.shorter_sides]


@pytest.mark.parametrize("side", [24, 28])
def test_ten_crops_are_torchvisions(side: int) -> None:
    """Of an image whose shorter side is 256/224 of the crop: 27 for 24, 32 for 28."""
    preprocess = Preprocess(resize=99, crop=side, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4))
    (shown,) = show(view(preprocess, "10-crop", side=side), ODD)
    resized = theirs.resize(ODD / 255, [{24: 27, 28: 32}[side]], antialias=True)
    crops = [
        theirs.normalize(crop, [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]) for crop in theirs.ten_crop(resized, [side, side])
    ]
    assert shown.shape == (2, 10, 3, side, side)
    assert torch.allclose(shown, torch.stack(crops, 1), atol=1e-5)


def test_five_crops_are_corners_and_the_centre() -> None:
    """Of views too, however many axes come before the channels; halves are rounded as torchvision does."""
    crops = five_crops(ODD[:, None], 24)
    assert crops.shape == (2, 1, 5, 3, 24, 24)
    assert torch.equal(crops[:, 0].transpose(0, 1), torch.stack(theirs.five_crop(ODD, [24, 24])))


def test_sizes_are_the_papers_at_its_crop() -> None:
    """256 for ten crops, five for whole images, whatever the one crop is resized to; a quarter at a quarter."""
    preprocess = Preprocess(resize=232, crop=224)
    assert view(preprocess, "1-crop", side=224).shorter_sides == (232,)
    assert view(preprocess, "10-crop", side=224).shorter_sides == (256,)
    assert view(preprocess, "multi-scale", side=224).shorter_sides == (224, 256, 384, 480, 640)
    assert view(preprocess, "multi-scale", side=56).shorter_sides == (56, 64, 96, 120, 160)


def test_whole_images_and_their_mirror_images() -> None:
    """Not square, at each size, with the longer side in proportion."""
    preprocess = Preprocess(resize=32, crop=28, mean=(0.5,), std=(0.5,))
    shown = show(view(preprocess, "multi-scale", side=28), ODD)
    assert [tuple(views.shape) for views in shown] == [
        (2, 2, 3, int(side * 75 / 51), side) for side in (28, 32, 48, 60, 80)
    ]
    expected = (theirs.resize(ODD / 255, [48], antialias=True) - 0.5) / 0.5
    assert torch.allclose(shown[2][:, 0], expected, atol=1e-5)
    assert torch.equal(shown[2][:, 1], shown[2][:, 0].flip(-1))


def test_the_mean_image_stays_where_it_is() -> None:
    """Images are mirrored, the mean is not; where sizes differ, its channels' averages are subtracted (the paper)."""
    mean = torch.rand(3, 28, 28)
    preprocess = Preprocess(resize=32, crop=28, per_pixel_mean=True)
    (crops,) = show(view(preprocess, "10-crop", side=28, mean_image=mean), ODD)
    pixels = torch.stack(theirs.ten_crop(theirs.resize(ODD / 255, [32], antialias=True), [28, 28]), 1)
    assert torch.allclose(crops, pixels - mean, atol=1e-5)
    whole = show(view(preprocess, "multi-scale", side=28, mean_image=mean), ODD)
    expected = theirs.resize(ODD / 255, [80], antialias=True) - mean.mean((1, 2))[:, None, None]
    assert torch.allclose(whole[4][:, 0], expected, atol=1e-5)
    square = show(view(preprocess, "multi-scale", side=28, mean_image=mean), ODD[..., :28, :28])
    assert torch.allclose(square[0][:, 0], ODD[..., :28, :28] / 255 - mean, atol=1e-5)


def test_the_authors_order_and_range() -> None:
    """Blue first, up to 255, less their channel means, in every view."""
    (crops,) = show(view(AUTHORS, "10-crop", side=224), ODD[:1])
    (ours,) = show(view(TORCHVISION, "10-crop", side=224), ODD[:1])
    mean, std = (torch.tensor(values)[:, None, None] for values in (TORCHVISION.mean, TORCHVISION.std))
    pixels = ((ours * std + mean) * 255).flip(2)
    assert torch.allclose(crops, pixels - torch.tensor(AUTHORS.mean)[:, None, None], atol=1e-3)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_says_how_much_it_shows(protocol: str) -> None:
    """As many views as it cuts; what a network is shown at once is no less than the largest of them."""
    viewing = view(Preprocess(resize=32, crop=28), protocol, side=28)
    shown = show(viewing, ODD)
    assert {views.shape[1] for views in shown} == {viewing.rules.views}
    assert viewing.pixels <= max(views.shape[1] * views.shape[-1] * views.shape[-2] for views in shown)
    assert viewing.rules.dense == (protocol == "multi-scale")


def test_the_preparation_is_told_as_far_as_it_is_one() -> None:
    """A size where there is one, of the crops as they are; the rest stays."""
    preprocess = Preprocess(resize=99, crop=28, mean=(0.5,))
    told = {protocol: view(preprocess, protocol, side=28).describe() for protocol in PROTOCOLS}
    assert told["1-crop"] == preprocess
    assert told["10-crop"] == Preprocess(resize=32, crop=28, mean=(0.5,))
    assert told["multi-scale"] == Preprocess(mean=(0.5,))


def test_protocols_cost_what_a_network_is_shown() -> None:
    """In crops of its side: ten squares, or two of each whole image, as large as their sizes say."""
    assert [PROTOCOLS[name].crops for name in ("1-crop", "10-crop")] == [1, 10]
    assert PROTOCOLS["multi-scale"].crops == pytest.approx(2 * (224**2 + 256**2 + 384**2 + 480**2 + 640**2) / 224**2)
