r"""Foreign text on a terminal or a sheet: class names, file names and records may hold what a terminal would obey.

It is shown instead, as \x1b: control characters, marks that turn the direction of writing around, and bytes of file
names that are no UTF-8. Tables and `--json` keep it as it is.
"""

import re

FOREIGN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def legible(text: str) -> str:
    """Return a name or a sentence on one line, with escapes for all that would not be shown."""
    return FOREIGN.sub(_escape, text)


def disarmed(text: str) -> str:
    """Return text of several lines in the same way; the line breaks are ours."""
    return "\n".join(map(legible, text.split("\n")))


def _escape(found: re.Match[str]) -> str:
    character, code = found[0], ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # as Python carries a byte that is no UTF-8
        code -= 0xDC00
    return SHORT.get(character) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")
