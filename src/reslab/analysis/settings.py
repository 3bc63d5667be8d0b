"""What an instrument can be told: fields of a frozen dataclass, all with defaults, written field=value; no torch.

An instrument's own stand in its `settings.py`, in a class of its name. Findings are kept beside each other by a digest
of what is not as by default, so that a field which is new in a later version leaves the names of earlier ones.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal

from reslab.errors import UserError
from reslab.json_text import to_json
from reslab.spec.codec import encode
from reslab.spec.optimization import demand

DIGITS = 8  # of the digest


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every instrument can be told.

    Fields:
        images: Measure on the first so many images, or, of a folder, on so many spread evenly over it; 0 takes all.
        on: The images that networks are tested on, or trained on, neither augmented.
        seed: The seed of whatever is drawn.
    """

    images: int = 0
    on: Literal["test", "train"] = "test"
    seed: int = 0

    def __post_init__(self) -> None:
        demand(self, "", least={"images": 0, "seed": 0})
        confidence = getattr(self, "confidence", 0.5)  # most have intervals
        if not 0 < confidence < 1:
            raise UserError(f"confidence is {confidence:g}; it must be {'above 0' if confidence <= 0 else 'below 1'}")

    @property
    def digest(self) -> str:
        """Return what tells these settings from others; nothing where all are as by default."""
        changed = encode(self, sparse=True)
        text = to_json(changed, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:DIGITS] if changed else ""
