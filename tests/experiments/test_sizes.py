"""Bytes by counting."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.errors import UserError
from reslab.experiments import sizes
from reslab.experiments.sizes import COPIES, check_memory, measure_sizes, telling_of_memory, trial_bytes
from reslab.spec import find
from reslab.spec.detection import Detection
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

TRIAL = Trial(
    data=DataSpec(name="cifar10", fingerprint=""), network=find("resnet-20"), recipe=find_recipe("cifar-paper"), seed=1
)
_SPLIT = ArraySplit(np.zeros((10, 3, 32, 32), np.uint8), np.zeros(10, np.uint8))
TEN = ArrayDataset(name="cifar10", class_names=tuple("0123456789"), train=_SPLIT, test=_SPLIT)
SIZES = measure_sizes(TRIAL)


def with_recipe(**fields: object) -> Trial:
    return replace(TRIAL, recipe=find_recipe("cifar-paper", fields))


def test_a_network_is_measured_without_being_built() -> None:
    """ResNet-20: 269,722 parameters of four bytes and their headers; 40.6 million multiply-adds."""
    assert 4 * 269_722 < SIZES.parameter_bytes < SIZES.weight_bytes < 1.1 * 4 * 269_722
    assert SIZES.multiply_adds == 40_551_040


def test_the_usual_detector_is_measured_too() -> None:
    """On whole images, with more proposals than there may be detections; its sides are what memory hangs on."""
    detector = replace(TRIAL, network=find("resnet-18"), task=Detection(), recipe=find_recipe("objects"))
    assert measure_sizes(detector).weight_bytes > 4 * 11_000_000
    whole, small = (
        trial_bytes(replace(detector, task=task), device="cpu") for task in (Detection(), Detection(shorter=300))
    )
    assert small < whole


def test_what_is_frozen_keeps_nothing() -> None:
    """Neither gradients nor maps for a backward pass; its weights are there all the same."""
    frozen, body = (measure_sizes(with_recipe(freeze=part)) for part in ("conv2", "body"))
    assert frozen.weight_bytes == body.weight_bytes == SIZES.weight_bytes
    assert body.parameter_bytes < 4 * 64 * 11 + 1_000 < frozen.parameter_bytes < SIZES.parameter_bytes
    assert body.activation_bytes < 1_000 < frozen.activation_bytes < SIZES.activation_bytes / 2
    assert trial_bytes(with_recipe(freeze="body"), device="cpu") < trial_bytes(TRIAL, device="cpu") / 20


def test_maps_are_most_of_it_and_go_with_the_batch() -> None:
    """Half the batch at a time keeps half the maps; an average takes the weights once more."""
    whole = trial_bytes(TRIAL, device="cpu")
    assert whole - trial_bytes(with_recipe(accumulate="2"), device="cpu") == SIZES.activation_bytes * 64
    assert trial_bytes(with_recipe(average_decay="0.9"), device="cpu") - whole == SIZES.weight_bytes


def test_narrow_maps_are_half() -> None:
    """And kernels are there in both widths."""
    narrow = trial_bytes(with_recipe(precision="bf16"), device="cpu")
    assert trial_bytes(with_recipe(precision="fp16"), device="cpu") == narrow
    kept = SIZES.activation_bytes * 128
    assert trial_bytes(TRIAL, device="cpu") - narrow == kept - (kept + SIZES.parameter_bytes) // 2


def test_our_kernels_hold_a_map_more() -> None:
    """The gradient of every layer's responses, which torch's kernels let go of one by one."""
    fused = with_recipe(precision="bf16")
    usual = replace(fused, network=find("resnet-20", {"order": "pre", "shortcut": "B"}))
    more = [trial_bytes(trial, device="cuda") - trial_bytes(trial, device="cpu") for trial in (fused, usual)]
    assert more[0] - more[1] == SIZES.activation_bytes * 128 // 4


def test_our_kernels_take_parts_side_by_side() -> None:
    """So parts need what the whole batch needs, unless there is not so much."""
    whole, parts = with_recipe(precision="bf16"), with_recipe(precision="bf16", accumulate="2")
    assert trial_bytes(parts, device="cuda") == trial_bytes(whole, device="cuda")
    saved = trial_bytes(whole, device="cuda") - trial_bytes(parts, device="cuda", least=True)
    assert saved == SIZES.activation_bytes * 64 * 3 // 4


def test_stretches_of_batches_lie_on_the_device() -> None:
    """No more of them than the run is long; on the CPU there are none."""
    short = with_recipe(iterations="2")
    batch = 128 * 3 * 32 * 32 * 4
    assert trial_bytes(short, device="cuda") - trial_bytes(short, device="cpu") == COPIES * 2 * batch


@pytest.mark.parametrize(("together", "remedy"), [(1, "recipe.accumulate=2 or network"), (8, "--together 1")])
def test_memory_that_runs_out_is_told(together: int, remedy: str) -> None:
    """With what needs less: one at a time, or where it was one already, less of it at once."""
    with pytest.raises(UserError, match=f"memory ran out; .*{remedy}"), telling_of_memory(together=together):
        raise torch.OutOfMemoryError


def test_short_memory_is_a_warning_and_far_too_little_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fewest parts of a batch that fit; of two processes each has half of it."""
    monkeypatch.setenv("RESLAB_BATCHES", "streamed")
    needs = {parts: trial_bytes(with_recipe(accumulate=str(parts)), device="cpu") for parts in (1, 2, 4)}
    free = needs[1]
    monkeypatch.setattr(sizes, "free_memory", lambda device: free)
    assert check_memory(TRIAL, TEN, device="cpu") is None
    free = needs[1] - 1
    assert "of memory, but" in (warning := check_memory(TRIAL, TEN, device="cpu") or "")
    assert "; set recipe.accumulate=2, which fits, or choose" in warning
    assert check_memory(TRIAL, TEN, device="cpu", num_processes=2) is None
    free = needs[4]
    with pytest.raises(UserError, match=r"needs about .* is free; set recipe\.accumulate=4, which fits, or choose"):
        check_memory(TRIAL, TEN, device="cpu")
    free = 1_000
    with pytest.raises(UserError, match=r"is free; choose a smaller network\.input_size or recipe\.batch"):
        check_memory(TRIAL, TEN, device="cpu")
