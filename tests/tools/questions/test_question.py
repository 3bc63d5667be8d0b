"""Every comparison and number of the page on measurements, read off the records another way."""

from __future__ import annotations

import functools
import json
import re
from statistics import mean, median
from typing import Any

import pytest

from reslab.analysis.convergence.across import fit_slope
from tools import RESULTS, measurements

PAGE = measurements.PAGE.read_text(encoding="utf-8")
PARTS = {part.partition("\n")[0]: " ".join(part.split()) for part in PAGE.split("\n## ")}
PROSE = {one.name: PARTS[one.title] for one in measurements.QUESTIONS}
RESIDUAL = ("resnet-20", "resnet-56", "resnet-110")


@functools.cache
def read(instrument: str, **wanted: Any) -> dict[str, dict[str, Any]]:
    """Return the records by such settings, by the network that they are of."""
    found = {}
    for path in RESULTS.glob(f"analysis/*/analysis/{instrument}*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        if all(record["settings"][name] == value for name, value in wanted.items()):
            found[record["subject"].partition(" ")[0]] = record
    return found


def quotes(name: str, *numbers: str) -> bool:
    """Whether sentences of an answer have these numbers, in this order."""
    prose = PROSE[name].partition("![")[0]
    return re.search(".*?".join(rf"(?<![\d.]){re.escape(number)}(?!\d)" for number in numbers), prose) is not None


def test_responses_of_residual_nets_are_smaller() -> None:
    """In the median layer, by every seed, and the more so the deeper; the largest one grows with depth."""
    groups = measurements.collect(measurements.QUESTIONS[0], measurements.read_records(RESULTS)[0]).groups
    stds = {
        network: [
            [layer["std"] for layer in run.directory.read("analysis/responses")["layers"]]
            for run in groups[network].finished
        ]
        for network in ("plain-20", "plain-56", *RESIDUAL)
    }
    medians = {network: [median(seed) for seed in seeds] for network, seeds in stds.items()}
    for depth in (20, 56):
        assert max(medians[f"resnet-{depth}"]) < min(medians[f"plain-{depth}"])
    means = [mean(medians[network]) for network in ("plain-20", "plain-56", *RESIDUAL)]
    assert means[2] > means[3] > means[4]
    assert quotes("responses", *[f"{value:.2f}" for value in means])
    largest = [mean(map(max, stds[network])) for network in (*RESIDUAL, "plain-20", "plain-56")]
    assert largest[0] < largest[1] < largest[2]
    assert largest[3] < largest[4]


def test_gradients_of_deep_plain_nets_explode_and_shatter_at_first() -> None:
    """Before training, not after; residual ones keep their size and much of their likeness."""

    def ratio(found: dict[str, Any]) -> float:
        norms = [layer["norm"]["value"] for layer in found["layers"] if layer["name"] != "classifier"]
        return norms[0] / norms[-1]

    def cosine(found: dict[str, Any]) -> float:
        return found["depths"][-1]["neighbours"]["value"]

    begun = [read("gradients", at="initialization", seed=seed) for seed in range(3)]
    trained = read("gradients", at="weights")
    for found in begun:
        assert ratio(found["plain-56"]) > 20 * max(ratio(found[other]) for other in (*RESIDUAL, "plain-20"))
        assert abs(cosine(found["plain-56"])) < 0.01 < cosine(found["plain-20"]) < cosine(found["resnet-56"])
    assert all(0.5 < ratio(found) < 3 and cosine(found) > 0.8 for found in trained.values())
    ratios = sorted(ratio(found["plain-56"]) for found in begun)
    assert quotes("gradients", f"{ratios[0]:,.0f} to {ratios[-1]:,.0f} times as long")
    assert quotes("gradients", f"{mean(cosine(found['resnet-56']) for found in begun):.2f} at the logits")
    assert quotes(
        "gradients", f"{ratio(trained['plain-56']):.1f} times", f"{cosine(trained['plain-56']):.2f}: training"
    )


def test_single_blocks_of_deep_residual_nets_are_worth_little() -> None:
    """Of plain ones nearly everything: the error is near that of guessing."""
    records = read("lesions")
    medians = {network: 100 * median(row["wrong"] for row in found["single"]) for network, found in records.items()}
    intact = {network: 100 * found["intact"]["wrong"] for network, found in records.items()}
    harm = {network: medians[network] - intact[network] for network in records}
    assert harm["resnet-110"] < harm["resnet-56"] < 3
    assert 10 < harm["resnet-20"] < 40 < harm["plain-20"]
    assert medians["plain-56"] > 75
    assert quotes(
        "lesions",
        *[f"{intact[name]:.1f} to {medians[name]:.1f} %" for name in (*reversed(RESIDUAL), "plain-20", "plain-56")],
    )
    assert all(found["images"] == 1000 for found in records.values())


def test_residual_blocks_are_near_the_identity() -> None:
    """The nearer the deeper, in length and in what is linear; plain ones far."""
    blocks = {
        network: [block for block in found["blocks"] if block["compared_with"] == "identity"]
        for network, found in read("identity").items()
    }
    change = {network: median(block["change"] for block in those) for network, those in blocks.items()}
    assert (
        change["resnet-110"] < change["resnet-56"] < change["resnet-20"] < min(change["plain-20"], change["plain-56"])
    )
    assert quotes("identity", *[f"{change[network]:.2f}" for network in (*RESIDUAL, "plain-20", "plain-56")])
    linear = {network: median(block["output_linear_share"] for block in those) for network, those in blocks.items()}
    assert all(linear[f"resnet-{depth}"] > linear[f"plain-{depth}"] for depth in (20, 56))
    assert min(block["change"] for those in blocks.values() for block in those) > 0
    assert quotes("identity", f"of the {sum(map(len, blocks.values()))} blocks that keep dimensions none")


def test_shortcuts_carry_most() -> None:
    """More than half in ResNet-20, nearly all in ResNet-110, both ways."""
    records = read("shortcuts")
    for name in ("branch_share", "gradient_branch_share"):
        shares = [100 * median(row[name] for row in records[network]["additions"]) for network in RESIDUAL]
        assert 50 > shares[0] > shares[1] > shares[2]
        assert shares[2] < 5
        assert quotes("shortcuts", *[f"{share:.0f}" for share in shares])


def test_floors_of_plain_nets_rise_with_depth() -> None:
    """Those of residual ones fall; rates at 0.01 the other way round, by the factors that the means have too."""
    depths = (20, 32, 44, 56)
    table = re.findall(r"^\| (plain|ResNet)-(\d+) \| \d+((?: \| [\d.]+ ± [\d.]+){4}) \|$", PAGE, flags=re.MULTILINE)
    rows = {
        (kind, int(depth)): [float(one) for one in re.findall(r"([\d.]+) ±", cells)] for kind, depth, cells in table
    }
    factors = re.findall(r"by (?:a factor of )?([\d.]+) \(", PROSE["convergence"])
    for kind, sign, factor in zip(("plain", "ResNet"), (1, -1), factors, strict=True):
        floors = [sign * rows[kind, depth][0] for depth in depths]
        assert floors == sorted(floors)
        slope = fit_slope(depths, [rows[kind, depth][3] for depth in depths], confidence=0.95)
        assert slope is not None
        assert sign * slope["factor_per_ten_layers"] < sign
        assert slope["factor_per_ten_layers"] == pytest.approx(float(factor), abs=0.02)
    ends = (("plain", 20), ("plain", 56), ("ResNet", 20), ("ResNet", 56))
    assert quotes("convergence", *[f"{rows[key][0]:.1f}" for key in ends])


def test_the_loss_is_wider_around_deep_residual_nets() -> None:
    """And more convex; the weights have nearly the smallest loss of every line."""
    lines = [read("landscape", dimensions=1, seed=seed) for seed in (0, 1)]
    assert all(
        found["loss"]["minimum"]["value"] > 0.9 * found["centre"]["loss"] for one in lines for found in one.values()
    )
    radius, bent = {}, {}
    for network in lines[0]:
        radius[network] = mean(value for one in lines for value in one[network]["sharpness"].values())
        bent[network] = 100 * mean(one[network]["nonconvex_share"] for one in lines)
    assert radius["plain-56"] < radius["resnet-56"] < radius["resnet-110"]
    assert bent["plain-56"] > 2 * max(bent[network] for network in (*RESIDUAL, "plain-20"))
    assert abs(radius["plain-20"] - radius["resnet-20"]) < 0.03
    deep = ("plain-56", "resnet-56", "resnet-110")
    assert quotes("landscape", *[f"{radius[name]:.2f}" for name in deep], *[f"{bent[name]:.0f}" for name in deep])


@pytest.mark.parametrize("name", ["gradients", "lesions", "identity", "shortcuts", "landscape"])
def test_every_number_has_its_images(name: str) -> None:
    """As the records say."""
    images = {found["images"] for found in read(name).values()}
    assert images
    assert all(f"{number:,} t" in PROSE[name] for number in images)
