"""The layouts in which objects are annotated, told apart by the files of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from reslab.data.objects.annotations import Annotations, Teller
from reslab.data.objects.coco import find_coco, read_coco
from reslab.data.objects.imagenet_detection import find_imagenet_detection, read_imagenet_detection
from reslab.data.objects.voc import find_voc, read_voc
from reslab.data.objects.yolo import find_yolo, read_yolo
from reslab.data.photos.label_list import find_list
from reslab.errors import UserError

Find: TypeAlias = Callable[[Path], str | None]
Read: TypeAlias = Callable[[Path, Teller], Annotations]
LAYOUTS: dict[str, tuple[Find, Read]] = {
    "Pascal VOC": (find_voc, read_voc),
    "COCO": (find_coco, read_coco),
    "YOLO": (find_yolo, read_yolo),
    "ImageNet detection": (find_imagenet_detection, read_imagenet_detection),
}


def find_layout(root: Path) -> Read | None:
    """Return what reads the annotated objects of a folder; None where it has none. Refuse a folder of two layouts."""
    signs = {name: sign for name, (find, _) in LAYOUTS.items() if (sign := find(root)) is not None}
    if signs and (labels := find_list(root)) is not None:
        signs["a list of labels"] = labels.name
    if len(signs) > 1:
        (one, first), (other, second), *_ = signs.items()
        raise UserError(
            f"{root} is both {one} ({first}) and {other} ({second}); keep the one to use, and move the other elsewhere"
        )
    return LAYOUTS[next(iter(signs))][1] if signs else None
