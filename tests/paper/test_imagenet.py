"""The claims about ImageNet, against the tables and the figure they come from."""

from __future__ import annotations

import pytest
from tests.claims import find_claim

from reslab.data.arrays import tiny_imagenet
from reslab.data.photos.imagenet import WHOLE
from reslab.paper.claim import IMAGENET, IMAGENET_IMAGES, TINY_IMAGENET
from reslab.paper.imagenet import CLAIMS
from reslab.paper.tables import TABLE_3, TABLE_4, TABLE_5

EVERY = [claim for claims in CLAIMS.values() for claim in claims]


def test_every_setting_is_the_papers_trial() -> None:
    """Its recipe for 600k iterations of 256 images, 224 pixels wide, of the 1000 classes of the whole of ImageNet."""
    settings = {setting for claim in EVERY for setting in claim.settings}
    assert {setting.network for setting in settings} == {
        *("plain-18", "plain-34", "resnet-18", "resnet-34", "resnet-34 shortcut=B", "resnet-34 shortcut=C"),
        *("resnet-50", "resnet-101", "resnet-152"),
    }
    for setting in settings:
        trial = setting.trial(seed=1)
        assert (trial.data, setting.images) == (IMAGENET, IMAGENET_IMAGES)
        assert (trial.recipe.iterations, trial.recipe.batch) == (600_000, 256)
        assert (trial.network.classes, trial.network.channels, trial.network.input_size) == (1000, 3, 224)
    assert (1000, *IMAGENET_IMAGES) == WHOLE


def test_tables_are_the_tables() -> None:
    """Every number printed is there; others' methods and ensembles are numbers only."""
    for table, rows in (("table-3", TABLE_3), ("table-4", TABLE_4), ("table-5", TABLE_5)):
        printed = [(row.method, top) for row in rows for top in (row.top1_error_percent, row.top5_error_percent) if top]
        assert [(claim.row, claim.published) for claim in CLAIMS[table] if claim.published] == printed
    trained = {claim.row for table in ("table-3", "table-4") for claim in CLAIMS[table] if len(claim.settings) == 1}
    assert trained == {"plain-34", *[f"ResNet-{which}" for which in ("34 A", "34 B", "34 C", "50", "101", "152")]}
    assert [claim.row for claim in CLAIMS["table-5"] if claim.settings] == ["ResNet (ILSVRC'15)"]


def test_an_ensemble_is_six_models() -> None:
    """Two of 152 layers, as the paper has, of different seeds; for those it does not name Table 4's, which is told."""
    claim = find_claim("table-5", "ResNet (ILSVRC'15)", "top-5")
    networks = ["resnet-34 shortcut=B", "resnet-34 shortcut=C", "resnet-50", "resnet-101", "resnet-152", "resnet-152"]
    members = [(setting.network, seed) for setting, seed in claim.members(3)]
    assert members == [(network, 3) for network in networks[:-1]] + [("resnet-152", 4)]
    assert {setting for setting, _ in claim.members(1)} <= {s for other in CLAIMS["table-4"] for s in other.settings}
    assert claim.settings == (claim.members(1)[0][0],)
    assert "other four models" in claim.lacks
    assert find_claim("table-4", "ResNet-50", "top-5").members(1) == []


def test_tables_are_tested_by_their_protocols() -> None:
    """Ten crops in Tables 2 and 3, many scales in Table 4."""
    for table, protocol in (("table-2", "10-crop"), ("table-3", "10-crop"), ("table-4", "multi-scale")):
        assert {getattr(claim.measurement, "protocol", None) for claim in CLAIMS[table]} == {protocol}
    assert getattr(find_claim("table-4", "ResNet-50", "top-5").measurement, "metric", "") == "top5_error_percent"


def test_tolerances_are_as_told() -> None:
    """Two deviations of a difference of two samples of 50,000, plus what a figure can be read to."""
    assert find_claim("table-2", "ResNet-34", "top-1").tolerance == pytest.approx(0.55)  # 2 * sqrt(2) * 0.194 = 0.548
    assert find_claim("table-3", "ResNet-152", "top-5").tolerance == pytest.approx(0.30)  # 2 * sqrt(2) * 0.104 = 0.294
    assert find_claim("fig-4", "resnet-34", "over 500k-540k").tolerance == pytest.approx(0.90)  # 0.570 + 0.3
    assert find_claim("fig-4", "resnet-34", "at 140k").tolerance == 2.0


def test_fig_4_is_read_off_its_own_iterations() -> None:
    """Of 600,000, in a log of every 5,000."""
    measurement = find_claim("fig-4", "plain-18", "at 200k").measurement
    assert getattr(measurement, "iterations", 0) == 600_000
    assert (getattr(measurement, "after", 0), getattr(measurement, "upto", 0)) == (195_000, 200_000)


def test_tiny_imagenet_is_what_is_prepared() -> None:
    """By its name, its images and their number, its classes and their size."""
    known = tiny_imagenet.TINY_IMAGENET
    assert (TINY_IMAGENET.data.name, TINY_IMAGENET.data.fingerprint) == (known.name, known.fingerprint)
    assert TINY_IMAGENET.images == (known.num_train, known.num_test)
    assert (TINY_IMAGENET.classes, TINY_IMAGENET.input_size) == (len(known.class_names), known.side)
