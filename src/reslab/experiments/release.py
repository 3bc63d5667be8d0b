"""The authors' released weights, tested as the paper tests, on a folder of ImageNet's validation images.

Each protocol leaves a record of its own, so that tests that were stopped go on with the next protocol.
"""

from pathlib import Path

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.experiments.estimate import estimate_tests
from reslab.experiments.evaluate import evaluate_subject
from reslab.experiments.trained import choose_inputs, load_file
from reslab.paper.release import RELEASED_TESTS, ReleasedTest
from reslab.runs.provenance import describe_surroundings, name_device
from reslab.runs.released import ReleaseTest, place_test, write_test
from reslab.runtime.listener import Listener
from reslab.shipped import find_weights
from reslab.spec import find
from reslab.spec.recipe import RECIPES
from reslab.spec.trial import DataSpec, Trial

CLASSES = 1000
PRECISION = "fp32"  # in which tests are recorded


def list_missing(dataset: Dataset, root: Path) -> list[ReleasedTest]:
    """Return the tests of which there is no record for these images; refuse images of other classes."""
    if len(dataset.class_names) != CLASSES:
        raise UserError(
            f"{dataset.name} has {len(dataset.class_names)} classes, but the released weights know ImageNet's 1,000; "
            "give data=FOLDER with val/ and a folder for each class in it, named 0 to 999 or by its WordNet id"
        )
    return [one for one in RELEASED_TESTS if not _place(one, dataset, root).exists()]


def estimate_release(tests: list[ReleasedTest], dataset: Dataset, *, device: str) -> float:
    """Estimate the seconds of tests."""
    if not tests:
        return 0.0
    data = DataSpec(name=dataset.name, fingerprint=dataset.fingerprint)
    trial = Trial(data=data, network=find(tests[0].network), recipe=RECIPES["imagenet-paper"])
    return estimate_tests([(one.protocol, trial) for one in tests], dataset, device=device)


def run_release_test(
    test: ReleasedTest, dataset: Dataset, root: Path, *, device: str, listener: Listener
) -> ReleaseTest:
    """Test released weights by one protocol, and leave a record of it."""
    trained = load_file(find_weights(test.weights, test.network))
    subject = choose_inputs(trained, dataset, listener=listener, device=device)
    found = evaluate_subject(subject, protocol=test.protocol, listener=listener)
    record = ReleaseTest(
        network=test.network,
        weights=test.weights,
        protocol=test.protocol,
        precision=PRECISION,
        data=dataset.name,
        fingerprint=dataset.fingerprint,
        images=found["images"],
        scores={metric: found[metric] for metric in test.published},
        surroundings=describe_surroundings() | {"device": name_device(device)},
    )
    write_test(record, _place(test, dataset, root))
    return record


def _place(test: ReleasedTest, dataset: Dataset, root: Path) -> Path:
    return place_test(
        root,
        network=test.network,
        data=dataset.name,
        fingerprint=dataset.fingerprint,
        protocol=test.protocol,
        precision=PRECISION,
    )
