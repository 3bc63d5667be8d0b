"""Gradients in words and as a table; no torch."""

from collections.abc import Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable

ONE_SIGNAL = ("norm", "ratio", "forward", "backward")


def _say(found: Mapping[str, Any]) -> str:
    settings = found["settings"]
    kind = "training" if settings["on"] == "train" else "test"
    where = (
        "the weights" if found["initialized_by"] is None else f"the initialization of seed {found['initialized_by']}"
    )
    norms = "the statistics of each batch" if settings["norms"] == "batch" else "fixed statistics"
    skipped = f" (bad images skipped: {count(found['skipped_images'])})" if found["skipped_images"] else ""
    first, last = found["depths"][0], found["depths"][-1]
    line = "between two images" if settings["path"] == "between" else "around an image"
    step = f"1/{settings['points'] - 1} of a line {line}"
    whole = found["whole"]
    return (
        f"{count(found['images'])} {kind} images of {found['data']}{skipped} in {found['batches']} batches, "
        f"at {where}, with {norms}; {100 * settings['confidence']:g} % confidence intervals over batches. "
        f"All parameters: norm {whole['norm']['value']:.3g}, cosine of batches {_write(whole['cosine'])}. "
        f"Neighbouring inputs ({step} apart): cosine {_write(first['neighbours'])} at {first['name']}, "
        f"{_write(last['neighbours'])} at {last['name']}"
    )


def _write(estimate: Mapping[str, float]) -> str:
    return f"{estimate['value']:.2f} [{estimate['low']:.2f}, {estimate['high']:.2f}]"


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    return PrintedTable(
        title="Gradients by layer",
        headings=("layer", "norm", "norm / weights", "variance forward", "variance back", "cosine of batches"),
        rows=tuple(
            (layer["name"], *[f"{layer[name]['value']:.3g}" for name in ONE_SIGNAL], _write(layer["cosine"]))
            for layer in found["layers"]
        ),
    )


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
