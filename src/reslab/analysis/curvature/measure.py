"""How the loss curves around a network's weights: the spectrum of the Hessian, or of the Gauss-Newton matrix.

Both are of the mean loss over the images, by all the network's parameters in their order, with nothing random and no
augmentation. The trace and the density come from random probes, the largest eigenvalues from the probe that knows them
best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from torch import Tensor

from reslab.analysis.catalogue import Instrument
from reslab.analysis.curvature.double_backward import DoubleBackward
from reslab.analysis.curvature.forward_over_reverse import ForwardOverReverse
from reslab.analysis.curvature.lanczos import Tridiagonal, draw_probes, run_lanczos
from reslab.analysis.curvature.preconditioning import Conditions
from reslab.analysis.curvature.products import Problem, Products, prepare_network
from reslab.analysis.curvature.settings import Curvature
from reslab.analysis.curvature.spectrum import (
    average,
    estimate_density,
    find_largest,
    find_ritz,
    find_smallest,
    standard_error,
)
from reslab.analysis.curvature.tape import Unknown
from reslab.analysis.workbench import Workbench
from reslab.networks.finite import tell_not_finite
from reslab.tasks.subject import Subject

Batch: TypeAlias = tuple[Tensor, Tensor]
HELD_BYTES = 2**32  # of prepared images; more are read anew for each product


class Images:
    """Prepared batches, kept where they fit; `count` is how many images there were the last time."""

    def __init__(self, read: Callable[[], Iterable[Batch]]) -> None:
        self.read, self.count = read, 0
        self.held: list[Batch] | None = None

    def __call__(self) -> Iterator[Batch]:
        """Yield them in order."""
        if self.held is not None:
            yield from self.held
            return
        held: list[Batch] = []
        size, count = 0, 0
        for images, targets in self.read():
            size += images.nbytes
            held = [*held, (images, targets)] if size <= HELD_BYTES else []
            count += len(images)
            yield images, targets
        self.count = count
        self.held = held if size <= HELD_BYTES else None

    def read_all(self) -> None:
        """Count them, if that was not done: a measurement that was finished but for its last words reads none."""
        if not self.count:
            for _ in self():
                pass


def choose_products(problem: Problem) -> Products:
    """Return the products with a matrix, by tangents where the network is known, else by double backward."""
    parameters = list(problem.network.parameters())
    try:
        return ForwardOverReverse(problem, parameters)
    except Unknown:
        return DoubleBackward(problem, parameters)


def _measure(subject: Subject, settings: Curvature, workbench: Workbench) -> dict[str, Any]:
    asked = subject.count(settings.on, settings.images)
    images = Images(partial(_read, subject, settings, asked))
    problem = Problem(
        network=prepare_network(subject.network, settings.precision),
        batches=images,
        losses=subject.losses,
        matrix=settings.matrix,
        norms=settings.norms,
        weight_decay=settings.weight_decay,
        precision=settings.precision,
    )
    products = choose_products(problem)
    known = isinstance(products, ForwardOverReverse)
    found = _find_tridiagonal(products, settings, workbench)
    if not np.isfinite(found.alphas + found.betas).all():
        raise tell_not_finite(subject.network, f"for images of {subject.data}", what="curvatures")
    images.read_all()
    blocks = _measure_blocks(subject, problem, settings, workbench) if known and settings.block_steps else []
    return {
        "images": images.count,
        "skipped_images": asked - images.count,
        "reduction": "mean",
        "parameters": products.size,
        "products": "forward over reverse" if known else "double backward",
        **_describe_spectrum(found, products.size, settings, workbench),
        "blocks": blocks,
    }


def _read(subject: Subject, settings: Curvature, count: int) -> Iterator[Batch]:
    double = settings.precision == "fp64"
    for images, targets in subject.batches(settings.batch, on=settings.on, images=count):
        if double:
            targets = targets.double() if targets.is_floating_point() else targets
            images = images.double()
        yield images, targets


def _find_tridiagonal(products: Products, settings: Curvature, workbench: Workbench) -> Tridiagonal:
    """Run Lanczos from all probes, some at a time."""
    steps, groups = min(settings.steps, products.size), []
    with workbench.listener.enter("products", settings.probes * steps) as progress:
        for first in range(0, settings.probes, settings.vectors):
            numbers = range(first, min(first + settings.vectors, settings.probes))
            like = products.parameters[0].data

            def tell(done: int, before: int = first * steps, count: int = numbers.stop - first) -> None:
                progress(before + done * count, {})

            groups.append(
                run_lanczos(
                    products.multiply,
                    partial(draw_probes, products.size, seed=settings.seed, numbers=numbers, like=like),
                    steps=steps,
                    workbench=workbench,
                    part=f"probes-from-{first}",
                    tell=tell,
                )
            )
    return Tridiagonal(*[np.concatenate(parts, -1) for parts in zip(*groups, strict=True)])


def _describe_spectrum(found: Tridiagonal, size: int, settings: Curvature, workbench: Workbench) -> dict[str, Any]:
    ritz = [find_ritz(found, probe) for probe in range(settings.probes)]
    points, density, width = estimate_density(ritz, broadening=settings.broadening)
    steps = max(len(one.nodes) for one in ritz)
    nodes, weights = np.full((2, settings.probes, steps), np.nan)  # a probe that ended early has fewer
    for row, one in enumerate(ritz):
        nodes[row, : len(one.nodes)], weights[row, : len(one.nodes)] = one.nodes, one.weights
    traces = found.traces
    workbench.store({"nodes": nodes, "weights": weights, **found._asdict()})
    return {
        "trace": {**asdict(average(traces, settings.confidence)), "standard_error": standard_error(traces)},
        "largest": [asdict(one) for one in find_largest(ritz, settings.top)],
        "smallest": asdict(find_smallest(ritz)),
        "density": {"at": points.tolist(), "density": density.tolist(), "width": width},
    }


def _measure_blocks(
    subject: Subject, problem: Problem, settings: Curvature, workbench: Workbench
) -> list[dict[str, Any]]:
    own = subject.count(settings.on, settings.images)
    images = Images(partial(_read, subject, settings, min(own, settings.block_images or own)))
    conditions = Conditions(
        problem=replace(problem, batches=images, matrix="gauss-newton", weight_decay=0.0),
        probes=settings.probes,
        steps=settings.block_steps,
        seed=settings.seed,
        confidence=settings.confidence,
        workbench=workbench,
    )
    with workbench.listener.enter("products for blocks", conditions.count) as progress:
        return [asdict(found) for found in conditions.measure(lambda done: progress(done, {}))]


INSTRUMENT = Instrument(settings=Curvature, measure=_measure)
