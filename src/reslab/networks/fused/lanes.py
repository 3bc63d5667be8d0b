"""Parts of a batch side by side, each normalized among its own images, on streams of its own.

A lone deep network of small images leaves a GPU half idle: its kernels are short, and each waits for the one before.
Parts that need nothing of each other fill it better. The moving averages come out as if the parts had gone one after
the other.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class Lane:
    """The way of one part: its streams, the counter its kernels share, and the moving averages they write.

    A lone lane has the network's own averages, and runs on whatever stream is current.
    """

    def __init__(self, norms: list[nn.BatchNorm2d], *, alone: bool, device: torch.device) -> None:
        on_cuda = device.type == "cuda"
        self.stream = torch.cuda.Stream(device) if on_cuda and not alone else None
        self.aside = torch.cuda.Stream(device) if on_cuda else None
        self.counter = torch.zeros(1, dtype=torch.int32, device=device)
        own = averages_of(norms)
        sizes = [average.numel() for average in own]
        self.flat = torch.empty(0 if alone else sum(sizes), device=device)
        averages = own if alone else list(self.flat.split(sizes))
        self.means, self.variances = averages[: len(norms)], averages[len(norms) :]

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Run on the lane's stream, after what has been asked for so far."""
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield

    @contextlib.contextmanager
    def beside(self, *needed: Tensor) -> Iterator[None]:
        """Run beside the lane, after what has been asked for so far; what is `needed` there is not reused here."""
        if self.aside is None:
            yield
            return
        self.aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.aside):
            yield
        for tensor in needed:
            tensor.record_stream(self.aside)


class Lanes:
    """All parts of a batch."""

    def __init__(self, norms: list[nn.BatchNorm2d], *, count: int, device: torch.device) -> None:
        self.norms = norms
        self.all = [Lane(norms, alone=count == 1, device=device) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.all)

    def join(self) -> None:
        """Let what comes wait for all lanes."""
        for lane in self.all:
            if lane.stream is not None:
                torch.cuda.current_stream().wait_stream(lane.stream)

    @contextlib.contextmanager
    def sharing_averages(self) -> Iterator[None]:
        """Give each lane the moving averages as they are; afterwards move the network's by all that lanes moved theirs.

        A part moves them by a share m of what it differs by. Those moves fade by 1 - m with every part that follows.
        """
        if len(self) == 1:
            yield
            return
        own = averages_of(self.norms)
        before = torch.cat(own)
        for lane in self.all:
            lane.flat.copy_(before)
        yield
        momentum = self.norms[0].momentum
        assert momentum is not None
        after = before
        for lane in self.all:
            after = lane.flat + (1 - momentum) * (after - before)
        torch._foreach_copy_(own, list(after.split([average.numel() for average in own])))  # pyright: ignore[reportPrivateImportUsage]


def averages_of(norms: list[nn.BatchNorm2d]) -> list[Tensor]:
    """Return the moving means of all layers, then their moving variances."""
    averages = [norm.running_mean for norm in norms] + [norm.running_var for norm in norms]
    return [average for average in averages if average is not None]
