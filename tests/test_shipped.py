"""The weights that come with the package: found by name, and as good as their cards say."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hatchling.builders.wheel import WheelBuilder
from tools.ship import NETWORKS, SUBSET, compute_logits, find_nearest

import reslab
from reslab.cli import main
from reslab.data.arrays.split import ArraySplit
from reslab.data.catalogue import load_dataset
from reslab.errors import UserError
from reslab.experiments.evaluate import evaluate_subject
from reslab.experiments.trained import choose_inputs, load_file
from reslab.networks import create_model, load_model, read_weights, save_model
from reslab.paper.cifar import ask_error
from reslab.paper.claim import CIFAR10
from reslab.report.records import read_records
from reslab.report.verdicts import Verdict, judge
from reslab.shipped import FOLDER, list_networks, sets_of
from reslab.spec import NetworkSpec, find

SHIPPED = list_networks("cifar10")
MOST_BYTES = 25_000_000
RECORDS = {record.id: record for record in read_records(Path(__file__).parent.parent / "results")[0]}


def read(name: str) -> Any:
    return read_weights("cifar10", like=find(name))


def judge_error(network: str) -> Verdict:
    """Judge a network's test error by the records."""
    (verdict,) = judge([ask_error(network, table="models", row=network)], list(RECORDS.values()))
    return verdict


def test_they_are_networks_we_ship_and_small() -> None:
    """All of them, each with full runs by the paper's recipe behind it, in less than 25 MB."""
    assert sorted(SHIPPED) == sorted(NETWORKS), "run python -m tools.ship"
    assert [judge_error(network).word for network in NETWORKS] == ["measured"] * len(NETWORKS)
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.safetensors")) < MOST_BYTES


@pytest.mark.parametrize("name", SHIPPED)
def test_a_file_says_what_it_is(name: str) -> None:
    """Network, data, classes, mean image, a record's seed and error, and the mean of all seeds."""
    weights = read(name)
    assert weights.spec == find(name)
    assert weights.preprocess.per_pixel_mean
    assert weights.mean_image.shape == (3, 32, 32)
    assert weights.class_names[3] == "cat"
    assert {tensor.dtype for tensor in weights.tensors.values()} == {torch.float32, torch.int64}
    about, metrics = weights.provenance, weights.metrics
    assert about["data"]["fingerprint"] == CIFAR10.fingerprint
    verdict = judge_error(name)
    assert about["trial"] == find_nearest(verdict), "run python -m tools.ship"
    assert (metrics["mean_error_percent"], metrics.get("std_error_percent")) == (verdict.mean, verdict.std)
    assert metrics["seeds"] == verdict.n
    run = RECORDS[about["trial"]].directory
    assert run.trial().seed == about["seed"]
    sittings = run.read("provenance")["sittings"]
    assert about["commit"].split(", ") == list(dict.fromkeys(sitting["commit"] for sitting in sittings))
    assert run.result()["error_percent"] == metrics["recorded_error_percent"]
    assert abs(metrics["error_percent"] - metrics["recorded_error_percent"]) < 0.1


@pytest.mark.parametrize("name", SHIPPED)
def test_they_are_right_about_a_hundred_images(name: str) -> None:
    """Ten of each class: the recorded logits, and exactly the recorded mistakes."""
    stored = np.load(SUBSET)
    labels, recorded = stored["labels"], stored[name]
    assert np.bincount(labels).tolist() == [10] * 10
    logits = compute_logits(create_model(name, weights="cifar10").eval(), ArraySplit(stored["images"], labels))
    assert np.abs(logits - recorded).max() < 1e-3
    wrong = (logits.argmax(1) != labels).sum()
    assert wrong == (recorded.argmax(1) != labels).sum()
    assert wrong < 25


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("RESLAB_DATA"), reason="RESLAB_DATA does not say where CIFAR-10 is")
@pytest.mark.parametrize("name", SHIPPED)
def test_they_err_as_recorded(name: str) -> None:
    """On the whole test set, in float32 on the CPU, to the image."""
    trained = load_file("cifar10", name=name)
    scores = evaluate_subject(choose_inputs(trained, load_dataset("cifar10"), device="cpu"))
    assert scores["error_percent"] == read(name).metrics["error_percent"]


@pytest.mark.parametrize("page", ["evaluate.md", "features.md"])
def test_what_docs_tell_was_measured_with_these(page: str) -> None:
    """The run they name is the one that is shipped: with other weights its numbers are to be measured again."""
    text = (Path(__file__).parent.parent / "docs" / "how-to" / page).read_text(encoding="utf-8")
    assert read("resnet-20").provenance["trial"] in text


def test_a_name_is_found_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shipped set beats a file of its name; a Path, or ./, means the file."""
    expected = create_model("resnet-20", weights="cifar10").state_dict()["classifier.weight"]
    for name in ("resnet20", "ResNet_20", "cifar-resnet-20"):
        assert create_model(name, weights="cifar10").state_dict()["classifier.weight"].equal(expected)
    other = create_model("resnet-20")
    save_model(other, tmp_path / "other.safetensors").rename(tmp_path / "cifar10")
    monkeypatch.chdir(tmp_path)
    assert create_model("resnet-20", weights="cifar10").state_dict()["classifier.weight"].equal(expected)
    for path in ("./cifar10", Path("cifar10")):
        found = create_model("resnet-20", weights=path).state_dict()["classifier.weight"]
        assert found.equal(other.state_dict()["classifier.weight"])


def test_another_number_of_classes_gets_a_fresh_classifier() -> None:
    """The rest is as trained."""
    trained, fresh = (create_model("resnet-20", weights="cifar10", num_classes=classes) for classes in (None, 7))
    assert isinstance(fresh.spec, NetworkSpec)
    assert (fresh.spec.classes, fresh.class_names) == (7, None)
    assert fresh.state_dict()["stem.conv.weight"].equal(trained.state_dict()["stem.conv.weight"])


def test_what_is_not_shipped_is_told() -> None:
    """One sentence, with the networks that are."""
    with pytest.raises(UserError, match=r"^there are no cifar10 weights for resnet-1202; choose plain-20, .*resnet-20"):
        create_model("resnet-1202", weights="cifar10")
    with pytest.raises(UserError, match="shortcut=C contradicts cifar10"):
        create_model("resnet-20", weights="cifar10", shortcut="C")
    with pytest.raises(UserError, match="cifar10 has weights for several networks; also give the name"):
        load_model("cifar10")


def test_the_command_line_knows_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever takes weights takes the name of a set; `networks` shows who has them."""
    main(["describe", "resnet-20", "weights=cifar10", "--json"])
    assert json.loads(capsys.readouterr().out)["name"] == "resnet-20"
    main(["networks", "plain-*"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert {row[0] for row in rows if row[-1] == "cifar10"} == {name for name in SHIPPED if name.startswith("plain")}


def test_they_are_in_the_wheel(tmp_path: Path) -> None:
    """All files, as they are."""
    (built,) = WheelBuilder(str(Path(__file__).parent.parent)).build(directory=str(tmp_path))
    with zipfile.ZipFile(built) as archive:
        for name in SHIPPED:
            content = archive.read(f"reslab/shipped/cifar10/{name}.safetensors")
            assert content == (FOLDER / "cifar10" / f"{name}.safetensors").read_bytes()


def test_they_are_listed_in_timms_words() -> None:
    """`list_models(pretrained=True)`."""
    assert sorted(reslab.list_models(pretrained=True)) == sorted([*SHIPPED, "resnet-50"])
    assert reslab.list_models("plain*", pretrained=True)[0] == "plain-20"
    assert sets_of("resnet-20") == ["cifar10"]
    assert sets_of("resnet-50") == ["imagenet"]
    assert sets_of("vgg-16") == []
