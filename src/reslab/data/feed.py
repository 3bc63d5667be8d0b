"""What a training gets its images from: batches by their step, the test images in order, and how both are prepared."""

from collections.abc import Iterator
from typing import Protocol, Self

from torch import Tensor

from reslab.data.targets import Targets
from reslab.spec import Preprocess


class Feed(Protocol):
    """Batches for one trial, of this process's share. A batch is images, targets, and what mixing adds to these."""

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given: channels, height, width."""
        ...

    @property
    def preprocess(self) -> Preprocess:
        """What happens to an image before the network."""
        ...

    @property
    def mean_image(self) -> Tensor | None:
        """What is subtracted from every image, where that is an image."""
        ...

    @property
    def targets(self) -> Targets:
        """The targets of all images to train on."""
        ...

    @property
    def validation(self) -> Self | None:
        """The same with the images held back from training to test on; None where there are none."""
        ...

    @property
    def tested(self) -> range:
        """Which of the test images are this process's."""
        ...

    @property
    def num_tests(self) -> int:
        """How many test images all processes have together."""
        ...

    @property
    def num_skipped_tests(self) -> int:
        """How many test images could not be read, once the processes have shared what they know."""
        ...

    @property
    def is_resident(self) -> bool:
        """Whether the test images lie on the device, so that a test of them can be captured."""
        ...

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batches of iterations from `step` on, the iteration being the first axis.

        They are `count`, or fewer where those that follow have another shape.
        """
        ...

    def tests(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield every test image of this process's share once, prepared, with its target and its number."""
        ...

    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""
        ...

    def share_skipped(self) -> int:
        """Let all processes know what images any has skipped; return how many of those were to be trained on."""
        ...
