"""A detector's ONNX file finds what the detector finds, in images of any size and number, or is not written."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from PIL import Image
from tests.networks.detection.scenes import C4, THIN, draw_scenes
from torch import Tensor, nn

from reslab.delivery import deployed_detector
from reslab.delivery.deployed import draw_pictures
from reslab.delivery.deployed_detector import (
    DeployedDetector,
    check_detections,
    run_detector,
    write_detector,
)
from reslab.delivery.detection_parity import DetectionParity, compare_detections
from reslab.delivery.onnx_predictor import OnnxPredictor
from reslab.errors import UserError
from reslab.networks.detection.detector import Detector
from reslab.spec import Preprocess, find
from reslab.spec.boxes import ABSENT, FOUND
from reslab.spec.detection import Detection

PREPROCESS = Preprocess(mean=(100.0, 110, 120), std=(60.0, 61, 62), channel_order="BGR", pixel_range="0-255")
SHALLOW = {f"stages.{stage}.blocks": 1 for stage in range(4)}
SIZES = {"shorter": 96, "longest": 160, "detections": 30}
FPN = {
    "head": "fpn",
    "pooling": "align",
    "anchor_sides": (8.0, 16.0, 24.0, 32.0, 48.0),
    "pooled_side": 2,
    "certainty": 0.1,
}
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "export.md"


@dataclass(frozen=True)
class Written:
    """A detector and its file."""

    deployed: DeployedDetector
    path: Path
    parity: DetectionParity


def deploy(*, ties: bool = False, certainty: float = 1.0, **fields: Any) -> DeployedDetector:
    """A thin detector whose scores differ, and whose boxes move and overlap; with `ties` all anchors are equal."""
    torch.manual_seed(0)
    detector = Detector(find("resnet-18", {**THIN, **SHALLOW, "classes": 2}), Detection(**{**C4, **SIZES, **fields}))
    nn.init.normal_(detector.outputs.scores.weight, std=0.5 * certainty)
    nn.init.normal_(detector.outputs.boxes.weight, std=0.3 * certainty)
    nn.init.normal_(detector.proposer.head.boxes.weight, std=0.05 * certainty)
    if ties:
        nn.init.zeros_(detector.proposer.head.objectness.weight)
    detector.class_names = ("bar", "disc")
    return DeployedDetector(detector.requires_grad_(requires_grad=False), PREPROCESS)


@pytest.fixture(scope="module", params=["c4", "fpn"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """The last map but one with ties among all anchors, and a pyramid."""
    torch.set_num_threads(1)
    deployed = deploy(ties=True) if request.param == "c4" else deploy(**FPN)
    path = tmp_path_factory.mktemp("detector") / "it.onnx"
    yield Written(deployed, path, write_detector(deployed, path, deployed.make_pictures()))


def test_it_agrees_on_photographs(written: Written) -> None:
    """On those that there always are, and on others of several aspects; there is much to find."""
    assert written.parity.agrees and written.parity.images == 8
    assert written.parity.detections > 8 * 2 * 15 and written.parity.alike == written.parity.detections
    shapes = ((3, 200, 90), (3, 96, 128), (3, 50, 60), (3, 40, 400))
    pictures = [picture for shape in shapes for picture in draw_pictures(shape, 2)]
    parity = check_detections(written.deployed, run_detector(str(written.path)), pictures)
    assert parity.images == 8 and parity.alike == parity.detections > 100
    assert parity.box_difference < 1e-3 and parity.score_difference < 1e-5


@pytest.mark.parametrize(("count", "height", "width"), [(1, 64, 64), (3, 96, 160), (2, 224, 128)])
def test_any_canvas_and_number_will_do(written: Written, count: int, height: int, width: int) -> None:
    """What is in the padding does not matter."""
    run = run_detector(str(written.path))
    scenes = draw_scenes(count, side=max(height, width), objects=6, seed=height)[0]
    pixels = (scenes[:, :, :height, :width] * 60 + 128).clamp(0, 255).contiguous()
    sizes = torch.tensor([[width - 7.0 * number, height - 5.0 * number] for number in range(count)])
    found = run(pixels, sizes)
    assert compare_detections(zip(written.deployed(pixels, sizes), found, strict=True)).agrees
    for number, (across, down) in enumerate(sizes.int().tolist()):
        pixels[number, :, down:], pixels[number, :, :, across:] = 255, 17
        assert (found[number, :, 2] <= across).all() and (found[number, :, 3] <= down).all()
    assert torch.equal(run(pixels, sizes), found)


def test_few_detections_leave_rows_absent(written: Written) -> None:
    """As the network's are."""
    pixels, sizes = torch.full((1, 3, 64, 64), 128.0), torch.tensor([[5.0, 5.0]])
    found = run_detector(str(written.path))(pixels, sizes)[0]
    absent = found[:, FOUND] == ABSENT
    assert found.shape == (30, 6) and absent.any() and not found[absent][:, :5].any()
    assert torch.equal(absent, written.deployed(pixels, sizes)[0, :, FOUND] == ABSENT)


def test_the_file_says_what_it_takes(written: Written) -> None:
    """Free dimensions by their names; how images are prepared, classes and the task in the metadata."""
    model = onnx.load(written.path)
    onnx.checker.check_model(model)
    shapes = [
        [dimension.dim_param or dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    ]
    assert shapes == [["batch", 3, "height", "width"], ["batch", 2], ["batch", 30, 6]]
    assert {entry.domain for entry in model.opset_import} == {""}
    (about,) = [json.loads(entry.value) for entry in model.metadata_props if entry.key == "reslab"]
    assert about["class_names"] == ["bar", "disc"] and about["task"]["name"] == "detection"
    assert (about["resize_first"]["shorter"], about["resize_first"]["longest"]) == (96, 160)
    assert about["inside"]["channel_order"] == "BGR" and [96, 160] in about["canvases"]
    with pytest.raises(UserError, match=r"it\.onnx finds objects, and only files of classifiers are read here"):
        OnnxPredictor(written.path)


def test_the_example_of_the_page_runs(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With onnxruntime, NumPy and Pillow it prints what the network finds."""
    example = next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "canvases" in block)
    assert "torch" not in example and "reslab" not in re.findall(r"^import.*|^from.*", example, re.M)
    (picture,) = draw_pictures((3, 96, 128), 1)  # needs no resizing
    (tmp_path / "example.py").write_text(example)
    Image.fromarray(picture.pixels.permute(1, 2, 0).numpy()).save(tmp_path / "photo.png")
    monkeypatch.setattr(sys, "argv", ["example.py", str(written.path), str(tmp_path / "photo.png")])
    runpy.run_path(str(tmp_path / "example.py"))
    wanted = [row for row in written.deployed.detect(picture)[0].tolist() if row[5] != ABSENT]
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(wanted) > 15
    for line, row in zip(printed, wanted, strict=True):
        name, score, *edges = re.sub(r"[\[\],]", " ", line).split()
        assert name == ("bar", "disc")[int(row[5])] and float(score) == pytest.approx(row[4], abs=0.006)
        assert [float(edge) for edge in edges] == pytest.approx(row[:4], abs=0.06)


def test_a_file_that_disagrees_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stood there before stays."""
    deployed = deploy()
    shift = torch.tensor([1.0, 0, 0, 0, 0, 0])

    def run_wrong(model: bytes) -> Any:
        def run(pixels: Tensor, sizes: Tensor) -> Tensor:
            return deployed(pixels, sizes) + shift

        return run

    monkeypatch.setattr(DeployedDetector, "trace", lambda self: None)
    monkeypatch.setattr(deployed_detector, "make_onnx", lambda *given, **options: b"")
    monkeypatch.setattr(deployed_detector, "run_detector", run_wrong)
    path = tmp_path / "it.onnx"
    path.write_text("before")
    with pytest.raises(UserError, match=r"was not written: (\d+) of \1 detections"):
        write_detector(deployed, path, deployed.make_pictures()[:2])
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"]


def test_what_does_not_fit_is_refused() -> None:
    """A mean image, weights that give no numbers, and images of which none can be read."""
    deployed = deploy()
    with pytest.raises(UserError, match="these weights have no mean image"):
        DeployedDetector(deployed.network, Preprocess(per_pixel_mean=True))
    with pytest.raises(UserError, match="none of the images to check the file with can be read"):
        check_detections(deployed, deployed, [])
    nn.init.constant_(deployed.network.outputs.boxes.bias, torch.nan)
    with pytest.raises(UserError, match=r"gives detections that are not finite for .*outputs\.boxes\.bias is not fin"):
        check_detections(deployed, deployed, deployed.make_pictures()[:1])
