"""Exported files in the runtimes that people serve them with, each on as many threads as it is told."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.race import PEER
from reslab.delivery.deployed import Deployed, Runner, require_onnx
from reslab.errors import UserError
from reslab.runtime.execution import Execution

FLOAT32, INT8, INT8_BF16 = "float32", "int8", "int8 and bf16"
CHANNELS_LAST = "eager, channels-last"
TORCH, ORT, OPENVINO = "torch", "onnxruntime", "openvino"


@dataclass(frozen=True, kw_only=True)
class Way:
    """A runtime and a precision; `open` returns what runs batches of so many images."""

    runtime: str
    precision: str
    label: str
    open: Callable[[int], Runner]


def list_ways(deployed: Deployed, whole: Path, small: Path, *, threads: int) -> list[Way]:
    """Return all ways to run a network and its two files, eager torch first."""
    torch.set_num_threads(threads)
    require_openvino()

    def onnxruntime(path: Path, precision: str) -> Way:
        label = f"onnxruntime, {precision}"
        return Way(runtime=ORT, precision=precision, label=label, open=lambda count: run_onnxruntime(path, threads))

    def openvino(path: Path, precision: str, rest: str) -> Way:
        def open_it(count: int) -> Runner:
            return run_openvino(path, (count, *deployed.input_shape), rest=rest, threads=threads)

        return Way(runtime=OPENVINO, precision=precision, label=f"OpenVINO, {precision}", open=open_it)

    return [
        Way(runtime=TORCH, precision=FLOAT32, label=PEER, open=lambda count: run_eager(deployed)),
        Way(
            runtime=TORCH,
            precision=FLOAT32,
            label=CHANNELS_LAST,
            open=lambda count: run_eager(deployed, channels_last=True),
        ),
        onnxruntime(whole, FLOAT32),
        onnxruntime(small, INT8),
        openvino(whole, FLOAT32, "f32"),
        openvino(small, INT8, "f32"),
        openvino(small, INT8_BF16, "bf16"),
    ]


def run_eager(deployed: Deployed, *, channels_last: bool = False) -> Runner:
    """Return the network itself, its preprocessing in front as in the files."""
    execution = Execution(channels_last=channels_last)
    own = copy.deepcopy(deployed).eval()
    execution.prepare_network(own.network)

    def run(pixels: Tensor) -> Tensor:
        with torch.inference_mode():
            return own(execution.prepare(pixels))

    return run


def run_onnxruntime(path: Path, threads: int) -> Runner:
    """Return a file run by onnxruntime, for batches of any size."""
    onnxruntime: Any = require_onnx()[1]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda pixels: torch.from_numpy(session.run(["logits"], {"pixels": pixels.numpy()})[0])


def run_openvino(path: Path, shape: tuple[int, ...], *, rest: str, threads: int) -> Runner:
    """Return a file run by OpenVINO, compiled for one shape; what is not in eight bits is in the precision `rest`.

    By itself OpenVINO computes that in bfloat16 where the CPU has it, float32 files included.
    """
    core = require_openvino().Core()
    model = core.read_model(path)
    model.reshape(shape)
    options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": rest}
    request = core.compile_model(model, "CPU", options).create_infer_request()
    return lambda pixels: torch.from_numpy(request.infer({0: pixels.numpy()}, share_inputs=True)[0].copy())


def require_openvino() -> Any:
    """Return openvino, which comes with the extra for tests."""
    try:
        import openvino  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UserError("this benchmark needs openvino; install it with `pip install openvino`") from error
    return openvino


def name_versions() -> dict[str, str]:
    """Return the versions of the runtimes."""
    return {name: version(name) for name in (ORT, OPENVINO)}
