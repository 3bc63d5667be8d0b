"""The weights that are shipped are chosen without a look at which are best."""

from __future__ import annotations

from tools.ship import find_nearest

from reslab.paper.cifar import ask_error
from reslab.report.verdicts import Verdict


def test_the_seed_nearest_the_mean_is_chosen() -> None:
    """Not the best one; of two as near, the first by name."""
    claim = ask_error("resnet-20", table="models", row="resnet-20")
    verdict = Verdict(claim=claim, word="measured", samples=((8.0, 8.6, 8.5, 8.9),), runs=("a", "b", "c", "d"))
    assert find_nearest(verdict) == "c"
    verdict = Verdict(claim=claim, word="measured", samples=((8.2, 8.4),), runs=("z", "y"))
    assert find_nearest(verdict) == "y"
