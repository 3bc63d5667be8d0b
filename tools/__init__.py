"""What is run in this repository and not shipped: `python -m tools.NAME`, from its root.

They bring records home, ship weights, write the pages about both, and retake the pictures.
"""

from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
RESULTS = REPOSITORY / "results"
