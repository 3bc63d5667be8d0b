"""The gradients of the loss in every layer, at trained weights or where training began.

The loss is each image's own, without smoothing, class weights and weight decay; a batch's gradient is that of its mean.
Whether plain networks have vanishing gradients is the paper's question of section 4.1, which it answers in words.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.analysis.catalogue import Instrument
from reslab.analysis.gradients.batches import BatchGradients, gather
from reslab.analysis.gradients.lines import (
    LineGradients,
    around,
    choose_depths,
    compare_neighbours,
    draw_line,
    find_length,
    list_depths,
)
from reslab.analysis.gradients.panel import Depth, Estimate, LayerGradients
from reslab.analysis.gradients.passes import run_pass
from reslab.analysis.gradients.settings import LEAST_BATCHES, Gradients
from reslab.analysis.intervals import bootstrap_means, bootstrap_pairs
from reslab.analysis.layers import WeightLayer, list_layers
from reslab.analysis.norms import normalizing, retake_statistics
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.build import build_seeded
from reslab.networks.finite import tell_not_finite
from reslab.runtime.execution import Execution
from reslab.tasks.subject import Subject

WHOLE = "all parameters"
Floats = NDArray[np.float64]
Batch = tuple[Tensor, Tensor]


def _measure(subject: Subject, settings: Gradients, workbench: Workbench) -> dict[str, Any]:
    images, lines = subject.count(settings.on, settings.images), _count_line_images(settings)
    _refuse_too_few(subject, settings, images)
    network, seed = _prepare_network(subject, settings)
    layers = list_layers(network)
    execution = Execution(
        channels_last=subject.execution.channels_last, precision="bf16" if settings.precision == "bf16" else "fp32"
    )
    done = 0

    def batches(size: int, count: int) -> Iterator[Batch]:
        drawn = subject.batches(size, on=settings.on, images=count, drawn=settings.seed)
        for inputs, targets in drawn:
            yield inputs.to(next(network.parameters()).dtype), targets

    def counted() -> Iterator[Batch]:
        nonlocal done
        for batch in batches(settings.batch, images):
            done += len(batch[1])
            yield batch

    exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
    with exact, torch.no_grad():
        with normalizing(network, settings.norms):
            run = partial(run_pass, network, layers, losses=subject.losses, execution=execution)
            found = gather(counted(), run, count=-(-images // settings.batch), workbench=workbench)
        _refuse_not_finite(network, found)
        weights = np.array([*[layer.weight.double().norm().item() for layer in layers], _measure_length(network)])
        if settings.norms == "batch":  # a single input has no batch; it gets the mean of the statistics of these
            retake_statistics(network, (inputs for inputs, _ in batches(settings.batch, images)))
        ends = torch.cat([inputs for inputs, _ in batches(settings.batch, lines)])
        depths = choose_depths(list_depths(network, ends[0]), settings.depths)
        compared = _compare(network, ends, depths, settings, execution=execution, workbench=workbench)
    workbench.store(_collect(found, compared, weights))
    *of_layers, whole = _estimate(found, layers, weights, settings)
    return {
        "images": done,
        "skipped_images": images - done,
        "initialized_by": seed,
        "batches": len(found.norms),
        "layers": [asdict(layer) for layer in of_layers],
        "whole": asdict(whole),
        "length": float(_find_distances(ends, settings).mean()),
        "depths": [asdict(depth) for depth in _estimate_depths(depths, compared, settings)],
    }


def _refuse_too_few(subject: Subject, settings: Gradients, images: int) -> None:
    if images < LEAST_BATCHES * settings.batch:
        raise UserError(
            f"{subject.data} has {images:,} images, but {LEAST_BATCHES} batches of {settings.batch} are needed to say "
            "how sure a mean is; give a smaller batch"
        )
    if (needed := _count_line_images(settings)) > subject.count(settings.on):
        raise UserError(f"{settings.lines} lines need {needed} images, but {subject.data} has fewer; give fewer lines")


def _refuse_not_finite(network: Network, found: BatchGradients) -> None:
    """Refuse to make means of what is no number."""
    if bad := np.count_nonzero(~np.isfinite(found.norms).all(1)):
        raise tell_not_finite(network, f"for {bad:,} of {len(found.norms):,} batches", what="gradients")


def _count_line_images(settings: Gradients) -> int:
    return settings.lines * (2 if settings.path == "between" else 1)


def _prepare_network(subject: Subject, settings: Gradients) -> tuple[Network, int | None]:
    """Return a copy of the network to measure, and the seed it was drawn by, if it was."""
    seed = None
    if settings.at == "weights":
        network = copy.deepcopy(subject.network)
    else:
        if subject.step is not None:
            raise UserError(f"the initialization of {subject.origin} has no step; leave out @{subject.step} or at=")
        if subject.trial is not None and subject.trial.start is not None:
            raise UserError(f"{subject.origin} started from trained weights, not from a seed; leave out at=")
        seed = settings.seed if subject.trial is None else subject.trial.seed
        network = build_seeded(subject.network.spec, task=subject.network.task, seed=seed).to(subject.device)
        subject.execution.prepare_network(network)
    network.checkpointing = False
    network.requires_grad_()
    return (network.double() if settings.precision == "fp64" else network), seed


def _measure_length(network: Network) -> float:
    """Return the norm of all parameters together."""
    return float(torch.stack([parameter.double().norm() for parameter in network.parameters()]).norm())


def _list_ends(ends: Tensor, settings: Gradients) -> list[tuple[Tensor, Tensor]]:
    """Return where each line begins and ends."""
    if settings.path == "between":
        return [(ends[2 * number], ends[2 * number + 1]) for number in range(len(ends) // 2)]
    return [around(image, reach=settings.reach, seeds=(settings.seed, n)) for n, image in enumerate(ends)]


def _find_distances(ends: Tensor, settings: Gradients) -> Floats:
    return np.array([(end - start).double().norm().item() for start, end in _list_ends(ends, settings)])


def _compare(
    network: Network,
    ends: Tensor,
    depths: Sequence[str],
    settings: Gradients,
    *,
    execution: Execution,
    workbench: Workbench,
) -> list[LineGradients]:
    """Compare the gradients of neighbours on each line; a line that was kept is not gone again."""
    pairs, found = _list_ends(ends, settings), []
    with workbench.listener.enter("lines", len(pairs)) as progress, normalizing(network, "fixed"):
        for number, (start, end) in enumerate(pairs):
            kept = workbench.resume(f"line-{number}")
            if kept is None:
                line = draw_line(start, end, points=settings.points)
                seeds = (settings.seed, number)
                kept = asdict(compare_neighbours(network, line, depths, execution=execution, seeds=seeds))
                workbench.keep(f"line-{number}", kept)
            found.append(LineGradients(**kept))
            progress(number + 1, {})
    return found


def _estimate(
    found: BatchGradients, layers: Sequence[WeightLayer], weights: Floats, settings: Gradients
) -> list[LayerGradients]:
    """Return what was found of each layer, and last of all parameters; these have no one signal."""
    options = {"confidence": settings.confidence, "resamples": settings.resamples, "seed": settings.seed}
    norms = bootstrap_means(found.norms, **options)
    ratios = _list_estimates(*[values / weights for values in norms])
    forward = [*_list_estimates(*bootstrap_means(found.forward, **options)), None]
    backward = [*_list_estimates(*bootstrap_means(found.backward, **options)), None]
    cosines = _list_estimates(*bootstrap_pairs(found.cosines, **options))
    places = [*[(layer.name, layer.stage, layer.beside) for layer in layers], (WHOLE, "", False)]
    return [
        LayerGradients(*place, *row)
        for place, row in zip(
            places, zip(_list_estimates(*norms), ratios, forward, backward, cosines, strict=True), strict=True
        )
    ]


def _estimate_depths(depths: Sequence[str], compared: Sequence[LineGradients], settings: Gradients) -> list[Depth]:
    """Return what was found at each depth: of neighbours, along the line, and from pixel to pixel."""
    options = {"confidence": settings.confidence, "resamples": settings.resamples, "seed": settings.seed}
    cosines = np.stack([line.cosines for line in compared])
    means, lows, highs = bootstrap_means(cosines, **options)
    pixels, *_ = bootstrap_means(np.stack([line.spatial for line in compared]), **options)
    return [
        Depth(
            name=name,
            neighbours=Estimate(*[float(bound[place, 1]) for bound in (means, lows, highs)]),
            cosines=tuple(means[place].tolist()),
            length=find_length(means[place]),
            pixels=tuple(pixels[place].tolist()),
        )
        for place, name in enumerate(depths)
    ]


def _list_estimates(values: Floats, lows: Floats, highs: Floats) -> list[Estimate]:
    return [Estimate(*row) for row in zip(values.tolist(), lows.tolist(), highs.tolist(), strict=True)]


def _collect(found: BatchGradients, compared: Sequence[LineGradients], weights: Floats) -> dict[str, Floats]:
    """Return everything that means and intervals were taken of."""
    tables = {f"cosines_{number}": table for number, table in enumerate(found.cosines)}
    return {
        "norms": found.norms,
        "weight_norms": weights,
        "forward": found.forward,
        "backward": found.backward,
        **tables,
        "line_cosines": np.stack([line.cosines for line in compared]),
        "line_pixels": np.stack([line.spatial for line in compared]),
    }


INSTRUMENT = Instrument(settings=Gradients, measure=_measure)
