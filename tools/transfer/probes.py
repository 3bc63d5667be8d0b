"""What frozen features know after each stage: `reslab probe --json`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reslab.report.markdown import write_table
from tools.transfer import kept
from tools.transfer.kept import ANTS_BEES, CIFAR, IMAGENETTE, Data

NEIGHBOURS = ("1", "5", "20")
ABOUT = """\
Accuracy on test images, in percent, of what [`reslab probe`](../how-to/features.md#probe) finds in frozen features,
after the stem and each stage: of a linear classifier, and of the nearest training images by cosine. Nothing of the
network is trained."""


def write() -> list[str]:
    """Write linear probes and neighbours by stage, and how they rise."""
    records = kept.read("probe")
    rows: list[Sequence[str]] = []
    sentences, missing = [], []
    photographs = list(kept.sort_by_data([(one, one.data["data"]) for one in records], (ANTS_BEES, IMAGENETTE, CIFAR)))
    for about, found in photographs:
        if not found:
            rows.append((about.words, "not run", *[""] * (1 + len(NEIGHBOURS))))
            command = f"reslab probe resnet-50 weights=imagenet data={about.saved} --json"
            missing.append(f"{command} > results/transfer/probe-{about.saved}.json")
        for one, name in found:
            layers: dict[str, Data] = one.data["layers"]
            places = [kept.name_images(about, one, name), *[""] * len(layers)]
            rows += [
                (
                    place,
                    layer,
                    *[f"{value:.1f}" for value in (probe["linear"], *map(probe["neighbours"].get, NEIGHBOURS))],
                )
                for place, (layer, probe) in zip(places, layers.items(), strict=False)
            ]
            sentences.append(compare(about.words, layers))
    heads = ("photographs", "layer", "linear", *[f"{number} neighbour{'s' * (number != '1')}" for number in NEIGHBOURS])
    parts = [ABOUT, write_table(heads, rows, left=(0, 1))]
    parts += [kept.list_items(sentences)] if sentences else []
    return [*parts, *kept.cite(records, missing)]


def compare(words: str, layers: dict[str, Data]) -> str:
    """Say how the linear probe goes from the first layer to the last, and what a guess is worth."""
    (first, begun), *_, (last, ended) = layers.items()
    linear = [probe["linear"] for probe in layers.values()]
    best = max(layers, key=lambda layer: layers[layer]["linear"])
    rises = all(one <= other for one, other in pairwise(linear))
    course = "rising with every stage" if rises else f"with its highest value after {best}"
    return (
        f"{words}: the linear probe goes from {begun['linear']:.1f} % after {first} to {ended['linear']:.1f} % after "
        f"{last}, {course}. Always the most common class: {begun['chance']:.1f} %."
    )
