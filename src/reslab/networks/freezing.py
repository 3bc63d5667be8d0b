"""Which weights a training leaves alone, and which belong to the classifier: what fine-tuning tells apart."""

from dataclasses import replace
from functools import cache

from torch.nn.modules.batchnorm import _BatchNorm

from reslab.errors import UserError, choices
from reslab.networks.build import build
from reslab.networks.layers import FrozenBatchNorm
from reslab.networks.network import Network
from reslab.spec import Spec, name_of
from reslab.spec.task import CLASSIFICATION
from reslab.spec.task_spec import TaskSpec

BODY = "body"


@cache
def head_parameters(spec: Spec, task: TaskSpec = CLASSIFICATION) -> frozenset[str]:
    """Return the names of the parameters whose shape hangs on the number of classes."""
    shapes, others = (
        {name: weight.shape for name, weight in build(each, task=task, device="meta").named_parameters()}
        for each in (spec, replace(spec, classes=spec.classes + 1))
    )
    return frozenset(name for name, shape in shapes.items() if shape != others[name])


def refuse_no_part(network: Network, until: str) -> None:
    """Refuse to freeze what a network does not have; it may be on the meta device."""
    if until not in (parts := _parts(network)):
        raise UserError(
            f"recipe.freeze is {until}, which {name_of(network.spec)} does not have; choose {choices(parts)}"
        )


def freeze(network: Network, until: str) -> None:
    """Freeze all weights from the input up to and including a stage; `body` is everything but the classifier.

    Normalizations there use and keep the statistics they have, whatever mode the network is in.
    """
    refuse_no_part(network, until)
    parts, head = _parts(network), head_parameters(network.spec, network.task)
    frozen = tuple(_prefix(part) for part in parts[: parts.index(until) + 1])
    for name, weight in network.named_parameters():
        if name not in head and (until == BODY or name.startswith(frozen)):
            weight.requires_grad_(False)
    for name, module in list(network.named_modules()):
        if isinstance(module, _BatchNorm) and not module.weight.requires_grad:
            network.set_submodule(name, FrozenBatchNorm.of(module))


def count_stages_ahead(network: Network) -> dict[str, int]:
    """Return how many stages before the classifier each parameter lies: 0 in it, 1 in the last stage, most in the stem.

    A network without stages has one, its body.
    """
    head, stages = head_parameters(network.spec, network.task), _parts(network)[:-1]
    ahead = {_prefix(part): len(stages) - index for index, part in enumerate(stages)}
    return {
        name: 0 if name in head else next((count for prefix, count in ahead.items() if name.startswith(prefix)), 1)
        for name, _ in network.named_parameters()
    }


def _parts(network: Network) -> list[str]:
    return ["stem", *[name.removesuffix("_x") for name in network.stages], BODY] if network.stages else [BODY]


def _prefix(part: str) -> str:
    return "stem." if part == "stem" else f"blocks.{part}_"
