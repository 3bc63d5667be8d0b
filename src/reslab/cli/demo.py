"""`reslab demo`: the paper's networks, counted and timed on this machine."""

from __future__ import annotations

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reslab.cli.show import console, count, make_table, printed, progress_console
from reslab.paper.tables import TABLE_1, TABLE_6, Published
from reslab.spec import find

# Images a batch on a CPU; a GPU needs larger ones to have anything to do.
TIMED = {
    "plain-20": 32,
    "resnet-20": 32,
    "resnet-56": 32,
    "resnet-110": 32,
    "highway-19": 32,
    "resnet-18": 8,
    "resnet-34": 8,
    "resnet-50": 8,
}


def demo() -> None:
    """Describe and time the paper's networks: our counts beside the published ones, then speed on this machine."""
    counted = [row for row in (*TABLE_6, *TABLE_1) if row.network]
    counts = make_table(
        "Counted on the meta device", "network", "parameters", "published", "multiply-adds", "published"
    )
    times = make_table(
        "Timed here, images a second", "network", "batch", "forward", "fast", "training", "fast", "fast / eager"
    )
    with Progress(
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=progress_console,
        transient=True,
    ) as progress:
        task = progress.add_task("loading torch", total=len(counted) + len(TIMED))
        for row in counted:
            progress.update(task, description=f"counting {row.network}")
            counts.add_row(*_count(row))
            progress.advance(task)
        for name, batch in TIMED.items():
            progress.update(task, description=f"timing {name}")
            times.add_row(*_time(name, batch))
            progress.advance(task)
    console.print(counts)
    console.print("The paper prints two or three digits; its VGG-16 figure leaves out the fully-connected layers.\n")
    console.print(times)
    console.print("fast: channels-last and bfloat16; eager: contiguous float32; training: forward and backward.\n")
    console.print("Next: `reslab describe resnet-50`, `reslab draw vgg-19 plain-34 resnet-34`, `reslab --help`.")


def _count(row: Published) -> list[str]:
    from reslab.networks import measure_cost

    assert row.network
    cost = measure_cost(find(row.network))
    return [
        row.network,
        count(cost.params),
        printed(row.params),
        count(cost.multiply_adds),
        printed(row.multiply_adds),
    ]


def _time(name: str, batch: int) -> list[str]:
    import torch

    from reslab.networks import create_model
    from reslab.networks.execution import EAGER, FAST
    from reslab.networks.timing import measure_time

    device = "cuda" if torch.cuda.is_available() else "cpu"
    batch *= 16 if device == "cuda" else 1
    network = create_model(name).to(device)
    images = torch.randn(batch, *network.spec.input_shape, device=device)
    eager = measure_time(network, images, execution=EAGER)
    fast = measure_time(network, images, execution=FAST)
    return [
        name,
        str(batch),
        f"{batch / eager.forward_seconds:,.0f}",
        f"{batch / fast.forward_seconds:,.0f}",
        f"{batch / eager.step_seconds:,.0f}",
        f"{batch / fast.step_seconds:,.0f}",
        f"{eager.step_seconds / fast.step_seconds:.1f}x",
    ]
