"""A small network with all that travels with weights, and photographs of two classes that look nothing alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from reslab.delivery.deployed import Deployed, Parity, make_pictures, write_onnx
from reslab.delivery.intake import make_intake
from reslab.networks import Network, create_model
from reslab.spec import Preprocess

SMALL = Preprocess(resize=20, crop=16, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))


def make_network(**fields) -> Network:
    """A tiny ResNet for ants and bees, its normalization statistics not the ones it was born with."""
    torch.manual_seed(0)
    network = create_model("cifar-resnet-8", num_classes=2, input_size=16, **fields)
    network.preprocess, network.class_names = SMALL, ("ants", "bees")
    with torch.no_grad():
        network.train()(torch.randn(8, *network.spec.input_shape))
    return network.eval()


def fill(root: Path, count: int, *, bright: int, name: str = "photo") -> None:
    """Write noisy photographs of one brightness, no two of one size."""
    root.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(bright)
    for number in range(count):
        pixels = generator.integers(bright, bright + 80, (24 + number % 3, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / f"{name}-{number}.png")


@pytest.fixture
def network() -> Network:
    return make_network()


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dark ants and light bees, to learn from and to be tested on."""
    root = tmp_path_factory.mktemp("delivery") / "photos"
    for split, count in (("train", 12), ("val", 4)):
        fill(root / split / "ants", count, bright=20)
        fill(root / split / "bees", count, bright=150)
    return root


def make_deployed(**preprocess) -> Deployed:
    """The tiny network behind its arithmetic, with fields of its preprocessing changed."""
    network = make_network()
    return Deployed(network, make_intake(network, preprocess=replace(SMALL, **preprocess)))


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Deployed, Path, Parity]:
    """One ONNX file of a network that wants BGR from 0 to 255, checked on synthetic photographs."""
    torch.set_num_threads(1)
    deployed = make_deployed(
        channel_order="BGR", pixel_range="0-255", mean=(100.0, 110.0, 120.0), std=(60.0, 61.0, 62.0)
    )
    path = tmp_path_factory.mktemp("export") / "network.onnx"
    return deployed, path, write_onnx(deployed, path, make_pictures(deployed.intake))
