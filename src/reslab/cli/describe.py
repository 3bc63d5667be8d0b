"""`reslab describe NAME|WEIGHTS-FILE [field=value ...]`."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reslab.cli.terminal.show import console, make_table, print_heading, print_json, print_table, progress_console
from reslab.cli.words.subjects import read_spec, take_count
from reslab.errors import UserError
from reslab.numbers import count, write_size
from reslab.spec import Spec, depth_of, name_of, spec_to_dict
from reslab.spec.codec import encode
from reslab.spec.words import split_words

if TYPE_CHECKING:
    from reslab.networks import LayerCost

# Operators that are listed together with the layer they follow.
TOLD_WITH = ("batch norm", "ReLU", "Dropout", "Tanh", "SiLU")


def describe(subject: str, *fields: str, layers: bool = False, time: bool = False, json: bool = False) -> None:
    """Print the layers, output sizes, parameters, multiply-adds and memory of a network.

        reslab describe resnet-50 batch=32

    Parameters
    ----------
    subject
        A network's name or a weight file.
    fields
        Fields of the network (shortcut=C, classes=2, input_size=320), batch=N, weights=FILE|cifar10|imagenet.
    layers
        Print every layer, not only the stages.
    time
        Also time the network on this machine, in float32 and in bfloat16.
    json
        Print JSON, with all layers.
    """
    others, given = split_words(fields)
    if others:
        raise UserError(f"describe takes one network, but also got '{others[0]}'; `reslab compare` takes two")
    batch = take_count(given, "batch", 1)
    with progress_console.status("building"):
        from reslab.networks import measure_cost

        spec = read_spec(subject, given)
        cost = measure_cost(spec, batch=batch)
    times = _measure_times(spec, batch) if time else None
    if json:
        about = {"name": name_of(spec), "depth": depth_of(spec), "spec": spec_to_dict(spec)}
        print_json(about | encode(cost) | ({"times": times} if times else {}))
        return
    depth = f"{depth_of(spec)} layers, " if spec.depth else ""
    print_heading(name_of(spec), f"{depth}input {' x '.join(map(str, cost.input_shape))}")
    console.print(
        f"{count(cost.params)} parameters · {count(cost.multiply_adds)} multiply-adds · "
        f"{write_size(cost.activation_bytes)} kept for the backward pass\n"
    )
    columns = ("part", "what<", "output", "parameters", "multiply-adds", "kept")
    print_table("", columns, map(_row, cost.layers if layers else _parts(cost.layers)), give_way=("kept", "output"))
    if times:
        _print_times(times, batch)


def _row(layer: LayerCost) -> list[str]:
    output = "x".join(map(str, layer.output_shape[1:])) or "-"  # without the batch
    counts = [count(layer.params), count(layer.multiply_adds), write_size(layer.activation_bytes)]
    return [layer.name, layer.operator, output, *counts]


def _measure_times(spec: Spec, batch: int) -> dict[str, Any]:
    """Return the seconds a batch takes on this device, eager in float32, and fast: channels-last in bfloat16."""
    import torch

    from reslab.networks import build
    from reslab.runtime.execution import EAGER, FAST, choose_device
    from reslab.runtime.timing import measure_time

    device = choose_device()
    images = torch.randn(batch, *spec.input_shape, device=device)
    with progress_console.status("timing"):
        network = build(spec).to(device)
        eager, fast = (encode(measure_time(network, images, execution=execution)) for execution in (EAGER, FAST))
    return {"device": device, "eager": eager, "fast": fast}


def _print_times(times: dict[str, Any], batch: int) -> None:
    table = make_table(f"\nImages per second on this machine ({times['device']})", "", "float32", "bfloat16", "ratio")
    for what, measure in (("forward", "forward_seconds"), ("forward and backward", "step_seconds")):
        slow, quick = (batch / times[way][measure] for way in ("eager", "fast"))
        table.add_row(what, f"{slow:,.1f}", f"{quick:,.1f}", f"{quick / slow:.2f}")
    console.print(table)


def _parts(layers: tuple[LayerCost, ...]) -> tuple[LayerCost, ...]:
    """Sum the layers of each stage, or of each part where there are no stages."""
    parts: list[LayerCost] = []
    for name, group in itertools.groupby(layers, key=lambda layer: _part(layer.name)):
        members = list(group)
        if parts and all(layer.operator in TOLD_WITH for layer in members):
            part = parts.pop()
            members.insert(0, part)
        else:
            part = replace(members[-1], name=name, operator=_what(members))
        counts = ("params", "multiply_adds", "activation_bytes")
        parts.append(replace(part, **{count: sum(getattr(layer, count) for layer in members) for count in counts}))
    return tuple(parts)


def _what(members: list[LayerCost]) -> str:
    blocks = len({layer.name.split(".")[1] for layer in members if layer.name.startswith("blocks.")})
    computing = [layer for layer in members if layer.multiply_adds]
    what = f"{len(computing)} layers" if len(computing) > 1 else (computing or members)[0].operator
    return f"{blocks} block{'s' * (blocks > 1)}, {what}" if blocks else what


def _part(name: str) -> str:
    words = name.split(".")
    if words[0] == "blocks":
        return words[1].split("_")[0] + "_x"
    return ".".join(words[1:3]) or "(rest)" if words[0] in ("steps", "model") else words[0]
