"""Quantities, read off records."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from reslab.paper.measurements import (
    AtTheEnd,
    ByProtocol,
    Latency,
    Logged,
    Record,
    ResponseStd,
    Timed,
    Unreadable,
)

RECORD = Record(
    data="cifar10",
    iterations=64_000,
    evaluate_every=1_000,
    result={"error_percent": 8.5, "confusion": [[5, 1], [0, 4]]},
    log=[{"step": 1_000 * k, "test_error_percent": float(k)} for k in range(1, 65)],
    analyses={
        "responses": {
            "data": "cifar10",
            "images": 10,
            "layers": [{"std": std} for std in (1.0, 3.0, 2.0, 0.5)],
        }
    },
)
BEFORE_THE_DROP = Logged(metric="test_error_percent", after=31_000, upto=32_000)


def test_the_end_is_the_results() -> None:
    """Not the log's last line."""
    assert AtTheEnd("error_percent").read(RECORD) == 8.5


def test_an_iteration_is_the_entry_at_it() -> None:
    """At the recipe's own pace one entry; with a finer log, those of the last 1,000 iterations."""
    assert BEFORE_THE_DROP.read(RECORD) == 32
    log = [{"step": 500 * k, "test_error_percent": float(k)} for k in range(1, 129)]
    assert BEFORE_THE_DROP.read(replace(RECORD, evaluate_every=500, log=log)) == 63.5
    log = [{"step": 700 * k, "test_error_percent": float(k)} for k in range(1, 92)]
    assert BEFORE_THE_DROP.read(replace(RECORD, evaluate_every=700, log=log)) == 45  # step 31,500


def test_a_span_is_a_mean() -> None:
    """Its first iteration does not belong to it, its last does."""
    assert Logged(metric="test_error_percent", after=50_000, upto=64_000).read(RECORD) == sum(range(51, 65)) / 14


def test_iterations_shrink_with_the_run() -> None:
    """Half of a short run is where its rate drops."""
    log = [{"step": 10 * k, "test_error_percent": float(k)} for k in range(1, 65)]
    assert BEFORE_THE_DROP.read(replace(RECORD, iterations=640, evaluate_every=10, log=log)) == 32


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"evaluate_every": 2_000}, r"every 2,000 of 64,000 iterations; recipe\.evaluate_every=1000 is enough"),
        ({"iterations": 20, "evaluate_every": 1}, "too few for a curve"),
        ({"log": RECORD.log[40:]}, "its log has no test_error_percent at iteration"),
        ({"log": [entry for entry in RECORD.log if entry["step"] != 32_000]}, "its log has no .* at iteration 32,000"),
    ],
)
def test_a_coarse_log_is_not_read(change: dict[str, object], reason: str) -> None:
    """A training error averaged over half the run is no error at its end."""
    with pytest.raises(Unreadable, match=reason):
        BEFORE_THE_DROP.read(replace(RECORD, **change))


def test_a_span_with_a_gap_is_not_read() -> None:
    """A log that was cut says something else than the whole one."""
    last = Logged(metric="test_error_percent", after=50_000, upto=64_000)
    with pytest.raises(Unreadable, match="at iteration 53,000"):
        last.read(replace(RECORD, log=RECORD.log[:52]))


def test_responses_are_ranked() -> None:
    """The largest first; the median without a rank."""
    assert [ResponseStd(rank).read(RECORD) for rank in (1, 2, 4)] == [3.0, 2.0, 0.5]
    assert ResponseStd().read(RECORD) == 1.5
    with pytest.raises(Unreadable, match="it has only 4 layers"):
        ResponseStd(5).read(RECORD)


@pytest.mark.parametrize(
    ("responses", "reason"),
    [
        (None, "not measured"),
        ({"data": "digits", "images": 10, "layers": []}, "10 images of digits"),
        ({"data": "cifar10", "images": 4, "layers": []}, "4 images of cifar10, not the 10"),
    ],
)
def test_other_responses_are_not_read(responses: dict[str, object] | None, reason: str) -> None:
    """They are those to all images the run was tested on."""
    with pytest.raises(Unreadable, match=reason):
        ResponseStd(1).read(replace(RECORD, analyses={} if responses is None else {"responses": responses}))


def test_a_test_by_another_protocol_is_read() -> None:
    """If it is of all images the run is tested on, and there."""
    scores = {"data": "cifar10", "images": 10, "error_percent": 7.5}
    top1 = ByProtocol("10-crop", "error_percent")
    assert top1.read(replace(RECORD, analyses={"10-crop": scores})) == 7.5
    for tests, why in (
        ({}, "it was not tested with 10-crop; run `reslab reproduce` without --from"),
        ({"10-crop": scores | {"images": 9}}, "used 9 images of cifar10, not the 10 test images of the run"),
        ({"10-crop": scores | {"data": "cifar100"}}, "used 10 images of cifar100"),
        ({"10-crop": {"data": "cifar10", "images": 10}}, "cannot be read"),
    ):
        with pytest.raises(Unreadable, match=why):
            top1.read(replace(RECORD, analyses=tests))


def test_other_iterations_scale_by_their_own_length() -> None:
    """A curve of 600,000 iterations is read at the same fraction of a run of 64,000."""
    halfway = Logged(metric="test_error_percent", after=295_000, upto=300_000, iterations=600_000, log_every=10_000)
    assert halfway.read(RECORD) == 32
    with pytest.raises(Unreadable, match="evaluates every 1,000 of 64,000"):
        replace(halfway, log_every=5_000).read(RECORD)


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_not_finite_is_no_number(value: float | None) -> None:
    """A record has null for it, an early one NaN; neither is averaged, ranked or judged."""
    log = [*RECORD.log[:31], {"step": 32_000, "test_error_percent": value}, *RECORD.log[32:]]
    with pytest.raises(Unreadable, match="no test_error_percent at iteration 32,000"):
        BEFORE_THE_DROP.read(replace(RECORD, log=log))  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(Unreadable, match="its result has no error_percent"):
        AtTheEnd("error_percent").read(replace(RECORD, result={"error_percent": value}))
    responses = {**RECORD.analyses["responses"], "layers": [{"std": 1.0}, {"std": value}]}
    with pytest.raises(Unreadable, match="its responses"):
        ResponseStd(rank=1).read(replace(RECORD, analyses={"responses": responses}))
    test = {"data": "cifar10", "images": 10, "error_percent": value}
    with pytest.raises(Unreadable, match="its 10-crop test has no error_percent"):
        ByProtocol("10-crop", "error_percent").read(replace(RECORD, analyses={"10-crop": test}))


def test_a_class_has_a_number_of_its_own() -> None:
    """In a result in the order of its classes, in a test by name; of objects these are counted, not images."""
    result = {"class_names": ["cat", "dog"], "class_ap50_percent": [70.0, None], "class_objects": [3, 4]}
    test = {"data": "pets", "images": 9, "class_ap50_percent": {"cat": 71.0, "dog": None}}
    test["class_objects"] = {"cat": 3, "dog": 4}
    record = replace(RECORD, data="pets", result=result, analyses={"refined": test})
    assert AtTheEnd("class_ap50_percent", "cat").read(record) == 70
    refined = ByProtocol("refined", "class_ap50_percent", "cat")
    assert refined.read(record) == 71
    for measurement in (AtTheEnd("class_ap50_percent", "dog"), replace(refined, of_class="dog")):
        with pytest.raises(Unreadable, match="has no class_ap50_percent of dog"):
            measurement.read(record)
    fewer = {"refined": test | {"class_objects": {"cat": 1, "dog": 4}}}
    with pytest.raises(Unreadable, match="used images with 5 objects, not the 7 that the run is tested on"):
        refined.read(replace(record, analyses=fewer))
    with pytest.raises(Unreadable, match="used 9 images of cars"):
        refined.read(replace(record, analyses={"refined": test | {"data": "cars"}}))


TIMED = replace(
    RECORD,
    devices={"NVIDIA H200": "AMD EPYC"},
    timings={"images_per_second": 40.0, "peak_memory_bytes": 3 * 2**30, "seconds": 9},
)


def test_what_a_training_took_is_told_in_gibibytes_and_milliseconds() -> None:
    """With what it was trained on."""
    assert Timed("peak_memory_bytes").read(TIMED) == 3
    assert Timed("images_per_second").read(TIMED) == 25
    assert Timed("images_per_second").list_devices(TIMED) == ("NVIDIA H200",)


def test_the_memory_of_a_process_is_not_that_of_a_training() -> None:
    """Nor is what several runs took that of one; the speed on a CPU is known."""
    on_cpu = replace(TIMED, devices={"cpu": "AMD EPYC"})
    with pytest.raises(Unreadable, match="only known on a GPU, and it was trained on a CPU"):
        Timed("peak_memory_bytes").read(on_cpu)
    assert Timed("images_per_second").read(on_cpu) == 25
    assert Timed("images_per_second").list_devices(on_cpu) == ("AMD EPYC",)
    for metric in ("peak_memory_bytes", "images_per_second"):
        with pytest.raises(Unreadable, match="it was not alone on its device"):
            Timed(metric).read(replace(TIMED, alone=False))
        for timings in ({}, {metric: None}, {metric: math.nan}, {metric: 0.0}):
            with pytest.raises(Unreadable, match=f"its log of timings has no {metric}"):
                Timed(metric).read(replace(TIMED, timings=timings))


def test_a_latency_is_read_where_it_was_measured() -> None:
    """On images of the run's own data."""
    found = {"data": "cifar10", "milliseconds": 12.5, "device": "NVIDIA H200"}
    record = replace(RECORD, analyses={"latency": found})
    assert Latency().read(record) == 12.5
    assert Latency().list_devices(record) == ("NVIDIA H200",)
    for analyses, why in (
        ({}, "its latency was not measured; run `reslab reproduce` without --from"),
        ({"latency": {}}, "its latency cannot be read"),
        ({"latency": found | {"milliseconds": None}}, "its latency cannot be read"),
        ({"latency": found | {"data": "cifar100"}}, "its latency was measured on images of cifar100"),
    ):
        with pytest.raises(Unreadable, match=why):
            Latency().read(replace(RECORD, analyses=analyses))
