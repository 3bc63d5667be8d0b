"""The page on transfer tells what the records say, and what is not run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks import finetune
from tests.trials import DIGITS, make_digits_trial

from reslab.experiments.run import run_trial
from reslab.report.records import read_records
from reslab.spec.recipe import RECIPES
from tools.transfer import beside, kept, page, probes, scratch, study

TRANSFER = kept.TRANSFER
AROUND = {
    "started": "2026-11-19T21:00:00+00:00",
    "commit": "0123456789abcdef",
    "versions": {"torch": "2.11.0"},
    "machine": {"cores": 16},
    "seconds": 754.0,
}
IMAGES = {"ants-bees": {"train": 240, "test": 150}, "imagenette-160": {"train": 9469, "test": 3925}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records are looked for in a folder of the test's."""
    monkeypatch.setattr(kept, "TRANSFER", tmp_path)
    monkeypatch.setattr(scratch, "FOLDER", tmp_path / "runs")
    return tmp_path


def write_record(folder: Path, name: str, command: str, **numbers: object) -> None:
    (folder / name).write_text(json.dumps({"command": command, **AROUND, **numbers}))


def outcomes(*errors: float, seconds: float) -> list[dict[str, float]]:
    return [{"error_percent": error, "seconds": seconds} for error in errors]


def setting(name: str, *errors: float | str, data: str = "ants-bees") -> dict[str, Any]:
    """One setting as a study keeps it, with these errors on held-out images."""
    told = [
        error
        if isinstance(error, str)
        else {"validation_error_percent": error, "error_percent": error + 1, "seconds": 20.0}
        for error in errors
    ]
    return {"data": data, "setting": name, "fields": {}, "outcomes": told}


def write_study(folder: Path, settings: Sequence[Mapping[str, Any]]) -> str:
    images = {one["data"]: {"train": 240, "test": 150} for one in settings}
    numbers = {"about": "a GPU", "together": 4, "held_out": 0.25, "images": images, "settings": settings}
    write_record(folder, "study.json", "finetune.py study ants-bees --json study.json", **numbers)
    return " ".join("\n\n".join(study.write()).split())


def test_without_records_all_is_not_run_and_has_its_command() -> None:
    """Which the benchmark and the command line take, and whose records the page would find."""
    written = page.write_page([])
    assert written.count("not run") == 13  # said once, of three sets three times, and of three networks
    blocks = re.findall(r"```\n(.*?)```", written, re.DOTALL)
    commands = [shlex.split(line) for line in "".join(blocks).replace("\\\n", "").splitlines()]
    assert len(commands) == 12
    for command in commands:
        *_, name = [word for word in command if word.startswith("results/transfer/")] or [""]
        kind = Path(name).name.partition("-")[0]
        assert kind in ("beside", "study", "probe", "")
        assert (command[1] == "benchmarks/finetune.py") == (kind in ("beside", "study"))


def test_fine_tuning_is_compared(folder: Path) -> None:
    """With random weights and the tutorial; Imagenette is said to be of ImageNet beside its number."""
    found = {
        "ours": outcomes(4.0, 6.0, seconds=20),
        "scratch": outcomes(30.0, 32.0, seconds=40),
        "tutorial": [
            {"epochs": outcomes(9.0, 4.5, seconds=90), "in_our_time": {"error_percent": 7.0, "seconds": 20.1}},
            {"epochs": outcomes(9.0, 4.5, seconds=90), "in_our_time": {"error_percent": 8.0, "seconds": 20.1}},
        ],
    }
    for name, images in IMAGES.items():
        command = f"finetune.py beside {name} --json beside-{name}.json"
        told = {"about": "a GPU", "images": {name: images}, "data": {name: found}, "tutorial_epochs": 2}
        write_record(folder, f"beside-{name}.json", command, **told)
    written = "\n\n".join(beside.write())
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("|")]
    assert rows[2:7] == [
        ["Ants and bees: 240 for training, 150 for the test", rows[2][1], "5.00 ± 1.41 (2)", "20 s"],
        ["", "from scratch, `recipe=photos`", "31.00 ± 1.41 (2)", "40 s"],
        ["", "the tutorial, in our time", "7.50 ± 0.71 (2)", "20 s"],
        ["", "the tutorial, 2 epochs", "4.50 ± 0.00 (2)", "1 min 30 s"],
        ["Imagenette, from ImageNet itself: 9,469 for training, 3,925 for the test", *rows[2][1:]],
    ]
    assert rows[-1][:2] == ["CIFAR-10 at 224×224", "not run"]
    words = " ".join(written.split())
    assert (
        "5.00 % fine-tuned in 20 s, 31.00 % from scratch in 40 s. In our time the tutorial has 2.50 points more"
        in words
    )
    assert "at its end, after 4.5 times our time, 0.50 points less." in words
    assert "on which these weights were trained" in " ".join(page.write_page([]).split())
    assert "python benchmarks/finetune.py beside ants-bees --json beside-ants-bees.json\n" in written
    assert "commit 0123456, 2026-11-19, a GPU; 12 min 34 s in all." in words


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ((2.0, 8.0), "`recipe=finetune` is none of them: 8.00 %, 6.00 points more, place 2."),
        ((2.0, 4.0), "`recipe=finetune` is one of them: 4.00 %, 2.00 points more, place 2."),
        ((2.0, 1.0), "**`rate=0.005 length=200` errs least on held-out images: 1.00 %.**"),
        ((2.0, 2.0), "**`rate=0.05` and `rate=0.005 length=200` err least on held-out images: 2.00 %.**"),
        ((2.0, "it diverged"), "`rate=0.005 length=200`, which is `recipe=finetune`, was not run to its end."),
    ],
)
def test_the_recipe_follows_from_held_out_images(errors: tuple[Any, Any], sentence: str, folder: Path) -> None:
    """Where the recipe that there is stands is said as it stands; what failed is no best."""
    first, chosen = (
        setting(name, error, error) for name, error in zip(("rate=0.05", study.CHOSEN), errors, strict=True)
    )
    written = write_study(folder, [first, chosen])
    assert sentence in written
    assert ("`rate=0.005 length=200` failed: it diverged" in written) == (errors[1] == "it diverged")
    assert "of 2 settings are within one standard error of the difference, by seeds and images" in written
    assert "4 ran at once" in written
    assert "CIFAR-10 at 224×224: not run." in written


def test_settings_whose_seeds_differ_much_are_hard_to_tell_apart(folder: Path) -> None:
    """The same means with errors of seeds far from each other are within the standard error, and else not."""
    alike, apart = setting(study.CHOSEN, 8.0, 8.0), setting(study.CHOSEN, 1.0, 15.0)
    assert "1 of 2 settings" in write_study(folder, [setting("rate=0.05", 2.0, 2.0), alike])
    assert "2 of 2 settings" in write_study(folder, [setting("rate=0.05", 2.0, 2.0), apart])


def test_the_best_of_the_study_is_bold(folder: Path) -> None:
    """With its test error beside it; over several sets the mean decides."""
    both = [
        setting("rate=0.05", 2.0, 4.0),
        setting(study.CHOSEN, 4.0, 4.0),
        setting("rate=0.05", 9.0, 9.0, data="cifar10-100"),
        setting(study.CHOSEN, 3.0, 3.0, data="cifar10-100"),
    ]
    written = write_study(folder, both)
    assert "| `rate=0.05` | **3.00 ± 1.41 (2)** | 4.00 ± 1.41 (2) | 20 |" in written
    assert "| `rate=0.005 length=200`, as `finetune` | **3.00 ± 0.00 (2)** | 4.00 ± 0.00 (2) | 20 |" in written
    assert "`rate=0.005 length=200` has the lowest mean, 3.50 %: `recipe=finetune`." in written
    assert written.count("not run") == 1  # of Imagenette


def test_the_setting_of_the_recipe_is_one_that_is_studied() -> None:
    """By the name that the study gives it, and with nothing else changed."""
    (fields,) = [group[study.CHOSEN] for group in finetune.SETTINGS.values() if study.CHOSEN in group]
    recipe = RECIPES["finetune"]
    assert fields == {
        finetune.RATE: f"{recipe.optimizer.learning_rate:g}",
        finetune.LENGTH: str(recipe.iterations),
    }


def test_probes_stand_by_stage(folder: Path) -> None:
    """And where the last stage is not the best, that is said."""
    accuracies = {"conv1": 60.0, "conv2_x": 90.0, "conv3_x": 80.0}
    layers = {
        name: {"linear": linear, "neighbours": {"1": 50.0, "5": 51.0, "20": 52.0}, "chance": 45.75}
        for name, linear in accuracies.items()
    }
    told = {"device": "a CPU", "images": IMAGES["ants-bees"], "layers": layers, "data": "ants-bees"}
    write_record(
        folder, "probe-ants-bees.json", "reslab probe resnet-50 weights=imagenet data=ants-bees --json", **told
    )
    written = "\n\n".join(probes.write())
    assert "|  | conv2_x | 90.0 | 50.0 | 51.0 | 52.0 |" in written
    words = " ".join(written.split())
    assert "from 60.0 % after conv1 to 80.0 % after conv3_x, with its highest value after conv2_x." in words
    assert "a CPU, 16 cores, torch 2.11.0; 12 min 34 s in all." in words


def test_runs_from_scratch_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their folder, with epochs, error, time and command; other runs are left out."""
    trial = make_digits_trial(iterations=2)
    run_trial(trial, DIGITS, folder / "runs")
    monkeypatch.setattr(scratch, "NETWORKS", ("cifar-resnet-8", "resnet-50"))
    records, _ = read_records(folder)
    first, second = [line for line in "\n".join(scratch.write(records)).splitlines() if "resnet-" in line][:2]
    assert f" | 2 | {records[0].test_score:.2f} (1) | " in first
    assert second.startswith("| resnet-50 |  |  | not run |")
    monkeypatch.setattr(scratch, "FOLDER", folder / "other")
    assert "(1)" not in "\n".join(scratch.write(records))


def test_records_name_no_place_and_are_small() -> None:
    """Nothing of the machine but its kind."""
    for path in TRANSFER.glob("*"):
        text = path.read_text(encoding="utf-8")
        assert len(text) < 200_000
        assert not re.search(r'"(/|~|[A-Z]:\\)', text), path
        assert not re.search(r"[ =](/|~)", json.loads(text)["command"]), path
