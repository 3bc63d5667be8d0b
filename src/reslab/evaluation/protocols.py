"""How a network's guesses about what it was shown become one: every average is of softmax (docs/deviations.md).

Of sigmoids, where images have several labels. What is infinite in one view is no number in the average.

Shown a whole image, a network of the paper gives scores for each place its crop could have: the last map is averaged
over every window as large as the map of one crop, and each average is classified. For crops of 224 a window has 7x7
places, and square images of 224, 256, 384, 480 and 640 have 1, 2, 6, 9 and 14 of them a side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.evaluation.crops import Viewing
from reslab.networks import Network
from reslab.networks.execution import Execution
from reslab.networks.network import Chain
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import name_of

Parts = tuple[Callable[[Tensor], Tensor], nn.Module]


class Judge:
    """A network that is shown images by a protocol, and says of each what it is."""

    def __init__(self, network: Network, viewing: Viewing, execution: Execution) -> None:
        self.network, self.viewing, self.execution = network, viewing, execution
        self.average = average_sigmoid if network.task == "multi-label" else average_softmax
        self.parts = divide_network(network) if viewing.protocol == "multi-scale" else None
        self.window = self._measure_window() if self.parts else None

    @torch.no_grad()
    def judge(self, images: Sequence[Tensor]) -> Tensor:
        """Return logits, an image a row; each tensor of `images` has images of one size."""
        shown = [self.viewing.show(group) for group in images]
        logits = []
        for _, alike in itertools.groupby(shown, lambda views: [view.shape[1:] for view in views]):
            at_each_size = [self._look(torch.cat(views)) for views in zip(*alike, strict=True)]
            logits.append(self.average(torch.stack(at_each_size, 1)))
        return torch.cat(logits)

    def _look(self, views: Tensor) -> Tensor:
        """Return one row of logits an image for views (images, views, channels, height, width)."""
        x = self.execution.prepare(views.flatten(0, 1))
        if self.parts is None or self.window is None:
            logits = self.network(x)[:, None]
        else:
            logits = score_windows(self.parts, x, self.window).flatten(1, 2)
        logits = logits.masked_fill(logits.isinf(), math.nan)  # a softmax or sigmoid would hide it
        return self.average(logits.unflatten(0, views.shape[:2]).flatten(1, 2))

    @torch.no_grad()
    def _measure_window(self) -> tuple[int, int]:
        assert self.parts is not None
        parameter = next(self.network.parameters())
        crop = parameter.new_zeros(1, self.network.spec.channels, self.viewing.side, self.viewing.side)
        height, width = self.parts[0](crop).shape[-2:]
        return height, width


def divide_network(network: Network) -> Parts:
    """Return what makes a network's last map, and what classifies averages of it; not every network has such a map."""
    if isinstance(network, ResidualNetwork) and network.spec.dimensions == 2:
        return network.feature_map, network.classifier
    if isinstance(network, Chain) and "pooled" in network.steps:
        pooled = list(network.steps).index("pooled")
        steps = list(network.steps.values())
        return nn.Sequential(*steps[:pooled]), nn.Sequential(*steps[pooled + 1 :])
    raise UserError(
        f"protocol=multi-scale needs a convolutional map that is averaged and classified, and {name_of(network.spec)} "
        "has none we know; use protocol=10-crop"
    )


def score_windows(parts: Parts, x: Tensor, window: tuple[int, int]) -> Tensor:
    """Return logits for every window of the last map: (images, windows down, windows across, classes)."""
    make_map, classify = parts
    averages = F.avg_pool2d(make_map(x), window, stride=1).permute(0, 2, 3, 1)
    return classify(averages.flatten(0, 2)).unflatten(0, averages.shape[:3])


def average_softmax(logits: Tensor) -> Tensor:
    """Average the softmax of logits (images, views, classes) over views; return its logarithm, or a single view as is.

    The sum is in float64, so that the order of views does not show.
    """
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
