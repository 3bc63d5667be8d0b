"""What is known of images, as one array a split, and how that moves with them: classes, labels, objects, masks.

Objects are rows of numbers, as `spec.boxes` says. Images have any number of them; batches, and so what is captured,
have room for the most that any has, and the rows left over are of class `ABSENT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.geometry import Geometry
from reslab.spec.boxes import ABSENT, BOTTOM, CLASS, COLUMNS, LEFT, RIGHT, TOP
from reslab.spec.task_spec import Target

PLACES = slice(LEFT, BOTTOM + 1)
Numbers = slice | NDArray[Any]


class Targets(Protocol):
    """The targets of images, in their order: an array, or what is indexed as one."""

    @property
    def ndim(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...

    def __array__(self) -> NDArray[Any]: ...

    def any(self) -> Any:
        """Return whether anything is there to be found: a label, an object."""
        ...


@dataclass(frozen=True, eq=False)
class RowTargets:
    """The rows of images one after the other: those of an image end where its `end` says, and the next one's begin.

    An index gives arrays (..., `room`, `COLUMNS`), which are filled up with absent rows.
    """

    rows: NDArray[np.float32]
    ends: NDArray[np.int64]
    room: int

    @property
    def ndim(self) -> int:
        """The axes of all targets as one array."""
        return 3

    @property
    def shape(self) -> tuple[int, ...]:
        """Images, rows and numbers in a row."""
        return len(self), self.room, COLUMNS

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int | np.integer | Numbers) -> NDArray[np.float32]:
        if isinstance(index, int | np.integer):
            return self._fill([np.arange(len(self))[index]])[0]
        return self._fill(np.arange(len(self))[index])

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return map(self.__getitem__, range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:] if dtype is None else self[:].astype(dtype)

    def any(self) -> bool:
        """Return whether any image has an object."""
        return bool((np.asarray(self.rows)[:, CLASS] >= 0).any())

    def of(self, index: int) -> NDArray[np.float32]:
        """Return the rows of an image alone."""
        first = int(self.ends[index - 1]) if index else 0
        return np.asarray(self.rows[first : int(self.ends[index])])

    def count(self) -> NDArray[np.int64]:
        """Return how many rows each image has."""
        return np.diff(np.asarray(self.ends), prepend=0)

    def take(self, index: Numbers) -> Self:
        """Return the targets of some images, with as much room."""
        chosen = np.arange(len(self))[index]
        return replace(self, **_join([self.of(number) for number in chosen.tolist()]))

    def share(self) -> Self:
        """Return the same in shared memory, as tensors, which processes need not copy."""
        shared = (torch.from_numpy(array.copy()).share_memory_() for array in (self.rows, self.ends))
        rows, ends = shared
        return replace(self, rows=rows, ends=ends)

    def _fill(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        filled = np.full((len(numbers), self.room, COLUMNS), ABSENT, np.float32)
        for rows, number in zip(filled, numbers, strict=True):
            own = self.of(int(number))
            rows[: len(own)] = own
        return filled


def stack_rows(rows: Sequence[NDArray[Any]], *, room: int | None = None) -> RowTargets:
    """Return the rows of images, any number each, as targets; with room for the most that any has, if not for more."""
    return RowTargets(**_join(rows), room=max(map(len, rows), default=0) if room is None else room)


def _join(rows: Sequence[NDArray[Any]]) -> dict[str, Any]:
    ends = np.cumsum([len(own) for own in rows], dtype=np.int64)
    return {"rows": np.concatenate([np.empty((0, COLUMNS), np.float32), *rows], dtype=np.float32), "ends": ends}


def move_target(kind: Target, target: NDArray[Any], geometry: Geometry) -> NDArray[Any]:
    """Return the target of an image as it is of a crop. A box that is not in the crop is absent from it."""
    if kind == "mask":
        return geometry.move_mask(target)
    if kind != "boxes":
        return target
    moved = target.astype(np.float32)
    moved[:, PLACES] = geometry.move_boxes(target[:, PLACES])
    seen = (target[:, CLASS] != ABSENT) & (moved[:, LEFT] < moved[:, RIGHT]) & (moved[:, TOP] < moved[:, BOTTOM])
    moved[~seen] = ABSENT
    return moved[np.argsort(~seen, kind="stable")]  # those that are there come first


def as_tensor(targets: Targets) -> Tensor:
    """Return targets as losses and meters take them: whole numbers of 64 bits, boxes as they are."""
    tensor = torch.from_numpy(np.asarray(targets))
    return tensor if tensor.is_floating_point() else tensor.long()
