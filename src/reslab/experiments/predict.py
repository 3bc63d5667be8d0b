"""What trained networks, and files exported from them, take pictures for, as `reslab predict` does it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reslab.delivery.guess_table import COLUMN, write_csv
from reslab.delivery.onnx_predictor import ENDING, OnnxPredictor
from reslab.delivery.pictures import Image, as_sequence, find_images
from reslab.delivery.predictor import Guesser, Prediction, Predictor
from reslab.delivery.sheet import SIGNATURE, refuse_sheet, write_sheet
from reslab.errors import UserError
from reslab.experiments.subjects import Given, load_trained, note_bad, read_fields
from reslab.experiments.trained import choose_preprocess
from reslab.files import refuse_closed_place, refuse_foreign
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import DEAF, Listener
from reslab.spec.words import Fields, preprocess_fields

FIELDS = ("data.on_bad_image",)  # and those of the preprocessing


def predict(
    subject: Given | Guesser,
    images: Image | Sequence[Image],
    *,
    top: int = 5,
    threshold: float | None = None,
    weights: str | Path | None = None,
    csv: str | Path | None = None,
    sheet: str | Path | None = None,
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
    """
    _, predictions, trouble = look(
        subject,
        as_sequence(images),
        read_fields("predict", fields, FIELDS, {"weights": weights}),
        top=top,
        threshold=threshold,
        csv=csv,
        sheet=sheet,
        runs=runs,
        device=device,
        progress=progress,
        warn=warn,
    )
    if trouble is not None:
        raise trouble
    return predictions


def look(
    subject: Given | Guesser,
    images: Sequence[Image],
    fields: Fields,
    *,
    top: int,
    threshold: float | None,
    csv: str | Path | None = None,
    sheet: str | Path | None = None,
    explain: Path | None = None,
    runs: str | Path | None = None,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> tuple[Guesser, list[Prediction], UserError | None]:
    """Return what looks at pictures, and what it takes them for; write what is asked for.

    Where that fails, the error is returned too: the guesses are good without it. `explain` is a folder that the caller
    will write to, so it is refused here where it cannot be.
    """
    if not images:
        raise UserError("predict needs an image; give files, folders, or - for a list on standard input")
    outputs = [Path(path) for path in (csv, sheet) if path is not None]
    for path in outputs:
        refuse_closed_place(path)
    if explain is not None:
        refuse_closed_place(explain, folder=True)
        if str(subject).endswith(ENDING):
            raise UserError(f"--explain needs a network, not {subject}; give its run or weights")
    if csv is not None and Path(csv).suffix.lower() != ".csv":
        raise UserError(f"--csv is {csv}; give a file that ends in .csv")
    with note_bad(fields, warn) as on_bad:
        files = [image for image in images if isinstance(image, (str, Path))]
        found = find_images(files, on_bad=on_bad) if len(files) == len(images) else images
        if sheet is not None:
            refuse_sheet(Path(sheet), found)
        read = {Path(image).resolve() for image in found if isinstance(image, (str, Path))}
        folders = {Path(image).parent.resolve() for image in found if isinstance(image, (str, Path))}
        if both := [path for path in outputs if path.resolve() in read]:
            raise UserError(f"{both[0]} is one of the input images; write to another file")
        if explain is not None and explain.resolve() in folders | {path.parent for path in read}:
            raise UserError(f"{explain} has input images, which pictures could replace; give --explain another folder")
        for path in outputs:
            refuse_foreign(path, COLUMN if path.suffix.lower() == ".csv" else SIGNATURE.encode())
        if explain is not None:
            for path in {explain / f"{Path(image).stem}.png" for image in found if isinstance(image, (str, Path))}:
                refuse_foreign(path, SIGNATURE.encode())
        searched = [Path(image).resolve() for image in files if Path(image).is_dir()]
        if explain is not None and any(explain.resolve().is_relative_to(folder) for folder in searched):
            raise UserError(
                f"{explain} is inside a folder of images, which it would change; give --explain another folder"
            )
        guesser = subject if isinstance(subject, Guesser) else open_guesser(subject, fields, runs=runs, device=device)
        listener = Listener(progress=lambda done, _: progress(done, len(found))) if progress else DEAF
        predictions = guesser.predict(found, top=top, threshold=threshold, on_bad=on_bad, listener=listener)
        trouble = None
        try:
            if csv is not None:
                write_csv(predictions, Path(csv))
            if sheet is not None:
                title = f"{guesser.origin or guesser.network_name}: {len(predictions):,} images"
                left_out = on_bad.sentences if on_bad else ()
                write_sheet(predictions, Path(sheet), title=title, on_bad=on_bad, left_out=left_out)
        except UserError as error:
            trouble = error
    return guesser, predictions, trouble


def open_guesser(subject: Given, fields: Fields, *, runs: str | Path | None, device: str | None) -> Guesser:
    """Return what a subject stands for, ready for pictures."""
    if str(subject).endswith(ENDING):
        given = [*(["weights"] if "weights" in fields else []), *map("preprocess.{}".format, preprocess_fields(fields))]
        if given:
            raise UserError(f"{subject} already has weights and preprocessing; leave {given[0]} out")
        if device not in (None, "cpu"):
            raise UserError(f"{subject} runs on the CPU; leave out device={device}")
        return OnnxPredictor(Path(str(subject)))
    trained = load_trained(subject, fields, runs)
    return Predictor(
        trained.network,
        preprocess=choose_preprocess(trained, preprocess_fields(fields)),
        channels_last=trained.channels_last,
        device=choose_device(device),
    )
