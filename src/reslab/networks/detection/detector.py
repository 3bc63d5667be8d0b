"""Faster R-CNN: one network proposes regions of an image and says what is in each and where (paper, appendix A).

`c4` shares all stages but the last between both, and runs the last for each region. `fpn` shares a pyramid of maps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from reslab.networks.detection.boxes import clip, decode, encode
from reslab.networks.detection.context import join_context
from reslab.networks.detection.heads import Pyramid, RegionOutputs, TwoLayers
from reslab.networks.detection.losses import classify_regions, place_boxes
from reslab.networks.detection.proposals import Proposer
from reslab.networks.detection.regions import align, pool_max
from reslab.networks.detection.sampling import Objects, Regions, read_objects, sample_regions
from reslab.networks.detection.selection import Judgement, select
from reslab.networks.detection.separate import SeparateProposer, find_maps
from reslab.networks.detection.trunks import make_trunk
from reslab.networks.dropout import Drawing
from reslab.networks.layers import Observer
from reslab.networks.network import Network
from reslab.spec import Spec
from reslab.spec.detection import Detection

PYRAMID_WIDTH, HIDDEN_WIDTH = 256, 1024
USUAL_LEVEL, USUAL_SIDE = 2, 224  # a region as large as ImageNet's crops is cut from the third of a pyramid's maps
LEVEL_MARGIN = 1e-6  # torchvision's


@dataclass(frozen=True)
class Look:
    """The maps of images, what is proposed on them, and the frames of the images."""

    maps: list[Tensor]
    proposed: Regions
    frames: Tensor


class Detector(Network, Drawing):
    """A network that finds objects. `body` is the network of its spec without the classifier.

    `plan` is its task with every value settled. Images (images, channels,
    height, width) of a batch are padded on the right and at the bottom; each one's frame says how far it reaches.
    For a training it has no stages to tell apart, and nothing stands in for its trunk. `separate` is what proposes
    regions in place of its own layers, where the task says so.
    """

    def __init__(self, spec: Spec, detection: Detection) -> None:
        super().__init__(spec)
        self.task, self.plan = detection, detection.settle()
        self.takes_stand_in = False
        self.body = make_trunk(spec, self.plan)
        if self.plan.head == "fpn":
            self.strides = self.body.strides
            width, proposed = PYRAMID_WIDTH, (*self.strides, 2 * self.strides[-1])
            self.pyramid = Pyramid(self.body.widths, width)
            self.hidden = TwoLayers(width * self.plan.pooled_side**2, HIDDEN_WIDTH)
            region_width = HIDDEN_WIDTH
        else:
            at = -2 if len(self.body.widths) > 1 else -1
            self.strides = proposed = (self.body.strides[at],)
            width, region_width = self.body.widths[at], self.body.region_width
            self.pyramid = self.hidden = None
        self.checkpointing = self.body.checkpointing
        self.proposer = Proposer(self.plan, width=width, strides=proposed)
        self.outputs = RegionOutputs(region_width * (1 + self.plan.context), spec.classes)
        self.separate = None
        if self.plan.trunks == "separate":
            own = Detector(spec, replace(detection, trunks="shared", trains="both"))
            self.separate = SeparateProposer(own.body, own.pyramid, own.proposer)
        for module in self._list_untrained():
            module.requires_grad_(requires_grad=False)

    def _list_untrained(self) -> Iterator[nn.Module]:
        """Yield what is left alone beside the stages that are frozen."""
        if self.plan.trains == "regions":
            yield self.proposer
        if self.plan.trains == "proposals":
            yield from [self.outputs, *(self.body.region_layers() if self.hidden is None else [self.hidden])]
        if self.plan.freeze == "shared" and self.pyramid is not None:
            yield self.pyramid

    def forward(self, x: Tensor, targets: Tensor | None = None) -> Tensor:
        """Return the detections of each image (images, plan.detections, 6), best first.

        Of the targets (images, rows, 7) only the first row is read: the image's frame. Without them nothing is padding,
        and in training mode it is the logits of as many regions as are trained on, or of anchors where these alone
        are: what a step computes.
        """
        if self.training and targets is None:
            if self.plan.trains == "proposals":
                return self.proposer(self.maps(x), tuple(x.shape[-2:])).logits
            look = self.trunk(x)
            boxes = look.proposed.boxes[:, : self.plan.regions]
            return self.outputs(self.describe(look.maps, boxes, look.frames))[0]
        return self.head(self._look(x, targets))

    def trunk(self, x: Tensor) -> Look:
        """Return the maps of images without padding, and what is proposed on them."""
        return self._look(x, None)

    def head(self, features: Look) -> Tensor:
        """Return the detections among what was proposed."""
        judgement = self.judge(features.maps, features.proposed.boxes, features.frames)
        return select(judgement, features.proposed.valid, self.plan)

    def observe(self, x: Tensor, see: Observer) -> Tensor:
        """Hand the maps, the proposals and the detections to `see`."""
        look = self.trunk(x)
        for number, each in enumerate(look.maps, start=1):
            see(f"map_{number}", each)
        see("proposals", look.proposed.boxes)
        detections = self.head(look)
        see("detections", detections)
        return detections

    def _look(self, x: Tensor, targets: Tensor | None) -> Look:
        frames = _frame(x) if targets is None else targets[:, 0, :4]
        return Look(*self.propose(x, frames), frames)

    def losses(self, images: Tensor, targets: Tensor, generator: torch.Generator | None) -> dict[str, Tensor]:
        """Return the mean losses of a batch by name; what is trained on is drawn from `generator`.

        There is no loss of what is not trained.
        """
        frames, objects = targets[:, 0, :4], read_objects(targets)
        maps = self.maps(images)
        if self.plan.trains == "regions":
            with torch.no_grad():
                proposed = self._propose(images, maps, frames, training=True)
            return self._judge_losses(maps, proposed, frames, objects, generator)
        candidates = self.proposer(maps, tuple(images.shape[-2:]))
        losses = self.proposer.losses(candidates, frames, objects, generator)
        if self.plan.trains == "proposals":
            return losses
        proposed = self.proposer.propose(candidates, frames, training=True)
        return losses | self._judge_losses(maps, proposed, frames, objects, generator)

    def _judge_losses(
        self, maps: list[Tensor], proposed: Regions, frames: Tensor, objects: Objects, generator: torch.Generator | None
    ) -> dict[str, Tensor]:
        """Return how wrong what is said of regions is that are drawn from each image's."""
        with torch.no_grad():
            sample = sample_regions(proposed, objects, plan=self.plan, generator=generator)
            wanted = encode(sample.objects, sample.boxes, self.plan.box_weights).flatten(0, 1)
            labels, sampled = sample.labels.flatten(), sample.valid.flatten()
        logits, codes = self.outputs(self.describe(maps, sample.boxes, frames))
        own = codes.gather(1, labels[:, None, None].expand(-1, 1, 4))[:, 0]
        return {
            "roi_class": classify_regions(logits, labels, sampled),
            "roi_box": place_boxes(own, wanted, labels > 0, sampled, beta=self.plan.region_beta),
        }

    def maps(self, images: Tensor) -> list[Tensor]:
        """Return the maps that regions are proposed from; they are cut from these too, but for a pyramid's last."""
        return find_maps(self.body, self.pyramid, images)

    def propose(self, images: Tensor, frames: Tensor) -> tuple[list[Tensor], Regions]:
        """Return the maps of images, and the regions of a test."""
        maps = self.maps(images)
        return maps, self._propose(images, maps, frames, training=False)

    def _propose(self, images: Tensor, maps: list[Tensor], frames: Tensor, *, training: bool) -> Regions:
        if self.separate is not None:
            return self.separate(images, frames, training=training)
        candidates = self.proposer(maps, tuple(images.shape[-2:]))
        return self.proposer.propose(candidates, frames, training=training)

    def judge(self, maps: list[Tensor], boxes: Tensor, frames: Tensor) -> Judgement:
        """Return what is in regions (images, regions, 4), and where."""
        return self.read(self.describe(maps, boxes, frames), boxes, frames)

    def read(self, features: Tensor, boxes: Tensor, frames: Tensor) -> Judgement:
        """Return what the last layers make of the features of regions (images, regions, 4)."""
        logits, codes = self.outputs(features)
        scores = logits.softmax(-1)[:, 1:].unflatten(0, boxes.shape[:2])
        codes = codes[:, 1:].unflatten(0, boxes.shape[:2])
        moved = decode(codes, boxes[:, :, None], self.plan.box_weights)
        return Judgement(scores, clip(moved, frames[:, None, None]))

    def describe(self, maps: list[Tensor], boxes: Tensor, frames: Tensor) -> Tensor:
        """Return what the last layers are given of regions (images, regions, 4): a row for each."""
        own = self._describe_own(maps, boxes)
        return join_context(own, self._describe_own(maps, frames[:, None])) if self.plan.context else own

    def _describe_own(self, maps: list[Tensor], boxes: Tensor) -> Tensor:
        return self.describe_pooled(self.pool(maps, boxes))

    def describe_pooled(self, pooled: Tensor) -> Tensor:
        """Return the features of regions that are cut out already: a row for each, without the context's."""
        return self.body.of_regions(pooled) if self.hidden is None else self.hidden(pooled)

    def pool(self, maps: list[Tensor], boxes: Tensor) -> Tensor:
        """Return small maps of regions (images, regions, 4), image by image."""
        plan = self.plan
        images = torch.arange(boxes.shape[0], device=boxes.device).repeat_interleave(boxes.shape[1])
        # Boxes that are no numbers come from weights that are none: the loss says so, not whoever reads the map there.
        boxes = boxes.flatten(0, 1).detach().nan_to_num(0.0)
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


def _frame(x: Tensor) -> Tensor:
    """Return the frames of images that fill their batch."""
    frames = x.new_zeros(len(x), 4, dtype=torch.float32)  # filled on the device: nothing is copied there
    frames[:, 2].fill_(x.shape[-1])
    frames[:, 3].fill_(x.shape[-2])
    return frames
