"""The condition of blocks, against whole Gauss-Newton matrices."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.curvature.problems import dense_gauss_newton, make_network, make_problem
from tests.analysis.curvature.test_forward_over_reverse import list_places

from reslab.analysis.curvature.lanczos import Lanczos, draw_probes
from reslab.analysis.curvature.panel import BlockCondition
from reslab.analysis.curvature.preconditioning import Conditions, judge
from reslab.analysis.workbench import Workbench
from reslab.networks import Network
from reslab.networks.resnet import ResidualNetwork


def measure(network: Network, *, probes: int = 2, steps: int = 30) -> list[BlockCondition]:
    """Every block of a small network."""
    conditions = Conditions(
        problem=make_problem(network, matrix="gauss-newton", precision="fp64"),
        probes=probes,
        steps=steps,
        seed=0,
        confidence=0.999,
        workbench=Workbench(),
    )
    told: list[int] = []
    found = conditions.measure(told.append)
    assert told[-1] == conditions.count
    return found


@pytest.mark.parametrize("shortcut", ["A", "B", "none"])
def test_conditions_are_those_of_whole_matrices(shortcut: str) -> None:
    """Of the weights of F; a plain block has no shortcut to lose."""
    network = make_network(shortcut=shortcut)
    assert isinstance(network, ResidualNetwork)
    found = measure(network, probes=24, steps=12)
    assert [block.name for block in found] == list(network.blocks)
    whole = dense_gauss_newton(make_problem(network))
    for block in found:
        parameters = list(network.get_submodule(f"blocks.{block.name}.layers").parameters())
        places = list_places(network, parameters)
        values = torch.linalg.eigvalsh(whole[places][:, places])
        assert block.parameters == len(values)
        assert block.as_is.largest.value == pytest.approx(float(values[-1]), rel=1e-6)
        assert block.as_is.mean.low < values.mean() < block.as_is.mean.high  # pyright: ignore[reportOptionalOperand]
        condition = block.as_is.condition
        assert condition.low < values[-1] / values.mean() < condition.high  # pyright: ignore[reportOptionalOperand]
        assert block.as_is.effective_rank == pytest.approx(float(values.sum() ** 2 / (values**2).sum()), rel=0.5)
        assert (block.without is None) == (shortcut == "none")


def test_without_its_shortcut_a_block_is_judged_as_a_plain_one() -> None:
    """The other blocks keep theirs."""
    network = make_network()
    assert isinstance(network, ResidualNetwork)
    (name, *_) = network.blocks
    (found, *_) = measure(network, steps=3)
    cut = make_network()
    block = cut.get_submodule(f"blocks.{name}")
    block.shortcut = None  # pyright: ignore[reportArgumentType]
    (expected, *_) = measure(cut, steps=3)
    assert found.without is not None
    assert found.without.condition.value == pytest.approx(expected.as_is.condition.value, rel=1e-9)
    assert found.without != found.as_is


def test_a_multiple_of_the_identity_has_condition_one() -> None:
    """And all the rank there is."""
    state = Lanczos(draw_probes(20, seed=0, numbers=range(3), like=torch.zeros(1).double()), steps=4)
    while state.done < state.steps:
        state.advance(lambda rows: 3 * rows)
    found = judge(state.found, 20, confidence=0.95)
    assert found.condition.value == pytest.approx(1)
    assert found.effective_rank == pytest.approx(20)
    assert found.largest.value == pytest.approx(3)
