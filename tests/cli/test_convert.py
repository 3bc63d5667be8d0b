"""`reslab convert`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torchvision
from safetensors.torch import load_file
from tests.counting import count_weights

from reslab.networks import create_model, load_model, read_weights, save_model
from reslab.runs.directory import RunDirectory
from reslab.spec.preprocess import PER_PIXEL_MEAN
from reslab.spec.trial import trial_to_dict


def test_there_and_back(reslab, tmp_path: Path) -> None:
    """torchvision's weights to ours and back are the same tensors, and load there strictly."""
    theirs = torchvision.models.resnet18()
    torch.save(theirs.state_dict(), tmp_path / "resnet18.pth")
    assert reslab("convert", str(tmp_path / "resnet18.pth"), "--to", "reslab").code == 0
    (ours,) = tmp_path.glob("resnet-18-v1.5-*.safetensors")
    assert load_model(ours).preprocess is not None
    assert read_weights(ours).provenance == {"converted_from": "resnet18.pth"}
    back = tmp_path / "back.safetensors"
    assert reslab("convert", str(ours), "--to", "torchvision", "--out", str(back)).code == 0
    torchvision.models.resnet18().load_state_dict(load_file(back), strict=True)
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(load_file(back)[name], tensor)


def test_the_file_is_read_once(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its tensors and what it says of them."""
    path = save_model(create_model("cifar-resnet-8"), tmp_path / "old.safetensors", provenance={"seed": 3})
    read, _ = count_weights(monkeypatch)
    assert reslab("convert", str(path), "--to", "reslab", "--out", str(tmp_path / "new.safetensors")).code == 0
    assert len(read) == 1
    expected = {"seed": 3, "converted_from": "old.safetensors"}
    assert read_weights(tmp_path / "new.safetensors").provenance == expected


@pytest.mark.parametrize(
    ("to", "sentence"), [("keras", "choose reslab, torchvision"), ("torchvision", "other outputs")]
)
def test_what_cannot_be_said_is_not_written(to: str, sentence: str, reslab, tmp_path: Path) -> None:
    """An unknown form, or one that would compute something different: one sentence and no file."""
    path = save_model(create_model("resnet-18"), tmp_path)
    outcome = reslab("convert", str(path), "--to", to)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert list(tmp_path.iterdir()) == [path]


def test_a_mean_image_is_kept_or_told(reslab, tmp_path: Path) -> None:
    """Our form keeps it; another's cannot, and convert says what its readers will take for granted."""
    network = create_model("resnet-20", zero_padding="both")
    network.preprocess, network.mean_image = PER_PIXEL_MEAN, torch.rand(3, 32, 32)
    path = save_model(network, tmp_path / "mine.safetensors")
    kept = reslab("convert", str(path), "--to", "reslab", "--out", str(tmp_path / "kept.safetensors"))
    assert kept.out.strip().startswith("wrote")
    assert "want" not in kept.out
    assert torch.equal(load_model(tmp_path / "kept.safetensors").mean_image, network.mean_image)  # pyright: ignore[reportArgumentType]
    told = reslab("convert", str(path), "--to", "akamaster")
    assert "will assume pixels 0-1, mean 0.485" in told.out
    assert "the weights need pixels 0-1, per-pixel mean" in told.out


def test_preprocessing_that_is_taken_for_granted_needs_no_word(reslab, tmp_path: Path) -> None:
    """torchvision's own preprocessing goes without saying in torchvision's form."""
    torch.save(torchvision.models.resnet18().state_dict(), tmp_path / "resnet18.pth")
    assert "want" not in reslab("convert", str(tmp_path / "resnet18.pth"), "--to", "timm").out


def test_what_is_read_is_never_written_over(reslab, tmp_path: Path) -> None:
    """Neither by its own name nor through a link: class names and preprocessing would be gone."""
    network = create_model("resnet-18-v1.5")
    network.class_names = tuple(map(str, range(1000)))
    path = save_model(network, tmp_path / "mine.safetensors")
    (tmp_path / "link.safetensors").symlink_to(path)
    for out in (path, tmp_path / "link.safetensors"):
        outcome = reslab("convert", str(path), "--to", "timm", "--out", str(out))
        assert outcome.code == 2
        assert f"{out} is the input file; write to another file" in outcome.err
    assert load_model(path).class_names == network.class_names


def test_runs_and_named_networks_are_converted(reslab, run: Path, tmp_path: Path, monkeypatch) -> None:
    """Into a file here that is called after them; the run stays as it was, and its weights are not written over."""
    monkeypatch.chdir(tmp_path)
    network = create_model("resnet-20", zero_padding="both")
    network.class_names = tuple("abcdefghij")
    own = save_model(network, run / "weights.safetensors", metrics={"error_percent": 8.0})
    directory = RunDirectory(run)
    directory.write("trial", trial_to_dict(replace(directory.trial(), network=network.spec)))
    before = own.read_bytes()
    words = ["convert", run.name[:-3], "--runs", str(run.parent), "--to"]
    outcome = reslab(*words, "akamaster")
    assert f"wrote {run.name}-akamaster.safetensors" in outcome.out, outcome.err
    assert load_model(f"{run.name}-akamaster.safetensors").spec.classes == 10
    assert reslab(*words, "reslab", "--out", "ours.safetensors").code == 0
    ours = read_weights("ours.safetensors")
    assert (ours.provenance, ours.metrics) == ({"converted_from": run.name}, {"error_percent": 8.0})
    assert ours.class_names == network.class_names
    assert "is the input file" in reslab(*words, "akamaster", "--out", str(own)).err
    assert reslab("convert", "resnet-20", f"weights={own}", "--to", "akamaster", "--out", "n.safetensors").code == 0
    assert own.read_bytes() == before
    assert "takes one subject and weights=FILE, but also got 'data'" in reslab(*words, "timm", "data=x").err
