"""Images as detectors are shown them, and boxes back in the images as stored."""

from __future__ import annotations

import torch

from reslab.data.objects.fitting import Fitting
from reslab.spec import Preprocess
from reslab.spec.boxes import FRAME
from reslab.tasks.detection.showing import show_whole, to_stored


def test_an_image_is_resized_and_padded() -> None:
    """Its shorter side as asked for, prepared, with zeros on the right and below; the frame says how far it reaches."""
    image = torch.full((1, 3, 45, 60), 128, dtype=torch.uint8)
    prepared, frame = show_whole(image, Fitting(66, 96), Preprocess(resize=9, mean=(0.1,), std=(0.5,)), brightest=255)
    assert frame[0, 0].tolist() == [0, 0, 88, 66, FRAME, 60, 45]
    assert prepared.shape[2:] == (96, 96)
    assert torch.allclose(prepared[..., :66, :88], torch.tensor((128 / 255 - 0.1) / 0.5))
    assert not prepared[..., 66:, :].any() and not prepared[..., 88:].any()


def test_boxes_return_to_the_stored_image() -> None:
    """What fills the frame fills the image; scores and classes stay."""
    _, frame = show_whole(torch.zeros(1, 1, 45, 60), Fitting(66, 96), Preprocess(), brightest=255)
    rows = torch.tensor([[[0.0, 0, 88, 66, 0.5, 2], [44, 33, 88, 66, 0.25, -1]]])
    stored = to_stored(rows, frame)
    torch.testing.assert_close(stored[0], torch.tensor([[0.0, 0, 60, 45, 0.5, 2], [30, 22.5, 60, 45, 0.25, -1]]))
