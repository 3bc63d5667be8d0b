"""How training images are varied: cropped, flipped, coloured, mixed; and how large photographs are meanwhile."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reslab.errors import UserError
from reslab.spec.optimization import demand

Edges: TypeAlias = Literal["zero", "reflect"]
FOR_BOXES = ("scales",)
Crop: TypeAlias = Literal["padded", "shorter-side", "resized"]


@dataclass(frozen=True, kw_only=True)
class AugmentationSpec:
    """How training images are cropped, flipped and changed. Some fields are for small images, others for photographs.

    Fields:
        padding: Pixels added on each side before a random crop. For small images.
        flip: Flip images horizontally at random.
        mean_first: Subtract the mean before the padding, so that the padding is zero. For small images.
        edges: What the padding contains: `zero`, or the image reflected (`reflect`). For small images.
        alternating_flips: Draw flips in the first epoch only, then flip each image every other epoch. For small images.
        cutout: Side in pixels of a square set to zero in each image. 0 for none. For small images.
        crop: `padded` for small images. For photographs `shorter-side` (the paper: resize, then crop) or `resized`
            (crop a random area and resize it). `shorter-side` also suits square images of one size.
        sides: The least and the greatest shorter side, for crops of 224 pixels; other crops scale them. For
            `shorter-side`.
        areas: The least and the greatest area of a crop, as fractions of the image. For `resized`.
        colour: Standard deviation of shifts along the principal components of colour. 0 for none. For photographs, and
            for `shorter-side`.
        policy: Also apply torchvision's TrivialAugment (`trivial`) or RandAugment (`rand`). For photographs.
        mixup: Parameter of mixup's beta distribution. 0 for none. With cutmix, each batch draws one of them. For
            photographs.
        cutmix: Parameter of CutMix's beta distribution. 0 for none. For photographs.
        scales: Fractions of task.shorter. Each image is shown with a shorter side of one of these lengths, drawn anew
            every time. None shows all at full size. For images with boxes.
    """

    padding: int = 4
    flip: bool = True
    mean_first: bool = True
    edges: Edges = "zero"
    alternating_flips: bool = False
    cutout: int = 0
    crop: Crop = "padded"
    sides: tuple[int, ...] = (256, 480)
    areas: tuple[float, ...] = (0.08, 1.0)
    colour: float = 0.0
    policy: Literal["none", "trivial", "rand"] = "none"
    mixup: float = 0.0
    cutmix: float = 0.0
    scales: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        least: dict[str, float] = dict.fromkeys(("padding", "cutout", "colour", "mixup", "cutmix"), 0)
        where = demand(self, "recipe.augmentation.", least=least)
        if len(self.sides) != 2 or not 0 < self.sides[0] <= self.sides[1]:
            raise UserError(f"{where}sides is {self.sides}; give the smallest and the largest side, such as [256,480]")
        if len(self.areas) != 2 or not 0 < self.areas[0] <= self.areas[1] <= 1:
            raise UserError(f"{where}areas is {self.areas}; give two fractions, such as [0.08,1]")
        if any(not 0 < scale <= 1 for scale in self.scales):
            raise UserError(
                f"{where}scales is {list(self.scales)}; give fractions of task.shorter up to 1, such as [0.8,0.9,1]"
            )
        if self.alternating_flips and not self.flip:
            raise UserError(f"{where}alternating_flips is true, but {where}flip is false; set {where}flip=true as well")


@dataclass(frozen=True, kw_only=True)
class ResizingSpec:
    """Progressive resizing of photographs: training starts with small crops, which are fast (Tan and Le, 2021).

    Fields:
        initial: Side of the first crops, as a fraction of the network's input size. 1 turns progressive resizing off.
        stages: How many stages of equal length lead to the full size; crops below it are multiples of 32 pixels.
    """

    initial: float = 1.0
    stages: int = 4

    def __post_init__(self) -> None:
        where = demand(self, "recipe.resizing.", least={"stages": 2})
        if not 0 < self.initial <= 1:
            raise UserError(f"{where}initial is {self.initial:g}; give a fraction of the side, such as 0.5")


def refuse_unheeded(augmentation: AugmentationSpec, heeded: tuple[str, ...], *, other: str) -> None:
    """Refuse fields that have no effect: all but `heeded` are for the `other` kind of images, or for boxes."""
    for name, usual in vars(AugmentationSpec()).items():
        if name not in heeded and (value := getattr(augmentation, name)) != usual:
            field = f"recipe.augmentation.{name}"
            images = "images with boxes" if name in FOR_BOXES else other
            raise UserError(f"{field} is {value}, which is only for {images}; leave out {field}")
