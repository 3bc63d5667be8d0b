"""`reslab analyze RUN|WEIGHTS-FILE|NAME... [weights=FILE] [data=NAME|FOLDER] [images=N] [--only INSTRUMENT]`."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from reslab.cli.terminal.show import console, make_table, print_heading, print_json, progress_console
from reslab.cli.words.subjects import runs_root, split_words
from reslab.cli.words.trained import image_bar, load_inputs, load_trained, refuse_unknown
from reslab.errors import UserError, choices
from reslab.numbers import count
from reslab.spec import name_of

SPREAD = ("mean", "median", "largest", "smallest")
HELP = "Layer responses of trained networks."


def analyze(*words: str, only: str | None = None, runs: Path | None = None, json: bool = False) -> None:
    """Look into trained networks: the standard deviation of every layer's response (the paper's Fig. 7).

    What is found out about a run on its own data is kept in its folder, and not measured again.

    Parameters
    ----------
    words
        Runs (ids, beginnings of them, or directories), weight files, or networks' names with weights=FILE|cifar10;
        then data=NAME|FOLDER data.split=full|tuning data.on_bad_image=stop|skip images=N (the first N only), and fields
        of the preprocessing: preprocess.mean=[0.5,0.5,0.5].
    only
        One instrument: responses.
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    json
        Print JSON.
    """
    subjects, fields = split_words(words)
    refuse_unknown("analyze", fields, ("weights", "data", "data.split", "data.on_bad_image", "images"))
    if not subjects:
        raise UserError("analyze needs a run or a weight file; `reslab runs` lists the runs")
    with progress_console.status("loading"):
        from reslab.experiments.analyze import INSTRUMENTS

    if only is not None and only not in INSTRUMENTS:
        raise UserError(f"--only is '{only}'; choose {choices(INSTRUMENTS)}")
    instruments = [only] if only else list(INSTRUMENTS)
    found = [_analyze_one(subject, fields, instruments, runs_root(runs)) for subject in subjects]
    if json:
        print_json(found)
        return
    for one in found:
        print_heading(one["subject"], one["network"])
        for instrument in instruments:
            PRINTERS[instrument](one[instrument])


def mean_std(responses: dict[str, Any]) -> float:
    """Return the mean over layers of their responses' standard deviations."""
    return statistics.mean(layer["std"] for layer in responses["layers"])


def spread(responses: dict[str, Any]) -> list[str]:
    """Return how many layers there are, and the mean, median, largest and smallest of their standard deviations."""
    stds = [layer["std"] for layer in responses["layers"]]
    values = (mean_std(responses), statistics.median(stds), max(stds), min(stds))
    return [str(len(stds)), *[f"{value:.3f}" for value in values]]


def _analyze_one(subject: str, fields: dict[str, str], instruments: list[str], root: Path) -> dict[str, Any]:
    with progress_console.status("loading"):
        from reslab.experiments.analyze import analyze as use_instrument

        trained = load_trained(subject, fields, root)
        inputs = load_inputs(trained, fields)
    found: dict[str, Any] = {"subject": trained.origin, "network": name_of(trained.network.spec)}
    for instrument in instruments:
        with image_bar(instrument, len(inputs)) as listener:
            found[instrument] = use_instrument(inputs, instrument, run=trained.run, listener=listener)
    return found


def _print_responses(found: dict[str, Any]) -> None:
    ranks = sorted(range(len(found["layers"])), key=lambda index: -found["layers"][index]["std"])
    rank_of = {index: rank for rank, index in enumerate(ranks, start=1)}
    percent = f"{100 * found['confidence']:g} %"
    skipped = f" (bad ones skipped: {count(found['skipped_images'])})" if found.get("skipped_images") else ""
    console.print(f"{count(found['images'])} images of {found['data']}{skipped}; intervals of {percent} over images")
    which = "all layers" if found["counted"] == "all" else f"the {found['counted']} layers"
    table = make_table(f"Standard deviation of the responses of {which}", "layer", "std", "from", "to", "rank")
    for index, layer in enumerate(found["layers"]):
        table.add_row(layer["name"], *[f"{layer[key]:.4f}" for key in ("std", "low", "high")], str(rank_of[index]))
    console.print(table)


PRINTERS = {"responses": _print_responses}
