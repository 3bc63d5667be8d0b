"""What shortcuts and branches carry at each addition (options A, B, C; gates), forward and backward, by layer.

Forward: the standard deviation and the root mean square of both terms, the branch's share in their energy, and their
cosine. Backward: how long the loss's gradient at the block's input is by the shortcut and by the branch, and the cosine
of both. All of each image, then means over images. Of gates: their mean, variance, and the share that is more open than
shut.
"""

from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reslab.analysis.anatomy import Anatomy, take_apart
from reslab.analysis.catalogue import Instrument
from reslab.analysis.norms import normalizing
from reslab.analysis.shortcuts.additions import Addition, find_gradients, trace_additions
from reslab.analysis.shortcuts.settings import Shortcuts
from reslab.analysis.streaming import Floats, mean_and_error, sum_over_images
from reslab.analysis.workbench import Workbench
from reslab.networks.finite import tell_not_finite
from reslab.spec import name_of
from reslab.tasks.subject import Subject

FORWARD = ("shortcut_std", "branch_std", "shortcut_rms", "branch_rms", "branch_share", "cosine")
BACKWARD = ("gradient_shortcut", "gradient_branch", "gradient_branch_share", "gradient_cosine")
GATES = ("gate_mean", "gate_square", "gate_open")
TINY = 1e-300


def measure_batch(anatomy: Anatomy, subject: Subject, images: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """Return the sums over a batch of every quantity and its square, (additions, quantities, 2)."""
    with torch.enable_grad():
        additions, logits = trace_additions(anatomy, images)
        gradients = find_gradients(additions, subject.losses(logits.float(), targets))
    rows = [
        torch.stack([*_look_forward(addition), *_look_backward(*ways[:2]), *_look_at_gate(addition)])
        for addition, ways in zip(additions, gradients, strict=True)
    ]
    values = torch.stack(rows)
    return {"sums": torch.stack([values.sum(2), values.square().sum(2)], 2)}


@torch.no_grad()
def _look_forward(addition: Addition) -> list[Tensor]:
    shortcut, branch = (term.double().flatten(1) for term in (addition.shortcut, addition.branch))
    energies = [term.square().mean(1) for term in (shortcut, branch)]
    return [
        shortcut.std(1, correction=0),
        branch.std(1, correction=0),
        *[energy.sqrt() for energy in energies],
        energies[1] / (energies[0] + energies[1]).clamp(min=TINY),
        _cosine(shortcut, branch),
    ]


@torch.no_grad()
def _look_backward(around: Tensor, through: Tensor) -> list[Tensor]:
    around, through = around.double().flatten(1), through.double().flatten(1)
    lengths = [around.norm(dim=1), through.norm(dim=1)]
    energies = [length.square() for length in lengths]
    share = energies[1] / (energies[0] + energies[1]).clamp(min=TINY)
    return [*lengths, share, _cosine(around, through)]


@torch.no_grad()
def _look_at_gate(addition: Addition) -> list[Tensor]:
    if addition.gate is None:
        return []
    gate = addition.gate.double().flatten(1)
    return [gate.mean(1), gate.square().mean(1), (gate > 0.5).double().mean(1)]


def _cosine(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).sum(1) / (one.norm(dim=1) * other.norm(dim=1)).clamp(min=TINY)


def _measure(subject: Subject, settings: Shortcuts, workbench: Workbench) -> dict[str, Any]:
    network = subject.network.eval()
    anatomy = take_apart(network)
    with normalizing(network, settings.norms):
        found, images = sum_over_images(
            subject,
            settings,
            workbench,
            lambda inputs, targets: measure_batch(anatomy, subject, inputs, targets),
            batch=settings.batch,
            part="additions",
        )
    sums = found["sums"]
    if not np.isfinite(sums).all():
        raise tell_not_finite(network, "for some images", what="activations or gradients")
    width = NormalDist().inv_cdf((1 + settings.confidence) / 2)
    means, errors = mean_and_error(sums[..., 0], sums[..., 1], images, width=width)
    return {
        "images": images,
        "skipped_images": subject.count(settings.on, settings.images) - images,
        "network": name_of(network.spec),
        "additions": [
            {"name": part.name, "stage": part.stage, "shortcut": part.left, **_tell(means[index], errors[index])}
            for index, part in enumerate(anatomy.parts)
        ],
    }


def _tell(means: Floats, errors: Floats) -> dict[str, float]:
    names = (*FORWARD, *BACKWARD, *GATES)[: len(means)]
    told: dict[str, float] = {}
    for name, mean, error in zip(names, means.tolist(), errors.tolist(), strict=True):
        told |= {name: mean, f"{name}_error": error}
    if "gate_square" in told:
        # Over channels, positions and images together.
        square = told.pop("gate_square")
        del told["gate_square_error"]
        told["gate_variance"] = max(0.0, square - told["gate_mean"] ** 2)
    return told


INSTRUMENT = Instrument(settings=Shortcuts, measure=_measure)
