"""What the charts are given."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from tests.analysis.gradients.found import write_gradients
from tests.runs_by_hand import EVALUATIONS, count_error, groups_in, write_run

from reslab.report import charts
from reslab.report.groups import LIGHT
from reslab.report.records import Point
from reslab.tasks.classification.panel import MOST_CLASSES


def test_curves_stand_plain_beside_residual(tmp_path: Path) -> None:
    """A plot for each family that is there, on one scale, in 1e4 iterations as in Fig. 6."""
    for network in ("plain-20", "plain-56", "resnet-20"):
        write_run(tmp_path, network)
    plots = charts.plot_curves(groups_in(tmp_path), key="k")
    assert [plot.title for plot in plots] == ["Plain networks", "Residual networks"]
    assert {plot.share for plot in plots} == {"k"}
    assert [series["name"] for series in plots[0].content["series"]] == ["plain-20", "plain-56"]
    (residual,) = plots[1].content["series"]
    assert residual["x"][-1] == 64_000
    assert len(residual["test"]) == EVALUATIONS
    assert plots[0].content["unit"] == 10_000


def test_short_runs_count_single_iterations(tmp_path: Path) -> None:
    """Ten thousands would be unreadable for 640."""
    write_run(tmp_path, iterations="640")
    assert charts.plot_curves(groups_in(tmp_path), key="k")[0].content["unit"] == 1


def test_one_runs_curve_marks_the_rate(tmp_path: Path) -> None:
    """Error and loss, with lines at 32k and 48k; the whole of the error is in sight."""
    write_run(tmp_path)
    (group,) = groups_in(tmp_path)
    error, loss = charts.plot_run_curve(group, group.runs[0], key="k")
    assert error.content["drops"] == loss.content["drops"] == [32_000, 48_000]
    (series,) = error.content["series"]
    assert series["ceiling"] >= max(series["test"]) - 1e-3
    assert loss.content["series"][0]["test"][0] > loss.content["series"][0]["test"][-1]


def test_a_loss_that_is_a_sum_stands_with_its_parts(tmp_path: Path) -> None:
    """In colours of their own; a task whose tests have no loss shows that of training."""
    run = write_run(tmp_path, finished=False)
    (group,) = groups_in(tmp_path)
    values = {"learning_rate": 0.1, "train_loss": 3.0, "train_rpn_box_loss": 1.0, "train_roi_class_loss": 2.0}
    record = replace(group.runs[0], points=(Point(step=1, values=values),))
    assert run.path.name == record.id
    *_, loss = charts.plot_run_curve(group, record, key="k")
    named = {series["name"]: (series["train"], series["test"]) for series in loss.content["series"]}
    assert named == {"sum": ([3.0], [None]), "rpn box": ([1.0], [None]), "roi class": ([2.0], [None])}
    assert len({series["shade"] for series in loss.content["series"]}) == 3


def test_a_rate_that_changes_all_the_time_is_not_marked(tmp_path: Path) -> None:
    """A line at every evaluation would say nothing."""
    write_run(tmp_path, **{"schedule.kind": "one-cycle"})
    (group,) = groups_in(tmp_path)
    assert [plot.content["drops"] for plot in charts.plot_run_curve(group, group.runs[0], key="k")] == [[], []]


def test_a_run_without_log_has_no_curve(tmp_path: Path) -> None:
    """Nothing is drawn from nothing."""
    run = write_run(tmp_path, finished=False)
    (run.path / "metrics.jsonl").unlink()
    (group,) = groups_in(tmp_path)
    assert charts.plot_run_curve(group, group.runs[0], key="k") == []
    assert charts.plot_curves([group], key="k") == []


def test_depth_needs_two_depths(tmp_path: Path) -> None:
    """One line for plain, one for residual; unfinished runs have no end to show."""
    write_run(tmp_path, "plain-20")
    write_run(tmp_path, "resnet-20")
    assert charts.plot_depth(groups_in(tmp_path), key="k") == []
    write_run(tmp_path, "plain-56", error_percent=13.0)
    write_run(tmp_path, "resnet-56", finished=False)
    (plot,) = charts.plot_depth(groups_in(tmp_path), key="k")
    (line,) = plot.content["series"]
    assert (line["name"], line["x"]) == ("plain", [20, 56])
    assert line["test"][1] > line["test"][0]


def test_what_is_above_60_percent_is_not_displayed_at_first(tmp_path: Path) -> None:
    """As plain-110 in Fig. 6: it waits to be clicked, and leaves the scale along depth; alone it is shown."""
    write_run(tmp_path, "plain-110", error_percent=73.0)
    (alone,) = charts.plot_curves(groups_in(tmp_path), key="k")
    assert [series["hidden"] for series in alone.content["series"]] == [False]
    for network in ("plain-20", "plain-56"):
        write_run(tmp_path, network, error_percent=13.0)
    groups = groups_in(tmp_path)
    (plain,) = charts.plot_curves(groups, key="k")
    assert {series["name"]: series["hidden"] for series in plain.content["series"]} == {
        "plain-20": False,
        "plain-56": False,
        "plain-110": True,
    }
    (line,) = charts.plot_depth(groups, key="k")[0].content["series"]
    assert line["test"][-1] > 70 > 14 > line["ceiling"] >= 13


def test_what_is_seen_at_first_has_its_own_colour(tmp_path: Path) -> None:
    """Those with the most seeds come first; the rest wait to be clicked."""
    depths = range(20, 75, 6)
    for depth in depths:
        write_run(tmp_path, f"cifar-resnet-{depth}", responses=False)
    for network in ("cifar-resnet-20", "cifar-resnet-74"):
        write_run(tmp_path, network, seed=1, responses=False)
    write_run(tmp_path, "plain-20")
    plain, residual = charts.plot_curves(groups_in(tmp_path), key="k")
    seen = [series for series in residual.content["series"] if not series["hidden"]]
    assert len(residual.content["series"]) == len(depths) > len(seen)
    assert {series["name"] for series in seen} >= {"resnet-20", "resnet-74"}
    assert sorted(series["shade"] for series in seen) == list(range(len(LIGHT)))
    assert [series["hidden"] for series in plain.content["series"]] == [False]
    (twin,) = (series for series in seen if series["name"] == "resnet-20")
    assert plain.content["series"][0]["shade"] == twin["shade"]


def test_variants_wait_to_be_clicked_where_colours_are_few(tmp_path: Path) -> None:
    """Other shortcuts and recipes, behind the networks they vary; while all have a colour they are seen."""
    for network in ("resnet-20", "resnet-56"):
        for seed in (0, 1):
            write_run(tmp_path, network, seed=seed)
        write_run(tmp_path, network, network_fields={"shortcut": "B"})
        write_run(tmp_path, network, **{"optimizer.decay": "all"})

    def seen() -> list[dict[str, bool]]:
        groups = groups_in(tmp_path)
        drawn = (charts.plot_curves(groups, key="k"), charts.plot_findings(groups, "responses", key="k"))
        return [{series["name"]: not series["hidden"] for series in plots[-1].content["series"]} for plots in drawn]

    curves, responses = seen()
    assert curves == responses
    assert len(curves) == 6
    assert all(curves.values())
    for network in ("resnet-20", "resnet-56"):
        write_run(tmp_path, network, network_fields={"shortcut": "C"})
    curves, responses = seen()
    assert curves == responses
    names = [
        f"resnet-{depth} {what}" for depth in (20, 56) for what in ("optimizer.decay=all", "shortcut=B", "shortcut=C")
    ]
    assert list(curves) == ["resnet-20", "resnet-56", *names]
    assert [name for name, shown in curves.items() if shown] == ["resnet-20", "resnet-56"]


def test_what_is_finished_is_drawn_before_what_was_interrupted(tmp_path: Path) -> None:
    """Variants too: people with photographs have nothing else, and colours go to them first."""
    write_run(tmp_path, "resnet-20", finished=False)
    rates = [f"0.{rate}5" for rate in range(1, len(LIGHT) + 1)]
    for rate in rates[:2]:
        write_run(tmp_path, "resnet-20", **{"optimizer.learning_rate": rate})
    (plot,) = charts.plot_curves(groups_in(tmp_path), key="k")
    assert [series["hidden"] for series in plot.content["series"]] == [False] * 3
    for rate in rates[2:]:
        write_run(tmp_path, "resnet-20", **{"optimizer.learning_rate": rate})
    (plot,) = charts.plot_curves(groups_in(tmp_path), key="k")
    assert {series["name"]: series["hidden"] for series in plot.content["series"]} == {
        "resnet-20": True,
        **{f"resnet-20 optimizer.learning_rate={rate}": False for rate in rates},
    }


def test_lines_of_variants_along_depth_wait_to_be_clicked(tmp_path: Path) -> None:
    """Unless there is no other."""
    for network in ("resnet-20", "resnet-56"):
        write_run(tmp_path, network, network_fields={"shortcut": "B"})
    (plot,) = charts.plot_depth(groups_in(tmp_path), key="k")
    assert [series["hidden"] for series in plot.content["series"]] == [False]
    for network in ("resnet-20", "resnet-56"):
        write_run(tmp_path, network)
    (plot,) = charts.plot_depth(groups_in(tmp_path), key="k")
    assert {line["name"]: line["hidden"] for line in plot.content["series"]} == {
        "resnet": False,
        "resnet shortcut=B": True,
    }


def test_no_chart_begins_empty(tmp_path: Path) -> None:
    """Where all its networks have to share colours, the first is seen."""
    for depth in range(20, 57, 6):
        for seed in (0, 1):
            write_run(tmp_path, f"cifar-resnet-{depth}", seed=seed, responses=False)
    for network in ("highway-19", "highway-32"):
        write_run(tmp_path, network, responses=False)
    *_, other = charts.plot_curves(groups_in(tmp_path), key="k")
    assert [series["hidden"] for series in other.content["series"]] == [False, True]


def test_depth_joins_only_what_was_trained_alike(tmp_path: Path) -> None:
    """A shortened run is no deeper network's error; the warm-up that depth asks for parts nothing."""
    for network in ("resnet-20", "resnet-56"):
        write_run(tmp_path, network)
    write_run(tmp_path, "resnet-110", recipe_name="cifar-paper-110")
    write_run(tmp_path, "resnet-1202", responses=False, recipe_name="cifar-paper-110", iterations="6400")
    (plot,) = charts.plot_depth(groups_in(tmp_path), key="k")
    assert [(line["name"], line["x"]) for line in plot.content["series"]] == [("resnet", [20, 56, 110])]
    for network in ("resnet-32", "resnet-44"):
        write_run(tmp_path, network, recipe_name="fast")
    (plot,) = charts.plot_depth(groups_in(tmp_path), key="k")
    assert [(line["name"], line["x"]) for line in plot.content["series"]] == [
        ("resnet recipe=cifar-paper", [20, 56, 110]),
        ("resnet recipe=fast", [32, 44]),
    ]


def test_responses_of_one_run_have_its_confidence(tmp_path: Path) -> None:
    """In the network's order, with their intervals."""
    write_run(tmp_path, seed=0, responses=False)
    run = write_run(tmp_path, seed=1)
    (plot,) = charts.plot_findings(groups_in(tmp_path), "responses", key="k")
    (series,) = plot.content["series"]
    expected = run.read("analysis/responses")["layers"]
    assert [layer[0] for layer in series["original"]] == [layer["name"] for layer in expected]
    assert series["original"][3][1:] == [round(expected[3][part], 4) for part in ("std", "low", "high")]


def test_responses_are_means_over_seeds(tmp_path: Path) -> None:
    """As the verdict's are: a bad seed does not stand for its network. One measured on other images joins no mean."""
    runs = [write_run(tmp_path, seed=seed) for seed in range(4)]
    runs[3].write("analysis/responses", runs[3].read("analysis/responses") | {"images": 100})
    (plot,) = charts.plot_findings(groups_in(tmp_path), "responses", key="k")
    (series,) = plot.content["series"]
    third = [run.read("analysis/responses")["layers"][3]["std"] for run in runs[:3]]
    mean, std = statistics.fmean(third), statistics.stdev(third)
    assert series["seeds"] == 3
    assert series["original"][3] == ["conv4", *[round(value, 4) for value in (mean, mean - std, mean + std)]]


def test_the_middle_of_the_sorted_responses_is_the_verdicts_median(tmp_path: Path) -> None:
    """Each seed is sorted by itself: the mean of medians is not the median of means."""
    runs = [write_run(tmp_path, seed=seed) for seed in range(3)]
    (plot,) = charts.plot_findings(groups_in(tmp_path), "responses", key="k")
    (series,) = plot.content["series"]
    found = [[layer["std"] for layer in run.read("analysis/responses")["layers"]] for run in runs]
    assert statistics.median(layer[1] for layer in series["sorted"]) == round(
        statistics.fmean(statistics.median(layers) for layers in found), 4
    )
    assert statistics.median(layer[1] for layer in series["original"]) != series["sorted"][9][1]


def test_views_may_have_axes_of_their_own(tmp_path: Path) -> None:
    """What spans magnitudes keeps its digits, and its means are those of logarithms; responses have one axis."""
    for seed, scale in enumerate((1.0, 4.0)):
        write_run(tmp_path, seed=seed).write("analysis/gradients", write_gradients(scale))
    groups = groups_in(tmp_path)
    (plot,) = charts.plot_findings(groups, "gradients", key="k")
    assert plot.content["own"] == {
        "norm": {"words": "norm", "log": True},
        "ratio": {"words": "norm / norm of weights", "log": True},
        "cosine": {"words": "cosine", "log": False},
        "neighbours": {"words": "cosine", "log": False},
    }
    (series,) = plot.content["series"]
    name, mean, low, high = series["norm"][1]
    assert (name, mean) == ("conv2_1.1", 4e-5)
    assert mean / low == pytest.approx(high / mean, rel=1e-3)
    assert [mark[1] for mark in series["neighbours"]] == [0.9, 0.1]
    (responses,) = charts.plot_findings(groups, "responses", key="k")
    assert responses.content["own"] == {}


def test_class_errors_are_means_over_seeds(tmp_path: Path) -> None:
    """A row for each network."""
    runs = [write_run(tmp_path, seed=seed, error_percent=5.0 + 9 * seed) for seed in (0, 1)]
    write_run(tmp_path, "plain-20")
    (plot,) = charts.plot_panels(groups_in(tmp_path), key="k")
    assert plot.content["rows"] == ["plain-20", "resnet-20"]
    errors = [run.result()["class_error_percent"][4] for run in runs]
    assert plot.content["errors"][1][4] == round(sum(errors) / 2, 2)


def test_a_class_without_images_has_no_error(tmp_path: Path) -> None:
    """Neither None, as it is written now, nor the zero of early versions is taken for one."""
    for seed, written in ((0, None), (1, 0.0)):
        run = write_run(tmp_path, seed=seed, exact_norms=True)
        result = run.result()
        result["confusion"][4], result["class_error_percent"][4] = [0] * 10, written
        run.finish(result | dict.fromkeys(("error_percent", "test_error_percent"), count_error(result["confusion"])))
    (plot,) = charts.plot_panels(groups_in(tmp_path), key="k")
    assert [error is None for error in plot.content["errors"][0]] == [number == 4 for number in range(10)]


def test_too_many_classes_give_no_picture(tmp_path: Path) -> None:
    """A thousand classes would be a million cells."""
    write_run(tmp_path, classes=[str(number) for number in range(MOST_CLASSES + 1)])
    (group,) = groups_in(tmp_path)
    assert group.runs[0].result is not None
    (section,) = group.runs[0].result.panel.sections()
    assert section.plots == ()
    assert charts.plot_panels([group], key="k") == []
