"""`reslab evaluate RUN|WEIGHTS-FILE|NAME... [weights=FILE] [data=NAME|FOLDER] [protocol=NAME] [preprocess.FIELD=…]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reslab.cli.show import console, make_table, print_heading, print_json, progress_console, warn
from reslab.cli.subjects import runs_root, split_words
from reslab.cli.trained import image_bar, load_ensemble, refuse_unknown
from reslab.errors import UserError
from reslab.numbers import count
from reslab.spec.codec import convert

# More classes than this do not fit side by side on a terminal.
MOST_COLUMNS = 12
WORST = 10
MOST_ROWS = 40


def evaluate(*words: str, runs: Path | None = None, json: bool = False) -> None:
    """Test trained networks: top-1 and top-5 error, calibration, errors of each class, and the confusion matrix.

    Where images have several labels: average precision of each, and its mean (mAP).
    Several are an ensemble: each is tested, and the average of their probabilities.

    Parameters
    ----------
    words
        Runs (ids, beginnings of them, or directories), weight files, or networks' names with weights=FILE|cifar10;
        then data=NAME|FOLDER data.split=full|tuning data.on_bad_image=stop|skip protocol=1-crop|10-crop|multi-scale,
        and fields of the preprocessing: preprocess.mean=[0.5,0.5,0.5].
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    json
        Print JSON.
    """
    subjects, fields = split_words(words)
    refuse_unknown("evaluate", fields, ("weights", "data", "data.split", "data.on_bad_image", "protocol"))
    if not subjects:
        raise UserError("evaluate needs a run or a weight file; `reslab runs` lists the runs")
    with progress_console.status("loading"):
        from reslab.evaluation.crops import ProtocolName
        from reslab.experiments.evaluate import evaluate_ensemble

        protocol = convert(ProtocolName, fields.get("protocol", "1-crop"), where="protocol")
        members = load_ensemble(subjects, fields, runs_root(runs))
    with image_bar("evaluating", len(members[0][1])) as progress:
        found = evaluate_ensemble(members, protocol=protocol, progress=progress, warn=warn)
    if json:
        print_json(found if len(members) > 1 else found["members"][0])
        return
    for member in found["members"]:
        print_heading(member["subject"], member["network"])
        console.print(f"{_which_images(member)}, {_how(member)}", soft_wrap=True)
        if len(members) == 1:
            _print_summary(member)
    if len(members) > 1:
        _print_members(found)
    _print_classes(found)


def _which_images(scores: dict[str, Any]) -> str:
    images = count(scores["images"])
    which = f"{images} test images" if scores["split"] == "full" else f"the last {images} training images"
    skipped = f" (bad ones skipped: {count(scores['skipped_images'])})" if scores["skipped_images"] else ""
    return f"{which} of {scores['data']}{skipped}"


def _how(scores: dict[str, Any]) -> str:
    if scores["protocol"] != "multi-scale":
        return f"{scores['preprocess']}, {scores['protocol']}"
    return f"{scores['preprocess']}, multi-scale at {', '.join(map(str, scores['shorter_sides']))}"


def _print_summary(scores: dict[str, Any]) -> None:
    if "map_percent" in scores:
        console.print(
            f"mAP {scores['map_percent']:.2f} %, any label wrong {scores['error_percent']:.2f} % of the images, "
            f"cross-entropy {scores['loss']:.4f}\n"
        )
        return
    errors = f"error {scores['error_percent']:.2f} %"
    if _has_top5(scores):
        errors += f", top-5 error {scores['top5_error_percent']:.2f} %"
    if (balanced := scores["balanced_error_percent"]) is not None:
        errors += f", balanced error {balanced:.2f} % (the mean of the class errors)"
    console.print(errors)
    console.print(
        f"mean confidence {scores['mean_confidence_percent']:.2f} %, expected calibration error "
        f"{scores['ece_percent']:.2f} %, negative log-likelihood {scores['loss']:.4f}\n"
    )


def _has_top5(scores: dict[str, Any]) -> bool:
    """Whether five guesses can be wrong."""
    return len(scores.get("class_error_percent", ())) > 5


def _print_members(found: dict[str, Any]) -> None:
    headings = {"error_percent": "error %"}
    if _has_top5(found):
        headings["top5_error_percent"] = "top-5 error %"
    if found.get("balanced_error_percent") is not None:
        headings["balanced_error_percent"] = "balanced error %"
    headings |= {"mean_confidence_percent": "mean confidence %", "ece_percent": "ECE %"}
    loss = "NLL"
    if "map_percent" in found:
        headings, loss = {"map_percent": "mAP %", "error_percent": "any label wrong %"}, "cross-entropy"
    table = make_table("Alone and together", "", *headings.values(), loss)
    for name, scores in [*((one["subject"], one) for one in found["members"]), ("ensemble", found)]:
        table.add_row(name, *[f"{scores[number]:.2f}" for number in headings], f"{scores['loss']:.4f}")
    console.print()
    console.print(table)
    console.print()


def _print_classes(scores: dict[str, Any]) -> None:
    if "map_percent" in scores:
        _print_precisions(scores)
        return
    names = list(scores["class_error_percent"])
    if len(names) > MOST_COLUMNS:
        _print_worst(scores)
        return
    table = make_table("Truth by row, guess by column", "class", "error %", *names)
    for name, guesses in zip(names, scores["confusion"], strict=True):
        error = scores["class_error_percent"][name]
        told = "" if error is None else f"{error:.2f}"  # nothing is known of a class without images
        table.add_row(name, told, *[count(guess) if guess else "·" for guess in guesses])
    console.print(table)


def _print_precisions(scores: dict[str, Any]) -> None:
    """Print every class, or the worst; one that no image has says nothing."""
    known = {name: one for name, one in scores["class_average_precision_percent"].items() if one is not None}
    names, title = list(known), ""
    if len(names) > MOST_ROWS:
        names = sorted(names, key=known.__getitem__)[:MOST_ROWS]
        title = f"The {MOST_ROWS} worst of {len(known)} classes (--json has all)"
    table = make_table(title, "class", "images", "average precision %")
    for name in names:
        table.add_row(name, count(scores["class_positives"][name]), f"{known[name]:.2f}")
    console.print(table)


def _print_worst(scores: dict[str, Any]) -> None:
    names = list(scores["class_error_percent"])
    errors = enumerate(scores["class_error_percent"].values())
    known = {index: error for index, error in errors if error is not None}
    table = make_table(f"The {WORST} worst of {len(known)} classes (--json has all)", "class", "error %", "taken for<")
    for truth in sorted(known, key=lambda index: -known[index])[:WORST]:
        row = scores["confusion"][truth]
        mistaken = max((index for index in range(len(row)) if index != truth), key=row.__getitem__)
        taken = f"{names[mistaken]} ({row[mistaken]})" if row[mistaken] else ""
        table.add_row(names[truth], f"{known[truth]:.2f}", taken)
    console.print(table)
