"""How fast a Hessian is multiplied with vectors, beside PyHessian's way, in one run.

    python benchmarks/instruments.py [--networks resnet-20,resnet-56] [--images 1000] [--batch 1000]
                                     [--precisions fp32,tf32,bf16] [--vectors 1,4] [--layouts last,first]
                                     [--matrix hessian|gauss-newton] [--rounds N] [--json FILE]

The peer is PyHessian 0.1 where it is installed (`pip install pyhessian`), else its way written down (`peers.py`): the
network in evaluation mode, eager, all images as one batch, the graph of the gradient kept, and that differentiated once
more for each vector. It runs in torch's float32, whose convolutions round to 11 bits on tensor cores, and again without
that. Ours is what `reslab analyze curvature` runs, forward pass included. All have the same images, which lie on the
device, and the same vectors. `last` and `first` say where channels are in memory; the peer has them first. `off` is how
far the product is from one in float64, relative to its length.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import listed, network, one_of, whole
from benchmarks.peers import HessianPeer, find_pyhessian
from benchmarks.record import Record, describe_machine
from reslab.analysis.curvature.forward_over_reverse import ForwardOverReverse
from reslab.analysis.curvature.lanczos import draw_probes
from reslab.analysis.curvature.products import Problem, prepare_network
from reslab.errors import UserError
from reslab.networks import Network, build
from reslab.runtime.execution import Execution, choose_device
from reslab.spec import find

Multiply = Callable[[Tensor], Tensor]
PEER = "peer, float32 as torch has it"


class Way(NamedTuple):
    """A way to multiply with so many vectors at once, made when its time has come."""

    label: str
    vectors: int
    make: Callable[[], Multiply]


def make_network(name: str, device: str) -> Network:
    """Make a network whose statistics are those of its images, as a trained one's are."""
    torch.manual_seed(0)
    made = build(find(name)).to(device).train()
    for _ in range(20):
        made(torch.randn(256, *made.spec.input_shape, device=device))
    return made.eval()


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return each image's cross-entropy."""
    return F.cross_entropy(outputs, targets, reduction="none")


def make_ours(
    made: Network, images: Tensor, targets: Tensor, *, precision: Any, batch: int, matrix: Any, layout: str = "last"
) -> Multiply:
    """Return what multiplies as the instrument does."""
    own, execution = prepare_network(made, precision), Execution(channels_last=layout == "last")
    execution.prepare_network(own)
    images = execution.prepare(images.double() if precision == "fp64" else images)
    batches = list(zip(images.split(batch), targets.split(batch), strict=True))
    problem = Problem(network=own, batches=lambda: batches, losses=losses, precision=precision, matrix=matrix)
    return ForwardOverReverse(problem, list(own.parameters())).multiply


def make_peer(made: Network, images: Tensor, targets: Tensor, *, rounds_to_11_bits: bool) -> Multiply:
    """Return what multiplies as PyHessian does, one vector after the other."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=rounds_to_11_bits):
        peer = HessianPeer(made, images.contiguous(), targets)

    def multiply(vectors: Tensor) -> Tensor:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=rounds_to_11_bits):
            return torch.stack([peer.multiply(vector) for vector in vectors])

    return multiply


def list_ways(made: Network, images: Tensor, targets: Tensor, given: argparse.Namespace) -> Iterator[Way]:
    """Yield the peer, if it has such products, and ours in each precision with each number of vectors at once."""
    if given.matrix == "hessian":
        for label, rounds in ((PEER, True), ("peer, float32", False)):
            yield Way(label, 1, partial(make_peer, made, images, targets, rounds_to_11_bits=rounds))
    for precision, layout, vectors in itertools.product(given.precisions, given.layouts, given.vectors):
        how = {"precision": precision, "layout": layout, "batch": given.batch, "matrix": given.matrix}
        yield Way(f"ours, {precision}, {layout}", vectors, partial(make_ours, made, images, targets, **how))


def time_way(multiply: Multiply, vectors: Tensor, *, rounds: int) -> tuple[Tensor, float]:
    """Return the products, and the median of the seconds they take, after one that warms up."""
    found, seconds = multiply(vectors), []
    for _ in range(rounds):
        _wait(vectors)
        began = time.perf_counter()
        found = multiply(vectors)
        _wait(vectors)
        seconds.append(time.perf_counter() - began)
    return found, statistics.median(seconds)


def _wait(on: Tensor) -> None:
    if on.is_cuda:
        torch.cuda.synchronize()


def measure(name: str, given: argparse.Namespace, *, device: str) -> list[dict[str, Any]]:
    """Return what each way takes for a product of all images with one vector, in milliseconds."""
    made = make_network(name, device)
    images = torch.randn(given.images, *made.spec.input_shape, device=device)
    targets = torch.randint(made.spec.classes, (given.images,), device=device)
    size = sum(parameter.numel() for parameter in made.parameters())
    probes = draw_probes(size, seed=0, numbers=range(max(given.vectors)), like=images)
    exact = make_ours(made, images, targets, precision="fp64", batch=min(given.batch, 100), matrix=given.matrix)
    expected = exact(probes[:1].double())[0]
    del exact  # and the memory of its graphs
    rows: list[dict[str, Any]] = []
    for way in list_ways(made, images, targets, given):
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        row = {"network": name, "way": way.label, "vectors": way.vectors}
        try:
            found, seconds = time_way(way.make(), probes[: way.vectors], rounds=given.rounds)
        except torch.OutOfMemoryError:
            rows.append({**row, "milliseconds": None})
            continue
        off = float((found[0].double() - expected).norm() / expected.norm())
        memory = torch.cuda.max_memory_allocated() if device == "cuda" else None
        rows.append({**row, "milliseconds": 1e3 * seconds / way.vectors, "off": off, "memory": memory})
    return rows


def tabulate(rows: Sequence[dict[str, Any]]) -> Table:
    """Return a row a way, and how many times as fast as the peer it is."""
    table = Table("network", "way", "vectors", "ms a product", "ratio", "off", "GiB", box=None, padding=(0, 3, 0, 0))
    peers = {row["network"]: row["milliseconds"] for row in rows if row["way"] == PEER}
    for row in rows:
        head = (row["network"], row["way"], str(row["vectors"]))
        if row["milliseconds"] is None:
            table.add_row(*head, "out of memory", "", "", "")
            continue
        peer = peers.get(row["network"])
        ratio = f"{peer / row['milliseconds']:.2f}" if peer else ""
        memory = "" if row["memory"] is None else f"{row['memory'] / 2**30:.1f}"
        table.add_row(*head, f"{row['milliseconds']:,.1f}", ratio, f"{row['off']:.1e}", memory)
    return table


def main() -> None:
    """Measure and print one row a way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=listed(network), default="resnet-20,resnet-56,resnet-110")
    parser.add_argument("--images", type=whole, default=1000)
    parser.add_argument("--batch", type=whole, default=1000, help="ours; the peer has all images in one")
    parser.add_argument("--precisions", type=listed(one_of(("fp32", "tf32", "bf16"))), default="fp32,tf32,bf16")
    parser.add_argument("--vectors", type=listed(whole), default="1,4", help="at once, ours")
    parser.add_argument("--layouts", type=listed(one_of(("last", "first"))), default="last", help="of channels, ours")
    parser.add_argument("--matrix", type=one_of(("hessian", "gauss-newton")), default="hessian")
    parser.add_argument("--rounds", type=whole, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    device, console, record = choose_device(), Console(width=120), Record(given.json)
    peer = "PyHessian 0.1" if find_pyhessian() else "PyHessian's way, written down"
    about = f"{describe_machine(device)}; {given.matrix} of {given.images:,} images; the peer is {peer}"
    console.print(about, soft_wrap=True)
    rows: list[dict[str, Any]] = []
    for name in given.networks:
        rows += measure(name, given, device=device)
        record.keep(about=about, peer=peer, images=given.images, batch=given.batch, rows=rows)
    console.print(tabulate(rows))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"{error}")
