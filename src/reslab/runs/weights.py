"""Whether a weight file is whole, as its header and length tell: a safetensors file says where its last tensor ends.

That finds what is missing, cut short or something else at no cost and without torch; who loads it checks its digest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from reslab.errors import UserError

LENGTH_BYTES = 8  # of the header's length, little-endian, which the file begins with
METADATA = "__metadata__"


def find_damage(path: Path) -> Literal["", "gone", "damaged"]:
    """Return what has become of a weight file; nothing if it is as long as it says."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(LENGTH_BYTES), "little")
            header = json.loads(file.read(min(length, size)))
        end = max((about["data_offsets"][1] for name, about in header.items() if name != METADATA), default=0)
    except FileNotFoundError:
        return "gone"
    except PermissionError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; check the run's permissions") from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "damaged"
    return "" if size == LENGTH_BYTES + length + end else "damaged"
