"""Found objects as COCO's results, and beside them a file that says which image and class has which id.

Ids are those of COCO's annotations where they are given; else images are numbered from 1 in their order, and so are
classes. The second file has COCO's own form, and says that reslab made both: results have no place for that.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reslab.data.objects.coco import CocoIds
from reslab.delivery.prediction import Prediction
from reslab.delivery.sheet import SIGNATURE
from reslab.errors import UserError
from reslab.files import exists, refuse_foreign, write_text
from reslab.json_text import to_json
from reslab.tasks.detection.results_file import Id, write_results
from reslab.tasks.detection.rows import Detections


def name_listing(path: Path) -> Path:
    """Return where the ids of a file of results are written down."""
    return path.with_name(f"{path.stem}-images.json")


def refuse_foreign_results(path: Path) -> None:
    """Refuse to replace results that reslab did not write: those without its listing."""
    listing = name_listing(path)
    refuse_foreign(listing, SIGNATURE.encode())
    if exists(path) and not exists(listing):
        raise UserError(f"{path} exists, and reslab did not write it; name another file, or remove it")


def write_coco(
    predictions: Sequence[Prediction], path: Path, *, class_names: Sequence[str], ids: CocoIds | None = None
) -> None:
    """Write the objects of all predictions, and the listing of the ids."""
    images = find_image_ids([prediction.image for prediction in predictions], ids)
    categories = find_category_ids(class_names, ids)
    labels = {name: label for label, name in enumerate(class_names)}
    found = [(image, one) for image, prediction in enumerate(predictions) for one in prediction.objects or ()]
    listing = {
        "info": {"description": f"{SIGNATURE}: the images and classes of {path.name}"},
        "images": [
            {"id": number, "file_name": prediction.image, "width": width, "height": height}
            for number, prediction in zip(images, predictions, strict=True)
            for width, height in [prediction.size or (None, None)]
        ],
        "categories": [{"id": number, "name": name} for number, name in zip(categories, class_names, strict=True)],
    }
    detections = Detections(
        image=np.array([image for image, _ in found], np.int64),
        label=np.array([labels[one.name] for _, one in found], np.int64),
        box=np.array([one.box for _, one in found], np.float64).reshape(-1, 4),
        score=np.array([one.score for _, one in found], np.float64),
    )
    write_text(name_listing(path), to_json(listing, indent=2))
    write_results(path, detections, image_ids=images, category_ids=categories)


def find_image_ids(images: Sequence[str], ids: CocoIds | None) -> list[Id]:
    """Return the id of each image; refuse one that the annotations do not have, and two of one id."""
    if ids is None:
        return list(range(1, len(images) + 1))
    found: dict[Id, str] = {}
    for image in images:
        number = ids.images.get(Path(image).resolve())
        if number is None:
            raise UserError(
                f"{image} is not in the annotations of {ids.root}; leave it out, or leave out data={ids.root}"
            )
        if number in found:
            raise UserError(f"{found[number]} and {image} both have the id {number}; predict them in separate commands")
        found[number] = image
    return list(found)


def find_category_ids(class_names: Sequence[str], ids: CocoIds | None) -> list[Id]:
    """Return the id of each class; refuse one that the annotations do not have."""
    if ids is None:
        return list(range(1, len(class_names) + 1))
    if missing := [name for name in class_names if name not in ids.categories]:
        raise UserError(
            f"{ids.root} has no category '{missing[0]}', which the detector knows; give the data it was trained for, "
            f"or leave out data={ids.root}"
        )
    return [ids.categories[name] for name in class_names]
