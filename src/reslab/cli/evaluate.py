"""`reslab evaluate RUN|WEIGHTS-FILE|NAME... [field=value ...] [--tune-thresholds FILE]`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reslab.cli.terminal.show import console, print_heading, print_json, print_table, say, warn
from reslab.cli.words.subjects import Json, RunsFolder, runs_root
from reslab.cli.words.trained import loading_bar, start_workers
from reslab.errors import UserError
from reslab.numbers import count, percent
from reslab.scores import Score
from reslab.spec.words import split_words
from reslab.tasks.catalogue import find_shown


def evaluate(*words: str, tune_thresholds: Path | None = None, runs: RunsFolder = None, json: Json = False) -> None:
    """Test a trained network: error, calibration, error per class, confusion matrix.

        reslab evaluate resnet-20 weights=cifar10

    Prints top-1 and top-5 error, or mAP for images with several labels. Several networks form an ensemble: each one is
    tested, and so is the average of their probabilities.

    Parameters
    ----------
    words
        One or more of: a run (its id, the start of its id, or its folder), a weight file, or a network's name with
        weights=FILE|cifar10|imagenet. Then fields: data=NAME|FOLDER, data.split=full|tuning,
        data.on_bad_image=stop|skip, protocol=1-crop|10-crop|multi-scale, precision=fp32|bf16 (bf16 is
        faster on a GPU, but less exact), preprocess.FIELD=value.
    tune_thresholds
        For several labels per image: write a weight file (.safetensors) with a threshold for each label. Thresholds are
        tuned on one half of the test images and tested on the other half.
    """
    subjects, fields = split_words(words)
    data, weights = fields.pop("data", None), fields.pop("weights", None)
    if tune_thresholds is not None:
        _tune(subjects, tune_thresholds, json=json, data=data, weights=weights, fields=fields, runs=runs_root(runs))
        return
    start_workers(data)
    with loading_bar("evaluating") as progress:
        from reslab.experiments.evaluate import evaluate as evaluate_subjects

        found = evaluate_subjects(
            *subjects, data=data, weights=weights, fields=fields, runs=runs_root(runs), progress=progress, warn=warn
        )
    if json:
        print_json(found.record)
        return
    task = find_shown(found)
    printed = task.printed(task.scores)
    for member in found.members or (found,):
        print_heading(member.subject, member.record["network"])
        say(f"{_which_images(member.record)}, {_how(member.record)}")
        if not found.members:
            for sentence in printed.sentences(member.record):
                console.print(sentence)
    console.print()
    if found.members:
        _print_members(found.record, printed.columns(found.record))
    if table := printed.table(found.record):
        print_table(table.title, table.headings, table.rows)


def _tune(subjects: list[str], out: Path, *, json: bool, **options: Any) -> None:
    if len(subjects) != 1:
        raise UserError(f"--tune-thresholds takes one network, not {len(subjects)}; give a run or a weight file")
    with loading_bar("tuning") as progress:
        from reslab.experiments.thresholds import tune_thresholds

        found = tune_thresholds(subjects[0], out, **options, progress=progress, warn=warn)
    if json:
        print_json(asdict(found) | {"path": str(found.path)})
        return
    print_heading(found.subject, found.network)
    say(f"tuned on {count(found.tuned)} test images of {found.data}, tested on the other {count(found.tested)}")
    for score in find_shown(found).scores:
        if score.name in found.after and found.before[score.name] != found.after[score.name]:
            change = f"{score.write(found.before[score.name])} at 0.5, {score.write(found.after[score.name])} tuned"
            say(f"{score.words}{f' ({score.meaning})' if score.meaning else ''}: {change}")
    console.print()
    rows = [
        (one.name, count(one.images), f"{one.threshold:.3f}", percent(one.f1_before_percent), percent(one.f1_percent))
        for one in found.labels
    ]
    print_table("", ("label", "images", "threshold", "F1 % at 0.5", "F1 % tuned"), rows)
    say(f"\nwrote {found.path}")


def _which_images(scores: dict[str, Any]) -> str:
    images = count(scores["images"])
    which = f"{images} test images" if scores["split"] == "full" else f"the last {images} training images"
    skipped = f" (bad images skipped: {count(scores['skipped_images'])})" if scores["skipped_images"] else ""
    return f"{which} of {scores['data']}{skipped}"


def _how(scores: dict[str, Any]) -> str:
    sides = f" at {', '.join(map(str, scores['shorter_sides']))}" if len(scores["shorter_sides"]) > 1 else ""
    precision = f", {scores['precision']}" if "precision" in scores else ""
    return f"{scores['preprocess']}, {scores['protocol']}{sides}{precision}"


def _print_members(found: dict[str, Any], columns: Sequence[Score]) -> None:
    named = [*((one["subject"], one) for one in found["members"]), ("ensemble", found)]
    rows = [(name, *[f"{one[score.name]:.{score.decimals}f}" for score in columns]) for name, one in named]
    print_table("Networks and their ensemble", ["", *[score.heading for score in columns]], rows)
    console.print()
