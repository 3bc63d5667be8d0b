"""What normalizations tell each other, one column per channel: how responses are normalized, how gradients go back.

Forward, ``y = scale * z + shift`` (an `affine`); backward, the gradient of z is ``a * g + b * z + c`` (a `fold`).
"""

# pyright: reportGeneralTypeIssues=false

from __future__ import annotations

import triton
import triton.language as tl
from triton.language import constexpr

# Rows of an affine, and of a fold.
MEAN, RSTD, SCALE, SHIFT = constexpr(0), constexpr(1), constexpr(2), constexpr(3)
GRADIENT, RESPONSE, CONSTANT = constexpr(0), constexpr(1), constexpr(2)


@triton.jit
def write_fold(fold, gamma_gradient, beta_gradient, gamma, mean, rstd, total, products, pixels, width, channel):
    """Write the gradients of gamma and beta, and how normalization folds that of its output, by sums over the batch.

    The sums are of the gradient and of its products with the responses' distances from their mean.
    """
    products *= rstd
    tl.store(beta_gradient + channel, total)
    tl.store(gamma_gradient + channel, products)
    a = tl.load(gamma + channel) * rstd
    b = -a * rstd * products / pixels
    tl.store(fold + GRADIENT * width + channel, a)
    tl.store(fold + RESPONSE * width + channel, b)
    tl.store(fold + CONSTANT * width + channel, -a * total / pixels - b * mean)
