"""`reslab compare`."""

from __future__ import annotations

import json


def test_what_differs_and_what_it_costs(reslab) -> None:
    """Fields of its own go in quotes, fields for both stand free."""
    told = json.loads(reslab("compare", "resnet-34", "resnet-34 shortcut=C", "--json").out)
    assert told["differences"] == {"shortcut": ["A", "C"]}
    assert told["params"] == [21_623_848, 22_716_840]
    told = json.loads(reslab("compare", "plain-20", "resnet-20", "classes=100", "--json").out)
    assert told["params"][0] == told["params"][1] == 269_722 + 90 * 65


def test_the_same_network_twice(reslab) -> None:
    """Two spellings of one network do not differ."""
    assert "the same network" in reslab("compare", "resnet-56", "resnet_56").out
    assert "1.000" in reslab("compare", "resnet-56", "resnet-56").out


def test_two_networks_are_needed(reslab) -> None:
    """One or three are told."""
    for words in (["resnet-20"], ["resnet-20", "resnet-32", "resnet-44"]):
        outcome = reslab("compare", *words)
        assert outcome.code == 2
        assert f"got {len(words)}" in outcome.err
