"""How strongly the layers of a network respond: the standard deviations of Fig. 7 (paper, section 4.2).

A layer's response is its convolution's output after normalization, before the nonlinearity or the addition; its
standard deviation is over all channels, positions and images together. As in Fig. 7 the 3x3 layers count (6n+1 of
them in the CIFAR networks), in bottlenecks all. One pass keeps a mean and a variance for each image and layer and no
activations; confidence intervals come from resampling images, because the pixels of one image are not independent.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.analysis.catalogue import Instrument
from reslab.analysis.responses.panel import Layer
from reslab.analysis.responses.settings import Responses
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.finite import tell_not_finite
from reslab.spec import NetworkSpec, Spec, name_of
from reslab.tasks.subject import Subject

Floats = NDArray[np.float64]
BATCH = 100  # small enough for the activations of a layer to stay in a processor's cache


@dataclass(frozen=True)
class Moments:
    """Mean and variance of each layer's response to each image, as (layers, images)."""

    names: tuple[str, ...]
    means: Floats
    variances: Floats


def measure_responses(
    network: Network, batches: Iterable[Tensor], *, confidence: float, resamples: int, seed: int = 0
) -> list[Layer]:
    """Measure the responses of every counted layer, in the order of the layers, over all images of `batches`."""
    moments = gather_moments(network, batches)
    broken = ~np.isfinite(moments.means + moments.variances)
    if bad := np.count_nonzero(broken.any(0)):
        raise tell_not_finite(network, f"for {bad:,} of {broken.shape[1]:,} images", what="responses")
    std, low, high = bootstrap_std(
        moments.means, moments.variances, confidence=confidence, resamples=resamples, seed=seed
    )
    return [Layer(*row) for row in zip(moments.names, std.tolist(), low.tolist(), high.tolist(), strict=True)]


@torch.no_grad()
def gather_moments(network: Network, batches: Iterable[Tensor]) -> Moments:
    """Run `network`, as its mode is, over prepared images and keep each response's moments, an image at a time."""
    if not network.responses:
        raise UserError(f"{name_of(network.spec)} has no named layer responses; choose a plain or residual network")
    counted = counted_layers(network)
    means: dict[str, list[Tensor]] = {name: [] for name in counted.values()}
    variances: dict[str, list[Tensor]] = {name: [] for name in counted.values()}

    def see(name: str, response: Tensor) -> None:
        if name in counted:
            axes = tuple(range(1, response.dim()))
            # Two passes in float64: neither a large mean nor many values cost digits.
            values = response.double()
            mean = values.mean(axes, keepdim=True)
            means[counted[name]].append(mean.flatten())
            variances[counted[name]].append(values.sub_(mean).square_().mean(axes))

    for images in batches:
        network.observe(images, see)
    return Moments(tuple(means), _join(means), _join(variances))


def _join(kept: dict[str, list[Tensor]]) -> Floats:
    return np.stack([torch.cat(parts).cpu().numpy() for parts in kept.values()])


def counted_layers(network: Network) -> dict[str, str]:
    """Return the names of the responses that count, each with its layer's: ``conv2_1.response_2`` is ``conv2_1.2``."""
    return {
        name: name.replace(".response_", ".").removesuffix(".response")
        for name, kernel in network.responses.items()
        if which_layers(network.spec) == "all" or kernel == 3
    }


def which_layers(spec: Spec) -> Literal["all", "3x3"]:
    """Say which layers count: bottlenecks have too few 3x3 ones to tell their story."""
    return "all" if isinstance(spec, NetworkSpec) and spec.block == "bottleneck" else "3x3"


def bootstrap_std(
    means: Floats, variances: Floats, *, confidence: float, resamples: int, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Return each layer's standard deviation over all images, and the bounds of its percentile interval.

    `means` and `variances` are (layers, images). Resamples draw images with replacement, the same for every layer.
    """
    images = means.shape[1]
    # About the mean over all images, so that nothing large cancels.
    offsets = means - means.mean(1, keepdims=True)
    squares = variances + offsets**2
    generator = np.random.default_rng(seed)
    draws = (np.bincount(generator.integers(0, images, images), minlength=images) for _ in range(resamples))
    weights = np.fromiter(draws, dtype=np.dtype((np.float64, images)), count=resamples) / images
    drawn = np.sqrt(np.maximum(weights @ squares.T - (weights @ offsets.T) ** 2, 0))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.sqrt(squares.mean(1)), low, high


def _measure(subject: Subject, settings: Responses, workbench: Workbench) -> dict[str, Any]:
    asked, done = subject.count(settings.on, settings.images), 0

    def images() -> Iterator[Tensor]:
        nonlocal done
        with workbench.listener.enter("responses", asked) as progress:
            for batch, _ in subject.batches(BATCH, on=settings.on, images=settings.images):
                yield batch
                done += len(batch)
                progress(done, {})

    layers = measure_responses(
        subject.network,
        images(),
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    counts = {"images": done, "skipped_images": asked - done}
    return {**counts, "counted": which_layers(subject.network.spec), "layers": [asdict(layer) for layer in layers]}


INSTRUMENT = Instrument(settings=Responses, measure=_measure)
