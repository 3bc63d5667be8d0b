"""What can be set of a landscape; no torch."""

from dataclasses import dataclass
from typing import Literal

from reslab.analysis.settings import Settings
from reslab.errors import UserError
from reslab.spec.optimization import demand


@dataclass(frozen=True, kw_only=True)
class Landscape(Settings):
    """Loss and error around trained weights (Li et al., 2018).

    Fields:
        dimensions: 2, a surface, or 1, a line.
        points: How many points an axis has. Around random directions it is odd, so that the weights are one of them.
        span: How far an axis reaches to either side: in a random direction this many times the rescaled direction, in
            those of the path this many times what the path takes up, with a tenth around it.
        directions: Random, or the principal components of the run's snapshots.
        moves: What directions move: filters alone, or biases and the parameters of normalizations as well.
        scaled_by: The weight file whose filters give random directions their lengths; by default the weights at hand.
        norms: The statistics of batch normalization: those of the weights, fixed, or anew at each point.
        norm_images: How many training images they are taken from, in one batch, where they are taken anew.
        precision: What is computed in.
        batch: Images at once; 0 takes 1,000 of 32x32 pixels, and fewer of larger ones.
        at_once: Points at once, with all images of a batch each; 0 takes 8 where there are kernels of ours, else 1.
    """

    dimensions: Literal[2, 1] = 2
    points: int = 51
    span: float = 1.0
    directions: Literal["random", "pca"] = "random"
    moves: Literal["filters", "all"] = "filters"
    scaled_by: str = ""
    norms: Literal["fixed", "anew"] = "fixed"
    norm_images: int = 1000
    precision: Literal["fp32", "bf16", "fp64"] = "fp32"
    batch: int = 0
    at_once: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        demand(self, "", positive=("span",), least={"points": 3, "norm_images": 2, "batch": 0, "at_once": 0})
        if self.directions == "random" and self.points % 2 == 0:
            raise UserError(f"points is {self.points}, but the middle one is the weights; give an odd number")
        if self.scaled_by and self.directions == "pca":
            raise UserError("scaled_by is for random directions; leave it out, or leave out directions=pca")
