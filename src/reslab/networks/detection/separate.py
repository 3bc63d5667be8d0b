"""Regions proposed by a network of its own, for the second step of alternating training (Ren et al., 2015).

It has come from another training and is not trained here: it proposes for tests as it does in training.
"""

from typing import Self

from torch import Tensor, nn

from reslab.networks.detection.heads import Pyramid
from reslab.networks.detection.proposals import Proposer
from reslab.networks.detection.sampling import Regions
from reslab.networks.detection.trunks import Trunk


class SeparateProposer(nn.Module):
    """A trunk with a proposer on its maps; what the trunk does with regions is dropped."""

    def __init__(self, body: Trunk, pyramid: Pyramid | None, proposer: Proposer) -> None:
        super().__init__()
        self.body, self.pyramid, self.proposer = body, pyramid, proposer
        if pyramid is None:
            body.drop_region_layers()
        self.requires_grad_(requires_grad=False)
        self.eval()

    def train(self, mode: bool = True) -> Self:
        """Stay as in tests: its statistics and its proposals are those of a network that is finished."""
        return super().train(mode=False)

    def forward(self, images: Tensor, frames: Tensor, *, training: bool) -> Regions:
        """Return what it proposes, as many regions as are wanted in training or in tests."""
        maps = find_maps(self.body, self.pyramid, images)
        candidates = self.proposer(maps, tuple(images.shape[-2:]))
        return self.proposer.propose(candidates, frames, training=training)


def find_maps(body: Trunk, pyramid: Pyramid | None, images: Tensor) -> list[Tensor]:
    """Return the maps that regions are proposed from; they are cut from these too, but for a pyramid's last."""
    return [body.shared(images)] if pyramid is None else pyramid(body.maps(images))
