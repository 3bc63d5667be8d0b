"""What every task says of itself, as frozen data: its name, the target it learns from, and fields of its own."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from reslab.spec.catalogue import Spec

Target: TypeAlias = Literal["class", "labels", "boxes", "mask", "none"]


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A task by its name; `needs` is the target it learns from, where the image alone is not enough.

    Its network is the trial's, or one whose `own_layers` stand on a part of it, as a detector's do. How large images
    are shown is another matter: `sides`.
    """

    name: ClassVar[str]
    needs: ClassVar[Target] = "none"
    own_layers: ClassVar[bool] = False
    about_training: ClassVar[tuple[str, ...]] = ()  # fields that trained weights of the task fit whatever they are

    @property
    def needs_start(self) -> str:
        """Name the field that makes no sense without trained weights to start from; nothing where none does."""
        return ""

    @property
    def sides(self) -> tuple[int, int] | None:
        """The shorter side that whole images are resized to, and the most that the longer may be; None for crops."""
        return None

    def name_outputs(self, class_names: tuple[str, ...]) -> tuple[str, ...]:
        """Return what a network's outputs are called, by the classes of the data."""
        return class_names

    def find_input_shape(self, network: Spec) -> tuple[int, ...]:
        """Return the shape of the largest input that a network is given, channels first."""
        return network.input_shape
