"""The paper's CIFAR networks trained by hand-written kernels: the same parameters and results, in fewer passes.

For plain networks, options A, B and C, and pre-activated networks without projections, in bfloat16 or float16 on CUDA;
results are the same to its rounding. Larger networks keep cuDNN's convolutions and have kernels for what is between
them (`normalized`). Nothing here imports Triton until a network is fused.
"""

from reslab.networks.fused.fusing import can_fuse, fuse, is_available
from reslab.networks.fused.normalized import can_normalize, normalize

__all__ = ["can_fuse", "can_normalize", "fuse", "is_available", "normalize"]
