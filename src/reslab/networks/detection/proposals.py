"""The region proposal network: anchors at every step of its maps, scored, moved, and thinned out.

An anchor whose step begins outside of its image's frame, in the padding of a batch, takes part in nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reslab.networks.detection.anchors import make_shapes, place_anchors
from reslab.networks.detection.boxes import are_inside, are_large, clip, decode, encode
from reslab.networks.detection.heads import ProposalHead
from reslab.networks.detection.losses import classify_objects, place_boxes
from reslab.networks.detection.sampling import Objects, Regions, pick, sample_anchors
from reslab.networks.detection.suppression import rank, suppress
from reslab.spec.detection import SettledDetection


@dataclass(frozen=True)
class Candidates:
    """What the network says of every anchor: logits (images, n) and codes; `counts` are the anchors of each map."""

    logits: Tensor
    codes: Tensor
    anchors: Tensor
    starts: Tensor
    counts: list[int]

    def begin_inside(self, frames: Tensor) -> Tensor:
        """Return which anchors (images, n) begin inside the frames (images, 4)."""
        return (self.starts < frames[:, None, 2:]).all(-1)


class Proposer(nn.Module):
    """What proposes regions from maps of one width; the same layers serve all maps."""

    def __init__(self, plan: SettledDetection, *, width: int, strides: Sequence[int]) -> None:
        super().__init__()
        self.plan, self.strides = plan, tuple(strides)
        groups = [(side,) for side in plan.anchor_sides] if len(strides) > 1 else [plan.anchor_sides]
        for level, (sides, stride) in enumerate(zip(groups, strides, strict=True)):
            shapes = make_shapes(plan.anchor_form, sides=sides, ratios=plan.anchor_ratios, stride=stride)
            self.register_buffer(f"shapes{level}", shapes.to(torch.get_default_device()), persistent=False)
        self.head = ProposalHead(width, plan.rpn_width, len(groups[0]) * len(plan.anchor_ratios))

    def forward(self, maps: Sequence[Tensor], padded: tuple[int, int]) -> Candidates:
        """Return what is said of every anchor, for images of the size `padded`."""
        logits, codes = zip(*[self.head(each) for each in maps], strict=True)
        anchors, starts = zip(*[self._place(level, each, padded) for level, each in enumerate(maps)], strict=True)
        counts = [each.shape[0] for each in anchors]
        return Candidates(torch.cat(logits, 1), torch.cat(codes, 1), torch.cat(anchors), torch.cat(starts), counts)

    def _place(self, level: int, map_: Tensor, padded: tuple[int, int]) -> tuple[Tensor, Tensor]:
        height, width = map_.shape[-2:]
        return place_anchors(
            self.get_buffer(f"shapes{level}"),
            self.plan.anchor_form,
            grid=(height, width),
            stride=self.strides[level],
            padded=padded,
        )

    @torch.no_grad()
    def propose(self, candidates: Candidates, frames: Tensor, *, training: bool) -> Regions:
        """Return the best regions of each image, that do not overlap too much, in the order of their scores."""
        plan = self.plan
        ranked = plan.candidates_train if training else plan.candidates_test
        count = plan.proposals_train if training else plan.proposals_test
        boxes = clip(decode(candidates.codes, candidates.anchors), frames[:, None])
        columns = (boxes, candidates.logits, candidates.begin_inside(frames))
        maps = zip(*[column.split(candidates.counts, 1) for column in columns], strict=True)
        of_maps = [self._thin_out(*each, ranked=ranked, count=count) for each in maps]
        if len(of_maps) == 1:
            return of_maps[0]
        parts = ([regions.boxes for regions in of_maps], [regions.scores for regions in of_maps])
        boxes, scores = (torch.cat(part, 1) for part in parts)
        order, kept = rank(scores, torch.cat([regions.valid for regions in of_maps], 1), count)
        return Regions(pick(boxes, order), scores.gather(1, order), kept)

    def _thin_out(self, boxes: Tensor, scores: Tensor, valid: Tensor, *, ranked: int, count: int) -> Regions:
        large = are_large(boxes, self.plan.proposal_side)
        # Faster R-CNN leaves small ones out before it ranks the rest, torchvision afterwards.
        order, there = rank(scores, valid & large if self.plan.head == "c4" else valid, ranked)
        there = there & large.gather(1, order)
        boxes, scores = pick(boxes, order), scores.gather(1, order)
        chosen, kept = suppress(boxes, scores, there, overlap=self.plan.proposal_overlap, count=count)
        return Regions(pick(boxes, chosen), scores.gather(1, chosen), kept)

    def losses(
        self, candidates: Candidates, frames: Tensor, objects: Objects, generator: torch.Generator | None
    ) -> dict[str, Tensor]:
        """Return how wrong the anchors are that are drawn from each image."""
        anchors = candidates.anchors
        with torch.no_grad():
            usable = candidates.begin_inside(frames)
            if not self.plan.crossing_anchors:
                usable = usable & are_inside(anchors, frames[:, None])
            positive, negative, boxes = sample_anchors(anchors, usable, objects, plan=self.plan, generator=generator)
            targets = encode(boxes, anchors)
        beta = self.plan.rpn_beta
        return {
            "rpn_class": classify_objects(candidates.logits, positive, negative),
            "rpn_box": place_boxes(candidates.codes, targets, positive, positive | negative, beta=beta),
        }
