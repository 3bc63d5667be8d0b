"""How a network's answers to what it is shown become one an image, by the task's average.

What is infinite in one view is no number in the average. Shown a whole image, a network of the paper gives scores for
each place its crop could have: the last map is averaged over every window as large as the map of one crop, and each
average is classified. For crops of 224 a window has 7x7 places, and square images of 224, 256, 384, 480 and 640 have
1, 2, 6, 9 and 14 of them a side.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.inference import Inference, Served, serve
from reslab.networks.network import DenseParts
from reslab.networks.products import AsProducts
from reslab.runtime.execution import Execution
from reslab.spec import name_of
from reslab.tasks.views import Viewing

if TYPE_CHECKING:
    from reslab.tasks.output_task import OutputTask
    from reslab.tasks.subject import Subject

MOST_PIXELS = {"cpu": 64 * 224**2, "cuda": 512 * 224**2}  # that a network is shown at once
LARGER = 4  # times what a pass takes by products, about
OFTEN = 8  # passes of one shape, before recording one is worth its time: they are large


class Judge:
    """A network that is shown images by a protocol, and says of each what it is."""

    def __init__(
        self, network: Network, task: OutputTask, viewing: Viewing, execution: Execution, *, precision: Served = "fp32"
    ) -> None:
        self.network, self.task, self.viewing = network, task, viewing
        self.average = self.task.average
        device = next(network.parameters()).device
        self.most_pixels = MOST_PIXELS.get(device.type, MOST_PIXELS["cpu"])
        if viewing.rules.dense and device.type == "cuda":
            self.most_pixels //= LARGER  # windows of a map are laid out as rows there
        self.answer = Inference(
            self._choose_answer(serve(network, precision, device=device)),
            precision=precision,
            execution=execution,
            device=device,
            capture_at=None if viewing.rules.dense else OFTEN,
        )

    @torch.no_grad()
    def judge(self, images: Sequence[Tensor], question: int = 0) -> Tensor:
        """Return one row of outputs an image; each tensor of `images` has images of one size.

        At each size shown, those that become alike go through the network together.
        """
        at_each_size = [self._judge_at(images, shorter, question) for shorter in self.viewing.shorter_sides]
        return self.average(torch.stack(at_each_size, 1))

    def _judge_at(self, images: Sequence[Tensor], shorter: int | None, question: int) -> Tensor:
        alike: dict[tuple[int, ...], list[tuple[range, Tensor]]] = {}
        first = 0
        for group in images:
            size = self.viewing.measure(group.shape[2:], shorter)
            alike.setdefault(size, []).append((range(first, first + len(group)), group))
            first += len(group)
        places: list[int] = []
        rows: list[Tensor] = []
        for size, groups in alike.items():
            for fitting in self._divide(groups, math.prod(size)):
                views = torch.cat([self.viewing.show(group, shorter) for _, group in fitting])
                rows.append(self._look(self.task.pose_test(views, question)))
                places += [place for part, _ in fitting for place in part]
        return torch.cat(rows)[torch.tensor(places).argsort().to(rows[0].device)]

    def _divide(self, groups: Sequence[tuple[range, Tensor]], pixels: int) -> Iterator[list[tuple[range, Tensor]]]:
        """Yield as many groups at a time as a network is shown at once; a view has so many `pixels`."""
        most, count = self.most_pixels / (self.viewing.rules.views * pixels), 0
        fitting: list[tuple[range, Tensor]] = []
        for group in groups:
            fitting.append(group)
            count += len(group[0])
            if count >= most:
                yield fitting
                fitting, count = [], 0
        if fitting:
            yield fitting

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

        def answer(x: Tensor) -> Tensor:
            with AsProducts() if x.is_cuda else contextlib.nullcontext():
                return score_windows(parts, x, window).flatten(1, 2)

        return answer

    @torch.no_grad()
    def _measure_window(self, parts: DenseParts, parameter: Tensor) -> tuple[int, int]:
        crop = parameter.new_zeros(1, self.network.spec.channels, self.viewing.side, self.viewing.side)
        height, width = parts[0](crop).shape[-2:]
        return height, width


class Judges:
    """Networks that are shown the same images, each by its own preprocessing, and what they say on the average."""

    def __init__(self, members: Sequence[Subject], *, protocol: str, precision: Served) -> None:
        self.task = cast("OutputTask", members[0].task)
        self.judges = [
            Judge(one.network, self.task, one.viewing(protocol), one.execution, precision=precision) for one in members
        ]

    @property
    def most_images(self) -> int:
        """How many images are best read at once on a CPU: no more than a network is shown at once."""
        return max(1, min(judge.most_pixels // judge.viewing.pixels for judge in self.judges))

    def judge(self, images: Sequence[Tensor], question: int) -> tuple[list[Tensor], Tensor]:
        """Return what each network says of images, a row of outputs an image, and their average."""
        outputs = [judge.judge(images, question) for judge in self.judges]
        return outputs, self.task.average(torch.stack(outputs, 1))

    def describe(self) -> list[dict[str, Any]]:
        """Say how images are prepared; several sizes are beside the preprocessing, which has but one."""
        viewings = [judge.viewing for judge in self.judges]
        return [{"preprocess": one.describe().describe(), "shorter_sides": list(one.shorter_sides)} for one in viewings]


def find_dense_parts(network: Network, *, protocol: str) -> DenseParts:
    """Return what makes a network's last map, and what classifies averages of it; not every network has such a map."""
    parts = network.dense_parts()
    if parts is None:
        raise UserError(
            f"protocol={protocol} needs a feature map that is averaged and classified, but "
            f"{name_of(network.spec)} has none; use protocol=10-crop"
        )
    return parts


def score_windows(parts: DenseParts, x: Tensor, window: tuple[int, int]) -> Tensor:
    """Return outputs for every window of the last map: (images, windows down, windows across, classes)."""
    make_map, classify = parts
    averages = F.avg_pool2d(make_map(x), window, stride=1).permute(0, 2, 3, 1)
    return classify(averages.flatten(0, 2)).unflatten(0, averages.shape[:3])
