"""One of the paper's claims, by what its table or figure calls it."""

from __future__ import annotations

from reslab.paper.claim import Claim
from reslab.paper.claims import CLAIMS


def find_claim(table: str, row: str, quantity: str = "") -> Claim:
    """Return the claim of a row, of which there is one."""
    (claim,) = [claim for claim in CLAIMS[table] if claim.row == row and quantity in claim.quantity]
    return claim
