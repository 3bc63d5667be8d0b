"""Each operator in onnxruntime does what the network's own function does, ties and empty groups included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from reslab.delivery.deployed import require_onnx
from reslab.delivery.detection_operators import make_translations
from reslab.networks.detection.regions import align, pool_max
from reslab.networks.detection.suppression import rank, suppress

Outputs = tuple[Tensor, ...]


class Step(nn.Module):
    """A function as a network."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Tensor) -> Any:
        return self.function(*given)


def export(
    function: Callable[..., Any], given: Sequence[Tensor], free: Sequence[dict[int, Any]]
) -> Callable[..., Outputs]:
    """The function as onnxruntime runs it, traced with `given`."""
    program = torch.export.export(Step(function), tuple(given), dynamic_shapes=(tuple(free),))
    names = [f"x{number}" for number in range(len(given))]
    exported = torch.onnx.export(
        program, dynamo=True, verbose=False, input_names=names, custom_translation_table=make_translations()
    )
    assert exported is not None
    session = require_onnx()[1].InferenceSession(
        exported.model_proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )

    def run(*values: Tensor) -> Outputs:
        taken = {entry.name for entry in session.get_inputs()}
        fed = {name: value.numpy() for name, value in zip(names, values, strict=True) if name in taken}
        return tuple(torch.from_numpy(each) for each in session.run(None, fed))

    return run


def draw(groups: int, count: int, seed: int) -> Outputs:
    """Boxes of whole numbers, many of which overlap at the very threshold, and scores of which many tie."""
    generator = torch.Generator().manual_seed(seed)
    corners = (torch.rand(groups, count, 2, 2, generator=generator) * 30).round()
    boxes = torch.cat([corners.amin(2), corners.amax(2)], dim=-1)
    scores = torch.randint(-count // 4, count // 4 + 2, (groups, count), generator=generator).float()
    return boxes, scores, torch.rand(groups, count, generator=generator) < 0.8


def expect_same(ours: Outputs, theirs: Outputs) -> None:
    """Rows that count are the same; those beyond what the network's own has do not count."""
    (order, there), (found, counted) = ours, theirs
    count = order.shape[1]
    assert torch.equal(counted[:, :count], there) and not counted[:, count:].any()
    assert torch.equal(found[:, :count][there], order[there])
    assert (found >= 0).all()


@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_suppression_is_the_networks(overlap: float) -> None:
    """For any number of groups and boxes, crowded ones, ones without area, and where none counts."""
    rows = {0: torch.export.Dim("groups"), 1: torch.export.Dim("boxes")}
    run = export(lambda *x: suppress(*x, overlap=overlap, count=12), draw(2, 30, 0), [rows] * 3)
    for seed, (groups, count) in enumerate([(2, 30), (1, 5), (3, 300), (7, 40), (4, 13)] * 4):
        boxes, scores, valid = draw(groups, count, seed)
        valid[0] &= seed % 5 != 1
        expect_same(suppress(boxes, scores, valid, overlap=overlap, count=12), run(boxes, scores, valid))
    same = torch.tensor([1.0, 2.0, 9.0, 9.0]).expand(2, 20, 4).contiguous()
    scores, valid = torch.zeros(2, 20), torch.ones(2, 20, dtype=torch.bool)
    expect_same(suppress(same, scores, valid, overlap=overlap, count=12), run(same, scores, valid))


def test_ranks_are_the_networks() -> None:
    """Ties in their order, among thousands too; what does not count last; more asked for than there are."""
    rows = {0: torch.export.Dim("rows"), 1: torch.export.Dim("scores")}
    run = export(lambda scores, valid: rank(scores, valid, 9), draw(2, 30, 0)[1:], [rows] * 2)
    for seed, count in enumerate((30, 4, 9, 500, 10_000)):
        _, scores, valid = draw(3, count, seed)
        scores[0, ::3], scores[1] = -torch.inf, scores[1].remainder(3)
        expect_same(rank(scores, valid, 9), run(scores, valid))


def draw_regions(seed: int) -> Outputs:
    """Two maps of two images, and boxes that lie on them, some of whole pixels, some tiny."""
    torch.manual_seed(seed)
    corners = torch.rand(24, 2, 2) * torch.tensor([144.0, 112.0])
    boxes = torch.cat([corners.amin(1), corners.amax(1)], dim=1)
    boxes[::3] = boxes[::3].round()
    boxes[1, 2:] = boxes[1, :2] + 0.1
    boxes[2] = torch.tensor([0.0, 0.0, 144.0, 112.0])
    return torch.randn(2, 3, 7, 9), torch.randn(2, 3, 14, 18), boxes, torch.randint(2, (24,)), torch.randint(2, (24,))


@pytest.mark.parametrize("side", [2, 7])
def test_the_largest_of_each_bin_is_the_networks(side: int) -> None:
    """To the bit."""
    map_, _, boxes, images, _ = draw_regions(0)
    run = export(lambda *x: pool_max(*x, stride=16, side=side), (map_, boxes, images), [{}] * 3)
    for seed in range(5):
        map_, _, boxes, images, _ = draw_regions(seed)
        assert torch.equal(run(map_, boxes, images)[0], pool_max(map_, boxes, images, stride=16, side=side))


@pytest.mark.parametrize("shifted", [True, False])
def test_regions_are_cut_from_their_maps(shifted: bool) -> None:
    """From one map, or each from the map of its level, where a level may have none."""

    def cut_alone(map_: Tensor, boxes: Tensor, images: Tensor) -> Tensor:
        return align([map_], boxes, images, strides=[16], side=5, samples=2, shifted=shifted)

    def cut(fine: Tensor, coarse: Tensor, boxes: Tensor, images: Tensor, levels: Tensor) -> Tensor:
        maps = [fine, coarse]
        return align(maps, boxes, images, levels=levels, strides=[8, 16], side=5, samples=2, shifted=shifted)

    coarse, fine, boxes, images, levels = draw_regions(1)
    alone = export(cut_alone, (coarse, boxes, images), [{}] * 3)
    torch.testing.assert_close(alone(coarse, boxes, images)[0], cut_alone(coarse, boxes, images), rtol=1e-5, atol=1e-5)
    run = export(cut, (fine, coarse, boxes, images, levels), [{}] * 5)
    for chosen in (levels, torch.zeros_like(levels), torch.ones_like(levels)):
        given = (fine, coarse, boxes, images, chosen)
        torch.testing.assert_close(run(*given)[0], cut(*given), rtol=1e-5, atol=1e-5)
