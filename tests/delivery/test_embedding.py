"""Features of layers and stages, and the file they travel in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from tests.delivery.conftest import SMALL

from reslab.data.catalogue import open_data
from reslab.delivery.embedding import (
    embed,
    list_layers,
    main_layers,
    read_embedding,
    refuse_no_layer,
    write_embedding,
)
from reslab.delivery.intake import make_intake
from reslab.delivery.pictures import label_pictures, read_images
from reslab.errors import UserError
from reslab.networks import Network, create_model


def test_features_are_averaged_activations(network: Network, photos: Path) -> None:
    """A stage is its last block, a block its map's average; vectors stay what they are."""
    test = label_pictures(open_data(str(photos))).test
    intake, layers = make_intake(network), ["conv3_x", "conv3_1", "pooled", "logits"]
    found = dict(zip(layers, embed(network, intake, test, layers=layers), strict=True))
    with torch.no_grad():
        seen = network.activations(torch.cat([intake.prepare(picture) for picture in test]))
    assert torch.allclose(found["conv3_1"].features, seen["conv3_1"].mean((2, 3)), atol=1e-5)
    assert torch.equal(found["conv3_x"].features, found["conv3_1"].features)
    assert torch.allclose(found["logits"].features, seen["logits"], atol=1e-5)
    assert found["pooled"].features.shape == (8, 64)
    assert found["pooled"].labels.tolist() == [0] * 4 + [1] * 4  # pyright: ignore[reportOptionalMemberAccess]


def test_there_and_back(network: Network, photos: Path, tmp_path: Path) -> None:
    """The file keeps features, labels, paths and classes; of unlabelled pictures no labels."""
    data, path = label_pictures(open_data(str(photos))), tmp_path / "features.safetensors"
    for pictures, names in ((data.test, data.class_names), (read_images([photos / data.test.split.files[0]]), None)):  # pyright: ignore[reportAttributeAccessIssue]
        (written,) = embed(network, make_intake(network), pictures, layers=["conv2_x"], class_names=names)
        write_embedding(written, path, about={"subject": "mine"})
        read = read_embedding(path)
        assert torch.equal(read.features, written.features)
        assert (read.labels is None) == (names is None)
        assert (read.names, read.class_names, read.layer) == (written.names, names, "conv2_x")
    with safe_open(path, framework="pt") as file:
        assert json.loads(file.metadata()["reslab-embedding"])["subject"] == "mine"
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match="is not a file of features"):
        read_embedding(path)


def test_layers_by_name(network: Network) -> None:
    """Those that tell the story, in order; one that is not there is told with those."""
    assert main_layers(network) == ["conv1", "conv2_x", "conv3_x", "conv4_x"]
    assert main_layers(create_model("cifar-resnet-8", order="pre"))[-1] == "pooled"
    assert main_layers(create_model("lenet-5")) == ["fc1"]
    assert list_layers(network)["conv4_x"] == "conv4_1"
    shown = "conv1, conv2_x, conv3_x, conv4_x, pooled, logits and more"
    with pytest.raises(UserError, match=f"has no layer 'conv9'; it has {shown}"):
        refuse_no_layer(network, "conv9")
    with pytest.raises(UserError, match="has no layer 'neck'; it has fc1, pooled, logits and more"):
        refuse_no_layer(create_model("lenet-5"), "neck")


def test_tokens_are_averaged_over_tokens() -> None:
    """A transformer's features have its channels, not its tokens; a size it does not take is told."""
    vit = create_model("vit-b-16", num_classes=2, input_size=32).eval()
    image = np.zeros((40, 40, 3), np.uint8)
    layer = next(name for name in list_layers(vit) if name.endswith("encoder_layer_0.add_1"))
    intake = make_intake(vit, preprocess=replace(SMALL, resize=32, crop=32))
    (found,) = embed(vit, intake, read_images([image]), layers=[layer])
    assert found.features.shape == (1, 768)
    with pytest.raises(UserError, match=r"images of 3x16x16 do not pass through vit-b-16"):
        embed(vit, make_intake(vit, preprocess=SMALL), read_images([image]), layers=[layer])


def test_features_that_are_not_finite_are_refused(network: Network, photos: Path) -> None:
    """Those that were asked for: what a broken classifier says of good features costs nobody the features."""
    torch.nn.init.constant_(network.classifier.bias, torch.nan)  # pyright: ignore[reportAttributeAccessIssue]
    test = label_pictures(open_data(str(photos))).test
    assert embed(network, make_intake(network), test, layers=["pooled"])[0].features.isfinite().all()
    with pytest.raises(UserError, match=r"gives features of logits that are not finite for 8 of 8 images: its classif"):
        embed(network, make_intake(network), test, layers=["pooled", "logits"])
