"""What a plan starts from: weights of its network, trained on what the paper's were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.networks.detection.scenes import THIN

from reslab.errors import UserError
from reslab.experiments.paper_starts import start_trials
from reslab.networks import build, create_model, save_model
from reslab.paper.claim import Setting
from reslab.paper.detection import VOC_07_12 as VOC
from reslab.paper.detection import setting_of
from reslab.spec import find
from reslab.spec.preprocess import AUTHORS
from reslab.spec.task import find_task
from reslab.spec.trial import Trial

NETWORK = " ".join(["resnet-18", *[f"{field}={value}" for field, value in THIN.items()]])
BASELINE = replace(setting_of("resnet-18", VOC), network=NETWORK)
CONTEXT = replace(BASELINE, task="detection context=true", start="coco-2014")
SETTINGS = (BASELINE, replace(BASELINE, network="vgg-16"), CONTEXT)


def plan(*settings: Setting) -> dict[Trial, Setting]:
    return {setting.trial(seed): setting for seed in (1, 2) for setting in settings}


def test_only_what_weights_fit_starts_from_them(tmp_path: Path) -> None:
    """A classifier's file is for what starts from ImageNet, a detector's for what starts from COCO; by its digest."""
    classifier = build(find("resnet-18", THIN))
    classifier.preprocess = AUTHORS
    detector = build(find("resnet-18", {**THIN, "classes": 80}), task=find_task("detection"))
    for network, setting in ((classifier, SETTINGS[0]), (detector, SETTINGS[2])):
        path = save_model(network, tmp_path / f"{network.spec.classes}.safetensors")
        trials = start_trials(plan(*SETTINGS), path, prepares=True)
        assert list(trials.values()) == [setting] * 2
        assert [trial.seed for trial in trials] == [1, 2]
        assert len({trial.start for trial in trials} - {None}) == 1
        prepared = next(iter(trials)).preprocess
        assert (prepared is not None) == (network is classifier)


def test_weights_that_fit_nothing_are_refused(tmp_path: Path) -> None:
    """With what they are, and what would be."""
    path = save_model(create_model("cifar-resnet-8"), tmp_path / "small.safetensors")
    with pytest.raises(UserError, match=r"holds cifar-resnet-8.*, not resnet-18"):
        start_trials(plan(BASELINE), path, prepares=True)
    path = save_model(build(find("resnet-18", THIN)), tmp_path / "thin.safetensors")
    with pytest.raises(UserError, match=r"starts from a detector trained on coco-2014, but .* holds a classifier"):
        start_trials(plan(SETTINGS[2]), path, prepares=True)
    with pytest.raises(UserError, match="there are no imagenet weights for vgg-16; choose resnet-50"):
        start_trials(plan(SETTINGS[1]), "imagenet", prepares=True)


def test_without_weights_there_is_one_sentence() -> None:
    """And weights for what starts from random ones are refused."""
    with pytest.raises(UserError, match="add weights=FILE, weights=imagenet"):
        start_trials(plan(BASELINE), None, prepares=True)
    random = Setting(network="resnet-20", recipe="cifar-paper")
    assert start_trials(plan(random), None, prepares=False) == plan(random)
    with pytest.raises(UserError, match="start from random weights, so weights=imagenet has no use"):
        start_trials(plan(random), "imagenet", prepares=False)
