"""Gradients of runs, as a whole: trained weights, where training began, and after an interruption."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.test_same_numbers import list_differences
from tests.trials import DIGITS, make_digits_trial
from torch.nn import functional as F

from reslab.analysis.gradients import measure
from reslab.analysis.gradients.measure import INSTRUMENT
from reslab.analysis.gradients.settings import Gradients
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.experiments.starting import initialize
from reslab.experiments.trained import choose_inputs, load_run
from reslab.runs.directory import RunDirectory
from reslab.tasks.subject import Subject

FEW = Gradients(images=64, batch=16, lines=2, points=5, depths=3, precision="fp64", resamples=50)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A short run."""
    trial = replace(make_digits_trial("cifar-plain-8", iterations=4, batch=16), seed=5)
    return run_trial(trial, DIGITS, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def subject(run: RunDirectory) -> Subject:
    """The run."""
    return choose_inputs(load_run(run), DIGITS)


def look(subject: Subject, settings: Gradients = FEW, bench: Workbench | None = None) -> dict[str, Any]:
    """Measure."""
    return INSTRUMENT.measure(subject, settings, bench or Workbench())


def test_norms_are_means_over_batches_by_torch(subject: Subject) -> None:
    """Of the batches that the seed draws from the training images, in the mode of training."""
    found = look(subject)
    assert (found["images"], found["batches"], found["skipped_images"], found["initialized_by"]) == (64, 4, 0, None)
    network = subject.network.double().train()
    norms, whole = [], []
    for images, targets in subject.batches(16, on="train", images=64, drawn=0):
        network.zero_grad()
        F.cross_entropy(network(images.double()), targets).backward()
        gradients = [one.grad for one in network.parameters() if one.grad is not None]
        norms.append(network.get_parameter("stem.conv.weight").grad.norm().item())  # pyright: ignore[reportOptionalMemberAccess]
        whole.append(torch.cat([gradient.flatten() for gradient in gradients]))
    first, last = found["layers"][0], found["whole"]
    assert first["norm"]["value"] == pytest.approx(np.mean(norms))
    assert first["ratio"]["value"] == pytest.approx(
        np.mean(norms) / network.get_parameter("stem.conv.weight").norm().item()
    )
    assert last["norm"]["value"] == pytest.approx(np.mean([one.norm().item() for one in whole]))
    pairs = [torch.cosine_similarity(whole[i], whole[j], 0).item() for i in range(4) for j in range(i)]
    assert last["cosine"]["value"] == pytest.approx(np.mean(pairs))
    assert last["forward"] is last["backward"] is None


def test_the_subject_stays_as_it_was(subject: Subject) -> None:
    """Its weights, their precision and its statistics; and the same settings give the same numbers."""
    before = {name: tensor.clone() for name, tensor in subject.network.state_dict().items()}
    assert look(subject) == look(subject)
    after = subject.network.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert look(subject, replace(FEW, seed=1)) != look(subject)


def test_where_training_began_is_drawn_as_training_draws_it(subject: Subject, run: RunDirectory) -> None:
    """By the trial's seed; a weight file has the seed that is given."""
    began = replace(FEW, at="initialization")
    found = look(subject, began)
    assert found["initialized_by"] == 5
    network = initialize(run.trial()).eval()
    network.mean_image = subject.network.mean_image
    expected = look(replace(subject, network=network))
    for part in ("layers", "depths"):  # memory is laid out as the run has it, so sums may end otherwise
        assert not list_differences(*(json.loads(json.dumps(one[part])) for one in (expected, found)), 1e-9)
    assert found["layers"] != look(subject)["layers"]
    alone = look(replace(subject, trial=None), replace(began, seed=5))
    assert alone["initialized_by"] == 5
    with pytest.raises(UserError, match="has no step; leave out @4 or at="):
        look(replace(subject, step=4), began)
    started = replace(run.trial(), start="0" * 64)
    with pytest.raises(UserError, match="started from trained weights, not from a seed; leave out at="):
        look(replace(subject, trial=started), began)


def test_narrow_precision_is_near(subject: Subject) -> None:
    """bfloat16 within its rounding, float32 much nearer."""
    exact = look(subject)["whole"]["norm"]["value"]
    for precision, tolerance in (("fp32", 1e-4), ("bf16", 0.1)):
        found = look(subject, replace(FEW, precision=precision))["whole"]["norm"]["value"]  # pyright: ignore[reportArgumentType]
        assert found == pytest.approx(exact, rel=tolerance)


def test_fixed_statistics_are_another_measurement(subject: Subject) -> None:
    """As is the path around an image: its neighbours are nearer than those between two."""
    fixed = look(subject, replace(FEW, norms="fixed"))
    assert fixed["layers"] != look(subject)["layers"]
    near = look(subject, replace(FEW, path="around", reach=0.01))
    assert near["length"] < look(subject)["length"]
    assert near["depths"][-1]["neighbours"]["value"] > look(subject)["depths"][-1]["neighbours"]["value"]


def test_a_stopped_measurement_gives_the_same_numbers(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped between two lines; neither batches nor the first line are measured again."""
    whole, compare, calls = look(subject), measure.compare_neighbours, []

    def stopping(*words: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return compare(*words, **options)

    monkeypatch.setattr(measure, "compare_neighbours", stopping)
    bench = Workbench(place=tmp_path / "gradients")
    with pytest.raises(KeyboardInterrupt):
        look(subject, bench=bench)
    monkeypatch.setattr(measure, "run_pass", lambda *_, **__: pytest.fail("a batch is run again"))
    assert look(subject, bench=bench) == whole
    assert len(calls) == 3
    with np.load(tmp_path / "gradients.npz") as stored:
        assert stored["norms"].mean(0)[-1] == pytest.approx(whole["whole"]["norm"]["value"])
        assert stored["line_cosines"].shape == (2, 3, 5)


def test_too_few_images_are_told(subject: Subject) -> None:
    """For a few batches, and for the lines."""
    few = replace(subject, trained_on=subject.trained_on.take(slice(20)))
    with pytest.raises(UserError, match="digits has 20 images, but 4 batches of 16 are needed"):
        look(few, replace(FEW, images=0))
    with pytest.raises(UserError, match="12 lines need 24 images, but digits has fewer; give fewer lines"):
        look(few, replace(FEW, images=0, batch=5, lines=12))


def test_gradients_that_are_not_finite_are_refused(subject: Subject) -> None:
    """With how many batches they are of, and what is not finite."""
    subject.network.get_parameter("stem.norm.weight").data[0] = torch.nan
    with pytest.raises(UserError, match=r"gradients that are not finite for 4 of 4 batches: its stem\.norm\.weight"):
        look(subject)
