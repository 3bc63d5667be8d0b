"""What is frozen, and what belongs to the classifier."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from reslab.errors import UserError
from reslab.networks import create_model
from reslab.networks.freezing import count_stages_ahead, freeze, head_parameters
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import find


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("resnet-20", {"classifier.weight", "classifier.bias"}),
        ("lenet-5", {"steps.output.weight", "steps.output.bias"}),
        ("densenet-121", {"network.classifier.weight", "network.classifier.bias"}),
    ],
)
def test_the_head_is_what_hangs_on_the_classes(name: str, head: set[str]) -> None:
    """Whatever the family calls it."""
    found = head_parameters(find(name))
    assert len(found) == 2
    assert {part.rpartition(".")[2] for part in found} == {part.rpartition(".")[2] for part in head}


def test_everything_up_to_a_stage_is_frozen() -> None:
    """The stages behind it, and always the classifier, are trained."""
    network = create_model("resnet-20")
    freeze(network, "conv3")
    trained = {name for name, weight in network.named_parameters() if weight.requires_grad}
    assert trained == {
        name for name, _ in network.named_parameters() if name.startswith(("blocks.conv4", "classifier"))
    }
    network = create_model("resnet-20")
    freeze(network, "stem")
    assert [name for name, weight in network.named_parameters() if not weight.requires_grad] == [
        name for name, _ in network.named_parameters() if name.startswith("stem.")
    ]


@pytest.mark.parametrize("name", ["resnet-20", "lenet-5"])
def test_of_a_frozen_body_the_classifier_is_left(name: str) -> None:
    """For networks without stages too."""
    network = create_model(name)
    freeze(network, "body")
    trained = {name for name, weight in network.named_parameters() if weight.requires_grad}
    assert trained == head_parameters(network.spec)


@pytest.mark.parametrize(
    ("name", "overrides", "until"),
    [
        ("resnet-20", {}, "conv3"),
        ("resnet-20", {"order": "pre", "shortcut": "B"}, "conv4"),
        ("resnet-20", {}, "body"),
        ("cifar-resnet-8", {"norm": "group"}, "conv3"),
        ("densenet-121", {}, "body"),
    ],
)
def test_frozen_normalizations_use_and_keep_their_statistics(name: str, overrides: dict, until: str) -> None:
    """In train mode too, before and after weights are loaded, while the others go on; the state keeps its names."""
    torch.manual_seed(0)
    network = create_model(name, num_classes=10, **overrides)
    names = list(network.state_dict())
    freeze(network, until)
    weights = {name for name, weight in network.named_parameters() if weight.requires_grad}
    state = {name: torch.rand_like(t.float()).to(t.dtype) + 1 for name, t in network.state_dict().items()}
    network.load_state_dict(state)
    assert list(state) == names
    network.train()(torch.rand(2, 3, 32, 32))
    moved = {name for name, tensor in network.state_dict().items() if not torch.equal(tensor, state[name])}
    trained = {name.rpartition(".")[0] for name in weights}
    assert moved == {
        name
        for name in names
        if name.rpartition(".")[0] in trained and name.endswith(("running_mean", "running_var", "tracked"))
    }


def test_a_frozen_stage_gives_what_it_gives_in_evaluation() -> None:
    """Whatever else is in the batch."""
    torch.manual_seed(0)
    network = cast(ResidualNetwork, create_model("resnet-20"))
    network.train()(torch.rand(8, 3, 32, 32))
    freeze(network, "conv2")
    images = torch.rand(4, 3, 32, 32)
    trained, evaluated = (network.train(mode).activations(images) for mode in (True, False))
    assert torch.equal(trained["conv2_3"], evaluated["conv2_3"])
    assert not torch.equal(trained["conv3_1"], evaluated["conv3_1"])


def test_a_stage_that_is_not_there_is_told() -> None:
    """With those that are."""
    with pytest.raises(
        UserError, match="freeze is conv5, which resnet-20 does not have; choose stem, conv2, conv3, conv4 or body"
    ):
        freeze(create_model("resnet-20"), "conv5")
    with pytest.raises(UserError, match="freeze is conv2, which lenet-5 does not have; choose body"):
        freeze(create_model("lenet-5"), "conv2")


@pytest.mark.parametrize(
    ("name", "fields", "stages"),
    [
        ("resnet-20", {}, {"classifier": 0, "blocks.conv4": 1, "blocks.conv3": 2, "blocks.conv2": 3, "stem": 4}),
        ("resnet-20", {"order": "pre"}, {"classifier": 0, "final": 1, "blocks.conv4": 1, "stem": 4}),
        ("lenet-5", {}, {"steps.logits": 0, "steps.conv1": 1, "steps.fc1": 1}),
    ],
)
def test_stages_are_counted_from_the_classifier(name: str, fields: dict[str, str], stages: dict[str, int]) -> None:
    """What normalizes the last stage's output belongs to it; a network without stages is one."""
    ahead = count_stages_ahead(create_model(name, **fields))
    for prefix, count in stages.items():
        assert {ahead[name] for name in ahead if name.startswith(prefix)} == {count}
