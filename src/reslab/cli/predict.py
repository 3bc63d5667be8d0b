"""`reslab predict RUN|WEIGHTS-FILE|ONNX-FILE|NAME IMAGE... [field=value ...] [--csv FILE] [--sheet FILE]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.text import Text

from reslab.cli.terminal.show import console, make_table, print_heading, print_json, say, warn
from reslab.cli.words.subjects import WHOLE, Json, RunsFolder, runs_root
from reslab.cli.words.trained import ImageWord, image_bar, loading_bar, read_image_words
from reslab.errors import UserError
from reslab.files import atomic_write, refuse_foreign
from reslab.legible import legible
from reslab.numbers import count, write_probability

if TYPE_CHECKING:
    from reslab.delivery.predictor import Guess, Prediction, Predictor

CsvFile = Annotated[Path | None, Parameter(allow_leading_hyphen=True)]  # - is standard output
SURE, UNSURE = 0.9, 0.5


def predict(
    subject: str,
    *words: ImageWord,
    top: Annotated[int, WHOLE] = 5,
    threshold: float | None = None,
    json: Json = False,
    csv: CsvFile = None,
    sheet: Path | None = None,
    explain: Path | None = None,
    runs: RunsFolder = None,
) -> None:
    """Classify images with a trained network.

        reslab predict resnet-20 photo.jpg weights=cifar10

    Prints one line per image, the most probable classes first. A network for several labels prints the labels it
    finds.

    Parameters
    ----------
    subject
        A run (its id, the start of its id, or its folder), a weight file, an ONNX file written by `reslab export`, or a
        network's name with weights=FILE|cifar10|imagenet.
    words
        Images and folders of images. '-' reads paths from standard input, one per line. Then fields:
        weights=FILE|cifar10|imagenet, preprocess.FIELD=value, and data.on_bad_image=skip to skip images that cannot be
        read.
    top
        How many classes to print.
    threshold
        For several labels per image: print labels with at least this probability. Default: 0.5, or the threshold of
        each label if `reslab evaluate --tune-thresholds` wrote the weights.
    csv
        Write a CSV file: image, guess, probability, then the other guesses. '-' prints the CSV instead of the table.
    sheet
        Write a contact sheet (.html, .jpg or .png): thumbnails by predicted class, with probabilities.
    explain
        Write a Grad-CAM overlay (PNG) of the first guess for each image to this folder.
    """
    paths, fields = read_image_words("predict", words, ("weights", "data.on_bad_image"))
    to_stdout = str(csv) == "-"
    if json and to_stdout:
        raise UserError("--json and --csv - both print to standard output; give --csv a file, or leave out --json")
    with loading_bar("looking") as progress:
        from reslab.delivery.guess_table import to_csv
        from reslab.delivery.predictor import Predictor, to_plain
        from reslab.experiments.predict import look

        guesser, predictions, trouble = look(
            subject,
            paths,
            fields,
            top=top,
            threshold=threshold,
            csv=None if to_stdout else csv,
            sheet=sheet,
            explain=explain,
            runs=runs_root(runs),
            progress=progress,
            warn=warn,
        )
    pictures: list[Path] = []
    if explain and trouble is None:  # raised after the guesses are printed, which need no files
        try:
            assert isinstance(guesser, Predictor)  # others were refused
            _explain(guesser, predictions, explain, pictures)
        except UserError as error:
            trouble = error
    if to_stdout:
        sys.stdout.buffer.write(to_csv(predictions))
    elif json:
        told = [to_plain(prediction) for prediction in predictions]
        for one, path in zip(told, pictures, strict=False):  # fewer where none were asked for, or they failed
            one["explanation"] = str(path)
        print_json(told)
    else:
        print_heading(guesser.origin, f"{guesser.network_name}, {guesser.preparation.describe()}\n")
        _print_table(predictions, labels=guesser.task == "multi-label")
    if trouble is not None:
        raise trouble
    if json or to_stdout:
        return
    if explain:
        say(f"\nwrote {count(len(pictures))} picture{'s' * (len(pictures) != 1)} to {explain}")
    for path in filter(None, (csv, sheet)):
        say(f"\nwrote {path}")


def _print_table(predictions: list[Prediction], *, labels: bool) -> None:
    folder = _common_folder([prediction.image for prediction in predictions])
    columns = ("labels<", "below the threshold<") if labels else ("guess<", "probability", "or<")
    table = make_table("", f"image in {folder}" if folder else "image", *columns)
    for prediction in predictions:
        image = prediction.image.removeprefix(f"{folder}/") if folder else prediction.image
        table.add_row(image, *(_write_labels(prediction) if labels else _write_guesses(prediction)))
    console.print(table)


def _write_guesses(prediction: Prediction) -> list[Text]:
    first, *others = prediction.guesses
    style = "green" if first.probability >= SURE else "" if first.probability >= UNSURE else "yellow"
    rest = Text(", ".join(map(_written, others)), style="dim")
    return [_name(first), Text(write_probability(first.probability), style=style), rest]


def _write_labels(prediction: Prediction) -> list[Text]:
    had, rest = [], []
    for guess in prediction.guesses:
        (had if guess.name in (prediction.labels or ()) else rest).append(_written(guess))
    return [Text(", ".join(had) or "none", style="bold" if had else ""), Text(", ".join(rest), style="dim")]


def _name(guess: Guess) -> Text:
    """Name a first guess; in words where they are known, and the class's own name beside them."""
    told = Text(_words(guess), style="bold")
    return told.append(f" {legible(guess.name)}", style="not bold dim") if guess.words else told


def _written(guess: Guess) -> str:
    return f"{_words(guess)} {write_probability(guess.probability)}"


def _words(guess: Guess) -> str:
    """Return what a class is called: the first of several words for it."""
    return legible(guess.words.partition(",")[0] if guess.words else guess.name)


def _common_folder(images: list[str]) -> str:
    """Return the folder all of several images are in, so that it is said once."""
    folders = [Path(image).parent for image in images]
    if len(folders) < 2 or len({folder.is_absolute() for folder in folders}) > 1:
        return ""
    return os.path.commonpath(folders)


def _explain(predictor: Predictor, predictions: list[Prediction], folder: Path, paths: list[Path]) -> None:
    """Write a picture for each first guess, and add where to `paths`; two images of one name get numbers."""
    from PIL import Image

    from reslab.delivery.sheet import SIGNATURE, sign

    with image_bar("explaining", len(predictions)) as listener:
        for name, prediction in zip(_name_pictures(predictions), predictions, strict=True):
            path = folder / name
            refuse_foreign(path, SIGNATURE.encode())  # a number behind its name may make it another's
            pixels = predictor.explain(prediction.image, target=prediction.guesses[0].name)
            with atomic_write(path) as temporary:
                Image.fromarray(pixels).save(temporary, format="PNG", **sign("PNG"))
            paths.append(path)
            listener.progress(len(paths), {})


def _name_pictures(predictions: list[Prediction]) -> list[str]:
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for stem in (Path(prediction.image).stem for prediction in predictions):
        name = f"{stem}.png"
        while name in names:
            numbers[stem] = numbers.get(stem, 1) + 1
            name = f"{stem}-{numbers[stem]}.png"
        names[name] = None
    return list(names)
