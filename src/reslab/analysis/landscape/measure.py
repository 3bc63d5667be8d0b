"""Loss and error around trained weights, over a plane or a line of random directions or those of the run's own path.

Rows are kept as they are finished: a measurement that was broken off goes on with the next one, to the same numbers.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reslab.analysis.catalogue import Instrument
from reslab.analysis.landscape.directions import (
    Tensors,
    choose_moving,
    digest,
    draw_direction,
    multiply,
    rescale_filters,
)
from reslab.analysis.landscape.grid import Floats, Grid, spread_evenly, surround
from reslab.analysis.landscape.images import Images
from reslab.analysis.landscape.passes import Passes, Settling, choose_passes, stack_one
from reslab.analysis.landscape.path import Components, find_components
from reslab.analysis.landscape.plane import Plane, Probe
from reslab.analysis.landscape.settings import Landscape
from reslab.analysis.landscape.shape import find_extremes, measure_nonconvexity, measure_sharpness
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.networks.create import restore_model
from reslab.networks.finite import tell_not_finite
from reslab.tasks.subject import Subject

PIXELS = 1000 * 32**2  # of images at once, at one point


@dataclass(frozen=True)
class Survey:
    """One measurement: of whom, by which settings, and where its parts are kept."""

    subject: Subject
    settings: Landscape
    workbench: Workbench

    def run(self) -> dict[str, Any]:
        """Measure the centre, the landscape and the path; return what is told of them, arrays aside."""
        centre, wrong = self._measure_centre()
        losses, mistakes = self._measure_rows()
        arrays = {f"axis_{number}": axis for number, axis in enumerate(self.grid.axes, start=1)}
        arrays |= {"loss": losses, "wrong": mistakes}
        found: dict[str, Any] = {
            "images": self.images.count,
            "skipped_images": self.subject.count(self.settings.on, self.settings.images) - self.images.count,
            "points_at_once": self.probe.at_once,
            "centre": {"loss": centre, "wrong": wrong},
            "loss": find_extremes(self.grid, losses),
            "wrong": find_extremes(self.grid, mistakes),
            "nonconvex_share": measure_nonconvexity(self.grid, losses),
            "directions": self._describe_directions(),
        }
        if self.components is None:
            found["sharpness"] = measure_sharpness(self.grid, losses, centre)
        else:
            path = self._follow_path(self.components)
            arrays |= {f"path_{name}": values for name, values in path.items()}
            found["path"] = {name: values.tolist() for name, values in path.items()}
        self.workbench.store(arrays)
        return found

    @cached_property
    def passes(self) -> Passes:
        subject = self.subject
        return choose_passes(subject.network, precision=self.settings.precision, device=subject.device)

    @cached_property
    def images(self) -> Images:
        wanted = self.settings
        size = wanted.batch or max(1, PIXELS // self.subject.side**2)
        return Images(lambda: self.subject.batches(size, on=wanted.on, images=wanted.images))

    @cached_property
    def probe(self) -> Probe:
        """What measures, with statistics that stay or settle."""
        wanted, subject, settle = self.settings, self.subject, None
        if wanted.norms == "anew":
            some = min(wanted.norm_images, subject.count("train"))
            images, _ = next(subject.batches(some, on="train", images=some, drawn=wanted.seed))
            settle = Settling(self.passes, images)
        return Probe(
            passes=self.passes,
            settle=settle,
            images=self.images,
            losses=subject.losses,
            wrong=subject.wrong,
            at_once=wanted.at_once or self.passes.usual_points,
        )

    @cached_property
    def weights(self) -> Tensors:
        """What the directions move, as the network has it."""
        return choose_moving(dict(self.passes.network.named_parameters()), self.settings.moves)

    @cached_property
    def components(self) -> Components | None:
        """The directions of the run's path, where these are asked for."""
        if self.settings.directions == "random":
            return None
        path = [parameters for _, parameters, _ in self.stations]
        return find_components(path, self.weights, count=self.settings.dimensions)

    @cached_property
    def stations(self) -> list[tuple[int, Tensors, Tensors]]:
        """Where the run's path leads by: steps, parameters and statistics of its snapshots, then of the weights.

        Where the best weights were kept, these do not end it.
        """
        subject = self.subject
        if not subject.snapshots:
            raise UserError(
                f"{subject.origin} has no snapshots, so its path is unknown; train with `reslab train --snapshots "
                "0.05,0.1,…`, or leave out directions=pca"
            )
        if subject.step is not None:
            raise UserError(f"a path ends at a run's last weights; write {subject.origin.rpartition('@')[0]}")
        assert subject.trial is not None
        last, best = subject.trial.recipe.iterations, subject.trial.recipe.keep_best is not None
        snapshots = [(step, path) for step, path in sorted(subject.snapshots.items()) if best or step < last]
        network = self.passes.network
        end = (last, dict(network.named_parameters()), dict(network.named_buffers()))
        return [*((step, *_read(path, subject)) for step, path in snapshots), *([] if best else [end])]

    @cached_property
    def directions(self) -> tuple[Tensors, ...]:
        """The directions as they are measured along, in float64 on the CPU."""
        if self.components is not None:
            return self.components.directions
        lengths = self.weights
        if self.settings.scaled_by:
            lengths, _ = _read(Path(self.settings.scaled_by), self.subject)
        return tuple(rescale_filters(drawn, lengths) for drawn in self.drawn)

    @cached_property
    def drawn(self) -> list[Tensors]:
        """The random directions before they are rescaled."""
        axes = range(self.settings.dimensions)
        return [draw_direction(self.weights, seed=self.settings.seed, axis=axis) for axis in axes]

    @cached_property
    def plane(self) -> Plane:
        """Weights and directions where the passes are made."""
        device, dtype = self.subject.device, self.passes.dtype
        placed = [{name: d.to(device, dtype) for name, d in direction.items()} for direction in self.directions]
        return Plane(self.weights, tuple(placed))

    @cached_property
    def grid(self) -> Grid:
        wanted = self.settings
        if self.components is not None:
            return surround(self.components.path, points=wanted.points, span=wanted.span)
        return spread_evenly(dimensions=wanted.dimensions, points=wanted.points, span=wanted.span)

    def _measure_centre(self) -> tuple[float, float]:
        loss, wrong = self.probe.measure(self.plane, np.zeros((1, self.settings.dimensions)))
        if not np.isfinite(loss[0]):
            raise tell_not_finite(self.subject.network, f"for images of {self.subject.data}", what="losses")
        return float(loss[0]), float(wrong[0])

    def _measure_rows(self) -> tuple[Floats, Floats]:
        """Measure what was not kept yet, row by row."""
        kept = self._resume("rows") or {"loss": np.zeros(0), "wrong": np.zeros(0)}
        loss, wrong = kept["loss"], kept["wrong"]
        rows, done = self.grid.rows, 0
        with self.workbench.listener.enter("points", sum(map(len, rows))) as tell:
            for row in rows:
                if done >= len(loss):
                    found = self.probe.measure(self.plane, row)
                    loss, wrong = (np.concatenate(pair) for pair in zip((loss, wrong), found, strict=True))
                    self._keep("rows", {"loss": loss, "wrong": wrong})
                done += len(row)
                tell(done, {})
        return loss.reshape(self.grid.shape), wrong.reshape(self.grid.shape)

    def _follow_path(self, components: Components) -> dict[str, NDArray[Any]]:
        """Measure each station of the path where it is, then where the plane has its projection."""
        kept = self._resume("path") or {"true": np.zeros((0, 2))}
        true, network = kept["true"], self.passes.network
        with self.workbench.listener.enter("path", len(self.stations)) as tell:
            for _, parameters, statistics in self.stations[len(true) :]:
                found = self.probe.measure_stack(stack_one(parameters, network), stack_one(statistics, network))
                true = np.concatenate([true, np.array([found])])
                self._keep("path", {"true": true})
                tell(len(true), {})
        projected_loss, projected_wrong = self.probe.measure(self.plane, components.path)
        return {
            "steps": np.array([step for step, *_ in self.stations]),
            "coordinates": components.path,
            "loss": true[:, 0],
            "wrong": true[:, 1],
            "projected_loss": projected_loss,
            "projected_wrong": projected_wrong,
        }

    def _resume(self, part: str) -> dict[str, NDArray[Any]] | None:
        """Return what was kept of a part, if it was measured along the same directions: snapshots may have come."""
        kept = self.workbench.resume(part)
        return kept if kept and kept["directions"].tolist() == self.digests else None

    def _keep(self, part: str, arrays: dict[str, NDArray[Any]]) -> None:
        self.workbench.keep(part, {**arrays, "directions": np.array(self.digests)})

    @cached_property
    def digests(self) -> list[str]:
        """What tells the directions from others."""
        return [digest(direction) for direction in self.directions]

    def _describe_directions(self) -> dict[str, Any]:
        """Tell one plane from another: digests of raw and rescaled directions, their lengths and the angle's cosine."""
        directions = self.directions
        norms = [multiply(direction, direction) ** 0.5 for direction in directions]
        told: dict[str, Any] = {
            "digests": self.digests,
            "norms": norms,
            "norm_of_weights": multiply(self.weights, self.weights) ** 0.5,
        }
        if self.components is None:
            told["raw_digests"] = [digest(drawn) for drawn in self.drawn]
        else:
            told["explained"] = list(self.components.shares)
        if len(directions) > 1:
            told["cosine"] = multiply(*directions) / (norms[0] * norms[1])
        return told


def _read(path: Path, subject: Subject) -> tuple[Tensors, Tensors]:
    """Return parameters and buffers of a weight file, which must be of the same network."""
    network, _ = restore_model(path, overrides={})
    network.requires_grad_(requires_grad=False)
    shapes = [{name: p.shape for name, p in each.named_parameters()} for each in (network, subject.network)]
    if shapes[0] != shapes[1]:
        raise UserError(f"{path} has the weights of another network than {subject.origin}; give one of the same")
    return dict(network.named_parameters()), dict(network.named_buffers())


def _measure(subject: Subject, settings: Landscape, workbench: Workbench) -> dict[str, Any]:
    return Survey(subject, settings, workbench).run()


INSTRUMENT = Instrument(settings=Landscape, measure=_measure)
