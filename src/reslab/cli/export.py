"""`reslab export RUN|WEIGHTS-FILE|NAME [IMAGE ...] [field=value ...] [--format FORMAT] [--out FILE] [--int8]`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from reslab.cli.terminal.show import SPEAKING, console, print_heading, print_json, print_table, progress_console, say
from reslab.cli.words.subjects import Json, RunsFolder, SubjectWord, is_file, refuse_overwriting, runs_root
from reslab.cli.words.trained import ImageWord, load_trained, note_bad, preprocess_fields, read_image_words
from reslab.errors import UserError, choices
from reslab.files import refuse_closed_place, slug
from reslab.numbers import count, write_size
from reslab.spec import name_of
from reslab.tasks.catalogue import find_shown

if TYPE_CHECKING:
    from reslab.delivery.deployed import Deployed
    from reslab.delivery.quantization import OnnxScore
    from reslab.scores import Score


def export(
    subject: SubjectWord,
    *words: ImageWord,
    format: str = "onnx",
    out: Path | None = None,
    int8: bool = False,
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
        available, else synthetic images. Then fields: weights=FILE|cifar10, preprocess.FIELD=value, and
        data.on_bad_image=skip to skip images that cannot be read.
    format
        onnx, torch-export (a .pt2 program), or torchvision (a state dict with torchvision's names).
    out
        The file to write. Default: a file named after the subject, in the current folder.
    int8
        Also write an 8-bit ONNX file, calibrated on training images, and measure both files on test images.
    """
    paths, fields = read_image_words("export", words, ("weights", "data", "data.on_bad_image"))
    with note_bad(fields) as on_bad, progress_console.status("loading") as status:
        from reslab.data.catalogue import open_data
        from reslab.delivery.deployed import require_onnx
        from reslab.delivery.pictures import find_images
        from reslab.experiments.export import FORMS, choose_int8_data, choose_pictures, deploy, export_int8
        from reslab.experiments.export import export as write_export
        from reslab.experiments.trained import find_own_data

        if format not in FORMS:
            raise UserError(f"--format is '{format}'; choose {choices(FORMS)}")
        if int8 and format != "onnx":
            raise UserError(f"--int8 goes with --format onnx, not {format}; leave one of them out")
        if format == "onnx":
            require_onnx()
        if out is not None:
            refuse_closed_place(out)
        images = find_images(paths, on_bad=on_bad)
        trained = load_trained(subject, fields, runs_root(runs))
        path = out or Path(_stem(trained.origin) + FORMS[format].endings[0])
        refuse_overwriting(path, subject, fields, trained.run)
        refuse_closed_place(path)
        deployed = deploy(trained, preprocess_fields(fields))
        data = None
        if "data" in fields:
            data = open_data(fields["data"], known=trained.data, listener=SPEAKING)
        elif int8 or not images:
            data = find_own_data(trained)
            if on_bad is None and trained.skipped_bad:
                on_bad = _pass_over
        labelled = choose_int8_data(deployed, data, on_bad=on_bad) if int8 else None
        what, pictures = choose_pictures(deployed, images=images, data=data, on_bad=on_bad)
        status.update(Text(f"writing {path}, and checking it"))
        parity = write_export(deployed, path, format, pictures)
        written = {"subject": trained.origin, "path": str(path), "checked_on": what, **asdict(parity)}
        if not json:
            _print_written(trained.origin, deployed, path, format)
            say(
                f"check   {count(parity.images)} {what}: logits within {parity.largest_difference:.1e} of the "
                f"network's, same first guess on {count(parity.same_guess)}"
            )
        if labelled is not None:
            small = path.with_name(f"{path.stem}-int8{path.suffix}")
            scores = export_int8(deployed, path, small, labelled, tell=status.update)
            headline = find_shown(deployed.network).scores[0]
            tests = [_tell(file, score, headline) for file, score in zip((path, small), scores, strict=True)]
            written |= {"tested_on": labelled.name, "tests": tests}
            if not json:
                say(f"\nwrote {small}")
                _print_scores(scores, (path, small), headline=headline, data=labelled.name)
    if json:
        print_json(written)


def _pass_over(error: UserError) -> None:
    """Leave out a bad image that its training left out too, and told of."""


def _print_written(origin: str, deployed: Deployed, path: Path, format: str) -> None:
    print_heading(origin, name_of(deployed.network.spec))
    say(f"wrote {path}, {write_size(path.stat().st_size)}")
    if format == "torchvision":
        say(f"takes   images prepared as {deployed.intake.preprocess.describe()}")
        return
    about, names = deployed.preprocess.describe(), deployed.network.class_names
    shape = " x ".join(["batch", *map(str, deployed.input_shape)])
    say(f"takes   pixels {shape}, {deployed.colour}, 0 to 255{_before(deployed)}")
    say(f"inside  {about}")
    shown = f": {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}" if names else ""
    say(f"gives   logits batch x {deployed.network.spec.classes}{shown}")


def _before(deployed: Deployed) -> str:
    preprocess = deployed.intake.preprocess
    done = [
        f"{word} {size}" for word, size in (("resized to", preprocess.resize), ("cropped to", preprocess.crop)) if size
    ]
    return f", {' and '.join(done)} before" if done else ""


def _tell(path: Path, score: OnnxScore, headline: Score) -> dict[str, Any]:
    told = asdict(score)
    return {"path": str(path), headline.name: told.pop("headline"), **told}


def _print_scores(scores: tuple[OnnxScore, OnnxScore], paths: tuple[Path, Path], *, headline: Score, data: str) -> None:
    title = f"On {count(scores[0].images)} test images of {data}"
    rows = [
        (path.name, f"{score.headline:.2f}", write_size(score.size_bytes), f"{score.milliseconds:.2f}")
        for score, path in zip(scores, paths, strict=True)
    ]
    print_table(title, ("file", headline.heading, "size", "ms an image"), rows)
    before, after = scores
    console.print(
        f"eight bits: {headline.words} {after.headline - before.headline:+.2f} points, "
        f"{before.size_bytes / after.size_bytes:.1f} times smaller, "
        f"{before.milliseconds / after.milliseconds:.1f} times as fast on this CPU"
    )


def _stem(origin: str) -> str:
    """Return what a file is called after where its network comes from: a weight file, a run, a name with weights."""
    return Path(origin).stem if is_file(origin) else slug(origin)
