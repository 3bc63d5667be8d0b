"""Networks that torchvision builds, under our interface: logits out, activations by name.

GoogLeNet's auxiliary classifiers join the training loss with the weight its authors gave them (0.3), never the output.
"""

from typing import Any

import torchvision
from torch import Tensor, nn
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

from reslab.errors import UserError
from reslab.networks.dropout import Dropout, adopt_randomness
from reslab.networks.layers import Observer
from reslab.networks.network import Network
from reslab.spec import TorchvisionSpec

AUXILIARY_WEIGHT = 0.3
WHOLE = {"leaf_modules": [Dropout]}  # not looked into, as torch's own


class TorchvisionNetwork(Network):
    """A torchvision model that returns logits in training too."""

    spec: TorchvisionSpec

    def __init__(self, spec: TorchvisionSpec) -> None:
        super().__init__(spec)
        options = {"init_weights": True, "aux_logits": True} if spec.architecture == "googlenet" else {}
        if spec.architecture == "vit_b_16":
            options = {"image_size": spec.input_size}
            if spec.input_size % 16:
                raise UserError(
                    f"input_size is {spec.input_size}; ViT-B/16 uses patches of 16 pixels, so give a multiple of 16"
                )
        self.model = torchvision.models.get_model(spec.architecture, weights=None, num_classes=spec.classes, **options)
        if spec.channels != 3:
            _replace_first_convolution(self.model, spec.channels)
        adopt_randomness(self.model)

    def trunk(self, x: Tensor) -> Any:
        """Return what the model gives: logits, and with GoogLeNet in training two auxiliary ones beside them."""
        return self.model(x)

    def head(self, features: Any) -> Tensor:
        """Return the logits; where torchvision's own head begins is each model's business."""
        return features if isinstance(features, Tensor) else features.logits

    def weighted_logits(self, x: Tensor) -> list[tuple[float, Tensor]]:
        """Return the logits, and with GoogLeNet in training its two auxiliary ones."""
        output = self.features(x)
        if isinstance(output, Tensor):
            return [(1.0, output)]
        auxiliary = [(AUXILIARY_WEIGHT, logits) for logits in (output.aux_logits1, output.aux_logits2)]
        return [(1.0, output.logits), *auxiliary]

    def observe(self, x: Tensor, see: Observer) -> Tensor:
        """Hand what leaves each module to `see`, by torchvision's name for it; the last is the logits.

        The way through is the one of evaluation, without auxiliary classifiers; each module keeps its own mode.
        """
        modes = {module: module.training for module in self.modules()}
        names = get_graph_node_names(self.model, tracer_kwargs=WHOLE, suppress_diff_warning=True)[1]
        extractor = create_feature_extractor(
            self.model, names[1:], tracer_kwargs=WHOLE, suppress_diff_warning=True
        ).eval()
        for module, training in modes.items():
            module.training = training
        seen = extractor(x)
        for name, activation in seen.items():
            see(name, activation)
        return seen[names[-1]]


def _replace_first_convolution(model: nn.Module, channels: int) -> None:
    name, first = next((name, module) for name, module in model.named_modules() if isinstance(module, nn.Conv2d))
    new = nn.Conv2d(
        channels,
        first.out_channels,
        first.kernel_size,  # pyright: ignore[reportArgumentType]
        stride=first.stride,  # pyright: ignore[reportArgumentType]
        padding=first.padding,  # pyright: ignore[reportArgumentType]
        bias=first.bias is not None,
    )
    model.set_submodule(name, new)
