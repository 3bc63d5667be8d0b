"""Our recipe beside random weights and PyTorch's tutorial: `benchmarks/finetune.py beside`."""

from __future__ import annotations

from collections.abc import Sequence

from reslab.numbers import duration, percent
from reslab.report.markdown import write_table
from reslab.tasks.classification.scores import ERROR
from tools.transfer import kept
from tools.transfer.kept import ANTS_BEES, CIFAR, IMAGENETTE, Data, Kept

ABOUT = """\
Errors on test images, and the time of a whole training with loading and its test. *From scratch* is the same network
from random weights by the recipe for them, `photos`. The
[tutorial](https://pytorch.org/tutorials/beginner/transfer_learning_tutorial.html) is PyTorch's on transfer learning,
with the same weights. Its time begins with its first batch and includes the test after each epoch, as it does there.
*In our time* is its error at the moment when ours had ended."""
# One epoch of the tutorial takes longer on many photographs than all of our training.
OPTIONS = {IMAGENETTE: " --tutorial-epochs 1"}


def write() -> list[str]:
    """Write error and time of each way, sentences that compare them, and where they come from."""
    records = kept.read("beside")
    rows: list[Sequence[str]] = []
    sentences, missing = [], []
    told = [(one, name) for one in records for name in one.data["data"]]
    photographs = list(kept.sort_by_data(told, (ANTS_BEES, IMAGENETTE, CIFAR)))
    for about, found in photographs:
        if not found:
            rows.append((about.words, "not run", "", ""))
            record = f"--json results/transfer/beside-{about.saved}.json"
            missing.append(f"python benchmarks/finetune.py beside {about.given}{OPTIONS.get(about, '')} {record}")
        for one, name in found:
            ways = list_ways(one, name)
            places = [kept.name_images(about, one, name), *[""] * len(ways)]
            rows += [
                (place, way, kept.tell(outcomes), duration(kept.mean(outcomes, "seconds")))
                for place, (way, outcomes) in zip(places, ways.items(), strict=False)
            ]
            sentences.append(compare(about.words, list(ways.values())))
    parts = [ABOUT, write_table(("photographs", "training", "test error %, mean ± std (n)", "time"), rows, left=(0, 1))]
    parts += [kept.list_items(sentences)] if sentences else []
    return [*parts, *kept.cite(records, missing)]


def list_ways(record: Kept, name: str) -> dict[str, Sequence[Data]]:
    """Return how one set of photographs was trained on, and what that came to for each seed."""
    found, epochs = record.data["data"][name], record.data["tutorial_epochs"]
    return {
        "`weights=imagenet`, `recipe=finetune`": found["ours"],
        "from scratch, `recipe=photos`": found["scratch"],
        "the tutorial, in our time": [one["in_our_time"] for one in found["tutorial"]],
        f"the tutorial, {epochs} epoch{'s' * (epochs > 1)}": [one["epochs"][-1] for one in found["tutorial"]],
    }


def compare(words: str, ways: Sequence[Sequence[Data]]) -> str:
    """Say how the mean error of our recipe stands to those of the others."""
    ours, scratch, then, end = ([kept.mean(outcomes, name) for name in (ERROR.name, "seconds")] for outcomes in ways)
    return (
        f"{words}: {percent(ours[0])} % fine-tuned in {duration(ours[1])}, {percent(scratch[0])} % from scratch in "
        f"{duration(scratch[1])}. In our time the tutorial has {_differ(then[0], ours[0])}; at its end, after "
        f"{end[1] / ours[1]:.1f} times our time, {_differ(end[0], ours[0])}."
    )


def _differ(error: float, ours: float) -> str:
    """Say how much more or less an error is than ours: 1.20 points more."""
    if percent(error) == percent(ours):
        return "the same error"
    return f"{percent(abs(error - ours))} points {'more' if error > ours else 'less'}"
