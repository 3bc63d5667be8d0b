"""Detectors in a test: whole images, at one scale or several, alone or together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from tests.finders import KNOWN, make_finder
from tests.networks.detection.scenes import make_detector
from tests.objects import make_scenes, write_voc
from torch import Tensor

from reslab.data.objects.dataset import ObjectsDataset, read_objects
from reslab.data.objects.feed import make_feed
from reslab.errors import UserError
from reslab.experiments.evaluate import evaluate_ensemble, evaluate_subject
from reslab.experiments.trained import Trained, choose_inputs
from reslab.networks.detection.detector import Detector
from reslab.runtime.listener import DEAF
from reslab.runtime.processes import ALONE
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial
from reslab.tasks.detection.meter import DetectionMeter
from reslab.tasks.detection.task import TASK
from reslab.tasks.detection.testing import PROTOCOLS, TOGETHER, DetectionBench
from reslab.tasks.subject import Subject


@pytest.fixture
def dataset(tmp_path: Path) -> ObjectsDataset:
    """Images of two sizes."""
    scenes = [make_scenes(name, 6, seed=seed, sizes=((60, 45), (45, 60))) for seed, name in enumerate(("t", "v"))]
    return read_objects(write_voc(tmp_path / "voc", train=scenes[0], val=scenes[1]))


def make_subject(dataset: ObjectsDataset, *, seed: int = 0) -> Subject:
    """A detector that finds something."""
    return choose_inputs(Trained(origin=f"detector {seed}", network=make_finder(seed=seed)), dataset)


def test_it_sees_what_the_training_tests_on(dataset: ObjectsDataset) -> None:
    """The same images, resized and padded alike, so the same scores."""
    subject = make_subject(dataset)
    detector = subject.network
    assert isinstance(detector, Detector)
    trial = Trial(
        data=DataSpec(name=dataset.name, fingerprint=dataset.fingerprint),
        network=detector.spec,
        recipe=find_recipe("objects"),
        task=detector.task,
        preprocess=KNOWN,
    )
    feed = make_feed(dataset, trial, device="cpu", processes=ALONE, folder=None, listener=DEAF)
    meter = DetectionMeter(classes=3)
    with torch.no_grad():
        for images, targets, _ in feed.tests():
            meter.add(TASK.answer(detector, images, targets), targets)
    found = evaluate_subject(subject)
    assert found["protocol"] == "1-scale"
    assert found["images"] == len(dataset.test)
    for name, value in meter.read().logged().items():
        assert found[name] == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_boxes_are_in_pixels_as_stored(protocol: str, dataset: ObjectsDataset) -> None:
    """However large images are shown; each protocol finds something inside them."""
    subject = make_subject(dataset)
    bench = DetectionBench([subject], protocol=protocol, precision="fp32")
    image = torch.randint(0, 256, (2, 3, 45, 60), dtype=torch.uint8)
    (alone,), together = bench.judge([image], 0)
    assert torch.equal(alone, together)
    assert alone.shape[0] == 2
    there = alone[alone[..., 5] >= 0]
    assert len(there)
    assert (there[:, :2] >= 0).all()
    assert (there[:, 2] <= 60.01).all() and (there[:, 3] <= 45.01).all()
    assert there[:, 2].max() > 45  # further than the shorter side


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_images_of_one_shape_are_judged_together(
    protocol: str, dataset: ObjectsDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU; each has what it has alone, in the order in which they came."""
    subject = make_subject(dataset)
    bench = DetectionBench([subject], protocol=protocol, precision="fp32")
    sizes = [(45, 60), (60, 45), (45, 60), (44, 60), (60, 45), (45, 60)]
    images = [torch.randint(0, 256, (1, 3, *size), dtype=torch.uint8) for size in sizes]
    (alone,), _ = bench.judge(images, 0)
    assert list(bench._group([image[0] for image in images])) == [[0], [2], [3], [5], [1], [4]]
    monkeypatch.setitem(TOGETHER, "cpu", 3)
    assert list(bench._group([image[0] for image in images])) == [[0, 2, 3], [5], [1, 4]]
    (together,), _ = bench.judge(images, 0)
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-3)


def test_what_does_not_fit_is_judged_one_by_one(dataset: ObjectsDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same detections; where one image does not fit, the sentence says what needs less."""
    bench = DetectionBench([make_subject(dataset)], protocol="1-scale", precision="fp32")
    image = torch.randint(0, 256, (3, 3, 45, 60), dtype=torch.uint8)
    (alone,), _ = bench.judge([image], 0)
    monkeypatch.setitem(TOGETHER, "cpu", 3)
    judge, least = bench._judge, 2

    def fail(stored: Sequence[Tensor]) -> list[Tensor]:
        if len(stored) >= least:
            raise torch.OutOfMemoryError
        return judge(stored)

    monkeypatch.setattr(bench, "_judge", fail)
    (single,), _ = bench.judge([image], 0)
    assert torch.equal(single, alone)
    least = 1
    with pytest.raises(UserError, match="more memory than the device has free; test with protocol=1-scale"):
        bench.judge([image], 0)


def test_bfloat16_differs_by_rounding(dataset: ObjectsDataset) -> None:
    """Its scores are near those of float32, and not the same."""
    subject = make_subject(dataset)
    image = torch.randint(0, 256, (2, 3, 45, 60), dtype=torch.uint8)
    exact, rounded = (
        DetectionBench([subject], protocol="1-scale", precision=precision).judge([image], 0)[1][..., 4]
        for precision in ("fp32", "bf16")
    )
    assert not torch.equal(exact, rounded)
    torch.testing.assert_close(rounded[:, :3], exact[:, :3], rtol=0.05, atol=0.02)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_gpu_finds_what_a_cpu_finds(protocol: str, dataset: ObjectsDataset) -> None:
    """The best of it; of what is less certain, rounding decides."""
    sizes = [(45, 60), (60, 45), (45, 60), (45, 60), (60, 45), (45, 60)]
    images = [torch.randint(0, 256, (1, 3, *size), dtype=torch.uint8) for size in sizes]
    found = []
    for device in ("cpu", "cuda"):
        subject = choose_inputs(Trained(origin=device, network=make_finder(seed=0)), dataset, device=device)
        bench = DetectionBench([subject], protocol=protocol, precision="fp32")
        found.append(bench.judge([image.to(device) for image in images], 0)[1].cpu())
    torch.testing.assert_close(found[1][:, :3, 4], found[0][:, :3, 4], rtol=0.02, atol=0.02)


def test_several_are_an_ensemble(dataset: ObjectsDataset) -> None:
    """Scored each and together, if they are shown images alike; of one twice, the ensemble is itself."""
    one, other = make_subject(dataset), make_subject(dataset, seed=1)
    found = evaluate_ensemble([one, other])
    assert [member["subject"] for member in found["members"]] == ["detector 0", "detector 1"]
    twice = DetectionBench([one, one], protocol="1-scale", precision="fp32")
    image = torch.randint(0, 256, (1, 3, 45, 60), dtype=torch.uint8)
    (alone, again), together = twice.judge([image], 0)
    assert torch.equal(alone, again)
    torch.testing.assert_close(together[..., 4], alone[..., 4])
    other.network.task = make_detector(shorter=80, longest=96).task
    with pytest.raises(UserError, match="shown images in different ways, so they are no ensemble"):
        DetectionBench([one, other], protocol="1-scale", precision="fp32")


def test_other_protocols_are_refused(dataset: ObjectsDataset) -> None:
    """Those of classifiers look at crops."""
    with pytest.raises(UserError, match="protocol is '10-crop'; choose 1-scale, refined, several-scales"):
        evaluate_subject(make_subject(dataset), protocol="10-crop")
