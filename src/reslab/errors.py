"""The one error a user is shown: what is wrong, which thing, and what to do about it.

Everything a user can get wrong raises `UserError` with one sentence; the command line prints that
sentence and exits with a non-zero code. Any other exception is a bug of ours and keeps its traceback.
"""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake of the user's. The message is one sentence that names the problem and the remedy."""


def suggest(word: str, known: Iterable[str], *, where: str = "") -> str:
    """Return ``; did you mean 'x'?`` for the nearest known word, `where` before it, or an empty string."""
    nearest = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{where}{nearest[0]}'?" if nearest else ""


def choices(values: Iterable[object]) -> str:
    """Join allowed values for a sentence: ``A, B or C``."""
    words = [str(value) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
