"""A contact sheet of predictions: a thumbnail an image with its guess, by guessed class, the surest first.

As HTML, one file that needs no other; or as a JPEG or PNG of what fits on one. Images are read once more for it, a few
at a time, so that little is held.
"""

import base64
import html
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from reslab.delivery.pictures import Image as Given
from reslab.delivery.pictures import OnBad, Picture, read_images
from reslab.delivery.prediction import Prediction
from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.legible import legible
from reslab.numbers import count, write_probability

SIGNATURE = "made by reslab"
SIDE = 160  # of a thumbnail
HTML_ENDINGS, PICTURE_ENDINGS = (".html", ".htm"), (".jpg", ".jpeg", ".png")
MOST_ON_A_PICTURE, MOST_ON_A_PAGE = 2000, 5000  # images: browsers scroll through no more
MOST_ROWS = 65_500  # of pixels: JPEG ends there
THREADS = 4  # that decode: photographs of a telephone are large
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
    most = MOST_ON_A_PICTURE if ending in PICTURE_ENDINGS else MOST_ON_A_PAGE
    if len(images) > most:
        remedy = "give an .html file" if len(images) <= MOST_ON_A_PAGE else "give fewer, or use --csv"
        raise UserError(f"{path} has room for {count(most)} images, not for {count(len(images))}; {remedy}")


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
            page = _paint(ordered, path, title=title, on_bad=on_bad, left_out=left_out)
            page.save(temporary, form, quality=88, **sign(form))


def sign(form: str) -> dict[str, Any]:
    """Return how a picture says that reslab made it, so that it may be replaced by a newer one."""
    if form == "JPEG":
        return {"comment": SIGNATURE}
    info = PngInfo()
    info.add_text("Software", SIGNATURE)
    return {"pnginfo": info}


def _group(prediction: Prediction) -> str:
    """What an image is filed under: its first guess, or all the labels it has.

    A class has its name beside its first word: two of ImageNet's are called crane.
    """
    if prediction.labels is not None:
        return ", ".join(sorted(prediction.labels)) or "no label"
    first = prediction.guesses[0]
    return f"{first.words.partition(',')[0]}, {first.name}" if first.words else first.name


def _with_thumbnails(
    predictions: Sequence[Prediction], on_bad: OnBad | None
) -> Iterator[tuple[Prediction, Image.Image]]:
    """Yield predictions with small pictures; an image that has gone bad since is left out."""
    waiting = iter(predictions)
    for picture in read_images([one.image for one in predictions], on_bad=on_bad, threads=THREADS):
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
        f'<meta name="generator" content="{SIGNATURE}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_escape(title)}</title><style>{STYLE}</style></head><body>\n<h1>{_escape(title)}</h1>\n"
    )
    for name, group in groupby(_with_thumbnails(predictions, on_bad), lambda one: _group(one[0])):
        file.write(f'<h2>{_escape(name)} <small>{count(sizes[name])}</small></h2>\n<div class="sheet">\n')
        for prediction, small in group:
            data = io.BytesIO()
            small.save(data, "JPEG", quality=85)
            told, image = _escape(_caption(prediction)), _escape(prediction.image)
            file.write(
                f'<figure><img src="data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}" alt="{image}">'
                f"<figcaption>{told}<br><span>{_escape(Path(prediction.image).name)}</span></figcaption></figure>\n"
            )
        file.write("</div>\n")
    if sentences := list(left_out):
        listed = "".join(f"<li>{_escape(sentence)}</li>" for sentence in sentences)
        file.write(f"<h2>Left out <small>{count(len(sentences))}</small></h2><ul>{listed}</ul>\n")
    file.write("</body></html>\n")


def _escape(text: str) -> str:
    return html.escape(legible(text))


def _paint(
    predictions: Sequence[Prediction], path: Path, *, title: str, on_bad: OnBad | None, left_out: Iterable[str]
) -> Image.Image:
    """Return the sheet as one picture: rows of thumbnails, and above the first of each class its name.

    Small classes share a row: a class begins a new one where it does not fit into what is left.
    """
    sizes = {name: len(list(group)) for name, group in groupby(predictions, _group)}
    columns = max(4, min(COLUMNS, len(predictions)))
    first, end = dict[str, int](), 0
    for name, size in sizes.items():
        left = -end % columns
        first[name] = end + left if size > left else end
        end = first[name] + size
    sentences = ["Left out:", *told] if (told := list(left_out)) else []
    cell, row = SIDE + GAP, SIDE + 4 * LINE + GAP
    width, top, bottom = columns * cell + GAP, GAP + 2 * LINE, GAP + 2 * LINE + math.ceil(end / columns) * row
    if (height := bottom + len(sentences) * LINE + GAP) > MOST_ROWS:
        raise UserError(
            f"{path} has no room for {count(len(predictions))} images in {count(len(sizes))} classes; "
            "give an .html file"
        )
    sheet = Image.new("RGB", (width, height), "white")
    pen, plain, large = ImageDraw.Draw(sheet), ImageFont.load_default(11), ImageFont.load_default(14)

    def write(x: int, y: int, text: str, *, room: int, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> None:
        text = legible(text)
        while text and pen.textlength(text, font) > room:
            text = text[:-2].rstrip("…") + "…" if len(text) > 2 else ""
        pen.text((x, y), text, "#1c2026", font)

    write(GAP, GAP, title, room=width - 2 * GAP, font=large)
    for name, group in groupby(_with_thumbnails(predictions, on_bad), lambda one: _group(one[0])):
        for place, (prediction, small) in enumerate(group, first[name]):
            x, y = GAP + place % columns * cell, top + place // columns * row
            if place == first[name]:
                room = min(sizes[name], columns - place % columns) * cell - GAP
                write(x, y, f"{name} ({count(sizes[name])})", room=room, font=large)
            y += 2 * LINE
            sheet.paste(small, (x + (SIDE - small.width) // 2, y + SIDE - small.height))
            write(x, y + SIDE + 2, _caption(prediction), room=SIDE, font=plain)
            write(x, y + SIDE + LINE, Path(prediction.image).name, room=SIDE, font=plain)
    for number, sentence in enumerate(sentences):
        write(GAP, bottom + number * LINE, sentence, room=width - 2 * GAP, font=plain)
    return sheet
