"""One of the paper's claims, by what its table or figure calls it."""

from __future__ import annotations

from reslab.paper.claim import Claim
from reslab.paper.claims import CLAIMS


def find_claim(table: str, row: str, quantity: str = "") -> Claim:
    """Return the claim of a row whose quantity has these words in it, of which there is one."""
    words = f" {quantity} " if quantity else ""
    (claim,) = [claim for claim in CLAIMS[table] if claim.row == row and words in f" {claim.quantity} "]
    return claim
