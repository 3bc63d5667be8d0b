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

    def place(self, root: Path) -> Path:
        """Return where its record lies."""
        name = slug(f"{self.network}-{self.data}-{self.fingerprint[:12]}")
        return root / FOLDER / name / f"{self.protocol}-{self.precision}.json"

    def write(self, root: Path) -> Path:
        """Write its record."""
        path = self.place(root)
        write_text(path, to_json(asdict(self), indent=2, sort_keys=True) + "\n")
        return path


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
