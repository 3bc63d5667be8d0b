"""The instrument on trained networks: what it finds, and what happens to it when it is killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.analysis.curvature.problems import draw
from tests.tasks.test_subject import make_subject
from tests.trials import DIGITS

from reslab.analysis.curvature import lanczos, measure
from reslab.analysis.curvature.double_backward import DoubleBackward
from reslab.analysis.curvature.forward_over_reverse import ForwardOverReverse
from reslab.analysis.curvature.measure import INSTRUMENT, Images
from reslab.analysis.curvature.settings import Curvature
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.networks import create_model
from reslab.spec import Preprocess
from reslab.tasks.subject import Subject

SMALL: dict[str, Any] = {"stem.width": 2, "stages.0.width": 2, "stages.1.width": 3, "stages.2.width": 3}
QUICK = Curvature(images=24, batch=10, top=3, probes=2, steps=5, block_steps=2, block_images=12)


@pytest.fixture
def subject() -> Subject:
    """A narrow network and the digits."""
    return with_network(SMALL)


def with_network(fields: dict[str, Any], name: str = "cifar-resnet-8") -> Subject:
    """An untrained network, whose classifier says something."""
    network = create_model(name, channels=1, input_size=8, **fields).eval()
    torch.nn.init.normal_(list(network.parameters())[-2])
    return replace(make_subject(DIGITS, Preprocess(mean=(0.3,))), network=network)


def test_findings_say_all_that_they_depend_on(subject: Subject, tmp_path: Path) -> None:
    """And the network is left alone."""
    before = {name: tensor.clone() for name, tensor in subject.network.state_dict().items()}
    found = INSTRUMENT.measure(subject, QUICK, Workbench(place=tmp_path / "curvature"))
    size = sum(parameter.numel() for parameter in subject.network.parameters())
    told = {name: found[name] for name in ("images", "skipped_images", "reduction", "parameters", "products")}
    assert told == {
        "images": 24,
        "skipped_images": 0,
        "reduction": "mean",
        "parameters": size,
        "products": "forward over reverse",
    }
    values = [one["value"] for one in found["largest"]]
    assert values == sorted(values, reverse=True)
    assert found["smallest"]["value"] <= values[-1]
    assert [block["name"] for block in found["blocks"]] == ["conv2_1", "conv3_1", "conv4_1"]
    assert np.trapezoid(found["density"]["density"], found["density"]["at"]) == pytest.approx(1, abs=1e-3)
    arrays = np.load(tmp_path / "curvature.npz")
    assert arrays["nodes"].shape == arrays["weights"].shape == (2, 5)
    assert arrays["weights"].sum(1) == pytest.approx(1)
    assert found["trace"]["value"] == pytest.approx(float(arrays["traces"].mean()))
    assert all(torch.equal(before[name], tensor) for name, tensor in subject.network.state_dict().items())


def test_neither_batches_nor_vectors_at_once_change_what_is_found(subject: Subject) -> None:
    """In float64, but for the trace, where vectors help each other; another seed has other probes."""
    exact = replace(QUICK, precision="fp64", block_steps=0)
    found, other, seeded = (
        INSTRUMENT.measure(subject, settings, Workbench())
        for settings in (exact, replace(exact, batch=7, vectors=1), replace(exact, seed=1))
    )
    for one, two in zip(found["largest"], other["largest"], strict=True):
        assert two["value"] == pytest.approx(one["value"], rel=1e-9)
    assert other["density"]["density"] == pytest.approx(found["density"]["density"], rel=1e-6, abs=1e-9)
    assert seeded["trace"]["value"] != pytest.approx(found["trace"]["value"], rel=1e-9)


def test_weight_decay_shifts_what_is_found(subject: Subject) -> None:
    """Eigenvalues by its value, the trace by as many times that as there are parameters; conditions not at all."""
    exact = replace(QUICK, precision="fp64")
    before, after = (
        INSTRUMENT.measure(subject, replace(exact, weight_decay=decay), Workbench()) for decay in (0.0, 0.25)
    )
    for one, two in zip([*before["largest"], before["smallest"]], [*after["largest"], after["smallest"]], strict=True):
        assert two["value"] - one["value"] == pytest.approx(0.25, abs=1e-9)
    assert after["trace"]["value"] - before["trace"]["value"] == pytest.approx(0.25 * before["parameters"])
    assert after["blocks"] == before["blocks"]


class Killed(Exception):
    """What ends a measurement midway."""


def test_what_was_killed_goes_on_to_the_same_numbers(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, wherever it was: among the probes or among the blocks."""
    monkeypatch.setattr(lanczos, "KEEP_EVERY", 0.0)
    monkeypatch.setattr(lanczos, "KEEP_SHARE", 0.0)
    settings = replace(QUICK, vectors=1)
    expected = INSTRUMENT.measure(subject, settings, Workbench())
    add, calls = ForwardOverReverse.add, 0

    def interrupt(self: ForwardOverReverse, *given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls in (20, 45):  # three batches a product: within the second probe, and within a block
            raise Killed
        add(self, *given)

    monkeypatch.setattr(ForwardOverReverse, "add", interrupt)
    workbench = Workbench(place=tmp_path / "curvature", about={"of": "this"})
    for _ in range(2):
        with pytest.raises(Killed):
            INSTRUMENT.measure(subject, settings, workbench)
    assert INSTRUMENT.measure(subject, settings, workbench) == expected
    assert calls > 45
    calls = 100
    assert INSTRUMENT.measure(subject, settings, workbench) == expected
    assert calls == 100  # nothing is multiplied anew


def test_networks_of_other_kinds_are_differentiated_twice() -> None:
    """They have no blocks to be judged."""
    found = INSTRUMENT.measure(with_network(SMALL | {"shortcut": "gated"}), QUICK, Workbench())
    assert found["products"] == "double backward"
    assert found["blocks"] == []


def test_both_ways_find_the_same(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """In float64."""
    settings = replace(QUICK, precision="fp64", block_steps=0)
    ours = INSTRUMENT.measure(subject, settings, Workbench())
    monkeypatch.setattr(
        measure, "choose_products", lambda problem: DoubleBackward(problem, list(problem.network.parameters()))
    )
    torchs = INSTRUMENT.measure(subject, settings, Workbench())
    assert torchs["trace"]["value"] == pytest.approx(ours["trace"]["value"], rel=1e-9)
    assert torchs["largest"][0]["value"] == pytest.approx(ours["largest"][0]["value"], rel=1e-9)


def test_networks_without_numbers_are_refused(subject: Subject) -> None:
    """With what is to blame."""
    next(iter(subject.network.parameters())).data[0] = torch.nan
    with pytest.raises(UserError, match=r"gives curvatures that are not finite .*its stem\.conv\.weight is not finite"):
        INSTRUMENT.measure(subject, QUICK, Workbench())


@pytest.mark.parametrize("room", [0, 10**9])
def test_images_are_held_where_they_fit(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they are read anew each time."""
    monkeypatch.setattr(measure, "HELD_BYTES", room)
    reads = []

    def read() -> list[tuple[torch.Tensor, torch.Tensor]]:
        reads.append(1)
        return [(draw((3, 1), 0), torch.arange(3)), (draw((2, 1), 1), torch.arange(2))]

    images = Images(read)
    images.read_all()
    assert images.count == 5
    for _ in range(2):
        assert [len(batch) for batch, _ in images()] == [3, 2]
    images.read_all()
    assert len(reads) == (1 if room else 3)
