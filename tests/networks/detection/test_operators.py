"""Steps are named where a detector is traced, with rows of a fixed number, and nowhere else."""

from __future__ import annotations

import pytest
import torch
from tests.networks.detection.scenes import make_detector
from torch import Tensor, nn

from reslab.networks.detection import operators
from reslab.networks.detection.detector import Detector
from reslab.networks.detection.suppression import rank, suppress

RANK, SUPPRESS, POOL_MAX, ALIGN = (operators.RANK, operators.SUPPRESS, operators.POOL_MAX, operators.ALIGN)


class Ranking(nn.Module):
    """Ranks, and suppresses what was ranked."""

    def forward(self, boxes: Tensor, scores: Tensor, valid: Tensor) -> tuple[Tensor, ...]:
        return *rank(scores, valid, 50), *suppress(boxes, scores, valid, overlap=0.5, count=40)


def list_steps(program: torch.export.ExportedProgram) -> list[str]:
    """The operators of ours that a program names, in order."""
    names = [str(node.target).removesuffix(".default").replace(".", "::") for node in program.graph.nodes]
    return [name for name in names if name.startswith("reslab::")]


def test_rows_are_as_many_as_asked_for() -> None:
    """Though there are fewer to choose from."""
    given = (torch.rand(2, 30, 4), torch.rand(2, 30), torch.ones(2, 30, dtype=torch.bool))
    program = torch.export.export(Ranking(), given)
    assert list_steps(program) == [RANK, SUPPRESS]
    *_, output = program.graph.nodes
    shapes = [(tuple(each.meta["val"].shape), each.meta["val"].dtype) for each in output.args[0]]
    assert shapes == [((2, count), kind) for count in (50, 40) for kind in (torch.int64, torch.bool)]
    assert Ranking()(*given)[0].shape == (2, 30)


@pytest.mark.parametrize(
    ("pooling", "steps"),
    [("max", [RANK, SUPPRESS, POOL_MAX, SUPPRESS, RANK]), ("align", [RANK, SUPPRESS, ALIGN, SUPPRESS, RANK])],
)
def test_a_traced_detector_names_its_steps(pooling: str, steps: list[str]) -> None:
    """In the order it takes them; its detections have the shape they have."""
    detector: Detector = make_detector(pooling=pooling).eval().requires_grad_(requires_grad=False)
    images, frames = torch.rand(2, 3, 64, 64), torch.tensor([[[0.0, 0, 64, 64, -2, 64, 64]]]).expand(2, 1, 7)
    with torch.no_grad():
        program = torch.export.export(detector, (images, frames.contiguous()))
    assert list_steps(program) == steps
    *_, output = program.graph.nodes
    assert output.args[0][0].meta["val"].shape == detector(images, frames).shape
