"""Training on pictures with several labels: it learns, resumes exactly, and is tested, exported and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.multilabel import CLASSES, make_labelled
from tests.photographs import make_photos
from tests.trials import make_photo_trial, outcome, stop_after
from torch.nn import functional as F

from reslab.data.catalogue import open_data
from reslab.data.photos.label_list import MultiLabelDataset, read_labelled
from reslab.delivery.onnx_predictor import OnnxPredictor
from reslab.delivery.predictor import Predictor
from reslab.errors import UserError
from reslab.experiments.evaluate import evaluate_subject
from reslab.experiments.export import (
    choose_calibration,
    choose_int8_data,
    choose_pictures,
    deploy,
    export_int8,
    write_file,
)
from reslab.experiments.run import run_trial
from reslab.experiments.trained import choose_inputs, find_own_data, load_run
from reslab.report.records import read_gallery, read_records
from reslab.report.reporting import report_runs
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.runtime.processes import ALONE, Processes
from reslab.spec.task import MultiLabel
from reslab.tasks.gallery import NEITHER
from reslab.tasks.multilabel.meter import LabelCounts
from reslab.tasks.multilabel.task import TASK
from reslab.tasks.trial_task import TrialTask, make_task
from reslab.training.loop import Stopped


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> MultiLabelDataset:
    return read_labelled(make_labelled(tmp_path_factory.mktemp("multilabel") / "shapes", count=80))


@pytest.fixture(scope="module")
def trained(shapes: MultiLabelDataset, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    trial = make_photo_trial(shapes, recipe__batch="16", recipe__iterations="60", recipe__evaluate_every="30")
    return run_trial(trial, shapes, tmp_path_factory.mktemp("runs"))


def make(dataset: MultiLabelDataset, processes: Processes = ALONE, **fields: str) -> TrialTask:
    task = make_task(make_photo_trial(dataset, **fields), dataset, device="cpu", processes=processes)
    assert task.task is TASK
    return task


def test_it_learns_and_records_what_it_found(trained: RunDirectory, shapes: MultiLabelDataset) -> None:
    """Every shape is found; mAP is logged on the way and recorded for each class; the task is the trial's."""
    result = trained.result()
    assert result["map_percent"] > 98
    assert min(result["class_average_precision_percent"]) > 95
    assert result["class_names"] == list(CLASSES)
    assert result["class_positives"] == shapes.test.targets.sum(0).tolist()
    assert not {"confusion", "top5_error_percent", "class_error_percent"} & result.keys()
    log = [json.loads(line) for line in (trained.path / "metrics.jsonl").read_text().splitlines()]
    assert log[-1]["test_map_percent"] == result["map_percent"] > log[0]["test_map_percent"]
    assert trained.trial().task == MultiLabel()
    assert trained.trial().id == trained.path.name


def test_an_opinion_is_of_one_label_of_an_image() -> None:
    """Told rightly, told wrongly, or missed; that a label is rightly absent is none."""
    outputs, targets = torch.tensor([[2.0, -1.0, 3.0], [-0.5, -4.0, 1.0]]), torch.tensor([[1, 0, 0], [1, 0, 1]])
    opinions = TASK.judge_each(outputs, targets, torch.tensor([5, 6]))
    assert opinions[["about", "right", "index", "truth", "guess"]].tolist() == [
        (0, True, 5, 0, 0),
        (2, False, 5, NEITHER, 2),
        (0, False, 6, 0, NEITHER),
        (2, True, 6, 2, 2),
    ]
    assert opinions["sure"] == pytest.approx(torch.tensor([2.0, 3.0, 0.5, 1.0]).sigmoid().numpy())


def test_a_half_is_enough_everywhere() -> None:
    """In training, tests and the gallery, as in predictions."""
    outputs, targets = torch.zeros(1, 1), torch.ones(1, 1)
    assert TASK.tally(outputs, targets).tolist() == [0]
    meter = TASK.make_meter(outputs=1, images=1, device="cpu")
    meter.add(outputs, targets)
    assert meter.read().recorded()["error_percent"] == 0
    assert TASK.judge_each(outputs, targets, torch.tensor([0]))["right"].tolist() == [True]


def test_stopped_and_resumed_it_ends_the_same(shapes: MultiLabelDataset, tmp_path: Path) -> None:
    """Bit for bit, mixing and weights included."""
    trial = make_photo_trial(shapes, recipe__augmentation__mixup="0.4", recipe__class_weights="balanced")
    whole = run_trial(trial, shapes, tmp_path / "whole")
    with pytest.raises(Stopped):
        run_trial(trial, shapes, tmp_path / "parts", listener=Listener(should_stop=stop_after(5)))
    parts = run_trial(trial, shapes, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)


class Fixed(torch.nn.Module):
    """Says the same of every two images."""

    logits = torch.tensor([[2.0, -1.0, 0.5], [-0.5, 1.0, -3.0]])

    def weighted_logits(self, x: torch.Tensor) -> list[tuple[float, torch.Tensor]]:
        return [(1.0, self.logits)]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weights", ["none", "balanced"])
def test_the_loss_is_the_mean_over_labels(shapes: MultiLabelDataset, smoothing: float, weights: str) -> None:
    """By hand: smoothed towards a half, the yes and no of a class weighed by their number; mixed by the share."""
    task = make(shapes, recipe__label_smoothing=str(smoothing), recipe__class_weights=weights)
    yes = torch.from_numpy(shapes.train.targets.mean(0)).float()

    def expected(labels: torch.Tensor) -> torch.Tensor:
        targets = labels * (1 - smoothing) + smoothing / 2
        losses = F.binary_cross_entropy(Fixed.logits.sigmoid(), targets, reduction="none")
        if weights == "balanced":
            losses = losses * torch.where(labels == 1, 1 / (2 * yes), 1 / (2 * (1 - yes)))
        return losses.mean()

    images, labels = torch.zeros(2, 3, 24, 24), torch.tensor([[1, 0, 1], [0, 1, 1]])
    loss, wrong = task.loss(Fixed(), (images, labels))  # pyright: ignore[reportArgumentType]
    assert loss.item() == pytest.approx(expected(labels).item())
    assert wrong.item() == 1
    mixed = (images, labels, labels.flip(0), torch.tensor([0.7, 0.7]))
    loss, _ = task.loss(Fixed(), mixed)  # pyright: ignore[reportArgumentType]
    assert loss.item() == pytest.approx((0.7 * expected(labels) + 0.3 * expected(labels.flip(0))).item())


def test_processes_share_every_batch_and_the_test(shapes: MultiLabelDataset, trained: RunDirectory) -> None:
    """Two of them see what one sees; what they count adds up to what one counts."""
    alone, pair = make(shapes), [make(shapes, Processes(rank, 2)) for rank in range(2)]
    images, labels = alone.load(1, 2)
    shares = [task.load(1, 2) for task in pair]
    assert torch.equal(torch.cat([share[0] for share in shares], dim=1), images)
    assert torch.equal(torch.cat([share[1] for share in shares], dim=1), labels)
    network = load_run(trained).network
    counted = []
    for task in pair:
        tested = task.feed.tested
        meter = task.task.make_meter(outputs=3, images=task.feed.num_tests, device="cpu", first=tested.start)
        assert isinstance(meter, LabelCounts)
        with torch.no_grad():
            for batch, truths, _ in task.feed.tests():
                meter.add(network(batch), truths)
        counted.append(meter)
    for ours, theirs in zip(counted[0].tensors, counted[1].tensors, strict=True):
        ours += theirs
    found, wanted = counted[0].read().recorded(), alone.score(network).recorded()
    assert found["class_positives"] == wanted["class_positives"]
    assert found["loss"] == pytest.approx(wanted["loss"], rel=1e-5)


@pytest.mark.parametrize("protocol", ["1-crop", "10-crop", "multi-scale"])
def test_it_is_tested_by_every_protocol(trained: RunDirectory, shapes: MultiLabelDataset, protocol: Any) -> None:
    """One crop gives what was recorded; more views are averages of sigmoids."""
    found = evaluate_subject(choose_inputs(load_run(trained), shapes), protocol=protocol)
    assert list(found["class_average_precision_percent"]) == list(CLASSES)
    if protocol == "1-crop":
        assert found["map_percent"] == pytest.approx(trained.result()["map_percent"])
        assert found["loss"] == pytest.approx(trained.result()["loss"], rel=1e-4)
    else:
        assert found["map_percent"] > 60


def test_its_weights_know_what_they_are_for(trained: RunDirectory, shapes: MultiLabelDataset, tmp_path: Path) -> None:
    """Guesses are labels of their own, and data of one class each is refused."""
    network = load_run(trained).network
    assert (network.task, network.class_names) == (MultiLabel(), CLASSES)
    paths = [shapes.test.path(index) for index in range(8)]
    for prediction, truth in zip(Predictor(network).predict(paths), shapes.test.targets, strict=False):
        assert set(prediction.labels or ()) == {name for name, has in zip(CLASSES, truth, strict=True) if has}
        assert len(prediction.guesses) == 3
    folder = open_data(str(make_photos(tmp_path / "photos", classes=3)))
    with pytest.raises(UserError, match="was trained for multi-label, but photos is for classification"):
        choose_inputs(load_run(trained), folder)


def test_other_runtimes_give_the_same(trained: RunDirectory, shapes: MultiLabelDataset, tmp_path: Path) -> None:
    """An ONNX file with the network's logits, which says that they are of several labels; eight bits find them too."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    deployed = deploy(load_run(trained), {})
    what, pictures = choose_pictures(deployed, data=find_own_data(load_run(trained)))
    assert what == "test images of shapes"
    assert write_file(deployed, tmp_path / "m.onnx", "onnx", pictures).agrees
    about = {entry.key: entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(about["reslab"])["task"] == "multi-label"
    small = tmp_path / "m-int8.onnx"
    data = choose_int8_data(deployed, shapes)
    before, after = export_int8(
        deployed, tmp_path / "m.onnx", small, data, calibration=choose_calibration(data).pictures
    )
    assert before.scores == pytest.approx({name: trained.result()[name] for name in before.scores})
    assert list(before.scores) == ["map_percent", "error_percent"]
    assert after.scores["map_percent"] > 95
    assert after.size_bytes < before.size_bytes
    paths = [shapes.test.path(index) for index in range(8)]
    wanted = Predictor(load_run(trained).network).predict(paths)
    for file, tolerance in ((tmp_path / "m.onnx", 1e-4), (small, 0.2)):
        for ours, theirs in zip(OnnxPredictor(file).predict(paths), wanted, strict=True):
            assert set(ours.labels or ()) == set(theirs.labels or ())
            assert {one.name: one.probability for one in ours.guesses} == pytest.approx(
                {one.name: one.probability for one in theirs.guesses}, abs=tolerance
            )
    with pytest.raises(UserError, match="was trained for multi-label, but photos is for classification"):
        choose_int8_data(deployed, open_data(str(make_photos(tmp_path / "photos", classes=3))))


def test_the_report_shows_it(trained: RunDirectory, tmp_path: Path) -> None:
    """Read whole, with a table of labels and the mAP on its page."""
    (record,), damages = read_records(trained.path.parent)
    assert not damages
    assert record.result is not None
    assert record.result.values["map_percent"] == trained.result()["map_percent"]
    report_runs(trained.path.parent, out=tmp_path / "site")
    (page,) = (tmp_path / "site" / "runs").glob("*.html")
    text = page.read_text()
    assert "Average precision of each label" in text
    assert "<dt>test mAP</dt>" in text
    gallery, _ = read_gallery(record)
    assert gallery is not None
    assert {one.name for one in gallery.classes} == set(CLASSES)
    assert text.count("data:image/jpeg;base64,") == sum(len(one.hits) for one in gallery.classes) >= 6


def test_what_does_not_fit_is_told(shapes: MultiLabelDataset, tmp_path: Path) -> None:
    """Balanced sampling needs one class an image; a trial for one kind of data is not for the other."""
    with pytest.raises(UserError, match=r"sampling=balanced needs .* one class each, .* use recipe\.class_weights"):
        run_trial(make_photo_trial(shapes, recipe__sampling="balanced"), shapes, tmp_path)
    folder = open_data(str(make_photos(tmp_path / "photos", classes=3)))
    with pytest.raises(UserError, match="the task is multi-label, but photos is for classification"):
        run_trial(make_photo_trial(shapes), folder, tmp_path)
