"""What does not fit is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from reslab.errors import UserError
from reslab.networks import create_model, foreign_state_dict, load_model, read_weights
from reslab.networks.weights.reading import load_tensors


def test_a_mismatch_lists_missing_unexpected_and_misshapen() -> None:
    """All three kinds in one sentence, the long lists cut."""
    network = create_model("cifar-resnet-8")
    tensors = dict(network.state_dict())
    del tensors["classifier.bias"]
    tensors["extra"] = torch.zeros(1)
    tensors["stem.conv.weight"] = torch.zeros(16, 1, 3, 3)
    with pytest.raises(UserError) as caught:
        load_tensors(network, tensors, origin="x.pth")
    sentence = str(caught.value)
    assert sentence.startswith("x.pth does not fit the network")
    assert "missing: classifier.bias" in sentence
    assert "unexpected: extra" in sentence
    assert "of the wrong shape: stem.conv.weight (16, 1, 3, 3) for (16, 3, 3, 3)" in sentence
    with pytest.raises(UserError, match="more"):
        load_tensors(network, {}, origin="x.pth")


def test_nothing_is_loaded_from_a_misfit() -> None:
    """A refused file leaves the network as it was."""
    network = create_model("cifar-resnet-8")
    before = network.get_parameter("stem.conv.weight").clone()
    with pytest.raises(UserError):
        load_tensors(network, {"stem.conv.weight": torch.zeros_like(before)}, origin="x.pth")
    assert torch.equal(network.get_parameter("stem.conv.weight"), before)


def test_unknown_names_are_shown(tmp_path: Path) -> None:
    """A state dict of nobody we know shows its first names."""
    torch.save({"encoder.weight": torch.zeros(1)}, tmp_path / "x.pth")
    with pytest.raises(UserError, match=r"like nothing we know \(encoder.weight"):
        read_weights(tmp_path / "x.pth")


def test_a_foreign_file_with_a_stray_tensor_is_refused(tmp_path: Path) -> None:
    """Adapters are strict: one more tensor is one too many, one less too few."""
    state = foreign_state_dict(create_model("resnet-20", zero_padding="both"), "akamaster")
    torch.save(state | {"layer1.0.extra.weight": torch.zeros(1)}, tmp_path / "x.th")
    with pytest.raises(UserError, match=r"unexpected: layer1\.0\.extra\.weight"):
        load_model(tmp_path / "x.th")
    del state["bn1.weight"]
    torch.save(state, tmp_path / "x.th")
    with pytest.raises(UserError, match=r"missing: stem\.norm\.weight"):
        load_model(tmp_path / "x.th")


@pytest.mark.parametrize("word", ["cifar", "CIFAR10", ""])
def test_weights_of_another_name_are_told_the_names(word: str) -> None:
    """What is no path is looked for among those that come along."""
    with pytest.raises(UserError, match=f"there are no weights '{word}'; give the path of a file, or cifar10 or torch"):
        read_weights(word)
