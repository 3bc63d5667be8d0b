"""`reslab evaluate RUN|WEIGHTS-FILE|NAME... [weights=FILE] [data=NAME|FOLDER] [protocol=NAME] [preprocess.FIELD=…]`."""

from collections.abc import Sequence
from typing import Any

from reslab.cli.terminal.show import console, print_heading, print_json, print_table, progress_console, say
from reslab.cli.words.subjects import Json, RunsFolder, runs_root, split_words
from reslab.cli.words.trained import image_bar, load_inputs, load_trained, refuse_unknown, start_workers
from reslab.errors import UserError, choices
from reslab.numbers import count
from reslab.scores import Score
from reslab.spec.codec import convert
from reslab.tasks.catalogue import find_shown


def evaluate(*words: str, runs: RunsFolder = None, json: Json = False) -> None:
    """Test a trained network: error, calibration, error per class, confusion matrix.

        reslab evaluate resnet-20 weights=cifar10

    Prints top-1 and top-5 error, or mAP for images with several labels. Several networks form an ensemble: each one is
    tested, and so is the average of their probabilities.

    Parameters
    ----------
    words
        One or more runs (an id, the start of an id, or a folder), weight files, or network names with
        weights=FILE|cifar10. Then fields: data=NAME|FOLDER, data.split=full|tuning, data.on_bad_image=stop|skip,
        protocol=1-crop|10-crop|multi-scale, precision=fp32|bf16 (bf16 is faster on a GPU, and rounds),
        preprocess.FIELD=value.
    """
    subjects, fields = split_words(words)
    refuse_unknown("evaluate", fields, ("weights", "data", "data.split", "data.on_bad_image", "protocol", "precision"))
    if not subjects:
        raise UserError("evaluate needs a run or a weight file; `reslab runs` lists the runs")
    start_workers(fields)
    with progress_console.status("loading"):
        from reslab.experiments.evaluate import evaluate_ensemble
        from reslab.networks.inference import Served
        from reslab.tasks.views import PROTOCOLS

        protocol, precision = fields.get("protocol", "1-crop"), fields.get("precision", "fp32")
        if protocol not in PROTOCOLS:
            raise UserError(f"protocol is {protocol!r}; choose {choices(PROTOCOLS)}")
        precision = convert(Served, precision, where="precision")
        members = load_inputs([load_trained(one, fields, runs_root(runs)) for one in subjects], fields)
    with image_bar("evaluating", len(members[0])) as listener:
        found = evaluate_ensemble(members, protocol=protocol, precision=precision, listener=listener)
    if json:
        print_json(found if len(members) > 1 else found["members"][0])
        return
    task = find_shown(members[0].network)
    printed = task.printed(task.scores)
    for member in found["members"]:
        print_heading(member["subject"], member["network"])
        say(f"{_which_images(member)}, {_how(member)}")
        if len(members) == 1:
            for sentence in printed.sentences(member):
                console.print(sentence)
    console.print()
    if len(members) > 1:
        _print_members(found, printed.columns(found))
    if table := printed.table(found):
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
