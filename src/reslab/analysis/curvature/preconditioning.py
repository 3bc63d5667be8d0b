"""How well shortcuts precondition the weights of each block: the condition of their Gauss-Newton matrix.

The paper (section 3.2) conjectures that identity shortcuts precondition the problem. The matrix here is the diagonal
block of the Gauss-Newton matrix for the weights of F, measured as the network is, and with that one shortcut removed,
all weights kept. It is singular, or nearly so: fewer image outputs than weights move it, and normalized kernels may
grow without effect. So its smallest eigenvalue says nothing, and the *condition* is its largest eigenvalue over the
mean of all. A step safe for the largest curvature is that many times too short for the mean one; 1 is a multiple of
the identity. The *effective rank* is trace^2 over the sum of squares: how many equal eigenvalues would do. Neither
depends on the scale of the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from torch import nn

from reslab.analysis.curvature.forward_over_reverse import ForwardOverReverse
from reslab.analysis.curvature.lanczos import Tridiagonal, draw_probes, run_lanczos
from reslab.analysis.curvature.panel import BlockCondition, Condition, Estimate
from reslab.analysis.curvature.products import Problem
from reslab.analysis.curvature.spectrum import (
    average,
    find_largest,
    find_ritz,
)
from reslab.analysis.workbench import Workbench
from reslab.networks.blocks import Block
from reslab.networks.resnet import ResidualNetwork


def judge(found: Tridiagonal, size: int, *, confidence: float) -> Condition:
    """Return the condition of a matrix of that size; its bounds are those of the largest eigenvalue and the mean."""
    (largest,) = find_largest([find_ritz(found, start) for start in range(found.alphas.shape[1])], 1)
    mean = average(found.traces / size, confidence)
    low = largest.low / mean.high if largest.low is not None and mean.high else None
    high = largest.high / mean.low if largest.high is not None and mean.low and mean.low > 0 else None
    condition = Estimate(largest.value / mean.value, low, high)
    return Condition(largest, mean, condition, float(found.traces.mean() ** 2 / found.squares.mean()))


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Measures block by block: so many probes, with so many Lanczos steps each."""

    problem: Problem
    probes: int
    steps: int
    seed: int
    confidence: float
    workbench: Workbench

    @property
    def blocks(self) -> dict[str, Block]:
        """The network's blocks by name."""
        network = self.problem.network
        assert isinstance(network, ResidualNetwork)
        return {name: block for name, block in network.blocks.items() if isinstance(block, Block)}

    @property
    def count(self) -> int:
        """How many products with a vector it takes."""
        return self.probes * self.steps * sum(1 + (block.shortcut is not None) for block in self.blocks.values())

    def measure(self, tell: Callable[[int], None]) -> list[BlockCondition]:
        """Return each block's condition as it is and, if it has a shortcut, without; `tell` hears of all products."""
        found: list[BlockCondition] = []
        done = 0
        for name, block in self.blocks.items():
            parameters = list(block.layers.parameters())
            as_is = self._find(parameters, f"{name}-as-is", without=())
            without = None
            tell(done := done + self.probes * self.steps)
            if block.shortcut is not None:
                without = self._find(parameters, f"{name}-without", without=(name,))
                tell(done := done + self.probes * self.steps)
            size = sum(parameter.numel() for parameter in parameters)
            found.append(BlockCondition(name, size, as_is, without))
        return found

    def _find(self, parameters: list[nn.Parameter], part: str, *, without: Collection[str]) -> Condition:
        products = ForwardOverReverse(self.problem, parameters, without=without)
        like, numbers = parameters[0].data, range(self.probes)
        found = run_lanczos(
            products.multiply,
            partial(draw_probes, products.size, seed=self.seed, numbers=numbers, like=like),
            steps=self.steps,
            workbench=self.workbench,
            part=part,
        )
        return judge(found, products.size, confidence=self.confidence)
