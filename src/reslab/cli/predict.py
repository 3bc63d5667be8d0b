"""`reslab predict RUN|WEIGHTS-FILE|NAME IMAGE... [weights=FILE] [preprocess.FIELD=value ...] [--explain DIR]`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from reslab.cli.terminal.legible import legible
from reslab.cli.terminal.show import console, make_table, print_heading, print_json, progress_console, say
from reslab.cli.words.subjects import WHOLE, Json, RunsFolder, SubjectWord, runs_root
from reslab.cli.words.trained import ImageWord, image_bar, load_trained, note_bad, preprocess_fields, read_image_words
from reslab.errors import UserError
from reslab.files import atomic_write, refuse_closed_place
from reslab.numbers import count
from reslab.spec import name_of

if TYPE_CHECKING:
    from reslab.delivery.predictor import Guess, Prediction, Predictor

SURE, UNSURE = 0.9, 0.5


def predict(
    subject: SubjectWord,
    *words: ImageWord,
    top: Annotated[int, WHOLE] = 5,
    threshold: float | None = None,
    json: Json = False,
    explain: Path | None = None,
    runs: RunsFolder = None,
) -> None:
    """Classify images with a trained network.

        reslab predict resnet-20 photo.jpg weights=cifar10

    Prints one line per image, the most probable classes first. A network for several labels prints the labels it
    finds.

    Parameters
    ----------
    words
        Images and folders of images. '-' reads paths from standard input, one per line. Then fields:
        weights=FILE|cifar10, preprocess.FIELD=value, and data.on_bad_image=skip to skip images that cannot be read.
    top
        How many classes to print.
    threshold
        For several labels per image: print labels with at least this probability. Default: 0.5.
    explain
        Write a Grad-CAM overlay (PNG) of the first guess for each image to this folder.
    """
    paths, fields = read_image_words("predict", words, ("weights", "data.on_bad_image"))
    if explain:
        refuse_closed_place(explain, folder=True)
    with note_bad(fields) as on_bad:
        with progress_console.status("loading"):
            from reslab.delivery.pictures import find_images
            from reslab.delivery.predictor import Predictor, to_plain
            from reslab.experiments.trained import choose_preprocess
            from reslab.runtime.execution import choose_device

            if not paths:
                raise UserError("predict needs an image; give files, folders, or - for a list on standard input")
            images = find_images(paths, on_bad=on_bad)
            trained = load_trained(subject, fields, runs_root(runs))
            predictor = Predictor(
                trained.network,
                preprocess=choose_preprocess(trained, preprocess_fields(fields)),
                channels_last=trained.channels_last,
                device=choose_device(),
            )
        with image_bar("looking", len(images)) as listener:
            predictions = predictor.predict(images, top=top, threshold=threshold, on_bad=on_bad, listener=listener)
    pictures: list[Path] = []
    trouble: UserError | None = None  # told after the guesses, which need no pictures
    if explain:
        try:
            _explain(predictor, predictions, explain, pictures)
        except UserError as error:
            trouble = error
    if json:
        told = [to_plain(prediction) for prediction in predictions]
        for one, path in zip(told, pictures, strict=False):  # fewer where none were asked for, or they failed
            one["explanation"] = str(path)
        print_json(told)
    else:
        print_heading(trained.origin, f"{name_of(trained.network.spec)}, {predictor.intake.preprocess.describe()}\n")
        _print_table(predictions, labels=trained.network.task == "multi-label")
    if trouble is not None:
        raise trouble
    if explain and not json:
        say(f"\nwrote {count(len(pictures))} picture{'s' * (len(pictures) != 1)} to {explain}")


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
    return [_name(first), Text(_percent(first.probability), style=style), rest]


def _write_labels(prediction: Prediction) -> list[Text]:
    written, had = list(map(_written, prediction.guesses)), len(prediction.labels or ())
    here = Text(", ".join(written[:had]) or "none", style="bold" if had else "")
    return [here, Text(", ".join(written[had:]), style="dim")]


def _name(guess: Guess) -> Text:
    """Name a first guess; in words where they are known, and the class's own name beside them."""
    told = Text(_words(guess), style="bold")
    return told.append(f" {legible(guess.name)}", style="not bold dim") if guess.words else told


def _written(guess: Guess) -> str:
    return f"{_words(guess)} {_percent(guess.probability)}"


def _words(guess: Guess) -> str:
    """Return what a class is called: the first of several words for it."""
    return legible(guess.words.partition(",")[0] if guess.words else guess.name)


def _percent(probability: float) -> str:
    """Format a probability so that neither certainty nor impossibility is claimed by rounding."""
    percent = f"{100 * probability:.1f} %"
    return {"0.0 %": "<0.1 %", "100.0 %": ">99.9 %"}.get(percent, percent)


def _common_folder(images: list[str]) -> str:
    """Return the folder all of several images are in, so that it is said once."""
    folders = [Path(image).parent for image in images]
    if len(folders) < 2 or len({folder.is_absolute() for folder in folders}) > 1:
        return ""
    return os.path.commonpath(folders)


def _explain(predictor: Predictor, predictions: list[Prediction], folder: Path, paths: list[Path]) -> None:
    """Write a picture for each first guess, and add where to `paths`; two images of one name get numbers."""
    from PIL import Image

    with image_bar("explaining", len(predictions)) as listener:
        for done, prediction in enumerate(predictions, start=1):
            stem, number = Path(prediction.image).stem, 1
            while (path := folder / f"{stem}{f'-{number}' if number > 1 else ''}.png") in paths:
                number += 1
            pixels = predictor.explain(prediction.image, target=prediction.guesses[0].name)
            with atomic_write(path) as temporary:
                Image.fromarray(pixels).save(temporary, format="PNG")
            paths.append(path)
            listener.progress(done, {})
