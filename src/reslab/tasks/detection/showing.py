"""How a detector is shown a whole image, and where in the image as stored that is which it finds."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.data.objects.fitting import Fitting
from reslab.data.preprocessing import preprocess_images
from reslab.spec import Preprocess
from reslab.spec.boxes import BOTTOM, COLUMNS, FRAME, HEIGHT, RIGHT, WIDTH


def show_whole(image: Tensor, fitting: Fitting, preprocess: Preprocess, *, brightest: int) -> tuple[Tensor, Tensor]:
    """Return an image (1, channels, height, width) as a detector is shown it, padded, and its frame as targets."""
    width, height = fitting.resize(image.shape[3], image.shape[2])
    # As trainings do, which test on bytes too, to the bit; CUDA cannot resize bytes.
    pixels = image.contiguous(memory_format=torch.channels_last)
    pixels = pixels.float() if image.is_cuda or image.dtype != torch.uint8 else pixels
    if (height, width) != image.shape[2:]:
        pixels = F.interpolate(pixels, size=(height, width), mode="bilinear", antialias=True)
    known = replace(preprocess, resize=None, crop=None)
    prepared = preprocess_images(pixels.float().round(), known, brightest=brightest)
    shape = fitting.find_shape(image.shape[3], image.shape[2])
    padded = F.pad(prepared, (0, shape[1] - width, 0, shape[0] - height))
    frame = torch.zeros(1, 1, COLUMNS, device=image.device)
    frame[0, 0] = torch.tensor([0, 0, width, height, FRAME, image.shape[3], image.shape[2]])
    return padded, frame


def to_stored(rows: Tensor, targets: Tensor) -> Tensor:
    """Return the detections in images (images, kept, 6) with their boxes in pixels of the images as stored."""
    scale = (targets[:, 0, [WIDTH, HEIGHT]] / targets[:, 0, [RIGHT, BOTTOM]]).repeat(1, 2)
    return torch.cat([rows[..., : BOTTOM + 1] * scale[:, None], rows[..., BOTTOM + 1 :]], dim=-1)
