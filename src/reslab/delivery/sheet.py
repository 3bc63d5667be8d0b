"""A contact sheet of predictions: a thumbnail an image with its guess, by guessed class, the surest first.

As HTML, one file that needs no other and takes a folder of any size; or as a JPEG or PNG of what fits on one. Images
are read once more for it, one after the other, so that little is held at a time.
"""

import base64
import html
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TextIO

from PIL import Image, ImageDraw, ImageFont

from reslab.delivery.pictures import Image as Given
from reslab.delivery.pictures import OnBad, Picture, read_images
from reslab.delivery.predictor import Prediction
from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.numbers import count, write_probability

SIDE = 160  # of a thumbnail
HTML_ENDINGS, PICTURE_ENDINGS = (".html", ".htm"), (".jpg", ".jpeg", ".png")
MOST_ON_A_PICTURE = 2000  # images: 130 MB of pixels, and JPEG ends at 65,500 rows
COLUMNS, GAP, LINE = 10, 12, 15
STYLE = """
:root { color-scheme: light dark; --muted: #69707c; }
body { margin: 0 auto; max-width: 78rem; padding: 1.5rem clamp(1rem, 4vw, 2.5rem); }
body { font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .6rem; font-size: 1.1rem; }
h2 small, figcaption span { color: var(--muted); font-weight: 400; }
.sheet { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem; }
figure { margin: 0; min-width: 0; }
img { width: 100%; aspect-ratio: 1; object-fit: contain; background: #8883; }
figcaption { font-size: .8125rem; line-height: 1.3; overflow-wrap: anywhere; }
""".strip()


def refuse_sheet(path: Path, images: Sequence[Given]) -> None:
    """Refuse a file that no sheet is written to, or images that do not go on one."""
    ending = path.suffix.lower()
    if ending not in HTML_ENDINGS + PICTURE_ENDINGS:
        raise UserError(f"--sheet is {path}; give a file that ends in .html, .jpg or .png")
    if not all(isinstance(image, (str, Path)) for image in images):
        raise UserError("a contact sheet reads the image files again; save the images to files, or leave the sheet out")
    if ending in PICTURE_ENDINGS and len(images) > MOST_ON_A_PICTURE:
        raise UserError(
            f"{path} has room for {count(MOST_ON_A_PICTURE)} images, not for {count(len(images))}; give an .html file"
        )


def write_sheet(
    predictions: Sequence[Prediction],
    path: Path,
    *,
    title: str,
    on_bad: OnBad | None = None,
    left_out: Iterable[str] = (),
) -> None:
    """Write the sheet of predictions whose images are files; `left_out` says what could not be read, at its end."""
    ordered = sorted(predictions, key=lambda one: (_group(one), -one.guesses[0].probability, one.image))
    with atomic_write(path) as temporary:
        if path.suffix.lower() in HTML_ENDINGS:
            with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
                _write_html(ordered, file, title=title, on_bad=on_bad, left_out=left_out)
        else:
            form = "PNG" if path.suffix.lower() == ".png" else "JPEG"
            _paint(ordered, title=title, on_bad=on_bad, left_out=left_out).save(temporary, form, quality=88)


def _group(prediction: Prediction) -> str:
    """What an image is filed under: its first guess, or all the labels it has."""
    if prediction.labels is not None:
        return ", ".join(sorted(prediction.labels)) or "no label"
    first = prediction.guesses[0]
    return first.words.partition(",")[0] if first.words else first.name


def _with_thumbnails(
    predictions: Sequence[Prediction], on_bad: OnBad | None
) -> Iterator[tuple[Prediction, Image.Image]]:
    """Yield predictions with small pictures; an image that has gone bad since is left out."""
    waiting = iter(predictions)
    for picture in read_images([one.image for one in predictions], on_bad=on_bad):
        yield next(one for one in waiting if one.image == picture.name), _shrink(picture)


def _shrink(picture: Picture) -> Image.Image:
    small = Image.fromarray(picture.pixels.permute(1, 2, 0).expand(-1, -1, 3).numpy())
    small.thumbnail((SIDE, SIDE))
    return small


def _caption(prediction: Prediction) -> str:
    if prediction.labels is None:
        return write_probability(prediction.guesses[0].probability)
    had = [guess for guess in prediction.guesses if guess.name in prediction.labels]
    return ", ".join(f"{guess.name} {write_probability(guess.probability)}" for guess in had or prediction.guesses[:1])


def _write_html(
    predictions: Sequence[Prediction], file: TextIO, *, title: str, on_bad: OnBad | None, left_out: Iterable[str]
) -> None:
    sizes = {name: len(list(group)) for name, group in groupby(predictions, _group)}
    file.write(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>\n<h1>{html.escape(title)}</h1>\n"
    )
    for name, group in groupby(_with_thumbnails(predictions, on_bad), lambda one: _group(one[0])):
        file.write(f'<h2>{html.escape(name)} <small>{count(sizes[name])}</small></h2>\n<div class="sheet">\n')
        for prediction, small in group:
            data = io.BytesIO()
            small.save(data, "JPEG", quality=85)
            told, image = html.escape(_caption(prediction)), html.escape(prediction.image)
            file.write(
                f'<figure><img src="data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}" alt="{image}">'
                f"<figcaption>{told}<br><span>{html.escape(Path(prediction.image).name)}</span></figcaption></figure>\n"
            )
        file.write("</div>\n")
    if sentences := list(left_out):
        listed = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
        file.write(f"<h2>Left out <small>{count(len(sentences))}</small></h2><ul>{listed}</ul>\n")
    file.write("</body></html>\n")


def _paint(
    predictions: Sequence[Prediction], *, title: str, on_bad: OnBad | None, left_out: Iterable[str]
) -> Image.Image:
    """Return the sheet as one picture: rows of thumbnails below the name of each class."""
    sizes = {name: len(list(group)) for name, group in groupby(predictions, _group)}
    cell, row = SIDE + GAP, SIDE + 2 * LINE + GAP
    columns = min(COLUMNS, max(sizes.values(), default=1))
    sentences = list(left_out)
    rows = sum(math.ceil(size / columns) for size in sizes.values())
    lines = 2 + 2 * len(sizes) + (1 + len(sentences) if sentences else 0)
    width = max(4, columns) * cell + GAP
    sheet = Image.new("RGB", (width, rows * row + lines * LINE + 2 * GAP), "white")
    pen, plain, large = ImageDraw.Draw(sheet), ImageFont.load_default(11), ImageFont.load_default(14)

    def write(x: int, y: int, text: str, *, room: int, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> None:
        while text and pen.textlength(text, font) > room:
            text = text[:-2].rstrip("…") + "…" if len(text) > 2 else ""
        pen.text((x, y), text, "#1c2026", font)

    down = GAP
    write(GAP, down, title, room=width - 2 * GAP, font=large)
    down += 2 * LINE
    for name, group in groupby(_with_thumbnails(predictions, on_bad), lambda one: _group(one[0])):
        write(GAP, down, f"{name} ({count(sizes[name])})", room=width - 2 * GAP, font=large)
        down += 2 * LINE
        for place, (prediction, small) in enumerate(group):
            x, y = GAP + place % columns * cell, down + place // columns * row
            sheet.paste(small, (x + (SIDE - small.width) // 2, y + SIDE - small.height))
            write(x, y + SIDE + 2, _caption(prediction), room=SIDE, font=plain)
            write(x, y + SIDE + LINE, Path(prediction.image).name, room=SIDE, font=plain)
        down += math.ceil(sizes[name] / columns) * row
    for number, sentence in enumerate(["Left out:", *sentences] if sentences else []):
        write(GAP, down + number * LINE, sentence, room=width - 2 * GAP, font=plain)
    return sheet
