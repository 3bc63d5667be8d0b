"""What pages show of curvature: the largest eigenvalues; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from reslab.analysis.catalogue import InstrumentPanel, Mark, View
from reslab.spec.codec import decode_known
