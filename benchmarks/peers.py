"""What we measure ourselves against where no library has it: a CIFAR ResNet as it is commonly written; PyHessian's way.

Of the ResNet, names, both-sided zero padding and operators follow the convention of akamaster/pytorch_resnet_cifar10;
ReLU works on a copy and the average pool is a pooling layer, as there.
"""

from __future__ import annotations

import importlib.util
import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class PeerBlock(nn.Module):
    """A basic block; without a projection, the shortcut pads a quarter of the new width on both sides."""

    def __init__(self, in_width: int, width: int, stride: int, *, project: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_width, width, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.padding = width // 4 if stride > 1 else 0
        self.shortcut = nn.Sequential()
        if project and stride > 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_width, width, 1, stride=stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.padding and not len(self.shortcut):
            y += F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.padding, self.padding))
        else:
            y += self.shortcut(x)
        return F.relu(y)


class CifarPeer(nn.Module):
    """A 6n+2-layer CIFAR ResNet."""

    def __init__(self, n: int, *, project: bool = False) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = self._make_stage(16, 16, n, stride=1, project=project)
        self.layer2 = self._make_stage(16, 32, n, stride=2, project=project)
        self.layer3 = self._make_stage(32, 64, n, stride=2, project=project)
        self.linear = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(F.avg_pool2d(x, x.size(3)).flatten(1))

    @staticmethod
    def _make_stage(in_width: int, width: int, blocks: int, *, stride: int, project: bool) -> nn.Sequential:
        first = PeerBlock(in_width, width, stride, project=project)
        return nn.Sequential(first, *[PeerBlock(width, width, 1, project=project) for _ in range(blocks - 1)])


class HessianPeer:
    """Products of a Hessian with vectors as PyHessian has them for one batch: by the kept graph of its gradient."""

    def __init__(self, network: nn.Module, images: Tensor, targets: Tensor) -> None:
        self.parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
        if find_pyhessian():
            from pyhessian import hessian  # pyright: ignore[reportMissingImports]

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the cycle that a kept graph makes
                theirs = hessian(network, nn.CrossEntropyLoss(), data=(images, targets), cuda=images.is_cuda)
            self.gradients = theirs.gradsH
            network.zero_grad()
        else:
            loss = F.cross_entropy(network.eval()(images), targets)
            self.gradients = torch.autograd.grad(loss, self.parameters, create_graph=True)

    def multiply(self, vector: Tensor) -> Tensor:
        """Return the product with one vector."""
        parts = vector.split([parameter.numel() for parameter in self.parameters])
        vectors = [part.view_as(parameter) for part, parameter in zip(parts, self.parameters, strict=True)]
        found = torch.autograd.grad(self.gradients, self.parameters, vectors, retain_graph=True)
        return torch.cat([part.flatten() for part in found])


def find_pyhessian() -> bool:
    """Whether PyHessian is installed."""
    return importlib.util.find_spec("pyhessian") is not None
