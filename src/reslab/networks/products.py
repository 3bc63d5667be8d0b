"""Convolutions as matrix products, for maps whose size comes but once.

cuDNN plans a convolution anew for every size of a map, which takes longer than a matrix product from end to end. Where
photographs are tested whole, nearly every one has a size of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode


class AsProducts(TorchFunctionMode):
    """Inside, 2-D convolutions are matrix products, those included that cuDNN joins with what follows them."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        product, first = PRODUCTS.get(func, (None, 0))
        if product is not None and not kwargs and _is_common(*args[first:]):
            return product(*args)
        return func(*args, **(kwargs or {}))


def _is_common(stride: Any = 1, padding: Any = 0, dilation: Any = (1, 1), groups: int = 1) -> bool:
    """Whether a convolution is one of layers as they come, neither dilated nor in groups."""
    return isinstance(stride, tuple) and isinstance(padding, tuple) and dilation == (1, 1) and groups == 1


def _convolve(x: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, *_: Any) -> Tensor:
    outputs, height, width = len(weight), *weight.shape[2:]
    pixels = x.permute(0, 2, 3, 1)
    if any(padding):
        pixels = F.pad(pixels, (0, 0, padding[1], padding[1], padding[0], padding[0]))
    if (height, width) == (1, 1):
        windows = pixels[:, :: stride[0], :: stride[1], None, None]
    else:
        windows = pixels.unfold(1, height, stride[0]).unfold(2, width, stride[1]).permute(0, 1, 2, 4, 5, 3)
    rows, columns = windows.reshape(-1, windows.shape[3:].numel()), weight.permute(2, 3, 1, 0).reshape(-1, outputs)
    product = rows @ columns if bias is None else torch.addmm(bias, rows, columns)
    return product.view(*windows.shape[:3], outputs).permute(0, 3, 1, 2)


def _convolve_relu(*args: Any) -> Tensor:
    return _convolve(*args).relu_()


def _convolve_add_relu(x: Tensor, weight: Tensor, added: Tensor, alpha: float, *rest: Any) -> Tensor:
    return _convolve(x, weight, *rest).add_(added, alpha=alpha).relu_()


# What stands in for each, and which of its arguments is the stride: padding, dilation and groups follow.
PRODUCTS: dict[Callable[..., Any], tuple[Callable[..., Tensor], int]] = {
    torch.conv2d: (_convolve, 3),
    torch.cudnn_convolution_relu: (_convolve_relu, 3),
    torch.cudnn_convolution_add_relu: (_convolve_add_relu, 5),
}
