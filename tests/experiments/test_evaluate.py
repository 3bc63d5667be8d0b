"""Tests of trained networks: a run's own again, and a foreign one's against the network it came from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.peers import CifarPeer

from reslab.data.dataset import Dataset, Split
from reslab.data.digits import load_digits
from reslab.data.sources import PUBLISHED
from reslab.experiments.evaluate import evaluate
from reslab.experiments.run import run_trial
from reslab.experiments.trained import choose_inputs, load_file, load_run
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

DIGITS = load_digits()
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


@pytest.mark.parametrize(
    ("device", "precision", "channels_last", "split"),
    [
        ("cpu", "fp32", "true", "full"),
        ("cpu", "bf16", "true", "tuning"),
        ("cpu", "bf16", "false", "full"),
        pytest.param("cuda", "bf16", "true", "full", marks=ON_GPU),
    ],
)
def test_a_finished_run_gives_its_recorded_result(
    device: str, precision: str, channels_last: str, split: str, tmp_path: Path
) -> None:
    """Every score to the last bit, from the run and from its weight file alone."""
    trial = Trial(
        data=DataSpec(name="digits", fingerprint=DIGITS.fingerprint, split=split),  # pyright: ignore[reportArgumentType]
        network=find("cifar-resnet-8", {"channels": 1, "input_size": 8, "dropout": 0.1}),
        recipe=find_recipe(
            "digits", {"iterations": 20, "batch": 32, "precision": precision, "channels_last": channels_last}
        ),
    )
    run = run_trial(trial, DIGITS, tmp_path, device=device)
    result = run.result()
    trained = load_run(run)
    again = evaluate(trained, choose_inputs(trained, DIGITS, device=device))
    for score in ("error_percent", "top5_error_percent", "loss", "confusion"):
        assert again[score] == result[score], score
    assert list(again["class_error_percent"].values()) == result["class_error_percent"]
    assert (again["data"], again["split"]) == ("digits", split)
    assert again["network"] == "cifar-resnet-8 dropout=0.1 channels=1 input_size=8"
    trained = load_file(run.weights)
    again = evaluate(trained, choose_inputs(trained, DIGITS, device=device))
    assert again["error_percent"] == result["error_percent"]


def noise(count: int, seed: int = 0) -> Dataset:
    """Images with CIFAR-10's shape and classes: coloured patches under noise."""
    generator = np.random.default_rng(seed)
    patches = generator.integers(0, 256, (count, 3, 4, 4)).repeat(8, 2).repeat(8, 3)
    images = np.clip(patches + generator.normal(0, 20, patches.shape), 0, 255).astype(np.uint8)
    split = Split(images, generator.integers(0, 10, count).astype(np.uint8))
    return Dataset(name="cifar10", class_names=PUBLISHED["cifar10"].class_names, train=split, test=split)


@torch.no_grad()
@pytest.mark.parametrize(
    ("told", "mean", "std"),
    [
        ({}, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        (
            {"mean": "[0.4914,0.4822,0.4465]", "std": "[0.2470,0.2435,0.2616]"},
            (0.4914, 0.4822, 0.4465),
            (0.2470, 0.2435, 0.2616),
        ),
    ],
    ids=["adapter's", "told"],
)
def test_foreign_weights_guess_what_their_own_network_guesses(
    told: dict[str, str], mean: tuple[float, ...], std: tuple[float, ...], tmp_path: Path
) -> None:
    """An independent ResNet-20 in its own names and normalization, and ours from its file: the same confusion."""
    data = noise(60)
    centre, scale = (torch.tensor(values)[:, None, None] for values in (mean, std))
    x = (torch.from_numpy(data.test.images).float() / 255 - centre) / scale
    peer = CifarPeer(3)
    for _ in range(5):
        peer(x)
    peer.eval()
    guesses = peer(x).argmax(1).numpy()
    assert len(set(guesses)) > 2  # or the comparison would say little
    state = {f"module.{name}": tensor for name, tensor in peer.state_dict().items()}
    torch.save({"state_dict": state}, tmp_path / "a.th")
    trained = load_file(tmp_path / "a.th")
    scores = evaluate(trained, choose_inputs(trained, data, preprocess=told))
    confusion = np.zeros((10, 10), dtype=int)
    np.add.at(confusion, (data.test.labels, guesses), 1)
    assert scores["confusion"] == confusion.tolist()
    assert scores["error_percent"] == pytest.approx(100 * (guesses != data.test.labels).mean())
    assert scores["class_error_percent"].keys() == set(PUBLISHED["cifar10"].class_names)


def test_progress_counts_images(tmp_path: Path) -> None:
    """Up to all of them."""
    torch.save(CifarPeer(1).state_dict(), tmp_path / "a.th")
    trained, seen = load_file(tmp_path / "a.th"), []
    data = replace(noise(501), class_names=tuple("0123456789"))
    assert evaluate(trained, choose_inputs(trained, data), progress=seen.append)["images"] == 501
    assert seen == [500, 501]
