"""An exported ONNX file ready for pictures: what it takes and what its classes are, the file's own metadata says."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from reslab.delivery.deployed import KEY, require_onnx, run_onnx
from reslab.delivery.intake import Intake, geometry
from reslab.delivery.prediction import number_classes
from reslab.delivery.predictor import Guesser
from reslab.errors import UserError
from reslab.networks.finite import rows_not_finite
from reslab.spec import Preprocess
from reslab.spec.codec import convert, decode
from reslab.spec.task import find_task

ENDING = ".onnx"


class OnnxPredictor(Guesser):
    """A file of `reslab export`, whole or in eight bits, run by onnxruntime on the CPU."""

    def __init__(self, path: Path) -> None:
        about = _read_metadata(path)
        try:
            self.origin, self.run = str(path), run_onnx(str(path))
        except Exception as error:  # onnxruntime's own kinds, which have nothing else in common
            raise UserError(f"onnxruntime cannot open {path} ({error}); export it again") from error
        try:
            self.network_name, self.task = str(about["network"]), find_task(about["task"]).name
            _, *shape = about["input"]["shape"]
            shape = convert(tuple[int, ...], shape, where="input.shape")
            first = {name: about["resize_first"][name] for name in ("resize", "crop", "interpolation")}
            self.whole = replace(decode(Preprocess, about["inside"]), **first)
            outputs = len(about["class_names"]) if about["class_names"] else about["outputs"]
            self.class_names = tuple(map(str, about["class_names"] or number_classes(outputs)))
            self.class_words = dict(about.get("class_words", {}))
            self.thresholds = convert(tuple[float, ...] | None, about.get("thresholds"), where="thresholds")
        except (LookupError, TypeError, ValueError) as error:  # a UserError is a ValueError
            raise UserError(f"{path} does not say what it holds ({error}); export it again") from error
        self.intake = Intake(network=self.network_name, input_shape=shape, preprocess=geometry(self.whole))

    @property
    def preparation(self) -> Preprocess:
        """How a picture is prepared: its size before the file, its pixels inside."""
        return self.whole

    def logits(self, prepared: Tensor, names: Sequence[str]) -> Tensor:
        """Return what the file makes of pictures."""
        logits = self.run(prepared.contiguous())
        if bad := rows_not_finite(logits).nonzero().flatten().tolist():
            raise UserError(f"{self.origin} gives outputs that are not finite for {names[bad[0]]}; export it again")
        return logits


def _read_metadata(path: Path) -> dict[str, Any]:
    """Return what our export wrote about a file; another's has nothing to go by."""
    onnx, _ = require_onnx()
    if not path.is_file():
        raise UserError(f"there is no file {path}; give the path of an existing one")
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf raises what it likes
        raise UserError(f"{path} is damaged or not an ONNX file; export it again") from error
    told = {entry.key: entry.value for entry in model.metadata_props}
    try:
        about = json.loads(told[KEY])
    except (KeyError, ValueError):
        about = None
    if not isinstance(about, dict):
        raise UserError(
            f"{path} does not say how its images are prepared and what its classes are;"
            " give a file written by `reslab export`"
        )
    return about
