"""The embedded default: 1,797 real handwritten digits of 8x8 pixels, so that a first run needs no download.

E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998
(CC BY 4.0): the 1,797 images of its test file, in its order. Every fifth of each digit is ours to test on.
"""

from pathlib import Path

import numpy as np

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit

TEST_EVERY = 5


def load_digits() -> ArrayDataset:
    """Load the digits that come with the package."""
    with np.load(Path(__file__).with_name("digits.npz"), allow_pickle=False) as file:
        every = ArraySplit(file["images"], file["labels"])
    tested = np.zeros(len(every), dtype=bool)
    for digit in range(10):
        tested[np.flatnonzero(every.targets == digit)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return ArrayDataset(
        name="digits",
        class_names=tuple("0123456789"),
        train=every.take(np.flatnonzero(~tested)),
        test=every.take(np.flatnonzero(tested)),
        brightest=16,
        usual_recipe="digits",
    )
