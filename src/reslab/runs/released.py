"""The record of tests of released weights: a file for each network, data and protocol, beside the runs."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.files import slug, write_text
from reslab.json_text import to_json

FOLDER = "release"


@dataclass(frozen=True, kw_only=True)
class ReleaseTest:
    """How released weights did by a protocol on so many images of data, in which precision, and where that was run."""

    network: str
    weights: str
    protocol: str
    precision: str
    data: str
    fingerprint: str
    images: int
    scores: dict[str, float]
    surroundings: dict[str, Any]


def place_test(root: Path, *, network: str, data: str, fingerprint: str, protocol: str, precision: str) -> Path:
    """Return where the record of a test lies, or will."""
    return root / FOLDER / slug(f"{network}-{data}-{fingerprint[:12]}") / f"{protocol}-{precision}.json"


def write_test(test: ReleaseTest, path: Path) -> None:
    """Write the record of a test."""
    write_text(path, to_json(asdict(test), indent=2, sort_keys=True) + "\n")


def read_tests(root: Path) -> list[ReleaseTest]:
    """Read the records of all tests; one that is damaged is refused by its name."""
    tests = []
    for path in sorted((root / FOLDER).glob("*/*.json")):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            scores = {name: float(value) for name, value in found.pop("scores").items()}
            surroundings = dict(found.pop("surroundings"))
            test = ReleaseTest(**found, scores=scores, surroundings=surroundings)
            if not isinstance(test.images, int) or test.images < 1:
                raise ValueError(f"images is {test.images!r}")
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is damaged ({error}); remove it and test again") from error
        tests.append(test)
    return tests
