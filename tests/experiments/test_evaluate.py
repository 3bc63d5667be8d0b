"""Tests of trained networks: a run's own again, and a foreign one's against the network it came from."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.peers import CifarPeer
from PIL import Image
from tests.photographs import make_photos
from tests.trials import DIGITS, make_digits_trial

import reslab
from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.sources import PUBLISHED
from reslab.data.arrays.split import ArraySplit
from reslab.data.photos import folder
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.errors import UserError
from reslab.experiments.evaluate import evaluate_ensemble, evaluate_subject, score_run, time_run
from reslab.experiments.run import run_trial
from reslab.experiments.trained import Trained, choose_inputs, load_file, load_run
from reslab.networks import create_model
from reslab.runtime.listener import Listener
from reslab.spec import Preprocess, find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, SplitName, Trial
from reslab.tasks.subject import Subject

SCORES = ("error_percent", "top5_error_percent", "loss", "ece_percent", "mean_confidence_percent", "confusion")
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


@pytest.mark.parametrize(
    ("device", "precision", "channels_last", "split"),
    [
        ("cpu", "fp32", "true", "full"),
        ("cpu", "bf16", "true", "tuning"),
        ("cpu", "bf16", "false", "full"),
        pytest.param("cuda", "bf16", "true", "full", marks=ON_GPU),
    ],
)
def test_a_finished_run_gives_its_recorded_result(
    device: str, precision: str, channels_last: str, split: SplitName, tmp_path: Path
) -> None:
    """Every score to the last bit, from the run and from its weight file alone."""
    recipe = {"iterations": 20, "batch": 32, "precision": precision, "channels_last": channels_last}
    trial = make_digits_trial(split=split, **recipe)
    trial = replace(trial, network=replace(trial.network, dropout=0.1))
    run = run_trial(trial, DIGITS, tmp_path, device=device)
    result = run.result()
    again = evaluate_subject(choose_inputs(load_run(run), DIGITS, device=device))
    for score in SCORES:
        assert again[score] == result[score], score
    assert list(again["class_error_percent"].values()) == result["class_error_percent"]
    assert (again["data"], again["split"]) == ("digits", split)
    assert again["network"] == "cifar-resnet-8 dropout=0.1 channels=1 input_size=8"
    again = evaluate_subject(choose_inputs(load_file(run.weights), DIGITS, device=device))
    assert again["error_percent"] == result["error_percent"]


def test_from_python_as_on_the_command_line(tmp_path: Path) -> None:
    """A run, a beginning of its id and its weights give its scores and those of classes; two are an ensemble."""
    run = run_trial(make_digits_trial(iterations=4, batch=32), DIGITS, tmp_path)
    result, seen, told = run.result(), [], []
    for subject in (run, run.path.name[:-3], run.path, run.weights):
        found = reslab.evaluate(subject, runs=tmp_path, progress=lambda *done: seen.append(done), warn=told.append)
        assert found.scores["error_percent"] == result["error_percent"]
        assert [one["class_error_percent"] for one in found.classes.values()] == result["class_error_percent"]
        assert (found.task, found.data, found.images, found.members) == (
            "classification",
            "digits",
            len(DIGITS.test),
            (),
        )
        assert found.record["confusion"] == result["confusion"]
    assert seen[-1] == (len(DIGITS.test), len(DIGITS.test))
    assert "is no better than chance on digits" in told[0]
    both = reslab.evaluate(run, run.weights, fields={"protocol": "1-crop"}, data="digits", warn=told.append)
    assert [one.scores for one in both.members] == [found.scores] * 2
    assert both.scores["error_percent"] == result["error_percent"]
    with pytest.raises(UserError, match="protocol is 'two'"):
        reslab.evaluate(run, fields={"protocol": "two"})
    with pytest.raises(UserError, match="evaluate needs a run or a weight file"):
        reslab.evaluate()


def noise(count: int, seed: int = 0) -> ArrayDataset:
    """Images with CIFAR-10's shape and classes: coloured patches under noise."""
    generator = np.random.default_rng(seed)
    patches = generator.integers(0, 256, (count, 3, 4, 4)).repeat(8, 2).repeat(8, 3)
    images = np.clip(patches + generator.normal(0, 20, patches.shape), 0, 255).astype(np.uint8)
    split = ArraySplit(images, generator.integers(0, 10, count).astype(np.uint8))
    return ArrayDataset(name="cifar10", class_names=PUBLISHED["cifar10"].class_names, train=split, test=split)


def test_a_precision_is_told_if_it_is_not_the_usual_one(tmp_path: Path) -> None:
    """Records of float32 stay as they were."""
    run = run_trial(make_digits_trial(iterations=4, batch=32), DIGITS, tmp_path)
    subject = choose_inputs(load_run(run), DIGITS)
    assert "precision" not in evaluate_subject(subject)
    assert evaluate_subject(subject, precision="bf16")["precision"] == "bf16"


@torch.no_grad()
@pytest.mark.parametrize(
    ("told", "mean", "std"),
    [
        ({}, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        (
            {"mean": "[0.4914,0.4822,0.4465]", "std": "[0.2470,0.2435,0.2616]"},
            (0.4914, 0.4822, 0.4465),
            (0.2470, 0.2435, 0.2616),
        ),
    ],
    ids=["adapter's", "told"],
)
def test_foreign_weights_guess_what_their_own_network_guesses(
    told: dict[str, str], mean: tuple[float, ...], std: tuple[float, ...], tmp_path: Path
) -> None:
    """An independent ResNet-20 in its own names and normalization, and ours from its file: the same confusion."""
    data = noise(60)
    centre, scale = (torch.tensor(values)[:, None, None] for values in (mean, std))
    x = (torch.from_numpy(data.test.images).float() / 255 - centre) / scale
    peer = CifarPeer(3)
    for _ in range(5):
        peer(x)
    peer.eval()
    guesses = peer(x).argmax(1).numpy()
    assert len(set(guesses)) > 2  # or the comparison would say little
    state = {f"module.{name}": tensor for name, tensor in peer.state_dict().items()}
    torch.save({"state_dict": state}, tmp_path / "a.th")
    scores = evaluate_subject(choose_inputs(load_file(tmp_path / "a.th"), data, preprocess=told))
    confusion = np.zeros((10, 10), dtype=int)
    np.add.at(confusion, (data.test.targets, guesses), 1)
    assert scores["confusion"] == confusion.tolist()
    assert scores["error_percent"] == pytest.approx(100 * (guesses != data.test.targets).mean())
    assert scores["class_error_percent"].keys() == set(PUBLISHED["cifar10"].class_names)


def test_progress_counts_images(tmp_path: Path) -> None:
    """Up to all of them."""
    torch.save(CifarPeer(1).state_dict(), tmp_path / "a.th")
    seen: list[int] = []
    data = replace(noise(501), class_names=tuple("0123456789"))
    subject = choose_inputs(load_file(tmp_path / "a.th"), data)
    listener = Listener(progress=lambda done, metrics: seen.append(done))
    assert evaluate_subject(subject, listener=listener)["images"] == 501
    assert seen == [250, 501]  # two batches, as even as they can be


def untrained(seed: int, preprocess: Preprocess, **fields: object) -> Trained:
    """A network that is sure of what it knows nothing about."""
    torch.manual_seed(seed)
    network = create_model("cifar-resnet-8", **fields)  # pyright: ignore[reportArgumentType]
    torch.nn.init.normal_(network.classifier.weight, std=0.5)  # pyright: ignore[reportArgumentType]
    network.preprocess = preprocess
    return Trained(origin=f"network {seed}", network=network.eval())


def on_digits(seed: int, mean: float) -> Subject:
    """A network of the digits with a mean of its own."""
    return choose_inputs(untrained(seed, Preprocess(mean=(mean,)), channels=1, input_size=8), DIGITS)


@torch.no_grad()
def test_an_ensemble_averages_softmax() -> None:
    """Each member prepares images its own way, and is scored as if it were alone."""
    members = [on_digits(0, 0.3), on_digits(1, 0.5), on_digits(2, 0.1)]
    found = evaluate_ensemble(members)
    total = torch.zeros(len(DIGITS.test), 10)
    for member in members:
        total += member.network(torch.from_numpy(DIGITS.test.images) / 16 - member.preprocess.mean[0]).softmax(1)
    labels = torch.from_numpy(DIGITS.test.targets).long()
    assert found["error_percent"] == pytest.approx(100 * (total.argmax(1) != labels).float().mean().item())
    assert found["loss"] == pytest.approx(
        (total / 3).log()[torch.arange(len(labels)), labels].neg().mean().item(), 1e-5
    )
    assert found["mean_confidence_percent"] == pytest.approx(100 * (total / 3).amax(1).mean().item(), rel=1e-5)
    assert found["members"] == [evaluate_subject(member) for member in members]
    assert len({member["error_percent"] for member in found["members"]}) > 1


def test_order_and_repetition_do_not_matter() -> None:
    """An ensemble of one is the one, to the bit; of twice the same, the same; members may come in any order."""
    one, two, three = on_digits(0, 0.3), on_digits(1, 0.5), on_digits(2, 0.1)
    alone = evaluate_ensemble([one])
    assert {score: alone[score] for score in SCORES} == {score: alone["members"][0][score] for score in SCORES}
    twice = evaluate_ensemble([one, one])
    forth, back = evaluate_ensemble([one, two, three]), evaluate_ensemble([three, one, two])
    for score in SCORES[:-1]:
        assert twice[score] == pytest.approx(alone[score], rel=1e-6)
        assert forth[score] == pytest.approx(back[score], rel=1e-6)
    assert (twice["confusion"], forth["confusion"]) == (alone["confusion"], back["confusion"])


def test_members_are_tested_on_the_same_images() -> None:
    """Or nothing would be compared."""
    trained = untrained(0, Preprocess(mean=(0.3,)), channels=1, input_size=8)
    members = [choose_inputs(trained, DIGITS), choose_inputs(trained, DIGITS, split="tuning")]
    with pytest.raises(
        UserError,
        match=r"on data\.split=tuning; add data\.split=full or data\.split=tuning to test all on the same images",
    ):
        evaluate_ensemble(members)


@pytest.fixture
def photos(tmp_path: Path) -> PhotoDataset:
    """A folder of photographs in several sizes: greenish and reddish."""
    generator = np.random.default_rng(0)
    for split in ("train", "val"):
        for channel, name in enumerate(("red", "green")):
            (tmp_path / split / name).mkdir(parents=True)
            for number in range(3):
                pixels = generator.integers(0, 120, (20 + 9 * number, 31, 3), dtype=np.uint8)
                pixels[..., channel] += 100
                Image.fromarray(pixels).save(tmp_path / split / name / f"{number}.png")
    return read_folder(tmp_path)


@pytest.mark.parametrize("protocol", ["1-crop", "10-crop", "multi-scale"])
def test_photographs_are_decoded_once_for_all(protocol, photos: PhotoDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of members and sizes; each member has its own sizes."""
    members = []
    for seed, preprocess in enumerate([Preprocess(resize=18, crop=16), Preprocess(resize=20, crop=16, mean=(0.4,))]):
        trained = untrained(seed, preprocess, classes=2, input_size=16)
        members.append(choose_inputs(trained, photos))
    read, reading = [], folder.read_pixels
    monkeypatch.setattr(folder, "read_pixels", lambda path: read.append(path) or reading(path))
    found = evaluate_ensemble(members, protocol=protocol)
    assert sorted(read) == sorted(photos.test.path(index) for index in range(6))
    assert (found["images"], found["skipped_images"], found["protocol"]) == (6, 0, protocol)
    sides = {"1-crop": [[18], [20]], "10-crop": [[18], [18]], "multi-scale": [[16, 18, 27, 34, 46]] * 2}[protocol]
    assert [member["shorter_sides"] for member in found["members"]] == sides
    assert ("crop 16" in found["members"][0]["preprocess"]) == (protocol != "multi-scale")


@pytest.mark.parametrize("protocol", ["1-crop", "10-crop", "multi-scale"])
def test_a_mean_image_serves_other_crops_by_its_channels(protocol, photos: PhotoDataset) -> None:
    """As if the averages of its channels had been given."""
    trained = untrained(0, Preprocess(resize=18, crop=16, per_pixel_mean=True), classes=2, input_size=16)
    trained.network.mean_image = torch.rand(3, 16, 16)
    averages = str(trained.network.mean_image.mean((1, 2)).tolist())
    size = {"resize": "22", "crop": "20"}
    losses = [
        evaluate_subject(choose_inputs(trained, photos, preprocess=size | fields), protocol=protocol)["loss"]
        for fields in ({}, {"mean": averages, "std": "[1,1,1]", "per_pixel_mean": "false"})
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_bad_photographs_are_counted(photos: PhotoDataset) -> None:
    """They stop a test, or are left out if asked for or if its own training did so; more than a few stop it still."""
    photos.test.path(1).write_bytes(b"")
    trained = untrained(0, Preprocess(resize=18, crop=16), classes=2, input_size=16)
    with pytest.raises(UserError, match=r"1\.png is not an image"):
        evaluate_subject(choose_inputs(trained, photos))
    told: list[str] = []
    found = evaluate_subject(choose_inputs(trained, photos, skip_bad=True, listener=Listener(warn=told.append)))
    assert [sentence.split()[0] for sentence in told] == ["skipped:"]
    assert (found["images"], found["skipped_images"], sum(map(sum, found["confusion"]))) == (5, 1, 5)
    data = DataSpec(name=photos.name, fingerprint=photos.fingerprint, on_bad_image="skip")
    went_past = replace(trained, data=data)
    assert evaluate_subject(choose_inputs(went_past, photos))["skipped_images"] == 1
    with pytest.raises(UserError, match=r"1\.png is not an image"):
        evaluate_subject(choose_inputs(went_past, replace(photos, name="others")))
    for index in range(6):
        photos.test.path(index).write_bytes(b"")
    with pytest.raises(UserError, match="more than 1 image cannot be read"):
        choose_inputs(trained, photos, skip_bad=True)


def test_a_run_is_scored_by_a_protocol_once(tmp_path: Path) -> None:
    """On its own data only; the scores are those of `evaluate`, lie in its analysis, and what is damaged is redone."""
    photos = read_folder(make_photos(tmp_path / "photos", train=3, val=2))
    trial = Trial(
        data=DataSpec(name=photos.name, fingerprint=photos.fingerprint),
        network=find("resnet-18", {"classes": 2, "input_size": 32}),
        recipe=find_recipe("imagenet-paper", {"iterations": 1, "batch": 2, "exact_norms": "false"}),
    )
    run = run_trial(trial, photos, tmp_path / "runs")
    assert run.result()["data_images"] == [6, 4]
    found = score_run(run, photos, "10-crop")
    scores = evaluate_subject(choose_inputs(load_run(run), photos), protocol="10-crop")
    assert found == {name: value for name, value in scores.items() if name not in ("confusion", "class_error_percent")}
    assert (found["images"], found["shorter_sides"]) == (4, [37])
    run.write("analysis/10-crop", found | {"error_percent": 1.5})
    assert score_run(run, photos, "10-crop")["error_percent"] == 1.5
    (run.path / "analysis" / "10-crop.json").write_text("{")
    assert score_run(run, photos, "10-crop") == found
    others = read_folder(make_photos(tmp_path / "others", train=3, val=2))
    with pytest.raises(UserError, match="was not trained on others"):
        score_run(run, others, "10-crop")


def test_a_run_is_timed_once(tmp_path: Path) -> None:
    """On its own data only; what is kept is not measured again, wherever it was measured."""
    run = run_trial(make_digits_trial(iterations=1, batch=8), DIGITS, tmp_path)
    found = time_run(run, DIGITS)
    assert found["milliseconds"] > 0 and found["batch"] == 1
    assert run.read("analysis/latency") == json.loads(json.dumps(found))
    run.keep("latency", found | {"device": "elsewhere"})
    assert time_run(run, DIGITS)["device"] == "elsewhere"
    (run.path / "analysis" / "latency.json").unlink()
    with pytest.raises(UserError, match="was not trained on others"):
        time_run(run, replace(DIGITS, name="others"))


def test_a_member_that_gives_no_numbers_is_named() -> None:
    """Before the work where it is so at the first image; else at the end, with how many images it is so for."""
    good, trained = on_digits(0, 0.3), untrained(1, Preprocess(mean=(0.5,)), channels=1, input_size=8)
    bad = choose_inputs(trained, DIGITS)
    with torch.no_grad():
        bad.network.classifier.bias[3] = math.nan  # pyright: ignore[reportAttributeAccessIssue]
    cause = r"its classifier\.bias is not finite; give other weights"
    with pytest.raises(UserError, match=f"network 1 gives logits that are not finite for the first .* digits: {cause}"):
        choose_inputs(trained, DIGITS)
    with pytest.raises(UserError, match=f"network 1 gives .* finite for 355 of 355 images of digits: {cause}"):
        evaluate_ensemble([good, bad])
