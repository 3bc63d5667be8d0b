"""Layer responses in words and as a table; no torch."""

import statistics
from collections.abc import Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable

SPREAD = ("mean", "median", "largest", "smallest")


def mean_std(responses: Mapping[str, Any]) -> float:
    """Return the mean over layers of their responses' standard deviations."""
    return statistics.mean(layer["std"] for layer in responses["layers"])


def spread(responses: Mapping[str, Any]) -> list[str]:
    """Return how many layers there are, and the mean, median, largest and smallest of their standard deviations."""
    stds = [layer["std"] for layer in responses["layers"]]
    values = (mean_std(responses), statistics.median(stds), max(stds), min(stds))
    return [str(len(stds)), *[f"{value:.3f}" for value in values]]


def _say(found: Mapping[str, Any]) -> str:
    skipped = f" (bad images skipped: {count(found['skipped_images'])})" if found.get("skipped_images") else ""
    settings = found["settings"]
    percent, of = f"{100 * settings['confidence']:g} %", "training images" if settings["on"] == "train" else "images"
    return f"{count(found['images'])} {of} of {found['data']}{skipped}; {percent} confidence intervals over images"


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    ranks = sorted(range(len(found["layers"])), key=lambda index: -found["layers"][index]["std"])
    rank_of = {index: rank for rank, index in enumerate(ranks, start=1)}
    which = "all layers" if found["counted"] == "all" else f"the {found['counted']} layers"
    return PrintedTable(
        title=f"Standard deviation of the responses of {which}",
        headings=("layer", "std", "from", "to", "rank"),
        rows=tuple(
            (layer["name"], *[f"{layer[key]:.4f}" for key in ("std", "low", "high")], str(rank_of[index]))
            for index, layer in enumerate(found["layers"])
        ),
    )


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
