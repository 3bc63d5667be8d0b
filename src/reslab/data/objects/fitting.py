"""How large images are shown to a detector: whole, in proportion, and in batches of a few shapes.

The shorter side becomes 600 pixels, or as much less as keeps the longer one at 1,000 (Faster R-CNN, and the paper). A
batch is padded at the right and at the bottom to the smallest of the shapes into which its images fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reslab.data.geometry import Geometry
from reslab.spec.detection import MULTIPLE

USUAL_ASPECT, EXTREME_ASPECT = 4 / 3, 5 / 2  # longer side to shorter: of most cameras, and of panoramas
Size = tuple[int, int]  # width, height
Shape = tuple[int, int]  # height, width


@dataclass(frozen=True)
class Fitting:
    """The length that the `shorter` side of images becomes, and the `longest` that the other may become."""

    shorter: int
    longest: int

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of batches, the smallest first: square, of the usual aspect, wider, and of extreme aspects."""
        usual = min(round(self.shorter * USUAL_ASPECT), self.longest)
        narrow = min(round(self.longest / EXTREME_ASPECT), self.shorter)
        sides = [(self.shorter,) * 2, (self.shorter, usual), (self.shorter, self.longest), (narrow, self.longest)]
        rounded = [tuple(-(-side // MULTIPLE) * MULTIPLE for side in sorted(pair)) for pair in sides]
        both = {shape for short, long in rounded for shape in ((short, long), (long, short))}
        return tuple(sorted(both, key=lambda shape: (shape[0] * shape[1], shape)))

    def resize(self, width: int, height: int) -> Size:
        """Return the width and height with which an image is shown."""
        scale = min(self.shorter / min(width, height), self.longest / max(width, height))
        return max(1, round(width * scale)), max(1, round(height * scale))

    def shrink(self, scale: float) -> Fitting:
        """Return the same with a shorter side of this fraction; what fits a shape of ours fits it so, too."""
        return Fitting(max(1, round(self.shorter * scale)), self.longest)

    def place(self, width: int, height: int, *, flip: bool = False) -> Geometry:
        """Return what resizes an image of this size, and moves its boxes."""
        return Geometry((0, 0, width, height), self.resize(width, height), flip)

    def find_shape(self, width: int, height: int) -> Shape:
        """Return the shape that an image is padded to."""
        return self.shapes[self.choose_shapes(np.array([[width, height]]))[0]]

    def choose_shapes(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the shapes that images (a row of width and height each) are padded to."""
        resized = np.array([self.resize(*size) for size in sizes.tolist()], np.int64).reshape(-1, 2)
        fits = (resized[:, None, ::-1] <= np.array(self.shapes)).all(2)
        return fits.argmax(1)
