"""Networks as files that other runtimes take: ONNX, torch.export's programs, torchvision's state dicts.

An ONNX file or program takes `pixels` (batch, channels, height, width), RGB or grey from 0 to 255, resized and cropped
already, and gives `logits`: scale, channel order, mean and deviation are inside. What is outside, and the classes,
stand in the file's metadata. No file stays that does not give what the network gives.
"""

import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reslab.data.preprocessing import preprocess_images
from reslab.delivery.intake import Intake, arithmetic, take_in
from reslab.delivery.pictures import Picture
from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.json_text import to_json
from reslab.networks import Network, foreign_state_dict
from reslab.networks.finite import rows_not_finite, tell_not_finite
from reslab.runtime.sealed import write_tensors
from reslab.spec import NetworkSpec, Spec, TorchvisionSpec, name_of
from reslab.spec.codec import encode
from reslab.spec.task import encode_task

TOLERANCE = 1e-4  # of the largest logit
SYNTHETIC = 8
STAGES = 4  # of torchvision's residual networks
KEY = "reslab"  # of the metadata

Runner = Callable[[Tensor], Tensor]  # pixels to logits


@dataclass(frozen=True, kw_only=True)
class Parity:
    """How far a file's logits are from the network's, and on how many images both guess the same first."""

    images: int
    largest_difference: float
    same_guess: int
    agrees: bool


class Deployed(nn.Module):
    """A network behind the arithmetic of its preprocessing: pixels from 0 to 255 in, logits out."""

    checked = 32  # pictures

    def __init__(self, network: Network, intake: Intake) -> None:
        super().__init__()
        if intake.preprocess.resize and not intake.preprocess.crop:
            raise UserError(
                f"the preprocessing of {intake.network} resizes but does not crop, and an exported file takes one "
                f"size; add preprocess.crop={intake.input_shape[-1]}"
            )
        self.network, self.intake = network.eval(), intake
        self.preprocess = arithmetic(intake.preprocess)
        self.mean_image: Tensor | None
        self.register_buffer("mean_image", intake.mean_image, persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        return self.network(self.prepare(pixels))

    def prepare(self, pixels: Tensor) -> Tensor:
        """Return pixels as the network takes them."""
        return preprocess_images(pixels, self.preprocess, brightest=255, mean_image=self.mean_image)

    def describe(self) -> dict[str, Any]:
        """Return what a reader of the file must know, as plain data."""
        whole = encode(self.intake.preprocess)
        return {
            "network": self.intake.network,
            "input": {"shape": ["batch", *self.input_shape], "range": "0-255", "channels": self.colour},
            "resize_first": {field: whole[field] for field in ("resize", "crop", "interpolation")},
            "inside": encode(self.preprocess),
            "outputs": self.network.spec.classes,
            "class_names": self.network.class_names,
            **({"class_words": self.network.class_words} if self.network.class_words else {}),
            "task": encode_task(self.network.task, sparse=True),
            **({} if self.network.thresholds is None else {"thresholds": self.network.thresholds}),
        }

    @property
    def colour(self) -> str:
        """What the channels of the pixels are."""
        return "RGB" if self.input_shape[0] == 3 else "grey"

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the pixels."""
        return self.intake.input_shape[0], self.intake.side, self.intake.side

    def make_pictures(self) -> list[Picture]:
        """Return pictures to check a file on where there are none."""
        return make_pictures(self.intake)

    def trace(self) -> torch.export.ExportedProgram:
        """Return the computation as torch.export sees it, for batches of any size."""
        pixels = torch.zeros(2, *self.input_shape)
        with torch.no_grad():
            return torch.export.export(self, (pixels,), dynamic_shapes=({0: torch.export.Dim("batch")},))


def write_onnx(deployed: Deployed, path: Path, pictures: Iterable[Picture]) -> Parity:
    """Write an ONNX file that agrees with the network on `pictures`."""
    require_onnx()
    data = make_onnx(
        deployed.trace(),
        inputs={"pixels": ("batch", "channels", "height", "width")},
        output="logits",
        description=deployed.describe(),
    )
    return _write_checked(deployed, path, data, run_onnx(data), pictures)


def make_onnx(
    program: torch.export.ExportedProgram,
    *,
    inputs: Mapping[str, Sequence[str]],
    output: str,
    description: Mapping[str, Any],
    translations: dict[Callable[..., Any], Callable[..., Any]] | None = None,
) -> bytes:
    """Return a program as an ONNX file: `inputs` by name, with the names of their dimensions, and what describes it.

    `translations` are for operators that the exporter does not know.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's, about its own insides
        exported = torch.onnx.export(
            program,
            dynamo=True,
            verbose=False,
            input_names=list(inputs),
            output_names=[output],
            custom_translation_table=translations,
        )
    assert exported is not None
    model = exported.model_proto
    _name_dimensions(model.graph, inputs)
    model.producer_name = "reslab"
    require_onnx()[0].helper.set_model_props(model, {KEY: to_json(description)})
    return model.SerializeToString()


def write_program(deployed: Deployed, path: Path, pictures: Iterable[Picture]) -> Parity:
    """Write a program that `torch.export.load` reads and that agrees with the network on `pictures`."""
    file = io.BytesIO()
    torch.export.save(deployed.trace(), file, extra_files={f"{KEY}.json": to_json(deployed.describe())})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given buffer is not writable")  # torch 2.11's, about its own reading
        module = torch.export.load(io.BytesIO(file.getvalue())).module()
    return _write_checked(deployed, path, file.getvalue(), module, pictures)


def write_torchvision(deployed: Deployed, path: Path, pictures: Iterable[Picture]) -> Parity:
    """Write a state dict, as safetensors or with torch.save by the file's ending, that torchvision's network takes."""
    tensors = foreign_state_dict(deployed.network, "torchvision")
    theirs = _build_torchvisions(deployed.network.spec)
    try:
        theirs.load_state_dict(tensors)
    except RuntimeError as error:
        raise UserError(
            f"torchvision cannot build {name_of(deployed.network.spec)}; to write only the weights with torchvision's "
            "names, run `reslab convert FILE --to torchvision`"
        ) from error
    theirs.eval()
    parity = check_parity(deployed, lambda pixels: theirs(deployed.prepare(pixels)), pictures)
    refuse_mismatch(path, parity)
    if path.suffix == ".safetensors":
        write_tensors(path, tensors, {"format": "pt"})
    else:
        with atomic_write(path) as temporary:
            torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary)
    return parity


def check_parity(deployed: Deployed, run: Runner, pictures: Iterable[Picture]) -> Parity:
    """Compare what `run` makes of the pixels with what the network makes of the prepared pictures, one by one."""
    ours, theirs = [], []
    with torch.no_grad():
        for picture, frame in take_in(pictures, deployed.intake.frame):
            ours.append(deployed.network(deployed.intake.prepare(picture)))
            theirs.append(run(frame.contiguous()))
    if not ours:
        raise UserError(
            "none of the images to check the file with can be read; give other images, or none to use synthetic ones"
        )
    wanted, found = torch.cat(ours).double(), torch.cat(theirs).double()
    if bad := int(rows_not_finite(wanted).sum()):
        raise tell_not_finite(deployed.network, f"for {bad:,} of {len(wanted):,} images")
    scale = max(1.0, float(wanted.abs().max()))
    difference = float((wanted - found).abs().max())
    return Parity(
        images=len(wanted),
        largest_difference=difference,
        same_guess=int((wanted.argmax(1) == found.argmax(1)).sum()),
        agrees=difference <= TOLERANCE * scale,  # false for what is no number
    )


def make_pictures(intake: Intake, count: int = SYNTHETIC) -> list[Picture]:
    """Return pictures for an intake, where there are none to check on."""
    short = intake.preprocess.resize or intake.side
    height, width = (short, short) if not intake.preprocess.resize else (short * 5 // 4, short * 3 // 2)
    return draw_pictures((intake.input_shape[0], height, width), count)


def draw_pictures(shape: tuple[int, int, int], count: int) -> list[Picture]:
    """Return pictures (channels, height, width) with the statistics of photographs, coarse shapes strongest."""
    generator, pictures = torch.Generator().manual_seed(0), []
    channels, *size = shape
    for number in range(count):
        pixels = torch.zeros(1, *shape)
        for level in range(6):
            noise = torch.randn(1, channels, 2**level + 1, 2**level + 1, generator=generator)
            pixels += nn.functional.interpolate(noise, size, mode="bilinear") / 2**level
        pixels = (128 + 50 * pixels[0]).clamp(0, 255).to(torch.uint8)
        pictures.append(Picture(name=f"synthetic photograph {number + 1}", pixels=pixels))
    return pictures


def require_onnx() -> tuple[Any, Any]:
    """Return onnx and onnxruntime, which come with an extra."""
    try:
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401  # torch's exporter needs it
    except ImportError as error:
        raise UserError(
            f"ONNX files need {error.name}, which is not installed; run `pip install onnx onnxruntime onnxscript`"
        ) from error
    return onnx, onnxruntime


def run_onnx(model: bytes | str) -> Runner:
    """Return an ONNX file, by its content or its path, as a function of pixels."""
    session = require_onnx()[1].InferenceSession(model, providers=["CPUExecutionProvider"])
    return lambda pixels: torch.from_numpy(session.run(["logits"], {"pixels": pixels.numpy()})[0])


def refuse_mismatch(path: Path, parity: Parity) -> None:
    """Refuse a file that gives something else than the network."""
    if not parity.agrees:
        raise UserError(
            f"{path} was not written: its logits differ from the network's by {parity.largest_difference:.3g}, and "
            f"its first guess differs on {parity.images - parity.same_guess} of {parity.images} images; "
            "export in another format"
        )


def _write_checked(deployed: Deployed, path: Path, data: bytes, run: Runner, pictures: Iterable[Picture]) -> Parity:
    parity = check_parity(deployed, run, pictures)
    refuse_mismatch(path, parity)
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)
    return parity


def _name_dimensions(graph: Any, inputs: Mapping[str, Sequence[str]]) -> None:
    """Call free dimensions what they are; the exporter numbers them."""
    names: dict[str, str] = {}
    for value in graph.input:
        for dimension, name in zip(value.type.tensor_type.shape.dim, inputs[value.name], strict=True):
            names[dimension.dim_param] = name
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in names and dimension.dim_param:
                dimension.dim_param = names[dimension.dim_param]


def _build_torchvisions(spec: Spec) -> nn.Module:
    """Return torchvision's own network for a spec."""
    import torchvision
    from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

    if isinstance(spec, TorchvisionSpec):
        options: dict[str, Any] = {"image_size": spec.input_size} if spec.architecture == "vit_b_16" else {}
        return torchvision.models.get_model(spec.architecture, weights=None, num_classes=spec.classes, **options)
    if not isinstance(spec, NetworkSpec) or len(spec.stages) != STAGES or spec.channels != 3:
        raise UserError(f"torchvision has no network like {name_of(spec)}; export it as onnx or torch-export instead")
    block = Bottleneck if spec.block == "bottleneck" else BasicBlock
    return ResNet(block, [stage.blocks for stage in spec.stages], num_classes=spec.classes)
