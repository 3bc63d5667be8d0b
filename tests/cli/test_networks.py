"""`reslab networks`."""

from __future__ import annotations

import json

from reslab.spec import list_models


def test_the_list_is_complete(reslab) -> None:
    """Every name, the families and what is published only."""
    out = reslab("networks").out
    assert all(name in out for name in list_models())
    assert "cifar-resnet-N" in out
    assert "prelu-net" in out


def test_wide_networks_are_as_deep_as_their_names_say(reslab) -> None:
    """Their depth counts projections."""
    for name in list_models("wrn-*"):
        (row,) = (line for line in reslab("networks", name).out.splitlines() if name in line)
        assert row.split()[1] == name.split("-")[1]
    assert reslab("describe", "wrn-16-4").out.startswith("wrn-16-4  16 layers")


def test_patterns_and_json(reslab) -> None:
    """A pattern filters; JSON is a list of names."""
    assert json.loads(reslab("networks", "highway*", "--json").out) == [
        {"name": "highway-19", "weights": []},
        {"name": "highway-32", "weights": []},
    ]
    assert {"name": "resnet-20", "weights": ["cifar10"]} in json.loads(reslab("networks", "--json").out)
    outcome = reslab("networks", "zebra*")
    assert outcome.code == 2
    assert "no network name matches 'zebra*'" in outcome.err
