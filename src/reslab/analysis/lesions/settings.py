"""What can be told to the instrument of lesions; no torch."""

from dataclasses import dataclass
from typing import Literal

from reslab.analysis.settings import Settings
from reslab.spec.optimization import demand


@dataclass(frozen=True, kw_only=True)
class Lesions(Settings):
    """Which lesions are made, how many are drawn, and what they are judged by.

    Fields:
        single: Delete each block alone.
        pairs: Delete so many different pairs of blocks, drawn where there are more. 0: none.
        several: Delete 1, 2, ... so many blocks at once. 0: none.
        swaps: Exchange 1, 2, ... so many times two blocks of a stage. 0: none.
        draws: How often each number of deleted blocks, or of exchanges, is drawn.
        reset: Put each block back to its initial weights, alone.
        reset_step: Put it back to the run's snapshot of that iteration instead. 0: the initial weights.
        paths: Draw so many paths of each length for the gradient along them. 0: none.
        path_images: The images that these gradients are of.
        norms: What batch normalization uses: its own statistics (`fixed`), or those of each `batch`.
        precision: Number format of the forward passes.
        batch: Images in a batch.
        confidence: Of the intervals.
    """

    single: bool = True
    pairs: int = 200
    several: int = 20
    swaps: int = 20
    draws: int = 10
    reset: bool = True
    reset_step: int = 0
    paths: int = 10
    path_images: int = 128
    norms: Literal["fixed", "batch"] = "fixed"
    precision: Literal["fp32", "bf16"] = "fp32"
    batch: int = 250
    confidence: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        demand(
            self,
            "",
            least={"pairs": 0, "several": 0, "swaps": 0, "reset_step": 0, "paths": 0},
            positive=(
                "draws",
                "path_images",
                "batch",
            ),
        )
