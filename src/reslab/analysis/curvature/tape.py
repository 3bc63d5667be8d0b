"""A network as a chain of operators, read off its modules; networks with a part that is not known here have none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import torch
from torch import nn

from reslab.analysis.curvature.kernels import Convolutional, Kernels, NormalizedKernels
from reslab.analysis.curvature.norms import BatchNorm, FixedNorm
from reslab.analysis.curvature.operators import Average, Convolution, Linear, Maximum, Operator, Rectifier
from reslab.analysis.curvature.shortcuts import Block, Chain, Padding
from reslab.analysis.norms import Norms
from reslab.networks import blocks
from reslab.networks.dropout import Drawing
from reslab.networks.layers import FrozenBatchNorm
from reslab.networks.resnet import ResidualNetwork

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class Unknown(Exception):
    """A module whose operator is not written down here."""


def make_tape(
    network: nn.Module, *, norms: Norms, narrow: torch.dtype | None = None, without: Collection[str] = ()
) -> Chain:
    """Return the operators of a plain or residual network, normalized by each batch or by fixed statistics.

    Convolutions compute in `narrow`, if given. The blocks named in `without` lose their shortcuts. What draws at random
    in training does nothing.
    """
    if not isinstance(network, ResidualNetwork):
        raise Unknown(type(network).__name__)
    translator = _Translator(norms == "batch", narrow)
    steps = [translator.translate(network.stem), translator.translate(network.pool)]
    for name, block in network.blocks.items():
        assert isinstance(block, blocks.Block)
        steps.append(translator.translate_block(block, cut=name in without))
    return Chain([*steps, translator.translate(network.final), Average(), translator.translate(network.classifier)])


@dataclass(frozen=True)
class _Translator:
    by_batch: bool
    narrow: torch.dtype | None

    def translate_block(self, block: blocks.Block, *, cut: bool) -> Operator:
        for part in (block.excitation, block.gate):
            if part is not None:
                raise Unknown(type(part).__name__)
        return Block(
            before=Chain([]) if block.preactivation is None else self.translate(block.preactivation),
            residual=Chain([self.translate(layer) for layer in block.layers]),
            shortcut=None if block.shortcut is None or cut else self.translate(block.shortcut),
            after=self.translate(block.after),
        )

    def _translate_all(self, modules: Sequence[nn.Module]) -> Operator:
        steps: list[Operator] = []
        before: nn.Module | None = None
        for module in modules:
            if _is_convolution(before) and self._is_fixed(module):
                steps[-1] = Convolution(before, NormalizedKernels(before, module), narrow=self.narrow)
            else:
                steps.append(self.translate(module))
            before = module
        return Chain(steps)

    def _is_fixed(self, module: nn.Module) -> bool:
        return isinstance(module, FrozenBatchNorm) or (isinstance(module, BATCH_NORMS) and not self.by_batch)

    def translate(self, module: nn.Module) -> Operator:
        match module:
            case nn.Sequential():
                return self._translate_all(list(module))
            case _ if _is_convolution(module):
                return Convolution(module, Kernels(module), narrow=self.narrow)
            case nn.Linear():
                return Linear(module)
            case nn.BatchNorm1d() | nn.BatchNorm2d() | nn.BatchNorm3d():
                return BatchNorm(module) if self.by_batch else FixedNorm(module)
            case FrozenBatchNorm():
                return FixedNorm(module)
            case nn.ReLU():
                return Rectifier()
            case nn.MaxPool2d():
                return Maximum(module)
            case blocks.ZeroPadding():
                return Padding(module)
            case nn.Identity() | Drawing():
                return Chain([])
            case _:
                raise Unknown(type(module).__name__)


def _is_convolution(module: nn.Module | None) -> TypeGuard[Convolutional]:
    if not isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return False
    return module.groups == 1 and set(module.dilation) == {1}
