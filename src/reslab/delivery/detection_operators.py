"""The steps of `networks.detection.operators` in ONNX: TopK, NonMaxSuppression, MaxRoiPool and RoiAlign.

TopK puts the first of equal scores first, as `rank` does. NonMaxSuppression is given places in that order instead of
scores, so that ties and scores below zero are none of its business, and which box stays is read from which rows it
names, whatever their order.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from reslab.networks.detection import operators  # noqa: F401  # which names the steps

# Values of a graph that is being written, whose type the exporter keeps to itself.
Value = Any


def make_translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return what writes each step into a graph, for torch.onnx.export."""
    op = _take_operators()

    def rank(scores: Value, valid: Value, count: int) -> tuple[Value, Value]:
        rows = op.Gather(op.Shape(scores), _whole(0))
        shape = op.Concat(op.Unsqueeze(rows, _whole([0])), _whole([count]), axis=0)
        # With rows that do not count after them there are always so many; TopK prefers those that come first.
        masked = op.Where(valid, scores, _real(-np.inf))
        masked = op.Concat(masked, op.Expand(_real(-np.inf), shape), axis=1)
        there = op.Concat(valid, op.Expand(op.Constant(value=_tensor(np.array(False))), shape), axis=1)
        _, order = op.TopK(masked, _whole([count]), axis=1, largest=1, sorted=1)
        last = op.Sub(op.Gather(op.Shape(scores), _whole(1)), _whole(1))
        return op.Min(order, last), op.GatherElements(there, order, axis=1)

    def suppress(boxes: Value, scores: Value, valid: Value, overlap: float, count: int) -> tuple[Value, Value]:
        masked = op.Where(valid, scores, _real(-np.inf))
        total = op.Gather(op.Shape(scores), _whole([1]))
        _, order = op.TopK(masked, total, axis=1, largest=1, sorted=1)
        there = op.GatherElements(valid, order, axis=1)
        ordered = op.GatherND(boxes, op.Unsqueeze(order, _whole([2])), batch_dims=1)
        # From the number of boxes down to one.
        places = op.Range(op.Squeeze(total), _whole(0), _whole(-1))
        places = op.Expand(op.Cast(places, to=1), op.Shape(scores))
        worth = op.Unsqueeze(op.Where(there, places, _real(-1)), _whole([1]))
        named = op.NonMaxSuppression(ordered, worth, _whole([count]), _real([overlap]), _real([0]))
        cells = op.Gather(named, _whole([0, 2]), axis=1)
        ones = op.Expand(_real(1), op.Gather(op.Shape(cells), _whole([0])))
        stays = op.ScatterND(op.Expand(_real(0), op.Shape(scores)), cells, ones)
        chosen, kept = rank(places, op.Greater(stays, _real(0)), count)
        return op.GatherElements(order, chosen, axis=1), kept

    def pool_max(map_: Value, boxes: Value, images: Value, stride: int, side: int) -> Value:
        return op.MaxRoiPool(map_, _with_images(boxes, images), pooled_shape=[side, side], spatial_scale=1 / stride)

    def _with_images(boxes: Value, images: Value) -> Value:
        return op.Concat(op.Cast(op.Unsqueeze(images, _whole([1])), to=1), boxes, axis=1)

    def align(
        maps: Sequence[Value],
        boxes: Value,
        images: Value,
        levels: Value | None,
        strides: Sequence[int],
        side: int,
        samples: int,
        shifted: bool,
    ) -> Value:
        def cut(level: int, boxes: Value, images: Value) -> Value:
            return op.RoiAlign(
                maps[level],
                boxes,
                images,
                coordinate_transformation_mode="half_pixel" if shifted else "output_half_pixel",
                output_height=side,
                output_width=side,
                sampling_ratio=samples,
                spatial_scale=1 / strides[level],
            )

        if levels is None:
            return cut(0, boxes, images)
        parts, places = [], []
        for level in range(len(strides)):
            place = op.Squeeze(op.NonZero(op.Equal(levels, _whole(level))), _whole([0]))
            parts.append(cut(level, op.Gather(boxes, place), op.Gather(images, place)))
            places.append(place)
        # Where each region is among those that are sorted by their maps.
        place = op.Concat(*places, axis=0)
        _, back = op.TopK(place, op.Shape(place), axis=0, largest=0, sorted=1)
        return op.Gather(op.Concat(*parts, axis=0), back)

    def _whole(value: int | list[int]) -> Value:
        return op.Constant(value=_tensor(np.array(value, np.int64)))

    def _real(value: float | list[float]) -> Value:
        return op.Constant(value=_tensor(np.array(value, np.float32)))

    ops = torch.ops.reslab
    return {
        ops.rank.default: rank,
        ops.suppress.default: suppress,
        ops.pool_max.default: pool_max,
        ops.align.default: align,
    }


def _take_operators() -> Any:
    """Return ONNX's operators, which come with an extra."""
    from onnxscript import opset18

    return opset18


def _tensor(value: Any) -> Any:
    from onnx.numpy_helper import from_array

    return from_array(value)
