"""How fast does the training error fall, and would a plain network get there with more iterations? By the logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reslab.analysis.catalogue import Mark, View
from reslab.analysis.convergence.across import Training, compare_trainings
from reslab.analysis.convergence.settings import Convergence
from reslab.numbers import count
from reslab.report.figures import Line, draw_lines
from reslab.report.markdown import write_table
from tools.questions.asked import Asked, Later, name_in_prose
from tools.questions.question import Answer, Material, Question

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS = (20, 32, 44, 56)  # plain-110 is one run that hardly began, and would weigh heavily in a slope
ALIKE = ("", " accumulate=2")  # the same training, its batches in two parts


def compare(material: Material) -> list[dict[str, Any]]:
    """Return the fits of all seeds, by phases of one learning rate."""
    trainings = [
        Training(network=f"{kind}-{depth}", depth=depth, residual=kind == "resnet", log=run.directory.log())
        for kind in ("plain", "resnet")
        for depth in DEPTHS
        for label in ALIKE
        for run in material.groups[f"{kind}-{depth}{label}"].finished
    ]
    return compare_trainings(trainings, "train_error_percent", Convergence(resamples=200))


def _tell(material: Material) -> Answer:
    first, second, *_ = compare(material)
    floors = {row["network"]: row["floor"] for row in first["networks"]}
    waits = [one for one in first["waits"] if one["law"] == first["law"]]
    shallow, deeper = waits[0], waits[1:]
    slopes = second["slopes"]
    rows = [
        [
            name_in_prose(row["network"]),
            str(row["runs"]),
            *[write_spread(one, name, digits) for one in (row, other) for name, digits in (("floor", 2), ("rate", 3))],
        ]
        for row, other in zip(first["networks"], second["networks"], strict=True)
    ]
    heads = [f"{words}, at {phase['learning_rate']:g}" for phase in (first, second) for words in ("floor %", "rate")]
    return Answer(
        found=(
            "**In deep plain nets the floor rises that the error falls to, and more iterations do not lower it.** At a "
            f"learning rate of {first['learning_rate']:g} it is {floors['plain-20']:.1f} % in plain-20 and "
            f"{floors['plain-56']:.1f} % in plain-56, but {floors['resnet-20']:.1f} and {floors['resnet-56']:.1f} % in "
            f"ResNet-20 and 56: plain-20 would reach its twin after {tell_wait(shallow)} iterations instead of "
            f"{count(shallow['phase_iterations'])}, deeper plain nets would in {_reaching(deeper)}. At "
            f"{second['learning_rate']:g} rates fall with depth in plain nets, by a factor of "
            f"{tell_slope(slopes['plain'])} for ten more layers, and rise in residual ones, by "
            f"{tell_slope(slopes['residual'])}: an exponentially low rate, as the paper conjectures, but mildly so."
        ),
        sure=(
            f"{slopes['plain']['runs']} plain and {slopes['residual']['runs']} residual runs of 20 to 56 layers; 95 % "
            "intervals, which hold if the fitted laws do. All began with one learning rate, by which plain-110 is left "
            "out: it hardly began to train."
        ),
        table=write_table(("", "runs", *heads), rows),
    )


def write_spread(row: Mapping[str, Any], name: str, digits: int) -> str:
    """Write a mean over runs and its deviation."""
    return f"{row[name]:.{digits}f} ± {row[f'{name}_std']:.{digits}f}"


def tell_wait(wait: Mapping[str, Any]) -> str:
    """Write iterations and their interval, in thousands."""
    low, high = (count(round(wait[key], -3)) if wait[key] else "never" for key in ("low", "high"))
    return f"{count(round(wait['iterations'], -3))} ({low} to {high})"


def _reaching(waits: Sequence[Mapping[str, Any]]) -> str:
    reaching, runs = sum(one["runs_reaching"] for one in waits), sum(one["runs"] for one in waits)
    return f"{reaching or 'none'} of {runs} runs"


def tell_slope(slope: Mapping[str, Any]) -> str:
    """Write a factor and its interval."""
    return f"{slope['factor_per_ten_layers']:.2f} ({slope['low']:.2f} to {slope['high']:.2f})"


def _draw(material: Material) -> Figure:
    phases = compare(material)[:2]
    views = [
        View(
            key=name,
            title=f"At a learning rate of {phase['learning_rate']:g}",
            axis="",
            printed_axis="layers",
            quantity=words,
        )
        for phase in phases
        for name, words in (("floor", "floor (%)"), ("rate", f"rate of the {phase['law']} law"))
    ]
    lines = [
        Line(
            name,
            0,
            not residual,
            [_marks(phase, key, residual) for phase in phases for key in ("floor", "rate")],
            DEPTHS,
        )
        for name, residual in (("plain", False), ("residual", True))
    ]
    return draw_lines(lines, views, usual="")


def _marks(phase: Mapping[str, Any], key: str, residual: bool) -> list[Mark]:
    rows = [row for row in phase["networks"] if row["residual"] is residual]
    return [Mark(row["network"], row[key], row[key] - row[f"{key}_std"], row[key] + row[f"{key}_std"]) for row in rows]


QUESTION = Question(
    name="convergence",
    title="How fast does the training error fall, and would a plain network get there with more iterations?",
    tell=_tell,
    draw=_draw,
    figure="says-convergence",
    caption="Floor and rate of the laws fitted to training errors, by depth, at the first two learning rates",
    asked=(
        Asked(
            instrument="convergence",
            settings={"against": "resnet-56-cifar10-eb113f66b78f"},
            networks=("plain-56-cifar10-3f26ec3d8897",),
            of_runs=True,
        ),
    ),
    records=(
        "The command fits one run; [Several runs](../how-to/convergence.md#several-runs) has the comparison that the "
        "page makes, of the logs of the runs listed in [Runs](runs.md).",
    ),
    later=(
        Later(
            "plain-110 at lower rates",
            (
                "reslab train data=cifar10 network=plain-110 recipe.optimizer.learning_rate=0.03",
                "reslab train data=cifar10 network=plain-110 recipe.optimizer.learning_rate=0.01",
            ),
            "cifar10/plain-110-cifar10-[!8]*",
        ),
    ),
)
