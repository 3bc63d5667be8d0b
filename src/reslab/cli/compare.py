"""`reslab compare NAME NAME [field=value ...]`."""

from __future__ import annotations

from reslab.cli.show import console, count, make_table, memory, print_json, progress_console
from reslab.cli.subjects import read_spec, split_words, take_count
from reslab.errors import UserError
from reslab.spec import differences, name_of


def compare(*words: str, json: bool = False) -> None:
    """Print what differs between two networks and what each costs.

    Parameters
    ----------
    words
        Two networks (quote one with fields of its own: 'resnet-34 shortcut=C'), then field=value pairs for both.
    json
        Print JSON.
    """
    subjects, fields = split_words(words)
    if len(subjects) != 2:
        raise UserError(f"compare takes two networks and got {len(subjects)}; quote a name that has fields of its own")
    batch = take_count(fields, "batch", 1)
    with progress_console.status("building"):
        from reslab.networks import measure_cost

        specs = [read_spec(subject, fields) for subject in subjects]
        costs = [measure_cost(spec, batch=batch) for spec in specs]
    names = [name_of(spec) for spec in specs]
    differing = differences(*specs)
    measures = ("params", "multiply_adds", "activation_bytes")
    if json:
        print_json(
            {
                "networks": names,
                "differences": differing,
                **{measure: [getattr(cost, measure) for cost in costs] for measure in measures},
            }
        )
        return
    table = make_table("What differs", "field", f"{names[0]}<", f"{names[1]}<")
    for field, values in differing.items():
        table.add_row(field, *["-" if value is None else str(value) for value in values])
    console.print(table if differing else "The two are the same network.")
    console.print()
    table = make_table("What it costs", "", names[0], names[1], "ratio")
    for label, measure, written in zip(
        ("parameters", "multiply-adds", "activations kept"), measures, (count, count, memory), strict=True
    ):
        one, other = (getattr(cost, measure) for cost in costs)
        table.add_row(label, written(one), written(other), f"{other / one:.3f}")
    console.print(table)
