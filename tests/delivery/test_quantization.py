"""ONNX files in eight bits: smaller, nearly as right, and measured."""

from __future__ import annotations

from pathlib import Path

import onnx

from reslab.data.catalogue import open_data
from reslab.delivery.deployed import run_onnx
from reslab.delivery.pictures import label_pictures
from reslab.delivery.quantization import quantize, score_onnx


def test_eight_bits(exported, photos: Path, tmp_path: Path) -> None:
    """A smaller file with quantized convolutions that is nearly as right."""
    deployed, path, _ = exported
    data, small = label_pictures(open_data(str(photos))), tmp_path / "small.onnx"
    quantize(deployed, path, small, data.train.spread(8))
    assert "reslab" in [entry.key for entry in onnx.load(small).metadata_props]
    operators = [node.op_type for node in onnx.load(small).graph.node]
    assert "QuantizeLinear" in operators
    weights = [tensor for tensor in onnx.load(small).graph.initializer if len(tensor.dims) == 4]
    assert weights and {tensor.data_type for tensor in weights} == {onnx.TensorProto.INT8}
    before, after = (score_onnx(deployed, file, data.test) for file in (path, small))
    assert before.images == after.images == 8
    assert after.size_bytes < before.size_bytes
    assert min(before.milliseconds, after.milliseconds) > 0
    frame = deployed.intake.frame(next(iter(data.test)))
    exact, rough = (run_onnx(str(file))(frame) for file in (path, small))
    assert 0 < float((exact - rough).abs().max()) < 0.1 * float(exact.abs().max())
