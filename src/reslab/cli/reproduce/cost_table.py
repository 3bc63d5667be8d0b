"""`reslab reproduce table-1 [--measure]`: nothing is trained, and every number is counted, or measured here and now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reslab.cli.terminal.show import console, make_table, note, print_json, print_table, progress_console, say
from reslab.numbers import about, count, printed, write_size
from reslab.spec.codec import encode

if TYPE_CHECKING:
    from reslab.experiments.costs import Counted, Measured


def reproduce_table_1(*, measure: bool, dry_run: bool, json: bool) -> None:
    """Print Table 1 counted, beside what is printed there, and what its networks cost; a dry run times nothing."""
    with progress_console.status("loading") as status:
        from reslab.experiments.costs import (
            count_depths,
            describe_device,
            describe_load,
            estimate_measuring,
            measure_depths,
        )
        from reslab.runtime.execution import choose_device

        device = choose_device()
        counted = list(count_depths(lambda network: status.update(f"counting {network}")))
        measured: list[Measured] = []
        where = describe_device(device)
        if measure:
            before = describe_load() if device == "cpu" else ""
            where = ", ".join(filter(None, (where, before)))
            seconds = estimate_measuring(counted, device=device)
            note(f"timing on {where} takes {about(seconds)}")
            if not dry_run:
                measured += measure_depths(device=device, progress=lambda network: status.update(f"timing {network}"))
    if json:
        times = [{"device": where, **encode(one)} for one in measured]
        print_json({"counted": [_plain(one) for one in counted], "measured": times})
        return
    _print_layers(counted)
    _print_counts(counted)
    _print_memory(counted)
    if measured:
        _print_times(measured, where)


def _print_layers(counted: list[Counted]) -> None:
    """Print a stage after the other: side by side five networks need more room than terminals have."""
    table = make_table("Table 1", "stage", "output", "network<", "layers<")
    for stage in counted[0].stages:
        same: dict[tuple[int, str], list[str]] = {}
        for one in counted:
            same.setdefault(one.stages[stage], []).append(one.network.removeprefix("resnet-"))
        for (side, layers), depths in same.items():
            table.add_row(stage, f"{side}x{side}", ", ".join(depths), layers)
    console.print(table)


def _print_counts(counted: list[Counted]) -> None:
    rows = [(one.network, printed(one.published), count(one.multiply_adds), one.word) for one in counted]
    print_table("\nMultiply-adds", ("", "published", "ours", "verdict<"), rows)
    for one in counted:
        if one.word != "reproduced" and one.remark:
            say(f"{one.network}: {one.remark}")


def _print_memory(counted: list[Counted]) -> None:
    heads = [f"batch {batch}" for batch in counted[0].activation_bytes]
    rows = [(one.network, count(one.params), *map(write_size, one.activation_bytes.values())) for one in counted]
    title = "\nParameters, and activations kept for the backward pass, float32"
    print_table(title, ("", "parameters", *heads), rows)


def _print_times(measured: list[Measured], where: str) -> None:
    from reslab.experiments.costs import write_largest

    heads = ["precision<", "batch", "forward", "forward + backward"]
    on_device = measured[0].peak_memory_bytes is not None
    if on_device:
        heads += ["memory of a step", "largest batch that fits", "iteration of `train`"]
    table = make_table(f"\nMeasured on {where}: milliseconds per batch, with torch's kernels", "", *heads)
    for one in measured:
        seconds = [f"{1e3 * value:,.1f}" for value in (one.forward_seconds, one.step_seconds)]
        room = [write_size(one.peak_memory_bytes or 0), write_largest(one.largest_batch)] if on_device else []
        whole = [f"{1e3 * (one.iteration_seconds or 0):,.1f}"] if on_device else []
        table.add_row(one.network, one.precision, str(one.batch), *seconds, *room, *whole)
    console.print(table)


def _plain(one: Counted) -> dict[str, Any]:
    return {
        "network": one.network,
        "stages": {name: {"output": side, "layers": layers} for name, (side, layers) in one.stages.items()},
        "params": one.params,
        "multiply_adds": one.multiply_adds,
        "published_multiply_adds": one.published,
        "word": one.word,
        "remark": one.remark if one.word != "reproduced" else "",
        "activation_bytes": {str(batch): size for batch, size in one.activation_bytes.items()},
    }
