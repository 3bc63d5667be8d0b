"""Detectors as ONNX files, by their own detections on images: whoever runs one needs no more than onnxruntime.

A file takes `pixels` (batch, channels, height, width), RGB or grey from 0 to 255: images resized as `resize_first` says
and padded with anything, at the right and at the bottom, to one height and width that 32 divides. `sizes` (batch, 2)
are the width and height of each image without its padding. It gives `detections` (batch, rows, 6): left, top, right,
bottom in those pixels, score, class; best first, and of class -1 where fewer were found. What is done to the pixels is
inside.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.data.objects.fitting import Fitting
from reslab.data.preprocessing import preprocess_images
from reslab.delivery.deployed import draw_pictures, make_onnx, require_onnx
from reslab.delivery.detection_operators import make_translations
from reslab.delivery.detection_parity import DetectionParity, compare_detections, refuse_difference
from reslab.delivery.intake import geometry, take_in, to_channels
from reslab.delivery.pictures import Picture
from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.networks.detection.detector import Detector
from reslab.networks.finite import tell_not_finite
from reslab.spec import Preprocess, name_of
from reslab.spec.boxes import BOTTOM, COLUMNS, DETECTION_COLUMNS, RIGHT
from reslab.spec.codec import encode
from reslab.spec.detection import MULTIPLE
from reslab.spec.task import encode_task
from reslab.tasks.detection.showing import show_whole

SYNTHETIC, ASPECT = 8, 4 / 3
ROWS, COLUMNS_OF_STEPS = 3, 4  # of the images that are traced, in steps of 32 pixels

DetectionRunner: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # pixels and sizes to detections


class DeployedDetector(nn.Module):
    """A detector behind the arithmetic of its preprocessing: padded pixels from 0 to 255 in, detections out."""

    checked = 8  # pictures

    def __init__(self, detector: Detector, preprocess: Preprocess) -> None:
        super().__init__()
        self.network = detector.eval()
        self.preprocess = replace(preprocess, resize=None, crop=None)
        self.fitting = Fitting(detector.plan.shorter, detector.plan.longest)
        self.channels = detector.spec.input_shape[0]
        self.prepare(torch.zeros(1, self.channels, 1, 1))  # which refuses what does not fit

    def forward(self, pixels: Tensor, sizes: Tensor) -> Tensor:
        across = torch.arange(pixels.shape[3], device=pixels.device)
        down = torch.arange(pixels.shape[2], device=pixels.device)[:, None]
        width, height = sizes[:, :, None, None, None].unbind(1)
        prepared = torch.where((across < width) & (down < height), self.prepare(pixels), 0)
        frames = F.pad(sizes, (2, COLUMNS - BOTTOM - 1))
        return self.network(prepared, frames[:, None])

    def prepare(self, pixels: Tensor) -> Tensor:
        """Return pixels as the detector takes them."""
        return preprocess_images(pixels, self.preprocess, brightest=255)

    def frame(self, picture: Picture) -> tuple[Tensor, Tensor]:
        """Return the pixels and the size of a picture, as the file takes them."""
        pixels, targets = self._show(picture, geometry(self.preprocess))
        return pixels, targets[:, 0, [RIGHT, BOTTOM]]

    def detect(self, picture: Picture) -> Tensor:
        """Return what the network itself finds in a picture, shown to it as in a test."""
        detections = self.network(*self._show(picture, self.preprocess))
        if not detections.isfinite().all():
            raise tell_not_finite(self.network, f"for {picture.name}", what="detections")
        return detections

    def _show(self, picture: Picture, preprocess: Preprocess) -> tuple[Tensor, Tensor]:
        image = to_channels(picture.pixels, self.channels)[None]
        return show_whole(image, self.fitting, preprocess, brightest=picture.brightest)

    def make_pictures(self) -> list[Picture]:
        """Return pictures to check a file on where there are none."""
        height, width = self.fitting.shorter, min(round(self.fitting.shorter * ASPECT), self.fitting.longest)
        return draw_pictures((self.channels, height, width), SYNTHETIC)

    def describe(self) -> dict[str, Any]:
        """Return what a reader of the file must know, as plain data."""
        names = self.network.class_names
        return {
            "network": name_of(self.network.spec),
            "input": {
                "pixels": ["batch", self.channels, "height", "width"],
                "sizes": ["batch", 2],
                "range": "0-255",
                "channels": "RGB" if self.channels == 3 else "grey",
                "multiple": MULTIPLE,
            },
            "resize_first": {
                "shorter": self.fitting.shorter,
                "longest": self.fitting.longest,
                "interpolation": "bilinear",
            },
            "canvases": self.fitting.shapes,
            "inside": encode(self.preprocess),
            "outputs": {
                "detections": ["batch", self.network.plan.detections, DETECTION_COLUMNS],
                "columns": ["left", "top", "right", "bottom", "score", "class"],
            },
            "class_names": names,
            **({"class_words": self.network.class_words} if self.network.class_words else {}),
            "task": encode_task(self.network.task, sparse=False),
        }

    def trace(self) -> torch.export.ExportedProgram:
        """Return the computation as torch.export sees it, for any number of images of any size that 32 divides."""
        height, width = (MULTIPLE * torch.export.Dim(name, min=2) for name in ("rows", "columns"))
        batch = torch.export.Dim("batch")
        shape = (2, self.channels, MULTIPLE * ROWS, MULTIPLE * COLUMNS_OF_STEPS)
        given = (torch.zeros(shape), torch.tensor(shape[:1:-1]).float().expand(2, -1).contiguous())
        with torch.no_grad():
            return torch.export.export(self, given, dynamic_shapes=({0: batch, 2: height, 3: width}, {0: batch}))


def write_detector(deployed: DeployedDetector, path: Path, pictures: Iterable[Picture]) -> DetectionParity:
    """Write an ONNX file that finds what the network finds in `pictures`."""
    require_onnx()
    data = make_onnx(
        deployed.trace(),
        inputs={"pixels": ("batch", "channels", "height", "width"), "sizes": ("batch", "2")},
        output="detections",
        description=deployed.describe(),
        translations=make_translations(),
    )
    parity = check_detections(deployed, run_detector(data), pictures)
    refuse_difference(path, parity)
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)
    return parity


def check_detections(deployed: DeployedDetector, run: DetectionRunner, pictures: Iterable[Picture]) -> DetectionParity:
    """Compare what `run` finds in pictures with what the network finds, one by one."""
    pairs: list[tuple[Tensor, Tensor]] = []
    with torch.no_grad():
        for picture, (pixels, sizes) in take_in(pictures, deployed.frame):
            pairs.append((deployed.detect(picture)[0], run(pixels.contiguous(), sizes)[0]))
    if not pairs:
        raise UserError(
            "none of the images to check the file with can be read; give other images, or none to use synthetic ones"
        )
    return compare_detections(pairs)


def run_detector(model: bytes | str) -> DetectionRunner:
    """Return an ONNX file, by its content or its path, as a function of pixels and sizes."""
    session = require_onnx()[1].InferenceSession(model, providers=["CPUExecutionProvider"])

    def run(pixels: Tensor, sizes: Tensor) -> Tensor:
        return torch.from_numpy(session.run(None, {"pixels": pixels.numpy(), "sizes": sizes.numpy()})[0])

    return run
