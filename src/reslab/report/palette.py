"""Seven colours that stay apart for the colour-blind, on light paper and on dark.

Each has a contrast of at least 3 with its background; the order puts the most different first.
"""

from __future__ import annotations

LIGHT = ("#0072b2", "#d55e00", "#00916a", "#551a6b", "#e0559f", "#7a5c00", "#20242a")
DARK = ("#4d9fec", "#f58a4b", "#2fa884", "#d9c7ff", "#ff9ecb", "#f2dc7c", "#ffffff")
