"""How long a trained network takes for one test image: shown and judged as in its test, and as `predict` does it.

From the image as it is stored, on the device, to what is said of it: reading the file is not in. Images come one by
one, in float32. Each is shown once before it counts, for the first passes of a shape take longer.
"""

import itertools
import math
import statistics
from functools import partial
from typing import Any

import torch

from reslab.runs.provenance import name_device
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.timing import time_once
from reslab.tasks.subject import Subject

COUNTED = 20
PASSES = 2 * COUNTED


@torch.no_grad()
def measure_latency(subject: Subject, *, listener: Listener = DEAF) -> dict[str, Any]:
    """Time a network on test images, one after the other; from the beginning again where they are few."""
    bench = subject.task.make_bench([subject], protocol=subject.task.protocols[0], precision="fp32")
    stored = [images for images, _ in subject.stored(1, images=min(COUNTED, len(subject)))]
    seconds: list[float] = []
    for images in itertools.islice(itertools.cycle(stored), PASSES):
        seconds.append(time_once(partial(bench.judge, images, 0), subject.device))
        listener.progress(len(seconds), {})
    milliseconds = [1000 * each for each in seconds[-COUNTED:]]
    lower, median, upper = statistics.quantiles(milliseconds, n=4)
    sizes = sorted((image.shape[-1:-3:-1] for images in stored for image in images), key=math.prod)
    (shown,) = bench.describe()
    threads = {"threads": torch.get_num_threads()} if subject.device == "cpu" else {}
    return {
        "data": subject.data,
        "images": len(stored),
        "smallest_stored": "{}x{}".format(*sizes[0]),
        "largest_stored": "{}x{}".format(*sizes[-1]),
        "passes": COUNTED,
        "milliseconds": median,
        "quartiles_milliseconds": [lower, upper],
        "batch": 1,
        "precision": "fp32",
        "device": name_device(subject.device),
        **threads,
        **shown,
    }
