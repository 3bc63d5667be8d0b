"""A trained network's features on data, trained and tested on the parts that are for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.delivery.conftest import fill, make_network

from reslab.data.catalogue import open_data
from reslab.delivery.pictures import label_pictures
from reslab.delivery.probing import probe
from reslab.errors import UserError
from reslab.experiments.probe import open_extractor, probe_layers
from reslab.experiments.trained import Trained
from reslab.runtime.listener import Listener


def test_it_learns_on_train_and_is_tested_on_test(tmp_path: Path) -> None:
    """What comes out is the probe of those features; progress counts both parts."""
    for name, bright in (("ants", 20), ("bees", 150)):
        fill(tmp_path / name, 15, bright=bright)
    data = label_pictures(open_data(str(tmp_path)))
    extractor = open_extractor(Trained(origin="mine", network=make_network()), {"crop": 12})
    done: list[int] = []
    found = probe_layers(
        extractor, data, layer="conv2_x", listener=Listener(progress=lambda count, metrics: done.append(count))
    )
    train, test = (extractor.embed(part, ["conv2_x"])[0] for part in (data.train, data.test))
    assert train.labels is not None
    assert test.labels is not None
    assert found == {
        "conv2_x": probe(train.features, train.labels, test=test.features, test_labels=test.labels),
    }
    assert done[-1] == 30
    with pytest.raises(UserError, match="has no layer 'fc'"):
        extractor.embed(data.test, ["fc"])
