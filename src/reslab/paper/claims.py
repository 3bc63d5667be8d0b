"""Everything the paper claims that can be tested, by table and figure."""

from __future__ import annotations

from reslab.paper import cifar, imagenet
from reslab.paper.claim import Claim

CLAIMS: dict[str, tuple[Claim, ...]] = {**imagenet.CLAIMS, **cifar.CLAIMS}
