"""Lanczos with full reorthogonalization, from several starts side by side; what was interrupted goes on bit for bit.

A start never meets another, so each gives what it would give alone; but for traces, where the space of one start is
taken out of another. Nothing waits for the device between products.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.analysis.workbench import Workbench

Floats = NDArray[np.float64]
KEEP_EVERY = 60.0  # seconds
KEEP_SHARE = 20  # and as many times as long as it takes to keep
ROUNDS = 2  # of orthogonalization: twice is enough (Parlett, 1998)


class Tridiagonal(NamedTuple):
    """What a matrix is on the Krylov spaces of some starts: diagonals (steps, starts) and what is beside them.

    The last of the latter is how far the matrix leads out of the space. All that comes behind a zero is nothing.
    `traces` and `squares` are estimates, one a start, of the sum of the eigenvalues and of their squares.
    """

    alphas: Floats
    betas: Floats
    traces: Floats
    squares: Floats


class Lanczos:
    """The state after `done` steps: an orthonormal basis (steps, starts, weights) for each start, and two diagonals."""

    def __init__(self, starts: Tensor, *, steps: int) -> None:
        count, size = starts.shape
        self.steps, self.done = min(steps, size), 0
        self.basis = starts.new_zeros(self.steps + 1, count, size)
        self.basis[0] = starts / starts.double().norm(dim=1, keepdim=True).to(starts.dtype)
        self.alphas, self.betas = starts.new_zeros(2, self.steps, count, dtype=torch.float64)
        self.scale = starts.new_zeros(count, dtype=torch.float64)

    def advance(self, multiply: Callable[[Tensor], Tensor]) -> None:
        """Take one step with each start, which is one product."""
        at = self.basis[self.done]
        product = multiply(at)
        alpha = (product.double() * at.double()).sum(1)
        known = self.basis[: self.done + 1]
        for _ in range(ROUNDS):
            shares = torch.einsum("svp,vp->sv", known, product)
            product = product - torch.einsum("sv,svp->vp", shares, known)
        beta = product.double().norm(dim=1)
        self.scale = torch.maximum(self.scale, alpha.abs() + beta)
        beta = torch.where(beta > self.scale * 100 * torch.finfo(product.dtype).eps, beta, 0.0)
        self.alphas[self.done], self.betas[self.done] = alpha, beta
        self.done += 1
        ended = beta == 0  # the space is the matrix's own: there is no way on
        self.basis[self.done] = torch.where(ended[:, None], 0, product / beta.where(~ended, 1.0)[:, None].to(product))

    @property
    def found(self) -> Tridiagonal:
        """What is known so far."""
        sums = torch.stack([self._estimate_sums(start) for start in range(self.basis.shape[1])], 1)
        known = self.alphas[: self.done], self.betas[: self.done], *sums
        return Tridiagonal(*[values.cpu().numpy() for values in known])

    def _estimate_sums(self, start: int) -> Tensor:
        """Return the sums of the eigenvalues and of their squares, as one start has them (Hutchinson, 1990).

        Within the space of the next start both are known, for there A Q = Q T + beta q e', so only what is left needs
        this start, z. The few large eigenvalues, from which nearly all of the variance would come, are in that space
        (Meyer et al., 2021; Epperly et al., 2024).
        """
        last, count, size = self.done - 1, self.basis.shape[1], self.basis.shape[2]
        z, alphas, betas = self.basis[0, start], self.alphas[: self.done], self.betas[: self.done]
        product = (alphas[0, start] * z + betas[0, start] * self.basis[1, start]).to(z)
        other = (start + 1) % count
        if other == start:
            return size * torch.stack([alphas[0, start], product.double().square().sum()])
        alpha, beta, space = alphas[:, other], betas[:, other], self.basis[: self.done, other]
        shares = (space @ z).double()
        moved = alpha * shares
        moved[1:] += beta[:-1] * shares[:-1]
        moved[:-1] += beta[:-1] * shares[1:]
        rest = z - shares.to(z) @ space
        out = (beta[last] * shares[last]).to(z) * self.basis[self.done, other]
        rest_product, rest = (product - moved.to(z) @ space - out).double(), rest.double()
        # By its direction alone: then weight decay moves the trace by exactly as much as it does.
        length = rest @ rest
        dimensions = size - 1 - torch.cumprod(beta[:last] != 0, 0).sum()
        scale = torch.where(length > torch.finfo(z.dtype).eps, dimensions / length, 0.0)
        within = torch.stack([alpha.sum(), alpha.square().sum() + 2 * beta.square().sum() - beta[last].square()])
        return within + scale * torch.stack([rest_product @ rest, rest_product @ rest_product])

    def save(self) -> dict[str, NDArray]:
        """Return all that is needed to go on."""
        alphas, betas = (values[: self.done].cpu().numpy() for values in (self.alphas, self.betas))
        basis, scale = self.basis[: self.done + 1].cpu().numpy(), self.scale.cpu().numpy()
        return {"alphas": alphas, "betas": betas, "basis": basis, "scale": scale}

    def load(self, kept: dict[str, NDArray]) -> None:
        """Go on from there."""
        self.done = len(kept["alphas"])
        for name in ("alphas", "betas", "basis"):
            getattr(self, name)[: len(kept[name])] = torch.from_numpy(kept[name])
        self.scale.copy_(torch.from_numpy(kept["scale"]))


def run_lanczos(
    multiply: Callable[[Tensor], Tensor],
    draw: Callable[[], Tensor],
    *,
    steps: int,
    workbench: Workbench,
    part: str,
    tell: Callable[[int], None] = lambda done: None,
) -> Tridiagonal:
    """Run to the end from the starts that are drawn, or from where this part was left.

    `tell` hears after each step how many are done.
    """
    kept = workbench.resume(part)
    if kept is not None and "basis" not in kept:
        tell(len(kept["alphas"]))
        return Tridiagonal(**kept)
    lanczos = Lanczos(draw(), steps=steps)
    if kept is not None:
        lanczos.load(kept)
    tell(lanczos.done)
    last, pause = time.monotonic(), KEEP_EVERY
    while lanczos.done < lanczos.steps:
        lanczos.advance(multiply)
        tell(lanczos.done)
        if time.monotonic() - last >= pause and lanczos.done < lanczos.steps:
            begun = time.monotonic()
            workbench.keep(part, lanczos.save())
            last = time.monotonic()
            pause = max(KEEP_EVERY, KEEP_SHARE * (last - begun))
    found = lanczos.found
    workbench.keep(part, found._asdict())
    return found


def draw_probes(size: int, *, seed: int, numbers: range, like: Tensor) -> Tensor:
    """Return random signs (Rademacher) as rows, each by its own number: the same on every device."""
    rows = [np.random.default_rng([seed, number]).integers(0, 2, size, dtype=np.int8) for number in numbers]
    return torch.from_numpy(np.stack(rows)).to(like) * 2 - 1
