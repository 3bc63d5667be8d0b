"""ONNX files in eight bits: activations from 0 to 255, weights signed, scaled per channel, ranges seen on real images.

The static quantization of onnxruntime, in its QDQ form; what it costs in accuracy is measured, never assumed.
"""

import contextlib
import logging
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from reslab.delivery.deployed import Deployed, require_onnx, run_onnx
from reslab.delivery.intake import take_in
from reslab.delivery.pictures import Picture, Pictures
from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.networks.finite import tell_not_finite
from reslab.tasks.catalogue import find_shown
from reslab.tasks.task import find_task

WARM_UP, TIMED = 3, 15


@dataclass(frozen=True, kw_only=True)
class OnnxScore:
    """How an ONNX file does on labelled pictures, how large it is, and how long one picture takes on this CPU."""

    scores: dict[str, float]  # what lists show of the task's scores, the headline first
    images: int
    size_bytes: int
    milliseconds: float


def quantize(deployed: Deployed, source: Path, target: Path, pictures: Iterable[Picture]) -> None:
    """Write the eight-bit version of an ONNX file, its ranges as `pictures` show them."""
    require_onnx()
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            frames = (frame for _, frame in take_in(pictures, deployed.intake.frame))
            self.inputs = ({"pixels": frame.contiguous().numpy()} for frame in frames)

        def get_next(self) -> Any:
            return next(self.inputs, None)

    with tempfile.TemporaryDirectory() as folder, _quiet():
        prepared, small = Path(folder) / "prepared.onnx", Path(folder) / "small.onnx"
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            prepared,
            small,
            Reader(),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
        )
        with atomic_write(target) as temporary:
            temporary.write_bytes(small.read_bytes())


def score_onnx(deployed: Deployed, path: Path, pictures: Pictures) -> OnnxScore:
    """Test an ONNX file on labelled pictures, one at a time, and time it."""
    run = run_onnx(str(path))
    network, images = deployed.network, 0
    task = find_task(network.task).at(network.thresholds)
    meter = task.make_meter(outputs=network.spec.classes, images=len(pictures), device="cpu")
    frame = torch.zeros(1, *deployed.input_shape)
    for picture, entered in take_in(pictures, deployed.intake.frame):
        frame = entered.contiguous()
        logits = run(frame)
        if not logits.isfinite().all():
            raise tell_not_finite(deployed.network, f"for {picture.name}", origin=str(path))
        meter.add(logits, torch.tensor([picture.label]))
        images += 1
    if not images:
        raise UserError("none of the test images can be read; give other data")
    logged, seconds = meter.read().logged(), []
    for _ in range(WARM_UP + TIMED):
        begun = time.perf_counter()
        run(frame)
        seconds.append(time.perf_counter() - begun)
    return OnnxScore(
        scores={score.name: logged[score.name] for score in find_shown(network).scores if score.shown == "lists"},
        images=images,
        size_bytes=path.stat().st_size,
        milliseconds=1000 * min(seconds[WARM_UP:]),  # another process's turn is not our speed
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the quantizer's advice out of what a user reads."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
