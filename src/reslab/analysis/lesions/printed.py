"""What lesions did, in words and as a table; no torch."""

from collections.abc import Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable

LEFT = {
    "identity": "identity",
    "zero-padding": "zero padding",
    "projection": "projection",
    "average-pool": "average pool, zeros",
}


def _say(found: Mapping[str, Any]) -> str:
    settings, intact = found["settings"], found["intact"]
    of = "training images" if settings["on"] == "train" else "images"
    skipped = f" (bad images skipped: {count(found['skipped_images'])})" if found.get("skipped_images") else ""
    parts = [
        f"{count(found['images'])} {of} of {found['data']}{skipped}",
        f"intact: loss {intact['loss']:.4f}, wrong {_percent(intact['wrong'])}",
    ]
    for lesion, words in (("single", "without one block"), ("pairs", "without two"), ("reset", "with one set back")):
        if rows := found[lesion]:
            values = sorted(row["wrong"] for row in rows)
            parts.append(f"{words} {_percent(values[0])} to {_percent(values[-1])}, median {_median(values)}")
    for lesion, words in (("several", "without {deleted}"), ("shuffled", "after {swaps} exchanges")):
        if rows := found[lesion]:
            parts.append(f"{words.format(**rows[-1])} {_percent(rows[-1]['wrong'])}")
    if paths := found["paths_by_length"]:
        low, high = paths["central"]
        parts.append(
            f"nine tenths of the gradient come along paths through {low} to {high} of {found['blocks']} blocks"
        )
    return "; ".join(parts)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _median(values: list[float]) -> str:
    return _percent((values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2)


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    reset = {row["name"]: row for row in found["reset"]}
    single = {row["name"]: row for row in found["single"]}
    percent = f"{100 * found['settings']['confidence']:g} %"
    return PrintedTable(
        title=f"Wrong, in %, without one block; how much more than intact, with its {percent} interval",
        headings=("block", "left of it<", "loss", "wrong", "more", "±", "set back"),
        rows=tuple(
            (
                name,
                LEFT[single[name]["left"]] if name in single else "",
                *(_cells(single[name]) if name in single else ("", "", "", "")),
                f"{100 * reset[name]['wrong']:.2f}" if name in reset else "",
            )
            for name in dict.fromkeys([*single, *reset])
        ),
    )


def _cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return (
        "" if row["loss"] is None else f"{row['loss']:.4f}",
        f"{100 * row['wrong']:.2f}",
        f"{100 * row['more_wrong']:.2f}",
        f"{100 * row['wrong_error']:.2f}",
    )


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
