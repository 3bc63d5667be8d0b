"""What the benchmarks measure is what `reslab train` trains."""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks import (
    airbench_peer,
    cifar,
    detection,
    fast,
    finetune,
    instruments,
    kernel_times,
    normalization,
    resnet50,
    tutorial,
)
from benchmarks.race import Advance, Contender
from tests.photographs import make_photos
from tests.trials import DIGITS

import reslab
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.networks import build, measure_cost
from reslab.spec import find
from reslab.spec.detection import Detection
from reslab.spec.preprocess import Preprocess

SETTING = {"network": "cifar-resnet-8", "recipe": "digits", "recipe.iterations": "24", "recipe.average_decay": "0.9"}


def test_the_timed_training_is_the_training(tmp_path: Path) -> None:
    """The same trial run and recorded ends with the same error; nothing of the warm-up is left."""
    (trial,) = fast.make_trials(SETTING, DIGITS, seeds=1)
    outcome = fast.train(trial, DIGITS, device="cpu", compile=False)
    assert outcome.error_percent == run_trial(trial, DIGITS, tmp_path).result()["error_percent"]
    assert outcome.failed_at is None
    assert 0 < outcome.train_error_percent < 100
    assert min(outcome.preparation_seconds, outcome.training_seconds, outcome.evaluation_seconds) > 0


def test_seeds_differ_in_nothing_else() -> None:
    """And a warm-up, whose end would have to be read, is refused."""
    one, two = fast.make_trials(SETTING, DIGITS, seeds=2)
    assert (one.seed, two.seed, one.recipe) == (1, 2, two.recipe)
    with pytest.raises(UserError, match="set it to none"):
        fast.make_trials(SETTING | {"recipe": "cifar-paper-110"}, DIGITS, seeds=1)


def test_a_grid_is_every_combination() -> None:
    """In the order given; no grid is one setting."""
    assert list(fast.expand(["a=1,2", "b=x"])) == [{"a": "1", "b": "x"}, {"a": "2", "b": "x"}]
    assert list(fast.expand([])) == [{}]
    with pytest.raises(UserError, match="'a' is no field"):
        list(fast.expand(["a"]))


def test_a_grid_has_a_row_a_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One that is not finite says so and does not stop the others; images held back stand in for the test's."""
    grid = ["--grid", "recipe.optimizer.learning_rate=1e30,0.02"]
    fields = ["recipe.iterations=3", "recipe.batch=16", "recipe.precision=fp32", "network.norm=none"]
    arguments = [
        "--data",
        "digits",
        "--network",
        "cifar-resnet-8",
        "--seeds",
        "2",
        "--json",
        str(tmp_path / "out.json"),
    ]
    monkeypatch.setattr(sys, "argv", ["fast.py", *fields, *arguments, *grid])
    fast.main()
    lines = capsys.readouterr().out.splitlines()
    assert "digits, tuning split" in lines[0]
    assert lines[-2].startswith("1e30")
    assert "not finite at" in lines[-2]
    assert "(2)" in lines[-1]
    assert '"split": "tuning"' in (tmp_path / "out.json").read_text()


def test_a_batch_may_be_larger_than_the_data() -> None:
    """Then an epoch is less than an iteration, and the last one stands for it."""
    fields = {"recipe.iterations": "1", "recipe.batch": "1600"}
    (trial,) = fast.make_trials(SETTING | fields, DIGITS, seeds=1)
    assert fast.train(trial, DIGITS, device="cpu", compile=False).train_error_percent > 50


def test_contenders_take_turns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Who cannot run is named and the others go on; who is skipped is not made; speeds stand beside the peer's."""
    seen: list[str] = []

    def make(label: str) -> Contender:
        def enter() -> Advance:
            if label == "broken":
                raise OSError("no compiler")
            return lambda iterations: seen.extend([label] * iterations)

        return Contender(kind="training", label=label, make=enter, images=2, iterations=1)

    labels = ("peer, eager", "broken", "ours", "ours, compiled")
    monkeypatch.setattr(resnet50, "list_contenders", lambda sizes, iterations: [make(label) for label in labels])
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["resnet50.py", "--rounds", "2", "--skip", "compiled", "--json", str(out)])
    resnet50.main()
    record = json.loads(out.read_text())
    assert {name: len(turns) for name, turns in record["turns"].items()} == {
        "training: peer, eager": 5,  # one whenever another joins or fails to
        "training: ours": 3,
    }
    assert record["failed"] == {"training: broken": "OSError: no compiler"}
    assert record["command"] == "resnet50.py --rounds 2 --skip compiled --json out.json"
    assert seen[-4:] == ["peer, eager"] * 2 + ["ours"] * 2
    ours, peer = (record["images_per_second"][f"training: {who}"] for who in ("ours", "peer, eager"))
    assert f"{ours / peer:.2f}" in capsys.readouterr().out


def test_a_race_a_network(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Kept as the tables of results are made from it: the peer first, and ours by precision and trials at once."""
    monkeypatch.setattr(cifar, "load_images", lambda: DIGITS)
    monkeypatch.setattr(cifar, "make_peer", lambda *_, **__: lambda iterations: None)
    monkeypatch.setattr(cifar, "make_ours", lambda *_, together, **__: lambda iterations: time.sleep(1e-3 * together))
    out = tmp_path / "out.json"
    words = ["--networks", "resnet-20,resnet-56", "--ours", "bf16", "--rounds", "2", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["cifar.py", *words])
    cifar.main()
    rows = json.loads(out.read_text())["images_per_second"]
    assert [row["network"] for row in rows] == ["resnet-20", "resnet-56"]
    assert list(rows[1]) == ["network", "peer", "ours, bf16, 1 at once", "ours, bf16, 8 at once"]
    ratio = rows[1]["ours, bf16, 8 at once"] / rows[1]["peer"]
    assert capsys.readouterr().out.splitlines()[-1].split()[-1] == f"{ratio:.2f}"


def test_contenders_are_the_same_network() -> None:
    """As many parameters in ours as in torchvision's; each kind runs on the CPU."""
    for name in resnet50.PEERS:
        sizes = resnet50.Sizes(network=name, batch=2, side=32, classes=3, device="meta")
        assert measure_cost(sizes.spec).params == sum(weight.numel() for weight in sizes.make_peer().parameters())
    sizes = resnet50.Sizes(network="resnet-18", batch=2, side=32, classes=3, device="cpu")
    for advance in (resnet50.train_peer(sizes), resnet50.train_ours(sizes), resnet50.infer_ours(sizes, 1)):
        advance(1)


def test_detectors_are_the_same_network() -> None:
    """As many trained weights in ours as in torchvision's, which are shown the same objects."""
    scene = detection.Scene(batch=2, shorter=64, classes=3, device="cpu")
    ours = build(find("resnet-50", {"classes": 3}), task=Detection(head="fpn"), device="meta")
    counts = [
        sum(weight.numel() for weight in network.parameters() if weight.requires_grad)
        for network in (ours, detection.make_peer(scene))
    ]
    assert counts[0] == counts[1]
    boxes = scene.make_targets()[:, 1:-1]
    assert (boxes[..., 2:4] > boxes[..., :2]).all()
    assert {image.shape for image in detection.unpad(scene)} == {(3, *scene.size)}


def test_kernels_are_classed_by_name_and_place() -> None:
    """Before and after the network by place, within it by name; gaps are idle, overlaps are not."""
    names = [
        "elementwise",
        "fprop",
        "triton_poi_fused_convolution",
        "fold_pooled_gradients",
        "sm90_dgrad",
        "sm90_wgrad",
        "Memset",
        "stem_wgrad",
        "elementwise",
    ]
    events = [
        {"cat": "kernel", "name": name, "ts": 1e4 * index, "dur": 9e3, "ph": "X"} for index, name in enumerate(names)
    ]
    overlapping = {"cat": "gpu_memcpy", "name": "Memcpy DtoD", "ts": 1.1e4, "dur": 1e3}
    trace = {"traceEvents": [*reversed(events), overlapping, {"cat": "cpu_op", "name": "aten::conv2d"}]}
    times = kernel_times.milliseconds(kernel_times.read_trace(trace))
    assert times == {
        kernel_times.FORWARD: 9,
        kernel_times.INPUTS: 9,
        kernel_times.WEIGHTS: 18,
        kernel_times.NORM: 9,
        kernel_times.POINTWISE: 9,
        kernel_times.LAYOUT: 10,
        kernel_times.INPUT: 9,
        kernel_times.UPDATE: 9,
        kernel_times.IDLE: pytest.approx(8),
    }


def test_the_floor_counts_all_multiply_adds() -> None:
    """Three products a layer, less the gradient of the images; the larger of bytes and operations is the floor."""
    spec = resnet50.Sizes(network="resnet-18", batch=2, side=32, classes=10, device="cpu").spec
    floors = kernel_times.count_floor(spec, batch=2)
    cost = measure_cost(spec, batch=2)
    stem = next(layer for layer in cost.layers if "7x7" in layer.operator)
    products = sum(floor.flops for floor in floors.values()) / 2
    assert products == 3 * cost.multiply_adds - stem.multiply_adds
    for floor in floors.values():
        least = max(floor.bytes / kernel_times.BYTES_PER_SECOND, floor.flops / kernel_times.FLOPS_PER_SECOND)
        assert floor.seconds >= least * (1 - 1e-9)


def test_every_normalization_is_rehearsed() -> None:
    """All of the network's, joined ones together; what their kernels move is near what the floor says."""
    pytest.importorskip("triton")
    spec = find("resnet-50-v1.5")
    found = normalization.list_activations(spec, batch=2)
    projections = sum(count for activation, count in found.items() if activation.added == "projection")
    assert (sum(found.values()), projections) == (49, 4)
    moved = sum(count * sum(activation.count_bytes().values()) for activation, count in found.items())
    floors = kernel_times.count_floor(spec, batch=2)
    assert moved == pytest.approx(floors[kernel_times.NORM].bytes + floors[kernel_times.POINTWISE].bytes, rel=0.1)


def test_hessians_are_multiplied_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By the peer and by us, to what float32 leaves of it; the record has a row a way."""
    words = ["--networks", "cifar-resnet-8", "--images", "4", "--batch", "2", "--rounds", "1", "--vectors", "1,2"]
    record = tmp_path / "hessians.json"
    words += ["--precisions", "fp32", "--layouts", "last,first", "--json", str(record)]
    monkeypatch.setattr(sys, "argv", ["instruments.py", *words])
    monkeypatch.setattr(instruments, "choose_device", lambda: "cpu")
    instruments.main()
    rows = json.loads(record.read_text())["rows"]
    assert [(row["way"], row["vectors"]) for row in rows] == [
        (instruments.PEER, 1),
        ("peer, float32", 1),
        ("ours, fp32, last", 1),
        ("ours, fp32, last", 2),
        ("ours, fp32, first", 1),
        ("ours, fp32, first", 2),
    ]
    assert all(row["off"] < 1e-2 and row["milliseconds"] > 0 for row in rows)
    assert "ours, fp32, first" in capsys.readouterr().out


def test_airbench_is_given_our_images(tmp_path: Path) -> None:
    """Channels last and labels as numbers, where it looks before it would fetch any."""
    airbench_peer.write_data(DIGITS, tmp_path / "cifar10")
    data = torch.load(tmp_path / "cifar10" / "test.pt")
    assert torch.equal(data["images"], torch.from_numpy(DIGITS.test.images).movedim(1, -1))
    assert data["labels"].tolist() == DIGITS.test.targets.tolist()
    assert data["classes"] == list(DIGITS.class_names)


def test_airbenchs_table_is_read() -> None:
    """The last row: its clock, and its errors with and without other views of an image."""
    table = """\
---------------
|  run     |  epoch  |  train_loss  |  train_acc  |  val_acc  |  tta_val_acc  |  total_time_seconds  |
---------------
|       0  |      0  |      1.9340  |     0.4746  |   0.3012  |               |              0.5100  |
|          |   eval  |      1.0270  |     0.9502  |   0.9330  |       0.9402  |              3.4100  |
---------------
"""
    outcome = airbench_peer.read_outcome(table)
    assert outcome == pytest.approx({"training_seconds": 3.41, "error_percent": 5.98, "single_view_error_percent": 6.7})
    peer = {"name": "airbench94", "version": "0.1.8", "outcomes": [outcome, outcome]}
    said = fast.describe_peer(peer)
    assert said == "airbench94 0.1.8 here: 5.98 % (2), of one view 6.70 %, in 3.41 s with its test"


def test_airbench_needs_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a GPU; either is said."""
    monkeypatch.setitem(sys.modules, "airbench", None)
    with pytest.raises(UserError, match="install it with `pip install airbench`"):
        airbench_peer.measure("94", DIGITS, seeds=1)


def test_the_tutorial_is_tested_when_ours_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each epoch too; that test changes nothing, and where the tutorial is done before ours its end counts."""
    monkeypatch.setattr(tutorial, "WORKERS", 0)
    monkeypatch.setattr(tutorial, "SIDE", 32)
    data = make_photos(tmp_path / "photos", train=6)
    torch.manual_seed(0)
    networks = [reslab.create_model("cifar-resnet-8", num_classes=2)]
    networks[0].preprocess = Preprocess(resize=99, crop=99, mean=(0.5,), std=(0.25,))
    networks += [copy.deepcopy(networks[0]) for _ in range(2)]
    early, late = (
        tutorial.follow_tutorial(network, data, epochs=2, ours=ours, seed=1, device="cpu")
        for network, ours in zip(networks[1:], (0, 1e9), strict=True)
    )
    assert early["in_our_time"]["epochs"] == pytest.approx(1 / 3)
    assert early["in_our_time"]["seconds"] < early["epochs"][0]["seconds"] < early["epochs"][1]["seconds"]
    assert late["in_our_time"] == {**late["epochs"][-1], "epochs": 2}
    begun, *ended = (network.state_dict() for network in networks)
    assert all(torch.equal(ended[0][name], ended[1][name]) for name in begun)
    assert not any(torch.equal(begun[name], ended[0][name]) for name in begun if name.endswith("running_mean"))


def test_fine_tuning_stands_beside_random_weights_and_the_tutorial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same seeds and fields; the tutorial is told when ours was done, and the record what all of it took."""
    jobs: list[finetune.Job] = []
    followed: list[dict[str, Any]] = []

    def train(job: finetune.Job) -> finetune.Outcome:
        jobs.append(job)
        return finetune.Outcome(seed=job.seed, seconds=10.0 * len(jobs), error_percent=5.0)

    def follow(_: object, data: Path, **words: Any) -> dict[str, Any]:
        followed.append(words | {"data": data})
        ends = [{"seconds": 20.0 * epoch, "error_percent": 9.0 - epoch} for epoch in (1, 2)]
        return {"seed": words["seed"], "epochs": ends, "in_our_time": {**ends[0], "epochs": 0.5}}

    monkeypatch.setattr(finetune, "train", train)
    monkeypatch.setattr(finetune, "follow_tutorial", follow)
    monkeypatch.setattr(finetune.reslab, "create_model", lambda *_, **__: None)
    photos, out = make_photos(tmp_path / "photos"), tmp_path / "beside.json"
    words = ["beside", str(photos), "recipe.batch=4", "--seeds", "2", "--tutorial-epochs", "2", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["finetune.py", *words])
    finetune.main()
    assert [(job.recipe, job.weights, job.seed) for job in jobs] == [
        ("finetune", "imagenet", 1),
        ("photos", None, 1),
        ("finetune", "imagenet", 2),
        ("photos", None, 2),
    ]
    assert {job.fields["recipe.batch"] for job in jobs} == {"4"}
    assert [(one["seed"], one["epochs"], one["ours"]) for one in followed] == [(1, 2, 10.0), (2, 2, 30.0)]
    record = json.loads(out.read_text())
    assert list(record["data"]["photos"]) == ["ours", "scratch", "tutorial"]
    assert record["images"] == {"photos": {"train": 16, "test": 6}}
    assert record["tutorial_epochs"] == 2
    assert record["seconds"] > 0
    assert "tutorial, in our time   8.0      20.0" in capsys.readouterr().out


def test_a_study_says_which_settings_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And goes on with the others."""

    def train_all(jobs: Sequence[finetune.Job], **_: object) -> Iterator[finetune.Outcome | str]:
        for job in jobs:
            assert (job.held_out, job.recipe) == (finetune.HELD_OUT, "photos")
            failed = job.fields[finetune.LENGTH] == "100"
            yield (
                "it diverged"
                if failed
                else finetune.Outcome(
                    seed=job.seed, seconds=1.0, error_percent=5.0, validation_error_percent=4.0 + job.seed
                )
            )

    monkeypatch.setattr(finetune, "train_all", train_all)
    photos, out = make_photos(tmp_path / "photos"), tmp_path / "study.json"
    words = ["study", str(photos), "--only", "length", "--seeds", "2", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["finetune.py", *words])
    finetune.main()
    record = json.loads(out.read_text())
    assert [row["setting"] for row in record["settings"]] == ["rate=0.005 length=100", "rate=0.005 length=200"]
    assert record["settings"][0]["outcomes"] == ["it diverged"] * 2
    assert record["held_out"] == 0.25
    assert "5.5 ± 0.7" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--ours", "fp32,foo"], "argument --ours: 'foo' is none of them; choose"),
        (["--networks", "resnet-20,foo"], "there is no network 'foo'"),
        (["--together", "1,x"], "'x' is no whole number of at least 1"),
        (["--rounds", "0"], "'0' is no whole number of at least 1"),
    ],
)
def test_what_cannot_be_raced_is_refused(
    words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is loaded, with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["cifar.py", *words])
    with pytest.raises(SystemExit) as ended:
        cifar.main()
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
