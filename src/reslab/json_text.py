"""Plain data as JSON text, the one way it is written: RFC 8259 has no NaN and no infinities, so these are null.

Records of early versions may have them, and stay readable. The text that ids and names are made of is `spec`'s own.
"""

import json
from typing import Any


def to_json(data: Any, **options: Any) -> str:
    """Return `data` as `json.dumps` writes it with these options; a number that is not finite is null."""
    try:
        return json.dumps(data, allow_nan=False, **options)
    except ValueError:
        plain = json.loads(json.dumps(data, **options), parse_constant=lambda name: None)
        return json.dumps(plain, allow_nan=False, **options)
