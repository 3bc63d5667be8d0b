"""Verdicts, and that nothing material can differ and still read as reproduced."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.claims import find_claim
from tests.runs_by_hand import SITTING, finish_run

from reslab.errors import UserError
from reslab.files import write_text
from reslab.paper.claim import IMAGENET_IMAGES, Claim, Setting
from reslab.paper.claims import CLAIMS
from reslab.report.records import read_records
from reslab.report.reporting import judge_runs
from reslab.report.verdicts import IMMATERIAL, PRECISIONS, Verdict, judge
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runs.log import StepLog
from reslab.spec.codec import differing_leaves, override
from reslab.spec.optimization import OptimizerSpec
from reslab.spec.preprocess import AUTHORS
from reslab.spec.recipe import Precision
from reslab.spec.trial import Trial, trial_from_dict, trial_to_dict

TABLE_6 = {claim.row: claim for claim in CLAIMS["table-6"]}
SHALLOW = TABLE_6["ResNet-20"]


def trial_of(network: str, seed: int = 1, recipe: str = "cifar-paper", **changes: object) -> Trial:
    trial = Setting(network=network, recipe=recipe).trial(seed)
    return replace(trial, recipe=override(trial.recipe, changes))


def record(
    root: Path,
    trial: Trial,
    error: float = 8.75,
    *,
    curve: Callable[[int], tuple[float, float]] | None = None,
    responses: Sequence[float] | None = None,
    images: int = 10_000,
) -> RunDirectory:
    """Write down a run of `trial` that ended with `error`; or a `curve` gives training and test error by iteration."""
    run, noise = RunDirectory.of(trial, root), random.Random(trial.id)
    run.begin(trial, {"device": "cpu"})
    every, end = trial.recipe.evaluate_every, trial.recipe.iterations
    at = curve or (lambda step: (error, error))
    log = []
    for step in [*(range(every, end, every) if curve else ()), end]:
        train, test = at(step)
        errors = {"train_error_percent": train, "test_error_percent": test}
        log.append({"step": step, "train_loss": noise.random(), **errors})
    write_text(run.path / "metrics.jsonl", "".join(json.dumps(entry) + "\n" for entry in log))
    if responses:
        layers = [{"name": f"layer-{number}", "std": std} for number, std in enumerate(responses)]
        run.write("analysis/responses", {"data": trial.data.name, "images": 10_000, "layers": layers})
    end_error = log[-1]["test_error_percent"]
    confusion = confuse(end_error, trial.network.classes, images=images)
    run.finish(log[-1] | {"error_percent": end_error, **describe_classes(confusion)})
    return run


def confuse(error: float, classes: int, *, images: int) -> list[list[int]]:
    """Return the guesses about so many images that come to `error`, which has no more than two decimals."""
    confusion, wrong = [[0] * classes for _ in range(classes)], round(images * error / 100)
    for truth, row in enumerate(confusion):
        mistaken = wrong // classes + (truth < wrong % classes)
        row[truth] = images // classes + (truth < images % classes) - mistaken
        row[truth - 1] += mistaken
    return confusion


def describe_classes(confusion: list[list[int]]) -> dict[str, Any]:
    errors = [100 * (1 - row[truth] / sum(row)) for truth, row in enumerate(confusion)]
    return {"confusion": confusion, "class_error_percent": errors}


def judge_one(claim: Claim, root: Path) -> Verdict:
    (verdict,) = judge([claim], read_records(root)[0])
    return verdict


def reduce(run: RunDirectory) -> None:
    """Make a run of everything that decays out of one of the paper's, with all that a record is named after."""
    trial = run.trial()
    optimizer = replace(trial.recipe.optimizer, decay="all")
    run.write("trial", trial_to_dict(replace(trial, recipe=replace(trial.recipe, optimizer=optimizer))))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda run: run.finish(run.result() | {"error_percent": 8.76}),
            "error_percent is 8.76, but test_error_percent",
        ),
        (reduce, "but the folder has the name of another trial"),
        (lambda run: (run.path / "metrics.jsonl").unlink(), "its metrics.jsonl is missing or empty"),
        (lambda run: run.finish(run.result() | {"params": 464_154}), "464,154 parameters, but resnet-20 has 269,722"),
    ],
)
def test_what_contradicts_itself_speaks_for_nothing(
    change: Callable[[RunDirectory], object], sentence: str, tmp_path: Path
) -> None:
    """The other seed alone is counted, and it is said which record is left out and why."""
    left, run = (record(tmp_path, trial_of("resnet-20", seed), error) for seed, error in ((1, 8.9), (2, 8.75)))
    assert judge_one(SHALLOW, tmp_path).n == 2
    change(run)
    judged = judge_runs([SHALLOW], tmp_path)
    assert (judged.verdicts[0].values, judged.verdicts[0].runs) == ((8.9,), (left.path.name,))
    assert [damage.id for damage in judged.damages] == [run.path.name]
    assert sentence in judged.damages[0].sentence


def test_shared_normalization_is_told(tmp_path: Path) -> None:
    """Processes without sync_norms normalize their own shares, as the paper's GPUs did: it is told, and no more."""
    for seed, processes, synchronized in ((1, 1, False), (2, 8, False), (3, 8, True)):
        trial = trial_of("resnet-20", seed, sync_norms=synchronized)
        run = record(tmp_path, trial)
        run.begin(trial, {"device": "cpu", "processes": processes})
    verdict = judge_one(SHALLOW, tmp_path)
    assert (verdict.word, verdict.n) == ("reproduced", 3)
    assert verdict.remarks == "batches normalized over 16 of 128 images"


def test_a_full_run_near_the_number_reproduces_it(tmp_path: Path) -> None:
    """Mean and standard deviation over the seeds, the difference, the runs."""
    runs = [record(tmp_path, trial_of("resnet-20", seed), error) for seed, error in ((1, 8.5), (2, 8.9), (3, 8.7))]
    verdict = judge_one(SHALLOW, tmp_path)
    assert verdict.word == "reproduced"
    assert (verdict.n, verdict.mean, verdict.std) == (3, pytest.approx(8.7), pytest.approx(0.2))
    assert verdict.difference == pytest.approx(-0.05)
    assert set(verdict.runs) == {run.path.name for run in runs}
    assert verdict.remarks == ""


def test_one_far_from_it_deviates(tmp_path: Path) -> None:
    """Better than published counts as much as worse; one run has no spread."""
    for error in (8.0, 9.5):
        record(tmp_path / str(error), trial_of("resnet-20"), error)
        verdict = judge_one(SHALLOW, tmp_path / str(error))
        assert (verdict.word, verdict.std) == ("deviates", None)


def test_the_mean_is_held_against_the_mean(tmp_path: Path) -> None:
    """ResNet-110: 6.61, not the best run's 6.43."""
    record(tmp_path, trial_of("resnet-110", recipe="cifar-paper-110"), 6.95)
    assert judge_one(TABLE_6["ResNet-110"], tmp_path).word == "reproduced"


def test_a_shortened_run_is_a_reduced_setting(tmp_path: Path) -> None:
    """Whatever its error; the remarks say in what it is short."""
    record(tmp_path, trial_of("resnet-20", iterations=2_000, batch=16))
    verdict = judge_one(SHALLOW, tmp_path)
    assert (verdict.word, verdict.mean) == ("reduced setting", 8.75)
    assert verdict.remarks == "recipe.iterations is 2,000 instead of 64,000; recipe.batch is 16 instead of 128"


def test_full_runs_come_before_reduced_ones(tmp_path: Path) -> None:
    """And of reduced ones those that differ least, then the longest; settings are never mixed."""
    record(tmp_path, trial_of("resnet-20", iterations=20, batch=16), 60.0)
    record(tmp_path, trial_of("resnet-20", iterations=100), 50.0)
    record(tmp_path, trial_of("resnet-20", iterations=2_000), 20.0)
    verdict = judge_one(SHALLOW, tmp_path)
    assert verdict.values == (20.0,)
    assert "left out: 2 runs in another setting" in verdict.remarks
    record(tmp_path, trial_of("resnet-20"), 8.8)
    verdict = judge_one(SHALLOW, tmp_path)
    assert (verdict.word, verdict.values) == ("reproduced", (8.8,))


def test_precision_is_told_but_does_not_decide(tmp_path: Path) -> None:
    """So is every other immaterial field."""
    record(tmp_path, trial_of("resnet-20", precision="bf16", channels_last=False, evaluate_every=64_000))
    verdict = judge_one(SHALLOW, tmp_path)
    assert (verdict.word, verdict.remarks) == ("reproduced", "trained in bf16")


def test_other_networks_and_other_data_do_not_count(tmp_path: Path) -> None:
    """Digits are not CIFAR-10, option B is not option A."""
    trial = trial_of("resnet-20")
    record(tmp_path, replace(trial, data=replace(trial.data, name="digits")))
    record(tmp_path, replace(trial, network=override(trial.network, {"shortcut": "B"})))
    verdict = judge_one(SHALLOW, tmp_path)
    assert (verdict.word, verdict.n, verdict.mean, verdict.remarks) == ("not run", 0, None, "")


def test_unfinished_runs_are_mentioned(tmp_path: Path) -> None:
    """And no more."""
    trial = trial_of("resnet-20")
    RunDirectory.of(trial, tmp_path).begin(trial, {"device": "cpu"})
    verdict = judge_one(SHALLOW, tmp_path)
    assert (verdict.word, verdict.remarks) == ("not run", "1 run of resnet-20 unfinished")


def test_what_we_cannot_run_is_not_run(tmp_path: Path) -> None:
    """Methods that are not built."""
    assert judge_one(TABLE_6["Maxout"], tmp_path).remarks == "published only: not trained here"


def test_what_a_recipe_lacks_is_a_reduced_setting(tmp_path: Path) -> None:
    """A Highway network, even if all else is its authors'."""
    record(tmp_path, trial_of("highway-19", recipe="highway"), 7.72)
    verdict = judge_one(TABLE_6["Highway-19"], tmp_path)
    assert (verdict.word, verdict.mean) == ("reduced setting", 7.72)
    assert verdict.remarks == "without global contrast normalization"


def test_highways_trained_before_biases_had_a_rate_are_a_reduced_setting(tmp_path: Path) -> None:
    """As recorded then: what they lack beside their authors' files is named."""
    trial = trial_of("highway-19", recipe="highway")
    before = OptimizerSpec(learning_rate=0.025, nesterov=True, weight_decay=1e-3, decay="all")
    record(tmp_path, replace(trial, recipe=replace(trial.recipe, optimizer=before)), 12.64)
    verdict = judge_one(TABLE_6["Highway-19"], tmp_path)
    assert (verdict.word, verdict.mean) == ("reduced setting", 12.64)
    for sentence in (
        "bias_rate is 1.0 instead of 2.0",
        "head_decay is 1.0 instead of 10.0",
        "decay is all instead of weights",
    ):
        assert f"recipe.optimizer.{sentence}" in verdict.remarks


def test_a_shortened_resnet_1202_never_reads_as_reproduced(tmp_path: Path) -> None:
    """In Table 6 as in Fig. 6, whatever its errors."""
    trial = trial_of("resnet-1202", recipe="cifar-paper-110", iterations=6_400, evaluate_every=100)
    record(tmp_path, trial, 7.93, curve=lambda _: (0.05, 7.93))
    claims = [TABLE_6["ResNet-1202"], *[claim for claim in CLAIMS["fig-6"] if claim.row == "resnet-1202"]]
    verdicts = judge(claims, read_records(tmp_path)[0])
    assert len(verdicts) > 1
    assert {verdict.word for verdict in verdicts} == {"reduced setting"}
    assert all("recipe.iterations is 6,400 instead of 64,000" in verdict.remarks for verdict in verdicts)


def test_what_nobody_published_is_measured(tmp_path: Path) -> None:
    """A full run has its number and no difference; a short one is reduced as ever."""
    claim = find_claim("shortcuts", "ResNet-20 B", "test error %")
    trial = claim.settings[0].trial(seed=1)
    record(tmp_path, replace(trial, recipe=replace(trial.recipe, iterations=640)), 9.0)
    assert judge_one(claim, tmp_path).word == "reduced setting"
    record(tmp_path, trial, 8.0)
    verdict = judge_one(claim, tmp_path)
    assert (verdict.word, verdict.mean, verdict.difference) == ("measured", 8.0, None)


def test_each_value_has_its_run(tmp_path: Path) -> None:
    """Setting by setting, seed by seed."""
    for seed, error in ((1, 1.0), (2, 1.4)):
        record(tmp_path, trial_of("plain-20", seed), curve=lambda _, error=error: (error, 9.7))
    run = record(tmp_path, trial_of("plain-56"), curve=lambda _: (5.8, 13.3))
    shallow, deep = judge_one(ORDER, tmp_path).cells
    assert (shallow[0].network, len(shallow[1]), len(shallow[2])) == ("plain-20", 2, 2)
    assert deep[1:] == ((5.8,), (run.path.name,))
    for value, name in zip(*shallow[1:], strict=True):
        assert StepLog(tmp_path / name / "metrics.jsonl").read()[-1]["train_error_percent"] == value


def test_curves_are_read_where_the_paper_was(tmp_path: Path) -> None:
    """Just before the drop, after it, and at the end."""

    def curve(step: int) -> tuple[float, float]:
        return (9.1, 12.8) if step <= 32_000 else (3.7, 10.0) if step <= 34_000 else (1.3, 9.9)

    record(tmp_path, trial_of("plain-20"), curve=curve)
    verdicts = judge([claim for claim in CLAIMS["fig-1"] if claim.row == "plain-20"], read_records(tmp_path)[0])
    assert len(verdicts) == 8
    assert {verdict.word for verdict in verdicts} == {"reproduced"}
    assert [verdict.difference for verdict in verdicts[:3]] == pytest.approx([0, 0, 0])


def test_a_run_that_logs_too_seldom_is_not_read(tmp_path: Path) -> None:
    """The remedy is named."""
    record(tmp_path, trial_of("plain-20", evaluate_every=8_000), curve=lambda _: (1.3, 9.7))
    verdict = judge_one(find_claim("fig-1", "plain-20", "training error % over 50k-64k"), tmp_path)
    assert verdict.word == "not run"
    assert "recipe.evaluate_every=1000 is enough" in verdict.remarks


def test_bounds_hold_on_one_side(tmp_path: Path) -> None:
    """More than 60 % is more than 60 %."""
    claim = find_claim("fig-6", "plain-110", "test error % over 50k-64k")
    for error, word in ((80.0, "reproduced"), (60.0, "deviates"), (20.0, "deviates")):
        record(tmp_path / str(error), trial_of("plain-110"), curve=lambda _, error=error: (error, error))
        assert judge_one(claim, tmp_path / str(error)).word == word
    claim = find_claim("fig-6", "resnet-56", "training error % over 50k-64k")
    for error, word in ((0.0, "reproduced"), (0.25, "reproduced"), (0.35, "deviates")):
        record(tmp_path / f"r{error}", trial_of("resnet-56"), curve=lambda _, error=error: (error, error))
        assert judge_one(claim, tmp_path / f"r{error}").word == word


ORDER = find_claim("fig-1", "plain-20 < plain-56", "training error % over 50k-64k")


def test_an_order_needs_all_its_networks(tmp_path: Path) -> None:
    """In one setting, and says which steps hold."""
    record(tmp_path, trial_of("plain-20"), curve=lambda _: (1.3, 9.7))
    assert judge_one(ORDER, tmp_path).remarks == "no run of plain-56 on cifar10"
    record(tmp_path, trial_of("plain-56", iterations=640, evaluate_every=10), curve=lambda _: (50.0, 50.0))
    verdict = judge_one(ORDER, tmp_path)
    assert (verdict.word, verdict.remarks) == ("not run", "no setting has runs of all the networks")
    record(tmp_path, trial_of("plain-56"), curve=lambda _: (5.8, 13.3))
    verdict = judge_one(ORDER, tmp_path)
    assert (verdict.word, verdict.values, verdict.n) == ("reproduced", (1.3, 5.8), 1)
    assert verdict.mean is verdict.std is verdict.difference is None
    assert verdict.remarks.startswith("plain-20 1.30 < plain-56 5.80 holds")


def test_an_order_names_unread_runs_that_others_wait_for(tmp_path: Path) -> None:
    """One in a setting that no other network was run in would not help if it could be read."""
    record(tmp_path, trial_of("plain-20"), curve=lambda _: (1.3, 9.7))
    record(tmp_path, trial_of("plain-56", iterations=640, evaluate_every=10), curve=lambda _: (50.0, 50.0))
    record(tmp_path, trial_of("plain-56", iterations=6_400, evaluate_every=6_400), curve=lambda _: (50.0, 50.0))
    assert judge_one(ORDER, tmp_path).remarks == "no setting has runs of all the networks"
    record(tmp_path, trial_of("plain-56", evaluate_every=64_000), curve=lambda _: (5.8, 13.3))
    remarks = judge_one(ORDER, tmp_path).remarks
    assert remarks.startswith("a run of plain-56 is left out: it evaluates every 64,000 of 64,000 iterations")
    assert "6,400 iterations" not in remarks


def test_an_order_the_other_way_deviates(tmp_path: Path) -> None:
    """Too little of the right way deviates too."""
    for name, error in (("less", 0.5), ("same", 1.3), ("hardly", 1.35)):
        record(tmp_path / name, trial_of("plain-20"), curve=lambda _: (1.3, 9.7))
        record(tmp_path / name, trial_of("plain-56"), curve=lambda _, error=error: (error, 13.3))
        assert judge_one(ORDER, tmp_path / name).word == "deviates"
    assert "0.50 does not hold" in judge_one(ORDER, tmp_path / "less").remarks


def test_a_reduced_order_is_compared_within_its_setting(tmp_path: Path) -> None:
    """Also where the recipes of the networks differ from each other."""
    claim = find_claim("fig-6", " > ".join(f"resnet-{d}" for d in (20, 32, 44, 56, 110)), "test error % over 50k-64k")
    for depth, error in ((20, 60.0), (32, 50.0), (44, 50.2), (56, 40.0), (110, 30.0)):
        recipe = "cifar-paper-110" if depth == 110 else "cifar-paper"
        trial = trial_of(f"resnet-{depth}", recipe=recipe, iterations=640, evaluate_every=10)
        record(tmp_path, trial, curve=lambda _, error=error: (error, error))
    verdict = judge_one(claim, tmp_path)
    assert (verdict.word, len(verdict.values), len(verdict.runs)) == ("reduced setting", 5, 5)
    assert "resnet-32 50.00 > resnet-44 50.20 does not hold" in verdict.remarks
    assert "recipe.iterations is 640 instead of 64,000" in verdict.remarks


def test_responses_are_judged(tmp_path: Path) -> None:
    """By rank and by their median; a run without them says so."""
    record(tmp_path, trial_of("plain-20"), responses=[2.5 - 0.05 * k for k in range(19)])
    record(tmp_path, trial_of("resnet-20"))
    assert judge_one(find_claim("fig-7", "plain-20", "response std, rank 1"), tmp_path).word == "reproduced"
    verdict = judge_one(find_claim("fig-7", "plain-20 > resnet-20", "median response std"), tmp_path)
    assert (verdict.word, verdict.remarks) == (
        "not run",
        "a run of resnet-20 is left out: its responses were not measured",
    )
    record(tmp_path, trial_of("resnet-20", seed=2), responses=[1.0] * 19)
    assert judge_one(verdict.claim, tmp_path).word == "reproduced"


def test_of_runs_in_another_setting_nothing_is_asked(tmp_path: Path) -> None:
    """One that has no responses is missed where its setting is judged; elsewhere it is one of those left out."""
    claim = find_claim("fig-7", "resnet-20", "response std, rank 1")
    record(tmp_path, trial_of("resnet-20", iterations=2_000))
    assert "its responses were not measured" in judge_one(claim, tmp_path).remarks
    record(tmp_path, trial_of("resnet-20"), responses=[2.3] * 19)
    verdict = judge_one(claim, tmp_path)
    assert (verdict.word, verdict.remarks) == ("reproduced", "left out: 1 run in another setting")
    record(tmp_path, trial_of("resnet-20", seed=2))
    assert "its responses were not measured" in judge_one(claim, tmp_path).remarks


BASE = trial_to_dict(trial_of("resnet-110", recipe="cifar-paper-110"))
LEAVES = sorted(differing_leaves(BASE, {}))
WORDS = ["tuning", "weights", "cosine", "constant", "none", "B", "C", "both", "3x3", "pre", "group", "xavier", "digits"]


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, object]:
    """A leaf of a trial and another value of its type, or none."""
    leaf = draw(st.sampled_from(LEAVES))
    value = differing_leaves(BASE, {})[leaf][0]
    like: dict[type, st.SearchStrategy[object]] = {
        bool: st.booleans(),
        int: st.integers(max(1, value - 3), value + 3) if isinstance(value, int) else st.nothing(),
        float: st.floats(0, 0.99),
        str: st.sampled_from(WORDS),
    }
    return leaf, draw(like[type(value)] if value is not None else st.none())


def mutate(trial: dict[str, Any], leaf: str, value: object) -> Trial:
    """Return a trial with one leaf of its plain data replaced."""
    data = json.loads(json.dumps(trial))
    *parents, last = [int(key) if key.isdecimal() else key for key in leaf.split(".")]
    target = data
    for key in parents:
        target = target[key]
    target[last] = value
    return trial_from_dict(data)


@given(changed=st.lists(changes(), min_size=1, max_size=3))
def test_nothing_material_can_differ_and_read_as_reproduced(changed: list[tuple[str, object]]) -> None:
    """Change any fields of the trial: the published error itself is reproduced only if all of them are immaterial."""
    trial = trial_from_dict(BASE)
    for leaf, value in changed:
        try:
            trial = mutate(trial_to_dict(trial), leaf, value)
        except UserError:
            assume(False)
    different = set(differing_leaves(trial_to_dict(trial), BASE)) - IMMATERIAL
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder), trial, 6.61)
        verdict = judge_one(TABLE_6["ResNet-110"], Path(folder))
    assert (verdict.word == "reproduced") == (not different)


OTHER = {
    "data.fingerprint": "0" * 64,
    "data.split": "tuning",
    "data.validation": 0.1,
    "network.stem.kernel": 5,
    "network.dropout": 0.1,
    "network.init": "xavier",
    "recipe.iterations": 63_999,
    "recipe.batch": 64,
    "recipe.optimizer.learning_rate": 0.2,
    "recipe.optimizer.momentum": 0.8,
    "recipe.optimizer.nesterov": True,
    "recipe.optimizer.weight_decay": 5e-4,
    "recipe.optimizer.decay": "all",
    "recipe.optimizer.clip_norm": 1.0,
    "recipe.optimizer.kind": "adamw",
    "recipe.optimizer.betas": [0.9, 0.99],
    "recipe.optimizer.epsilon": 1e-6,
    "recipe.schedule.kind": "cosine",
    "recipe.schedule.drops": [0.5],
    "recipe.schedule.factor": 0.2,
    "recipe.schedule.rise": 0.1,
    "recipe.schedule.fall": "cosine",
    "recipe.schedule.final": 0.1,
    "recipe.warmup": None,
    "recipe.class_weights": "balanced",
    "recipe.sampling": "balanced",
    "recipe.augmentation.padding": 2,
    "recipe.augmentation.flip": False,
    "recipe.augmentation.mean_first": False,
    "recipe.augmentation.edges": "reflect",
    "recipe.augmentation.alternating_flips": True,
    "recipe.augmentation.cutout": 8,
    "recipe.augmentation.crop": "resized",
    "recipe.augmentation.sides": [256, 384],
    "recipe.augmentation.areas": [0.25, 1.0],
    "recipe.augmentation.colour": 0.1,
    "recipe.augmentation.policy": "trivial",
    "recipe.augmentation.mixup": 0.2,
    "recipe.augmentation.cutmix": 1.0,
    "recipe.augmentation.scales": [0.8, 1.0],
    "recipe.resizing.initial": 0.5,
    "recipe.resizing.stages": 2,
    "recipe.optimizer.body_rate": 0.1,
    "recipe.optimizer.stage_decay": 0.5,
    "recipe.optimizer.bias_rate": 2.0,
    "recipe.optimizer.head_decay": 10.0,
    "recipe.centring": "imagenet",
    "recipe.freeze": "conv2",
    "recipe.label_smoothing": 0.1,
    "recipe.accumulate": 2,
    "recipe.average_decay": 0.99,
    "recipe.average_from": 0.5,
    "recipe.exact_norms": True,
    "recipe.keep_best": "loss",
    "recipe.stop_after": 3,
}


@pytest.mark.parametrize(("leaf", "value"), OTHER.items())
def test_each_material_field_alone_prevents_it(leaf: str, value: object, tmp_path: Path) -> None:
    """One by one, so that none is missed by chance."""
    base = mutate(BASE, "recipe.keep_best", "loss") if leaf == "recipe.stop_after" else trial_from_dict(BASE)
    record(tmp_path, mutate(trial_to_dict(base), leaf, value), 6.61)
    assert judge_one(TABLE_6["ResNet-110"], tmp_path).word in ("reduced setting", "not run")


def test_every_field_of_a_recipe_is_material_or_listed() -> None:
    """A new field is material until someone decides otherwise."""
    fields = {leaf for leaf in LEAVES if leaf.startswith("recipe.")}
    tried = {leaf for leaf in fields if any(leaf == other or leaf.startswith(f"{other}.") for other in OTHER)}
    assert fields - tried == {leaf for leaf in IMMATERIAL if leaf.startswith("recipe.")}


def test_every_precision_has_its_rank() -> None:
    """The finest first; none is forgotten."""
    assert set(PRECISIONS) == set(get_args(Precision))
    assert PRECISIONS[0] == "fp32"


def test_one_seed_counts_once(tmp_path: Path) -> None:
    """A copied folder, or the same seed in another precision, is no second measurement; the finest counts."""
    trial = trial_from_dict(BASE)
    for precision, error in (("bf16", 6.9), ("fp16", 6.7)):
        record(tmp_path, replace(trial, recipe=replace(trial.recipe, precision=precision)), error)
        assert judge_one(TABLE_6["ResNet-110"], tmp_path).values == (error,)
    run = record(tmp_path, trial, 6.61)
    shutil.copytree(run.path, tmp_path / "copy")
    verdict = judge_one(TABLE_6["ResNet-110"], tmp_path)
    assert verdict.values == (6.61,)
    assert (
        "left out: 3 runs of resnet-110 in fp32 and fp16 and bf16 with seeds that are already counted"
        in verdict.remarks
    )


def test_a_result_that_came_before_the_end_does_not_count(tmp_path: Path) -> None:
    """Whatever the trial says."""
    run = record(tmp_path, trial_from_dict(BASE), 6.61)
    run.finish(run.result() | {"step": 100})
    assert judge_one(TABLE_6["ResNet-110"], tmp_path).word == "not run"


def record_imagenet(root: Path, error: float | None, *, images: tuple[int, int] | None = IMAGENET_IMAGES) -> Claim:
    """Write down a full run of ResNet-34 on `images`, tested with ten crops if there is an error; return its claim."""
    (claim,) = [claim for claim in CLAIMS["table-2"] if claim.row == "ResNet-34"]
    trial = claim.settings[0].trial(seed=1)
    run = record(root, replace(trial, data=replace(trial.data, fingerprint="f" * 64)), 28.0, images=50_000)
    run.finish(run.result() | ({} if images is None else {"data_images": list(images)}))
    if error is not None:
        run.write("analysis/10-crop", {"data": "imagenet", "images": 50_000, "error_percent": error})
    return claim


def test_imagenet_is_told_by_its_numbers(tmp_path: Path) -> None:
    """No fingerprint of it is known: all of its images make it whole, and fewer, or who knows how many, do not."""
    verdict = judge_one(record_imagenet(tmp_path / "whole", 25.3), tmp_path / "whole")
    assert (verdict.word, verdict.mean, verdict.remarks) == ("reproduced", 25.3, "")
    assert judge_one(record_imagenet(tmp_path / "far", 26.0), tmp_path / "far").word == "deviates"
    verdict = judge_one(record_imagenet(tmp_path / "part", 25.3, images=(1_000, 50_000)), tmp_path / "part")
    assert verdict.word == "reduced setting"
    assert "data.images is 1,000 and 50,000 instead of 1,281,167 and 50,000" in verdict.remarks
    verdict = judge_one(record_imagenet(tmp_path / "old", 25.3, images=None), tmp_path / "old")
    assert (verdict.word, "data.images is unknown" in verdict.remarks) == ("reduced setting", True)


def test_skipping_bad_images_counts_where_the_test_lacks_some(tmp_path: Path) -> None:
    """Having allowed it is told, and no more; a test of fewer images is a reduced setting."""
    claim = record_imagenet(tmp_path, 25.3)
    (run,) = list_runs(tmp_path)
    trial = replace(run.trial(), data=replace(run.trial().data, on_bad_image="skip"))
    run = RunDirectory(run.path.rename(tmp_path / trial.id))
    run.write("trial", trial_to_dict(trial))
    verdict = judge_one(claim, tmp_path)
    assert (verdict.word, verdict.remarks) == ("reproduced", "bad training images, if any, were skipped")
    for skipped, remark in ((0, ""), (1200, "at most 1,200 bad training images were skipped")):
        run.finish(run.result() | {"skipped_training_images": skipped})
        assert judge_one(claim, tmp_path).remarks == remark
    run.finish(run.result() | {"skipped_images": 2})
    verdict = judge_one(claim, tmp_path)
    assert verdict.word == "reduced setting"
    assert "data.skipped_images is 2 instead of 0" in verdict.remarks


def test_the_runs_own_test_does_not_stand_in_for_ten_crops(tmp_path: Path) -> None:
    """One crop is another quantity: without the protocol's test the claim is not run."""
    verdict = judge_one(record_imagenet(tmp_path, None), tmp_path)
    assert verdict.word == "not run"
    assert (
        verdict.remarks
        == "a run of resnet-34 is left out: it was not tested with 10-crop; run `reslab reproduce` without --from"
    )


def write_detector(
    root: Path,
    *,
    weights: str,
    precision: float,
    seed: int = 1,
    row: str = "ResNet-101",
    channels_last: bool = True,
    **task: Any,
) -> RunDirectory:
    """Write a run of a row of Table 7 on all of VOC, started from weights of this name."""
    (setting,) = find_claim("table-7", row, "VOC 2007 test").settings
    trial = setting.trial(seed)
    trial = replace(trial, start="5" * 64, preprocess=AUTHORS, task=replace(trial.task, **task))
    trial = replace(trial, recipe=replace(trial.recipe, channels_last=channels_last))
    run = RunDirectory.of(trial, root)
    run.begin(trial, SITTING | {"weights": weights})
    finish_run(
        run, map50_percent=1.0, test_map50_percent=1.0, map50_11_point_percent=precision, data_images=[16551, 4952]
    )
    return run


def test_a_detector_may_start_from_any_weights_trained_on_the_papers_data(tmp_path: Path) -> None:
    """Which, and how they take images, is told and decides nothing; those of another run are a reduced setting."""
    claim = find_claim("table-7", "ResNet-101", "VOC 2007 test")
    write_detector(tmp_path / "whole", weights="resnet-101.pth", precision=76.0)
    write_detector(tmp_path / "whole", weights="resnet-101-imagenet-0123456789ab", precision=77.0, seed=2)
    (verdict,) = judge([claim], read_records(tmp_path / "whole")[0])
    assert (verdict.word, verdict.n, verdict.mean) == ("reproduced", 2, 76.5)
    told = verdict.remarks.removeprefix("started from ").split(" and ")
    assert sorted(told) == ["resnet-101-imagenet-0123456789ab", "resnet-101.pth"]
    write_detector(tmp_path / "own", weights="resnet-101-birds-0123456789ab", precision=76.0)
    (verdict,) = judge([claim], read_records(tmp_path / "own")[0])
    assert verdict.word == "reduced setting"
    assert "start is resnet-101-birds-0123456789ab instead of trained on imagenet" in verdict.remarks


def test_another_detector_is_no_reduced_setting(tmp_path: Path) -> None:
    """A run with context says nothing of the baseline."""
    write_detector(tmp_path, weights="imagenet", precision=76.0, context=True)
    (verdict,) = judge([find_claim("table-7", "ResNet-101", "VOC 2007 test")], read_records(tmp_path)[0])
    assert verdict.word == "not run"


def test_times_and_memory_are_told_with_their_device(tmp_path: Path) -> None:
    """Of a run on a GPU all is measured; one on a CPU has no memory of its own, nor is it another norm's."""
    for norm, device, precision in (("frozen", "NVIDIA H200", 70.0), ("trained", "cpu", 50.0)):
        run = write_detector(tmp_path, weights="imagenet", precision=precision, row="ResNet-50", norm=norm)
        run.write("provenance", {"sittings": [SITTING | {"weights": "imagenet", "device": device}]})
        entry = {"seconds": 9.0, "images_per_second": 50.0, "peak_memory_bytes": 2**31}
        StepLog(run.path / "timings.jsonl").append({"step": run.trial().recipe.iterations, **entry})
    run.write("analysis/latency", {"data": "voc-2007", "milliseconds": 80.5, "device": "AMD EPYC"})
    frozen, trained = (
        {
            verdict.claim.quantity: verdict
            for verdict in judge(CLAIMS["norms"], read_records(tmp_path)[0])
            if verdict.claim.row == f"{norm} batch norm"
        }
        for norm in ("frozen", "trained")
    )
    assert [frozen["mAP@.5 %, eleven points"].values, trained["mAP@.5 %, eleven points"].values] == [(70.0,), (50.0,)]
    memory, latency = "peak memory of training, GiB", "test of one image, ms"
    assert (frozen[memory].word, frozen[memory].values) == ("measured", (2.0,))
    assert "measured on NVIDIA H200" in frozen[memory].remarks
    assert "measured on" not in frozen["mAP@.5 %, eleven points"].remarks
    assert (trained[memory].word, trained[memory].values) == ("not run", ())
    assert "only known on a GPU" in trained[memory].remarks
    assert trained["training, ms per image"].values == (20.0,)
    assert trained[latency].values == (80.5,) and "measured on AMD EPYC" in trained[latency].remarks
    assert "its latency was not measured" in frozen[latency].remarks


def test_what_changes_time_and_memory_is_a_reduced_setting_of_them(tmp_path: Path) -> None:
    """Another order of channels takes other memory: such a run counts with the others for its precision alone."""
    for seed, last in ((1, True), (2, False)):
        run = write_detector(
            tmp_path, weights="imagenet", precision=70.0, row="ResNet-50", seed=seed, channels_last=last
        )
        run.write("provenance", {"sittings": [SITTING | {"weights": "imagenet", "device": "NVIDIA H200"}]})
        entry = {"seconds": 9.0, "images_per_second": 50.0, "peak_memory_bytes": (1 + 3 * last) << 30}
        StepLog(run.path / "timings.jsonl").append({"step": run.trial().recipe.iterations, **entry})
    frozen = {verdict.claim.quantity: verdict for verdict in judge(CLAIMS["norms"][:5], read_records(tmp_path)[0])}
    memory = frozen["peak memory of training, GiB"]
    assert (memory.word, memory.values) == ("measured", (4.0,))
    assert "left out: 1 run in another setting" in memory.remarks
    assert frozen["mAP@.5 %, eleven points"].n == 2
