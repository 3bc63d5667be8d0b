"""A landscape in words and as a table; no torch."""

from collections.abc import Iterator, Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable

SHOWN = {"loss": "loss{}", "wrong": "share of wrong images{}, %"}


def say_how(settings: Mapping[str, Any]) -> str:
    """Say in which directions and by which statistics a landscape was measured."""
    axes = " × ".join([str(settings["points"])] * settings["dimensions"])
    which = "along the run's path" if settings["directions"] == "pca" else f"random, seed {settings['seed']}"
    moved = "filters" if settings["moves"] == "filters" else "all parameters"
    taken = f"anew at each point from {count(settings['norm_images'])} training images"
    norm = "fixed" if settings["norms"] == "fixed" else taken
    return f"{axes} points, directions {which}, of {moved}; batch norm {norm}; {settings['precision']}"


def _say(found: Mapping[str, Any]) -> str:
    settings = found["settings"]
    skipped = f" (bad images skipped: {count(found['skipped_images'])})" if found.get("skipped_images") else ""
    kind = "test" if settings["on"] == "test" else "training"
    return f"{count(found['images'])} {kind} images of {found['data']}{skipped}; {say_how(settings)}"


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    return PrintedTable(title="Loss and error around the weights", headings=("", "", "at<"), rows=tuple(_rows(found)))


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    origin = ", ".join(["0"] * found["settings"]["dimensions"])
    for name, words in SHOWN.items():
        yield words.format(" at the weights"), _write(name, found["centre"][name]), origin
        for end, word in (("minimum", "smallest"), ("maximum", "largest")):
            extreme = found[name][end]
            yield (
                f"{word} {words.format('')}",
                _write(name, extreme["value"]),
                ", ".join(f"{c:.3g}" for c in extreme["at"]),
            )
    for way, radius in sorted(found.get("sharpness", {}).items(), key=lambda item: (item[0][1:], item[0])):
        yield f"radius of twice the loss, {way}", "not reached" if radius is None else f"{radius:.3f}", ""
    if found["nonconvex_share"] is not None:
        yield "points not convex, %", f"{100 * found['nonconvex_share']:.1f}", ""
    for number, share in enumerate(found["directions"].get("explained", ()), start=1):
        yield f"variance of direction {number}, %", f"{100 * share:.1f}", ""
    path = found.get("path", {"steps": []})
    for number, step in enumerate(path["steps"]):
        losses = [_write("loss", path[name][number]) for name in ("loss", "projected_loss")]
        place = ", ".join(f"{c:.3g}" for c in path["coordinates"][number])
        yield f"loss at step {count(step)}, projected", " → ".join(losses), place


def _write(name: str, value: float | None) -> str:
    if value is None:
        return "not finite"
    return f"{value:.4g}" if name == "loss" else f"{100 * value:.2f}"


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
