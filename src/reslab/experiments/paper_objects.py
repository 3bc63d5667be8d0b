"""The data that the paper's detection tables are about, where they lie, and other folders that stand for them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from reslab.data.dataset import Dataset
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError
from reslab.files import data_root
from reslab.paper.claim import Claim
from reslab.paper.detection import SETS, ObjectsSet


def list_asked(claims: Iterable[Claim]) -> list[ObjectsSet]:
    """Return the data with objects that claims are about, those asked about first before the others."""
    names = dict.fromkeys(setting.data.name for claim in claims for setting in claim.settings)
    return [known for name in names for known in SETS if known.data.name == name]


def find_asked(claims: Iterable[Claim], dataset: Dataset) -> ObjectsSet | None:
    """Return which of the data that claims are about a dataset is, by its numbers; None where it is none of them."""
    numbers = (len(dataset.class_names), len(dataset.train), len(dataset.test))
    return next((known for known in list_asked(claims) if known.is_like(*numbers)), None)


def open_objects(place: Path | None, claims: Iterable[Claim]) -> PhotoDataset | None:
    """Read what claims are about where it lies, or a folder; None where nothing lies. Other folders are themselves."""
    claims = list(claims)
    if place is None:
        places = [data_root() / known.data.name for known in list_asked(claims)]
        place = next((each for each in places if each.is_dir()), None)
    if place is None:
        return None
    dataset = read_photos(place)
    if dataset.target != "boxes":
        raise UserError(
            f"{place} has no annotated objects; give a folder as Pascal VOC, COCO, YOLO or ImageNet's detection data"
        )
    known = find_asked(claims, dataset)
    return dataset if known is None else replace(dataset, name=known.data.name)
