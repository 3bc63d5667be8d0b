"""How far blocks are from the identity, in words and as a table; no torch."""

import statistics
from collections.abc import Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable

HEADINGS = ("block", "beside<", "change", "±", "cosine", "branch", "linear %", "output linear %")


def _say(found: Mapping[str, Any]) -> str:
    settings = found["settings"]
    of = "training images" if settings["on"] == "train" else "images"
    skipped = f" (bad images skipped: {count(found['skipped_images'])})" if found.get("skipped_images") else ""
    kept = [row["change"] for row in found["blocks"] if row["compared_with"] == "identity"]
    changes = [change for change in kept if change is not None]
    exact = sum(change == 0 for change in changes)
    told = f"{count(found['images'])} {of} of {found['data']}{skipped}"
    if changes:
        told += (
            f"; of {len(changes)} blocks that keep dimensions {exact} are exactly the identity, and in the median one "
            f"what it changes is {statistics.median(changes):.3f} times as long as its input"
        )
    return told + _say_since(found)


def _say_since(found: Mapping[str, Any]) -> str:
    if "since" not in found:
        return ""
    gone = found["since"]
    outputs = "" if gone["outputs"] is None else f" and the outputs by {100 * gone['outputs']:.2g} %"
    return (
        f"; since step {count(gone['step'])} the weights moved by {100 * gone['weights']:.2g} % of their length"
        f"{outputs}, {100 * gone['judged_otherwise']:.1f} % of the images are judged otherwise, and "
        f"{100 * gone['wrong_then']:.1f} % wrong became {100 * gone['wrong']:.1f} %"
    )


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    since = "since" in found
    percent = f"{100 * found['settings']['confidence']:g} %"
    return PrintedTable(
        title=f"Blocks beside the identity, with {percent} intervals over images",
        headings=(*HEADINGS, "weights moved %") if since else HEADINGS,
        rows=tuple(
            (
                row["name"],
                row["compared_with"],
                *(
                    "" if row[quantity] is None else f"{row[quantity]:.4f}"
                    for quantity in ("change", "change_error", "cosine", "branch")
                ),
                *(
                    "" if row[share] is None else f"{100 * row[share]:.1f}"
                    for share in ("linear_share", "output_linear_share")
                ),
                *([f"{100 * row['weights_moved']:.2g}"] if since else []),
            )
            for row in found["blocks"]
        ),
    )


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
