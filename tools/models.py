"""docs/paper/models.md: a card for each shipped network, written from its file."""

from __future__ import annotations

from collections.abc import Mapping

from reslab.networks import Weights, create_model, read_weights
from reslab.numbers import count, percent
from reslab.report.markdown import write_table
from reslab.report.notation import commit_words
from reslab.shipped import FOLDER, list_networks
from reslab.tasks.classification.scores import ERROR

DECAYED = {"weights": "kernels and matrices", "all": "all parameters"}
ABOUT = """\
# Models

These trained networks come with the package. We trained them on the 50,000 training images of CIFAR-10 with the paper's
recipe (section 4.2). For each network we ship the seed whose test error at the end is nearest to the mean of all seeds.
`python -m tools.ship` chose and tested the weights; `make results` writes this page from the files.

{table}

```python
import reslab

network = reslab.create_model("resnet-20", weights="cifar10").eval()  # offline
network.preprocess, network.mean_image, network.class_names
reslab.list_models(pretrained=True)
```

```
reslab evaluate resnet-20 weights=cifar10
```

- **Input:** 32×32 RGB, pixels from 0 to 1, minus the mean image of the training images (`network.mean_image`).
- **Output:** ten logits, in the order of `network.class_names`.
- **Use:** study and comparison. The networks know ten classes, on images 32 pixels wide.
- **Licence:** Apache-2.0, like reslab. The networks were trained on CIFAR-10 (Krizhevsky, 2009), which has no licence
  of its own. The files contain none of its images, only their mean."""


def write_cards() -> str:
    """Write a table of the shipped networks, and a card for each."""
    names = sorted(list_networks("cifar10"), key=lambda name: (name.split("-")[0], int(name.split("-")[1])))
    shipped = {name: read_weights("cifar10", like=create_model(name).spec) for name in names}
    rows = [
        [
            f"[{name}](#{name})",
            count(sum(p.numel() for p in create_model(name).parameters())),
            percent(weights.metrics[ERROR.name]),
            _spread(weights),
            f"{(FOLDER / 'cifar10' / f'{name}.safetensors').stat().st_size / 2**20:.1f}",
        ]
        for name, weights in shipped.items()
    ]
    table = write_table(("network", "parameters", "test error %", "all seeds, mean ± std (n)", "MiB"), rows)
    cards = [_write_card(name, weights) for name, weights in shipped.items()]
    return "\n\n".join([ABOUT.format(table=table), *cards]) + "\n"


def _write_card(name: str, weights: Weights) -> str:
    about, metrics = weights.provenance, weights.metrics
    recipe, optimizer, warmup = about["recipe"], about["recipe"]["optimizer"], about["recipe"]["warmup"]
    drops = " and ".join(count(drop * recipe["iterations"]) for drop in recipe["schedule"]["drops"])
    rate = f"learning rate {optimizer['learning_rate']:g}, times {recipe['schedule']['factor']:g} after {drops}"
    rows = [
        (
            "recipe",
            f"SGD, momentum {optimizer['momentum']:g}, weight decay {optimizer['weight_decay']:g}"
            f" on {DECAYED[optimizer['decay']]}, batches of "
            f"{recipe['batch']}, {rate}{_warmup(warmup)}; padded crops and flips",
        ),
        ("iterations", count(recipe["iterations"])),
        ("seed", str(about["seed"])),
        ("trained on", f"{about['device']}, {recipe['precision']}, commit {commit_words(about['commit'].split(', '))}"),
        ("test error %, on that device", percent(metrics["recorded_error_percent"])),
        ("test error %, float32 on a CPU", percent(metrics[ERROR.name])),
        ("test error % of all seeds, mean ± std (n)", _spread(weights)),
        ("parameters", count(sum(p.numel() for p in create_model(name).parameters()))),
        ("preprocessing", weights.preprocess.describe() if weights.preprocess else ""),
        ("run", f"`{about['trial']}`"),
    ]
    return f"## {name}\n\n" + write_table(("", ""), rows, left=(0, 1))


def _warmup(warmup: Mapping[str, float] | None) -> str:
    if warmup is None:
        return ""
    below = f"training error of {warmup['window']:g} iterations is below {warmup['until_error_percent']:g} %"
    return f"; warm-up at {warmup['learning_rate']:g} until the {below}"


def _spread(weights: Weights) -> str:
    std = weights.metrics.get("std_error_percent")
    spread = "" if std is None else f" ± {percent(std)}"
    return f"{percent(weights.metrics['mean_error_percent'])}{spread} ({weights.metrics['seeds']:g})"
