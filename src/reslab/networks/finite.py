"""Networks that give no numbers: NaN in a weight, or an overflow on the way, leaves nothing that could be scored.

Weights are not looked through when a file is read: a network that diverged may still be described, compared and
converted. Whoever computes with one refuses what comes out, and says which tensor is to blame.
"""

from collections.abc import Mapping

from torch import Tensor

from reslab.errors import UserError
from reslab.networks.network import Network
from reslab.spec import name_of

REMEDY = "give other weights, or train it again with a smaller recipe.optimizer.learning_rate"


class NotFinite(UserError):
    """Numbers are not finite: a training has diverged, or a network gives none."""


def rows_not_finite(values: Tensor) -> Tensor:
    """Return of each row whether it has a value that is not finite; nothing here waits for the device."""
    return ~values.isfinite().flatten(1).all(1)


def find_not_finite(tensors: Mapping[str, Tensor]) -> str:
    """Return the name of the first tensor with a value that is not finite, or nothing."""
    return next((name for name, tensor in tensors.items() if not tensor.isfinite().all()), "")


def tell_not_finite(
    network: Network, where: str, *, what: str = "logits", origin: str = "", remedy: str = REMEDY
) -> NotFinite:
    """Return the refusal of a network that gives no numbers, and `where`: "for 3 of 10 images", "for cat.png"."""
    culprit = find_not_finite(network.state_dict())
    cause = f"its {culprit} is not finite" if culprit else "its weights are finite, but its activations overflow"
    named = origin or network.origin or name_of(network.spec)
    return NotFinite(f"{named} gives {what} that are not finite {where}: {cause}; {remedy}")
