"""`reslab analyze RUN|WEIGHTS-FILE|NAME... [weights=FILE] [data=NAME|FOLDER] [images=N] [--only INSTRUMENT]`."""

from pathlib import Path
from typing import Any

from reslab.analysis.catalogue import find_printed, list_instruments
from reslab.cli.terminal.show import SPEAKING, console, print_heading, print_json, print_table, progress_console
from reslab.cli.words.subjects import Json, RunsFolder, runs_root, take_count
from reslab.cli.words.trained import image_bar
from reslab.errors import UserError, choices
from reslab.spec import name_of
from reslab.spec.words import refuse_unknown, split_words


def analyze(*words: str, only: str | None = None, runs: RunsFolder = None, json: Json = False) -> None:
    """Measure the response of every layer of trained networks (Fig. 7 of the paper).

        reslab analyze resnet-20 weights=cifar10

    The result is the standard deviation of each layer's response. It is stored in the run.

    Parameters
    ----------
    words
        One or more of: a run (its id, the start of its id, or its folder), a weight file, or a network's name with
        weights=FILE|cifar10|imagenet. Then fields: data=NAME|FOLDER, data.split=full|tuning,
        data.on_bad_image=stop|skip, images=N (use the first N images), preprocess.FIELD=value.
    only
        Run only this instrument. Only 'responses' exists.
    """
    subjects, fields = split_words(words)
    refuse_unknown("analyze", fields, ("weights", "data", "data.split", "data.on_bad_image", "images"))
    if not subjects:
        raise UserError("analyze needs a run or a weight file; `reslab runs` lists the runs")
    if only is not None and only not in list_instruments():
        raise UserError(f"--only is '{only}'; choose {choices(list_instruments())}")
    instruments = [only] if only else list_instruments()
    found = [_analyze_one(subject, fields, instruments, runs_root(runs)) for subject in subjects]
    if json:
        print_json(found)
        return
    for one in found:
        print_heading(one["subject"], one["network"])
        for instrument in instruments:
            printed = find_printed(instrument)
            console.print(printed.sentence(one[instrument]))
            table = printed.table(one[instrument])
            print_table(table.title, table.headings, table.rows)


def _analyze_one(subject: str, fields: dict[str, str], instruments: list[str], root: Path) -> dict[str, Any]:
    with progress_console.status("loading"):
        from reslab.experiments.analyze import analyze as use_instrument
        from reslab.experiments.subjects import load_inputs, load_trained

        trained = load_trained(subject, fields, root)
        images = {"images": take_count(dict(fields), "images", 1)} if "images" in fields else {}
        (inputs,) = load_inputs([trained], fields | images, listener=SPEAKING)
    found: dict[str, Any] = {"subject": trained.origin, "network": name_of(trained.network.spec)}
    for instrument in instruments:
        with image_bar(instrument, len(inputs)) as listener:
            found[instrument] = use_instrument(inputs, instrument, run=trained.run, listener=listener)
    return found
