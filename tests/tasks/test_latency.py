"""How long one image takes, by a clock of our own."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from tests.finders import make_finder
from tests.objects import make_scenes, write_voc

from reslab.data.photos.reader import read_photos
from reslab.experiments.trained import Trained, choose_inputs
from reslab.networks.detection.detector import Detector
from reslab.networks.layers import FrozenBatchNorm
from reslab.runtime.listener import Listener
from reslab.tasks import latency
from reslab.tasks.latency import COUNTED, PASSES, measure_latency
from reslab.tasks.subject import Subject


def subject_of(norm: str, folder: Path) -> Subject:
    """A detector of toys with three test images of two sizes."""
    scenes = make_scenes("b", 3, sizes=((60, 45), (45, 80)))
    toys = write_voc(folder / "toys", train=make_scenes("a", 2), val=scenes)
    return choose_inputs(Trained(origin="finder", network=make_finder(norm=norm)), read_photos(toys))


@pytest.mark.parametrize("norm", ["frozen", "trained"])
def test_one_image_at_a_time_is_judged_as_in_a_test(norm: str, tmp_path: Path) -> None:
    """Images come again where they are few; batch norm normalizes by its statistics, frozen or not, and keeps them."""
    subject, seen, steps = subject_of(norm, tmp_path), [], []
    network = subject.network
    assert isinstance(network, Detector)
    network.body.stem.register_forward_pre_hook(lambda module, given: seen.append((module.training, len(given[0]))))
    assert any(isinstance(module, FrozenBatchNorm) for module in network.modules()) == (norm == "frozen")
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    found = measure_latency(subject, listener=Listener(progress=lambda step, _: steps.append(step)))
    assert seen == [(False, 1)] * PASSES
    assert steps == [*range(1, PASSES + 1)]
    assert (found["data"], found["images"], found["passes"], found["batch"]) == ("toys", 3, COUNTED, 1)
    assert (found["smallest_stored"], found["largest_stored"], found["shorter_sides"]) == ("60x45", "45x80", [64])
    assert found["threads"] == torch.get_num_threads() and found["device"]
    assert 0 < found["quartiles_milliseconds"][0] <= found["milliseconds"] <= found["quartiles_milliseconds"][1]
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_the_median_counts_without_the_warm_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In milliseconds, with the quartiles."""
    seconds = itertools.chain([9.0] * COUNTED, (number / 1000 for number in range(1, COUNTED + 1)))
    monkeypatch.setattr(latency, "time_once", lambda run, device: next(seconds))
    found = measure_latency(subject_of("frozen", tmp_path))
    assert found["milliseconds"] == pytest.approx(10.5)
    assert found["quartiles_milliseconds"] == pytest.approx([5.25, 15.75])
