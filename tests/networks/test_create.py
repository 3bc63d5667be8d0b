"""`create_model`: names, timm's words, and weights that know better than the name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from reslab.errors import UserError
from reslab.networks import Weights, build, create_model, foreign_state_dict, load_model, save_model
from reslab.networks.create import adopt_weights
from reslab.networks.freezing import head_parameters
from reslab.spec import NetworkSpec, find
from reslab.spec.codec import override


@pytest.fixture
def torchvision_file(tmp_path: Path) -> Path:
    """A torchvision-named ResNet-50."""
    path = tmp_path / "resnet50.pth"
    torch.save(foreign_state_dict(create_model("resnet-50-v1.5"), "torchvision"), path)
    return path


def test_timms_words_are_ours() -> None:
    """num_classes and in_chans set classes and channels; the network is in train mode."""
    with pytest.raises(UserError, match="num_classes and classes are the same; give one of them"):
        create_model("resnet-56", num_classes=100, classes=10)
    with pytest.raises(UserError, match="pass weights=FILE, or a set of weights: weights='cifar10'"):
        create_model("resnet-56", pretrained=True)
    network = create_model("resnet-56", num_classes=100, in_chans=1)
    assert (network.spec.classes, network.spec.channels, network.training) == (100, 1, True)
    assert create_model("resnet-56", classes=100).spec.classes == 100


def test_overrides_are_the_specs_fields() -> None:
    """Flat fields as keywords, nested ones dotted."""
    spec = create_model("resnet-34", shortcut="C", **{"stages.0.blocks": 1}).spec
    assert isinstance(spec, NetworkSpec)
    assert (spec.shortcut, spec.stages[0].blocks) == ("C", 1)
    with pytest.raises(UserError, match="did you mean 'shortcut'"):
        create_model("resnet-34", shortcuts="C")


def test_weights_decide_what_the_name_leaves_open(torchvision_file: Path) -> None:
    """`resnet-50` with a torchvision file is the v1.5 network those weights were trained for."""
    spec = create_model("resnet-50", weights=torchvision_file).spec
    assert isinstance(spec, NetworkSpec)
    assert (spec.stride_in, spec.pool) == ("3x3", "padded")


@pytest.mark.parametrize(
    ("name", "overrides", "sentence"),
    [
        ("resnet-50", {"stride_in": "1x1"}, "stride_in=1x1 contradicts"),
        ("resnet-50", {"pool": "ceil"}, "pool=ceil contradicts"),
        ("resnet-50", {"in_chans": 1}, "channels=1 contradicts"),
        ("resnet-50", {"order": "relu-before-addition"}, "order=relu-before-addition contradicts"),
        ("resnet-50", {"stem.bias": True}, "stem.bias=True contradicts"),
        ("resnet-101", {}, "holds resnet-50-v1.5, not resnet-101"),
        ("plain-50", {}, "holds resnet-50-v1.5, not plain-50"),
        ("gated-resnet-50", {}, "not gated-resnet-50"),
        ("vgg-16", {}, "not vgg-16"),
        ("resnet-20", {}, "not resnet-20"),
    ],
)
def test_contradictions_are_refused(
    name: str, overrides: dict[str, object], sentence: str, torchvision_file: Path
) -> None:
    """What was said outright, or stands in the name, must agree with the file."""
    with pytest.raises(UserError) as caught:
        create_model(name, weights=torchvision_file, **overrides)  # pyright: ignore[reportArgumentType]
    assert sentence in str(caught.value)


def test_a_v15_name_insists(tmp_path: Path) -> None:
    """`resnet-50-v1.5` does not accept the authors' v1 weights; `resnet-50` does."""
    torch.save(foreign_state_dict(create_model("resnet-50"), "caffe"), tmp_path / "caffe.pth")
    with pytest.raises(UserError, match="contradicts"):
        create_model("resnet-50-v1.5", weights=tmp_path / "caffe.pth")
    assert create_model("resnet-50", weights=tmp_path / "caffe.pth").spec.depth == 50


def test_agreeing_overrides_are_welcome(torchvision_file: Path) -> None:
    """Saying what the file says, or how to train on, is no contradiction."""
    network = create_model(
        "resnet-50", weights=torchvision_file, stride_in="3x3", stochastic_depth=0.1, norm="frozen", checkpointing=True
    )
    assert isinstance(network.spec, NetworkSpec)
    assert (network.spec.norm, network.spec.stochastic_depth) == ("frozen", 0.1)
    assert not [name for name, _ in network.named_parameters() if "norm" in name]


def test_other_classes_get_a_fresh_head(torchvision_file: Path) -> None:
    """Everything but the classifier is loaded."""
    network = create_model("resnet-50", weights=torchvision_file, num_classes=2)
    trained = load_model(torchvision_file)
    assert network.get_parameter("classifier.weight").shape == (2, 2048)
    for name, tensor in network.state_dict().items():
        if not name.startswith("classifier"):
            assert torch.equal(tensor, trained.state_dict()[name]), name


@pytest.mark.parametrize("name", ["googlenet", "densenet-121"])
def test_borrowed_networks_get_fresh_heads_too(name: str, tmp_path: Path) -> None:
    """GoogLeNet has three; all else is as it was."""
    trained = create_model(name)
    network = create_model(name, weights=save_model(trained, tmp_path), num_classes=2)
    before = trained.state_dict()
    fresh = {key for key, tensor in network.state_dict().items() if tensor.shape != before[key].shape}
    assert fresh == head_parameters(network.spec)
    assert all(torch.equal(tensor, before[key]) for key, tensor in network.state_dict().items() if key not in fresh)


def test_other_classes_are_no_excuse_for_another_body() -> None:
    """Only the classifier may be fresh: of another width, no stage is left as it was drawn."""
    spec = find("cifar-resnet-8")
    weights = Weights(spec=spec, tensors=build(spec).state_dict())
    network = build(override(spec, {"classes": 7, "stages.2.width": 48}))
    with pytest.raises(UserError, match=r"wide\.pth does not fit the network \(of the wrong shape: blocks\.conv4"):
        adopt_weights(network, weights, origin="wide.pth")


def test_our_files_load_by_name_too(tmp_path: Path) -> None:
    """Class names and preprocessing come along; another head drops the class names."""
    network = create_model("resnet-20", num_classes=2)
    network.class_names = ("ant", "bee")
    path = save_model(network, tmp_path)
    assert create_model("resnet-20", weights=path).class_names == ("ant", "bee")
    assert create_model("resnet-20", weights=path, num_classes=3).class_names is None
    with pytest.raises(UserError, match="holds resnet-20 classes=2, not resnet-32"):
        create_model("resnet-32", weights=path)


def test_other_blocks_are_checked_too(tmp_path: Path) -> None:
    """A name with another kind of block agrees with a file that has it."""
    path = save_model(create_model("cifar-resnet-29", block="bottleneck"), tmp_path)
    assert create_model("cifar-resnet-29", weights=path, block="bottleneck").spec.depth == 29


def test_load_model_takes_what_does_not_contradict(torchvision_file: Path) -> None:
    """From the file alone, with the same rule for overrides."""
    assert load_model(torchvision_file, checkpointing=True).spec.checkpointing  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(UserError, match="contradicts"):
        load_model(torchvision_file, stride_in="1x1")


def test_wrapped_networks_are_saved_as_themselves(tmp_path: Path) -> None:
    """What torch.compile and DataParallel put around a network stays outside the file."""
    network = create_model("cifar-resnet-8")
    for wrapped in (torch.compile(network, backend="eager"), torch.nn.DataParallel(network)):
        path = save_model(wrapped, tmp_path)  # pyright: ignore[reportArgumentType]
        saved, held = load_model(path).state_dict(), network.state_dict()
        assert all(torch.equal(saved[name], tensor.cpu()) for name, tensor in held.items())


def test_a_changed_network_is_not_saved(tmp_path: Path) -> None:
    """A file that could not be loaded is never written."""
    network = create_model("cifar-resnet-8")
    network.classifier = torch.nn.Linear(64, 5)
    for unfit, sentence in (
        (network, "classifier.weight does not match the network's spec"),
        (torch.nn.Linear(1, 1), "has no spec"),
        (create_model("cifar-resnet-8").to("meta"), "meta device"),
    ):
        with pytest.raises(UserError, match=sentence):
            save_model(unfit, tmp_path)  # pyright: ignore[reportArgumentType]
    assert not list(tmp_path.iterdir())


def test_a_bare_state_dict_of_ours_needs_a_name(tmp_path: Path) -> None:
    """With the name it loads; without it the sentence asks for one."""
    network = create_model("resnet-20")
    torch.save(network.state_dict(), tmp_path / "bare.pth")
    back = create_model("resnet-20", weights=tmp_path / "bare.pth")
    assert torch.equal(back.get_parameter("classifier.weight"), network.get_parameter("classifier.weight"))
    with pytest.raises(UserError, match="give the network's name"):
        load_model(tmp_path / "bare.pth")
    with pytest.raises(UserError, match="does not fit"):
        create_model("resnet-32", weights=tmp_path / "bare.pth")


@pytest.mark.parametrize("wrong", [50, None, ["resnet-50"]])
def test_names_and_paths_are_checked(wrong: object, tmp_path: Path) -> None:
    """What is no text is told, not tripped over."""
    with pytest.raises(UserError, match="name is text"):
        create_model(wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match="give the path of a file"):
        create_model("resnet-50", weights={"a": wrong})  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="build takes a spec"):
        build(wrong)  # pyright: ignore[reportArgumentType]
