"""What the measurement of gradients can be told; no torch."""

from dataclasses import dataclass
from typing import Literal

from reslab.analysis.settings import Settings
from reslab.errors import UserError
from reslab.spec.optimization import demand

LEAST_BATCHES = 4  # of two, every draw is alike


@dataclass(frozen=True, kw_only=True)
class Gradients(Settings):
    """On which batches, at which weights, and between which inputs.

    Fields:
        images: Measure on so many images, which the seed draws; 0 takes all.
        on: The images that networks are tested on, or trained on, neither augmented.
        batch: How many images are in a batch.
        at: At the `weights`, or at the `initialization` that training draws by its seed.
        norms: Batch norm uses the statistics of each `batch`, as in training, or its `fixed` ones, as in a test.
        precision: The precision of the passes.
        path: Inputs are neighbours on a line `between` two images, or `around` one in a random direction.
        reach: How long a line around an image is, as a fraction of the image's norm.
        lines: How many lines there are.
        points: How many inputs are on a line, at equal distances.
        depths: At how many depths, at most, the gradients of neighbours are compared.
        confidence: That of the intervals, from 0 up to 1, both excluded.
        resamples: How many times batches and lines are drawn anew for an interval.
    """

    images: int = 1024
    on: Literal["test", "train"] = "train"
    batch: int = 128
    at: Literal["weights", "initialization"] = "weights"
    norms: Literal["batch", "fixed"] = "batch"
    precision: Literal["fp32", "fp64", "bf16"] = "fp32"
    path: Literal["between", "around"] = "between"
    reach: float = 0.1
    lines: int = 8
    points: int = 33
    depths: int = 12
    confidence: float = 0.95
    resamples: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        demand(
            self,
            "",
            positive=("batch", "reach", "lines", "resamples"),
            least={"points": 3, "depths": 2},
        )
        if 0 < self.images < LEAST_BATCHES * self.batch:
            raise UserError(
                f"images is {self.images} and batch is {self.batch}, but {LEAST_BATCHES} batches are needed to say how "
                "sure a mean is; give more images or a smaller batch"
            )
