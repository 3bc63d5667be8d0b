"""Curvature in words and as a table; no torch."""

from collections.abc import Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable

MATRICES = {"hessian": "Hessian", "gauss-newton": "Gauss-Newton matrix"}
NORMS = {"fixed": "running statistics", "batch": "statistics of each batch"}
SPLITS = {"train": "training", "test": "test"}


def write(estimate: Mapping[str, float | None]) -> tuple[str, ...]:
    """Write a value and its bounds, where these are known."""
    return tuple("" if (number := estimate[name]) is None else f"{number:.4g}" for name in ("value", "low", "high"))


def _say(found: Mapping[str, Any]) -> str:
    told = found["settings"]
    skipped = f" (bad images skipped: {count(found['skipped_images'])})" if found.get("skipped_images") else ""
    norm = f"normalized by {NORMS[told['norms']]}" + (f" of {told['batch']}" if told["norms"] == "batch" else "")
    return (
        f"{MATRICES[told['matrix']]} of the mean loss over {count(found['images'])} {SPLITS[told['on']]} images of "
        f"{found['data']}{skipped}, {norm}, weight decay {told['weight_decay']:g}, {told['precision']}: "
        f"{count(found['parameters'])} parameters, {told['probes']} probes of {told['steps']} steps"
    )


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    rows = [(f"eigenvalue {rank}", *write(one)) for rank, one in enumerate(found["largest"], start=1)]
    rows += [("smallest eigenvalue", *write(found["smallest"])), ("trace", *write(found["trace"]))]
    for block in found["blocks"]:
        rows.append((f"condition of {block['name']}", *write(block["as_is"]["condition"])))
        if block["without"]:
            rows.append((f"condition of {block['name']} without its shortcut", *write(block["without"]["condition"])))
    title = f"Spectrum of the {MATRICES[found['settings']['matrix']]}"
    return PrintedTable(title=title, headings=("", "value", "from", "to"), rows=tuple(rows))


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
