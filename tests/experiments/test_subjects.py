"""What is pointed at, and what is asked of it, from Python as on the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.conftest import make_network
from tests.trials import DIGITS, make_digits_trial

from reslab.data.reading import BadImage
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.experiments.subjects import load_trained, note_bad, read_fields, refuse_overwriting
from reslab.networks import save_model
from reslab.runs.directory import RunDirectory


def test_arguments_are_no_fields() -> None:
    """Each is given in one way; unknown fields are refused with those there are."""
    found = read_fields("evaluate", {"protocol": "10-crop"}, ("protocol",), {"data": Path("photos"), "weights": None})
    assert found == {"data": "photos", "protocol": "10-crop"}
    with pytest.raises(UserError, match="'data' is an argument of evaluate, not a field; write evaluate"):
        read_fields("evaluate", {"data": "photos"}, (), {"data": None})
    with pytest.raises(UserError, match=r"evaluate has no field 'seed'; choose data, protocol or preprocess.FIELD"):
        read_fields("evaluate", {"seed": 1}, ("protocol",), {"data": None})


def test_a_subject_is_a_file_a_name_or_a_run(tmp_path: Path) -> None:
    """A path or text; an ONNX file is for predictions alone; what is none of these says so."""
    path = save_model(make_network(), tmp_path / "mine.safetensors")
    for subject in (path, str(path)):
        assert load_trained(subject, {}).origin == str(path)
    with pytest.raises(UserError, match="is already a weight file; leave out weights=other"):
        load_trained(path, {"weights": "other"})
    with pytest.raises(UserError, match=r"x.onnx is an ONNX file, which only `reslab predict` takes"):
        load_trained("x.onnx", {})
    with pytest.raises(UserError, match=r"'nothing' is not a weight file, a run in .* or a network"):
        load_trained("nothing", {}, tmp_path)


def test_a_run_is_pointed_at_with_a_step(tmp_path: Path) -> None:
    """By the start of its id; of several runs the one that has the snapshot is meant."""
    runs = [
        run_trial(replace(make_digits_trial(iterations=2, batch=8, evaluate_every=2), seed=seed), DIGITS, tmp_path)
        for seed in (0, 1)
    ]
    save_model(load_trained(runs[1], {}).network, runs[1].snapshot(1), provenance={"trial": runs[1].path.name})
    assert load_trained("cifar-resnet-8@1", {}, tmp_path).origin == f"{runs[1].path.name}@1"
    assert load_trained(f"{runs[1].path}@1", {}, tmp_path).step == 1
    with pytest.raises(UserError, match=f"{runs[1].path.name} has no snapshot of step 2; it has those of steps 1"):
        load_trained(f"{runs[1].path.name}@2", {}, tmp_path)


def test_a_step_is_that_of_a_run(tmp_path: Path) -> None:
    """A network's name has none, with weights or without; the sentence says what to do instead."""
    with pytest.raises(UserError, match=r"'resnet-20@640' is a step of a run, .* weights=cifar10 .*; leave out @640"):
        load_trained("resnet-20@640", {"weights": "cifar10"}, tmp_path)
    with pytest.raises(UserError, match="only runs have steps; give a run id with @640, or leave out @640 and pass"):
        load_trained("resnet-20@640", {}, tmp_path)


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    """By whatever the subject is given: its file, the file's name with a network's, a run."""
    run = RunDirectory(tmp_path / "run 1")
    run.path.mkdir()
    save_model(make_network(), run.weights)
    for subject, fields, known in (
        (run.weights, {}, None),
        ("resnet-20", {"weights": run.weights}, None),
        (run, {}, run),
    ):
        with pytest.raises(UserError, match="is the input file"):
            refuse_overwriting(run.weights, subject, fields, known)
        refuse_overwriting(tmp_path / "other.onnx", subject, fields, known)


def test_bad_images_are_told_once_at_the_end() -> None:
    """Where they are to be skipped; else nobody takes note, and they stop the work."""
    told: list[str] = []
    with note_bad({"data.on_bad_image": "skip"}, told.append) as noted:
        assert noted is not None
        for _ in range(2):
            noted(BadImage("a.jpg is bad"))
        assert not told
    assert told == ["skipped: a.jpg is bad"]
    with note_bad({}, told.append) as noted:
        assert noted is None
