"""The claims, against the tables and figures they come from."""

from __future__ import annotations

import os

import pytest
from tests.claims import find_claim

from reslab.data.catalogue import load_dataset
from reslab.paper.claim import CIFAR10
from reslab.paper.claims import CLAIMS
from reslab.paper.tables import TABLE_6
from reslab.spec.trial import trial_differences

EVERY = [claim for claims in CLAIMS.values() for claim in claims]


def test_every_setting_is_a_trial() -> None:
    """Its network and recipe exist, on CIFAR-10's images and classes, for the paper's 64k iterations, or Highway's."""
    for setting in {setting for claim in EVERY for setting in claim.settings if setting.data == CIFAR10}:
        trial = setting.trial(seed=1)
        assert trial.recipe.iterations == (200_000 if setting.network.startswith("highway") else 64_000)
        assert (trial.network.classes, trial.network.channels, trial.network.input_size) == (10, 3, 32)


def test_table_6_is_the_table() -> None:
    """Row by row; where runs were repeated, the mean is what ours is held against."""
    assert [claim.row for claim in CLAIMS["table-6"]] == [row.method for row in TABLE_6]
    for claim, row in zip(CLAIMS["table-6"], TABLE_6, strict=True):
        assert claim.published == (row.mean_error_percent or row.error_percent)
    deep = find_claim("table-6", "ResNet-110")
    assert (deep.published, deep.published_std, deep.published_n) == (6.61, 0.16, 5)
    assert deep.published_words == "6.61 ± 0.16"
    assert "6.43" in deep.note


def test_only_110_layers_and_more_warm_up() -> None:
    """The paper says so of 110; Highway networks have their authors' recipe, and what it lacks is told."""
    settings = [setting for claim in EVERY for setting in claim.settings if setting.data == CIFAR10]
    recipes = {setting.network: setting.recipe for setting in settings}
    assert recipes["resnet-56"] == recipes["plain-110"] == "cifar-paper"
    assert recipes["resnet-110"] == recipes["resnet-1202"] == "cifar-paper-110"
    assert recipes["highway-19"] == recipes["highway-32"] == "highway"
    lacking = {setting.network for claim in EVERY for setting in claim.settings if setting.lacks}
    assert lacking == {"highway-19", "highway-32"}


def test_shortcuts_are_held_against_what_was_published_of_them() -> None:
    """Option A is Table 6's own trial; of the others no error was published; the options differ in nothing else."""
    trials = {claim.row: claim.settings[0].trial(seed=1) for claim in CLAIMS["shortcuts"]}
    for depth in (20, 56, 110):
        known = find_claim("table-6", f"ResNet-{depth}")
        assert trials[f"ResNet-{depth} A"] == known.settings[0].trial(seed=1)
        assert find_claim("shortcuts", f"ResNet-{depth} A").published == known.published
        for option in "BC":
            assert find_claim("shortcuts", f"ResNet-{depth} {option}").published is None
            differing = trial_differences(trials[f"ResNet-{depth} {option}"], trials[f"ResNet-{depth} A"])
            assert differing == {"network.shortcut": (option, "A")}
    pre = trial_differences(trials["ResNet-110 A, pre-activation"], trials["ResNet-110 A"])
    assert pre == {"network.order": ("pre", "post")}


def test_tolerances_follow_from_the_papers_own_spread() -> None:
    """Two standard deviations of a difference; a mean of five is known better than a single run, a reading worse."""
    assert find_claim("table-6", "ResNet-110").tolerance == pytest.approx(0.40)  # 2 * 0.16 * sqrt(1.2) = 0.351
    assert find_claim("table-6", "ResNet-56").tolerance == pytest.approx(0.50)  # 2 * 0.169 * sqrt(2) = 0.477
    assert find_claim("table-6", "ResNet-20").tolerance == pytest.approx(0.60)
    assert find_claim("fig-6", "resnet-20", "test error % over").tolerance == pytest.approx(0.75)
    assert find_claim("fig-1", "plain-56", "training error % over").tolerance == pytest.approx(0.50)


def test_the_papers_own_numbers_do_as_it_claims() -> None:
    """Each order holds in the numbers read off the figures, by more than its tolerance; for responses, at rank 10."""
    numbers = {
        (claim.table, claim.settings[0].network, claim.quantity): claim.published
        for claim in EVERY
        if len(claim.settings) == 1
    }
    for claim in (claim for claim in EVERY if claim.relation in ("rises", "falls")):
        if claim.table == "fig-4" and "training" in claim.quantity:
            continue  # too wide a band to read numbers off
        quantity = claim.quantity.replace("median response std", "response std, rank 10")
        series = [numbers[claim.table, setting.network, quantity] for setting in claim.settings]
        assert series == sorted(series, reverse=claim.relation == "falls")
        assert abs(series[-1] - series[0]) > claim.tolerance


def test_claims_read_as_people_write() -> None:
    """Bounds have their sign, orders their word."""
    assert find_claim("fig-6", "plain-110").published_words == "> 60"
    assert find_claim("fig-6", "resnet-56", "training").published_words == "< 0.2"
    assert find_claim("fig-1", "plain-20 < plain-56", "training").published_words == "rises"
    assert find_claim("shortcuts", "ResNet-56 B").published_words == ""


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("RESLAB_DATA"), reason="RESLAB_DATA does not say where CIFAR-10 is")
def test_the_fingerprint_is_cifar10s() -> None:
    """What the claims call CIFAR-10 is what is loaded."""
    assert load_dataset("cifar10").fingerprint == CIFAR10.fingerprint
