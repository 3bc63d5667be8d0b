"""Faster R-CNN: one network proposes regions of an image and says what is in each and where (paper, appendix A).

`c4` shares all stages but the last between both, and runs the last for each region. `fpn` shares a pyramid of maps.
"""

import torch
from torch import Tensor, nn

from reslab.networks.detection.boxes import clip, decode, encode
from reslab.networks.detection.context import join_context
from reslab.networks.detection.heads import Pyramid, RegionOutputs, TwoLayers
from reslab.networks.detection.losses import classify_regions, place_boxes
from reslab.networks.detection.proposals import Proposer
from reslab.networks.detection.regions import align, pool_max
from reslab.networks.detection.sampling import Regions, read_objects, sample_regions
from reslab.networks.detection.selection import Judgement, select
from reslab.networks.detection.trunks import make_trunk
from reslab.networks.network import StandIn
from reslab.spec import Preprocess, Spec
from reslab.spec.detection import Detection

PYRAMID_WIDTH, HIDDEN_WIDTH = 256, 1024
USUAL_LEVEL, USUAL_SIDE = 2, 224  # a region as large as ImageNet's crops is cut from the third of a pyramid's maps
LEVEL_MARGIN = 1e-6  # torchvision's


class Detector(nn.Module):
    """A network that finds objects. `preprocess`, `mean_image`, `class_names` and the like are as a `Network` has them.

    `detection` is the task as it was asked for, `plan` the same with every value settled. Images (images, channels,
    height, width) of a batch are padded on the right and at the bottom; each one's frame says how far it reaches.
    For a training it has no stages to tell apart, and nothing stands in for its trunk.
    """

    def __init__(self, spec: Spec, detection: Detection) -> None:
        super().__init__()
        self.spec, self.detection, self.plan = spec, detection, detection.settle()
        self.trunk = make_trunk(spec, self.plan)
        if self.plan.head == "fpn":
            self.strides = self.trunk.strides
            width, proposed = PYRAMID_WIDTH, (*self.strides, 2 * self.strides[-1])
            self.pyramid = Pyramid(self.trunk.widths, width)
            self.hidden = TwoLayers(width * self.plan.pooled_side**2, HIDDEN_WIDTH)
            region_width = HIDDEN_WIDTH
        else:
            at = -2 if len(self.trunk.widths) > 1 else -1
            self.strides = proposed = (self.trunk.strides[at],)
            width, region_width = self.trunk.widths[at], self.trunk.region_width
            self.pyramid = self.hidden = None
        self.proposer = Proposer(self.plan, width=width, strides=proposed)
        self.outputs = RegionOutputs(region_width * (1 + self.plan.context), spec.classes)
        self.stages: dict[str, str] = {}
        self.checkpointing = self.trunk.checkpointing
        self.stand_in: StandIn | None = None
        self.preprocess: Preprocess | None = None
        self.mean_image: Tensor | None = None
        self.class_names: tuple[str, ...] | None = None
        self.class_words: dict[str, str] = {}
        self.task: str = detection.name
        self.thresholds: tuple[float, ...] | None = None
        self.origin = ""

    def forward(self, images: Tensor, targets: Tensor) -> Tensor:
        """Return the detections of each image (images, plan.detections, 6), best first.

        Of the targets (images, rows, 7) only the first row is read: the image's frame.
        """
        frames = targets[:, 0, :4]
        maps, proposed = self.propose(images, frames)
        judgement = self.judge(maps, proposed.boxes, frames)
        return select(judgement, proposed.valid, self.plan)

    def losses(self, images: Tensor, targets: Tensor, generator: torch.Generator | None) -> dict[str, Tensor]:
        """Return the mean losses of a batch by name; what is trained on is drawn from `generator`."""
        frames, objects = targets[:, 0, :4], read_objects(targets)
        maps = self.maps(images)
        candidates = self.proposer(maps, tuple(images.shape[-2:]))
        losses = self.proposer.losses(candidates, frames, objects, generator)
        with torch.no_grad():
            proposed = self.proposer.propose(candidates, frames, training=True)
            sample = sample_regions(proposed, objects, plan=self.plan, generator=generator)
            wanted = encode(sample.objects, sample.boxes, self.plan.box_weights).flatten(0, 1)
            labels, sampled = sample.labels.flatten(), sample.valid.flatten()
        logits, codes = self.outputs(self.features(maps, sample.boxes, frames))
        own = codes.gather(1, labels[:, None, None].expand(-1, 1, 4))[:, 0]
        losses["roi_class"] = classify_regions(logits, labels, sampled)
        losses["roi_box"] = place_boxes(own, wanted, labels > 0, sampled, beta=self.plan.region_beta)
        return losses

    def maps(self, images: Tensor) -> list[Tensor]:
        """Return the maps that regions are proposed from; they are cut from these too, but for a pyramid's last."""
        if self.pyramid is None:
            return [self.trunk.shared(images)]
        return self.pyramid(self.trunk.maps(images))

    def propose(self, images: Tensor, frames: Tensor) -> tuple[list[Tensor], Regions]:
        """Return the maps of images, and the regions of a test."""
        maps = self.maps(images)
        candidates = self.proposer(maps, tuple(images.shape[-2:]))
        return maps, self.proposer.propose(candidates, frames, training=False)

    def judge(self, maps: list[Tensor], boxes: Tensor, frames: Tensor) -> Judgement:
        """Return what is in regions (images, regions, 4), and where."""
        return self.read(self.features(maps, boxes, frames), boxes, frames)

    def read(self, features: Tensor, boxes: Tensor, frames: Tensor) -> Judgement:
        """Return what the last layers make of the features of regions (images, regions, 4)."""
        logits, codes = self.outputs(features)
        scores = logits.softmax(-1)[:, 1:].unflatten(0, boxes.shape[:2])
        codes = codes[:, 1:].unflatten(0, boxes.shape[:2])
        moved = decode(codes, boxes[:, :, None], self.plan.box_weights)
        return Judgement(scores, clip(moved, frames[:, None, None]))

    def features(self, maps: list[Tensor], boxes: Tensor, frames: Tensor) -> Tensor:
        """Return what the last layers are given of regions (images, regions, 4): a row for each."""
        own = self._describe(maps, boxes)
        return join_context(own, self._describe(maps, frames[:, None])) if self.plan.context else own

    def _describe(self, maps: list[Tensor], boxes: Tensor) -> Tensor:
        pooled = self.pool(maps, boxes)
        return self.trunk.of_regions(pooled) if self.hidden is None else self.hidden(pooled)

    def pool(self, maps: list[Tensor], boxes: Tensor) -> Tensor:
        """Return small maps of regions (images, regions, 4), image by image."""
        plan = self.plan
        images = torch.arange(len(boxes), device=boxes.device).repeat_interleave(boxes.shape[1])
        boxes = boxes.flatten(0, 1).detach()
        if plan.pooling == "max":
            # Faster R-CNN's boxes reach to their last pixel.
            boxes = torch.cat([boxes[:, :2], torch.maximum(boxes[:, 2:] - 1, boxes[:, :2])], dim=1)
            return pool_max(maps[0], boxes, images, stride=self.strides[0], side=plan.pooled_side)
        return align(
            maps[: len(self.strides)],
            boxes,
            images,
            levels=self._choose_levels(boxes),
            strides=self.strides,
            side=plan.pooled_side,
            samples=plan.pooled_samples,
            shifted=plan.pooling == "align",
        )

    def _choose_levels(self, boxes: Tensor) -> Tensor | None:
        """Return from which map each region is cut: the larger it is, the coarser the map."""
        if len(self.strides) == 1:
            return None
        sides = (boxes[:, 2:] - boxes[:, :2]).prod(1).sqrt()
        levels = (USUAL_LEVEL + (sides / USUAL_SIDE).log2() + LEVEL_MARGIN).floor()
        return levels.clamp(0, len(self.strides) - 1).long()
