"""The questions about batch norm of a detector: two rows that differ in nothing else."""

from __future__ import annotations

from dataclasses import replace

from tests.claims import find_claim
from torch import nn

from reslab.networks import build
from reslab.paper.measurements import AtTheEnd
from reslab.paper.norms import CLAIMS
from reslab.spec.detection import Detection
from reslab.tasks.detection.scores import SCORES

FROZEN, TRAINED = (
    [claim for claim in CLAIMS["norms"] if claim.row == f"{norm} batch norm"] for norm in ("frozen", "trained")
)


def test_the_rows_ask_the_same_of_two_detectors() -> None:
    """Precision by two rules, memory, time of training and of a test; of which nothing was published."""
    assert [claim.quantity for claim in FROZEN] == [claim.quantity for claim in TRAINED]
    assert [claim.measurement for claim in FROZEN] == [claim.measurement for claim in TRAINED]
    assert len({claim.measurement for claim in FROZEN}) == len(FROZEN) == 5
    assert all(claim.published is None and not claim.lacks for claim in CLAIMS["norms"])
    metrics = [claim.measurement.metric for claim in FROZEN if isinstance(claim.measurement, AtTheEnd)]
    assert set(metrics) <= {score.name for score in SCORES} and len(metrics) == 2


def test_nothing_but_batch_norm_differs() -> None:
    """One is the run of Table 7; the other trains the normalizations of all stages whose weights it trains."""
    (frozen,), (trained,) = ({claim.settings[0] for claim in row} for row in (FROZEN, TRAINED))
    assert frozen == find_claim("table-7", "ResNet-50", "VOC 2007 test").settings[0]
    one, other = frozen.trial(seed=1), trained.trial(seed=1)
    assert isinstance(one.task, Detection)
    assert replace(one, task=replace(one.task, norm="trained")) == other
    for trial, learnt in ((one, set[str]()), (other, {"conv3", "conv4", "conv5"})):
        detector = build(trial.network, task=trial.task, device="meta")
        modules = dict(detector.named_modules())
        stages = {name.split(".")[2].split("_")[0] for name in modules if isinstance(modules[name], nn.BatchNorm2d)}
        assert stages == learnt
