"""Draw a landscape for the docs: `python -m tools.surfaces FINDINGS.json NAME` writes docs/pictures/NAME.svg.

The findings are those of a surface, as `reslab analyze landscape` stores them, with their arrays beside them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from reslab.files import write_text
from reslab.report.surfaces import draw_landscape
from tools import REPOSITORY

PICTURES = REPOSITORY / "docs" / "pictures"


def main(findings: Path, name: str, pictures: Path = PICTURES) -> Path:
    """Write the picture, and return where."""
    found = json.loads(findings.read_text(encoding="utf-8"))
    with np.load(findings.with_suffix(".npz"), allow_pickle=False) as arrays:
        drawing = draw_landscape(found, dict(arrays))
    path = pictures / f"{name}.svg"
    write_text(path, drawing)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(main(Path(sys.argv[1]), sys.argv[2]))
