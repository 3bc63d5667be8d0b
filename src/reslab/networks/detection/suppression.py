"""Non-maximum suppression: of boxes that overlap much, the one with the best score stays.

It keeps a fixed number of rows and tells which of them count. On CUDA nothing waits for the device: every overlap
becomes a bit, and one program for each group goes through the bits in the order of the scores. Elsewhere the same is
done by the host, and gives the same, ties included: of equal scores the first counts as the better.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def rank(scores: Tensor, valid: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return where the best valid scores of each row (rows, n) are, at most `count`, and which of these are valid."""
    if torch.compiler.is_exporting():
        return torch.ops.reslab.rank(scores, valid, count)
    masked = torch.where(valid, scores, -torch.inf)
    order = masked.sort(dim=-1, descending=True, stable=True).indices[..., :count]
    # Valid ones that are minus infinity themselves come among those that are not, so each is asked.
    return order, valid.gather(-1, order)


def suppress(boxes: Tensor, scores: Tensor, valid: Tensor, *, overlap: float, count: int) -> tuple[Tensor, Tensor]:
    """Return which boxes of each group (groups, n, 4) stay, the best `count` of them in order, and which rows count."""
    if torch.compiler.is_exporting():
        return torch.ops.reslab.suppress(boxes, scores, valid, _below(overlap), count)
    order, there = rank(scores, valid, scores.shape[-1])
    ordered = boxes.float().gather(1, order[..., None].expand(-1, -1, 4))
    count = min(count, scores.shape[-1])
    if not count or boxes.is_meta:  # where nothing is known of any box
        return order[:, :count], there[:, :count]
    chosen, found = (_walk_on_device if boxes.is_cuda else _walk)(ordered, there.sum(-1), _below(overlap), count)
    kept = torch.arange(count, device=boxes.device) < found[:, None]
    return order.gather(1, torch.where(kept, chosen, 0)), kept


def _below(overlap: float) -> float:
    """Return the largest float32 that is not above `overlap`, so that float32 compares as float64 would."""
    nearest = np.float32(overlap)
    return float(nearest if float(nearest) <= overlap else np.nextafter(nearest, np.float32(-1)))


def _walk(boxes: Tensor, there: Tensor, overlap: float, count: int) -> tuple[Tensor, Tensor]:
    """Return which of ordered boxes stay, and how many, of which the first `there` are boxes at all."""
    chosen = np.zeros((len(boxes), count), dtype=np.int64)
    found = np.zeros(len(boxes), dtype=np.int64)
    for group, (rows, total) in enumerate(zip(boxes.cpu().numpy(), there.tolist(), strict=True)):
        kept = _walk_group(rows[:total], np.float32(overlap), count)
        chosen[group, : len(kept)], found[group] = kept, len(kept)
    return torch.from_numpy(chosen).to(boxes.device), torch.from_numpy(found).to(boxes.device)


def _walk_group(boxes: NDArray[np.float32], overlap: np.float32, count: int) -> list[int]:
    left, top, right, bottom = boxes.T
    area = (right - left) * (bottom - top)
    rest, kept = np.arange(len(boxes)), []
    while len(rest) and len(kept) < count:
        best, rest = rest[0], rest[1:]
        kept.append(int(best))
        width = np.minimum(right[best], right[rest]) - np.maximum(left[best], left[rest])
        height = np.minimum(bottom[best], bottom[rest]) - np.maximum(top[best], top[rest])
        shared = width.clip(0) * height.clip(0)
        with np.errstate(invalid="ignore"):  # two boxes without area
            rest = rest[~(shared / (area[best] + area[rest] - shared) > overlap)]
    return kept


def _walk_on_device(boxes: Tensor, there: Tensor, overlap: float, count: int) -> tuple[Tensor, Tensor]:
    from reslab.networks.detection.suppression_kernels import walk  # Triton is slow to import, and not everywhere

    return walk(boxes, there, overlap, count)
