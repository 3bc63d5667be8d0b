"""AlexNet's shifts of colour: along the principal components of ImageNet's pixels, by their eigenvalues."""

import numpy as np
from numpy.typing import NDArray

# Of pixels from 0 to 1, RGB; a column of VECTORS is a component.
VALUES = np.array([0.2175, 0.0188, 0.0045], np.float32)
VECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]], np.float32)


def find_shifts(amounts: NDArray[np.float32]) -> NDArray[np.floating]:
    """Return what is added to red, green and blue (images, 3), by how many eigenvalues along each component."""
    return (amounts * VALUES) @ VECTORS.T
