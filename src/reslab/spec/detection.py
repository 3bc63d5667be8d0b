"""Faster R-CNN, as frozen data: what finds objects on top of a network's maps (paper, appendix A).

The defaults are the authors' joint training on the last map but one (`c4`); `head=fpn` is Lin et al. (2017) as
torchvision has it. Fields that the two set differently are None until `settle` gives them the head's usual values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

from reslab.errors import UserError
from reslab.spec.catalogue import Spec
from reslab.spec.codec import normalize, place
from reslab.spec.task_spec import Target, TaskSpec

Head: TypeAlias = Literal["c4", "fpn"]
AnchorForm: TypeAlias = Literal["original", "torchvision"]
Pooling: TypeAlias = Literal["max", "align", "align-unshifted"]
Part: TypeAlias = Literal["none", "stem", "conv2", "conv3", "conv4", "shared"]
Trains: TypeAlias = Literal["both", "proposals", "regions"]

MULTIPLE = 32  # pixels: what the networks stride over; batches are padded to multiples of it
# Where torchvision's pyramid differs from the paper's form, whose values are the defaults of `SettledDetection`.
FPN: dict[str, Any] = {
    "anchor_form": "torchvision",
    "anchor_sides": (32.0, 64.0, 128.0, 256.0, 512.0),
    "crossing_anchors": True,
    "rpn_width": 256,
    "candidates_train": 2000,
    "candidates_test": 1000,
    "proposals_test": 1000,
    "proposal_side": 1e-3,
    "regions": 512,
    "region_beta": 1 / 9,
    "pooling": "align-unshifted",
    "pooled_side": 7,
    "detection_overlap": 0.5,
}
COUNTS = (
    "rpn_width",
    "rpn_samples",
    "candidates_train",
    "candidates_test",
    "proposals_train",
    "proposals_test",
    "regions",
    "pooled_side",
    "pooled_samples",
    "detections",
    "shorter",
)
FRACTIONS = (
    "rpn_positive_share",
    "rpn_positive_overlap",
    "rpn_negative_overlap",
    "proposal_overlap",
    "region_positive_share",
    "region_positive_overlap",
    "detection_score",
    "detection_overlap",
)


@dataclass(frozen=True, kw_only=True)
class Detection(TaskSpec):
    """Objects found in images by Faster R-CNN. None is the head's usual value: for `c4`, then for `fpn`.

    Fields:
        head: What regions are classified from: the last map but one, with the last stage for each region (`c4`, the
            paper), or a pyramid of maps, with two fully-connected layers for each region (`fpn`).
        norm: Batch normalization of the network: constant (`frozen`, the paper) or `trained`.
        norm_epsilon: What batch normalization adds to the variance where it is frozen.
        freeze: Leave the weights alone up to and including this stage. `shared` is all that proposals and regions
            share.
        trains: Train what proposes regions and what classifies them together (`both`), or one of them: `proposals` or
            `regions`, as the steps of alternating training do. The other keeps its weights.
        trunks: Whether regions are proposed on the maps they are classified from (`shared`), or by a network of its own
            (`separate`), which is part of the weights and not trained: the second step of alternating training.
        anchor_form: Anchors as Faster R-CNN has them (`original`: in the middle of a step of the map, whole pixels at
            its stride) or as `torchvision` does (at the corner of a step).
        anchor_sides: Sides of a square anchor in pixels. `fpn` has one for each map, from the finest. Usual are
            128, 256, 512; 32, 64, 128, 256, 512.
        anchor_ratios: Height to width of anchors.
        crossing_anchors: Train anchors too that cross the border of the image. Usual are false; true.
        rpn_width: Channels of the 3x3 convolution that proposes regions. Usual are 512; 256.
        rpn_samples: Anchors trained on in each image.
        rpn_positive_share: The largest share of them that are objects.
        rpn_positive_overlap: Anchors with this overlap with an object, and the best of each object, are objects.
        rpn_negative_overlap: Anchors with less overlap with every object are background.
        rpn_beta: Where the box loss of anchors turns from square to linear.
        candidates_train: Best anchors kept before suppression in training, of each map. Usual are 12000; 2000.
        candidates_test: The same in tests. Usual are 6000; 1000.
        proposals_train: Proposals kept after suppression in training.
        proposals_test: The same in tests. Usual are 300; 1000.
        proposal_overlap: Proposals that overlap a better one by more are suppressed.
        proposal_side: Proposals with a shorter side are left out, in pixels. Usual are 16; 0.001.
        regions: Regions trained on in each image. Usual are 64; 512.
        region_positive_share: The largest share of them that are objects.
        region_positive_overlap: Regions with this overlap with an object are objects.
        region_negative_overlaps: Regions whose greatest overlap is in this range are background.
        region_beta: Where the box loss of regions turns from square to linear. Usual are 1; 1/9.
        box_weights: What the targets of a region's centre and size are multiplied by: x, y, width, height.
        pooling: How a region becomes a map of fixed size: the largest value of each bin (`max`, the paper), or
            interpolated values (`align`; `align-unshifted` is half a pixel off, as torchvision's). Usual are `max`;
            `align-unshifted`.
        pooled_side: Side of that map. Usual are 14; 7.
        pooled_samples: Interpolated values along each side of a bin.
        context: Join what is known of a region with what is known of the whole image, cut out and put through the same
            layers (appendix B).
        detection_score: Detections with a lower score are left out.
        detection_overlap: Detections that overlap a better one of their class by more are suppressed. Usual are
            0.3; 0.5.
        detections: The most detections in an image.
        shorter: Side to which the shorter side of images is resized, in training and in tests.
        longest: The most that the longer side may become; images that would be longer are made smaller.
    """

    name: ClassVar[str] = "detection"
    needs: ClassVar[Target] = "boxes"
    about_training: ClassVar[tuple[str, ...]] = ("freeze", "trains", "trunks")
    own_layers: ClassVar[bool] = True

    head: Head = "c4"
    norm: Literal["frozen", "trained"] = "frozen"
    norm_epsilon: float = 1e-5
    freeze: Part = "conv2"
    trains: Trains = "both"
    trunks: Literal["shared", "separate"] = "shared"
    anchor_form: AnchorForm | None = None
    anchor_sides: tuple[float, ...] | None = None
    anchor_ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    crossing_anchors: bool | None = None
    rpn_width: int | None = None
    rpn_samples: int = 256
    rpn_positive_share: float = 0.5
    rpn_positive_overlap: float = 0.7
    rpn_negative_overlap: float = 0.3
    rpn_beta: float = 1 / 9
    candidates_train: int | None = None
    candidates_test: int | None = None
    proposals_train: int = 2000
    proposals_test: int | None = None
    proposal_overlap: float = 0.7
    proposal_side: float | None = None
    regions: int | None = None
    region_positive_share: float = 0.25
    region_positive_overlap: float = 0.5
    region_negative_overlaps: tuple[float, ...] = (0.0, 0.5)
    region_beta: float | None = None
    box_weights: tuple[float, ...] = (10.0, 10.0, 5.0, 5.0)
    pooling: Pooling | None = None
    pooled_side: int | None = None
    pooled_samples: int = 2
    context: bool = False
    detection_score: float = 0.05
    detection_overlap: float | None = None
    detections: int = 100
    shorter: int = 600
    longest: int = 1000

    def __post_init__(self) -> None:
        normalize(self, usual="task.")
        self.settle()  # which refuses what makes no sense

    @property
    def sides(self) -> tuple[int, int]:
        """The shorter side that whole images are resized to, and the most that the longer may be."""
        return self.shorter, self.longest

    @property
    def needs_start(self) -> str:
        """What of it goes on from trained weights: with random ones, half of the detector would stay random."""
        if self.trains == "regions":
            return "task.trains=regions"
        return "task.freeze=shared" if self.freeze == "shared" else ""

    def find_input_shape(self, network: Spec) -> tuple[int, ...]:
        """Return the shape of the largest batch that images are padded to, channels first."""
        return network.channels, *(-(-side // MULTIPLE) * MULTIPLE for side in self.sides)

    def settle(self) -> SettledDetection:
        """Return the same with every None replaced by what is usual for the head."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in values.items() if value is not None}
        return SettledDetection(**({} if self.head == "c4" else FPN) | given)


@dataclass(frozen=True, kw_only=True)
class SettledDetection(Detection):
    """The same with a value in every field."""

    anchor_form: AnchorForm = "original"
    anchor_sides: tuple[float, ...] = (128.0, 256.0, 512.0)
    crossing_anchors: bool = False
    rpn_width: int = 512
    candidates_train: int = 12000
    candidates_test: int = 6000
    proposals_test: int = 300
    proposal_side: float = 16.0
    regions: int = 64
    region_beta: float = 1.0
    pooling: Pooling = "max"
    pooled_side: int = 14
    detection_overlap: float = 0.3

    def __post_init__(self) -> None:
        normalize(self, usual="task.")
        for reason in self._impossible():
            raise UserError(f"{place('task.')}{reason}")

    def settle(self) -> SettledDetection:
        """Return itself."""
        return self

    def _impossible(self) -> Iterator[str]:
        """Yield what is wrong with a field, and the remedy."""
        for name in COUNTS:
            if getattr(self, name) < 1:
                yield f"{name} is {getattr(self, name)}; it must be at least 1"
        for name in FRACTIONS:
            if not 0 <= getattr(self, name) <= 1:
                yield f"{name} is {getattr(self, name)}; it must be from 0 to 1"
        for name in ("rpn_beta", "region_beta"):
            if getattr(self, name) <= 0:
                yield f"{name} is {getattr(self, name)}; it must be more than 0"
        for name in ("proposal_side", "norm_epsilon"):
            if getattr(self, name) < 0:
                yield f"{name} is {getattr(self, name)}; it must be at least 0"
        for name in ("anchor_sides", "anchor_ratios", "box_weights"):
            numbers: tuple[float, ...] = getattr(self, name)
            if not numbers or min(numbers) <= 0:
                yield f"{name} is {list(numbers)}; give numbers more than 0"
        if len(self.box_weights) != 4:
            yield f"box_weights has {len(self.box_weights)} numbers; give four: x, y, width, height"
        bounds = self.region_negative_overlaps
        if len(bounds) != 2 or not 0 <= bounds[0] < bounds[1] <= self.region_positive_overlap:
            yield (
                f"region_negative_overlaps is {list(bounds)}; give a lower and an upper bound "
                f"of at most region_positive_overlap, such as [0,{self.region_positive_overlap:g}]"
            )
        if self.rpn_negative_overlap > self.rpn_positive_overlap:
            yield (
                f"rpn_negative_overlap is {self.rpn_negative_overlap}; it must be at most rpn_positive_overlap, "
                f"{self.rpn_positive_overlap}"
            )
        if self.longest < self.shorter:
            yield f"longest is {self.longest}; it must be at least shorter, {self.shorter}"
        if self.trunks == "separate" and self.trains != "regions":
            yield f"trunks is separate, which does not go with trains={self.trains}; set trains=regions too"
        if self.trains == "regions" and self.trunks == "shared" and self.freeze != "shared":
            yield (
                f"trains is regions with freeze={self.freeze}, which trains the stages that proposals are made from, "
                "but not what makes them; set freeze=shared or trunks=separate"
            )
        if self.head == "fpn" and self.pooling == "max":
            yield "pooling is max, which only head=c4 has; choose align or align-unshifted"
