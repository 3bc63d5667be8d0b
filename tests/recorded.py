"""The numbers of today: verdicts, short trainings, tests, and runs that an earlier version left.

`python -m tests.recorded` writes all of tests/golden anew, but for the runs of before, which stay old: they are made
where there are none. The tests measure by the same functions. Only what stays is used here: commands, the names of
`reslab` and the files of run directories.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from PIL import Image
from tests.multilabel import make_labelled

import reslab
from reslab.cli import main

Values: TypeAlias = dict[str, Any]
HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
RESULTS = HERE.parent / "results"
LEFT = GOLDEN / "runs"  # by versions before: finished and interrupted
COUNTED = "table-1"
PLACES = (COUNTED, *[f"table-{number}" for number in range(2, 7)], "fig-1", "fig-4", "fig-6", "fig-7", "shortcuts")
PROTOCOLS = ("1-crop", "10-crop", "multi-scale")
LIBRARIES = ("torch", "torchvision", "numpy", "pillow", "simplejpeg")
SIZES = ((60, 44), (40, 40), (36, 70), (52, 37))
MODES = ("RGB", "RGB", "L", "RGBA", "RGB", "P")
SHORT = ("recipe.iterations=30", "recipe.evaluate_every=10")
PHOTOS = (
    "network=cifar-resnet-8", "network.input_size=32", "recipe.iterations=9", "recipe.evaluate_every=4",
    "recipe.batch=12",
)  # fmt: skip
NARROW = (
    "network=cifar-resnet-8", "network.stem.width=4", "network.stages.0.width=4", "network.stages.1.width=4",
    "network.stages.2.width=8", "recipe.precision=fp32",
)  # fmt: skip
WARM = (
    "recipe=cifar-paper-110", "recipe.optimizer.learning_rate=0.02", "recipe.augmentation.padding=1",
    "recipe.augmentation.flip=false",
)  # fmt: skip
LEFT_COMMANDS = {
    "digits": (
        "data=digits", *NARROW, *WARM, "recipe.batch=32", "recipe.iterations=150", "recipe.evaluate_every=20",
        "recipe.average_decay=0.9",
        "recipe.warmup.learning_rate=0.01", "recipe.warmup.until_error_percent=85", "recipe.warmup.window=10",
    ),
    "bitmaps": (
        "data=bitmaps", *NARROW, "network.input_size=24", "recipe.iterations=60", "recipe.evaluate_every=10",
        "recipe.batch=8", "recipe.centring=mean-image", "recipe.augmentation.crop=shorter-side",
        "recipe.augmentation.colour=0.1", "recipe.augmentation.mixup=0.2",
    ),
}  # fmt: skip
LEFT_FILES = ("trial.json", "provenance.json", "metrics.jsonl", "timings.jsonl", "result.json", "weights.safetensors")


# What is measured


def measure_verdicts(folder: Path, runs: Sequence[str] | None = None) -> Values:
    """Judge every table and figure by these records, or by all there are now, copied into a folder of their own."""
    found = sorted(path.parent.relative_to(RESULTS).as_posix() for path in RESULTS.glob("*/*/trial.json"))
    runs = found if runs is None else runs
    for run in runs:
        shutil.copytree(RESULTS / run, folder / run)
    values: Values = {"runs": runs}
    for place in PLACES:
        values[place] = read("reproduce", place, *(() if place == COUNTED else ("--from", str(folder))))
        for row in values[place] if place != COUNTED else ():
            del row["remarks"]  # sentences, which may be put better
            held_back = [setting["data"].pop("validation") for setting in row["claim"]["settings"]]
            assert not any(held_back), row  # a field that is newer than the record, as by default
    return values


def measure_digits() -> Values:
    """Train on the digits in several ways, test what came of it, and look into it."""
    digits = ("data=digits", "network=cifar-resnet-8", *SHORT)
    recipe, step = "recipe.augmentation.", "recipe.optimizer."
    first = train("as the recipe has it", *digits)
    warm = train(
        "warm-up, parts, averages", *digits, *WARM, "recipe.batch=64", "recipe.precision=fp32",
        "recipe.accumulate=2", "recipe.warmup.window=5",
        "recipe.warmup.learning_rate=0.005", "recipe.warmup.until_error_percent=89", "recipe.average_decay=0.9",
        "recipe.average_from=0.2", "seed=1",
    )  # fmt: skip
    weighted = train(
        "weights, cutout, exact norms", *digits, "recipe.class_weights=balanced", "recipe.label_smoothing=0.1",
        "recipe.exact_norms=true", f"{recipe}cutout=3", f"{recipe}edges=reflect", f"{recipe}flip=true",
        f"{recipe}alternating_flips=true", "recipe.schedule.kind=cosine", f"{step}nesterov=true", f"{step}clip_norm=1",
        "seed=2",
    )  # fmt: skip
    sampled = train(
        "balanced sampling, random network", *digits, "recipe.sampling=balanced", "network.dropout=0.1",
        "network.stochastic_depth=0.2", "network.shortcut=B", "network.order=pre", "recipe.schedule.kind=one-cycle",
        "recipe.precision=fp32", "data.split=tuning", "seed=3",
    )  # fmt: skip
    tuned = train(
        "from weights, a part frozen", *digits, f"weights={first['path']}/weights.safetensors", "recipe.freeze=conv2",
        f"{step}body_rate=0.5", f"{step}stage_decay=0.5", "recipe.precision=fp32", "seed=4",
    )  # fmt: skip
    stages = (reslab.StageSpec(width=8, blocks=1), reslab.StageSpec(width=16, blocks=1, stride=2))
    small = reslab.NetworkSpec(stem=reslab.StemSpec(width=8, kernel=3), stages=stages)
    by_hand = reslab.Recipe(iterations=20, batch=32)
    run = reslab.train("digits", small, recipe=by_hand, fields={"recipe.evaluate_every": 10})
    values = read_run("by hand in Python", run.path) | {"by hand in Python: test": test(run.path)}
    for number, one in enumerate((first, warm, weighted, sampled, tuned)):
        values |= one["values"]
        values |= try_all(one, PROTOCOLS if number < 2 else PROTOCOLS[:1])
    random = np.random.default_rng(5)
    images = []
    for number in range(3):
        images.append(f"digit-{number}.png")
        Image.fromarray(random.integers(0, 256, (8, 8), dtype=np.uint8)).save(images[-1])
    return values | {"as the recipe has it: predict": read("predict", first["path"], *images)}


def measure_photographs() -> Values:
    """Train on folders of photographs, with something to test on and without, with a bad one, and in shards."""
    for name, val in (("photos", True), ("flat", False), ("spoilt", True)):
        make_pictures(Path(name), val=val)
    broken = Path("spoilt/train/discs/002.png")
    broken.write_bytes(broken.read_bytes()[:200])
    call("data", "shard", "photos", "shards")
    augment = "recipe.augmentation."
    runs = [
        train("as the recipe has it", "data=photos", *PHOTOS),
        train(
            "as the paper", "data=photos", *PHOTOS, "recipe.centring=mean-image", f"{augment}crop=shorter-side",
            f"{augment}colour=0.1", "recipe.exact_norms=true", "recipe.precision=fp32", "seed=1",
        ),
        train(
            "mixed, nothing to test on", "data=flat", *PHOTOS, f"{augment}mixup=0.2", f"{augment}cutmix=1",
            f"{augment}policy=trivial", "recipe.class_weights=balanced", "seed=2",
        ),
        train(
            "others held out", "data=flat", *PHOTOS, f"{augment}policy=rand", "recipe.sampling=balanced",
            "data.held_out_seed=1", "recipe.precision=fp32", "seed=3",
        ),
        train("one is bad", "data=spoilt", *PHOTOS, "data.on_bad_image=skip", "recipe.precision=fp32"),
        train(
            "growing", "data=photos", *(word for word in PHOTOS if "input_size" not in word), "network.input_size=96",
            "recipe.resizing.initial=0.4",
            "recipe.resizing.stages=3", "recipe.centring=mean-image", "recipe.precision=fp32",
        ),
        train("shards", "data=shards", *PHOTOS, "recipe.precision=fp32"),
    ]  # fmt: skip
    values: Values = {}
    for number, one in enumerate(runs):
        values |= one["values"]
        values |= try_all(one, PROTOCOLS if number in (0, 1) else PROTOCOLS[:1], one["data"])
    skipped = json.loads(Path(runs[4]["path"], "skipped.json").read_text())["images"]
    pictures = ("photos/val/bars/000.png", "photos/val/discs/001.jpg", "photos/val/discs/002.png", "turned.jpg")
    turned = Image.Exif()
    turned[0x0112] = 6
    draw_picture(2, 7).save("turned.jpg", quality=90, exif=turned)
    return values | {
        "one is bad: skipped": [{part: one[part] for part in ("image", "part")} for one in skipped],
        "as the recipe has it: predict": read("predict", runs[0]["path"], *pictures),
        "as the paper: predict": read("predict", runs[1]["path"], *pictures),
        "in Python: predict": [
            [{"name": guess.name, "probability": guess.probability} for guess in prediction.guesses]
            for prediction in reslab.Predictor(reslab.load_model(f"{runs[0]['path']}/weights.safetensors")).predict(
                list(pictures)
            )
        ],
    }


def measure_labels() -> Values:
    """Train where an image has several labels."""
    make_labelled(Path("labelled"))
    augment = "recipe.augmentation."
    runs = [
        train("as the recipe has it", "data=labelled", *PHOTOS),
        train(
            "mixed and weighted", "data=labelled", *PHOTOS, f"{augment}mixup=0.2", f"{augment}cutmix=1",
            "recipe.class_weights=balanced", "recipe.precision=fp32", "recipe.centring=mean-image", "seed=1",
        ),
    ]  # fmt: skip
    values: Values = {}
    for one in runs:
        values |= one["values"] | try_all(one, PROTOCOLS, "labelled")
    pictures = [f"labelled/images/labels-00{number}.png" for number in range(3)]
    return values | {"as the recipe has it: predict": read("predict", runs[0]["path"], *pictures)}


def measure_processes() -> Values:
    """Train in two processes, on the digits and on photographs."""
    make_pictures(Path("photos"), val=True)
    two = ("--processes", "2")
    digits = ("data=digits", "network=cifar-resnet-8", *SHORT)
    mixed = ("recipe.augmentation.mixup=0.2", "recipe.centring=mean-image")
    runs = [
        train("digits, whole batches", *digits, "recipe.sync_norms=true", "recipe.exact_norms=true", *two),
        train("digits, each its own", *digits, "recipe.precision=fp32", "recipe.accumulate=2", *two),
        train("photographs", "data=photos", *PHOTOS, *mixed, *two),
    ]
    return {name: value for one in runs for name, value in one["values"].items()}


def measure_left() -> Values:
    """Go on with interrupted runs of a version before, and read its finished ones."""
    make_bitmaps(Path("bitmaps"))
    shutil.copytree(LEFT / "interrupted", "runs")
    shutil.copytree(LEFT / "finished", "finished")
    values: Values = {"finished: runs": read("runs", "--runs", "finished")}
    for name, words in LEFT_COMMANDS.items():
        (old,) = Path("finished").glob(f"*-{name}-*")
        resumed = train(f"{name} resumed", *words)
        values |= resumed["values"] | read_run(f"{name} finished", old)
        values[f"{name} resumed: timed"] = _list_timed(Path(resumed["path"]))
        data = name if name == "bitmaps" else None
        values |= try_all({"name": f"{name} finished", "path": str(old)}, PROTOCOLS, data)
        shown = read("runs", "show", old.name, "--runs", "finished")
        values[f"{name} finished: show"] = {"id": shown["id"], "state": shown["state"], "result": shown["result"]}
    (photographs,) = Path("finished").glob("*-bitmaps-*")
    pictures = ("bitmaps/val/bars/000.bmp", "bitmaps/val/discs/000.bmp")
    values["bitmaps finished: predict"] = read("predict", str(photographs), *pictures)
    call("report", "--runs", "finished", "--out", "site")
    pages = sorted(path.relative_to("site").as_posix() for path in Path("site").rglob("*.html"))
    return values | {"finished: report": pages}


def _list_timed(run: Path) -> list[int]:
    """Return the steps that were timed; those of a run begun again come twice, though its log is the same."""
    lines = (run / "timings.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["step"] for line in lines]


SCENES: dict[str, Callable[[], Values]] = {
    "digits": measure_digits,
    "photographs": measure_photographs,
    "labels": measure_labels,
    "processes": measure_processes,
    "left": measure_left,
}


def measure(scene: str, folder: Path) -> Values:
    """Return what a scene comes to, played in a process of its own and in that folder, on one thread of the CPU."""
    paths = [str(HERE.parent), str(Path(reslab.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    fixed = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "RESLAB_WORKERS": "0", "CUDA_VISIBLE_DEVICES": ""}
    environment = {name: value for name, value in os.environ.items() if name != "RESLAB_RUNS"}
    environment |= {**fixed, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "tests.recorded", scene]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "measured.json").read_text(encoding="utf-8"))


def machine() -> dict[str, str]:
    """Return what numbers depend on to the last bit: the processor, and the libraries that compute and decode."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    about: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        about.setdefault(name.strip(), value.strip())
    words = [about[name] for name in ("model name", "cpu family", "model", "stepping") if name in about]
    return {
        "processor": " ".join(words) or platform.processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        **{name: version(name) for name in LIBRARIES},
    }


# By what it is measured


def call(*words: str) -> str:
    """Run a command in this process and return what it printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(list(words))
    return printed.getvalue()


def read(*words: str) -> Any:
    """Run a command that prints JSON."""
    return json.loads(call(*words, "--json"))


def train(name: str, *words: str) -> dict[str, Any]:
    """Train under `runs`; return the run's path, its data and what it wrote, under names that begin with this one."""
    before = {path.parent for path in Path("runs").glob("*/result.json")}
    call("train", *words, "--runs", "runs")
    (path,) = {path.parent for path in Path("runs").glob("*/result.json")} - before
    data = next(word.removeprefix("data=") for word in words if word.startswith("data="))
    return {"name": name, "path": str(path), "data": data, "values": read_run(name, path)}


def read_run(name: str, path: Path) -> Values:
    """Return a run's id, log and result."""
    lines = (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    result = json.loads((path / "result.json").read_text(encoding="utf-8"))
    result.pop("scores", None)  # they describe what stands beside them; the numbers are of before there were any
    return {
        f"{name}: id": path.name,
        f"{name}: metrics": [json.loads(line) for line in lines],
        f"{name}: result": result,
    }


def test(path: Path | str, protocol: str = "1-crop", data: str | None = None) -> Any:
    """Test a run."""
    return read("evaluate", str(path), f"protocol={protocol}", *([f"data={data}"] if data else []))


def try_all(run: dict[str, Any], protocols: Sequence[str], data: str | None = None) -> Values:
    """Test a run by these protocols and look into it; photographs are looked for where `data` says."""
    data = None if data == "digits" else data
    tests = {f"{run['name']}: {protocol}": test(run["path"], protocol, data) for protocol in protocols}
    looked = read("analyze", run["path"], *([f"data={data}"] if data else []))
    for one in looked:  # what was recorded is of before findings said by what settings and on what they were made
        found = one["responses"]
        kept = ("data", "images", "skipped_images", "counted", "layers")
        one["responses"] = {name: found[name] for name in kept} | {
            name: found["settings"][name] for name in ("confidence", "resamples")
        }
    return tests | {f"{run['name']}: analyze": looked}


def draw_picture(kind: int, number: int, size: tuple[int, int] | None = None) -> Image.Image:
    """Draw a bar, a disc or a square on noise."""
    width, height = size or SIZES[number % len(SIZES)]
    random = np.random.default_rng(100 * kind + number)
    down, across = np.mgrid[:height, :width]
    top, left = random.integers(8, height - 8), random.integers(8, width - 8)
    shape = (
        abs(down - top) < 4,
        (down - top) ** 2 + (across - left) ** 2 < 60,
        (abs(down - top) < 7) & (abs(across - left) < 7),
    )[kind]
    pixels = random.integers(40, 160, (height, width, 3))
    pixels[shape, kind] += 90
    return Image.fromarray(pixels.astype(np.uint8))


def make_pictures(root: Path, *, val: bool) -> None:
    """Write twelve pictures a class, JPEG and PNG of several sizes and modes; the last class has fewer."""
    parts = {"train": range(12), "val": range(12, 16)} if val else {"": range(14)}
    for part, numbers in parts.items():
        for kind, name in enumerate(("bars", "discs", "squares")):
            folder = root / part / name
            folder.mkdir(parents=True)
            for place, number in enumerate(numbers[: len(numbers) - 3 * (kind == 2)]):
                picture, suffix = draw_picture(kind, number), "jpg" if number % 2 else "png"
                if suffix == "png":
                    picture = picture.convert(MODES[number // 2 % len(MODES)])
                picture.save(folder / f"{place:03d}.{suffix}", quality=90)


def make_bitmaps(root: Path) -> None:
    """Write pictures that are the same to the byte whatever the library that writes them."""
    for part, numbers in {"train": range(8), "val": range(8, 11)}.items():
        for kind, name in enumerate(("bars", "discs", "squares")):
            folder = root / part / name
            folder.mkdir(parents=True)
            for place, number in enumerate(numbers):
                draw_picture(kind, number, (36 + number % 3, 30)).save(folder / f"{place:03d}.bmp")


# Golden files


def path_of(name: str) -> Path:
    """Return where a golden file lies."""
    return GOLDEN / f"{name}.json.gz" if name == "verdicts" else GOLDEN / f"{name}.json"


def read_golden(name: str) -> dict[str, Any]:
    """Return what was recorded, and on which machine."""
    content = path_of(name).read_bytes()
    return json.loads(gzip.decompress(content) if path_of(name).suffix == ".gz" else content)


def write_golden(name: str, values: Values) -> None:
    """Write what was measured, a line each, and on which machine."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in sorted(values.items())]
    about = json.dumps(machine(), sort_keys=True)
    text = '{\n "machine": ' + about + ',\n "values": {\n' + ",\n".join(lines) + "\n }\n}\n"
    path = path_of(name)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())


def leave_runs() -> None:
    """Make the runs of before: each once to its end, and once stopped midway by SIGTERM."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_bitmaps(folder / "bitmaps")
        for state in ("finished", "interrupted"):
            for words in LEFT_COMMANDS.values():
                _leave_run(folder, state, words)


def _leave_run(folder: Path, state: str, words: Sequence[str]) -> None:
    command = ["train", *words, "--runs", state]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RESLAB_WORKERS": "0", "CUDA_VISIBLE_DEVICES": ""}
    before = set((folder / state).glob("*")) if (folder / state).exists() else set()
    child = subprocess.Popen([sys.executable, "-m", "reslab", *command], cwd=folder, env=environment)
    while state == "interrupted" and child.poll() is None:
        logs = [path for path in (folder / state).glob("*/metrics.jsonl") if path.parent not in before]
        if logs and len(logs[0].read_text().splitlines()) >= 3:
            child.send_signal(signal.SIGTERM)
            break
        time.sleep(0.002)
    assert child.wait() == (0 if state == "finished" else 143)
    (run,) = set((folder / state).glob("*")) - before
    files = [run / name for name in LEFT_FILES if (run / name).exists()]
    if state == "interrupted":
        assert not (run / "result.json").exists()
        files += (run / "checkpoints").iterdir()
    for file in files:
        target = LEFT / state / run.name / file.relative_to(run)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    provenance = LEFT / state / run.name / "provenance.json"
    told = json.loads(provenance.read_text())
    for sitting in told["sittings"]:
        sitting["command"] = " ".join(["reslab", "train", *words])
        if "data_at" in sitting:
            sitting["data_at"] = "bitmaps"
    provenance.write_text(json.dumps(told, indent=2, sort_keys=True) + "\n")


def record(*scenes: str) -> None:
    """Write golden files anew: all, or those of these scenes."""
    GOLDEN.mkdir(exist_ok=True)
    if not LEFT.exists():
        leave_runs()
    for scene in scenes or ("verdicts", *SCENES):
        with tempfile.TemporaryDirectory() as folder:
            values = measure_verdicts(Path(folder)) if scene == "verdicts" else measure(scene, Path(folder))
        write_golden(scene, values)


if __name__ == "__main__":
    if sys.argv[1:]:  # one scene, played here: see `measure`
        Path("measured.json").write_text(json.dumps(SCENES[sys.argv[1]]()), encoding="utf-8")
    else:
        record()
