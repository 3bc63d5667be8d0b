"""Sums over images, a batch at a time, kept after each so that whoever is interrupted goes on to the same numbers."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.analysis.settings import Settings
from reslab.analysis.workbench import Workbench
from reslab.tasks.subject import Subject

Floats = NDArray[np.float64]
DONE = "done"  # batches and images, beside the sums


def sum_over_images(
    subject: Subject,
    settings: Settings,
    workbench: Workbench,
    add: Callable[[Tensor, Tensor], Mapping[str, Tensor]],
    *,
    batch: int,
    part: str,
) -> tuple[dict[str, Floats], int]:
    """Return the sums over all images of what `add` gives of images and targets, and how many images there were."""
    sums: dict[str, Floats] = dict(workbench.resume(part) or {})
    batches, images = sums.pop(DONE, np.zeros(2, int)).tolist()
    rest = islice(subject.batches(batch, on=settings.on, images=settings.images), batches, None)
    with computing_exactly(), workbench.listener.enter(part, subject.count(settings.on, settings.images)) as progress:
        for inputs, targets in rest:
            found = {name: values.double().cpu().numpy() for name, values in add(inputs, targets).items()}
            with np.errstate(invalid="ignore"):  # whoever asked says what is not finite
                sums = {name: sums.get(name, 0.0) + values for name, values in found.items()}
            batches, images = batches + 1, images + len(inputs)
            workbench.keep(part, {**sums, DONE: np.array([batches, images])})
            progress(images, {})
    return sums, images


def computing_exactly() -> contextlib.AbstractContextManager[None]:
    """Let cuDNN compute the same numbers every time, in float32 where that is asked for, for a while."""
    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)


def mean_and_error(sums: Floats, squares: Floats, images: int, *, width: float) -> tuple[Floats, Floats]:
    """Return means over images, and `width` standard errors of them; those of no images are not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / images
        variances = np.maximum(squares / images - means**2, 0)
    return means, width * np.sqrt(variances / max(1, images - 1))


def tell_means(names: Sequence[str], means: Floats, errors: Floats) -> dict[str, float | None]:
    """Return means and their errors by their names; None for what is not finite."""
    told: dict[str, float | None] = {}
    for name, mean, error in zip(names, means.tolist(), errors.tolist(), strict=True):
        told |= {name: mean, f"{name}_error": error} if np.isfinite(mean) else {name: None, f"{name}_error": None}
    return told
