"""`reslab reproduce table-1`."""

from __future__ import annotations

import json
import re

from reslab.experiments import costs


def test_it_is_counted_and_timed(reslab, monkeypatch) -> None:
    """Layers, published beside ours with verdicts, memory; times only where asked for."""
    monkeypatch.setattr(costs, "ROWS", costs.ROWS[:1])
    monkeypatch.setattr(costs, "SECONDS", {"cpu": 0.0})
    plain = reslab("reproduce", "table-1")
    assert plain.code == 0, plain.err
    lines = [line.split() for line in plain.out.splitlines()]
    assert ["resnet-18", "1.8G", "1,794,805,760", "reproduced"] in lines
    assert ["conv4_x", "14x14", "18", "[3x3,", "256;", "3x3,", "256]", "x2"] in lines
    assert "11,515,688" in plain.out
    assert "Measured" not in plain.out
    timed = reslab("reproduce", "table-1", "--measure", "--json")
    assert re.search(
        r"timing on .*, load average [\d.]+ on \d+ cores takes (about \d+ s|less than a second)", timed.err
    )
    found = json.loads(timed.out)
    (counted,), (measured,) = found["counted"], found["measured"]
    assert (counted["word"], counted["multiply_adds"]) == ("reproduced", 1_794_805_760)
    assert counted["activation_bytes"].keys() == {"1", "32", "256"}
    assert measured["device"]
    assert measured["step_seconds"] > 0
