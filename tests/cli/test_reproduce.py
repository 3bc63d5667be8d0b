"""`reslab reproduce`, on a CIFAR-10 of 23 images."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.photographs import make_photos
from tests.runs_by_hand import finish_run, write_run

from reslab.cli.reproduce import choose_claims
from reslab.cli.terminal import asking
from reslab.data import catalogue
from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.experiments import estimate, together
from reslab.experiments import evaluate as evaluating
from reslab.experiments.reproduce import plan_runs, reproduce
from reslab.experiments.run import run_trial
from reslab.paper.claim import TINY_IMAGENET, Setting
from reslab.paper.claims import CLAIMS
from reslab.paper.measurements import ByEnsemble
from reslab.report.reporting import judge_runs
from reslab.runs.directory import RunDirectory

SMALL = "cifar-resnet-8 input_size=24"
SHORT = ["recipe.iterations=2", "recipe.evaluate_every=1", "recipe.batch=4"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CIFAR-10 of 20 training and 3 test images."""
    generator = np.random.default_rng(0)

    def split(count: int) -> ArraySplit:
        images = generator.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
        return ArraySplit(images, generator.integers(0, 10, count, dtype=np.uint8))

    dataset = ArrayDataset(name="cifar10", class_names=tuple("0123456789"), train=split(20), test=split(3))
    monkeypatch.setattr(catalogue, "load_dataset", lambda name: dataset)
    monkeypatch.setattr(estimate, "SECONDS", 0.02)


@pytest.mark.usefixtures("small")
def test_what_is_missing_is_run_and_judged(reslab, tmp_path: Path) -> None:
    """Two seeds of one network; a short run on other images is a reduced setting; again, nothing is trained."""
    words = ["reproduce", "table-6", "--only", "ResNet_20", "--seeds", "2", "--together", "2", *SHORT]
    words += ["--runs", str(tmp_path / "runs")]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert "trials: 2, finished: 0, to run: 2 on cpu, 4 iterations in all" in outcome.err
    needs = r"one after the other, [\d,.]+ [MG]iB of memory, [\d,.]+ MiB of disk"
    assert re.search(needs, outcome.err)
    assert "reduced setting" in outcome.out
    assert "runs: 2, counted above: 2" in outcome.out
    assert "recipe.iterations is 2 instead of 64,000" in outcome.out
    assert "finished: 2, to run: 0" in reslab(*words).err
    assert len(list((tmp_path / "runs").iterdir())) == 2
    (judged,) = json.loads(reslab(*words, "--json").out)
    assert (judged["word"], judged["n"], judged["claim"]["published"]) == ("reduced setting", 2, 8.75)
    assert "data.fingerprint" in judged["remarks"]


@pytest.mark.usefixtures("small")
def test_what_takes_long_is_told_and_wants_a_yes(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan with its cost is printed and nothing trained, by a dry run or without a terminal; --yes trains."""
    monkeypatch.setattr(asking, "LONG", 0)
    words = ["reproduce", "fig-7", "--only", "resnet-20,plain-20", *SHORT, "--runs", str(tmp_path / "runs")]
    outcome = reslab(*words)
    assert outcome.code == 2
    assert "to train: resnet-20, plain-20; seed 1" in outcome.err or "to train: plain-20, resnet-20" in outcome.err
    assert "one after the other" in outcome.err and "add --yes to start it" in outcome.err
    dry = reslab(*words, "--dry-run")
    assert (dry.code, dry.out.count("new")) == (0, 2)
    plan = json.loads(reslab(*words, "--dry-run", "--json").out)
    assert [trial["state"] for trial in plan["trials"]] == ["new", "new"] and plan["needs"]["seconds"] > 0
    assert not (tmp_path / "runs").exists()
    one = ["resnet-20" if word == "resnet-20,plain-20" else word for word in words]
    assert reslab(*one, "--yes").code == 0
    assert "--from compares existing runs" in reslab("reproduce", "fig-7", "--from", "runs", "--yes").err


@pytest.mark.usefixtures("small")
def test_python_reproduces_what_the_command_does(reslab, tmp_path: Path) -> None:
    """The same runs, measured for the same figure, and the same verdicts."""
    words = ["reproduce", "fig-7", "--only", "resnet-20", *SHORT, "--runs", str(tmp_path / "command"), "--json"]
    told = json.loads(reslab(*words).out)
    fields = {"recipe.iterations": 2, "recipe.evaluate_every": 1, "recipe.batch": 4}
    claims = choose_claims(["fig-7"], "resnet-20")
    plan = plan_runs(claims, catalogue.load_dataset("cifar10"), tmp_path / "python", fields=fields)
    reproduce(plan)
    verdicts = judge_runs(plan.claims, plan.root).verdicts
    assert "reduced setting" in {verdict.word for verdict in verdicts}
    assert [(one.word, one.mean, one.remarks, list(one.runs)) for one in verdicts] == [
        (one["word"], one["mean"], one["remarks"], one["runs"]) for one in told
    ]


def test_without_imagenet_one_is_told_what_to_fetch(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work and plans are refused, for scripts too; judging runs shows the table all the same."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    for options in ([], ["--dry-run", "--json"]):
        outcome = reslab("reproduce", "table-2", "--runs", str(tmp_path), *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert "table-2 needs ImageNet (ILSVRC-2012)" in outcome.err
        assert "`reslab data prepare imagenet SOURCE`" in outcome.err
    for table, row in (
        ("table-2", ["ResNet-34", "top-1", "error", "%,", "10-crop", "25.03", "not", "run"]),
        ("table-5", ["ResNet", "(ILSVRC'15)", "top-5", "error", "%,", "test", "set", "3.57", "not", "run"]),
    ):
        outcome = reslab("reproduce", table, "--from", str(tmp_path))
        assert outcome.code == 0, outcome.err
        assert row in [line.split()[: len(row)] for line in outcome.out.splitlines()]


def test_other_photographs_are_a_reduced_setting(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained on, tested with ten crops, and judged as what they are; again, nothing is trained."""
    monkeypatch.setattr(estimate, "SECONDS", 0.02)
    photos = make_photos(tmp_path / "photos", train=2, val=1)
    words = ["reproduce", "table-2", "--only", "resnet-18", f"data={photos}", "--runs", str(tmp_path / "runs")]
    words += ["recipe.iterations=1", "recipe.batch=2", "recipe.exact_norms=false"]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert "reduced setting" in outcome.out
    assert "without ImageNet: 4 and 2 images of photos instead" in outcome.out
    (run,) = [RunDirectory(path) for path in (tmp_path / "runs").iterdir()]
    outcome = reslab(*words, "--json")
    assert "finished: 1, to run: 0" in outcome.err
    (judged,) = json.loads(outcome.out)
    assert judged["values"] == [run.read("analysis/10-crop")["error_percent"]]
    again = ["reproduce", "table-2", "--only", "resnet-18", "--from", str(tmp_path / "runs"), "--json"]
    assert json.loads(reslab(*again, f"data={photos}").out) == [judged]
    without = reslab(*again)
    assert "no run in" in without.err and "only on photos; add data=FOLDER to judge" in without.err
    assert json.loads(without.out)[0]["word"] == "not run"


def test_runs_on_tiny_imagenet_are_judged_without_its_images(reslab, tmp_path: Path) -> None:
    """As a reduced setting, where data= says so; else one is told that it can."""
    data, classes = TINY_IMAGENET.data, [str(number) for number in range(TINY_IMAGENET.classes)]
    tiny = {"data": data.name, "fingerprint": data.fingerprint, "network_fields": {"input_size": "64"}}
    run = write_run(
        tmp_path, "resnet-18", iterations=800, recipe_name="imagenet-paper", classes=classes, responses=False, **tiny
    )
    run.write("analysis/10-crop", {"error_percent": 44.0, "data": data.name, "images": 20_000})
    words = ["reproduce", "table-2", "--only", "resnet-18", "--from", str(tmp_path), "--json"]
    assert "only on tiny-imagenet; add data=tiny-imagenet to judge those" in reslab(*words).err
    (judged,) = json.loads(reslab(*words, "data=tiny-imagenet").out)
    assert (judged["word"], judged["values"]) == ("reduced setting", [44.0])
    outcome = reslab("reproduce", "table-6", "--from", str(tmp_path), "data=tiny-imagenet")
    assert outcome.code == 2 and "leave out data= for table-6" in outcome.err


def test_what_is_to_be_measured_is_planned_too(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of a table and of its ensembles; where nothing is trained, but testing takes long, it is asked."""
    monkeypatch.setattr(estimate, "SECONDS", 0.02)
    claim = CLAIMS["table-5"][-1]
    pair = ByEnsemble("multi-scale", "top5_error_percent", (SMALL, SMALL))
    one = replace(claim.settings[0], network=SMALL)
    alone = replace(CLAIMS["table-2"][-1], settings=(one,))
    monkeypatch.setitem(CLAIMS, "table-5", (alone, replace(claim, settings=(one,), measurement=pair)))
    photos = make_photos(tmp_path / "photos", train=2, val=1)
    words = ["reproduce", "table-5", f"data={photos}", "--runs", str(tmp_path / "runs")]
    words += ["recipe.iterations=1", "recipe.batch=2", "recipe.exact_norms=false"]
    plan = json.loads(reslab(*words, "--dry-run", "--json").out)
    first, second = [trial["id"] for trial in plan["trials"]]
    measured = [{"by": "10-crop", "trials": [one]} for one in (first, second)]
    measured += [{"by": "multi-scale", "trials": [first, second]}]
    assert (plan["to_measure"], plan["measuring_seconds"] > 0) == (measured, True)
    assert reslab(*words).code == 0
    again = reslab(*words, "--dry-run", "--json")
    plan = json.loads(again.out)
    assert (plan["to_measure"], plan["measuring_seconds"], "to measure" in again.err) == ([], 0, False)
    (tmp_path / "runs" / first / "analysis" / "10-crop.json").unlink()
    monkeypatch.setattr(asking, "LONG", 0)
    outcome = reslab(*words)
    assert outcome.code == 2
    assert "to measure: 10-crop of resnet-8;" in outcome.err
    assert "testing takes" in outcome.err and "add --yes to start it" in outcome.err


def test_an_ensemble_is_trained_and_tested_together(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 5, of two small networks: kept with the first, a reduced setting, and once measured only read."""
    monkeypatch.setattr(estimate, "SECONDS", 0.02)
    claim = CLAIMS["table-5"][-1]
    pair = ByEnsemble("multi-scale", "top5_error_percent", (SMALL, SMALL))
    small = replace(claim, settings=(replace(claim.settings[0], network=SMALL),), measurement=pair)
    monkeypatch.setitem(CLAIMS, "table-5", (*CLAIMS["table-5"][:-1], small))
    photos = make_photos(tmp_path / "photos", train=2, val=1)
    words = ["reproduce", "table-5", f"data={photos}", "--runs", str(tmp_path / "runs"), "--json"]
    words += ["recipe.iterations=1", "recipe.batch=2", "recipe.exact_norms=false"]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    runs = {RunDirectory(path).trial().seed: RunDirectory(path) for path in (tmp_path / "runs").iterdir()}
    assert set(runs) == {1, 2}
    judged = json.loads(outcome.out)[-1]
    kept = runs[1].read("analysis/ensemble")
    assert (judged["word"], judged["values"]) == ("reduced setting", [kept["top5_error_percent"]])
    assert kept["runs"] == [runs[seed].path.name for seed in (1, 2)]
    assert "without the paper's other four models" in judged["remarks"]
    assert "without ImageNet: 4 and 2 images of photos instead" in judged["remarks"]
    monkeypatch.setattr(evaluating, "evaluate_ensemble", lambda *_, **__: pytest.fail("it was measured again"))
    assert json.loads(reslab(*words).out)[-1] == judged
    again = reslab("reproduce", "table-5", "--from", str(tmp_path / "runs"), f"data={photos}", "--json")
    assert json.loads(again.out)[-1] == judged


def test_bad_photographs_can_be_skipped(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the sentence that stops it says; the runs are trained, tested by the table's protocol and judged."""
    monkeypatch.setattr(estimate, "SECONDS", 0.02)
    claim = CLAIMS["table-2"][-1]
    small = replace(claim, settings=(replace(claim.settings[0], network=SMALL),))
    monkeypatch.setitem(CLAIMS, "table-2", (small,))
    photos = make_photos(tmp_path / "photos", train=2, val=2)
    bad = next((photos / "val").rglob("*.jpg"))
    bad.write_bytes(bytes(bad.stat().st_size))
    words = ["reproduce", "table-2", f"data={photos}", "--runs", str(tmp_path / "runs")]
    words += ["recipe.iterations=1", "recipe.batch=2", "recipe.exact_norms=false"]
    assert "set data.on_bad_image=skip" in reslab(*words).err
    outcome = reslab(*words, "data.on_bad_image=skip", "--json")
    assert outcome.code == 0, outcome.err
    (judged,) = json.loads(outcome.out)
    assert judged["word"] == "reduced setting"
    assert "data.skipped_images is 1 instead of 0" in judged["remarks"]


@pytest.mark.usefixtures("small")
def test_a_signal_saves_and_the_same_command_goes_on(reslab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exit code 143 after the iteration, 130 for Ctrl-C; then the run is finished from where it was."""

    def interrupted(number: signal.Signals):
        def run(*positional, listener, **named) -> RunDirectory:
            signals = [number]

            def kill_once(step: int, metrics: dict[str, float]) -> None:
                listener.progress(step, metrics)
                if signals:
                    os.kill(os.getpid(), signals.pop())

            return run_trial(*positional, listener=listener.moved_by(kill_once), **named)

        return run

    words = ["reproduce", "table-6", "--only", "resnet-20", "recipe.iterations=6", *SHORT[1:]]
    words += ["--runs", str(tmp_path / "runs")]
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        monkeypatch.setattr(together, "run_trial", interrupted(number))
        outcome = reslab(*words)
        assert outcome.code == code
        assert "stopped and saved" in outcome.err
    (folder,) = (tmp_path / "runs").iterdir()
    assert RunDirectory(folder).state == "interrupted"
    monkeypatch.setattr(together, "run_trial", run_trial)
    assert "reduced setting" in reslab(*words).out
    assert len(RunDirectory(folder).read("provenance")["sittings"]) == 3


@pytest.mark.usefixtures("small")
def test_a_signal_stops_all_that_ride_together(reslab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From whichever thread it is seen, each saves its state."""
    both = threading.Barrier(2, timeout=60)

    def run(trial, *positional, listener, **named) -> RunDirectory:
        def kill_once(step: int, metrics: dict[str, float]) -> None:
            if step == 1 and both.wait() == 0:
                os.kill(os.getpid(), signal.SIGTERM)

        return run_trial(trial, *positional, listener=listener.moved_by(kill_once), **named)

    monkeypatch.setattr(together, "run_trial", run)
    words = ["reproduce", "table-6", "--only", "resnet-20", "--seeds", "2", "--together", "2", "recipe.iterations=1000"]
    outcome = reslab(*words, *SHORT[2:], "--runs", str(tmp_path))
    assert outcome.code == 143
    assert "stopped and saved" in outcome.err
    runs = [RunDirectory(path) for path in tmp_path.iterdir()]
    assert [run.state for run in runs] == ["interrupted", "interrupted"]
    assert all(list(run.checkpoints.iterdir()) for run in runs)


def test_judging_needs_no_torch(tmp_path: Path) -> None:
    """`--from` reads run directories, and trains nothing."""
    trial = Setting(network="resnet-20", recipe="cifar-paper").trial(seed=1)
    run = RunDirectory.of(trial, tmp_path)
    run.begin(trial, {"device": "cpu"})
    errors = {"error_percent": 8.7, "test_error_percent": 8.7, "train_error_percent": 0.5}
    finish_run(run, **errors)
    script = (
        "import sys\nfrom reslab.cli import main\n"
        f"main(['reproduce', 'table-6', '--from', {str(tmp_path)!r}])\nassert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = [line for line in done.stdout.splitlines() if "reproduced" in line]
    assert row.split() == ["ResNet-20", "test", "error", "%", "8.75", "8.70", "1", "−0.05", "reproduced"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            [],
            "reproduce takes a table or figure; choose table-1, table-2, table-3, table-4, table-5, fig-4, table-6",
        ),
        (["table-66"], "did you mean 'table-6'"),
        (["table-1", "--seeds", "2"], "table-1 is counted, not trained"),
        (["fig-1", "--measure"], "--measure is only for table-1"),
        (["fig-1", "--only", "plain-20,plain-65"], "fig-1 has no network 'plain-65'; did you mean 'plain-56'"),
        (["fig-1", "--only", "vgg-16"], "fig-1 has no network 'vgg-16'; choose plain-20, plain-56"),
        (["fig-1", "table-1"], "table-1 is counted, not trained; reproduce it in a separate command"),
        (["fig-1", "table-2"], "fig-1, table-2 train on different images; reproduce them in separate commands"),
        (["fig-1", "--seeds", "0"], "--seeds is 0"),
        (["fig-1", "--seeds", "1.5"], "--seeds is '1.5'; give a whole number"),
        (["fig-1", "--only", ","], "--only is ','; give network names separated by commas"),
        (["fig-1", "--together", "0"], "--together is 0; give a whole number from 1 to 32"),
        (["fig-1", "--together", "33"], "--together is 33"),
        (["fig-1"], "fetch it with `reslab data fetch cifar10`"),
        (
            ["fig-1", "data=photos"],
            "data= is only for tables that train on ImageNet or find objects; leave out data= for fig-1",
        ),
        (["table-2", "data=nowhere"], "there is no folder nowhere"),
        (["fig-1", "--from", "nowhere"], "there is no folder nowhere"),
        (["fig-1", "--from", ".", "recipe.batch=4"], "--from compares existing runs"),
        (["fig-1", "--from", ".", "--seeds", "2"], "with it, give only data=, --only and --json"),
        (["fig-1", "--from", ".", "data=photos"], "data= is only for tables that train on ImageNet"),
        (["table-2", "--from", ".", "data=nowhere"], "there is no folder nowhere"),
        (["table-7"], "table-7 needs Pascal VOC 2007 with its test images, and VOC 2012, in one folder"),
        (["table-7", "data=nowhere"], "there is no folder nowhere"),
        (["table-7", "table-8"], "table-7, table-8 train on different images; reproduce them in separate commands"),
        (["table-7", "--from", ".", "weights=imagenet"], "--from compares existing runs"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, tmp_path: Path, monkeypatch) -> None:
    """Exit code 2, one line, and nothing is run."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RESLAB_RUNS", str(tmp_path / "runs"))
    outcome = reslab("reproduce", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert not (tmp_path / "runs").exists()


def test_every_cell_names_its_runs(reslab, tmp_path: Path) -> None:
    """In JSON, setting by setting, also from folders in the folder; `--only` takes a name with fields or without."""
    for network, seed, error in (("resnet-20", 1, 8.7), ("resnet-20", 2, 8.9), ("resnet-20 shortcut=B", 1, 8.1)):
        trial = Setting(network=network, recipe="cifar-paper").trial(seed)
        run = RunDirectory.of(trial, tmp_path / "cifar10")
        run.begin(trial, {"device": "cpu"})
        errors = {"error_percent": error, "test_error_percent": error, "train_error_percent": 0.5}
        finish_run(run, **errors)
    words = ["reproduce", "shortcuts", "--from", str(tmp_path), "--json", "--only"]
    option_a, option_b, option_c = json.loads(reslab(*words, "resnet-20").out)
    (cell,) = option_a["settings"]
    assert (cell["network"], cell["recipe"], sorted(cell["values"])) == ("resnet-20", "cifar-paper", [8.7, 8.9])
    for value, name in zip(cell["values"], cell["runs"], strict=True):
        assert RunDirectory(tmp_path / "cifar10" / name).result()["error_percent"] == value
    assert (option_b["word"], option_b["mean"], option_c["word"]) == ("measured", 8.1, "not run")
    assert json.loads(reslab(*words, "resnet-20 shortcut=B").out) == [option_b]


def test_several_tables_share_their_runs(reslab, tmp_path: Path) -> None:
    """Each is printed under its name, the same run counted in both; `--only` takes networks of either."""
    trial = Setting(network="resnet-20", recipe="cifar-paper").trial(1)
    run = RunDirectory.of(trial, tmp_path)
    run.begin(trial, {"device": "cpu"})
    errors = {"error_percent": 8.7, "test_error_percent": 8.7, "train_error_percent": 0.5}
    finish_run(run, **errors)
    outcome = reslab("reproduce", "table-6", "shortcuts", "--only", "resnet-20", "--from", str(tmp_path))
    table_6, shortcuts = outcome.out.split("Beyond the paper")
    assert "Table 6" in table_6
    assert ("ResNet-20 " in table_6, "ResNet-20 A" in table_6, "ResNet-20 A" in shortcuts) == (True, False, True)
    assert "counted above: 1" in shortcuts


@pytest.mark.usefixtures("small")
def test_a_run_is_measured_for_its_own_tables(reslab, tmp_path: Path) -> None:
    """Of two at once, Fig. 7 asks for responses, and not of networks that only Table 6 has."""
    words = ["reproduce", "table-6", "fig-7", "--only", "resnet-20,resnet-32", *SHORT, "--runs", str(tmp_path)]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    measured = {path.parent.parent.name.partition("-cifar10")[0] for path in tmp_path.glob("*/analysis/responses.json")}
    assert (len(list(tmp_path.iterdir())), measured) == (2, {"resnet-20"})


def test_an_order_is_shown_only_where_all_its_networks_are(reslab, tmp_path: Path) -> None:
    """`--only` one of them leaves its numbers."""
    shown = reslab("reproduce", "fig-1", "--only", "plain-56", "--from", str(tmp_path)).out
    assert "plain-56" in shown
    assert "plain-20" not in shown
    assert "plain-20 < plain-56" in reslab("reproduce", "fig-1", "--from", str(tmp_path)).out
