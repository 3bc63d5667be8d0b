"""An exported ONNX file guesses as the network does, by what the file itself says."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.delivery.deployed import KEY, TOLERANCE, Deployed, Parity, require_onnx
from reslab.delivery.onnx_predictor import OnnxPredictor
from reslab.delivery.pictures import find_images
from reslab.delivery.predictor import Predictor
from reslab.errors import UserError


def test_it_guesses_as_the_network_does(exported: tuple[Deployed, Path, Parity], photos: Path) -> None:
    """The same classes in the same order, probabilities within what the export promises; it says how it prepares."""
    deployed, path, _ = exported
    ours, theirs = OnnxPredictor(path), Predictor(deployed.network, preprocess=deployed.intake.preprocess, device="cpu")
    images = find_images([photos / "val"])
    for one, other in zip(ours.predict(images), theirs.predict(images), strict=True):
        assert one.image == other.image
        assert [guess.name for guess in one.guesses] == [guess.name for guess in other.guesses]
        assert [guess.probability for guess in one.guesses] == pytest.approx(
            [guess.probability for guess in other.guesses], abs=10 * TOLERANCE
        )
    assert ours.preparation == theirs.preparation == deployed.intake.preprocess
    assert (ours.class_names, ours.network_name) == (("ants", "bees"), theirs.network_name)


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({}, "does not say how its images are prepared and what its classes are"),
        ({KEY: "7"}, "does not say how its images are prepared and what its classes are"),
        ({KEY: '{"network": "resnet"}'}, "does not say what it holds"),
    ],
)
def test_a_foreign_file_is_refused(
    metadata: dict[str, str], sentence: str, exported: tuple[Deployed, Path, Parity], tmp_path: Path
) -> None:
    """Whatever is in it: how its images are prepared would be a guess."""
    onnx, _ = require_onnx()
    model = onnx.load(exported[1])
    onnx.helper.set_model_props(model, metadata)
    onnx.save(model, tmp_path / "foreign.onnx")
    with pytest.raises(UserError, match=f"foreign.onnx {sentence}"):
        OnnxPredictor(tmp_path / "foreign.onnx")


def test_what_onnxruntime_cannot_open_is_told(exported: tuple[Deployed, Path, Parity], tmp_path: Path) -> None:
    """In a sentence, as where a newer release wrote the file."""
    onnx, _ = require_onnx()
    model = onnx.load(exported[1])
    model.graph.node[0].op_type = "Unheard"
    onnx.save(model, tmp_path / "new.onnx")
    with pytest.raises(UserError, match=r"onnxruntime cannot open .*new.onnx \(.*\); export it again"):
        OnnxPredictor(tmp_path / "new.onnx")


def test_what_is_no_onnx_file_is_refused(tmp_path: Path) -> None:
    """Nothing there, or something else."""
    (tmp_path / "x.onnx").write_bytes(b"not at all")
    with pytest.raises(UserError, match=r"x.onnx is damaged or not an ONNX file"):
        OnnxPredictor(tmp_path / "x.onnx")
    with pytest.raises(UserError, match=r"there is no file .*y.onnx"):
        OnnxPredictor(tmp_path / "y.onnx")
