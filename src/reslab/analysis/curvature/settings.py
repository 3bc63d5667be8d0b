"""What the measurement of curvature can be told; no torch."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reslab.analysis.settings import Settings
from reslab.spec.optimization import demand

Matrix: TypeAlias = Literal["hessian", "gauss-newton"]
Norm: TypeAlias = Literal["fixed", "batch"]
Precision: TypeAlias = Literal["fp64", "fp32", "tf32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class Curvature(Settings):
    """Which matrix, on which images, and how closely its spectrum is looked at.

    Fields:
        images: Measure on the first so many images, or, of a folder, on so many spread evenly over it; 0 takes all.
        on: The images that the network was trained on, not augmented, or those it is tested on.
        matrix: The Hessian of the mean loss, or its Gauss-Newton matrix.
        norms: Normalize by the running statistics (fixed), or by those of each batch, differentiated through.
        weight_decay: Added to the whole diagonal: the matrix is that of the loss plus weight_decay / 2 |weights|^2.
        precision: fp64, fp32, tf32 (fp32 with convolutions on tensor cores) or bf16 (from the images to the average).
        batch: Images at once. By fixed statistics it changes nothing but speed and memory.
        top: How many of the largest eigenvalues to tell.
        probes: Random vectors for the trace and the density.
        steps: Lanczos steps from each probe.
        confidence: That of the intervals of the trace and of conditions, from 0 up to 1, both excluded.
        broadening: Width of the Gaussians in the density, as a fraction of the spectrum's range.
        vectors: How many vectors are multiplied at once.
        block_steps: Lanczos steps for the condition of each block; 0 does not measure it.
        block_images: The first so many of the images, for the conditions of blocks; 0 takes them all.
    """

    images: int = 4096
    on: Literal["test", "train"] = "train"
    matrix: Matrix = "hessian"
    norms: Norm = "fixed"
    weight_decay: float = 0.0
    precision: Precision = "fp32"
    batch: int = 128
    top: int = 10
    probes: int = 4
    steps: int = 64
    confidence: float = 0.95
    broadening: float = 0.01
    vectors: int = 4
    block_steps: int = 16
    block_images: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        least: dict[str, float] = dict.fromkeys(("batch", "top", "probes", "steps", "vectors"), 1)
        least |= {"weight_decay": 0, "block_steps": 0, "block_images": 0}
        demand(self, "", positive=("broadening",), least=least)
