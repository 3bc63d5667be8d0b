"""Square images of one size trained on as photographs are: a part of each, resized (paper, section 3.4).

Images are cropped and resized where they lie, a batch at once: on a GPU this takes less time than decoding one file. A
crop is as large as the images. Tests see the centre of what is resized, as those of photographs do.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.data.arrays.order import Draw
from reslab.data.arrays.resident import Preparation, send
from reslab.data.arrays.split import ArraySplit
from reslab.data.colour import find_shifts
from reslab.data.geometry import find_test_side
from reslab.data.preprocessing import centre_pixels, preprocess_images
from reslab.spec import Preprocess


def describe_crops(side: int) -> Preprocess:
    """Return how images of this side are prepared for a test."""
    return Preprocess(resize=find_test_side(side), crop=side, per_pixel_mean=True)


class CroppedBatches:
    """A split, on the device or beside it, of which drawn parts become batches."""

    def __init__(
        self, split: ArraySplit, preparation: Preparation, *, resident: bool, device: torch.device | str
    ) -> None:
        self.size, self.brightest, self.preparation = split.images.shape[-1], preparation.brightest, preparation
        self.is_resident, self.device = resident, torch.device(device)
        self.images, self.targets = torch.from_numpy(split.images), torch.from_numpy(split.targets.astype(np.int64))
        if resident:
            self.images, self.targets = self.images.to(device), self.targets.to(device)
        self.preprocess = describe_crops(self.size)
        # To resize and crop is linear: what is done to the mean image is done to every image.
        whole = Preprocess(resize=self.preprocess.resize, crop=self.size)
        self.mean = preprocess_images(torch.from_numpy(preparation.mean)[None], whole, brightest=1)[0].to(device)

    def __len__(self) -> int:
        return len(self.targets)

    def augmented(self, draw: Draw) -> tuple[Tensor, Tensor]:
        """Return the images and targets of a drawn batch."""
        indices = send(draw.indices, self.images.device)
        images = (self.images[indices].to(self.device) / self.brightest).contiguous()
        images = resize_parts(images, send(draw.boxes, self.device), flips=send(draw.flips, self.device))
        if draw.colours.any():
            images += send(find_shifts(draw.colours), self.device)[:, :, None, None]
        centre_pixels(images, self.preprocess, mean_image=self.mean, in_place=True)
        return self.preparation.cut(images, draw), self.targets[indices].to(self.device)

    def plain(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        """Return the images from `first` up to `last` as a test sees them."""
        images = self.images[first:last].to(self.device)
        prepared = preprocess_images(images, self.preprocess, brightest=self.brightest, mean_image=self.mean)
        return prepared, self.targets[first:last].to(self.device)


def resize_parts(images: Tensor, boxes: Tensor, *, flips: Tensor) -> Tensor:
    """Return the part of each image in its box, resized to all of the image's size, and mirrored where it `flips`.

    Boxes (left, top, right, bottom) are in pixels, and no larger than images: nothing is made smaller here.
    """
    side = images.shape[-1]
    places = (torch.arange(side, device=images.device) + 0.5) / side
    left, top, right, bottom = boxes.T[..., None]
    across = left + torch.where(flips[:, None], 1 - places, places) * (right - left)
    down = top + places * (bottom - top)
    grid = torch.stack(torch.broadcast_tensors(across[:, None, :], down[:, :, None]), -1)
    return F.grid_sample(images, 2 * grid / side - 1, padding_mode="border", align_corners=False)
