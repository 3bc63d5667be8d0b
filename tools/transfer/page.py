"""Say what the authors' ImageNet features are worth on other photographs: docs/paper/transfer.md, by `make results`.

`results/transfer` has what `benchmarks/finetune.py --json` and `reslab probe --json` wrote: study*.json, beside*.json
and probe*.json. `results/imagenette` has runs from scratch. What no record shows reads *not run*, with its command.
"""

from __future__ import annotations

from collections.abc import Sequence

from reslab.report.records import RunRecord
from tools import REPOSITORY
from tools.transfer import beside, probes, scratch, study

PAGE = REPOSITORY / "docs" / "paper" / "transfer.md"
ABOUT = """\
# Transfer

What the authors' ImageNet features are worth on other photographs. Everything here starts from `weights=imagenet`, the
[authors' ResNet-50](../how-to/weights.md#the-authors-resnet-50), unless it says *from scratch*.
[Fine-tune](../how-to/fine-tune.md) says how to do it with your photographs. Numbers are read off the records, in tables
and sentences alike; `make results` writes this page. What no record shows reads *not run*, with its command.

`ants-bees` is the [folder of PyTorch's tutorial](../tutorials/classifier.md), `imagenette-160` is fast.ai's
imagenette2-160, and `cifar10:100` is the first 100 images of each class of CIFAR-10, for training and for tests, which
`benchmarks/finetune.py` writes into the folder cifar10-100. Imagenette's classes and photographs are ImageNet's, on
which these weights were trained: its numbers say how well they are remembered, not how well they transfer."""


def write_page(records: Sequence[RunRecord]) -> str:
    """Return the page; of the runs it tells those in results/imagenette."""
    sections = {
        "Fine-tuned, from scratch and by the tutorial": beside.write(),
        "Which settings": study.write(),
        "Features by stage": probes.write(),
        "Imagenette from scratch": scratch.write(records),
    }
    return "\n\n".join([ABOUT, *[part for title, parts in sections.items() for part in (f"## {title}", *parts)]]) + "\n"
