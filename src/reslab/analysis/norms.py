"""By what batch norm normalizes while one looks inside: the statistics of the batch at hand, or fixed ones.

Nothing here changes what the network is afterwards, but for `retake_statistics`, which is asked to.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from reslab.networks import Network

Norms: TypeAlias = Literal["batch", "fixed"]


@contextlib.contextmanager
def normalizing(network: Network, norms: Norms) -> Iterator[None]:
    """Let batch norm use the statistics of each batch, as in training, or its own; all else is as in a test.

    The statistics of batches leave its own alone.
    """
    before = [(module, module.training) for module in network.modules()]
    tracking = {module: module.track_running_stats for module in _list_norms(network)}
    network.eval()
    try:
        for module in tracking if norms == "batch" else ():
            module.training, module.track_running_stats = True, False
        yield
    finally:
        for module, training in before:
            module.training = training
        for module, tracked in tracking.items():
            module.track_running_stats = tracked


@torch.no_grad()
def retake_statistics(network: Network, batches: Iterable[Tensor]) -> None:
    """Let batch norm's own statistics be the mean of those of these batches."""
    norms = _list_norms(network)
    momenta = {module: module.momentum for module in norms}
    network.eval()
    for module in norms:
        module.reset_running_stats()
        module.training, module.momentum = True, None
    for images in batches:
        network(images)
    for module in norms:
        module.training, module.momentum = False, momenta[module]


def _list_norms(network: Network) -> list[_BatchNorm]:
    return [module for module in network.modules() if isinstance(module, _BatchNorm)]
