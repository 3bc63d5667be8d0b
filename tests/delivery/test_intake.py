"""Pictures enter a network as evaluation prepares them, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from tests.delivery.conftest import SMALL, make_network

from reslab.data.preprocessing import preprocess_images
from reslab.data.reading import BadImage
from reslab.delivery.intake import arithmetic, geometry, make_batches, make_intake, tell_misfit, to_channels
from reslab.delivery.pictures import Picture
from reslab.errors import UserError
from reslab.networks import Network, create_model
from reslab.spec.preprocess import PER_PIXEL_MEAN


def picture(height: int = 24, width: int = 30, *, channels: int = 3, brightest: int = 255) -> Picture:
    pixels = torch.randint(0, brightest + 1, (channels, height, width), dtype=torch.uint8)
    return Picture(name=f"{width}x{height}.png", pixels=pixels, brightest=brightest)


def test_bit_for_bit_as_evaluation_prepares(network: Network) -> None:
    """One by one and gathered equals all at once by the function evaluation uses."""
    pictures = [picture() for _ in range(5)]
    batches = list(make_batches(pictures, make_intake(network), size=2))
    assert [len(held) for held, _ in batches] == [2, 2, 1]
    at_once = preprocess_images(torch.stack([one.pixels for one in pictures]), SMALL, brightest=255)
    assert torch.equal(torch.cat([prepared for _, prepared in batches]), at_once)


def test_geometry_and_arithmetic_make_the_whole() -> None:
    """What is outside of a file, then what is inside, is the preprocessing, up to rounding."""
    for change in ({}, {"channel_order": "BGR", "pixel_range": "0-255"}, {"interpolation": "bicubic"}):
        whole = replace(SMALL, **change)
        images = picture().pixels[None]
        framed = preprocess_images(images, geometry(whole), brightest=255)
        inside = preprocess_images(framed, arithmetic(whole), brightest=255)
        together = preprocess_images(images, whole, brightest=255)
        assert torch.allclose(inside, together, atol=1e-5 * float(together.abs().max()))


def test_a_batch_ends_where_sizes_differ(network: Network) -> None:
    """Without a crop pictures keep their shape, and their order."""
    intake = make_intake(network, preprocess=replace(SMALL, crop=None))
    pictures = [picture(20, 30), picture(20, 30), picture(30, 20), picture(20, 30)]
    assert [prepared.shape for _, prepared in make_batches(pictures, intake, size=9)] == [
        (2, 3, 20, 30),
        (1, 3, 30, 20),
        (1, 3, 20, 30),
    ]


def test_one_that_does_not_fit_is_left_out_where_someone_takes_note(network: Network) -> None:
    """And stops the others where nobody does."""
    intake, noted = make_intake(network, preprocess=replace(SMALL, resize=None)), []
    tiny = replace(picture(9, 9), on_bad=noted.append)
    assert [len(held) for held, _ in make_batches([picture(), tiny, picture()], intake, size=9)] == [2]
    assert str(noted[0]).startswith("9x9.png: crop is 16, but the images are 9x9")
    with pytest.raises(BadImage, match=r"9x9\.png: crop is 16"):
        list(make_batches([picture(), picture(9, 9)], intake, size=9))


def test_grey_and_colour_meet() -> None:
    """Grey is repeated; colour becomes the grey that Pillow makes of it; digits keep their own white."""
    colour = picture().pixels
    pillows = np.asarray(Image.fromarray(colour.permute(1, 2, 0).numpy()).convert("L"))
    assert np.array_equal(to_channels(colour, 1)[0].numpy(), pillows)
    assert torch.equal(to_channels(to_channels(colour, 1), 3)[2], to_channels(colour, 1)[0])
    grey = make_network(channels=1)
    intake = make_intake(grey, preprocess=replace(SMALL, mean=(0.0,), std=(1.0,)))
    white = Picture(name="white", pixels=torch.full((1, 16, 16), 16, dtype=torch.uint8), brightest=16)
    assert intake.prepare(white).unique().tolist() == [1.0]
    assert intake.frame(white).unique().tolist() == pytest.approx([255.0])


def test_a_size_nothing_is_said_about_is_told(network: Network) -> None:
    """With the fields to add; the size the network takes passes as it is."""
    network.preprocess, network.mean_image = PER_PIXEL_MEAN, torch.rand(3, 16, 16)
    intake = make_intake(network)
    assert intake.prepare(picture(16, 16)).shape == (1, 3, 16, 16)
    with pytest.raises(
        UserError, match=r"30x24\.png is 30x24, but .* takes 16x16.*preprocess\.resize=16 preprocess\.crop"
    ):
        intake.prepare(picture())
    with pytest.raises(UserError, match=r"4x4\.png: crop is 16, but the images are 4x4"):
        make_intake(network, preprocess=replace(SMALL, resize=None)).prepare(picture(4, 4))


def test_networks_that_take_no_pictures_are_refused(network: Network) -> None:
    """Sequences, other channels, no preprocessing, sizes that do not pass."""
    with pytest.raises(UserError, match="which are not images"):
        make_intake(create_model("cifar-resnet-8", dimensions=1))
    with pytest.raises(UserError, match="does not say how its images are prepared"):
        make_intake(create_model("cifar-resnet-8"))
    with pytest.raises(UserError, match=r"3x1x1 do not pass through lenet-5 .* set preprocess\.resize"):
        lenet, images = create_model("lenet-5", in_chans=3), torch.zeros(1, 3, 1, 1)
        with tell_misfit(lenet, images):
            lenet(images)
