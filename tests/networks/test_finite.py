"""Networks that give no numbers, and what is said of them."""

from __future__ import annotations

import math

import pytest
import torch

from reslab.networks import create_model, load_model, save_model
from reslab.networks.finite import find_not_finite, rows_not_finite, tell_not_finite


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_row_is_as_good_as_its_worst_value(value: float) -> None:
    """Whatever it is that is not finite, and however large the rows are."""
    values = torch.zeros(3, 2, 2)
    values[1, 0, 1] = value
    assert rows_not_finite(values).tolist() == [False, True, False]
    assert find_not_finite({"a": torch.zeros(2), "count": torch.tensor(3), "b": values, "c": values}) == "b"
    assert find_not_finite({"a": torch.zeros(2)}) == ""


def test_the_sentence_names_the_weights_and_what_is_wrong_with_them(tmp_path) -> None:
    """A file by its path, a network without one by its name; a tensor, statistics too, or an overflow on the way."""
    network = create_model("cifar-resnet-8")
    assert str(tell_not_finite(network, "for cat.png")).startswith(
        "cifar-resnet-8 gives logits that are not finite for cat.png: its weights are finite, but its activations "
        "overflow; give other weights"
    )
    network.stem.norm.running_var[0] = math.nan  # pyright: ignore[reportAttributeAccessIssue]
    path = save_model(network, tmp_path / "mine.safetensors")
    told = str(tell_not_finite(load_model(path), "for 3 of 10 images", what="responses"))
    assert told.startswith(
        f"{path} gives responses that are not finite for 3 of 10 images: its stem.norm.running_var is not finite; "
    )
    assert str(tell_not_finite(network, "", origin="mine", remedy="do this")).startswith("mine gives")


def test_a_network_that_diverged_is_still_read(tmp_path) -> None:
    """To be described, compared and converted: only what it computes is refused."""
    network = create_model("cifar-resnet-8")
    torch.nn.init.constant_(network.classifier.bias, math.nan)  # pyright: ignore[reportAttributeAccessIssue]
    again = load_model(save_model(network, tmp_path / "mine.safetensors"))
    assert again.classifier.bias.isnan().all()  # pyright: ignore[reportAttributeAccessIssue]
