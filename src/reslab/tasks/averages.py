"""One answer out of several, to views of an image or of several networks: every average is of probabilities.

docs/paper/deviations.md says why. Sums are in float64, so that the order of views does not show.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def average_softmax(logits: Tensor) -> Tensor:
    """Average the softmax of logits (images, views, classes) over views; return its logarithm, or one view as is."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    logs = logits.log_softmax(-1, dtype=torch.float64).logsumexp(1) - math.log(logits.shape[1])
    return logs.to(logits.dtype)


def average_sigmoid(logits: Tensor) -> Tensor:
    """Average the sigmoid of logits (images, views, classes) over views; return its logit, or a single view as is."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    wide = logits.double()
    return (F.logsigmoid(wide).logsumexp(1) - F.logsigmoid(-wide).logsumexp(1)).to(logits.dtype)
