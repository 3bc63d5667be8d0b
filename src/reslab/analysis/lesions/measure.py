"""What a trained network loses with its blocks: deleted alone, in pairs and in numbers, exchanged, set back.

After Veit et al. (2016), "Residual networks behave like ensembles of relatively shallow networks", and for blocks set
back to their first weights Zhang et al. (2019), "Are all layers created equal?".
"""

import contextlib
from collections.abc import Iterator
from itertools import groupby
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reslab.analysis.anatomy import Anatomy, take_apart
from reslab.analysis.catalogue import Instrument
from reslab.analysis.lesions import plans
from reslab.analysis.lesions.paths import PathTracer, has_paths, measure_norms, sum_up_paths
from reslab.analysis.lesions.plans import Deed, Lesion
from reslab.analysis.lesions.settings import Lesions
from reslab.analysis.lesions.surgery import Damage, Surgeon, sum_batch, sum_up
from reslab.analysis.norms import normalizing
from reslab.analysis.snapshots import load_snapshot
from reslab.analysis.streaming import Floats, computing_exactly, sum_over_images
from reslab.analysis.workbench import Workbench
from reslab.networks import Network
from reslab.networks.build import build_seeded
from reslab.networks.finite import tell_not_finite
from reslab.runtime.execution import Execution
from reslab.tasks.subject import Subject

DEEDS: tuple[Deed, ...] = ("run", "skip", "reset")  # as stored arrays number them


def plan_lesions(anatomy: Anatomy, settings: Lesions) -> list[Lesion]:
    """Return every lesion that is asked for, that of nothing first."""
    count, seed = len(anatomy.parts), settings.seed
    groups = [[index for index, _ in group] for _, group in groupby(_exchangeable(anatomy), lambda pair: pair[1])]
    lesions = [plans.intact(count)]
    lesions += plans.singles(count, "single") if settings.single else ()
    lesions += plans.singles(count, "reset") if settings.reset else ()
    lesions += plans.pairs(count, settings.pairs, seed=seed)
    lesions += plans.several(count, settings.several, settings.draws, seed=seed)
    lesions += plans.shuffles(groups, count, settings.swaps, settings.draws, seed=seed)
    return lesions


def _exchangeable(anatomy: Anatomy) -> Iterator[tuple[int, str]]:
    return ((index, part.stage) for index, part in enumerate(anatomy.parts) if part.exchangeable)


def find_initial(subject: Subject, settings: Lesions) -> tuple[str, Network]:
    """Return where weights to set blocks back to are from, and a network that has them.

    They are those of a snapshot, or those that the run's seed drew; where no run is known, or it did not start from
    random weights, others are drawn.
    """
    if settings.reset_step:
        return f"step {settings.reset_step}", load_snapshot(subject, settings.reset_step)
    spec, task, trial = subject.network.spec, subject.network.task, subject.trial
    seed = trial.seed if trial is not None and trial.start is None else None
    network = build_seeded(spec, task=task, seed=settings.seed if seed is None else seed)
    origin = "drawn" if seed is None else "initial"
    subject.execution.prepare_network(network.to(subject.device))
    return origin, network.eval()


def _measure(subject: Subject, settings: Lesions, bench: Workbench) -> dict[str, Any]:
    network = subject.network.eval()
    anatomy = take_apart(network)
    lesions = plan_lesions(anatomy, settings)
    origin, reserve = "", dict[int, nn.Module]()
    with contextlib.ExitStack() as stack:
        stack.enter_context(normalizing(network, settings.norms))
        if settings.reset:
            origin, first = find_initial(subject, settings)
            stack.enter_context(normalizing(first, settings.norms))
            reserve = {index: part.module for index, part in enumerate(take_apart(first).parts)}
        sums, images = _sum_images(subject, settings, bench, Surgeon(anatomy, reserve), lesions)
    if not np.isfinite(sums[0]).all():
        raise tell_not_finite(network, "for some images", what="losses")
    width = NormalDist().inv_cdf((1 + settings.confidence) / 2)
    damage = sum_up(sums, images, width=width)
    paths = _trace_paths(subject, settings, bench, anatomy, width=width)
    bench.store(
        {
            "kind": np.array([lesion.kind for lesion in lesions]),
            "order": np.array([lesion.order for lesion in lesions], np.int16),
            "deed": np.array([[DEEDS.index(place.deed) for place in lesion.row] for lesion in lesions], np.int8),
            "kendall_tau": np.array([plans.kendall_tau(lesion.order) for lesion in lesions]),
            **{name: getattr(damage, name) for name in Damage.__dataclass_fields__},
        }
    )
    return {
        "images": images,
        "skipped_images": subject.count(settings.on, settings.images) - images,
        "blocks": len(anatomy.parts),
        "intact": {"loss": float(damage.loss[0]), "wrong": float(damage.wrong[0])},
        "reset_to": origin,
        **_tell(anatomy, lesions, damage),
        "paths_by_length": paths,
    }


def _sum_images(
    subject: Subject, settings: Lesions, bench: Workbench, surgeon: Surgeon, lesions: list[Lesion]
) -> tuple[Floats, int]:
    execution = Execution(precision=settings.precision)

    def judge(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        return subject.losses(outputs, targets), subject.wrong(outputs, targets)

    def add(inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        with execution.autocast(subject.device):
            return {"sums": sum_batch(surgeon, lesions, inputs, targets, judge)}

    found, images = sum_over_images(subject, settings, bench, add, batch=settings.batch, part="lesions")
    return found["sums"], images


def _trace_paths(
    subject: Subject, settings: Lesions, bench: Workbench, anatomy: Anatomy, *, width: float
) -> dict[str, Any] | None:
    """Measure gradients by the length of paths; None where blocks have no two ways, or that is not asked for."""
    if not settings.paths or not has_paths(anatomy):
        return None
    count = min(settings.path_images, subject.count(settings.on, settings.images))
    inputs, targets = next(iter(subject.batches(count, on=settings.on, images=count)))
    known = (bench.resume("paths") or {"norms": np.zeros((0, settings.paths))})["norms"].tolist()
    norms: list[list[float]] = []
    lengths = len(anatomy.parts) + 1
    with (
        normalizing(subject.network, settings.norms),
        torch.enable_grad(),
        computing_exactly(),
        bench.listener.enter("gradients along paths", lengths) as progress,
    ):
        tracer = PathTracer(anatomy, inputs)
        losses = subject.losses(tracer.logits, targets)
        for row in measure_norms(tracer, losses, settings.paths, seed=settings.seed, known=known):
            norms.append(row)
            if len(norms) > len(known):
                bench.keep("paths", {"norms": np.array(norms)})
            progress(len(norms), {})
    return {"images": len(inputs), **sum_up_paths(np.array(norms), width=width)}


def _tell(anatomy: Anatomy, lesions: list[Lesion], damage: Damage) -> dict[str, Any]:
    """Return the damage of each kind of lesion: block by block, pair by pair, and by number."""
    parts = anatomy.parts
    rows: dict[str, list[dict[str, Any]]] = {"single": [], "reset": [], "pair": []}
    numbers: dict[str, dict[int, list[int]]] = {"several": {}, "shuffled": {}}
    for index, lesion in enumerate(lesions):
        if lesion.kind in ("single", "reset"):
            part = parts[lesion.changed[0]]
            left = {"left": part.left} if lesion.kind == "single" else {}
            rows[lesion.kind].append({"name": part.name, "stage": part.stage, **left, **_damage_of(damage, index)})
        elif lesion.kind == "pair":
            names = [parts[block].name for block in lesion.changed]
            rows["pair"].append({"names": names, **_damage_of(damage, index)})
        elif lesion.kind != "intact":
            numbers[lesion.kind].setdefault(lesion.amount, []).append(index)
    taus = [plans.kendall_tau(lesion.order) for lesion in lesions]
    return {
        "single": rows["single"],
        "reset": rows["reset"],
        "pairs": rows["pair"],
        "several": [{"deleted": amount, **_spread_of(damage, at)} for amount, at in numbers["several"].items()],
        "shuffled": [
            {"swaps": amount, "kendall_tau": float(np.mean([taus[index] for index in at])), **_spread_of(damage, at)}
            for amount, at in numbers["shuffled"].items()
        ],
    }


def _damage_of(damage: Damage, index: int) -> dict[str, float]:
    return {name: float(getattr(damage, name)[index]) for name in Damage.__dataclass_fields__}


def _spread_of(damage: Damage, at: list[int]) -> dict[str, float]:
    """Return the mean over the draws of one number, and how far single draws are from it."""
    told: dict[str, float] = {"draws": len(at)}
    for name in ("loss", "wrong"):
        values = getattr(damage, name)[at]
        told |= {name: float(values.mean()), f"{name}_std": float(values.std(ddof=1)) if len(at) > 1 else 0.0}
    return told


INSTRUMENT = Instrument(settings=Lesions, measure=_measure)
