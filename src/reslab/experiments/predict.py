"""What trained networks, and files exported from them, see in pictures, as `reslab predict` does it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reslab.data.objects.coco import CocoIds, read_ids
from reslab.delivery.detector_predictor import THRESHOLD, DetectorPredictor, keep_best
from reslab.delivery.onnx_predictor import ENDING, OnnxPredictor
from reslab.delivery.pictures import Image, as_sequence, find_images
from reslab.delivery.prediction import Looker, Prediction
from reslab.delivery.predictor import Predictor
from reslab.errors import UserError
from reslab.experiments.predicted_files import PredictedFiles
from reslab.experiments.subjects import Given, load_trained, note_bad, read_fields
from reslab.experiments.trained import choose_preprocess
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import DEAF, Listener
from reslab.spec.words import Fields, preprocess_fields

FIELDS = ("data.on_bad_image",)  # and those of the preprocessing


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What looked at pictures and what it says of them, and where each is drawn, if it is.

    Where files could not be written, `trouble` is the error: what is said is good without them.
    """

    looker: Looker
    predictions: list[Prediction]
    drawings: list[Path | None]
    trouble: UserError | None


def predict(
    subject: Given | Looker,
    images: Image | Sequence[Image],
    *,
    top: int | None = None,
    threshold: float | None = None,
    weights: str | Path | None = None,
    csv: str | Path | None = None,
    sheet: str | Path | None = None,
    draw: str | Path | None = None,
    coco: str | Path | None = None,
    data: str | Path | None = None,
    fields: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> list[Prediction]:
    """Say what pictures show, the `top` most probable classes of each first, as `reslab predict` does.

    `subject` is a run, its folder or the start of its id, a weight file, an ONNX file of `export`, a network's
    name with `weights`, or a Predictor. `images` are files, folders, Pillow images or arrays, one or several. `csv`
    and `sheet` are files to write: a table, and a contact sheet (.html, .jpg or .png). `fields` are those of the
    command line, such as {"data.on_bad_image": "skip"}. `progress` is given how many images are done, and of how many.

    A detector says which objects it finds with a score of at least `threshold` (0.5), `top` at most. It has no sheet;
    `draw` is a folder for the images with their objects drawn, and `coco` a file for COCO's results, with the ids of
    COCO's annotations in the folder `data`, if given.
    """
    looked = look(
        subject,
        as_sequence(images),
        read_fields("predict", fields, FIELDS, {"weights": weights, "data": data}),
        PredictedFiles.at(csv=csv, sheet=sheet, draw=draw, coco=coco),
        top=top,
        threshold=threshold,
        runs=runs,
        device=device,
        progress=progress,
        warn=warn,
    )
    if looked.trouble is not None:
        raise looked.trouble
    return looked.predictions


def look(
    subject: Given | Looker,
    images: Sequence[Image],
    fields: Fields,
    files: PredictedFiles,
    *,
    top: int | None,
    threshold: float | None,
    runs: str | Path | None = None,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Looked:
    """Look at pictures, and write the `files` asked for; the caller writes explanations."""
    if not images:
        raise UserError("predict needs an image; give files, folders, or - for a list on standard input")
    files.refuse_places(subject)
    with note_bad(fields, warn) as on_bad:
        paths = [image for image in images if isinstance(image, (str, Path))]
        found = find_images(paths, on_bad=on_bad) if len(paths) == len(images) else images
        files.refuse_images(images, found)
        ids = _read_ids(fields, files)
        looker = subject if isinstance(subject, Looker) else open_looker(subject, fields, runs=runs, device=device)
        files.refuse_kind(looker)
        files.refuse_ids(looker, found, ids)
        listener = Listener(progress=lambda done, _: progress(done, len(found))) if progress else DEAF
        if files.coco is None or (top, threshold) != (None, None):
            predictions = every = looker.predict(found, top=top, threshold=threshold, on_bad=on_bad, listener=listener)
        else:  # scores of COCO's results count all that is found
            every = looker.predict(found, threshold=0, on_bad=on_bad, listener=listener)
            predictions = [keep_best(prediction, THRESHOLD) for prediction in every]
        drawings, trouble = [], None
        try:
            drawings = files.write(predictions, every, looker=looker, images=found, ids=ids, noted=on_bad)
        except UserError as error:
            trouble = error
    return Looked(looker=looker, predictions=predictions, drawings=drawings, trouble=trouble)


def open_looker(subject: Given, fields: Fields, *, runs: str | Path | None, device: str | None) -> Looker:
    """Return what a subject stands for, ready for pictures."""
    if str(subject).endswith(ENDING):
        given = [*(["weights"] if "weights" in fields else []), *map("preprocess.{}".format, preprocess_fields(fields))]
        if given:
            raise UserError(f"{subject} already has weights and preprocessing; leave {given[0]} out")
        if device not in (None, "cpu"):
            raise UserError(f"{subject} runs on the CPU; leave out device={device}")
        return OnnxPredictor(Path(str(subject)))
    trained = load_trained(subject, fields, runs)
    given = preprocess_fields(fields)
    chosen = choose_preprocess(trained, given)
    sides = trained.network.task.sides
    if sides is None:
        return Predictor(
            trained.network, preprocess=chosen, channels_last=trained.channels_last, device=choose_device(device)
        )
    for name in ("resize", "crop", "interpolation"):
        if name in given:
            raise UserError(
                f"{trained.origin} is shown whole images (task.shorter={sides[0]}, task.longest={sides[1]}); "
                f"leave out preprocess.{name}"
            )
    return DetectorPredictor(
        trained.network, preprocess=chosen, channels_last=trained.channels_last, device=choose_device(device)
    )


def _read_ids(fields: Fields, files: PredictedFiles) -> CocoIds | None:
    """Return the ids of the annotations that are asked for."""
    if "data" not in fields:
        return None
    if files.coco is None:
        raise UserError(f"data={fields['data']} says which ids --coco writes; add --coco FILE, or leave out data")
    return read_ids(Path(fields["data"]))
