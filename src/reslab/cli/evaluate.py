"""`reslab evaluate RUN|WEIGHTS-FILE|NAME [weights=FILE] [data=NAME] [preprocess.FIELD=value ...]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reslab.cli.show import console, count, make_table, print_heading, print_json, progress_console
from reslab.cli.subjects import runs_root, split_words
from reslab.cli.trained import image_bar, load_inputs, load_trained, refuse_unknown
from reslab.errors import UserError

# More classes than this do not fit side by side on a terminal.
MOST_COLUMNS = 12
WORST = 10


def evaluate(subject: str, *fields: str, runs: Path | None = None, json: bool = False) -> None:
    """Test a trained network: top-1 and top-5 error, overall and a class, and the confusion matrix.

    Parameters
    ----------
    subject
        A run's id (or a beginning of it) or directory, a weight file, or a network's name with weights=FILE|cifar10.
    fields
        weights=FILE|cifar10 data=NAME data.split=full|tuning, and fields of the preprocessing:
        preprocess.mean=[0.5,0.5,0.5].
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    json
        Print JSON.
    """
    others, given = split_words(fields)
    if others:
        raise UserError(
            f"evaluate takes one subject and got '{others[0]}' too; quote a name that has fields of its own"
        )
    refuse_unknown("evaluate", given, ("weights", "data", "data.split"))
    with progress_console.status("loading"):
        from reslab.experiments.evaluate import evaluate as run_evaluation

        trained = load_trained(subject, given, runs_root(runs))
        inputs = load_inputs(trained, given)
    with image_bar("evaluating", len(inputs)) as progress:
        scores = run_evaluation(trained, inputs, progress=progress)
    if json:
        print_json(scores)
    else:
        _print_scores(scores)


def _print_scores(scores: dict[str, Any]) -> None:
    images = count(scores["images"])
    which = f"{images} test images" if scores["split"] == "full" else f"the last {images} training images"
    print_heading(scores["subject"], scores["network"])
    console.print(f"{which} of {scores['data']}, {scores['preprocess']}", soft_wrap=True)
    console.print(f"error {scores['error_percent']:.2f} %, top-5 error {scores['top5_error_percent']:.2f} %\n")
    names = list(scores["class_error_percent"])
    if len(names) > MOST_COLUMNS:
        _print_worst(scores)
        return
    table = make_table("Truth by row, guess by column", "class", "error %", *names)
    for name, guesses in zip(names, scores["confusion"], strict=True):
        table.add_row(
            name, f"{scores['class_error_percent'][name]:.2f}", *[count(guess) if guess else "·" for guess in guesses]
        )
    console.print(table)


def _print_worst(scores: dict[str, Any]) -> None:
    names = list(scores["class_error_percent"])
    table = make_table(f"The {WORST} worst of {len(names)} classes (--json has all)", "class", "error %", "taken for<")
    for truth in sorted(range(len(names)), key=lambda index: -scores["class_error_percent"][names[index]])[:WORST]:
        row = scores["confusion"][truth]
        mistaken = max((index for index in range(len(row)) if index != truth), key=row.__getitem__)
        taken = f"{names[mistaken]} ({row[mistaken]})" if row[mistaken] else ""
        table.add_row(names[truth], f"{scores['class_error_percent'][names[truth]]:.2f}", taken)
    console.print(table)
