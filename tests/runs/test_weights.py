"""A weight file is as long as it says, and of the run it lies in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from reslab.errors import UserError
from reslab.runs.weights import OURS, find_damage, find_other_owner, refuse_other_weights
from reslab.runtime.sealed import KEY
from reslab.spec import find, spec_to_dict
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

TRIAL = Trial(data=DataSpec(name="digits", fingerprint="x"), network=find("resnet-20"), recipe=find_recipe("digits"))


def test_whole_files_are_known_from_others(tmp_path: Path) -> None:
    """With metadata or without, of several tensors or none; cut anywhere, it is damaged."""
    path = tmp_path / "weights.safetensors"
    assert find_damage(path) == "gone"
    assert find_damage(tmp_path) == "damaged"
    for tensors in ({}, {"a": np.zeros(3), "b": np.ones((2, 2), np.float32)}):
        for metadata in (None, {"reslab": "{}"}):
            save_file(tensors, path, metadata)
            assert find_damage(path) == ""
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        assert find_damage(path) == "damaged"
    path.write_bytes(b"\xff" * 8 + whole[8:])
    assert find_damage(path) == "damaged"


@pytest.mark.parametrize(
    ("network", "provenance", "owner"),
    [
        ("resnet-20", {"trial": TRIAL.id}, ""),
        ("resnet-20", {}, ""),
        ("resnet-20", {"author": "somebody"}, ""),
        ("resnet-20", {"trial": replace(TRIAL, seed=1).id}, replace(TRIAL, seed=1).id),
        ("plain-20", {"trial": TRIAL.id}, "plain-20"),
        ("plain-20", {}, "plain-20"),
        ("none", {}, "an unknown network"),
    ],
)
def test_a_file_is_of_the_trial_and_network_it_names(
    network: str, provenance: dict[str, Any], owner: str, tmp_path: Path
) -> None:
    """One that names no trial, as others may write it, is of any with its network."""
    path = tmp_path / "weights.safetensors"
    spec = {} if network == "none" else spec_to_dict(find(network))
    save_file({"w": np.zeros(1)}, path, {KEY: json.dumps({"spec": spec, "provenance": provenance})})
    assert find_other_owner(path, TRIAL) == owner
    if owner:
        with pytest.raises(
            UserError, match=f"holds the weights of {owner}, but the run is {TRIAL.id}; restore the run's own"
        ):
            refuse_other_weights(path, TRIAL)
    else:
        refuse_other_weights(path, TRIAL)


def test_a_file_that_says_nothing_is_nobodys(tmp_path: Path) -> None:
    """Such as another library's; ours say it where they are written to."""
    path = tmp_path / "weights.safetensors"
    save_file({"w": np.zeros(1)}, path)
    assert find_other_owner(path, TRIAL) == "an unknown network"
    assert OURS == KEY
