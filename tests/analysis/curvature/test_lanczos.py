"""Lanczos on matrices that are known, and what is interrupted goes on as if it had not been."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.analysis.curvature.problems import draw

from reslab.analysis.curvature import lanczos
from reslab.analysis.curvature.lanczos import Lanczos, draw_probes, run_lanczos
from reslab.analysis.curvature.spectrum import find_ritz
from reslab.analysis.workbench import Workbench

SIZE = 60


def make_matrix(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Symmetric, with a few large eigenvalues."""
    vectors = torch.linalg.qr(draw((SIZE, SIZE), 0))[0]
    values = torch.cat([torch.linspace(-1, 1, SIZE - 3).double(), torch.tensor([20.0, 30.0, 31.0])])
    return ((vectors * values) @ vectors.T).to(dtype)


def test_as_many_steps_as_weights_give_every_eigenvalue() -> None:
    """More are not taken; the bases are orthonormal."""
    matrix = make_matrix()
    state = Lanczos(draw((2, SIZE), 1), steps=500)
    while state.done < state.steps:
        state.advance(lambda rows: rows @ matrix)
    assert state.steps == SIZE
    for start in (0, 1):
        basis = state.basis[:SIZE, start]
        assert torch.allclose(basis @ basis.T, torch.eye(SIZE).double(), atol=1e-12)
        assert np.allclose(find_ritz(state.found, start).nodes, torch.linalg.eigvalsh(matrix).numpy(), atol=1e-10)


def test_few_steps_know_the_largest_and_how_far_off_they_are() -> None:
    """Within its error each is near an eigenvalue."""
    matrix = make_matrix()
    state = Lanczos(draw((1, SIZE), 1), steps=8)
    while state.done < state.steps:
        state.advance(lambda rows: rows @ matrix)
    ritz, values = find_ritz(state.found, 0), torch.linalg.eigvalsh(matrix).numpy()
    assert np.allclose(ritz.nodes[-3:], values[-3:], atol=1e-3)
    distances = np.abs(ritz.nodes[:, None] - values).min(1)
    assert (distances <= ritz.errors + 1e-12).all()
    assert ritz.errors[-1] < 1e-3 < ritz.errors[len(ritz.errors) // 2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_space_that_ends_early_adds_nothing(dtype: torch.dtype) -> None:
    """A start within three eigenvectors knows three eigenvalues, however many steps are asked for."""
    matrix = make_matrix(dtype)
    vectors = torch.linalg.eigh(matrix).eigenvectors
    state = Lanczos(vectors[:, [0, 30, 59]].sum(1)[None], steps=12)
    while state.done < state.steps:
        state.advance(lambda rows: rows @ matrix)
    ritz = find_ritz(state.found, 0)
    assert len(ritz.nodes) <= (3 if dtype == torch.float64 else 5)
    assert np.allclose(ritz.nodes[[0, -1]], torch.linalg.eigvalsh(matrix)[[0, -1]].numpy(), atol=1e-4)
    assert ritz.errors[-1] < 1e-3


def run(matrix: torch.Tensor, starts: torch.Tensor, steps: int) -> lanczos.Tridiagonal:
    """So many steps from these starts."""
    state = Lanczos(starts, steps=steps)
    while state.done < state.steps:
        state.advance(lambda rows: rows @ matrix)
    return state.found


def test_one_start_alone_has_the_sums_of_its_own_products() -> None:
    """Hutchinson's estimates."""
    matrix, (z,) = make_matrix(), draw_probes(SIZE, seed=0, numbers=range(1), like=make_matrix())
    found = run(matrix, z[None], 5)
    assert found.traces == pytest.approx(float(z @ matrix @ z))
    assert found.squares == pytest.approx(float((matrix @ z).square().sum()))


def test_the_space_of_another_start_is_taken_out_of_each() -> None:
    """What is left is projected, written out; weight decay moves the traces by its multiple of the weights."""
    matrix = make_matrix()
    probes = draw_probes(SIZE, seed=0, numbers=range(2), like=matrix)
    found, shifted = (run(matrix + decay * torch.eye(SIZE), probes, 6) for decay in (0.0, 0.7))
    for start in (0, 1):
        state = Lanczos(probes[[1 - start]], steps=6)
        while state.done < state.steps:
            state.advance(lambda rows: rows @ matrix)
        space = state.basis[:6, 0]
        outside = torch.eye(SIZE).double() - space.T @ space
        direction = outside @ probes[start] / (outside @ probes[start]).norm()
        for power, sums in ((1, found.traces), (2, found.squares)):
            whole = torch.linalg.matrix_power(matrix, power)
            inside = (space @ whole @ space.T).trace()
            left = outside @ matrix @ direction
            rest = direction @ left if power == 1 else (matrix @ direction).square().sum()
            assert sums[start] == pytest.approx(float(inside + (SIZE - 6) * rest))
    assert shifted.traces - found.traces == pytest.approx(0.7 * SIZE)


@pytest.mark.parametrize("steps", [1, 8, SIZE])
def test_sums_average_to_the_matrixs(steps: int) -> None:
    """The more steps the closer, since large eigenvalues are taken out first; with all steps they are exact."""
    matrix = make_matrix()
    found = run(matrix, draw_probes(SIZE, seed=0, numbers=range(60), like=matrix), steps)
    for sums, whole in ((found.traces, matrix.trace()), (found.squares, matrix.square().sum())):
        error = sums.std(ddof=1) / 60**0.5
        assert abs(sums.mean() - float(whole)) < 3.5 * error + 1e-9 * float(whole)
    spread = found.traces.std() / float(matrix.trace())
    assert spread < {1: 1, 8: 0.1, SIZE: 1e-9}[steps]


class Killed(Exception):
    """What ends a measurement midway."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_was_killed_goes_on_bit_for_bit(
    dtype: torch.dtype, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any step; what is finished is not computed again."""
    matrix, starts = make_matrix(dtype), draw((2, SIZE), 1, dtype)
    products = 0

    def multiply(rows: torch.Tensor) -> torch.Tensor:
        nonlocal products
        products += 1
        if products == 6:
            raise Killed
        return rows @ matrix

    def measure(place: Path | None, told: list[int]) -> lanczos.Tridiagonal:
        workbench = Workbench(place=place, about={"of": "this"})
        return run_lanczos(
            multiply, lambda: starts.clone(), steps=12, workbench=workbench, part="probes", tell=told.append
        )

    monkeypatch.setattr(lanczos, "KEEP_EVERY", 0.0)
    monkeypatch.setattr(lanczos, "KEEP_SHARE", 0.0)
    with pytest.raises(Killed):
        measure(tmp_path / "curvature", [])
    told: list[int] = []
    resumed = measure(tmp_path / "curvature", told)
    assert told == list(range(5, 13))
    assert products == 6 + 7
    again = measure(tmp_path / "curvature", told)
    assert products == 6 + 7
    whole = measure(None, [])
    for found in (resumed, again):
        assert all(np.array_equal(one, other) for one, other in zip(found, whole, strict=True))


def test_probes_are_random_signs_each_by_its_number() -> None:
    """However many are drawn at once; another seed has others."""
    like = torch.zeros(1)
    probes = draw_probes(50, seed=3, numbers=range(4), like=like)
    assert set(probes.unique().tolist()) == {-1.0, 1.0}
    assert torch.equal(probes[2:], draw_probes(50, seed=3, numbers=range(2, 4), like=like))
    assert not torch.equal(probes[0], probes[1])
    assert not torch.equal(probes, draw_probes(50, seed=4, numbers=range(4), like=like))
