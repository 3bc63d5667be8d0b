"""Everything the paper claims that can be tested, by table and figure; and what we ask beyond it."""

from reslab.paper import cifar, detection, imagenet, norms
from reslab.paper.claim import Claim

CLAIMS: dict[str, tuple[Claim, ...]] = {**imagenet.CLAIMS, **cifar.CLAIMS, **detection.CLAIMS, **norms.CLAIMS}
