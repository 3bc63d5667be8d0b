"""How training would scale to many GPUs: the bytes of a step counted, the time by a small model.

`python benchmarks/scaling.py` prints the tables of docs/inside/scaling.md, which says what is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from reslab.networks import build, measure_cost
from reslab.spec import find

NETWORKS = ("resnet-18", "resnet-50", "resnet-101", "resnet-152")
COUNTS = (8, 64, 512)
GRADIENT_BYTES, POOLED_BYTES = 4, 8  # float32 a parameter; float64 a running statistic, the loss and the wrong count
# ResNet-50, 224 x 224, 256 images, bf16, one H200, as `reslab train` runs it: results/speed/resnet50.json.
IMAGES_PER_SECOND, BATCH = 8_499, 256


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Machines of `local` GPUs; bandwidths in bytes a second and GPU, one way, as reached; seconds a message takes."""

    local: int = 8
    inside: float = 360e9
    between: float = 40e9
    inside_latency: float = 5e-6
    between_latency: float = 10e-6


def step_bytes(name: str) -> int:
    """Return what is summed over all processes in one iteration."""
    spec = find(name)
    statistics = sum(buffer.numel() for buffer in build(spec, device="meta").buffers() if buffer.is_floating_point())
    return GRADIENT_BYTES * measure_cost(spec).params + POOLED_BYTES * (statistics + 2)


def ring_seconds(size: float, count: int, *, bandwidth: float, latency: float) -> float:
    """Return the time of a ring all-reduce: 2 (n - 1) messages of an n-th of the bytes each, one after the other."""
    return 2 * (count - 1) * (size / count / bandwidth + latency)


def all_reduce_seconds(size: float, count: int, cluster: Cluster) -> float:
    """Return the time of sums over rings inside machines and, of the share each GPU has then, rings between them."""
    inside = min(count, cluster.local)
    seconds = ring_seconds(size, inside, bandwidth=cluster.inside, latency=cluster.inside_latency)
    machines = -(-count // cluster.local)
    return seconds + ring_seconds(size / inside, machines, bandwidth=cluster.between, latency=cluster.between_latency)


def efficiency(step_seconds: float, size: float, count: int, cluster: Cluster) -> float:
    """Return the part of `count` GPUs' time that is spent computing, nothing being sent meanwhile."""
    return step_seconds / (step_seconds + all_reduce_seconds(size, count, cluster))


def bytes_table() -> list[str]:
    """Return the bytes of each network as a table."""
    rows = ["| network | parameters | summed in an iteration | sent by each GPU of 8 |", "|---|---|---|---|"]
    for name in NETWORKS:
        size = step_bytes(name)
        rows.append(f"| {name} | {measure_cost(find(name)).params:,} | {size:,} bytes | {2 * size * 7 // 8:,} bytes |")
    return rows


def time_table(cluster: Cluster = Cluster()) -> list[str]:  # noqa: B008
    """Return the model's figures for ResNet-50 as a table: the same batch for each GPU, or the same batch in all."""
    size, seconds = step_bytes("resnet-50"), BATCH / IMAGES_PER_SECOND
    rows = [
        f"| GPUs | all-reduce | {BATCH} images each: efficiency | images/s | {BATCH} images in all: efficiency |",
        "|---|---|---|---|---|",
    ]
    for count in COUNTS:
        each = efficiency(seconds, size, count, cluster)
        part = efficiency(seconds / count, size, count, cluster)
        shared = "cannot be shared" if BATCH % count else f"{part:.0%}"
        milliseconds = 1e3 * all_reduce_seconds(size, count, cluster)
        rows.append(
            f"| {count} | {milliseconds:.2f} ms | {each:.1%} | {count * IMAGES_PER_SECOND * each:,.0f} | {shared} |"
        )
    return rows


if __name__ == "__main__":
    print("\n".join([*bytes_table(), "", *time_table()]))
