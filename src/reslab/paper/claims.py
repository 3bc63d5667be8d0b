"""Everything the paper claims that can be tested, by table and figure."""

from reslab.paper import cifar, detection, imagenet
from reslab.paper.claim import Claim

CLAIMS: dict[str, tuple[Claim, ...]] = {**imagenet.CLAIMS, **cifar.CLAIMS, **detection.CLAIMS}
