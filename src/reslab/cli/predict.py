"""`reslab predict RUN|WEIGHTS-FILE|ONNX-FILE|NAME IMAGE... [field=value ...] [--csv FILE] [--draw FOLDER] …`."""

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
    from reslab.delivery.prediction import FoundObject, Guess, Prediction
    from reslab.delivery.predictor import Predictor

CsvFile = Annotated[Path | None, Parameter(allow_leading_hyphen=True)]  # - is standard output
SURE, UNSURE = 0.9, 0.5


def predict(
    subject: str,
    *words: ImageWord,
    top: Annotated[int | None, WHOLE] = None,
    threshold: float | None = None,
    json: Json = False,
    csv: CsvFile = None,
    sheet: Path | None = None,
    explain: Path | None = None,
    draw: Path | None = None,
    coco: Path | None = None,
    runs: RunsFolder = None,
) -> None:
    """Classify images with a trained network, or find the objects in them.

        reslab predict resnet-20 photo.jpg weights=cifar10

    Prints one line per image, the most probable classes first. A network for several labels prints the labels it
    finds. A detector prints one line per object: its class, its score, and the edges of its box in pixels.

    Parameters
    ----------
    subject
        A run (its id, the start of its id, or its folder), a weight file, an ONNX file written by `reslab export`, or a
        network's name with weights=FILE|cifar10|imagenet.
    words
        Images and folders of images. '-' reads paths from standard input, one per line. Then fields:
        weights=FILE|cifar10|imagenet, preprocess.FIELD=value, and data.on_bad_image=skip to skip images that cannot be
        read. data=FOLDER names a folder with COCO annotations, whose ids --coco writes.
    top
        How many classes to print (default 5), or the most objects of an image (default: all).
    threshold
        For several labels per image: print labels with at least this probability. Default: 0.5, or the threshold of
        each label if `reslab evaluate --tune-thresholds` wrote the weights. For detectors: print objects with at least
        this score (default 0.5).
    csv
        Write a CSV file: image, guess, probability, then the other guesses; for detectors one line per object. '-'
        prints the CSV instead of the table.
    sheet
        Write a contact sheet (.html, .jpg or .png): thumbnails by predicted class, with probabilities.
    explain
        Write a Grad-CAM overlay (PNG) of the first guess for each image to this folder.
    draw
        For detectors: write each image (JPEG) with boxes, classes and scores drawn to this folder.
    coco
        For detectors: write all objects as COCO results (.json), whatever their score unless --threshold or --top is
        given. A second file, FILE-images.json, lists the ids.
    """
    paths, fields = read_image_words("predict", words, ("weights", "data", "data.on_bad_image"))
    to_stdout = str(csv) == "-"
    if json and to_stdout:
        raise UserError("--json and --csv - both print to standard output; give --csv a file, or leave out --json")
    with loading_bar("looking") as progress:
        from reslab.delivery.guess_table import to_csv
        from reslab.delivery.prediction import to_plain
        from reslab.delivery.predictor import Predictor
        from reslab.experiments.predict import look
        from reslab.experiments.predicted_files import PredictedFiles

        looked = look(
            subject,
            paths,
            fields,
            PredictedFiles.at(csv=None if to_stdout else csv, sheet=sheet, explain=explain, draw=draw, coco=coco),
            top=top,
            threshold=threshold,
            runs=runs_root(runs),
            progress=progress,
            warn=warn,
        )
    looker, predictions, trouble = looked.looker, looked.predictions, looked.trouble
    pictures = looked.drawings
    if explain and trouble is None:  # raised after the guesses are printed, which need no files
        try:
            assert isinstance(looker, Predictor)  # others were refused
            _explain(looker, predictions, explain, pictures)
        except UserError as error:
            trouble = error
    if to_stdout:
        sys.stdout.buffer.write(to_csv(predictions, objects=looker.finds_objects))
    elif json:
        told = [to_plain(prediction) for prediction in predictions]
        for one, path in zip(told, pictures, strict=False):  # fewer where none were asked for, or they failed
            one["explanation" if explain else "drawing"] = None if path is None else str(path)
        print_json(told)
    else:
        print_heading(looker.origin, f"{looker.network_name}, {looker.describe_preparation()}\n")
        if looker.finds_objects:
            _print_objects(predictions)
        else:
            _print_table(predictions, labels=looker.task == "multi-label")
    if trouble is not None:
        raise trouble
    if json or to_stdout:
        return
    for folder in filter(None, (explain, draw)):
        written = len(pictures) - pictures.count(None)
        say(f"\nwrote {count(written)} picture{'s' * (written != 1)} to {folder}")
    for path in filter(None, (csv, sheet, coco)):
        say(f"\nwrote {path}")


def _print_objects(predictions: list[Prediction]) -> None:
    folder = _common_folder([prediction.image for prediction in predictions])
    table = make_table(
        "", f"image in {folder}" if folder else "image", "class<", "score", "left", "top", "right", "bottom"
    )
    for prediction in predictions:
        image = prediction.image.removeprefix(f"{folder}/") if folder else prediction.image
        if not prediction.objects:
            table.add_row(image, Text("none", style="dim"))
        for found in prediction.objects or ():
            score = Text(write_probability(found.score), style=_style(found.score))
            table.add_row(image, _name(found), score, *(f"{edge:.0f}" for edge in found.box))
    console.print(table)


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
    rest = Text(", ".join(map(_written, others)), style="dim")
    return [_name(first), Text(write_probability(first.probability), style=_style(first.probability)), rest]


def _write_labels(prediction: Prediction) -> list[Text]:
    had, rest = [], []
    for guess in prediction.guesses:
        (had if guess.name in (prediction.labels or ()) else rest).append(_written(guess))
    return [Text(", ".join(had) or "none", style="bold" if had else ""), Text(", ".join(rest), style="dim")]


def _style(probability: float) -> str:
    return "green" if probability >= SURE else "" if probability >= UNSURE else "yellow"


def _name(guess: Guess | FoundObject) -> Text:
    """Name a first guess, or an object; in words where they are known, and the class's own name beside them."""
    told = Text(_words(guess), style="bold")
    return told.append(f" {legible(guess.name)}", style="not bold dim") if guess.words else told


def _written(guess: Guess) -> str:
    return f"{_words(guess)} {write_probability(guess.probability)}"


def _words(guess: Guess | FoundObject) -> str:
    """Return what a class is called: the first of several words for it."""
    return legible(guess.words.partition(",")[0] if guess.words else guess.name)


def _common_folder(images: list[str]) -> str:
    """Return the folder all of several images are in, so that it is said once."""
    folders = [Path(image).parent for image in images]
    if len(folders) < 2 or len({folder.is_absolute() for folder in folders}) > 1:
        return ""
    return os.path.commonpath(folders)


def _explain(predictor: Predictor, predictions: list[Prediction], folder: Path, paths: list[Path | None]) -> None:
    """Write a picture for each first guess, and add where to `paths`; two images of one name get numbers."""
    from PIL import Image

    from reslab.delivery.drawn_objects import name_pictures
    from reslab.delivery.sheet import SIGNATURE, sign

    names = name_pictures([prediction.image for prediction in predictions], ".png")
    with image_bar("explaining", len(predictions)) as listener:
        for name, prediction in zip(names, predictions, strict=True):
            path = folder / name
            refuse_foreign(path, SIGNATURE.encode())  # a number behind its name may make it another's
            pixels = predictor.explain(prediction.image, target=prediction.guesses[0].name)
            with atomic_write(path) as temporary:
                Image.fromarray(pixels).save(temporary, format="PNG", **sign("PNG"))
            paths.append(path)
            listener.progress(len(paths), {})
