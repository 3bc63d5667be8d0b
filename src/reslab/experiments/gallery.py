"""The gallery of a run: the images it was most sure of, right and wrong, as thumbnails. The report needs no data then.

It is read from the images as they are stored, so nobody wonders about crops and means. Sequences and volumes have none.
"""

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image
from torch import Tensor

from reslab.data.dataset import Dataset, Split
from reslab.data.reading import decode_in_order
from reslab.runs.directory import RunDirectory
from reslab.spec.codec import encode
from reslab.tasks.gallery import FILE, NEITHER, ClassExamples, Example, Gallery, Opinions, Thumbnail, limit

SIDE = 112  # pixels that a thumbnail has at most; smaller images stay as they are
QUALITY = 75
THREADS = 4  # that decode: photographs of a telephone are large


def has_pictures(dataset: Dataset) -> bool:
    """Whether the data can be looked at."""
    return dataset.dimensions == 2


def write_gallery(
    run: RunDirectory, opinions: Opinions, dataset: Dataset, tested: Split, *, class_names: Sequence[str]
) -> None:
    """Write the gallery of a run, whole or not at all; without opinions there is none."""
    if not len(opinions):
        return
    chosen = limit(opinions)
    thumbnails = _draw_thumbnails(tested, np.unique(chosen["index"]).tolist(), brightest=dataset.brightest)
    classes = []
    for number in map(int, np.unique(chosen["about"])):
        found: dict[bool, list[Example]] = {False: [], True: []}
        for one in chosen[chosen["about"] == number]:
            index = int(one["index"])
            if index in thumbnails:  # else it can be read no more
                example = Example(
                    name=tested.name(index),
                    truth=_name(int(one["truth"]), number, class_names),
                    guess=_name(int(one["guess"]), number, class_names),
                    probability=round(float(one["sure"]), 6),
                    picture=thumbnails[index],
                )
                found[bool(one["right"])].append(example)
        classes.append(ClassExamples(name=class_names[number], mistakes=tuple(found[False]), hits=tuple(found[True])))
    run.write(FILE, encode(Gallery(classes=tuple(classes))))


def _name(number: int, about: int, class_names: Sequence[str]) -> str:
    return f"not {class_names[about]}" if number == NEITHER else class_names[number]


def _draw_thumbnails(tested: Split, indices: Sequence[int], *, brightest: int) -> dict[int, Thumbnail]:
    """Return small images by their numbers; what cannot be read any more is left out."""
    chosen = tested.take(np.array(indices, np.int64))
    decoded = decode_in_order(chosen, on_bad=lambda index, error: None, ahead=THREADS, threads=THREADS)
    return {indices[place]: _draw(image, brightest=brightest) for place, image in decoded}


def _draw(image: Tensor, *, brightest: int) -> Thumbnail:
    pixels = image.numpy()
    pixels = pixels[:3] if len(pixels) >= 3 else pixels[:1]
    if brightest != 255:
        pixels = (pixels * (255 / brightest)).clip(0, 255).round().astype(np.uint8)
    picture = Image.fromarray(pixels.transpose(1, 2, 0) if len(pixels) == 3 else pixels[0])
    picture.thumbnail((SIDE, SIDE), reducing_gap=2.0)
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=QUALITY, optimize=True)
    return Thumbnail(jpeg=base64.b64encode(file.getvalue()).decode(), width=picture.width, height=picture.height)
