"""`reslab export RUN|WEIGHTS-FILE|NAME [IMAGE ...] [field=value ...] [--format FORMAT] [--out FILE] [--int8 …]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from reslab.cli.terminal.show import console, print_heading, print_json, print_table, progress_console, say, warn
from reslab.cli.words.subjects import Json, RunsFolder, SubjectWord, runs_root
from reslab.cli.words.trained import ImageWord, read_image_words
from reslab.legible import legible
from reslab.numbers import count, write_size
from reslab.spec import Preprocess
from reslab.spec.codec import decode
from reslab.tasks.catalogue import find_shown

if TYPE_CHECKING:
    from reslab.delivery.deployed import Parity
    from reslab.delivery.detection_parity import DetectionParity
    from reslab.delivery.quantization import OnnxScore
    from reslab.experiments.export import Exported
    from reslab.scores import Score


def export(
    subject: SubjectWord,
    *words: ImageWord,
    format: str = "onnx",
    out: Path | None = None,
    int8: bool = False,
    calibrate: Path | None = None,
    runs: RunsFolder = None,
    json: Json = False,
) -> None:
    """Export a network to ONNX, torch.export or torchvision, and verify the file.

        reslab export resnet-20 weights=cifar10 --format onnx

    The exported file is run on test images and must give the same outputs as the network.

    Parameters
    ----------
    words
        Images and folders to verify on. Default: test images of data=NAME|FOLDER, or of the training data if it is
        available, else synthetic images. Then fields: weights=FILE|cifar10|imagenet, preprocess.FIELD=value, and
        data.on_bad_image=skip to skip images that cannot be read.
    format
        onnx, torch-export (a .pt2 program), or torchvision (a state dict with torchvision's names).
    out
        The file to write. Default: a file named after the subject, in the current folder.
    int8
        Also write an 8-bit ONNX file, calibrated on training images, and measure both files on test images.
    calibrate
        A folder of images to calibrate --int8 on instead of training images. They need no labels. Test images are
        refused.
    """
    paths, fields = read_image_words("export", words, ("weights", "data", "data.on_bad_image"))
    data, weights = fields.pop("data", None), fields.pop("weights", None)
    with progress_console.status("loading") as status:
        from reslab.experiments.export import export as write_export

        written = write_export(
            subject,
            *paths,
            out=out,
            format=format,
            int8=int8,
            calibrate=calibrate,
            data=data,
            weights=weights,
            fields=fields,
            runs=runs_root(runs),
            tell=lambda what: status.update(Text(legible(what))),
            warn=warn,
        )
    if json:
        print_json(_to_plain(written))
        return
    _print_written(written)
    if written.small is not None:
        say(f"\nwrote {written.small}, calibrated on {written.calibrated_on}")
        _print_scores(written, find_shown(written).scores)


def _to_plain(written: Exported) -> dict[str, Any]:
    told = {"subject": written.subject, "path": str(written.path), "checked_on": written.checked_on}
    told |= asdict(written.parity)
    if written.small is None:
        return told
    tests = [{"path": str(path), **_flat(score)} for path, score in zip(_files(written), written.tests, strict=True)]
    return told | {"calibrated_on": written.calibrated_on, "tested_on": written.tested_on, "tests": tests}


def _flat(score: OnnxScore) -> dict[str, Any]:
    told = asdict(score)
    return told.pop("scores") | told


def _files(written: Exported) -> tuple[Path, ...]:
    return (written.path,) if written.small is None else (written.path, written.small)


def _print_written(written: Exported) -> None:
    from reslab.delivery.detection_parity import DetectionParity  # torch is slow to import

    about, parity = written.description, written.parity
    print_heading(written.subject, about["network"])
    say(f"wrote {written.path}, {write_size(written.path.stat().st_size)}")
    is_detector = isinstance(parity, DetectionParity)
    for line in _tell_detector(written, parity) if is_detector else _tell_classifier(written, parity):
        say(line)


def _tell_classifier(written: Exported, parity: Parity) -> Iterator[str]:
    about = written.description
    inside, first = decode(Preprocess, about["inside"]), about["resize_first"]
    if written.format == "torchvision":
        whole = replace(inside, resize=first["resize"], crop=first["crop"], interpolation=first["interpolation"])
        yield f"takes   images prepared as {whole.describe()}"
    else:
        sizes = (("resized to", first["resize"]), ("cropped to", first["crop"]))
        done = " and ".join(f"{word} {size}" for word, size in sizes if size)
        shape = " x ".join(map(str, about["input"]["shape"]))
        yield f"takes   pixels {shape}, {about['input']['channels']}, 0 to 255{f', already {done}' if done else ''}"
        yield f"inside  {inside.describe()}"
        yield f"gives   logits batch x {about['outputs']}{_list_classes(about)}"
    yield (
        f"check   {count(parity.images)} {written.checked_on}: logits within {parity.largest_difference:.1e} of the "
        f"network's, same first guess on {count(parity.same_guess)}"
    )


def _tell_detector(written: Exported, parity: DetectionParity) -> Iterator[str]:
    about = written.description
    taken, first = about["input"], about["resize_first"]
    yield (
        f"takes   pixels {' x '.join(map(str, taken['pixels']))}, {taken['channels']}, 0 to 255: images whose shorter "
        f"side is {first['shorter']} and whose longer is at most {first['longest']}, padded at the right and at the "
        f"bottom to multiples of {taken['multiple']}"
    )
    yield "takes   sizes batch x 2: the width and height of each image without padding"
    yield f"inside  {decode(Preprocess, about['inside']).describe()}"
    rows = " x ".join(map(str, about["outputs"]["detections"]))
    yield f"gives   detections {rows}: box, score and class{_list_classes(about)}"
    yield (
        f"check   {count(parity.images)} {written.checked_on}: {count(parity.alike)} of {count(parity.detections)} "
        f"detections of both alike, boxes within {parity.box_difference:.1e} pixels, scores within "
        f"{parity.score_difference:.1e}"
    )


def _list_classes(about: Mapping[str, Any]) -> str:
    names = about["class_names"] or ()
    return f": {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}" if names else ""


def _print_scores(written: Exported, scores: Sequence[Score]) -> None:
    before, after = written.tests
    listed = [score for score in scores if score.name in before.scores]
    rows = [
        (
            path.name,
            *[f"{test.scores[score.name]:.{score.decimals}f}" for score in listed],
            write_size(test.size_bytes),
            f"{test.milliseconds:.2f}",
        )
        for path, test in zip(_files(written), written.tests, strict=True)
    ]
    title = f"On {count(before.images)} test images of {written.tested_on}"
    print_table(title, ("file", *[score.heading for score in listed], "size", "ms per image"), rows)
    changes = [f"{one.words} {after.scores[one.name] - before.scores[one.name]:+.2f} points" for one in listed]
    console.print(
        f"8-bit file: {', '.join(changes)}, {before.size_bytes / after.size_bytes:.1f} times smaller, "
        f"{before.milliseconds / after.milliseconds:.1f} times as fast on this CPU"
    )
