"""What any adapter does."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.networks import create_model, foreign_state_dict
from reslab.networks.weights.adapters import ADAPTERS, find_adapter


def test_each_form_is_recognized() -> None:
    """A state dict is recognized by the adapter that wrote it; timm's form is torchvision's."""
    examples = {
        "torchvision": "resnet-50-v1.5",
        "timm": "resnet-18-v1.5",
        "akamaster": "resnet-20 zero_padding=both",
        "caffe": "resnet-50",
    }
    assert examples.keys() == ADAPTERS.keys()
    for form, words in examples.items():
        name, *fields = words.split()
        network = create_model(name, **dict(field.split("=") for field in fields))
        found = find_adapter(foreign_state_dict(network, form))
        assert found == ("torchvision" if form == "timm" else form)


def test_what_a_form_cannot_say_is_refused() -> None:
    """Gates, squeeze-and-excitation and other families have no foreign name."""
    for network in (
        create_model("gated-resnet-20"),
        create_model("resnet-20", squeeze_excitation=4),
        create_model("resnet-20", order="pre"),
        create_model("lenet-5"),
    ):
        with pytest.raises(UserError, match=r"has no name for|would give other outputs"):
            foreign_state_dict(network, "akamaster")


def test_an_unknown_form_is_refused() -> None:
    """With the list of those there are."""
    with pytest.raises(UserError, match="torchvision, timm, akamaster or caffe"):
        foreign_state_dict(create_model("resnet-20"), "keras")
