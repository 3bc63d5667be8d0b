"""Landscapes of a short run on the digits: beside its own test, resumed, along its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.trials import DIGITS, make_digits_trial

from reslab.analysis.catalogue import find_printed, list_panels
from reslab.analysis.landscape.measure import INSTRUMENT
from reslab.analysis.landscape.settings import Landscape
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.experiments.analyze import analyze, analyze_run
from reslab.experiments.run import run_trial
from reslab.experiments.trained import choose_inputs, load_run
from reslab.networks import load_model
from reslab.networks.create import save_model
from reslab.runs.directory import RunDirectory
from reslab.tasks.subject import Subject

SMALL = Landscape(points=3, images=64, batch=24, precision="fp64", span=0.5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A short run with snapshots along its way."""
    trial = make_digits_trial("cifar-resnet-8", iterations=8, batch=16, precision="fp32")
    return run_trial(trial, DIGITS, tmp_path_factory.mktemp("runs"), snapshots=frozenset({2, 4, 6, 8}))


@pytest.fixture
def subject(run: RunDirectory) -> Subject:
    return choose_inputs(load_run(run), DIGITS)


def measure(subject: Subject, settings: Landscape, place: Path | None = None) -> dict[str, Any]:
    return INSTRUMENT.measure(subject, settings, Workbench(place=place))


def stored(place: Path) -> Mapping[str, np.ndarray]:
    with np.load(place.with_name(f"{place.name}.npz")) as arrays:
        return dict(arrays)


def test_the_centre_is_the_evaluated_run(run: RunDirectory, subject: Subject, tmp_path: Path) -> None:
    """Of all test images: the run's own error, exactly, and its loss; the middle of the surface is the same."""
    found = measure(subject, Landscape(points=3, batch=200), tmp_path / "landscape")
    assert 100 * found["centre"]["wrong"] == pytest.approx(run.result()["test_error_percent"], abs=1e-9)
    assert found["images"] == 355
    network = load_model(run.weights).eval()
    assert network.mean_image is not None
    with torch.no_grad():
        logits = network(torch.from_numpy(DIGITS.test.images) / 16 - network.mean_image)
    targets = torch.from_numpy(DIGITS.test.targets).long()
    loss = float(torch.nn.functional.cross_entropy(logits.double(), targets))
    assert found["centre"]["loss"] == pytest.approx(loss, rel=1e-6)
    arrays = stored(tmp_path / "landscape")
    assert arrays["loss"][1, 1] == pytest.approx(loss, rel=1e-6)
    assert arrays["wrong"][1, 1] == found["centre"]["wrong"]
    assert arrays["axis_1"].tolist() == arrays["axis_2"].tolist() == [-1, 0, 1]


def test_an_interrupted_surface_resumes_bit_for_bit(run: RunDirectory, subject: Subject, tmp_path: Path) -> None:
    """After any row; what is stored is the same to the bit, and so is what is told."""
    settings = replace(SMALL, precision="fp32", at_once=2)
    whole = analyze(subject, "landscape", settings, out=tmp_path / "whole")

    class Stopping(Workbench):
        def keep(self, part: str, arrays: Any) -> None:
            super().keep(part, arrays)
            if len(arrays["loss"]) == 6:
                raise KeyboardInterrupt

    place = tmp_path / "parts" / "landscape"
    with pytest.raises(KeyboardInterrupt):
        INSTRUMENT.measure(subject, settings, Stopping(place=place))
    resumed = measure(subject, settings, place)
    assert {name: whole[name] for name in resumed} == resumed
    (kept,) = (tmp_path / "whole").glob("*/analysis/*.npz")
    assert {n: a.tobytes() for n, a in np.load(kept).items()} == {n: a.tobytes() for n, a in stored(place).items()}


def test_parts_along_other_directions_do_not_count(subject: Subject, tmp_path: Path) -> None:
    """A snapshot more, and the components of the path are others."""
    along = replace(SMALL, directions="pca", span=1.0)
    fewer = replace(subject, snapshots={step: path for step, path in subject.snapshots.items() if step != 6})
    measure(fewer, along, tmp_path / "landscape")
    assert Workbench(place=tmp_path / "landscape").resume("rows")
    assert measure(subject, along, tmp_path / "landscape") == measure(subject, along)


def test_a_line_is_the_middle_of_a_surface(subject: Subject, tmp_path: Path) -> None:
    """Along its first direction."""
    measure(subject, SMALL, tmp_path / "surface")
    found = measure(subject, replace(SMALL, dimensions=1), tmp_path / "line")
    surface, line = stored(tmp_path / "surface"), stored(tmp_path / "line")
    assert line["loss"] == pytest.approx(surface["loss"][:, 1], rel=1e-12)
    assert set(found["sharpness"]) == {"+1", "-1"}


def test_directions_are_the_same_for_all_checkpoints(run: RunDirectory, subject: Subject) -> None:
    """Of a seed and an architecture; lengths are each checkpoint's own, or those of a given file."""
    early = choose_inputs(load_run(run, step=2), DIGITS)
    last, first = (measure(each, SMALL)["directions"] for each in (subject, early))
    assert last["raw_digests"] == first["raw_digests"]
    assert last["digests"] != first["digests"]
    assert last["norms"] == pytest.approx([last["norm_of_weights"]] * 2, rel=1e-6)
    as_last = measure(early, replace(SMALL, scaled_by=str(run.weights)))["directions"]
    assert as_last["digests"] == last["digests"]
    assert abs(last["cosine"]) < 0.1
    assert measure(subject, replace(SMALL, seed=1))["directions"]["raw_digests"] != last["raw_digests"]


def test_a_path_is_measured_where_it_is_and_where_it_is_projected(
    run: RunDirectory, subject: Subject, tmp_path: Path
) -> None:
    """True losses are those of the snapshots; in as many directions as weights differ in, the projections are too."""
    settings = replace(SMALL, directions="pca", moves="all", span=1.0)
    found = measure(subject, settings, tmp_path / "landscape")
    path = found["path"]
    assert path["steps"] == [2, 4, 6, 8]
    assert path["coordinates"][-1] == [0, 0]
    assert path["projected_loss"][-1] == pytest.approx(found["centre"]["loss"], rel=1e-12)
    for number, step in enumerate(path["steps"][:-1]):
        snapshot = measure(choose_inputs(load_run(run, step=step), DIGITS), SMALL)
        assert path["loss"][number] == pytest.approx(snapshot["centre"]["loss"], rel=1e-9)
        assert path["wrong"][number] == pytest.approx(snapshot["centre"]["wrong"])
    assert path["loss"][-1] == pytest.approx(found["centre"]["loss"], rel=1e-12)
    assert path["projected_loss"][0] != pytest.approx(path["loss"][0], rel=1e-6)
    one, other = found["directions"]["explained"]
    assert 0 < other <= one <= one + other <= 1 + 1e-12
    assert found["directions"]["norms"] == pytest.approx([1, 1], rel=1e-9)
    arrays = stored(tmp_path / "landscape")
    assert arrays["axis_1"][0] < 0 < arrays["axis_1"][-1]
    assert arrays["path_coordinates"].tolist() == path["coordinates"]


def test_the_best_weights_do_not_end_a_path(run: RunDirectory, subject: Subject) -> None:
    """They lie at the origin, beside which the run went on to its last snapshot."""
    assert subject.trial is not None
    best = replace(subject, trial=replace(subject.trial, recipe=replace(subject.trial.recipe, keep_best="true")))
    early = choose_inputs(load_run(run, step=4), DIGITS).network
    path = measure(replace(best, network=early), replace(SMALL, directions="pca"))["path"]
    assert path["steps"] == [2, 4, 6, 8]
    assert path["coordinates"][1] == pytest.approx([0, 0], abs=1e-6)
    assert np.abs(path["coordinates"][3]).max() > 1e-3


def test_statistics_anew_are_those_of_training_images(subject: Subject) -> None:
    """So many, drawn by the seed, in one batch; the centre is what the network gives with them."""
    found = measure(subject, replace(SMALL, norms="anew", norm_images=50))
    images, _ = next(subject.batches(50, on="train", images=50, drawn=0))
    network = subject.network.double()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        network.train()(images.double())
        tested, targets = next(subject.batches(64, images=64))
        logits = network.eval()(tested.double())
    expected = float(subject.losses(logits, targets).mean())
    assert found["centre"]["loss"] == pytest.approx(expected, rel=1e-11)


def test_settings_stand_beside_each_other_in_the_run(run: RunDirectory) -> None:
    """Each with its arrays; all can be printed and shown."""
    along = replace(SMALL, directions="pca")
    for settings in (SMALL, replace(SMALL, dimensions=1), along, replace(along, dimensions=1)):
        found = analyze_run(run, DIGITS, "landscape", settings)
        assert found["settings"]["dimensions"] == settings.dimensions
        assert analyze_run(run, DIGITS, "landscape", settings) == found
        arrays = stored(run.path / "analysis" / f"landscape-{settings.digest}")
        assert len(find_printed("landscape").table(found).rows) > 6
        (section,) = list_panels()["landscape"].read(found).sections(arrays, key="landscape")
        assert len(section.plots) == 1 + settings.dimensions


def test_what_cannot_be_measured_is_refused(run: RunDirectory, subject: Subject, tmp_path: Path) -> None:
    """In a sentence: paths without snapshots or of a snapshot, lengths of another network, weights that overflow."""
    along = replace(SMALL, directions="pca")
    with pytest.raises(UserError, match=r"has no snapshots, so its path is unknown; train with"):
        measure(replace(subject, snapshots={}), along)
    with pytest.raises(UserError, match=rf"a path ends at a run's last weights; write {run.path.name}$"):
        measure(choose_inputs(load_run(run, step=2), DIGITS), along)
    other = load_run(
        run_trial(make_digits_trial("cifar-plain-14", iterations=1, precision="fp32"), DIGITS, tmp_path)
    ).network
    file = save_model(other, tmp_path / "other.safetensors")
    with pytest.raises(UserError, match="has the weights of another network than"):
        measure(subject, replace(SMALL, scaled_by=str(file)))
    subject.network.get_parameter("classifier.weight").data.fill_(torch.nan)
    with pytest.raises(UserError, match=r"losses that are not finite .* classifier\.weight is not finite"):
        measure(subject, SMALL)
