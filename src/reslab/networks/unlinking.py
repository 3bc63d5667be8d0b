"""A trained residual network without its shortcuts: its plain twin with the same weights, to be trained on.

Reviewers asked whether shortcuts can go once a network is trained. Its outputs change, as nothing makes up for them.
"""

from reslab.errors import UserError
from reslab.networks.build import build
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import name_of


def remove_shortcuts(network: ResidualNetwork) -> ResidualNetwork:
    """Return the plain network with the weights of a residual one; those of its projections are left out."""
    if network.spec.shortcut == "none":
        raise UserError(f"{name_of(network.spec)} has no shortcuts; give a residual network")
    if network.spec.shortcut == "gated":
        raise UserError(
            f"{name_of(network.spec)} has gates in place of shortcuts; give a network with option A, B or C"
        )
    bare = build(network.spec.plain())
    assert isinstance(bare, ResidualNetwork)
    weights = network.state_dict()
    bare.load_state_dict({name: weights[name] for name in bare.state_dict()})
    bare.take_knowledge(network)
    return bare
