"""How a network's answers to what it is shown become one an image, by the task's average.

What is infinite in one view is no number in the average. Shown a whole image, a network of the paper gives scores for
each place its crop could have: the last map is averaged over every window as large as the map of one crop, and each
average is classified. For crops of 224 a window has 7x7 places, and square images of 224, 256, 384, 480 and 640 have
1, 2, 6, 9 and 14 of them a side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.inference import Inference, Served, serve
from reslab.networks.network import DenseParts
from reslab.runtime.execution import Execution
from reslab.spec import name_of
from reslab.tasks.task import find_task
from reslab.tasks.views import Viewing

MOST_PIXELS = {"cpu": 64 * 224**2, "cuda": 512 * 224**2}  # that a network is shown at once


class Judge:
    """A network that is shown images by a protocol, and says of each what it is."""

    def __init__(self, network: Network, viewing: Viewing, execution: Execution, *, precision: Served = "fp32") -> None:
        self.network, self.viewing = network, viewing
        self.task = find_task(network.task)
        self.average = self.task.average
        device = next(network.parameters()).device
        self.most_pixels = MOST_PIXELS.get(device.type, MOST_PIXELS["cpu"])
        self.answer = Inference(
            self._choose_answer(serve(network, precision, device=device)),
            precision=precision,
            execution=execution,
            device=device,
        )

    @torch.no_grad()
    def judge(self, images: Sequence[Tensor], question: int = 0) -> Tensor:
        """Return one row of outputs an image; each tensor of `images` has images of one size.

        At each size shown, those that become alike go through the network together.
        """
        at_each_size = [self._judge_at(images, shorter, question) for shorter in self.viewing.shorter_sides]
        return self.average(torch.stack(at_each_size, 1))

    def _judge_at(self, images: Sequence[Tensor], shorter: int | None, question: int) -> Tensor:
        waiting: dict[torch.Size, list[tuple[range, Tensor]]] = {}
        pixels: Counter[torch.Size] = Counter()
        rows: list[tuple[range, Tensor]] = []
        first = 0
        for group in images:
            views = self.task.pose_test(self.viewing.show(group, shorter), question)
            shape = views.shape[1:]
            waiting.setdefault(shape, []).append((range(first, first + len(group)), views))
            pixels[shape] += views.numel() // views.shape[2]
            first += len(group)
            if pixels[shape] >= self.most_pixels:
                rows += self._look_at_all(waiting.pop(shape))
                del pixels[shape]
        for alike in waiting.values():
            rows += self._look_at_all(alike)
        order = torch.tensor([place for places, _ in rows for place in places]).argsort()
        return torch.cat([looked for _, looked in rows])[order]

    def _look_at_all(self, alike: Sequence[tuple[range, Tensor]]) -> list[tuple[range, Tensor]]:
        """Return the rows of images that became alike, with their places."""
        looked = self._look(torch.cat([views for _, views in alike])).split([len(places) for places, _ in alike])
        return list(zip([places for places, _ in alike], looked, strict=True))

    def _look(self, views: Tensor) -> Tensor:
        """Return one row of outputs an image for views (images, views, channels, height, width)."""
        outputs = self.answer(views.flatten(0, 1))
        outputs = outputs.masked_fill(outputs.isinf(), math.nan)  # a softmax or sigmoid would hide it
        return self.average(outputs.unflatten(0, views.shape[:2]).flatten(1, 2))

    def _choose_answer(self, network: Network) -> Callable[[Tensor], Tensor]:
        """Return what gives outputs (images, windows, classes): one window, or every one of the last map."""
        if not self.viewing.rules.dense:
            return lambda x: network(x)[:, None]
        parts = find_dense_parts(network, protocol=self.viewing.protocol)
        window = self._measure_window(parts, next(network.parameters()))
        return lambda x: score_windows(parts, x, window).flatten(1, 2)

    @torch.no_grad()
    def _measure_window(self, parts: DenseParts, parameter: Tensor) -> tuple[int, int]:
        crop = parameter.new_zeros(1, self.network.spec.channels, self.viewing.side, self.viewing.side)
        height, width = parts[0](crop).shape[-2:]
        return height, width


def find_dense_parts(network: Network, *, protocol: str) -> DenseParts:
    """Return what makes a network's last map, and what classifies averages of it; not every network has such a map."""
    parts = network.dense_parts()
    if parts is None:
        raise UserError(
            f"protocol={protocol} needs a convolutional map that is averaged and classified, and "
            f"{name_of(network.spec)} has none we know; use protocol=10-crop"
        )
    return parts


def score_windows(parts: DenseParts, x: Tensor, window: tuple[int, int]) -> Tensor:
    """Return outputs for every window of the last map: (images, windows down, windows across, classes)."""
    make_map, classify = parts
    averages = F.avg_pool2d(make_map(x), window, stride=1).permute(0, 2, 3, 1)
    return classify(averages.flatten(0, 2)).unflatten(0, averages.shape[:3])
