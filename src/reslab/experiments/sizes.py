"""How much memory a trial takes, by counting: what it has for itself, and the images it may share with others.

Where it takes more than there is, that is told with what would need less, and far more is refused.
"""

import contextlib
import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.networks import build, measure_cost
from reslab.networks.freezing import freeze
from reslab.networks.fused import can_fuse
from reslab.numbers import write_size
from reslab.runtime.execution import NARROW
from reslab.runtime.memory import free_memory
from reslab.spec import Spec
from reslab.spec.recipe import Recipe
from reslab.spec.task_spec import TaskSpec
from reslab.spec.trial import Trial
from reslab.training.stepping import STRETCH_BYTES

LESS_MEMORY = "recipe.accumulate=2 or network.checkpointing=true needs less"
FAR_MORE = 2  # times the free memory; up to there a count that is only about right may be wrong
HEADER_BYTES = 110  # a tensor, in a safetensors file
MOMENTS = {"sgd": 1, "adamw": 2}  # that an optimizer keeps of each parameter
COPIES = 5  # of a stretch of batches: the one at hand, and the next while it is cropped, scaled and laid out


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a network's tensors take, what one image keeps for the backward pass, and what it costs to compute.

    `parameter_bytes` are of the parameters that are trained.
    """

    weight_bytes: int
    parameter_bytes: int
    activation_bytes: int
    multiply_adds: int


@contextlib.contextmanager
def telling_of_memory(*, together: int = 1) -> Iterator[None]:
    """Say what to do where the memory of a device runs out, which `together` trials at most share."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        remedy = "run it again with --together 1" if together > 1 else LESS_MEMORY
        raise UserError(f"memory ran out; {remedy}") from error


def check_memory(trial: Trial, dataset: Dataset, *, device: str, num_processes: int = 1) -> str | None:
    """Refuse a trial that needs far more memory than is free; return a warning where that looks short.

    Of several processes each needs this, for its share of a batch.
    """

    def needed(accumulate: int) -> int:
        recipe = replace(trial.recipe, batch=trial.recipe.batch // num_processes, accumulate=accumulate)
        least = trial_bytes(replace(trial, recipe=recipe), device=device, least=True)
        return least + dataset.count_bytes(trial, device=device)

    recipe, free = trial.recipe, free_memory(device)
    if (need := needed(recipe.accumulate)) <= free:
        return None
    share = recipe.batch // num_processes
    parts = (parts for parts in range(recipe.accumulate + 1, share + 1) if share % parts == 0)
    fitting = next((parts for parts in parts if needed(parts) <= free), None)
    remedy = f"set recipe.accumulate={fitting}, which fits, or choose" if fitting else "choose"
    side = "network.input_size" if trial.task.sides is None else "task.longest"
    sentence = (
        f"training needs about {write_size(need)} of memory, but {write_size(free)} is free; "
        f"{remedy} a smaller {side} or recipe.batch"
    )
    if need > FAR_MORE * free:
        raise UserError(sentence)
    return sentence


def trial_bytes(trial: Trial, *, device: str, least: bool = False) -> int:
    """Return the memory that a trial has for itself while it trains.

    Where our kernels take the parts of a batch side by side, they can do with the `least`: one after the other.
    """
    recipe, sizes = trial.recipe, measure_sizes(trial)
    parameters, copies = sizes.parameter_bytes, count_copies(recipe) * sizes.weight_bytes
    # Kept for the backward pass; in 16 bits half of it, and a cast copy of every kernel.
    fused = device.startswith("cuda") and recipe.precision in NARROW and not trial.task.own_layers
    fused = fused and can_fuse(trial.network)
    kept = sizes.activation_bytes * (recipe.batch if fused and not least else part_of(recipe))
    activations = kept if recipe.precision == "fp32" else (kept + parameters) // 2
    if fused:
        activations += kept // 4  # our kernels' gradient of every layer's responses, held until the pass is over
    batches = 0
    if device.startswith("cuda"):
        batch = recipe.batch * math.prod(trial.task.find_input_shape(trial.network)) * 4
        batches = COPIES * min(STRETCH_BYTES, recipe.iterations * batch)
    # Besides the weights: gradients as they arise and gathered, then two moments, or velocities and room to update in.
    return sizes.weight_bytes + 4 * parameters + copies + activations + batches


def measure_sizes(trial: Trial) -> Sizes:
    """Measure a trial's network without building it."""
    return _measure(trial.network, trial.task, trial.recipe.freeze)


@functools.cache
def _measure(network: Spec, task: TaskSpec, frozen: str | None) -> Sizes:
    shape = task.find_input_shape(network)
    tensors = build(network, task=task, device="meta")
    cost = measure_cost(network, task=task, input_shape=shape, frozen=frozen)
    if frozen is not None:
        freeze(tensors, frozen)
    trained = {name: weight for name, weight in tensors.named_parameters() if weight.requires_grad}
    return Sizes(
        weight_bytes=_count_bytes(tensors.state_dict()),
        parameter_bytes=_count_bytes(trained),
        activation_bytes=cost.activation_bytes,
        multiply_adds=cost.multiply_adds,
    )


def part_of(recipe: Recipe) -> int:
    """Return how many images go through the network at once."""
    return recipe.batch // recipe.accumulate


def count_copies(recipe: Recipe) -> int:
    """Return how often the weights are kept besides those trained: their average, the best of them."""
    return bool(recipe.average_decay) + (recipe.keep_best is not None)


def _count_bytes(tensors: Mapping[str, Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() + HEADER_BYTES for tensor in tensors.values())
