"""Pictures with the objects found in them drawn on: boxes, classes and scores, a colour for each class.

Lines and letters grow with the picture, and a small picture is enlarged, so that they can be read.
"""

import colorsys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from PIL import Image, ImageDraw, ImageFont

from reslab.delivery.pictures import Image as Given
from reslab.delivery.pictures import OnBad, Picture, read_images
from reslab.delivery.prediction import FoundObject, Prediction
from reslab.delivery.sheet import MOST_ROWS, SIGNATURE, THREADS, sign
from reslab.errors import UserError
from reslab.files import atomic_write, refuse_foreign
from reslab.legible import legible
from reslab.numbers import write_probability

LEAST_SIDE, LONGEST_ENLARGED = 320, 4000  # pixels
LINES, LETTERS = 250, 32  # of a line's width, and of a letter's height, to the shorter side
LEAST_LINE, LEAST_LETTER = 2, 12
TURN = 0.618034  # of the circle of colours, from class to class: the golden section comes near no earlier one
BRIGHT = 140  # grey from which black letters are read better than white ones

Colour: TypeAlias = tuple[int, int, int]
Rectangle: TypeAlias = tuple[float, float, float, float]


def name_pictures(images: Iterable[str], ending: str) -> list[str]:
    """Return what pictures made of images are called; two images of one name get numbers."""
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for stem in (Path(image).stem for image in images):
        name = f"{stem}{ending}"
        while name in names:
            numbers[stem] = numbers.get(stem, 1) + 1
            name = f"{stem}-{numbers[stem]}{ending}"
        names[name] = None
    return list(names)


def write_drawings(
    predictions: Sequence[Prediction],
    images: Sequence[Given],
    folder: Path,
    *,
    class_names: Sequence[str],
    on_bad: OnBad | None = None,
) -> list[Path | None]:
    """Draw on the images that predictions are about; return the path of each picture, the image's name with .jpg.

    Images are read once more; one that has gone bad since has none.
    """
    colours = choose_colours(class_names)
    names = name_pictures([one.image for one in predictions], ".jpg")
    waiting: Iterator[tuple[int, Prediction]] = iter(enumerate(predictions))
    paths: list[Path | None] = [None] * len(predictions)
    told = {one.image for one in predictions}
    for picture in read_images(images, on_bad=on_bad, threads=THREADS):
        if picture.name not in told:
            continue
        number, prediction = next(one for one in waiting if one[1].image == picture.name)
        path = folder / names[number]
        refuse_foreign(path, SIGNATURE.encode())
        drawn = draw_objects(picture, prediction.objects or (), colours)
        with atomic_write(path) as temporary:
            drawn.save(temporary, "JPEG", quality=92, subsampling=0, **sign("JPEG"))
        paths[number] = path
    return paths


def choose_colours(class_names: Sequence[str]) -> dict[str, Colour]:
    """Return a bright colour for each class, unlike those of the classes before."""
    colours: dict[str, Colour] = {}
    for number, name in enumerate(class_names):
        value = 1.0 if number % 2 == 0 else 0.8
        red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(number * TURN % 1, 0.85, value))
        colours[name] = red, green, blue
    return colours


def draw_objects(picture: Picture, objects: Sequence[FoundObject], colours: Mapping[str, Colour]) -> Image.Image:
    """Return a picture with its objects, the best of them on top."""
    pixels = picture.pixels.permute(1, 2, 0).expand(-1, -1, 3).numpy()
    image, scale = _enlarge(Image.fromarray(pixels))
    if max(image.size) > MOST_ROWS:
        raise UserError(
            f"{picture.name} is {image.width}x{image.height}, and a JPEG has at most {MOST_ROWS:,} pixels a side; "
            "leave out --draw"
        )
    pen, shorter = ImageDraw.Draw(image), min(image.size)
    line, font = max(LEAST_LINE, shorter // LINES), ImageFont.load_default(max(LEAST_LETTER, shorter // LETTERS))
    boxes = [_place(found, scale) for found in objects]
    for found, box in reversed([*zip(objects, boxes, strict=True)]):
        outside = (box[0] - 1, box[1] - 1, box[2] + 1, box[3] + 1)  # dark, so that it is seen on any ground
        pen.rectangle(outside, outline="#101010", width=line + 2)
        pen.rectangle(box, outline=colours[found.name], width=line)
    taken: list[Rectangle] = []
    for found, box in zip(objects, boxes, strict=True):
        text = _shorten(f"{_say(found)} {write_probability(found.score)}", pen, font, room=image.width - 2 * line)
        label = _find_room(pen.textbbox((0, 0), text, font), box, taken, size=image.size, margin=line)
        colour = colours[found.name]
        pen.rectangle(label, fill=colour)
        dark = sum(part * share for part, share in zip(colour, (0.299, 0.587, 0.114), strict=True)) > BRIGHT
        pen.text((label[0] + line, label[1] + line), text, "black" if dark else "white", font, anchor="lt")
        taken.append(label)
    return image


def _enlarge(image: Image.Image) -> tuple[Image.Image, int]:
    """Return an image whose sides are whole multiples, as large as labels need, and the factor."""
    scale = max(1, min(-(-LEAST_SIDE // min(image.size)), LONGEST_ENLARGED // max(image.size)))
    large = image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST)
    return large, scale


def _place(found: FoundObject, scale: int) -> Rectangle:
    """Return the first and last pixels of a box, whose edges lie between pixels."""
    left, top, right, bottom = (round(edge * scale) for edge in found.box)
    return left, top, max(left, right - 1), max(top, bottom - 1)


def _say(found: FoundObject) -> str:
    return legible(found.words.partition(",")[0] if found.words else found.name)


def _shorten(
    text: str, pen: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, *, room: int
) -> str:
    while len(text) > 1 and pen.textlength(text, font) > room:
        text = text[:-2].rstrip("…") + "…"
    return text


def _find_room(
    text: Rectangle, box: Rectangle, taken: Sequence[Rectangle], *, size: tuple[int, int], margin: int
) -> Rectangle:
    """Return where a label goes: above its box, in it, below it, wherever it covers no other; else above all."""
    width, height = text[2] - text[0] + 2 * margin, text[3] - text[1] + 2 * margin
    left = max(0.0, min(box[0], size[0] - width))
    places: list[Rectangle] = []
    for top in (box[1] - height - 1, box[1], box[3] - height, box[3] + 2):
        top = max(0.0, min(top, size[1] - height))
        places.append((left, top, left + width, top + height))
    return next((place for place in places if not any(_overlap(place, other) for other in taken)), places[0])


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
