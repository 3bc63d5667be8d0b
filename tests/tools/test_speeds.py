"""What others reach stands beside ours as it was measured."""

from __future__ import annotations

from tools.speeds import write_peer


def test_a_peers_row() -> None:
    """Its error with several views and with one, and its own clock."""
    outcomes = [
        {"training_seconds": seconds, "error_percent": error, "single_view_error_percent": error + 1}
        for seconds, error in ((3.0, 5.9), (4.0, 6.1))
    ]
    peer = {"name": "airbench94", "version": "0.1.8", "outcomes": outcomes}
    assert write_peer(peer, device="NVIDIA H200") == [
        "airbench94 0.1.8, several views; of one view 7.00 ± 0.14",
        *("", "6.00 ± 0.14 (2)", "3.50", "", "in training", "NVIDIA H200, fp16"),
    ]
