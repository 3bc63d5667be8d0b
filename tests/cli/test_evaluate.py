"""`reslab evaluate`, end to end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.peers import CifarPeer
from PIL import Image
from tests.multilabel import CLASSES, make_labelled
from tests.photographs import make_photos

from reslab.cli.evaluate import evaluate
from reslab.data import catalogue
from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.experiments import export
from reslab.networks import create_model, load_model, save_model
from reslab.runtime.listener import Listener
from reslab.spec import Preprocess
from reslab.spec.codec import encode
from reslab.spec.task import MultiLabel
from reslab.spec.trial import DataSpec
from reslab.tasks.classification import printed
from reslab.tasks.views import PROTOCOLS


def test_a_run_by_id_beginning_path_and_file(reslab, run: Path) -> None:
    """All give the recorded result; the data need not be said."""
    result = json.loads((run / "result.json").read_text())
    for subject in (run.name, run.name[:-3], str(run), str(run / "weights.safetensors")):
        told = json.loads(reslab("evaluate", subject, "--runs", str(run.parent), "--json").out)
        assert told["error_percent"] == result["error_percent"], subject
        assert told["top5_error_percent"] == result["top5_error_percent"]
        assert told["confusion"] == result["confusion"]
        assert (told["images"], told["data"]) == (355, "digits")
    assert list(told["class_error_percent"]) == list("0123456789")


def test_it_prints_a_confusion_matrix(reslab, run: Path) -> None:
    """A row a class, with what was said of the images."""
    outcome = reslab("evaluate", str(run))
    assert outcome.code == 0, outcome.err
    assert "355 test images of digits, pixels 0-1, per-pixel mean" in outcome.out
    balanced = json.loads((run / "result.json").read_text())["balanced_error_percent"]
    assert f"balanced error {balanced:.2f} % (the mean of the class errors)" in outcome.out
    assert len([line for line in outcome.out.splitlines() if line[:2] in [f"{digit} " for digit in range(10)]]) == 10
    assert "the last 144 training images of digits" in reslab("evaluate", str(run), "data.split=tuning").out


def test_a_name_with_weights(reslab, run: Path, tmp_path: Path) -> None:
    """A bare state dict needs the name, the preprocessing and the data."""
    network = create_model("cifar-resnet-8", shortcut="B", num_classes=10, in_chans=1)
    torch.save(network.state_dict(), tmp_path / "bare.pth")
    subject, weights = "cifar-resnet-8 shortcut=B channels=1", f"weights={tmp_path / 'bare.pth'}"
    assert "write data=" in reslab("evaluate", subject, weights).err
    assert (
        "give the mean and standard deviation of each channel"
        in reslab("evaluate", subject, weights, "data=digits").err
    )
    said = ["data=digits", "preprocess.mean=[0.3]", "preprocess.std=[0.4]"]
    told = reslab("evaluate", subject, weights, *said, "--json")
    assert json.loads(told.out)["preprocess"] == "pixels 0-1, mean 0.3, std 0.4"
    assert json.loads(told.out)["network"].startswith("cifar-resnet-8 shortcut=B")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["resnet-20"], "pass weights=FILE, weights=cifar10 or a run id"),
        (["resnet-twenty"], "is not a weight file, a run in"),
        (["a.th"], "there is no weight file a.th"),
        (["peer.th"], "peer.th does not say what data it was trained on; write data=NAME|FOLDER"),
        (["peer.th", "data=digits"], "takes inputs of 3 x 32 x 32, but digits has images of 1 channel;"),
        (["peer.th", "weights=other.th", "data=digits"], "is already a weight file; leave out weights=other.th"),
        (["peer.th", "data=cifar10"], "fetch it with `reslab data fetch cifar10`"),
        (["peer.th", "recipe.epochs=2"], "evaluate has no field 'recipe.epochs'"),
        (["peer.th", "plain.th"], "there is no weight file plain.th"),
        ([], "evaluate needs a run or a weight file"),
        (["peer.th", "data=digts"], "'digts' is neither a dataset nor a folder of photographs; did you mean 'digits'?"),
        (["peer.th", "data=digits", "protocol=5-crop"], "choose 1-crop, 10-crop or multi-scale"),
        (["peer.th", "data=digits", "data.split=half"], "choose full or tuning"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, tmp_path: Path, monkeypatch) -> None:
    """Exit code 2, one line that says what to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    torch.save(CifarPeer(1).state_dict(), "peer.th")
    outcome = reslab("evaluate", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of photographs, and two weight files that say they were trained on it."""
    generator = np.random.default_rng(0)
    for split in ("train", "val"):
        for name in ("ants", "bees"):
            (tmp_path / "insects" / split / name).mkdir(parents=True)
            for number in range(4):
                pixels = generator.integers(0, 256, (19 + number, 30, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / "insects" / split / name / f"{number}.png")
    data = DataSpec(name="insects", fingerprint=read_folder(tmp_path / "insects").fingerprint)
    for name in ("a", "b"):
        network = create_model("cifar-resnet-8", classes=2, input_size=16)
        torch.nn.init.normal_(network.classifier.weight, std=0.5)  # pyright: ignore[reportArgumentType]
        network.preprocess, network.class_names = Preprocess(resize=18, crop=16), ("ants", "bees")
        save_model(network, tmp_path / f"{name}.safetensors", provenance={"data": encode(data)})
    return tmp_path / "insects"


@pytest.mark.parametrize("protocol", ["1-crop", "10-crop", "multi-scale"])
def test_an_ensemble_on_photographs(protocol: str, reslab, folder: Path, monkeypatch) -> None:
    """Each member and the ensemble, as a table and as JSON that has everything."""
    monkeypatch.chdir(folder.parent)
    words = ["evaluate", "a.safetensors", "b.safetensors", f"data={folder}", f"protocol={protocol}"]
    told = json.loads(reslab(*words, "--json").out)
    assert (told["images"], told["data"], told["protocol"]) == (8, "insects", protocol)
    assert [member["subject"] for member in told["members"]] == ["a.safetensors", "b.safetensors"]
    scores = {"error_percent", "top5_error_percent", "loss", "ece_percent", "mean_confidence_percent", "confusion"}
    assert all(scores < one.keys() for one in (told, *told["members"]))
    assert list(told["class_error_percent"]) == ["ants", "bees"]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert f"8 test images of insects, pixels 0-1, {'' if protocol == 'multi-scale' else 'resize 18'}" in outcome.out
    rows = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines() if line}
    assert rows["ensemble"][0] == f"{told['error_percent']:.2f}"
    assert "top-5" not in outcome.out
    assert rows["ensemble"][2:] == [f"{told['ece_percent']:.2f}", f"{told['loss']:.4f}"]
    assert len([line for line in outcome.out.splitlines() if line.startswith(("ants", "bees"))]) == 2
    (alone,) = [json.loads(reslab(words[0], words[1], *words[3:], "--json").out)]
    assert alone == told["members"][0]


@pytest.mark.parametrize("columns", [12, 1])
def test_a_class_without_test_images_has_no_error(columns: int, reslab, folder: Path, monkeypatch) -> None:
    """Its place is empty, null in JSON, and it is not among the worst."""
    for photo in (folder / "val" / "ants").iterdir():
        photo.unlink()
    folder.rename(folder.with_name("bees-alone"))
    monkeypatch.chdir(folder.parent)
    monkeypatch.setattr(printed, "MOST_COLUMNS", columns)
    words = ["evaluate", "a.safetensors", "data=bees-alone"]
    outcome = reslab(*words, "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["class_error_percent"]["ants"] is None
    assert told["balanced_error_percent"] == told["class_error_percent"]["bees"] == told["error_percent"]
    rows = {line.split()[0]: line.split()[1:] for line in reslab(*words).out.splitlines() if line}
    assert rows.get("ants", ["·", "·"]) == ["·", "·"]
    assert rows["bees"][0] == f"{told['error_percent']:.2f}"


def test_several_labels_an_image(reslab, tmp_path: Path, monkeypatch) -> None:
    """Precision of each label and its mean, alone and as an ensemble; `data check` looks through them too."""
    monkeypatch.chdir(tmp_path)
    make_labelled(tmp_path / "shapes", count=10)
    network = create_model("cifar-resnet-8", classes=3, input_size=16)
    network.preprocess, network.class_names, network.task = Preprocess(resize=18, crop=16), CLASSES, MultiLabel()
    save_model(network, "a.safetensors")
    words = ["evaluate", "a.safetensors", "data=shapes"]
    told = json.loads(reslab(*words, "--json").out)
    assert list(told["class_average_precision_percent"]) == list(told["class_positives"]) == list(CLASSES)
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert f"mAP {told['map_percent']:.2f} %, any label wrong for {told['error_percent']:.2f} %" in outcome.out
    assert [line.split()[0] for line in outcome.out.splitlines()[-3:]] == list(CLASSES)
    rows = {line.split()[0]: line.split()[1:] for line in reslab(*words, "a.safetensors").out.splitlines() if line}
    assert rows["ensemble"][0] == f"{told['map_percent']:.2f}"
    assert "NLL" not in reslab(*words, "a.safetensors").out
    assert "10 images, 3 classes" in (checked := reslab("data", "check", "shapes").out)
    assert "ready for training" in checked


def test_one_network_prints_its_calibration(reslab, folder: Path, monkeypatch) -> None:
    """Beside its errors; photographs that cannot be read stop it, or are named and counted, up to a few."""
    monkeypatch.chdir(folder.parent)
    words = ["evaluate", "a.safetensors", "data=insects", "protocol=10-crop"]
    told = reslab(*words).out
    assert "expected calibration error" in told
    assert "top-5" not in told  # five of two classes are never wrong
    bad = folder / "val" / "ants" / "2.png"
    bad.write_bytes(bytes(bad.stat().st_size))  # of the same size: the folder's fingerprint stays
    assert "2.png is not an image that can be read" in reslab(*words).err
    for members in ([], ["b.safetensors"]):
        outcome = reslab(*words, *members, "data.on_bad_image=skip")
        assert "7 test images of insects (bad images skipped: 1), pixels" in outcome.out
        assert "warning: skipped: insects/val/ants/2.png is not an image that can be read; remove it\n" in outcome.err
        assert outcome.err.count("skipped") == 1
    assert "choose stop or skip" in reslab(*words, "data.on_bad_image=ignore").err
    worse = folder / "val" / "bees" / "0.png"
    worse.write_bytes(bytes(worse.stat().st_size))
    outcome = reslab(*words, "data.on_bad_image=skip")
    assert (outcome.code, outcome.out) == (2, "")
    assert (
        "more than 1 image cannot be read, but at most 1 % of all images (or one image) may be skipped" in outcome.err
    )
    assert ", which `reslab data check insects` lists; the last one: insects/val/bees/0.png" in outcome.err


def test_a_folder_must_be_given(reslab, folder: Path, monkeypatch) -> None:
    """A weight file knows its folder by name, not by place; other classes, or data of other members, are refused."""
    monkeypatch.chdir(folder.parent)
    told = reslab("evaluate", "a.safetensors")
    assert told.code == 2
    assert (
        "a.safetensors was trained on a folder named insects, but its path is not recorded; write data=FOLDER"
        in told.err
    )
    network = create_model("cifar-resnet-8", classes=2, input_size=16)
    network.preprocess, network.class_names = Preprocess(resize=18, crop=16), ("bees", "ants")
    data = {"data": {"name": "digits", "fingerprint": "0"}}
    save_model(network, folder.parent / "c.safetensors", provenance=data)
    told = reslab("evaluate", "a.safetensors", "c.safetensors")
    assert "a.safetensors was trained on insects and c.safetensors was trained on digits; write data=" in told.err
    told = reslab("evaluate", "a.safetensors", "c.safetensors", f"data={folder}")
    assert "'bees' where insects has 'ants'; give the data it was trained for" in told.err


def test_what_a_run_held_out_is_held_out_again(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own seed, wherever it is tested: other images were trained on."""
    photos, runs = make_photos(tmp_path / "photos", train=10, val=1) / "train", ["--runs", str(tmp_path / "runs")]
    words = ["network=cifar-resnet-8", "network.input_size=16", "recipe.iterations=12", "data.held_out_seed=3"]
    assert reslab("train", f"data={photos}", *words, *runs).code == 0
    outcome = reslab("evaluate", "cifar-resnet-8", f"data={photos}", *runs, "--json")
    assert outcome.code == 0, outcome.err
    (run,) = (tmp_path / "runs").iterdir()
    assert json.loads(outcome.out)["loss"] == pytest.approx(
        json.loads((run / "result.json").read_text())["loss"], abs=0.02
    )
    assert reslab("evaluate", "cifar-resnet-8", *runs, "--json").out == outcome.out  # where the run found them
    assert "data.held_out_seed is -1" in reslab("train", f"data={photos}", *words[:-1], "data.held_out_seed=-1").err
    asked = []
    real = catalogue.open_data

    def open_data(word: str, *, known: DataSpec, listener: Listener) -> ArrayDataset | PhotoDataset:
        asked.append(known.held_out_seed)
        return real(word, known=known, listener=listener)

    monkeypatch.setattr(catalogue, "open_data", open_data)
    monkeypatch.setattr(export, "open_data", open_data)
    assert reslab("probe", "cifar-resnet-8", f"data={photos}", "--layer", "conv1", *runs).code == 0
    assert reslab("embed", "cifar-resnet-8", str(photos), "--out", str(tmp_path / "x.safetensors"), *runs).code == 0
    exported = ["export", "cifar-resnet-8", f"data={photos}", "--int8", "--out", str(tmp_path / "x.onnx")]
    assert reslab(*exported, *runs).code == 0
    assert asked == [3, 3, 3]


def test_networks_that_held_out_others_are_not_tested_together(reslab, tmp_path: Path) -> None:
    """Whatever the folder is called now: by the seed of the first, the second was trained on what it is tested on."""
    flat = make_photos(tmp_path / "photos", train=10) / "train"
    copy = shutil.copytree(flat, tmp_path / "renamed")
    for name, seed in (("a", 0), ("b", 1), ("c", 1)):
        network = create_model("cifar-resnet-8", num_classes=2, input_size=24)
        network.preprocess, network.class_names = Preprocess(resize=27, crop=24), ("blues", "greens")
        data = DataSpec(name="train", fingerprint=read_folder(flat, seed=seed).fingerprint, held_out_seed=seed)
        save_model(network, tmp_path / f"{name}.safetensors", provenance={"data": encode(data)})
    a, b, c = (str(tmp_path / f"{name}.safetensors") for name in "abc")
    for folder in (flat, copy):
        told = reslab("evaluate", a, b, f"data={folder}")
        assert told.code == 2
        assert f"{a} was trained with data.held_out_seed=0 and {b} was trained with data.held_out_seed=1" in told.err
        assert "test them in separate commands, or give a folder that has a val folder" in told.err
        assert reslab("evaluate", b, c, f"data={folder}").code == 0
        assert reslab("evaluate", b, f"data={folder}").code == 0
    assert reslab("evaluate", a, b, f"data={tmp_path / 'photos'}").code == 0


def test_weights_that_give_no_numbers_are_refused(reslab, run: Path) -> None:
    """One NaN is enough, also among good ones: nothing is printed, as JSON neither, and it ends with 2."""
    network = load_model(run / "weights.safetensors")
    network.classifier.weight.data[3, 2] = torch.nan  # pyright: ignore[reportAttributeAccessIssue]
    bad = str(save_model(network, run.parent / "bad.safetensors"))
    for words in ((bad, "data=digits"), (bad, "data=digits", "--json"), (str(run), bad)):
        told = reslab("evaluate", *words)
        assert (told.code, told.out) == (2, "")
        assert (
            f"{bad} gives logits that are not finite for the first image of digits: its classifier.weight" in told.err
        )


def test_weights_for_classes_in_another_order_are_warned_of(reslab, tmp_path: Path) -> None:
    """Their file names no classes, so that nothing else tells; in the right order there is nothing to say."""
    photos, runs = make_photos(tmp_path / "photos", train=12, val=8, classes=3), str(tmp_path / "runs")
    words = ["network=cifar-resnet-8", "network.input_size=16", "recipe.iterations=30", "recipe.batch=16"]
    assert reslab("train", f"data={photos}", *words, "--runs", runs).code == 0
    network = load_model(next((tmp_path / "runs").glob("*/weights.safetensors")))
    network.class_names = None
    nameless = str(save_model(network, tmp_path / "nameless.safetensors"))
    assert "chance" not in reslab("evaluate", nameless, f"data={photos}").err
    for split in ("train", "val"):
        for old, new in (("blues", "x"), ("reds", "blues"), ("greens", "reds"), ("x", "greens")):
            (photos / split / old).rename(photos / split / new)
    told = reslab("evaluate", nameless, f"data={photos}")
    assert told.code == 0
    assert f"{nameless} is no better than chance on photos; check its preprocessing, and" in told.err
    assert "that its classes are in this order: blues, greens, reds, …" in told.err


def test_help_names_every_protocol() -> None:
    """It is written by hand: help loads no torch, which the protocols need."""
    assert f"protocol={'|'.join(PROTOCOLS)}," in str(evaluate.__doc__)


def test_thresholds_are_tuned_and_told(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A threshold and two F1 a label, on images they were not tuned on; one network at a time."""
    monkeypatch.chdir(tmp_path)
    make_labelled(make_labelled(tmp_path / "shapes", count=12), count=24, name="val.csv", seed=1)
    network = create_model("cifar-resnet-8", num_classes=3, input_size=32)
    network.preprocess, network.class_names, network.task = Preprocess(resize=32, crop=32), CLASSES, MultiLabel()
    save_model(network, "several.safetensors")
    words = ["evaluate", "several.safetensors", "data=shapes", "--tune-thresholds", "tuned.safetensors"]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert "tuned on 12 test images of shapes, tested on the other 12" in outcome.out
    assert "label   images  threshold  F1 % at 0.5  F1 % tuned" in outcome.out
    assert "wrote tuned.safetensors" in outcome.out
    told = json.loads(reslab(*words, "--json").out)
    assert [one["threshold"] for one in told["labels"]] == list(load_model("tuned.safetensors").thresholds or ())
    outcome = reslab("evaluate", "a.safetensors", "b.safetensors", "--tune-thresholds", "x.safetensors")
    assert "--tune-thresholds takes one network, not 2" in outcome.err
