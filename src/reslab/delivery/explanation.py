"""Where in a picture the evidence for a class lies: Grad-CAM (Selvaraju et al., 2017) on the last map of a network.

Each channel of the map counts by the mean slope of the class's logit over it; what is positive is evidence. In a
network that ends in global average pooling and a classifier, that slope is the classifier's weight over the map's area.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.data.geometry import Pixels
from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.finite import tell_not_finite
from reslab.spec import name_of

# From none to most: evidence is light that warms. In between colours are mixed.
COLOURS = np.array([[20, 11, 52], [120, 28, 109], [229, 92, 48], [252, 195, 43], [252, 255, 180]])
FAINT, STRONG = 0.25, 0.7  # how much of the colour covers the picture, from none to most evidence
LEAST_SIDE = 224  # a picture smaller than this is shown enlarged


def find_evidence(network: Network, images: Tensor, target: int | None = None) -> Tensor:
    """Return the evidence, at most 1, on the last map of each image: for a class, or for the image's first guess."""
    with torch.enable_grad():
        seen = network.activations(images.detach().requires_grad_())
        *_, logits = seen.values()
        maps = [value for value in seen.values() if value.dim() == 4 and value.shape[-1] * value.shape[-2] > 1]
        if not maps:
            raise UserError(f"{name_of(network.spec)} has no feature map to explain; choose a convolutional network")
        if not logits.isfinite().all():
            raise tell_not_finite(network, "for an image to explain")
        chosen = logits.argmax(1) if target is None else torch.full((len(images),), target, device=logits.device)
        (slopes,) = torch.autograd.grad(logits.gather(1, chosen[:, None]).sum(), maps[-1])
    evidence = (slopes.mean((2, 3), keepdim=True) * maps[-1].detach()).sum(1).relu()
    return evidence / evidence.amax((1, 2), keepdim=True).clamp_min(torch.finfo(evidence.dtype).tiny)


def paint(frame: Tensor, evidence: Tensor) -> Pixels:
    """Lay evidence over a picture (channels, height, width, from 0 to 255); return both side by side, in RGB."""
    height, width = frame.shape[-2:]
    scale = max(1, -(-LEAST_SIDE // min(height, width)))
    large = frame.expand(3, -1, -1).repeat_interleave(scale, 1).repeat_interleave(scale, 2)
    picture = large.clamp(0, 255).permute(1, 2, 0).numpy()
    size = (height * scale, width * scale)
    heat = F.interpolate(evidence[None, None], size=size, mode="bicubic").clamp(0, 1)[0, 0].numpy()
    places = np.linspace(0, 1, len(COLOURS))
    colours = np.stack([np.interp(heat, places, COLOURS[:, channel]) for channel in range(3)], axis=2)
    strength = FAINT + (STRONG - FAINT) * heat[:, :, None]
    painted = (1 - strength) * picture + strength * colours
    gap = np.full((size[0], 4, 3), 255.0)
    return np.concatenate([picture, gap, painted], axis=1).round().astype(np.uint8)
