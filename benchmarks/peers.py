"""What we measure ourselves against where no library has it: a CIFAR ResNet as it is commonly written.

Names, both-sided zero padding and operators follow the convention of akamaster/pytorch_resnet_cifar10; ReLU works
on a copy and the average pool is a pooling layer, as there.
"""

from __future__ import annotations

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
