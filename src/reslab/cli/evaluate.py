"""`reslab evaluate RUN|WEIGHTS-FILE|NAME... [weights=FILE] [data=NAME|FOLDER] [protocol=NAME] [preprocess.FIELD=…]`."""

from collections.abc import Sequence
from typing import Any

from reslab.cli.terminal.show import console, print_heading, print_json, print_table, say, warn
from reslab.cli.words.subjects import Json, RunsFolder, runs_root
from reslab.cli.words.trained import loading_bar, start_workers
from reslab.numbers import count
from reslab.scores import Score
from reslab.spec.words import split_words
from reslab.tasks.catalogue import find_shown

HELP = "Errors of a trained network, a class at a time."


def evaluate(*words: str, runs: RunsFolder = None, json: Json = False) -> None:
    """Test trained networks: top-1 and top-5 error, calibration, errors of each class, and the confusion matrix.

    Several are an ensemble: each is tested, and the average of their probabilities.

    Parameters
    ----------
    words
        Runs (ids, beginnings of them, or directories), weight files, or networks' names with weights=FILE|cifar10;
        then data=NAME|FOLDER data.split=full|tuning data.on_bad_image=stop|skip protocol=1-crop|10-crop|multi-scale,
        precision=fp32|bf16 (bf16 is faster on a GPU, and rounds), and fields of the preprocessing:
        preprocess.mean=[0.5,0.5,0.5].
    """
    subjects, fields = split_words(words)
    data, weights = fields.pop("data", None), fields.pop("weights", None)
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


def _which_images(scores: dict[str, Any]) -> str:
    images = count(scores["images"])
    which = f"{images} test images" if scores["split"] == "full" else f"the last {images} training images"
    skipped = f" (bad ones skipped: {count(scores['skipped_images'])})" if scores["skipped_images"] else ""
    return f"{which} of {scores['data']}{skipped}"


def _how(scores: dict[str, Any]) -> str:
    if scores["protocol"] != "multi-scale":
        return f"{scores['preprocess']}, {scores['protocol']}"
    return f"{scores['preprocess']}, multi-scale at {', '.join(map(str, scores['shorter_sides']))}"


def _print_members(found: dict[str, Any], columns: Sequence[Score]) -> None:
    named = [*((one["subject"], one) for one in found["members"]), ("ensemble", found)]
    rows = [(name, *[f"{one[score.name]:.{score.decimals}f}" for score in columns]) for name, one in named]
    print_table("Alone and together", ["", *[score.heading for score in columns]], rows)
    console.print()
