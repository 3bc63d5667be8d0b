"""A trained network is deployed with its preprocessing, and written only in a form its name says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.delivery.conftest import make_network

from reslab.errors import UserError
from reslab.experiments.export import deploy, export
from reslab.experiments.trained import Trained


def test_fields_change_what_is_inside_and_outside(tmp_path: Path) -> None:
    """The size a file takes is the crop; a wrong ending is told before anything is computed."""
    deployed = deploy(Trained(origin="mine", network=make_network()), {"crop": "12", "mean": "[0.5,0.5,0.5]"})
    assert deployed.input_shape == (3, 12, 12)
    assert deployed.describe()["inside"]["mean"] == [0.5, 0.5, 0.5]
    assert deployed.describe()["resize_first"]["crop"] == 12
    with pytest.raises(UserError, match=r"a file of torch-export ends in \.pt2"):
        export(deployed, tmp_path / "network.onnx", "torch-export")
    assert not list(tmp_path.iterdir())
