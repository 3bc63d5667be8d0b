"""The paper's figures, for print."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tests.analysis.gradients.found import write_gradients
from tests.runs_by_hand import groups_in, write_run

from reslab.report.figures import draw_curves, draw_figures, draw_findings
from reslab.report.groups import LIGHT


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    """No date, no random ids; valid SVG."""
    for network in ("plain-20", "resnet-20"):
        write_run(tmp_path, network)
    first, second = (draw_figures(groups_in(tmp_path)) for _ in range(2))
    assert first == second
    assert {name for name, _ in first["cifar10"].values()} == {"curves-1-cifar10.svg", "responses-1-cifar10.svg"}
    for _, svg in first["cifar10"].values():
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert "dc:date" not in svg


def test_curves_are_two_panels_on_one_scale(tmp_path: Path) -> None:
    """Like Fig. 6: training thin and dashed, test bold, twins in one colour."""
    for network in ("plain-20", "plain-56", "resnet-20"):
        write_run(tmp_path, network)
    plain, residual = draw_curves(groups_in(tmp_path)).axes
    assert (plain.get_title(), residual.get_title()) == ("Plain networks", "Residual networks")
    assert plain.get_ylim() == residual.get_ylim()
    assert plain.get_xlabel() == "iter. (1e4)"
    train, test = residual.lines
    assert train.get_linewidth() < test.get_linewidth()
    assert train.is_dashed()
    assert not test.is_dashed()
    assert plain.lines[0].get_color() == test.get_color()


def test_what_was_cut_short_does_not_stretch_the_scale(tmp_path: Path) -> None:
    """Unless nothing else is there."""
    write_run(tmp_path, "resnet-110", recipe_name="cifar-paper-110", iterations="6400", error_percent=40.0)
    (alone,) = draw_curves(groups_in(tmp_path)).axes
    write_run(tmp_path, "resnet-20")
    (beside,) = draw_curves(groups_in(tmp_path)).axes
    assert alone.get_ylim()[1] > 40
    assert beside.get_ylim()[1] < 30


def test_no_two_networks_have_one_colour(tmp_path: Path) -> None:
    """What would have to repeat one is left out, there as on the page."""
    for depth in range(20, 75, 6):
        write_run(tmp_path, f"cifar-resnet-{depth}")
    groups = groups_in(tmp_path)
    assert len(groups) == 10
    (axis,) = draw_curves(groups).axes
    tests = [line.get_color() for line in axis.lines if not line.is_dashed()]
    responses = [line.get_color() for line in draw_findings(groups, "responses").axes[0].lines]
    assert len(tests) == len(set(tests)) == len(responses) == len(set(responses)) == len(LIGHT)


def test_responses_are_in_order_and_sorted(tmp_path: Path) -> None:
    """Like Fig. 7: the same values twice, the second time falling."""
    write_run(tmp_path, "resnet-20")
    original, by_size = (
        list(axis.lines[0].get_ydata()) for axis in draw_findings(groups_in(tmp_path), "responses").axes
    )
    assert by_size == sorted(original, reverse=True)
    assert original != by_size
    write_run(tmp_path, "resnet-20", seed=1)
    means = list(draw_findings(groups_in(tmp_path), "responses").axes[0].lines[0].get_ydata())
    (group,) = groups_in(tmp_path)
    pairs = zip(*(run.findings["responses"].marks for run in group.runs), strict=True)
    assert means == pytest.approx([(one.value + other.value) / 2 for one, other in pairs])


def test_views_of_other_quantities_have_scales_of_their_own(tmp_path: Path) -> None:
    """Each is named; what spans magnitudes is logarithmic."""
    write_run(tmp_path).write("analysis/gradients", write_gradients())
    axes = draw_findings(groups_in(tmp_path), "gradients").axes
    assert [axis.get_yscale() for axis in axes] == ["log", "log", "linear", "linear"]
    assert [axis.get_title() for axis in axes][:2] == ["Norm", "Ratio to the weights"]
    assert [axis.get_ylabel() for axis in axes] == ["norm", "norm / norm of weights", "cosine", "cosine"]


def test_a_long_legend_does_not_hide_the_lines(tmp_path: Path) -> None:
    """It goes below, and the page grows."""
    write_run(tmp_path)
    short = draw_curves(groups_in(tmp_path)).get_figheight()
    for depth in range(26, 63, 6):
        write_run(tmp_path, f"cifar-resnet-{depth}")
    assert draw_curves(groups_in(tmp_path)).get_figheight() > short


def test_legends_stand_in_one_place(tmp_path: Path) -> None:
    """In the same corner of each panel; below both where one panel's would hide lines."""

    def places() -> list[tuple[float, bool]]:
        figure = draw_curves(groups_in(tmp_path))
        figure.draw_without_rendering()
        boxes = [(axis.get_window_extent(), axis.get_legend().get_window_extent()) for axis in figure.axes]  # pyright: ignore
        return [(round(legend.x0 - panel.x0), legend.y1 <= panel.y0) for panel, legend in boxes]

    for network in ("plain-20", "plain-56", "resnet-20"):
        write_run(tmp_path, network)
    left, right = places()
    assert left == right
    assert not left[1]
    for depth in range(26, 63, 6):
        write_run(tmp_path, f"cifar-resnet-{depth}")
    assert [below for _, below in places()] == [True, True]


def test_variants_are_not_in_print(tmp_path: Path) -> None:
    """The look-alike of the paper's figure has the paper's networks."""
    write_run(tmp_path, "resnet-20", network_fields={"shortcut": "B"})
    (alone,) = draw_curves(groups_in(tmp_path)).axes
    assert alone.get_legend_handles_labels()[1] == ["resnet-20 shortcut=B"]
    write_run(tmp_path, "resnet-56")
    (axis,) = draw_curves(groups_in(tmp_path)).axes
    assert axis.get_legend_handles_labels()[1] == ["resnet-56"]


def test_no_legend_squeezes_the_plot(tmp_path: Path) -> None:
    """However many runs differ in however many fields, the panel keeps its size and the page holds the legend."""
    write_run(tmp_path / "alone")
    figure = draw_curves(groups_in(tmp_path / "alone"))
    figure.draw_without_rendering()
    alone = figure.axes[0].get_window_extent().size
    for batch in range(1, 11):
        changed = {f"augmentation.{field}": "0.5" for field in ("colour", "mixup", "cutmix")}
        changed |= {"optimizer.learning_rate": f"0.{batch}", "optimizer.clip_norm": "1", "label_smoothing": "0.1"}
        write_run(tmp_path / "many", batch=str(batch), **changed)
    figure = draw_curves(groups_in(tmp_path / "many"))
    figure.draw_without_rendering()
    (axis,) = figure.axes
    assert axis.get_window_extent().size == pytest.approx(alone, rel=0.05)
    legend = axis.get_legend()
    assert legend is not None
    assert all(text.get_text().count("\n") < 3 for text in legend.get_texts())
    box = legend.get_window_extent()
    assert box.y1 <= axis.get_window_extent().y0
    assert (box.x0, box.y0) >= (0, -1)
    assert box.x1 <= figure.bbox.x1


def test_a_run_of_one_evaluation_is_a_dot(tmp_path: Path) -> None:
    """No line leads from one point to nowhere."""
    run = write_run(tmp_path)
    assert {line.get_marker() for line in draw_curves(groups_in(tmp_path)).axes[0].lines} == {"None"}
    log = run.path / "metrics.jsonl"
    log.write_text(log.read_text().splitlines()[-1] + "\n")
    assert {line.get_marker() for line in draw_curves(groups_in(tmp_path)).axes[0].lines} == {"."}
