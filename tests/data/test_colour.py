"""AlexNet's shifts of colour."""

import numpy as np

from reslab.data.colour import VALUES, VECTORS, find_shifts


def test_shifts_are_along_components_by_their_eigenvalues() -> None:
    """One of each component alone; components are at right angles, and of length one."""
    for component in range(3):
        amounts = np.zeros((1, 3), np.float32)
        amounts[0, component] = 2
        assert np.allclose(find_shifts(amounts)[0], 2 * VALUES[component] * VECTORS[:, component])
    assert np.allclose(VECTORS.T @ VECTORS, np.eye(3), atol=1e-3)
