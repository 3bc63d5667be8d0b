"""What the loop needs of a task: batches, the loss of one, what to count of it, and how the network is judged.

What is counted are sums over images, a vector whose values the task names; the loop adds them up, hands them back under
those names, and knows none of them itself.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from torch import Tensor

from reslab.networks import Network
from reslab.runtime.execution import Execution


class Task(Protocol):
    """What is trained, and how the training is told of."""

    @property
    def tallied(self) -> tuple[str, ...]:
        """The names of what is counted beside the loss."""
        ...

    @property
    def execution(self) -> Execution:
        """Memory layout and precision."""
        ...

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Channels, height, width."""
        ...

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batches of iterations from `step` on, the iteration being the first axis.

        They are `count`, or fewer where those that follow have another shape.
        """
        ...

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Return the mean loss of a batch, or of a part of one, and the sums over its images of what is tallied."""
        ...

    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        """Return what the log says of the training on so many images, under the log's names."""
        ...

    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        """Return what has to fall below `recipe.warmup.until_error_percent` for the warm-up to end."""
        ...

    def make_evaluation(self, network: Network, *, capture: bool) -> Callable[[], dict[str, float]]:
        """Return what gives named scores of the network as it then is, captured as a CUDA graph where possible."""
        ...

    def rate_choice(self, metrics: Mapping[str, float]) -> float:
        """Return how good an evaluation is by the score that the best weights are kept by, more being better."""
        ...

    def name_images(self, step: int) -> str:
        """Say which images iteration `step` sees."""
        ...
