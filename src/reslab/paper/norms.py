"""What we ask beyond the paper: batch normalization of a detector, frozen or trained, in precision, memory and time.

The paper freezes it "mainly for reducing memory consumption" (appendix A), and prints no numbers of the alternative.
"""

from collections.abc import Iterator
from dataclasses import replace

from reslab.paper.claim import Claim
from reslab.paper.detection import VOC_07_12, setting_of
from reslab.paper.measurements import AtTheEnd, Latency, Measurement, Timed

NETWORK = "resnet-50"  # whose weights the authors released
PRECISION, MEMORY = "mAP@.5 %, eleven points", "peak memory of training, GiB"
QUANTITIES: dict[str, Measurement] = {
    PRECISION: AtTheEnd(VOC_07_12.metrics["mAP@.5"]),
    "mAP@[.5,.95] %": AtTheEnd("map50_95_percent"),
    MEMORY: Timed("peak_memory_bytes"),
    "training, ms per image": Timed("images_per_second"),
    "test of one image, ms": Latency(),
}
NOTES = {
    ("frozen", MEMORY): "the paper freezes it to save memory",
    # XiaozhiChen/resnet-generator, issue 4
    ("trained", PRECISION): "a user's ResNet-50 had 47 mAP so on VOC 2007, and 65 once batch norm was frozen and a bug "
    "corrected",
}


def _ask(norm: str) -> Iterator[Claim]:
    """Yield the questions about one detector: nothing was published of it."""
    setting = setting_of(NETWORK, VOC_07_12)
    if norm != "frozen":  # as by default, which is the run of Table 7
        setting = replace(setting, task=f"{setting.task} norm={norm}")
    for quantity, measurement in QUANTITIES.items():
        yield Claim(
            table="norms",
            row=f"{norm} batch norm",
            quantity=quantity,
            settings=(setting,),
            measurement=measurement,
            note=NOTES.get((norm, quantity), ""),
        )


CLAIMS: dict[str, tuple[Claim, ...]] = {"norms": (*_ask("frozen"), *_ask("trained"))}
