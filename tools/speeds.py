"""What the benchmarks measured on a GPU: training beside the peers, time to accuracy, the depths of Table 1.

The files of `results/speed` and `results/fast` are as `benchmarks/*.py --json` and `reslab reproduce table-1 --measure
--json` write them, with the command and the commit.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reslab.experiments.costs import write_largest
from reslab.numbers import percent, write_size
from reslab.paper.release import RELEASED_TESTS
from reslab.report.markdown import write_table
from reslab.report.release import judge_release
from reslab.spec import name_of
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import Trial, trial_from_dict
from reslab.tasks.classification.scores import ERROR, TOP5_ERROR
from tools import RESULTS

TRAINING_IMAGES = 50_000
ONE_VIEW = "single_view_error_percent"
ITERATIONS, BATCH = find_recipe("imagenet-paper").iterations, find_recipe("imagenet-paper").batch
ABOUT_TRAINING = """\
Measured in bf16 on {device}, taking turns with the peer within one run
([how, and where the time goes](../inside/log.md)).

- The usual loop for CIFAR-10 is eager float32 with PIL images in {workers}. Both got {images}.
- torchvision's compiled ResNet-50 waited for the host in this run. The day before, it reached 6,481 images per second
  ([log](../inside/log.md)).
- Inference is in bfloat16 for both; ours is also folded and captured. The compiled peer was not measured in that run.
  The day before, ours was 1.29 times as fast with batches of 256, and 1.16 times with single images."""
ABOUT_TESTING = """\
{images:,} validation images of ImageNet with the authors' ResNet-50, on {device} and 16 cores. The peer is
torchvision's reference evaluation with a network of its own, in the same run. Start-up is not counted
([log](../inside/log.md))."""
IMAGES = {"cifar10": "its images", "noise": "noise of the same size"}
ABOUT_FAST = """\
[`recipe=fast`](../how-to/fast-cifar.md), one trial at a time, measured by `benchmarks/fast.py` (`results/fast`).
Training time is from the first iteration to the final weights. Preparation (data to the device, kernels, capture) and
the test are separate columns. The number of epochs was chosen on these same test errors: fewer missed the target
([log](../inside/log.md))."""
IN_BRIEF = """\
On one {device}, in bf16 ([all speeds](docs/paper/speed.md)):

- resnet-56 on images of CIFAR-10's size trains **{alone:.0f} times** as fast as with the usual eager float32 loop, and
  **{together:.0f} times** with eight trials at once.
- resnet-50 trains **{eager:.2f} times** as fast as torchvision's in eager mode and {compiled:.2f} times as fast as
  compiled (1.31 when the compiled one did not wait for the host).
- With [`recipe=fast`](docs/how-to/fast-cifar.md), {sprint.name} reaches {sprint.error} % test error on CIFAR-10
  (n = {sprint.n}) in {seconds:.0f} s of training; {wide.name} reaches {wide.error} % in {wide_seconds:.0f} s
  ({epochs} epochs). For comparison, {peer}, built for this task alone, takes {peer_seconds:.1f} s for
  {peer_error} % with several views of each test image, {one_view} % with one view, as ours."""
IN_AUTHORS = """\
ImageNet: the authors' own ResNet-50, tested by `reslab reproduce release` on {images:,} of the 50,000 validation
photographs, in {precision}:

{table}"""


@dataclass(frozen=True, kw_only=True)
class Sprint:
    """One network by the fast recipe, over seeds."""

    trial: Trial
    outcomes: list[dict[str, float]]
    device: str

    @property
    def name(self) -> str:
        return name_of(self.trial.network)

    @property
    def error(self) -> str:
        """The test error's mean ± standard deviation."""
        return _spread(self.outcomes, ERROR.name)

    @property
    def n(self) -> int:
        return len(self.outcomes)

    @property
    def preparation(self) -> str:
        """How long the first took to begin, for which kernels are compiled, and the others on average."""
        first, *others = self.outcomes
        return f"{first['preparation_seconds']:.1f}, then {_mean_seconds(others, 'preparation'):.1f}"

    def seconds(self, part: str) -> float:
        """Return the mean over seeds of the time that a part took."""
        return _mean_seconds(self.outcomes, part)


def write_brief() -> str:
    """Say the most important of it in a few sentences."""
    record, larger = _read("speed/cifar"), _read("speed/resnet50")["images_per_second"]
    (speeds,) = (one for one in record["images_per_second"] if one["network"] == "resnet-56")
    sprints = {sprint.name: sprint for sprint in _read_sprints()}
    sprint, wide = sprints["resnet-56"], sprints["wrn-16-4"]
    (peer,) = (record["beside"] for record in _read_fast() if "beside" in record)
    return IN_BRIEF.format(
        device=_device(record),
        alone=speeds["ours, bf16, 1 at once"] / speeds["peer"],
        together=speeds["ours, bf16, 8 at once"] / speeds["peer"],
        eager=larger["training: ours"] / larger["training: peer, eager"],
        sprint=sprint,
        seconds=sprint.seconds("training"),
        wide=wide,
        wide_seconds=wide.seconds("training"),
        peer=peer["name"],
        peer_seconds=_mean_seconds(peer["outcomes"], "training"),
        peer_error=_spread(peer["outcomes"], ERROR.name),
        one_view=_spread(peer["outcomes"], ONE_VIEW),
        epochs=_epochs(wide.trial),
        compiled=larger["training: ours"] / larger["training: peer, compiled"],
    )


def write_authors() -> str:
    """Say what the authors' own ResNet-50 errs by here, beside what they published, from the records of its tests."""
    verdicts = judge_release(RESULTS)
    rows = []
    for test in RELEASED_TESTS:
        both = [verdict for verdict in verdicts if verdict.test == test]
        what = f"top-1 / top-5 error %, {test.protocol} ({test.source})"
        published = " / ".join(f"{verdict.published:g}" for verdict in both)
        ours = " / ".join(f"{percent(verdict.ours)} ± {percent(verdict.standard_error)}" for verdict in both)
        rows.append(("ResNet-50", what, published, ours, " / ".join(dict.fromkeys(verdict.word for verdict in both))))
    table = write_table(("", "", "published", "ours, ± standard error", "verdict"), rows, left=(0, 1, 4))
    precision = " and ".join(dict.fromkeys(verdict.precision for verdict in verdicts))
    return IN_AUTHORS.format(images=verdicts[0].images, precision=precision, table=table)


def write_training() -> str:
    """Write images a second, the peer's first, and how many times the peer's ours are."""
    record = _read("speed/cifar")
    *_, images, workers = record["about"].split(", ")
    about = ABOUT_TRAINING.format(device=_device(record), images=IMAGES[images], workers=workers)
    inference = _write_inference(_read("speed/resnet50-inference"))
    return "\n\n".join([about, _write_cifar(record), _write_resnet50(_read("speed/resnet50")), inference])


def write_testing() -> str:
    """Write images a second of tests of photographs by protocol, beside torchvision's, and the errors they gave."""
    records = _read_testing()
    rows = [
        (
            row["protocol"],
            row["precision"],
            f"{row['images_per_second']:,.0f}",
            f"{row['peer']:,.0f}" if row["peer"] else "",
            _errors(row),
        )
        for record in records
        for row in record["rows"]
    ]
    about = ABOUT_TESTING.format(images=records[0]["photographs"], device=_device(records[0]))
    heads = ("protocol", "precision", "ours, images per second", "torchvision, float32", "top-1 / top-5 error %")
    return f"{about}\n\n{write_table(heads, rows, left=(0, 1))}"


def write_fast() -> str:
    """Write what the fast recipe reaches, and in what time."""
    heads = (
        "network",
        "`recipe.epochs`",
        "test error %, mean ± std (n)",
        "training s",
        "preparation s",
        "test s",
        "device",
    )
    rows = [
        [
            sprint.name,
            str(_epochs(sprint.trial)),
            f"{sprint.error} ({sprint.n})",
            percent(sprint.seconds("training")),
            sprint.preparation,
            percent(sprint.seconds("evaluation")),
            f"{sprint.device}, {sprint.trial.recipe.precision}",
        ]
        for sprint in _read_sprints()
    ]
    rows += [write_peer(record["beside"], device=record["device"]) for record in _read_fast() if "beside" in record]
    return "\n\n".join([ABOUT_FAST, write_table(heads, rows, left=(0, 6))])


def write_peer(peer: dict[str, Any], *, device: str) -> list[str]:
    """Write a row about airbench, whose time holds its test, of several views of each image."""
    n = len(peer["outcomes"])
    errors = f"{_spread(peer['outcomes'], ERROR.name)} ({n})"
    seconds = _mean_seconds(peer["outcomes"], "training")
    name = f"{peer['name']} {peer['version']}, several views; of one view {_spread(peer['outcomes'], ONE_VIEW)}"
    return [name, "", errors, percent(seconds), "", "in training", f"{device}, fp16"]


def write_depths() -> str:
    """Write time and memory of the ResNets of Table 1 where they were measured."""
    record = _read("speed/table-1")
    heads = ("", "precision", "batch", "forward, ms", "and backward, ms", "memory of a step", "largest batch")
    heads += ("the paper's 600,000 iterations, hours",)
    rows = [
        [
            one["network"],
            one["precision"],
            str(one["batch"]),
            *[f"{1e3 * one[name]:,.1f}" for name in ("forward_seconds", "step_seconds")],
            write_size(one["peak_memory_bytes"]),
            write_largest(one["largest_batch"]),
            f"{ITERATIONS * one['step_seconds'] / 3600:.1f}" if one["batch"] == BATCH else "",
        ]
        for one in record["measured"]
    ]
    (device,) = {one["device"] for one in record["measured"]}
    where = f"{device}, torch {record['versions']['torch']}"
    by = (
        f"Time and memory with torch's kernels, not captured, on {where}:\n`{record['command']}`.\n"
        "`reslab train` is [faster](#training-and-inference). Where batches of 32 are slower in bf16 than in float32, "
        "the device\nmay be waiting for the host."
    )
    return "\n\n".join([by, write_table(heads, rows, left=(0, 1))])


def _write_cifar(record: dict[str, Any]) -> str:
    """Write the loop for CIFAR-10 beside the one people use."""
    speeds = [{**one} for one in record["images_per_second"]]
    rows = []
    for one in speeds:
        network, peer = one.pop("network"), one.pop("peer")
        rows.append([f"{network}, batch 128", f"{peer:,.0f}", *[_beside(speed, peer) for speed in one.values()]])
    heads = ["training, images per second", "the usual loop", *speeds[0]]
    return write_table(heads, rows)


def _write_resnet50(record: dict[str, Any]) -> str:
    """Write ResNet-50 beside torchvision's."""
    speeds = record["images_per_second"]
    names = {
        "torchvision, eager": "peer, eager",
        "torchvision, compiled": "peer, compiled",
        "ours": "ours",
    }
    found = {head: speeds[f"training: {label}"] for head, label in names.items()}
    peer = found["torchvision, eager"]
    cells = [f"{speed:,.0f}" if speed == peer else _beside(speed, peer) for speed in found.values()]
    return write_table(["training, images per second", *found], [["resnet-50-v1.5, 224×224, batch 256", *cells]])


def _write_inference(record: dict[str, Any]) -> str:
    """Write ResNet-50's inference beside torchvision's, with many images at once and with one."""
    speeds = record["images_per_second"]
    rows = []
    for batch in (256, 1):
        peer, ours = (speeds[f"inference, batch {batch}: {label}"] for label in ("peer, eager", "ours"))
        rows.append([f"resnet-50-v1.5, 224×224, batch {batch}", f"{peer:,.0f}", _beside(ours, peer)])
    return write_table(["inference, images per second", "torchvision, eager", "ours"], rows)


def _beside(speed: float, peer: float) -> str:
    return f"{speed:,.0f} ({speed / peer:.2f}×)"


def _errors(row: Mapping[str, float]) -> str:
    return f"{row[ERROR.name]:.2f} / {row[TOP5_ERROR.name]:.2f}"


def _device(record: dict[str, Any]) -> str:
    return record["about"].partition(",")[0]


def _read_testing() -> list[dict[str, Any]]:
    return [_read("speed/testing"), _read("speed/testing-multi-scale")]


def _read_sprints() -> list[Sprint]:
    return [
        Sprint(trial=trial_from_dict(setting["trial"]), outcomes=setting["outcomes"], device=record["device"])
        for record in _read_fast()
        for setting in record["settings"]
    ]


def _read_fast() -> list[dict[str, Any]]:
    return [_read(f"fast/{path.stem}") for path in sorted((RESULTS / "fast").glob("*.json"))]


def _epochs(trial: Trial) -> int:
    """Return how often a trial sees the 50,000 images of CIFAR-10."""
    return round(trial.recipe.iterations * trial.recipe.batch / TRAINING_IMAGES)


def _mean_seconds(outcomes: Sequence[Mapping[str, float]], part: str) -> float:
    return statistics.mean(outcome[f"{part}_seconds"] for outcome in outcomes)


def _spread(outcomes: Sequence[Mapping[str, float]], name: str) -> str:
    values = [outcome[name] for outcome in outcomes]
    return f"{percent(statistics.mean(values))} ± {percent(statistics.stdev(values))}"


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
